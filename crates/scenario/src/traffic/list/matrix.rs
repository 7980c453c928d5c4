//! The connection matrix of htsim, `.cm` (Broadcom/csg-htsim, `sim/datacenter/connection_matrix.cpp`, `load`):
//!
//! ```text
//! Nodes 16
//! Connections 2
//! Triggers 1
//! Failures 1
//! 0->13 id 1 start 0 size 2000000 send_done_trigger 1
//! 0->14 id 2 trigger 1 size 2000000
//! trigger id 1 oneshot
//! failure switch_type AGG switch_id 0 link_id 1
//! ```
//!
//! Starts are in picoseconds. A trigger is `oneshot` (it starts all that wait for it), `multishot` (each time the
//! next in the file) or `barrier count n` (all, the n-th time; `trigger.cpp`). A failure takes away a link from an
//! aggregation switch to a core (`add_failed_link` of `fat_tree_topology.cpp`).

use super::foreign::{HEADS, Wrong, flow, last, lines, number, size, time};
use crate::traffic::{ConnectionUse, FlowStart};
use std::collections::BTreeMap;
use switchbed_config::text::shown;

/// A connection matrix.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    pub(super) flows: Vec<Entry>,
    /// By number.
    pub(super) triggers: BTreeMap<u32, Trigger>,
    pub(super) failures: Vec<Failure>,
}

/// A connection, which carries a flow.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) line: u64,
    pub(super) flow: FlowStart,
    pub(super) id: Option<u32>,
    /// Trigger that starts it.
    pub(super) trigger: Option<u32>,
    /// Trigger that it fires once its sender knows that all has arrived.
    pub(super) sent: Option<u32>,
    /// Trigger that it fires once all has arrived.
    pub(super) received: Option<u32>,
}

/// A trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trigger {
    pub(super) line: u64,
    pub(super) kind: Kind,
}

/// When a trigger starts what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All, when it is fired.
    Oneshot,
    /// The next, each time it is fired.
    Multishot,
    /// All, when it has been fired so often.
    Barrier(u32),
}

/// A link that is not there, from an aggregation switch to a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) line: u64,
    pub(super) switch: u32,
    /// Place among its links to cores.
    pub(super) link: u32,
}

const MOST: u64 = u32::MAX as u64;

/// Words of a line in turn.
struct Words<'a> {
    line: u64,
    rest: std::slice::Iter<'a, &'a str>,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.rest.next().copied()
    }

    fn value(&mut self, key: &str) -> Result<&'a str, Wrong> {
        self.next().ok_or_else(|| (Some(self.line), format!("a value is missing behind {key}")))
    }

    fn number(&mut self, key: &str, least: u64) -> Result<u32, Wrong> {
        let word = self.value(key)?;
        Ok(number(self.line, word, &format!("number for {key}"), (least, MOST))? as u32)
    }

    fn unknown(&self, word: &str, known: &str) -> Wrong {
        (Some(self.line), format!("`{}`: write {known}", shown(word)))
    }
}

/// Puts a value where there is none.
fn once<T>(line: u64, key: &str, place: &mut Option<T>, value: T) -> Result<(), Wrong> {
    match place.replace(value) {
        Some(_) => Err((Some(line), format!("{key} is there twice; write it once"))),
        None => Ok(()),
    }
}

impl Matrix {
    pub(super) fn read(text: &str, hosts: u32, connection: ConnectionUse) -> Result<Matrix, Wrong> {
        let mut matrix = Matrix::default();
        let mut heads = [None; 4];
        let mut body = false;
        for (line, words) in lines(text) {
            let head = HEADS.iter().position(|head| *head == words[0]);
            if let Some(at) = head.filter(|_| !body) {
                let [_, count] = words[..] else {
                    return Err((Some(line), format!("{} has a number", HEADS[at])));
                };
                let count = number(line, count, "number", (0, MOST))?;
                once(line, HEADS[at], &mut heads[at], (line, count))?;
                continue;
            }
            body = true;
            let mut rest = Words { line, rest: words[1..].iter() };
            match words[0] {
                "trigger" => matrix.trigger(&mut rest)?,
                "failure" => matrix.failures.push(failure(&mut rest)?),
                ends if ends.contains("->") => matrix.flow(ends, &mut rest, hosts, connection)?,
                word => {
                    let known = "src->dst, trigger or failure; Nodes, Connections, Triggers and Failures come first";
                    return Err(rest.unknown(word, known));
                }
            }
        }
        matrix.check(heads, hosts)?;
        Ok(matrix)
    }

