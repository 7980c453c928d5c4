//! The flow file of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control, `scratch/third.cc`) and of those
//! that share it: a line with the number of flows, then `src dst priority dport bytes start_s`; ConWeave's lack `dport`.
//!
//! As there, no more flows are read than the first line says: the published file has others behind them, and a note
//! ([`beyond`] counts the rows).
//!
//! Hosts have the numbers that their nodes have in the topology's file, where switches have numbers, too. The priority is the class if the file has more than one; a lone one
//! says that all flows share a queue.

use super::foreign::{Wrong, flow, last, lines, number, size, time};
use crate::traffic::{ConnectionUse, FlowStart, Hosts};
use switchbed_config::text::shown;

pub(super) fn read(
    text: &str,
    hosts: &Hosts,
    connection: ConnectionUse,
) -> Result<Vec<FlowStart>, Wrong> {
    let mut lines = lines(text);
    let Some((first, head)) = lines.next() else {
        return Err((
            None,
            "empty; a flow file of HPCC begins with the number of its flows".into(),
        ));
    };
    let [count] = head[..] else {
        let what = "a flow file of HPCC begins with the number of its flows, alone on its line";
        return Err((Some(first), what.into()));
    };
    let count = number(first, count, "number of flows", (0, u64::from(u32::MAX)))?;
    let mut flows = Vec::new();
    let mut priorities = Vec::new();
    for (line, words) in lines.take(count.try_into().unwrap_or(usize::MAX)) {
        let (src, dst, priority, bytes, start) = match words[..] {
            [src, dst, priority, dport, bytes, start] => {
                // Ports only tell flows apart in ns-3: checked, and not kept.
                number(line, dport, "port", (0, 65_535))?;
                (src, dst, priority, bytes, start)
            }
            [src, dst, priority, bytes, start] => (src, dst, priority, bytes, start),
            _ => {
                let what = format!(
                    "`{}`: a flow is src, dst, priority, dport, bytes and start in seconds",
                    shown(&words.join(" "))
                );
                return Err((Some(line), what));
            }
        };
        let host = |word| host(line, word, hosts);
        let ends = (host(src)?, host(dst)?);
        priorities.push(number(line, priority, "priority", (0, 255))? as u8);
        let of = (time(line, start, 0, "decimal seconds, as in 2.0015")?, Some(size(line, bytes)?));
        flows.push(flow(line, ends, of, (connection, flows.len()))?);
    }
    if flows.len() as u64 != count {
        let what = format!("says that there are {count} flows, and there are {}", flows.len());
        return Err((Some(first), what));
    }
    if priorities.iter().any(|&priority| priority != priorities[0]) {
        flows.iter_mut().zip(priorities).for_each(|(flow, priority)| flow.class = priority);
    }
    Ok(flows)
}

/// The host whose node has a number.
fn host(line: u64, word: &str, hosts: &Hosts) -> Result<u64, Wrong> {
    let Some(numbers) = &hosts.numbers else {
        return number(line, word, "host", (0, last(hosts.count)));
    };
    let node = number(line, word, "node", (0, u64::from(u32::MAX)))?;
    let place = numbers.binary_search_by(|&own| u64::from(own).cmp(&node));
    place.map(|host| host as u64).map_err(|_| {
        // Neighbours in number make ranges, as in 1-65.
        let ranges: Vec<String> = numbers
            .chunk_by(|before, after| before + 1 == *after)
            .map(|range| match range {
                [one] => one.to_string(),
                _ => format!("{}-{}", range[0], range[range.len() - 1]),
            })
            .collect();
        let known = shown(&ranges.join(", "));
        (
            Some(line),
            format!("`{node}` is no host's node; the topology's file has hosts at {known}"),
        )
    })
}

