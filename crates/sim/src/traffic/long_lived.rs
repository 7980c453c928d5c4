//! Flows that send as long as they run.

use super::{FlowStart, Hosts};
use crate::ids::HostId;
use switchbed_qdisc::units::{Span, Time};
use switchbed_spec::LongLived;

/// An entry's flows in canonical order. Flow k of the entry is
/// sender by sender (in the order named) and starts k staggers after the first; classes
/// are dealt in that order too. A vector, as all of them run at once anyway. Each has a
/// connection of its own, with its handshake.
///
/// # Errors
/// Says what is wrong and what would be right.
pub(super) fn flows(entry: &LongLived, hosts: Hosts) -> Result<Vec<FlowStart>, String> {
    let LongLived { from, to, flows_each, classes, start, stagger, stop } = entry;
    let (to, flows_each) = (*to, *flows_each);
    hosts.many_to_one(from, to)?;
    if flows_each == 0 {
        return Err("`flows_each` is 0; give at least 1".into());
    }
    if classes.is_empty() {
        return Err("`classes` is empty; give at least one, as in `[0]`".into());
    }
    let too_late = || "the last flow starts too late; a run lasts at most 213 days".to_string();
    let mut flows = Vec::new();
    let sources = from.iter().flat_map(|&src| std::iter::repeat_n(src, flows_each as usize));
    for (k, src) in sources.enumerate() {
        let later = stagger.as_ps().checked_mul(k as u64).map(Span::from_ps);
        let ps = later.and_then(|later| start.as_ps().checked_add(later.as_ps()));
        flows.push(FlowStart {
            class: classes[k % classes.len()],
            stop: stop.map(|stop| Time::from_ps(stop.as_ps())),
            ..FlowStart::new(Time::from_ps(ps.ok_or_else(too_late)?), HostId(src), HostId(to))
        });
    }
    if let (Some(stop), Some(last)) = (stop, flows.last())
        && last.start >= Time::from_ps(stop.as_ps())
    {
        return Err(format!("the last flow starts at {}, but all stop at {stop}", last.start));
    }
    flows.sort_by_key(|flow| (flow.start, flow.src));
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_qdisc::units::{Bytes, Rate};

    const HOSTS: Hosts =
        Hosts { count: 9, rate: Rate::from_gbps(1), mss: Bytes::new(1460), header: Bytes::new(40) };

    fn entry(from: &[u32], flows_each: u32, stagger: Span, stop: Option<Span>) -> LongLived {
        let (from, start) = (from.to_vec(), Span::from_ms(1));
        LongLived { from, to: 8, flows_each, classes: vec![0, 1, 2], start, stagger, stop }
    }

    fn summary(entry: &LongLived) -> Vec<(u64, u32, u8)> {
        let flows = flows(entry, HOSTS).unwrap();
        assert!(flows.iter().all(|flow| flow.dst == HostId(8) && flow.size.is_none()));
        flows
            .iter()
            .map(|flow| (flow.start.as_ps() / 1_000_000_000, flow.src.0, flow.class))
            .collect()
    }

    #[test]
    fn flows_go_sender_by_sender_classes_in_turn() {
        let staggered = entry(&[5, 2], 2, Span::from_ms(10), None);
        assert_eq!(summary(&staggered), [(1, 5, 0), (11, 5, 1), (21, 2, 2), (31, 2, 0)]);
        // All at once: by sender.
        let together = entry(&[5, 2], 2, Span::ZERO, Some(Span::from_ms(2)));
        assert_eq!(summary(&together), [(1, 2, 2), (1, 2, 0), (1, 5, 0), (1, 5, 1)]);
        assert_eq!(flows(&together, HOSTS).unwrap()[0].stop, Some(Time::from_ps(2_000_000_000)));
    }

    #[test]
    fn what_makes_no_flows_is_refused() {
        for (entry, expected) in [
            (entry(&[1, 8], 1, Span::ZERO, None), "host 8 is both in `from` and `to`"),
            (entry(&[1, 9], 1, Span::ZERO, None), "`from` names host 9; the hosts are 0 to 8"),
            (entry(&[1, 1], 1, Span::ZERO, None), "host 1 is in `from` twice"),
            (entry(&[], 1, Span::ZERO, None), "`from` names no host"),
            (entry(&[1], 0, Span::ZERO, None), "`flows_each` is 0"),
            (entry(&[1], 3, Span::MAX, None), "the last flow starts too late"),
            (
                entry(&[1, 2], 1, Span::from_ms(1), Some(Span::from_ms(2))),
                "the last flow starts at 2ms, but all stop at 2ms",
            ),
        ] {
            let error = flows(&entry, HOSTS).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
