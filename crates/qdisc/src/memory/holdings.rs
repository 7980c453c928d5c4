//! Memory held by the queues of a switch, as its ports know it of each other.

use super::lossless::Lossless;
use crate::memory::pfc::PRIORITIES;
use crate::port::packet::QueueId;
use crate::port::view::View;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use switchbed_units::Bytes;

/// The lengths of all queues of a switch. Its ports are one thread's at any time, so no order of
/// theirs is at stake.
#[derive(Debug)]
struct Holdings {
    queues: usize,
    bytes: Box<[AtomicU64]>,
    /// Port whose turn it is to lose a packet, and the earliest time of the next loss in
    /// picoseconds.
    turn: AtomicU64,
    next: AtomicU64,
    pools: Pools,
    /// Groups that pause before they lose, if there are any.
    lossless: Option<Groups>,
}

/// Lossless groups of a switch, and what its ports read of them without a lock.
#[derive(Debug)]
struct Groups {
    all: Mutex<Lossless>,
    /// Cells apart for their headroom.
    apart: u64,
    classes: u8,
    /// No group is paused, and nothing is to be signalled.
    quiet: AtomicBool,
}

impl Groups {
    /// Does something with the groups.
    #[inline]
    fn with<T>(&self, act: impl FnOnce(&mut Lossless) -> T) -> T {
        // The ports of a switch are one thread's: nobody else has it.
        // A lock poisoned by a panic still guards counters that are whole.
        let mut lossless = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = act(&mut lossless);
        self.quiet.store(lossless.is_quiet(), Relaxed);
        answer
    }
}

/// Cells that a chip's pools have given out.
#[derive(Debug)]
pub(super) struct Pools {
    /// To queues, by partition.
    queues: [AtomicU64; MOST_PARTS],
    /// To groups of inputs, likewise.
    groups: [AtomicU64; MOST_PARTS],
    /// Each input's.
    inputs: Box<[AtomicU64]>,
}

/// Greatest number of partitions of a chip's memory.
const MOST_PARTS: usize = 8;

impl Pools {
    /// Changes the cells that queues of a partition have of their pool, and returns the new number.
    pub(super) fn queues(&self, part: usize, by: i64) -> u64 {
        changed(&self.queues[part], by)
    }

    /// Changes the cells that groups of a partition have of their pool, and returns the new number.
    pub(super) fn groups(&self, part: usize, by: i64) -> u64 {
        changed(&self.groups[part], by)
    }

    /// Replaces the cells that an input's group holds, and returns those it held before.
    pub(super) fn group(&self, input: u32, now: impl Fn(u64) -> u64) -> u64 {
        let held = self.inputs[input as usize].load(Relaxed);
        self.inputs[input as usize].store(now(held), Relaxed);
        held
    }
}

fn changed(count: &AtomicU64, by: i64) -> u64 {
    // Load and store without a locked operation: the ports of a switch are one thread's.
    let now = count.load(Relaxed).wrapping_add_signed(by);
    count.store(now, Relaxed);
    now
}

/// A port among those of its switch.
#[derive(Clone, Debug)]
pub struct Place {
    holdings: Arc<Holdings>,
    port: u32,
    ports: u32,
}

/// A queue of a switch: its port's number there, and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOf {
    /// The port.
    pub port: u32,
    /// The queue.
    pub queue: QueueId,
}

impl Place {
    /// The first of a switch's ports, which have so many queues each.
    pub fn first(ports: u32, queues: usize) -> Place {
        let all = ports as usize * queues;
        let bytes = std::iter::repeat_with(AtomicU64::default).take(all).collect();
        let (turn, next) = (AtomicU64::default(), AtomicU64::default());
        let pools = Pools {
            queues: Default::default(),
            groups: Default::default(),
            inputs: std::iter::repeat_with(AtomicU64::default).take(ports as usize).collect(),
        };
        Place {
            holdings: Arc::new(Holdings { queues, bytes, turn, next, pools, lossless: None }),
            port: 0,
            ports,
        }
    }

    /// The first of a switch that has lossless groups.
    pub(super) fn lossless(mut self, lossless: Lossless, apart: u64) -> Place {
        // Only the first port exists yet, so the memory is still its own.
        if let Some(holdings) = Arc::get_mut(&mut self.holdings) {
            let (classes, quiet) = (lossless.classes(), AtomicBool::new(true));
            holdings.lossless = Some(Groups { all: Mutex::new(lossless), apart, classes, quiet });
        }
        self
    }