    fn flow(
        &mut self,
        ends: &str,
        rest: &mut Words<'_>,
        hosts: u32,
        connection: ConnectionUse,
    ) -> Result<(), Wrong> {
        let line = rest.line;
        let (src, dst) = ends.split_once("->").unwrap_or((ends, ""));
        let host = |word| number(line, word, "host", (0, last(hosts)));
        let ends = (host(src)?, host(dst)?);
        let (mut start, mut bytes, mut prio) = (None, None, None);
        let (mut id, mut trigger, mut sent, mut received) = (None, None, None, None);
        while let Some(key) = rest.next() {
            match key {
                "start" => {
                    let at = time(line, rest.value(key)?, -12, "picoseconds, as in 1000000")?;
                    once(line, key, &mut start, at)?;
                }
                // A flow of size 0 never ends.
                "size" => match rest.value(key)? {
                    "0" => once(line, key, &mut bytes, None)?,
                    word => once(line, key, &mut bytes, Some(size(line, word)?))?,
                },
                "id" => once(line, key, &mut id, rest.number(key, 1)?)?,
                "trigger" => once(line, key, &mut trigger, rest.number(key, 1)?)?,
                "send_done_trigger" => once(line, key, &mut sent, rest.number(key, 1)?)?,
                "recv_done_trigger" => once(line, key, &mut received, rest.number(key, 1)?)?,
                // Priorities of receivers' pulls and numbers of messages mean nothing here.
                "prio" | "msg" => once(line, key, &mut prio, rest.number(key, 0)?)?,
                word => {
                    let known =
                        "id, start, trigger, size, send_done_trigger, recv_done_trigger or prio";
                    return Err(rest.unknown(word, known));
                }
            }
        }
        let wrong = |what: &str| (Some(line), what.to_owned());
        let bytes = bytes.ok_or_else(|| wrong("has no size; write size and bytes"))?;
        let start = match (start, trigger) {
            (Some(start), None) => start,
            (None, Some(_)) => Default::default(),
            (None, None) => {
                return Err(wrong("has no start; write start and picoseconds, or trigger"));
            }
            (Some(_), Some(_)) => {
                return Err(wrong("has start and trigger; write one of them"));
            }
        };
        let row = self.flows.len();
        let flow = flow(line, ends, (start, bytes), (connection, row))?;
        self.flows.push(Entry { line, flow, id, trigger, sent, received });
        Ok(())
    }

    fn trigger(&mut self, rest: &mut Words<'_>) -> Result<(), Wrong> {
        let line = rest.line;
        let (mut id, mut kind, mut count) = (None, None, None);
        while let Some(key) = rest.next() {
            match key {
                "id" => once(line, key, &mut id, rest.number(key, 1)?)?,
                "count" => once(line, key, &mut count, rest.number(key, 1)?)?,
                "oneshot" | "multishot" | "barrier" => once(line, "the kind", &mut kind, key)?,
                word => return Err(rest.unknown(word, "id, oneshot, multishot, barrier or count")),
            }
        }
        let wrong = |what: &str| (Some(line), what.to_owned());
        let id = id.ok_or_else(|| wrong("a trigger has a number; write id and 1 or more"))?;
        let kind = match (kind, count) {
            (Some("oneshot"), _) => Kind::Oneshot,
            (Some("multishot"), _) => Kind::Multishot,
            (Some(_), Some(count)) => Kind::Barrier(count),
            (Some(_), None) => {
                return Err(wrong("a barrier has a count; write count and a number"));
            }
            (None, _) => return Err(wrong("has no kind; write oneshot, multishot or barrier")),
        };
        match self.triggers.insert(id, Trigger { line, kind }) {
            Some(other) => Err(wrong(&format!("trigger {id} is on line {}, too", other.line))),
            None => Ok(()),
        }
    }

