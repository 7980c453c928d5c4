//! A sequential engine over some of the nodes, and its agenda: coming events, and the visits of its nodes.

use super::calendar::Calendar;
use super::phases::{Beat, Phases, Wakes};
use super::{Event, Outbox, Stage, WAKE, World};
use crate::ids::NodeId;
use std::hint::select_unpredictable;
use std::ops::Range;
use switchbed_units::Time;

/// How many events before its own each stage fetches.
const AHEAD: [usize; 4] = [40, 28, 16, 8];
/// With fewer events than this, fetching in stages is not worthwhile: their data is in the cache.
const FEW: usize = 192;
/// With fewer events still, their packets are not fetched: that took some 20 instructions a packet-hop (MQ-ECN's figure 9).
const SEVERAL: usize = 24;
/// Number of the values of a `u8`.
const MOST: usize = 256;
/// Number of a node's events up to which they are put in order one by one.
const SOME: usize = 12;
/// No event: it is later than all.
const LAST: Event = Event::new(Time::NEVER, NodeId(0), WAKE);

/// A shard: its nodes, and what is to happen to them.
pub(crate) struct Shard<W: World> {
    pub(crate) world: W,
    agenda: Agenda,
    /// By shard, what goes there.
    pub(super) mail: Vec<Vec<W::Parcel>>,
    /// Earliest time of the mail.
    pub(super) earliest: Time,
    pub(super) events: u64,
    /// By node, how many events it has in a phase, then where the next goes; zero between phases.
    counts: Vec<u32>,
    /// A phase's events, node by node; the nodes to visit, and where the events of each end.
    sorted: Vec<Event>,
    /// Of a phase with few events: those of one node.
    few: [Event; MOST + 1],
    /// Where events are put in order.
    order: [Event; MOST],
    /// By event, counted from 1, the one before it at its node; 0: there is none.
    before: [u8; MOST],
    visits: Vec<(NodeId, u32)>,
    /// An empty set of nodes, in whose place a phase's is emptied.
    nodes: Box<[u64]>,
    /// Of a phase inside which a call ends, what comes after; empty between calls.
    later: Vec<Event>,
    phases: Phases,
}

