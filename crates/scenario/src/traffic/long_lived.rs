//! Flows that send as long as they run.

use super::flow::{Begun, Wrong};
use super::keys::{check_classes, check_flows_each, check_times};
use super::{Around, Expected, FlowStart, HostSet, Hosts, OneHost, Site, Source};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::ids::HostId;
use switchbed_units::{Span, Time};

params! {
    /// Flows that send as long as they run.
    pub struct LongLived {
        /// Sending hosts.
        from: HostSet = "all";
        /// The one receiving host.
        to: OneHost;
        /// Flows from each sender.
        flows_each: u32 = "1" as count(1, 1_000_000);
        /// Classes, dealt in turn to the flows.
        classes: Vec<u8> = "[0]";
        /// When the first starts.
        start: Span = "0us";
        /// How much later each next one starts.
        stagger: Span = "0us";
        /// When they stop. Default: at the end of the run.
        stop: Option<Span>;
    }
}

impl Source for LongLived {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        self.from.name_others(self.to, site)?;
        check_flows_each(self.flows_each, self.from.len())?;
        check_classes(&self.classes, site)?;
        let flows = self.from.len() as u64 * u64::from(self.flows_each);
        let (times, end) = ((self.start, self.stagger), self.stop.or(site.run.until));
        check_times("long-lived flows", flows, times, end)
    }

    fn flows(&self, hosts: Hosts, _: u64, _: usize) -> Result<Begun, Wrong> {
        let flows = flows(self, hosts)?;
        let total = flows.len() as u64;
        Ok(Begun::new(flows.into_iter(), total))
    }

    fn expected(&self, around: &Around<'_>) -> Expected {
        let flows = self.from.len() as f64 * f64::from(self.flows_each);
        let until_s = around.until_s;
        let lasts_s = self.stop.map_or(until_s, |stop| stop.as_secs_f64().min(until_s));
        let expected = Expected { receivers: 1.0, lasts_s, ..Expected::default() };
        Expected { flows, open: flows, together: flows, connections: flows, ..expected }
    }

    fn classes(&self) -> u16 {
        self.classes.iter().copied().max().map_or(0, u16::from)
    }

    fn has_class(&self, class: u16) -> bool {
        self.classes.iter().any(|own| u16::from(*own) == class)
    }

    fn goes_on(&self) -> bool {
        true
    }
}

/// An entry's flows in canonical order. Flow k of the entry is
/// sender by sender (in the order named) and starts k staggers after the first; classes
/// are dealt in that order too. A vector, as all of them run at once anyway. Each has a
/// connection of its own, with its handshake.
///
/// # Errors
/// Says what is wrong and what would be right.
fn flows(entry: &LongLived, hosts: Hosts) -> Result<Vec<FlowStart>, String> {
    let LongLived { from, to, flows_each, classes, start, stagger, stop } = entry;
    let (OneHost(receiver), flows_each) = (*to, *flows_each);
    hosts.many_to_one(from, *to)?;
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
            ..FlowStart::new(Time::from_ps(ps.ok_or_else(too_late)?), HostId(src), HostId(receiver))
        });
    }
    if let (Some(stop), Some(last)) = (stop, flows.last())
        && last.start >= Time::from_ps(stop.as_ps())
    {
        return Err(format!("the last flow starts at {}, but all stop at {stop}", last.start));
    }
    // Several may start at once, and flows are told apart by start, then sender.
    flows.sort_by_key(|flow| (flow.start, flow.src));
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::HostRates;
    use switchbed_units::{Bytes, Rate};

    const HOSTS: Hosts = Hosts {
        count: 9,
        numbers: None,
        rates: HostRates::Same(Rate::from_gbps(1)),
        mss: Bytes::new(1460),
        header: Bytes::new(40),
    };

    fn entry(from: &[u32], flows_each: u32, stagger: Span, stop: Option<Span>) -> LongLived {
        let (from, start) = (from.to_vec().into(), Span::from_ms(1));
        let to = OneHost(8);
        LongLived { from, to, flows_each, classes: vec![0, 1, 2], start, stagger, stop }
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