    /// Returns the memory kept for lossless groups' headroom.
    pub(super) fn headroom(&self) -> u64 {
        self.holdings.lossless.as_ref().map_or(0, |groups| groups.apart)
    }

    /// Does something with the lossless groups, if a class is.
    #[inline]
    pub(super) fn with_lossless<T>(
        &self,
        class: u8,
        act: impl FnOnce(&mut Lossless, &Pools) -> T,
    ) -> Option<T> {
        let groups = self.holdings.lossless.as_ref()?;
        // A DSCP of 8 or more is no priority (802.1Q has 3 bits), and would shift beyond the mask.
        let has = class < PRIORITIES && groups.classes >> class & 1 == 1;
        has.then(|| groups.with(|lossless| act(lossless, self.pools())))
    }

    /// The same whatever the class.
    pub(super) fn with_all_lossless<T>(&self, act: impl FnOnce(&mut Lossless) -> T) -> Option<T> {
        Some(self.holdings.lossless.as_ref()?.with(act))
    }

    /// The same where a group is paused, or something is to be signalled.
    #[inline]
    pub(super) fn with_paused<T>(&self, act: impl FnOnce(&mut Lossless) -> T) -> Option<T> {
        let groups = self.holdings.lossless.as_ref()?;
        (!groups.quiet.load(Relaxed)).then(|| groups.with(act))
    }

    /// The next port of the same switch.
    pub fn next(&self) -> Place {
        Place { port: self.port + 1, ..self.clone() }
    }

    /// Returns the number of this port.
    pub(super) fn port(&self) -> u32 {
        self.port
    }

    /// How many ports there are.
    pub(super) fn ports(&self) -> u64 {
        self.ports.into()
    }

    /// A queue of its own is as long as the view says.
    #[inline]
    pub(super) fn note(&self, view: &View, queue: QueueId) {
        let at = self.port as usize * self.holdings.queues + usize::from(queue);
        self.holdings.bytes[at].store(view.port.queue_bytes(queue).get(), Relaxed);
    }

    /// Returns the cells that the chip's pools have given out.
    pub(super) fn pools(&self) -> &Pools {
        &self.holdings.pools
    }

    fn queue(&self, at: usize) -> QueueOf {
        let queues = self.holdings.queues;
        QueueOf { port: (at / queues) as u32, queue: (at % queues) as QueueId }
    }

    /// All queues and their lengths.
    fn lengths(&self) -> impl Iterator<Item = (QueueOf, u64)> {
        let lengths = self.holdings.bytes.iter().map(|bytes| bytes.load(Relaxed));
        lengths.enumerate().map(|(at, bytes)| (self.queue(at), bytes))
    }

    /// The lengths of the queues with this number, a port each.
    pub(super) fn alike(&self, queue: QueueId) -> impl Iterator<Item = Bytes> {
        let alike = self.lengths().filter(move |(of, _)| of.queue == queue);
        alike.map(|(_, bytes)| Bytes::new(bytes))
    }

    /// The longest queue. Of several, `own` if it is one and `prefers`, else the first that is not.
    pub(super) fn longest(&self, own: QueueOf, prefers: bool) -> QueueOf {
        let rank = |&(of, bytes): &(QueueOf, u64)| (bytes, (of == own) == prefers);
        // `max_by_key` takes the last of several, so in reverse it is the one with the lowest number.
        let found = self.lengths().collect::<Vec<_>>().into_iter().rev().max_by_key(rank);
        found.map_or(own, |(of, _)| of)
    }

    /// The next queue, in turn, that is longer than queues of its number may be; it has had its turn
    /// then.
    pub(super) fn next_over(&self, limit: impl Fn(QueueId) -> f64) -> Option<QueueOf> {
        let all = self.holdings.bytes.len();
        let first = self.holdings.turn.load(Relaxed) as usize;
        // Round robin over the queues of all ports, from the one after the last that lost.
        let mut places = (0..all).map(|nth| (first + nth) % all);
        let long = |&at: &usize| {
            self.holdings.bytes[at].load(Relaxed) as f64 > limit(self.queue(at).queue)
        };
        let at = places.find(long)?;
        self.holdings.turn.store((at + 1) as u64 % all as u64, Relaxed);
        Some(self.queue(at))
    }

    /// When the next packet may be lost, in picoseconds.
    pub(super) fn next_loss(&self) -> &AtomicU64 {
        &self.holdings.next
    }
}