impl<W: World> Shard<W> {
    /// Makes one of `shards`, for nodes of these beats. Events of the next `reach` phases go into buckets.
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
            agenda: Agenda::new(beats, phases, reach),
            mail: (0..shards).map(|_| Vec::new()).collect(),
            earliest: Time::NEVER,
            events: 0,
            counts: vec![0; nodes],
            sorted: Vec::new(),
            few: [LAST; MOST + 1],
            order: [LAST; MOST],
            before: [0; MOST],
            visits: Vec::new(),
            nodes: vec![0; nodes.div_ceil(64)].into(),
            later: Vec::new(),
            phases,
        }
    }

    /// Adds an event from the caller, not before the time reached.
    pub(crate) fn push(&mut self, event: Event) {
        self.agenda.push(event);
    }

    /// Sees to it that a node is visited by a time.
    pub(crate) fn wake(&mut self, node: NodeId, at: Time) {
        self.agenda.wake(node, at);
    }

    /// Lets the caller change the world at `now`, before which everything has happened.
    pub(crate) fn change<T>(
        &mut self,
        now: Time,
        change: impl FnOnce(&mut W, &mut Outbox<W::Parcel>) -> T,
    ) -> T {
        let Shard { world, agenda, mail, earliest, phases, .. } = self;
        let next = phases.window(now);
        change(world, &mut Outbox { agenda, phases: *phases, mail, earliest, next })
    }

    /// Takes out events that are not to happen, but for visits.
    pub(crate) fn remove(&mut self, mut gone: impl FnMut(&mut W, &Event) -> bool) {
        let Shard { world, agenda, .. } = self;
        agenda.calendar.retain(|event| event.what() == WAKE || !gone(world, event));
    }

    /// The next phase from this one on with something to do; `u64::MAX`: none.
    #[inline]
    pub(super) fn next(&self, from: u64) -> u64 {
        self.agenda.next(from)
    }

    /// Takes in what came from another shard.
    pub(super) fn take_in(&mut self, mail: &mut Vec<W::Parcel>) {
        for parcel in mail.drain(..) {
            let event = self.world.unpack(parcel);
            self.push(event);
        }
    }

    /// Handles the events of a phase before `end`.
    pub(super) fn run(&mut self, phase: u64, end: Time) {
        match end < self.phases.end(phase) {
            true => self.run_part(phase, end),
            false => self.run_whole(phase),
        }
    }

    /// Handles the events of a phase.
    #[inline]
    pub(super) fn run_whole(&mut self, phase: u64) {
        let mut bucket = self.agenda.take(phase);
        self.handle(&mut bucket, phase, self.phases.end(phase));
        bucket.clear();
        self.agenda.calendar.give_back(phase, bucket);
    }

    /// A call ends inside a phase: later events go back, and the phase comes again.
    #[inline(never)]
    fn run_part(&mut self, phase: u64, end: Time) {
        let mut bucket = self.agenda.take(phase);
        let mut later = std::mem::take(&mut self.later);
        bucket.retain(|event| {
            let before = event.at < end;
            later.extend((!before).then_some(*event));
            before
        });
        self.handle(&mut bucket, phase, end);
        bucket.clear();
        bucket.append(&mut later);
        self.later = later;
        self.agenda.calendar.give_back(phase, bucket);
    }

    /// Handles events of a phase, all before `end`.
    #[inline(always)]
    fn handle(&mut self, bucket: &mut [Event], phase: u64, end: Time) {
        if bucket.len() < FEW {
            return self.visit_few(bucket, phase, end);
        }
        self.by_node(bucket, phase);
        match self.world.prepares() {
            false => self.visit_all::<false>(phase, end),
            true => self.visit_all::<true>(phase, end),
        }
    }

    /// Visits node by node, where a phase has few events: each node's are chained, the last first.
    #[inline(always)]
    fn visit_few(&mut self, bucket: &mut [Event], phase: u64, end: Time) {
        let Shard { world, agenda, mail, earliest, counts: last, phases, events, .. } = self;
        // As long as a `u8` has values: no index is out of bounds.
        let (few, before, order) = (&mut self.few, &mut self.before, &mut self.order);
        if bucket.len() >= SEVERAL {
            bucket.iter().for_each(|event| world.fetch(event, Stage::Packet));
        }
        let (nodes, far, mut visits) = (agenda.wakes.take(phase), &mut agenda.far, 0);
        for (nth, event) in (1u8..).zip(&*bucket) {
            let node = event.node().index();
            nodes[node / 64] |= 1 << (node % 64);
            if event.what() == WAKE {
                // The far visit has come: the next one may be asked for again.
                far[node] = Time::NEVER;
                visits += 1;
                continue;
            }
            before[usize::from(nth)] = std::mem::replace(&mut last[node], nth.into()) as u8;
        }
        *events += bucket.len() as u64 - visits;
        let prepares = world.prepares();
        // A visit sets its own node's bit at most, where the phase comes again: in the empty set that is left there.
        std::mem::swap(agenda.wakes.nodes_mut(phase), &mut self.nodes);
        let mut out = Outbox { agenda, phases: *phases, mail, earliest, next: phase + 1 };
        for (word, bits) in (0..).zip(&mut *self.nodes) {
            let mut bits = std::mem::take(bits);
            while bits != 0 {
                let node = NodeId(64 * word + bits.trailing_zeros());
                bits &= bits - 1;
                let nth = std::mem::take(&mut last[node.index()]) as u8;
                let own = match (usize::from(nth), before[usize::from(nth)]) {
                    // One event, as most nodes have, or none.
                    (last, 0) => &mut bucket[last.saturating_sub(1)..last],
                    _ => in_order(bucket, nth, before, few, order),
                };
                if prepares {
                    world.prepare(node, own, Stage::Packet);
                }
                let next = world.visit(node, own, end, &mut out);
                if next != Time::NEVER {
                    out.agenda.wake(node, next);
                }
            }
        }
    }

    /// Lays out a phase's events by their nodes: counts them, then deals them out.
    fn by_node(&mut self, bucket: &[Event], phase: u64) {
        let Agenda { wakes, far, .. } = &mut self.agenda;
        let nodes = wakes.take(phase);
        for event in bucket {
            let node = event.node().index();
            nodes[node / 64] |= 1 << (node % 64);
            if event.what() == WAKE {
                // The far visit has come: the next one may be asked for again.
                far[node] = Time::NEVER;
            } else {
                self.counts[node] += 1;
            }
        }
        // Prefix sums: a node's count becomes the place of its first event. Bits are read from the
        // lowest up, so nodes are visited by number, however events came.
        let mut sum = 0;
        for (word, bits) in (0..).zip(nodes) {
            let mut bits = std::mem::take(bits);
            while bits != 0 {
                let node = NodeId(64 * word + bits.trailing_zeros());
                bits &= bits - 1;
                // `replace` runs before the addition: it stores the sum without this node's own
                // events.
                sum += std::mem::replace(&mut self.counts[node.index()], sum);
                self.visits.push((node, sum));
            }
        }
        // Grows only: its contents are overwritten below, up to the last visit's end.
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

    /// Visits node by node, and fetches ahead; with `PREPARES` it prepares visits ahead, too.
    fn visit_all<const PREPARES: bool>(&mut self, phase: u64, end: Time) {
        let Shard { world, agenda, mail, earliest, counts, sorted, visits, phases, .. } = self;
        let mut out = Outbox { agenda, phases: *phases, mail, earliest, next: phase + 1 };
        let order = &mut self.order;
        let mut visit = |world: &mut W, node: NodeId, events: &mut [Event]| {
            // Zero again for the next phase.
            counts[node.index()] = 0;
            let next = world.visit(node, events, end, &mut out);
            if next != Time::NEVER {
                out.agenda.wake(node, next);
            }
        };
        let sorted = &mut sorted[..visits.last().map_or(0, |&(_, to)| to as usize)];
        let mut from = 0;
        let mut fetched = [0; AHEAD.len()];
        let [mut seen, mut ready] = [Ahead::default(); 2];
        for &(node, to) in &*visits {
            let to = to as usize;
            // Written out, so that each call is compiled for its stage.
            let [first, second, third, fourth] = &mut fetched;
            let until = AHEAD.map(|ahead| (from + ahead).max(to));
            fetch(world, sorted, first, until[0], Stage::First);
            if PREPARES {
                seen.reach(visits, until[1], |node, events| {
                    world.prepare(node, &mut sorted[events], Stage::Second);
                });
            }
            fetch(world, sorted, second, until[1], Stage::Second);
            match PREPARES {
                false => sort(&mut sorted[from..to], order),
                true => ready.reach(visits, until[2], |node, events| {
                    sort(&mut sorted[events.clone()], order);
                    world.prepare(node, &mut sorted[events], Stage::Third);
                }),
            }
            fetch(world, sorted, third, until[2], Stage::Third);
            fetch(world, sorted, fourth, until[3], Stage::Fourth);
            visit(world, node, &mut sorted[from..to]);
            from = to;
        }
        visits.clear();
    }
}

