//! Pauses and their effects: when and why which port was held, which flows that held, and what the
//! watchdog saw.
//!
//! A pause is a time that a port's class was held without a break. Its *cause* is the queue at the switch
//! that asked for it which packets of that port waited in, the longest if there were several. If that
//! queue was held itself since the first of its packets came, the pause that held it last is the one this
//! one follows from; if not, its port is *congested*, and the pause's *root*. Where nothing waited (a host that sends pause frames), the root is
//! the port that was paused.
//!
//! A flow is a *victim* of a pause whose root is not on its way: it waits for a port that it does not use.

use crate::flow::FlowRecord;
use crate::ids::{LinkId, PortId, SwitchId};
use crate::network::Network;
use crate::node::Cause;
use crate::observe::observer::Observed;
use crate::ports::PortInfo;
use crate::table::{Table, Values};
use crate::topology::{Graph, Hop, Node};
use std::collections::BTreeMap;
use switchbed_qdisc::hooks::GroupUse;
use switchbed_qdisc::memory::pfc::{FRAME_BYTES, Pfc};
use switchbed_units::{Span, Time};

/// A pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The port that was held, and the class.
    pub link: LinkId,
    /// The class.
    pub class: u8,
    /// From then on.
    pub from: Time,
    /// Until then.
    pub until: Time,
    /// The pause that it follows from, by its place among all.
    pub cause: Option<usize>,
    /// The congested port.
    pub root: LinkId,
}

/// When a switch asked for a pause, and the queue that it did for, with whether that was held.
type Asked = (Time, Option<(LinkId, bool)>);

/// How long a flow waited behind pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waited {
    /// The flow's row, and whose it is.
    pub flow: FlowRecord,
    /// While it was under way since the warm-up, a port on its way was held so long.
    pub held: Span,
    /// Part of that time in pauses whose root is not on its way.
    pub victim: Span,
}

/// The other direction of each link.
fn reverses(graph: &Graph, ports: &[PortInfo]) -> Vec<Option<LinkId>> {
    let mut inputs = vec![0; graph.switches.len()];
    let back = graph.reverse_ports();
    let of = |port: &PortInfo| {
        let Node::Switch(switch) = port.cable.to else { return None };
        let nth = &mut inputs[switch.index()];
        *nth += 1;
        let port = back[switch.index()][*nth - 1];
        Some(graph.link(switch, port))
    };
    ports.iter().map(of).collect()
}

/// All pauses by now, in the order of their beginnings.
pub(crate) fn pauses(
    network: &Network,
    graph: &Graph,
    ports: &[PortInfo],
    pfc: &Pfc,
    now: Time,
) -> Vec<Pause> {
    let mut pauses = Vec::new();
    for link in network.links() {
        for &class in &pfc.priorities {
            let of = |(from, until)| Pause { link, class, from, until, cause: None, root: link };
            pauses.extend(network.port(link).state().holds(class, now).into_iter().map(of));
        }
    }
    pauses.sort_by_key(|pause| (pause.from, pause.link, pause.class));
    let reverses = reverses(graph, ports);
    let mut causes: BTreeMap<(LinkId, u8), Vec<Asked>> = BTreeMap::new();
    for (switch, of) in network.causes() {
        let link = |port: PortId| graph.link(switch, port);
        for &Cause { at, port, class, by } in of {
            let by = by.map(|(port, held)| (link(port), held));
            causes.entry((link(port), class)).or_default().push((at, by));
        }
    }
    let mut before: BTreeMap<(LinkId, u8), Vec<usize>> = BTreeMap::new();
    for nth in 0..pauses.len() {
        let Pause { link, class, from, .. } = pauses[nth];
        before.entry((link, class)).or_default().push(nth);
        let Some(back) = reverses[link.index()] else { continue };
        let asked = causes.get(&(back, class)).map_or(&[][..], Vec::as_slice);
        // A frame takes so long at least.
        let cable = ports[back.index()].cable;
        let least = pfc.pipeline + cable.rate.tx_time(FRAME_BYTES) + cable.delay;
        let least = least + pfc.response(cable.rate);
        // A line carries remainders: a frame may take a picosecond less.
        let slack = Span::from_ps(1);
        // The last frame sent early enough to have had its effect by then.
        let asked = asked
            .partition_point(|&(at, _)| at + least <= from + slack)
            .checked_sub(1)
            .map(|nth| asked[nth]);
        match asked {
            Some((_, Some((by, false)))) => pauses[nth].root = by,
            Some((at, Some((by, true)))) => {
                // A pause passed on by that switch: the cause is its own hold that had begun when
                // it asked.
                let held = before.get(&(by, class)).map_or(&[][..], Vec::as_slice);
                let cause = held.iter().rev().copied().find(|&nth| pauses[nth].from <= at);
                pauses[nth].root = cause.map_or(by, |nth| pauses[nth].root);
                // Causes begin earlier, and pauses are in the order of their beginnings: its root
                // is known.
                pauses[nth].cause = cause;
            }
            Some((_, None)) | None => {}
        }
    }
    pauses
}

