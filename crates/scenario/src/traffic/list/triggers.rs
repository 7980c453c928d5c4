//! A connection matrix whose triggers start flows, as a program of its hosts.
//!
//! htsim fires a trigger everywhere at once. Here a host starts a flow by what it knows. A flow's sender knows of
//! its end with the ACK of its last byte, its receiver with the byte itself. Where other hosts fire a trigger, they
//! send a byte to the first host that waits for it, and that host sends one to each of the rest.
//!
//! A flow of size 0 never ends: it begins at its start, as in a file without triggers, and fires none.

use super::foreign::Wrong;
use super::matrix::{Entry, Kind, Matrix, Trigger};
use crate::traffic::program::{Draft, Envelope, Schedule, Step};
use std::collections::BTreeMap;
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Span, Time};

/// Number of a flow that fires a trigger, and whether its sender does.
type Shot = (usize, bool);

/// Flows that fire a trigger, and those that it starts, each after how many of the former.
#[derive(Default)]
struct Fired {
    by: Vec<Shot>,
    starts: Vec<(usize, u32)>,
}

impl Fired {
    /// Checks that all that waits starts, and counts what each waits for.
    fn count(&mut self, id: u32, trigger: Trigger, flows: &[Entry]) -> Result<(), Wrong> {
        let Some(&(first, _)) = self.starts.first() else { return Ok(()) };
        let fires = self.by.len() as u32;
        let wrong = |flow: usize, what: String| Err((Some(flows[flow].line), what));
        let times = |n: u32| if n == 1 { "once".to_owned() } else { format!("{n} times") };
        let nth: fn(usize, u32) -> u32 = match trigger.kind {
            Kind::Oneshot if fires == 1 => |_, fires| fires,
            Kind::Barrier(count) if fires == count => |_, fires| fires,
            // Each firing of a multishot starts one flow more: the n-th waits for n of them.
            Kind::Multishot if fires > 0 => |place, _| place as u32 + 1,
            _ if fires == 0 => {
                let what = format!("no flow fires trigger {id}, so this one never starts");
                return wrong(first, what);
            }
            Kind::Barrier(count) => {
                let what = format!("barrier {id} has count {count} and is fired {}", times(fires));
                return Err((Some(trigger.line), what));
            }
            _ => {
                let what =
                    format!("oneshot {id} is fired {}; write multishot or barrier", times(fires));
                return Err((Some(trigger.line), what));
            }
        };
        for (place, (flow, needs)) in self.starts.iter_mut().enumerate() {
            *needs = nth(place, fires);
            if *needs > fires {
                let what = format!("trigger {id} starts {} flows, so this one never starts", fires);
                return wrong(*flow, what);
            }
        }
        Ok(())
    }
}

/// A draft, the steps of each flow, and the signals between hosts so far.
struct Sketch<'a> {
    matrix: &'a Matrix,
    ends: Vec<HostId>,
    draft: Draft,
    /// Sent and received, by flow.
    steps: BTreeMap<usize, (Step, Step)>,
    signals: u32,
}

impl Sketch<'_> {
    fn rank(&self, host: HostId) -> u32 {
        self.ends.partition_point(|&other| other < host) as u32
    }

    fn hosts(&self, flow: usize) -> (HostId, HostId) {
        let flow = &self.matrix.flows[flow].flow;
        (flow.src, flow.dst)
    }

    /// An operation of no duration behind others.
    fn point(&mut self, host: HostId, after: &[Step]) -> Step {
        let rank = self.rank(host);
        self.draft.calculate((rank, 0), Span::ZERO, after)
    }

    /// The end of a flow as a host at one of its ends knows it.
    fn known(&mut self, host: HostId, (flow, _): Shot) -> Option<Step> {
        let (src, dst) = self.hosts(flow);
        let (sent, received) = self.steps[&flow];
        let step = match host {
            _ if host == src => sent,
            _ if host == dst => received,
            _ => return None,
        };
        Some(self.point(host, &[step]))
    }

    /// A byte from a host to another, behind an operation there.
    fn signal(&mut self, from: HostId, to: HostId, after: Step) -> Step {
        let flows = self.matrix.flows.len() as u32;
        // Tags up to here are flows', by number.
        let tag = flows + self.signals;
        self.signals += 1;
        let (from, to) = (self.rank(from), self.rank(to));
        let bytes = Bytes::new(1);
        // A connection of their own: a signal must not wait behind data.
        let envelope = Envelope { to, tag, bytes, channel: flows, class: 0, path: None };
        let sent = self.draft.send(from, envelope, &[after]);
        let received = self.draft.receive((to, from), tag, &[]);
        let name = format!("signal {}", tag - flows);
        self.draft.label(sent, &name);
        self.draft.label(received, &name);
        received
    }

    /// All firings of a trigger as a host comes to know them.
    fn gather(&mut self, host: HostId, by: &[Shot]) -> Vec<Step> {
        let mut gathered = Vec::with_capacity(by.len());
        for &shot in by {
            let known = self.known(host, shot);
            gathered.push(known.unwrap_or_else(|| {
                let ((src, dst), (sent, received)) = (self.hosts(shot.0), self.steps[&shot.0]);
                match shot.1 {
                    true => self.signal(src, host, sent),
                    false => self.signal(dst, host, received),
                }
            }));
        }
        gathered
    }

    /// Lets a trigger start its flows; `begins` are their first operations.
    fn fire(&mut self, Fired { by, starts }: &Fired, begins: &BTreeMap<usize, Step>) {
        let Some(&(first, _)) = starts.first() else { return };
        let first = self.hosts(first).0;
        let mut gathered: BTreeMap<HostId, Vec<Step>> = BTreeMap::new();
        let mut signals: BTreeMap<(u32, HostId), Step> = BTreeMap::new();
        for &(flow, needs) in starts {
            let host = self.hosts(flow).0;
            let knows = by.iter().all(|&(fires, _)| {
                let (src, dst) = self.hosts(fires);
                host == src || host == dst
            });
            // A host that cannot see all by itself hears of it from the first flow's sender.
            let at = if knows { host } else { first };
            let steps = gathered.entry(at).or_insert_with(|| self.gather(at, by));
            if at == host {
                steps.iter().for_each(|&step| self.draft.order(step, begins[&flow]));
                self.draft.least(begins[&flow], needs);
                continue;
            }
            let step = signals.get(&(needs, host)).copied().unwrap_or_else(|| {
                let point = self.point(at, steps);
                self.draft.least(point, needs);
                self.signal(at, host, point)
            });
            signals.insert((needs, host), step);
            self.draft.order(step, begins[&flow]);
        }
    }
}