/// How far visits were looked at ahead: how many, and how many events they have.
#[derive(Clone, Copy, Default)]
struct Ahead {
    visits: usize,
    events: usize,
}

impl Ahead {
    /// Goes on to the visits whose events begin before a place.
    #[inline(always)]
    fn reach(
        &mut self,
        visits: &[(NodeId, u32)],
        until: usize,
        mut each: impl FnMut(NodeId, Range<usize>),
    ) {
        while self.events < until
            && let Some(&(node, to)) = visits.get(self.visits)
        {
            each(node, self.events..to as usize);
            *self = Ahead { visits: self.visits + 1, events: to as usize };
        }
    }
}

/// Collects a node's events from the last one on, in the order of their times.
#[inline(always)]
fn in_order<'a>(
    bucket: &[Event],
    mut nth: u8,
    before: &[u8; MOST],
    few: &'a mut [Event; MOST + 1],
    order: &mut [Event; MOST],
) -> &'a mut [Event] {
    let mut from = u8::MAX;
    while nth != 0 {
        let (event, mut place) = (bucket[usize::from(nth) - 1], usize::from(from));
        // In the order of their times, while there are some.
        let some = usize::from(u8::MAX - from) < SOME;
        while some && few[place + 1].at < event.at {
            few[place] = few[place + 1];
            place += 1;
        }
        few[place] = event;
        (from, nth) = (from.wrapping_sub(1), before[usize::from(nth)]);
    }
    let own = &mut few[usize::from(from) + 1..MOST];
    if own.len() > SOME {
        deal(own, order);
    }
    own
}

/// Puts a node's events in the order of their times.
#[inline(always)]
fn sort(events: &mut [Event], order: &mut [Event; MOST]) {
    match events {
        [] | [_] => {}
        [a, b] => {
            // The order cannot be predicted, so a branch would cost more.
            let (x, y) = (*a, *b);
            let swap = y.at < x.at;
            *a = select_unpredictable(swap, y, x);
            *b = select_unpredictable(swap, x, y);
        }
        _ if events.len() <= SOME => {
            rank(events, order);
            events.copy_from_slice(&order[..events.len()]);
        }
        _ => deal(events, order),
    }
}