    /// Refuses numbers of things that are not there.
    fn check(&self, heads: [Option<(u64, u64)>; 4], hosts: u32) -> Result<(), Wrong> {
        let [nodes, ..] = heads;
        let Some((line, nodes)) = nodes else {
            return Err((None, "has no line Nodes; a connection matrix begins with it".to_owned()));
        };
        // Fewer nodes than hosts are fine: the others stay idle.
        if nodes > u64::from(hosts) {
            let what = format!("{nodes} nodes, and the topology has {} hosts", hosts);
            return Err((Some(line), what));
        }
        let there = [self.flows.len(), self.triggers.len(), self.failures.len()];
        for ((head, given), there) in HEADS[1..].iter().zip(&heads[1..]).zip(there) {
            let (line, count) = given.map_or((None, 0), |(line, count)| (Some(line), count));
            if count != there as u64 {
                let what = format!("{head} {count}, and there are {there}; write {head} {there}");
                return Err((line, what));
            }
        }
        let mut ids = BTreeMap::new();
        for of in &self.flows {
            if let Some(host) =
                [of.flow.src, of.flow.dst].into_iter().find(|h| u64::from(h.0) >= nodes)
            {
                return Err((
                    Some(of.line),
                    format!("`{host}` is no node; write 0 to {}", nodes - 1),
                ));
            }
            if let Some(id) = of.id
                && let Some(other) = ids.insert(id, of.line)
            {
                return Err((Some(of.line), format!("id {id} is on line {other}, too")));
            }
            let named = [of.trigger, of.sent, of.received].into_iter().flatten();
            if let Some(id) = named.into_iter().find(|id| !self.triggers.contains_key(id)) {
                let what =
                    format!("there is no trigger {id}; write a line trigger id {id} oneshot");
                return Err((Some(of.line), what));
            }
        }
        Ok(())
    }
}