/// How long each flow waited since the warm-up that did at all, of those whose path is fixed; `now` ends those
/// under way.
pub(crate) fn waited(
    pauses: &[Pause],
    graph: &Graph,
    flows: impl Iterator<Item = FlowRecord>,
    (warmed_at, now): (Time, Time),
) -> Vec<Waited> {
    let mut by_queue: BTreeMap<(LinkId, u8), Vec<&Pause>> = BTreeMap::new();
    for pause in pauses {
        by_queue.entry((pause.link, pause.class)).or_default().push(pause);
    }
    let of = |flow: FlowRecord| {
        let start = flow.start.max(warmed_at);
        let end = flow.end.or(flow.failed).unwrap_or(now);
        if end <= start {
            return None;
        }
        let way = graph.ways(flow.src, Hop { dst: flow.dst, key: flow.key }).fixed()?;
        let mut held: Vec<(Time, Time, bool)> = Vec::new();
        for link in &way {
            let Some(pauses) = by_queue.get(&(*link, flow.class)) else { continue };
            let first = pauses.partition_point(|pause| pause.until <= start);
            let during = pauses[first..].iter().take_while(|pause| pause.from < end);
            held.extend(during.map(|pause| {
                let times = (pause.from.max(start), pause.until.min(end));
                (times.0, times.1, !way.contains(&pause.root))
            }));
        }
        held.sort_unstable();
        let waited = Waited {
            flow,
            held: union(held.iter().map(|&(from, until, _)| (from, until))),
            victim: union(held.iter().filter(|of| of.2).map(|&(from, until, _)| (from, until))),
        };
        Some(waited).filter(|waited| waited.held > Span::ZERO)
    };
    flows.filter_map(of).collect()
}

/// How long at least one of these times lasts, which are in the order of their beginnings.
fn union(times: impl Iterator<Item = (Time, Time)>) -> Span {
    let (mut total, mut end) = (Span::ZERO, Time::ZERO);
    for (from, until) in times {
        // Only what the intervals before have not covered; none of it where this one ends before
        // them.
        total += until.since(from.max(end).min(until));
        end = end.max(until);
    }
    total
}

/// The table `pause_tree`: a row a pause.
pub(crate) fn tree(pauses: &[Pause], ports: &[PortInfo]) -> Table {
    let name = |link: LinkId| ports[link.index()].name.as_str();
    let f64s = |of: &dyn Fn(&Pause) -> f64| Values::F64(pauses.iter().map(of).collect());
    let nths = (0..pauses.len() as u64).collect();
    Table::new([
        ("pause", "", "its number, from 0, in the order of beginnings", Values::U64(nths)),
        (
            "port",
            "",
            "the port that was held",
            Values::Names(pauses.iter().map(|pause| name(pause.link)).collect()),
        ),
        (
            "class",
            "",
            "the class",
            Values::U32(pauses.iter().map(|pause| u32::from(pause.class)).collect()),
        ),
        ("start_s", "s", "from then on", f64s(&|pause| pause.from.as_secs_f64())),
        ("end_s", "s", "until then", f64s(&|pause| pause.until.as_secs_f64())),
        (
            "cause",
            "",
            "the pause that it follows from; null: none, it begins at the congested port",
            f64s(&|pause| pause.cause.map_or(f64::NAN, |nth| nth as f64)),
        ),
        (
            "root",
            "",
            "the congested port that all began with",
            Values::Names(pauses.iter().map(|pause| name(pause.root)).collect()),
        ),
    ])
}

/// The table `paused_flows`: a row a flow that waited.
pub(crate) fn flows(waited: &[Waited]) -> Table {
    let f64s = |of: &dyn Fn(&Waited) -> f64| Values::F64(waited.iter().map(of).collect());
    let u32s = |of: &dyn Fn(&FlowRecord) -> u32| {
        Values::U32(waited.iter().map(|waited| of(&waited.flow)).collect())
    };
    Table::new([
        (
            "row",
            "",
            "the flow's row in the table flows",
            Values::U64(waited.iter().map(|waited| waited.flow.row).collect()),
        ),
        ("src", "", "sending host", u32s(&|flow| flow.src.0)),
        ("dst", "", "receiving host", u32s(&|flow| flow.dst.0)),
        ("class", "", "class (DSCP)", u32s(&|flow| flow.class.into())),
        (
            "held_s",
            "s",
            "how long, while it was under way since the warm-up, a port on its way was held",
            f64s(&|waited| waited.held.as_secs_f64()),
        ),
        (
            "victim_s",
            "s",
            "the same of pauses whose root is not on its way: what it did not bring about",
            f64s(&|waited| waited.victim.as_secs_f64()),
        ),
    ])
}