/// Schedule of the hosts that send; `None`: no flow waits for a trigger.
pub(super) fn schedule(
    matrix: &Matrix,
    mut channel: impl FnMut(usize) -> u32,
) -> Result<Option<Schedule>, Wrong> {
    if matrix.flows.iter().all(|of| of.trigger.is_none()) {
        return Ok(None);
    }
    let endless = |of: &&Entry| of.flow.size.is_none();
    if let Some(of) = matrix.flows.iter().find(|of| endless(of) && of.trigger.is_some()) {
        let what = "size 0 never ends, and no trigger starts such a flow; write start or bytes";
        return Err((Some(of.line), what.to_owned()));
    }
    let ending = || matrix.flows.iter().enumerate().filter(|(_, of)| !endless(of));
    let mut fired: BTreeMap<u32, Fired> = BTreeMap::new();
    for (nth, of) in ending() {
        for (id, sender) in [(of.sent, true), (of.received, false)] {
            let Some(id) = id else { continue };
            fired.entry(id).or_default().by.push((nth, sender));
        }
        if let Some(id) = of.trigger {
            fired.entry(id).or_default().starts.push((nth, 0));
        }
    }
    for (id, fired) in &mut fired {
        fired.count(*id, matrix.triggers[id], &matrix.flows)?;
    }
    let mut ends: Vec<HostId> = ending().flat_map(|(_, of)| [of.flow.src, of.flow.dst]).collect();
    ends.sort_unstable();
    ends.dedup();
    let draft = Draft::new(ends.len() as u32);
    let mut sketch = Sketch { matrix, ends, draft, steps: BTreeMap::new(), signals: 0 };
    let mut begins = BTreeMap::new();
    for (nth, of) in matrix.flows.iter().enumerate() {
        if endless(&of) {
            sketch.draft.skip_row();
            continue;
        }
        let (src, dst) = (sketch.rank(of.flow.src), sketch.rank(of.flow.dst));
        let bytes = of.flow.size.unwrap_or_default();
        let tag = nth as u32;
        let channel = channel(nth);
        let envelope = Envelope { to: dst, tag, bytes, channel, class: 0, path: None };
        let start = of.flow.start.since(Time::ZERO);
        // On a processor of its own, so that no flow waits for another's start.
        let begin = sketch.draft.calculate((src, tag + 1), start, &[]);
        let sent = sketch.draft.send(src, envelope, &[begin]);
        let received = sketch.draft.receive((dst, src), tag, &[]);
        let label = match of.id {
            Some(id) => format!("id {id}"),
            None => format!("{}->{}", of.flow.src, of.flow.dst),
        };
        [begin, sent, received].iter().for_each(|&step| sketch.draft.label(step, &label));
        begins.insert(nth, begin);
        sketch.steps.insert(nth, (sent, received));
    }
    fired.values().for_each(|fired| sketch.fire(fired, &begins));
    let Sketch { draft, ends, .. } = sketch;
    let program = draft.finish(ends.clone(), Time::ZERO);
    program
        .map(Some)
        .map_err(|fault| (None, fault.renamed(|rank| ends[rank as usize].0).of("host")))
}