/// The link that a line takes away.
fn failure(rest: &mut Words<'_>) -> Result<Failure, Wrong> {
    let line = rest.line;
    let (mut kind, mut switch, mut link) = (None, None, None);
    while let Some(key) = rest.next() {
        match key {
            "switch_type" => match rest.value(key)? {
                "AGG" => once(line, key, &mut kind, ())?,
                word => return Err(rest.unknown(word, "AGG; htsim takes no links from others")),
            },
            "switch_id" => once(line, key, &mut switch, rest.number(key, 0)?)?,
            "link_id" => once(line, key, &mut link, rest.number(key, 0)?)?,
            word => return Err(rest.unknown(word, "switch_type, switch_id or link_id")),
        }
    }
    match (kind, switch, link) {
        (Some(()), Some(switch), Some(link)) => Ok(Failure { line, switch, link }),
        _ => {
            let what = "a failure has switch_type AGG, switch_id and link_id, each with its value";
            Err((Some(line), what.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::HOSTS;
    use super::super::triggers;
    use super::*;
    use crate::traffic::program::{Schedule, Work};
    use proptest::prelude::*;
    use switchbed_units::{Bytes, Span, Time};

    fn matrix(text: &str) -> Result<Matrix, String> {
        let wrong = |(line, what): Wrong| format!("{}: {what}", line.unwrap_or(0));
        Matrix::read(text, HOSTS.count, ConnectionUse::Fresh).map_err(wrong)
    }

    fn program(text: &str) -> Result<Option<Schedule>, String> {
        let wrong = |(line, what): Wrong| format!("{}: {what}", line.unwrap_or(0));
        triggers::schedule(&matrix(text)?, |nth| nth as u32).map_err(wrong)
    }

    /// All that a file may have; the chain 0 → 1 → 2 by what the sender of the first knows.
    const WHOLE: &str = "# made by hand\nNodes 4\nConnections 3\nTriggers 2\nFailures 1\n\n\
                         0->1 id 7 start 1500.5 size 2000000 send_done_trigger 1 prio 3\n\
                         1->2 id 8 trigger 1 size 10 recv_done_trigger 2\n\
                         2->3 trigger 2 size 20\n\
                         trigger id 1 oneshot\ntrigger id 2 barrier count 1\n\
                         failure switch_type AGG switch_id 3 link_id 1\n\n";

    #[test]
    fn a_file_is_read_whole() {
        let read = matrix(WHOLE).unwrap();
        let first = &read.flows[0];
        assert_eq!((first.line, first.id, first.trigger), (7, Some(7), None));
        assert_eq!((first.sent, first.received), (Some(1), None));
        // Rounded to the nearest picosecond.
        assert_eq!(first.flow.start, Time::from_ps(1501));
        assert_eq!(first.flow.size, Some(Bytes::new(2_000_000)));
        assert_eq!(read.flows[1].received, Some(2));
        assert_eq!(read.triggers[&1], Trigger { line: 10, kind: Kind::Oneshot });
        assert_eq!(read.triggers[&2].kind, Kind::Barrier(1));
        assert_eq!(read.failures, [Failure { line: 12, switch: 3, link: 1 }]);
        let endless = matrix("Nodes 10\nConnections 1\n0->9 start 0.000000 size 0").unwrap();
        assert_eq!(endless.flows[0].flow.size, None);
        let permutation = "Nodes 10\nConnections 1\n0->9 start 0 size 5";
        assert!(program(permutation).unwrap().is_none());
        assert_eq!(matrix(permutation).unwrap().flows[0].flow.start, Time::ZERO);
    }

    /// Operations of each rank: c of a calculation, s of a send and r of a receive, and how many others it
    /// waits for.
    fn shape(program: &Schedule) -> Vec<String> {
        let of = |number| {
            let operation = program.operation(number);
            let word = match operation.work {
                Work::Send(..) => "s",
                Work::Receive(_) => "r",
                Work::Calculate(..) => "c",
            };
            format!("{word}{}", operation.waits_for)
        };
        let ranks = 0..program.hosts.len() as u32;
        ranks.map(|rank| program.of_rank(rank).map(of).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn hosts_start_flows_by_what_they_know() {
        let program = program(WHOLE).unwrap().unwrap();
        // Host 1 receives what host 0 sends, which fires trigger 1 there; so nothing more is sent.
        assert_eq!(program.message_count(), 3);
        let expected = ["c0 s1", "r0 c1 s1 c1", "r0 c1 s1 c1", "r0"];
        assert_eq!(shape(&program), expected);
        assert_eq!(program.operation(0).work, Work::Calculate(Span::from_ps(1501), 1));
    }

    #[test]
    fn a_multishot_starts_the_next_each_time() {
        let program = program(
            "Nodes 4\nConnections 4\nTriggers 1\n0->1 start 0 size 9 send_done_trigger 1\n\
             0->2 start 0 size 8 send_done_trigger 1\n0->3 trigger 1 size 7\n0->1 trigger 1 size 6\n\
             trigger id 1 multishot",
        );
        let program = program.unwrap().unwrap();
        // Both wait for both ends: the first for one of them, the second for two.
        assert_eq!(shape(&program)[0], "c0 s1 c0 s1 c1 s1 c2 s1 c1 c1");
        let [nine, eight] = [8, 9].map(|point| program.followers(point));
        assert_eq!((nine, eight), (&[4, 6][..], &[4, 6][..]));
    }

    #[test]
    fn a_barrier_of_other_hosts_is_heard_of_by_signals() {
        // Hosts 1 and 2 send to 0, and 3 starts then, and 4.
        let program = program(
            "Nodes 6\nConnections 4\nTriggers 1\n1->0 start 0 size 9 recv_done_trigger 1\n\
             2->0 start 0 size 8 send_done_trigger 1\n3->5 trigger 1 size 7\n4->5 trigger 1 size 6\n\
             trigger id 1 barrier count 2",
        );
        let program = program.unwrap().unwrap();
        let ones = program.messages().filter(|of| of.bytes == Bytes::new(1));
        let mut ends: Vec<_> = ones.map(|of| (of.row, of.to)).collect();
        ends.sort_unstable();
        // The receiver of the first and the sender of the second tell host 3, which tells host 4.
        assert_eq!(ends, [(4, 3), (5, 3), (6, 4)]);
        assert_eq!(program.flows(), 7);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let with = |body: &str, connections: usize, triggers: usize| {
            format!("Nodes 4\nConnections {connections}\nTriggers {triggers}\n{body}\n")
        };
        let one = |body: &str| with(body, 1, 0);
        for (text, expected) in [
            (String::new(), "0: has no line Nodes"),
            ("Nodes 11\n".into(), "1: 11 nodes, and the topology has 10 hosts"),
            ("Nodes\n".into(), "1: Nodes has a number"),
            ("Nodes 1\nNodes 1\n".into(), "2: Nodes is there twice"),
            ("Nodes 4\n0->1 start 0 size 1".into(), "0: Connections 0, and there are 1; write Con"),
            (with("", 2, 0), "2: Connections 2, and there are 0"),
            (with("trigger id 1 oneshot", 0, 2), "3: Triggers 2, and there are 1"),
            (one("0->4 start 0 size 1"), "4: `4` is no node; write 0 to 3"),
            (one("0->10 start 0 size 1"), "4: `10` is no host; write 0 to 9"),
            (one("0-> start 0 size 1"), "4: `` is no host"),
            (one("1->1 start 0 size 1"), "4: host 1 sends to itself"),
            (one("0->1 start 0"), "4: has no size"),
            (one("0->1 size 1"), "4: has no start"),
            (one("0->1 start 0 trigger 1 size 1"), "4: has start and trigger"),
            (one("0->1 start 0 size x"), "4: `x` is no whole number of bytes"),
            (
                with(
                    "0->1 start 0 size 1 send_done_trigger 1\n0->1 trigger 1 size 0\ntrigger id 1 oneshot",
                    2,
                    1,
                ),
                "5: size 0 never ends, and no trigger starts such a flow",
            ),
            (
                with(
                    "0->1 start 0 size 0 send_done_trigger 1\n0->1 id 2 trigger 1 size 1\ntrigger id 1 oneshot",
                    2,
                    1,
                ),
                "5: no flow fires trigger 1, so this one never starts",
            ),
            (one("0->1 start 0 size 1 size 1"), "4: size is there twice"),
            (one("0->1 start -1 size 1"), "4: `-1` is no time from 0; write picoseconds"),
            (one("0->1 start 0 size"), "4: a value is missing behind size"),
            (one("0->1 start 0 size 1 addon"), "4: `addon`: write id, start, trigger"),
            (one("0->1 id 0 start 0 size 1"), "4: `0` is no number for id; write 1 to"),
            (one("0->1 trigger 3 size 1"), "4: there is no trigger 3; write a line"),
            (one("here 1"), "4: `here`: write src->dst, trigger or failure"),
            (
                with("0->1 id 2 start 0 size 1\n0->2 id 2 start 0 size 1", 2, 0),
                "5: id 2 is on line 4",
            ),
            (with("trigger id 1 oneshot\ntrigger id 1 oneshot", 0, 2), "5: trigger 1 is on line 4"),
            (with("trigger oneshot", 0, 1), "4: a trigger has a number"),
            (with("trigger id 1", 0, 1), "4: has no kind"),
            (with("trigger id 1 barrier", 0, 1), "4: a barrier has a count"),
            (one("failure switch_type TOR"), "4: `TOR`: write AGG"),
            (one("failure switch_type AGG link_id 3"), "4: a failure has switch_type AGG,"),
            (
                with("0->1 trigger 1 size 1\ntrigger id 1 oneshot", 1, 1),
                "4: no flow fires trigger 1, so this one never starts",
            ),
            (
                with(
                    "0->1 start 0 size 1 send_done_trigger 1\n0->1 trigger 1 size 1\n\
                     trigger id 1 barrier count 2",
                    2,
                    1,
                ),
                "6: barrier 1 has count 2 and is fired once",
            ),
            (
                with(
                    "0->1 start 0 size 1 send_done_trigger 1 recv_done_trigger 1\n\
                     0->1 trigger 1 size 1\ntrigger id 1 oneshot",
                    2,
                    1,
                ),
                "6: oneshot 1 is fired 2 times; write multishot or barrier",
            ),
            (
                with(
                    "0->1 start 0 size 1 send_done_trigger 1\n0->1 trigger 1 size 1\n\
                     0->2 trigger 1 size 1\ntrigger id 1 multishot",
                    3,
                    1,
                ),
                "6: trigger 1 starts 1 flows, so this one never starts",
            ),
            (
                with(
                    "0->1 id 1 trigger 2 size 1 send_done_trigger 1\n0->1 id 2 trigger 1 size 1 \
                     send_done_trigger 2\ntrigger id 1 oneshot\ntrigger id 2 oneshot",
                    2,
                    2,
                ),
                "0: deadlock: host 0 `id 1` waits for host 0",
            ),
        ] {
            let error = program(&text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    proptest! {
        /// A word of a good file replaced, left out or doubled: read, or one line.
        #[test]
        fn mutants_are_read_or_refused_in_a_line(
            at in 0..60_usize,
            how in 0..3_usize,
            word in "(Nodes|trigger|id|start|size|barrier|count|->|[0-9]{1,4}->[0-9]{0,4}|-?[0-9]{0,12}(\\.[0-9])?|\\PC{0,4})",
        ) {
            let mut nth = 0;
            let replace = |text: &str| {
                nth += 1;
                match (nth - 1 == at, how) {
                    (false, _) => text.to_owned(),
                    (true, 0) => word.clone(),
                    (true, 1) => String::new(),
                    (true, _) => format!("{text} {text}"),
                }
            };
            let mut replace = replace;
            let line = |line: &str| -> String {
                line.split(' ').map(&mut replace).collect::<Vec<_>>().join(" ")
            };
            let text: Vec<String> = WHOLE.lines().map(line).collect();
            if let Err(error) = program(&text.join("\n")) {
                prop_assert!(error.lines().count() == 1 && error.len() < 300, "{error}");
            }
        }
    }
}