/// The table `pauses`: a row for each port and lossless class, with how long each was held and the frames that each
/// port sent and heard.
pub(crate) fn table(
    ports: &[PortInfo],
    classes: &[u8],
    paused: Vec<f64>,
    frames: &dyn Fn(usize) -> (u64, u64),
) -> Table {
    let rows = || {
        let each = ports.iter().enumerate();
        each.flat_map(|(link, info)| classes.iter().map(move |&class| (link, info, class)))
    };
    let u64s = |of: &dyn Fn(usize) -> u64| Values::U64(rows().map(|row| of(row.0)).collect());
    Table::new([
        ("port", "", "its name", Values::Names(rows().map(|row| row.1.name.as_str()).collect())),
        ("class", "", "the lossless class", Values::U32(rows().map(|row| row.2.into()).collect())),
        (
            "paused_s",
            "s",
            "how long its peer had paused that class here since the warm-up",
            Values::F64(paused),
        ),
        (
            "frames_sent",
            "",
            "pause frames and resumes that the port sent its peer since the warm-up, of all classes",
            u64s(&|link| frames(link).0),
        ),
        ("frames_heard", "", "those that it heard from there", u64s(&|link| frames(link).1)),
    ])
}

/// Uses of switches' memories by their lossless groups, each with the switch's port that packets come in on.
pub(crate) fn groups(
    network: &Network,
    graph: &Graph,
    ports: &[PortInfo],
) -> Vec<(LinkId, GroupUse)> {
    let mut inputs: Vec<Vec<LinkId>> = vec![Vec::new(); graph.switches.len()];
    for (port, back) in ports.iter().zip(reverses(graph, ports)) {
        if let (Node::Switch(switch), Some(back)) = (port.cable.to, back) {
            inputs[switch.index()].push(back);
        }
    }
    let of = |(switch, inputs): (usize, Vec<LinkId>)| {
        let groups = network.groups(graph.link(SwitchId::at(switch), PortId(0)));
        groups.into_iter().map(move |of| (inputs[usize::from(of.input)], of))
    };
    let switches = inputs.into_iter().enumerate().filter(|(_, inputs)| !inputs.is_empty());
    switches.flat_map(of).collect()
}

/// The table `groups`: a row for each switch's port and lossless class.
pub(crate) fn groups_table(rows: &[(LinkId, GroupUse)], ports: &[PortInfo]) -> Table {
    let u64s =
        |of: &dyn Fn(&GroupUse) -> u64| Values::U64(rows.iter().map(|row| of(&row.1)).collect());
    Table::new([
        (
            "port",
            "",
            "the switch's port that the packets came in on",
            Values::Names(rows.iter().map(|row| ports[row.0.index()].name.as_str()).collect()),
        ),
        (
            "class",
            "",
            "the lossless class",
            Values::U32(rows.iter().map(|row| u32::from(row.1.class)).collect()),
        ),
        (
            "shared_max_bytes",
            "bytes",
            "the most that the group held outside its headroom",
            u64s(&|of| of.shared.get()),
        ),
        (
            "headroom_max_bytes",
            "bytes",
            "the most that it held in its headroom",
            u64s(&|of| of.headroom.get()),
        ),
        (
            "lost_packets",
            "",
            "packets dropped since neither the shared part nor the headroom had space",
            u64s(&|of| of.lost),
        ),
        (
            "dropped_packets",
            "",
            "packets that the scheme, a limit of their queue or the watchdog dropped",
            u64s(&|of| of.dropped),
        ),
    ])
}

/// The table `storms`: a row for each switch's port and lossless class that was in a storm.
pub(crate) fn storms(network: &Network, ports: &[PortInfo], pfc: &Pfc, now: Time) -> Table {
    let classes =
        || network.links().flat_map(|link| pfc.priorities.iter().map(move |&of| (link, of)));
    let seen =
        |(link, class): (LinkId, u8)| (link, class, network.port(link).state().storms(class, now));
    let rows: Vec<_> = classes().map(seen).filter(|row| row.2.count > 0).collect();
    let u64s = |of: &dyn Fn(usize) -> u64| Values::U64((0..rows.len()).map(of).collect());
    let f64s = |of: &dyn Fn(usize) -> f64| Values::F64((0..rows.len()).map(of).collect());
    Table::new([
        (
            "port",
            "",
            "the port that was paused",
            Values::Names(rows.iter().map(|row| ports[row.0.index()].name.as_str()).collect()),
        ),
        ("class", "", "the class", Values::U32(rows.iter().map(|row| u32::from(row.1)).collect())),
        ("storms", "", "how often the watchdog acted", u64s(&|nth| rows[nth].2.count)),
        (
            "first_s",
            "s",
            "when it did first",
            f64s(&|nth| rows[nth].2.first.map_or(f64::NAN, Time::as_secs_f64)),
        ),
        ("storm_s", "s", "how long storms lasted", f64s(&|nth| rows[nth].2.total.as_secs_f64())),
        (
            "dropped_packets",
            "",
            "packets that it dropped; drops_at_departure of the table ports has them, too",
            u64s(&|nth| rows[nth].2.dropped),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_overlap_count_once() {
        let at = |ns: u64| Time::from_ps(1_000 * ns);
        let times = [(10, 20), (12, 15), (18, 30), (40, 50)];
        let times = times.map(|(from, until)| (at(from), at(until)));
        assert_eq!(union(times.into_iter()), Span::from_ns(30));
    }
}