/// Puts several events in order: dealt out by their times, evenly, nearly all are in their places.
#[inline(never)]
fn deal(events: &mut [Event], order: &mut [Event; MOST]) {
    let times = events.iter().map(|event| event.at.as_ps());
    let (first, last) = times.fold((u64::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
    let (count, span) = (events.len(), last.saturating_sub(first) + 1);
    if count > MOST || span > u32::MAX.into() {
        return events.sort_unstable_by_key(|event| event.at);
    }
    // Shares of the span as fixed-point numbers: below `count` for each, as it is rounded down.
    let scale = ((count as u64) << 32) / span;
    let share = |event: &Event| (((event.at.as_ps() - first) * scale) >> 32) as u8;
    let mut places = [0u16; MOST];
    events.iter().for_each(|event| places[usize::from(share(event))] += 1);
    let mut sum = 0;
    for place in &mut places[..count] {
        sum += std::mem::replace(place, sum);
    }
    for event in &*events {
        let place = &mut places[usize::from(share(event))];
        order[usize::from(*place as u8)] = *event;
        *place += 1;
    }
    // By insertion, since each is near its place.
    for (nth, event) in order[..count].iter().enumerate() {
        let mut place = nth;
        while place > 0 && event.at < events[place - 1].at {
            events[place] = events[place - 1];
            place -= 1;
        }
        events[place] = *event;
    }
}

/// Puts a few events into `order`. Each one's rank is counted, without a branch: which comes first is
/// anybody's guess.
#[inline(always)]
fn rank(events: &[Event], order: &mut [Event; MOST]) {
    let mut ranks = [0u8; SOME];
    for (i, a) in events.iter().enumerate() {
        let mut rank = 0;
        for (b, other) in events[..i].iter().zip(&mut ranks) {
            // Exactly one of the pair is counted as the later one, so ranks are a permutation even
            // where times are equal.
            let later = u8::from(b.at <= a.at);
            rank += later;
            *other += 1 - later;
        }
        ranks[i] = rank;
    }
    for (event, rank) in events.iter().zip(ranks) {
        order[usize::from(rank)] = *event;
    }
}

/// Fetches what the events before one need that was not fetched yet.
#[inline(always)]
fn fetch<W: World>(world: &W, events: &[Event], fetched: &mut usize, until: usize, stage: Stage) {
    let until = until.min(events.len());
    for event in &events[(*fetched).min(until)..until] {
        world.fetch(event, stage);
    }
    *fetched = until;
}

/// A shard's events and visits to come.
pub(super) struct Agenda {
    pub(super) calendar: Calendar,
    /// By node.
    beats: Vec<Beat>,
    /// Visits in the phases that come next.
    pub(super) wakes: Wakes,
    /// By node, its earliest visit that was asked for, is still to come and is further away.
    pub(super) far: Vec<Time>,
    /// The phase that is handled, or was handled last.
    phase: u64,
}

impl Agenda {
    /// Makes an empty agenda for nodes of these beats. Events of the next `reach` phases go into buckets.
    pub(super) fn new(beats: Vec<Beat>, phases: Phases, reach: u64) -> Agenda {
        let nodes = beats.len();
        Agenda {
            calendar: Calendar::new(phases, reach),
            beats,
            wakes: Wakes::new(nodes),
            far: vec![Time::NEVER; nodes],
            phase: 0,
        }
    }

    /// Adds an event; its phase.
    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) -> u64 {
        self.calendar.push(event, self.beats[event.node().index()])
    }

    /// Sees to it that a node is visited by a time.
    #[inline]
    pub(super) fn wake(&mut self, node: NodeId, at: Time) {
        let phase = self.calendar.phase(at, self.beats[node.index()]);
        if Wakes::near(phase, self.phase) {
            self.wakes.add(phase, node);
        } else if at < self.far[node.index()] {
            // The event of a later visit, if any, stays: one visit too many does no harm.
            self.far[node.index()] = at;
            self.push(Event::new(at, node, WAKE));
        }
    }

    /// The next phase from this one on with something to do; `u64::MAX`: none.
    #[inline]
    pub(super) fn next(&self, from: u64) -> u64 {
        self.calendar.next(from).min(self.wakes.next(from))
    }

    /// A phase's events, in a vector that is to be given back to the calendar.
    #[inline]
    pub(super) fn take(&mut self, phase: u64) -> Vec<Event> {
        self.phase = phase;
        self.calendar.take(phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_are_put_in_order(times in prop::collection::vec(0u64..400, 0..300)) {
            let times = times.iter().zip(0..);
            let mut events: Vec<Event> =
                times.map(|(&at, n)| Event::new(Time::from_ps(at), NodeId(n), 0)).collect();
            let mut all = events.clone();
            sort(&mut events, &mut [LAST; MOST]);
            prop_assert!(events.is_sorted_by_key(|event| event.at));
            all.sort();
            events.sort();
            prop_assert_eq!(events, all);
        }
    }
}