/// How many flows are read, and rows of numbers behind them that are not.
pub(super) fn beyond(text: &str) -> (u64, u64) {
    let mut lines = lines(text);
    let count = lines.next().and_then(|(_, head)| head.first()?.parse().ok()).unwrap_or(0);
    let is_flow =
        |words: &[&str]| words.len() >= 5 && words.iter().all(|word| word.parse::<f64>().is_ok());
    let rows = lines.skip(usize::try_from(count).unwrap_or(usize::MAX));
    (count, rows.filter(|(_, words)| is_flow(words)).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::HOSTS;
    use super::*;
    use switchbed_units::{Bytes, Time};

    fn flows(text: &str) -> Result<Vec<FlowStart>, String> {
        let wrong = |(line, what): Wrong| format!("{}: {what}", line.unwrap_or(0));
        read(text, &HOSTS, ConnectionUse::Persistent).map_err(wrong)
    }

    #[test]
    fn hosts_have_the_numbers_of_their_nodes() {
        let numbers = Some([1, 2, 3, 7].into());
        let hosts = Hosts { count: 4, numbers, ..HOSTS };
        let read = |text| read(text, &hosts, ConnectionUse::Persistent);
        let flows = read("2\n2 1 3 100 9 2\n7 3 3 100 9 2\n").unwrap();
        let ends: Vec<_> = flows.iter().map(|flow| (flow.src.0, flow.dst.0)).collect();
        assert_eq!(ends, [(1, 0), (3, 2)]);
        let (line, what) = read("1\n0 1 3 100 9 2\n").unwrap_err();
        assert_eq!(line, Some(2));
        assert_eq!(what, "`0` is no host's node; the topology's file has hosts at 1-3, 7");
    }

    #[test]
    fn flows_have_the_numbers_of_the_file() {
        let read = flows("2\n0 9 3 100 12000 2.000000001\n8 1 3 100 1 2\n\n").unwrap();
        assert_eq!(read[0].start, Time::from_ps(2_000_000_001_000));
        assert_eq!((read[0].src.0, read[0].dst.0, read[0].class), (0, 9, 0));
        assert_eq!((read[1].size, read[1].list_row), (Some(Bytes::new(1)), Some(1)));
        // ConWeave's have no port; two priorities are classes.
        let read = flows("2\n0 9 3 12000 2.5\n8 1 1 1 2\n").unwrap();
        assert_eq!(read.iter().map(|flow| flow.class).collect::<Vec<_>>(), [3, 1]);
    }

    #[test]
    fn no_more_flows_are_read_than_the_first_line_says() {
        // As the file that comes with HPCC's simulator: two flows, others, and a note.
        let text = "2\n2 1 3 100 9 2\n3 1 3 100 9 2\n4 1 3 100 9 2\n5 1 3 100 9 2\n\nFirst line: # of flows\n\
                    src0 dst0 3 dst_port0 size0 start_time0\n...\n";
        let read = flows(text).unwrap();
        assert_eq!(read.iter().map(|flow| flow.src.0).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(beyond(text), (2, 2));
        assert_eq!(beyond("1\n2 1 3 100 9 2\n\n"), (1, 0));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("", "0: empty; a flow file of HPCC"),
            ("1 2\n", "1: a flow file of HPCC begins with"),
            ("2\n0 1 3 100 5 2\n", "1: says that there are 2 flows, and there are 1"),
            ("2\n0 1 3 100 5\n\n0 10 3 100 5 2\n", "4: `10` is no host; write 0 to 9"),
            ("1\n0 1 3 100\n", "2: `0 1 3 100`: a flow is src"),
            ("1\n0 0 3 100 5 2\n", "2: host 0 sends to itself"),
            ("1\n0 1 256 100 5 2\n", "2: `256` is no priority"),
            ("1\n0 1 3 100 0 2\n", "2: `0` is no whole number of bytes"),
            ("1\n0 1 3 100 5 -2\n", "2: `-2` is no time from 0"),
            ("1\n0 1 3 100 5 x\n", "2: `x` is no time from 0; write decimal seconds"),
        ] {
            let error = flows(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
