//! A sequential engine over some of the nodes.

use super::agenda::Agenda;
use super::phases::{Beat, Phases};
use super::{Event, Outbox, Stage, WAKE, World};
use crate::ids::NodeId;
use switchbed_units::Time;

/// How many events before its own each stage fetches.
const AHEAD: [usize; 4] = [40, 28, 16, 8];
/// With fewer events than this, fetching in stages is not worthwhile: their data is in the cache.
const FEW: usize = 192;

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
    visits: Vec<(NodeId, u32)>,
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
            visits: Vec::new(),
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
        let mut bucket = self.agenda.take(phase);
        // A call may end inside a phase: later events go back, and the phase comes again.
        let mut rest = match end < self.phases.end(phase) {
            true => cut(&mut bucket, end),
            false => Vec::new(),
        };
        self.by_node(&bucket, phase);
        self.visit_all(phase, end);
        bucket.clear();
        bucket.append(&mut rest);
        self.agenda.calendar.give_back(phase, bucket);
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
        let few = (sum as usize) < FEW;
        for event in bucket.iter().filter(|event| event.what() != WAKE) {
            if few {
                self.world.fetch(event, Stage::Packet);
            }
            let place = &mut self.counts[event.node().index()];
            self.sorted[*place as usize] = *event;
            *place += 1;
        }
        self.events += u64::from(sum);
    }

    /// Visits node by node, and fetches ahead.
    fn visit_all(&mut self, phase: u64, end: Time) {
        let Shard { world, agenda, mail, earliest, counts, sorted, visits, phases, .. } = self;
        let mut out = Outbox { agenda, phases: *phases, mail, earliest, next: phase + 1 };
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
        if sorted.len() < FEW {
            sorted.iter().for_each(|event| world.fetch(event, Stage::Second));
            for &(node, to) in &*visits {
                visit(world, node, &mut sorted[from..to as usize]);
                from = to as usize;
            }
        } else {
            let mut fetched = [0; AHEAD.len()];
            for &(node, to) in &*visits {
                let to = to as usize;
                // Written out, so that each call is compiled for its stage.
                let [first, second, third, fourth] = &mut fetched;
                let until = AHEAD.map(|ahead| (from + ahead).max(to));
                fetch(world, sorted, first, until[0], Stage::First);
                fetch(world, sorted, second, until[1], Stage::Second);
                fetch(world, sorted, third, until[2], Stage::Third);
                fetch(world, sorted, fourth, until[3], Stage::Fourth);
                visit(world, node, &mut sorted[from..to]);
                from = to;
            }
        }
        visits.clear();
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

/// Takes out what is after an end: it stays for later.
#[cold]
#[inline(never)]
fn cut(bucket: &mut Vec<Event>, end: Time) -> Vec<Event> {
    bucket.extract_if(.., |event| event.at >= end).collect()
}
