//! A sequential engine over some of the nodes.

use super::calendar::Calendar;
use super::phases::{Beat, Phases};
use super::wakes::Wakes;
use super::{Event, Outbox, Stage, WAKE, World};
use crate::ids::NodeId;
use switchbed_qdisc::units::Time;

/// The stages, and how many events before its own each fetches.
const STAGES: [(Stage, usize); 4] =
    [(Stage::First, 40), (Stage::Second, 28), (Stage::Third, 16), (Stage::Fourth, 8)];
/// For fewer events than that fetching in turn is not worthwhile: what they lead to is near.
const FEW: usize = 192;

/// A shard: its nodes, and what is to happen to them.
pub(crate) struct Shard<W: World> {
    pub(crate) world: W,
    calendar: Calendar,
    /// Visits in the phases that come next.
    wakes: Wakes,
    /// By node, its earliest visit that was asked for, is still to come and is further away.
    far: Vec<Time>,
    /// The phase that is handled, or was handled last.
    phase: u64,
    /// By shard, what goes there.
    pub(super) mail: Vec<Vec<W::Parcel>>,
    /// The earliest of it.
    pub(super) earliest: Time,
    /// Events handled.
    pub(super) events: u64,
    /// By node, how many events it has in a phase, then where the next goes; zero between phases.
    counts: Vec<u32>,
    /// A phase's events, node by node; the nodes to visit, and where the events of each end.
    sorted: Vec<Event>,
    visits: Vec<(NodeId, u32)>,
    phases: Phases,
    /// By node.
    beats: Vec<Beat>,
}

impl<W: World> Shard<W> {
    /// Of nodes of these beats, one of `shards`; events of the next `reach` phases are near.
    pub(super) fn new(
        world: W,
        beats: Vec<Beat>,
        shards: usize,
        phases: Phases,
        reach: u64,
    ) -> Self {
        let nodes = beats.len();
        Shard {
            world,
            calendar: Calendar::new(phases, reach),
            wakes: Wakes::new(nodes),
            far: vec![Time::NEVER; nodes],
            phase: 0,
            mail: (0..shards).map(|_| Vec::new()).collect(),
            earliest: Time::NEVER,
            events: 0,
            counts: vec![0; nodes],
            sorted: Vec::new(),
            visits: Vec::new(),
            phases,
            beats,
        }
    }

    /// Something that happens from outside: not before what was run.
    pub(crate) fn push(&mut self, event: Event) {
        self.calendar.push(event, self.beats[event.node().index()]);
    }

    /// Sees to it that a node is visited by a time.
    #[inline]
    pub(crate) fn wake(&mut self, node: NodeId, at: Time) {
        let phase = self.phases.of(at, self.beats[node.index()]);
        if Wakes::near(phase, self.phase) {
            self.wakes.add(phase, node);
        } else if at < self.far[node.index()] {
            self.far[node.index()] = at;
            self.calendar.push(Event::new(at, node, WAKE), self.beats[node.index()]);
        }
    }

    /// Changes the world from outside at `now`, before which everything has happened.
    pub(crate) fn change<T>(
        &mut self,
        now: Time,
        change: impl FnOnce(&mut W, &mut Outbox<W::Parcel>) -> T,
    ) -> T {
        let Shard { world, calendar, mail, earliest, beats, phases, .. } = self;
        let next = phases.window(now);
        change(world, &mut Outbox { calendar, beats, phases: *phases, mail, earliest, next })
    }

    /// The next phase from this one on with something to do; `u64::MAX`: none.
    pub(super) fn next(&self, from: u64) -> u64 {
        self.calendar.next(from).min(self.wakes.next(from))
    }

    /// Takes in what came from another shard.
    pub(super) fn take_in(&mut self, mail: &mut Vec<W::Parcel>) {
        for parcel in mail.drain(..) {
            let event = self.world.unpack(parcel);
            self.push(event);
        }
    }

    /// What happens in a phase before `end`.
    pub(super) fn run(&mut self, phase: u64, end: Time) {
        self.phase = phase;
        let mut bucket = self.calendar.take(phase);
        let cut = end < self.phases.end(phase);
        // What is after the end stays for later.
        let rest = match cut {
            true => bucket.extract_if(.., |event| event.at >= end).collect(),
            false => Vec::new(),
        };
        self.by_node(&bucket, phase);
        self.visit_all(phase, end);
        bucket.clear();
        self.calendar.give_back(phase, if cut { rest } else { bucket });
    }

    /// Lays out a phase's events by their nodes: counts them, then deals them out.
    fn by_node(&mut self, bucket: &[Event], phase: u64) {
        let nodes = self.wakes.take(phase);
        for event in bucket {
            let node = event.node().index();
            nodes[node / 64] |= 1 << (node % 64);
            if event.what() == WAKE {
                self.far[node] = Time::NEVER;
            } else {
                self.counts[node] += 1;
            }
        }
        let mut sum = 0;
        for (word, bits) in (0..).zip(nodes) {
            let mut bits = std::mem::take(bits);
            while bits != 0 {
                let node = NodeId(64 * word + bits.trailing_zeros());
                bits &= bits - 1;
                sum += std::mem::replace(&mut self.counts[node.index()], sum);
                self.visits.push((node, sum));
            }
        }
        if self.sorted.len() < bucket.len() {
            self.sorted.resize(bucket.len(), Event::new(Time::ZERO, NodeId(0), WAKE));
        }
        for event in bucket.iter().filter(|event| event.what() != WAKE) {
            let place = &mut self.counts[event.node().index()];
            self.sorted[*place as usize] = *event;
            *place += 1;
        }
        self.events += u64::from(sum);
    }

    /// Visits node by node, and fetches ahead.
    fn visit_all(&mut self, phase: u64, end: Time) {
        let mut memory = std::mem::take(&mut self.sorted);
        let mut visits = std::mem::take(&mut self.visits);
        let sorted = &mut memory[..visits.last().map_or(0, |&(_, to)| to as usize)];
        if sorted.len() < FEW {
            for stage in [Stage::Packet, Stage::Second] {
                sorted.iter().for_each(|event| self.world.fetch(event, stage));
            }
            let mut from = 0;
            for (node, to) in visits.drain(..) {
                self.visit(node, &mut sorted[from..to as usize], phase, end);
                from = to as usize;
            }
        } else {
            let (mut from, mut fetched) = (0, [0; STAGES.len()]);
            for (node, to) in visits.drain(..) {
                let to = to as usize;
                for (&(stage, ahead), fetched) in STAGES.iter().zip(&mut fetched) {
                    let until = (from + ahead).max(to).min(sorted.len());
                    for event in &sorted[(*fetched).min(until)..until] {
                        self.world.fetch(event, stage);
                    }
                    *fetched = until;
                }
                self.visit(node, &mut sorted[from..to], phase, end);
                from = to;
            }
        }
        (self.sorted, self.visits) = (memory, visits);
    }

    #[inline]
    fn visit(&mut self, node: NodeId, events: &mut [Event], phase: u64, end: Time) {
        self.counts[node.index()] = 0;
        let mut out = Outbox {
            calendar: &mut self.calendar,
            mail: &mut self.mail,
            earliest: &mut self.earliest,
            beats: &self.beats,
            phases: self.phases,
            next: phase + 1,
        };
        let next = self.world.visit(node, events, end, &mut out);
        if next != Time::NEVER {
            self.wake(node, next);
        }
    }
}
