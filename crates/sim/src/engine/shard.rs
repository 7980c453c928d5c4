//! A sequential engine over some of the nodes.

use super::calendar::Calendar;
use super::phases::{Colour, Phases};
use super::{Event, Outbox, Stage, WAKE, World};
use switchbed_qdisc::units::Time;

/// The stages, and how many events before its own each fetches.
const STAGES: [(Stage, usize); 4] =
    [(Stage::First, 40), (Stage::Second, 28), (Stage::Third, 16), (Stage::Fourth, 8)];
/// Fewer events than that are not worth sorting or fetching for: what they lead to is near.
const FEW: usize = 192;
/// So few nodes stay in the caches.
const NEAR: usize = 64;
/// No event.
const NONE: u32 = u32::MAX;

/// A shard: its nodes, and what is to happen to them.
pub(crate) struct Shard<W: World> {
    pub(crate) world: W,
    calendar: Calendar,
    /// By node, its earliest visit that was asked for and is still to come.
    wakes: Vec<Time>,
    /// By shard, what goes there.
    pub(super) mail: Vec<Vec<W::Parcel>>,
    /// The earliest of it.
    pub(super) earliest: Time,
    /// Events handled.
    pub(super) events: u64,
    counts: Vec<u32>,
    sorted: Vec<Event>,
    /// By node, its last event of a bucket; by event, its node's before it.
    last: Vec<u32>,
    before: Vec<u32>,
    /// Nodes with events.
    met: Vec<u32>,
    phases: Phases,
    /// By node.
    colours: Vec<Colour>,
}

impl<W: World> Shard<W> {
    /// Of nodes of these colours, one of `shards`; events of the next `reach` phases are near.
    pub(super) fn new(
        world: W,
        colours: Vec<Colour>,
        shards: usize,
        phases: Phases,
        reach: u64,
    ) -> Self {
        let nodes = colours.len();
        Shard {
            world,
            calendar: Calendar::new(phases, reach),
            wakes: vec![Time::NEVER; nodes],
            mail: (0..shards).map(|_| Vec::new()).collect(),
            earliest: Time::NEVER,
            events: 0,
            counts: vec![0; nodes],
            sorted: Vec::new(),
            last: vec![NONE; nodes],
            before: Vec::new(),
            met: Vec::new(),
            phases,
            colours,
        }
    }

    /// Something that happens from outside: not before what was run.
    pub(crate) fn push(&mut self, event: Event) {
        self.calendar.push(event, self.colours[event.node() as usize]);
    }

    /// Sees to it that a node is visited by a time.
    pub(crate) fn wake(&mut self, node: u32, at: Time) {
        let wake = &mut self.wakes[node as usize];
        if at < *wake {
            *wake = at;
            self.calendar.push(Event::new(at, node, WAKE), self.colours[node as usize]);
        }
    }

    /// Changes the world from outside at `now`, before which everything has happened.
    pub(crate) fn change<T>(
        &mut self,
        now: Time,
        change: impl FnOnce(&mut W, &mut Outbox<W::Parcel>) -> T,
    ) -> T {
        let Shard { world, calendar, mail, earliest, colours, phases, .. } = self;
        let next = phases.window(now);
        change(world, &mut Outbox { calendar, colours, phases: *phases, mail, earliest, next })
    }

    /// The next phase from this one on with something to do; `u64::MAX`: none.
    pub(super) fn next(&self, from: u64) -> u64 {
        self.calendar.next(from)
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
        let mut bucket = self.calendar.take(phase);
        if end < self.phases.end(phase) {
            // What is after the end stays for later.
            let rest: Vec<Event> = bucket.extract_if(.., |event| event.at >= end).collect();
            self.visit_all(&mut bucket, phase, end);
            bucket = rest;
        } else {
            self.visit_all(&mut bucket, phase, end);
            bucket.clear();
        }
        self.calendar.give_back(phase, bucket);
    }

    fn visit_all(&mut self, bucket: &mut [Event], phase: u64, end: Time) {
        self.events += bucket.len() as u64;
        if bucket.len() < FEW {
            self.visit_few(bucket, phase, end);
        } else {
            self.visit_many(bucket, phase, end);
        }
    }

    /// Visits node by node in any order, each one's events chained.
    fn visit_few(&mut self, bucket: &mut [Event], phase: u64, end: Time) {
        let mut met = std::mem::take(&mut self.met);
        self.before.clear();
        for (nth, event) in (0..).zip(bucket.iter()) {
            let last = &mut self.last[event.node() as usize];
            if *last == NONE {
                met.push(event.node());
            }
            self.before.push(std::mem::replace(last, nth));
        }
        if self.colours.len() > NEAR {
            for stage in [Stage::Packet, Stage::Half] {
                bucket.iter().for_each(|event| self.world.fetch(event, stage));
            }
        }
        for node in met.drain(..) {
            let last = std::mem::replace(&mut self.last[node as usize], NONE) as usize;
            let mut before = self.before[last];
            if before == NONE {
                self.visit(node, &mut bucket[last..=last], phase, end);
                continue;
            }
            let mut events = std::mem::take(&mut self.sorted);
            events.push(bucket[last]);
            while before != NONE {
                events.push(bucket[before as usize]);
                before = self.before[before as usize];
            }
            self.visit(node, &mut events, phase, end);
            events.clear();
            self.sorted = events;
        }
        self.met = met;
    }

    /// Visits in the order of nodes, and fetches ahead.
    fn visit_many(&mut self, bucket: &[Event], phase: u64, end: Time) {
        let mut sorted = std::mem::take(&mut self.sorted);
        self.by_node(bucket, &mut sorted);
        let (mut from, mut fetched) = (0, [0; STAGES.len()]);
        while from < sorted.len() {
            let node = sorted[from].node();
            let len = sorted[from..].iter().take_while(|event| event.node() == node).count();
            let to = from + len;
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
        sorted.clear();
        self.sorted = sorted;
    }

    #[inline]
    fn visit(&mut self, node: u32, events: &mut [Event], phase: u64, end: Time) {
        let wake = &mut self.wakes[node as usize];
        if *wake < end {
            *wake = Time::NEVER;
        }
        let mut out = Outbox {
            calendar: &mut self.calendar,
            mail: &mut self.mail,
            earliest: &mut self.earliest,
            colours: &self.colours,
            phases: self.phases,
            next: phase + 1,
        };
        let next = self.world.visit(node, events, end, &mut out);
        if next != Time::NEVER {
            self.wake(node, next);
        }
    }

    /// Events by their nodes, counted and dealt out.
    fn by_node(&mut self, bucket: &[Event], sorted: &mut Vec<Event>) {
        sorted.extend_from_slice(bucket);
        self.counts.fill(0);
        for event in bucket {
            self.counts[event.node() as usize] += 1;
        }
        let mut sum = 0;
        for count in &mut self.counts {
            sum += std::mem::replace(count, sum);
        }
        for event in bucket {
            let place = &mut self.counts[event.node() as usize];
            sorted[*place as usize] = *event;
            *place += 1;
        }
    }
}
