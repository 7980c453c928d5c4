//! State of a port: its queues, its line and its counts.

use crate::port::arena::{Arena, List};
use crate::port::packet::{Packet, QueueId};
use crate::port::pauses::{Pauses, Storms};
use crate::port::set::QueueSet;
use switchbed_units::{Bytes, Line, PS_PER_S, Rate, Span, Time};

/// Aligned, so that none lies in two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Queue {
    pub(crate) list: List,
    pub(crate) packets: u32,
    pub(crate) quantum: u32,
    pub(crate) bytes: u64,
    /// The time that the quantum takes on the line, in picoseconds.
    pub(crate) quantum_ps: f64,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The arrival was refused because memory is full.
    Full,
    /// The marker wanted to mark, and the packet was not ECN-capable (RFC 3168).
    NotEcnCapable,
    /// The marker or an active buffer dropped the arrival on purpose.
    Early,
    /// Pushed out by an arrival.
    PushedOut,
    /// Dropped at its departure (CoDel and the like).
    AtDeparture,
}

impl DropReason {
    /// Every reason, in the order of [`Counters::drops`].
    pub const ALL: [DropReason; 5] = [
        DropReason::Full,
        DropReason::NotEcnCapable,
        DropReason::Early,
        DropReason::PushedOut,
        DropReason::AtDeparture,
    ];

    /// The word that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::Full => "full",
            DropReason::NotEcnCapable => "not-ecn-capable",
            DropReason::Early => "early",
            DropReason::PushedOut => "pushed-out",
            DropReason::AtDeparture => "at-departure",
        }
    }
}

/// Totals of a port since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets offered to the port.
    pub arrived: u64,
    /// Bytes offered to the port.
    pub arrived_bytes: u64,
    /// Packets that began to leave.
    pub sent: u64,
    /// Bytes of the packets sent.
    pub sent_bytes: u64,
    /// Packets that left with a CE mark of this port.
    pub marked: u64,
    /// Notes that could not be carried out: not ECN-capable.
    pub unmarkable: u64,
    /// Stored packets whose source was sent a message.
    pub notified: u64,
    /// Packets dropped, indexed by [`DropReason`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Bytes of the packets dropped.
    pub dropped_bytes: u64,
    /// Packets cut because the memory refused them, cut packets sent, and cut packets dropped.
    pub trims: Trims,
    /// Bytes cut off packets that were then queued.
    pub cut_bytes: u64,
}

impl Counters {
    /// Packets dropped, whatever the reason.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Returns the sum with the counts of another scheme that had the port.
    pub fn with(&self, other: &Counters) -> Counters {
        Counters {
            arrived: self.arrived + other.arrived,
            arrived_bytes: self.arrived_bytes + other.arrived_bytes,
            sent: self.sent + other.sent,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            marked: self.marked + other.marked,
            unmarkable: self.unmarkable + other.unmarkable,
            notified: self.notified + other.notified,
            drops: std::array::from_fn(|i| self.drops[i] + other.drops[i]),
            dropped_bytes: self.dropped_bytes + other.dropped_bytes,
            trims: self.trims.with(&other.trims),
            cut_bytes: self.cut_bytes + other.cut_bytes,
        }
    }

    /// Returns the difference from an `earlier` count of the same port.
    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            arrived: self.arrived - earlier.arrived,
            arrived_bytes: self.arrived_bytes - earlier.arrived_bytes,
            sent: self.sent - earlier.sent,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            marked: self.marked - earlier.marked,
            unmarkable: self.unmarkable - earlier.unmarkable,
            notified: self.notified - earlier.notified,
            drops: std::array::from_fn(|i| self.drops[i] - earlier.drops[i]),
            dropped_bytes: self.dropped_bytes - earlier.dropped_bytes,
            trims: self.trims.since(&earlier.trims),
            cut_bytes: self.cut_bytes - earlier.cut_bytes,
        }
    }
}

/// Counters and state that few packets touch, kept out of the port's hot cache lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seldom {
    /// Queues whose arrivals that are to be marked and cannot be go on, and are counted.
    pub(crate) passes_unmarkable: QueueSet,
    pub(crate) marked: u64,
    pub(crate) unmarkable: u64,
    pub(crate) notified: u64,
    pub(crate) drops: [u64; DropReason::ALL.len()],
    pub(crate) dropped_bytes: u64,
    /// Which queues its peer has paused.
    pub(crate) pauses: Pauses,
    pub(crate) frames: PauseFrames,
    pub(crate) control_bytes: u64,
    pub(crate) row: Row,
    pub(crate) busy: Busy,
    pub(crate) last_drop: Option<(QueueId, DropReason)>,
    /// When the scheme last acted on a packet of each queue; empty before it first did.
    pub(crate) acted: Vec<Time>,
    pub(crate) trimming: Option<Box<Trimming>>,
}

/// MAC control frames that are on the line one after the other, up to the last one's end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    pub(crate) frames: u64,
    pub(crate) until: Time,
    /// How long the last one takes.
    pub(crate) each: Span,
}

/// The time of all transmissions before the line had its present rate, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    before: Span,
    bytes: u64,
}

/// Pause frames of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseFrames {
    /// Frames sent to the peer.
    pub sent: u64,
    /// Frames received from the peer.
    pub heard: u64,
}

/// A port's queues and line, with its scheme in few cache lines: what few packets touch is apart.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct PortState {
    pub(crate) queues: Box<[Queue]>,
    pub(crate) bytes: u64,
    pub(crate) packets: u32,
    /// Number among the ports of its switch.
    pub(crate) number: u32,
    pub(crate) backlogged: QueueSet,
    pub(crate) line: Line,
    pub(crate) busy_until: Time,
    /// When a drop last left it empty.
    pub(crate) emptied: Time,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) seldom: Box<Seldom>,
}

impl PortState {
    /// Returns the queue that a class is likely to go to where classes have queues of their own.
    /// For prefetching only: the classifier may choose another.
    #[inline]
    pub fn queue_like(&self, class: u8) -> &impl Sized {
        &self.queues[usize::from(class).min(self.queues.len() - 1)]
    }

    /// An empty port: one queue for each quantum (bytes, over 0; at most
    /// [`crate::MAX_QUEUES`]).
    pub fn new(rate: Rate, quanta: &[Bytes]) -> Self {
        assert!((1..=crate::MAX_QUEUES).contains(&quanta.len()), "1 to 64 queues a port");
        assert!(quanta.iter().all(|quantum| quantum.get() > 0), "no round ends without quanta");
        let queue = |quantum: &Bytes| Queue {
            list: List::EMPTY,
            packets: 0,
            quantum: u32::try_from(quantum.get()).expect("a quantum under 4 GB"),
            bytes: 0,
            quantum_ps: 0.0,
        };
        let mut port = PortState {
            queues: quanta.iter().map(queue).collect(),
            bytes: 0,
            packets: 0,
            number: 0,
            backlogged: QueueSet::EMPTY,
            line: Line::new(rate),
            busy_until: Time::ZERO,
            emptied: Time::ZERO,
            sent: 0,
            sent_bytes: 0,
            seldom: Box::default(),
        };
        port.set_rate(rate);
        port
    }

    /// The same, with another number among the ports of its switch than 0.
    pub fn numbered(self, number: u32) -> Self {
        PortState { number, ..self }
    }

    /// The same, where a packet that is to be marked on arrival at one of these queues and is not
    /// ECN-capable goes on instead of being dropped (RFC 3168, section 5).
    pub fn passing_unmarkable(mut self, queues: QueueSet) -> Self {
        self.seldom.passes_unmarkable = queues;
        self
    }

    /// The same, where packets that the memory refuses are trimmed.
    pub fn trimming(mut self, rules: Trim) -> Self {
        let queues = vec![Trims::default(); self.queues.len()].into();
        self.seldom.trimming = Some(Box::new(Trimming { rules, queues, cut_bytes: 0 }));
        self
    }

    pub(crate) fn set_rate(&mut self, rate: Rate) {
        // Before the rate changes: `begun` divides the bytes since the last change by the rate in
        // force.
        self.seldom.busy = Busy { before: self.begun(), bytes: self.line_bytes() };
        self.line = Line::new(rate);
        let ps_per_byte = (8 * PS_PER_S) as f64 / rate.as_bps() as f64;
        for queue in &mut self.queues {
            queue.quantum_ps = queue.quantum as f64 * ps_per_byte;
        }
    }

    /// Returns the number among the ports of the switch.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }
    /// Bytes queued, the packet on the wire not counted.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    /// Packets queued, the one on the wire not counted.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }
    /// Returns the bytes in a queue.
    #[inline]
    pub fn queue_bytes(&self, queue: QueueId) -> Bytes {
        Bytes::new(self.queues[queue as usize].bytes)
    }
    /// Returns the number of packets in a queue.
    #[inline]
    pub fn queue_packets(&self, queue: QueueId) -> u32 {
        self.queues[queue as usize].packets
    }
    /// A queue's quantum in bytes; for disciplines without rounds its weight.
    #[inline]
    pub fn quantum(&self, queue: QueueId) -> Bytes {
        Bytes::new(self.queues[queue as usize].quantum as u64)
    }
    /// Returns the number of queues.
    #[inline]
    pub fn queues(&self) -> usize {
        self.queues.len()
    }
    /// The queues that hold packets.
    #[inline]
    pub fn backlogged(&self) -> QueueSet {
        self.backlogged
    }
    /// Returns the line's present rate.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.line.rate()
    }
    /// The time that a queue's quantum takes on the line, in picoseconds.
    #[inline]
    pub fn quantum_ps(&self, queue: QueueId) -> f64 {
        self.queues[queue as usize].quantum_ps
    }
    /// When the transmission under way ends, or the last one ended.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }
    /// Bytes that the line has been given, MAC control frames included.
    fn line_bytes(&self) -> u64 {
        self.sent_bytes + self.seldom.control_bytes
    }
    /// The time of all transmissions that have been given to the line: a line carries the remainder of
    /// each division, so that their sum is one division for each rate.
    fn begun(&self) -> Span {
        let Busy { before, bytes } = self.seldom.busy;
        // 8·10¹² a byte overflows 64 bits after 2.3 MB.
        let work = u128::from(8 * PS_PER_S) * u128::from(self.line_bytes() - bytes);
        before + Span::from_ps((work / u128::from(self.rate().as_bps())) as u64)
    }
    /// How long the line has been sending, MAC control frames included, up to `now`.
    pub fn busy(&self, now: Time) -> Span {
        // Packets given to a line follow without a gap, so that it is busy until the end of all.
        Span::from_ps(self.begun().as_ps().saturating_sub(self.busy_until.since(now).as_ps()))
    }
    /// Pause frames (IEEE 802.1Q, clause 36) up to `now`, which no other count has. One that waits for
    /// the line is not sent.
    pub fn pause_frames(&self, now: Time) -> PauseFrames {
        let Row { frames, until, each } = self.seldom.row;
        // Frames that still wait are the last of the row; the one on the line counts as sent. A
        // packet behind the row shows that all of it was sent.
        let left = if until == self.busy_until { until.since(now).as_ps() } else { 0 };
        let wait = left.div_ceil(each.as_ps().max(1)).saturating_sub(1).min(frames);
        PauseFrames { sent: self.seldom.frames.sent - wait, ..self.seldom.frames }
    }
    /// The queue of the last packet that was dropped, and why.
    pub fn last_drop(&self) -> Option<(QueueId, DropReason)> {
        self.seldom.last_drop
    }
    /// How long a queue has been paused by its peer, up to now.
    pub fn paused(&self, queue: QueueId, now: Time) -> Span {
        self.seldom.pauses.total(queue, now)
    }
    /// Since when a queue has been held by its peer without a break, if it is held now.
    pub fn held_since(&self, queue: QueueId, now: Time) -> Option<Time> {
        self.seldom.pauses.since(queue, now)
    }
    /// Whether a queue has been held since the first packet that waits there came.
    pub fn held_up(&self, queue: QueueId, arena: &Arena, now: Time) -> bool {
        let head = self.queues[usize::from(queue)].list.head;
        let since = if head.is_none() { now } else { arena.arrived(head) };
        self.seldom.pauses.held_after(queue, since, now)
    }
    /// When a queue has been held by its peer, each time without a break, up to now.
    pub fn holds(&self, queue: QueueId, now: Time) -> Vec<(Time, Time)> {
        self.seldom.pauses.holds(queue, now)
    }
    /// Returns the storms that the watchdog has seen on a queue up to now.
    pub fn storms(&self, queue: QueueId, now: Time) -> Storms {
        self.seldom.pauses.storms(queue, now)
    }
    /// The packets of a queue, the next to leave first.
    pub fn queued<'a>(
        &self,
        queue: QueueId,
        arena: &'a Arena,
    ) -> impl Iterator<Item = &'a Packet> + use<'a> {
        let queue = &self.queues[usize::from(queue)];
        let (mut left, mut next) = (queue.packets, queue.list.head);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let slot = next;
            next = arena.next(slot);
            Some(arena.packet(slot))
        })
    }
    /// Counts of each queue's trimmed packets; empty where the port does not trim.
    pub fn trims(&self) -> &[Trims] {
        self.seldom.trimming.as_deref().map_or(&[][..], |trimming| &trimming.queues)
    }
    /// Returns the queues where the scheme has acted after this time: it marked a packet or would have, it dropped
    /// one on purpose, or its source was sent a message.
    pub fn acted_since(&self, time: Time) -> QueueSet {
        let mut queues = QueueSet::EMPTY;
        let acted = self.seldom.acted.iter().enumerate().filter(|(_, at)| **at > time);
        acted.for_each(|(queue, _)| queues.insert(queue as QueueId));
        queues
    }
    /// Returns the port's totals so far. An arrival counts once it is stored, sent or dropped.
    pub fn counters(&self) -> Counters {
        let Seldom { marked, unmarkable, notified, drops, dropped_bytes, .. } = *self.seldom;
        let trimming = self.seldom.trimming.as_deref();
        let cut_bytes = trimming.map_or(0, |trimming| trimming.cut_bytes);
        Counters {
            // Derived from what became of each packet, so that an arrival costs no counter of its
            // own.
            arrived: self.sent + drops.iter().sum::<u64>() + u64::from(self.packets),
            // Bytes cut off by trimming arrived too, but were neither sent nor dropped.
            arrived_bytes: self.sent_bytes + dropped_bytes + cut_bytes + self.bytes,
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            marked,
            unmarkable,
            notified,
            drops,
            dropped_bytes,
            trims: self.trims().iter().fold(Trims::NONE, |sum, queue| sum.with(queue)),
            cut_bytes,
        }
    }
}

/// How one port trims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Bytes of a packet that go on; a shorter packet goes on whole.
    pub size: u32,
    /// Queues whose packets are trimmed.
    pub eligible: QueueSet,
    /// Queue of what is left of them.
    pub queue: QueueId,
    /// Class of what is left of them.
    pub class: u8,
    /// Whether one time in two the last packet of the full queue is trimmed in place of the arrival (htsim,
    /// `compositequeue.cpp`).
    pub swaps: bool,
}

/// Trimmed packets of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trims {
    /// Packets of this queue that were cut, those that were then dropped among them.
    pub trimmed: u64,
    /// Cut packets that left by this queue.
    pub sent: u64,
    /// Cut packets that were dropped: of this queue where none admitted them, in it where they were queued.
    pub dropped: u64,
}

impl Trims {
    /// Counts of a queue without trimmed packets.
    pub const NONE: Trims = Trims { trimmed: 0, sent: 0, dropped: 0 };

    /// Adds the counts of another queue or port.
    pub fn with(&self, other: &Trims) -> Trims {
        Trims {
            trimmed: self.trimmed + other.trimmed,
            sent: self.sent + other.sent,
            dropped: self.dropped + other.dropped,
        }
    }

    /// Subtracts an earlier count.
    pub fn since(&self, earlier: &Trims) -> Trims {
        Trims {
            trimmed: self.trimmed - earlier.trimmed,
            sent: self.sent - earlier.sent,
            dropped: self.dropped - earlier.dropped,
        }
    }
}

/// Rules of a port that trims, with its counts by queue.
#[derive(Clone, Debug)]
pub(crate) struct Trimming {
    pub(crate) rules: Trim,
    pub(crate) queues: Box<[Trims]>,
    /// Bytes that were cut off what was then queued.
    pub(crate) cut_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_busy_as_long_as_it_sends_whatever_its_rates() {
        let ps = Time::from_ps;
        let mut port = PortState::new(Rate::from_gbps(1), &[Bytes::new(1500)]);
        assert_eq!(port.busy(ps(5)), Span::ZERO);
        // 125 bytes from 0 to 1 us; at 2 us half the rate, and 125 bytes more until 4 us.
        (port.sent_bytes, port.busy_until) = (125, ps(1_000_000));
        assert_eq!(
            [0, 400_000, 3_000_000].map(|at| port.busy(ps(at)).as_ps()),
            [0, 400_000, 1_000_000]
        );
        port.set_rate(Rate::from_bps(500_000_000));
        (port.sent_bytes, port.busy_until) = (250, ps(4_000_000));
        assert_eq!(
            [2_000_000, 3_000_000, 9_000_000].map(|at| port.busy(ps(at)).as_ps()),
            [1_000_000, 2_000_000, 3_000_000]
        );
    }

    #[test]
    fn counts_are_compared_one_by_one() {
        let count = |n| Counters {
            arrived: 9 * n,
            arrived_bytes: 8 * n,
            sent: 7 * n,
            sent_bytes: 6 * n,
            marked: 5 * n,
            unmarkable: 4 * n,
            notified: 10 * n,
            drops: [n, 2 * n, 3 * n, 4 * n, 5 * n],
            dropped_bytes: 3 * n,
            trims: Trims { trimmed: 6 * n, sent: 5 * n, dropped: n },
            cut_bytes: 2 * n,
        };
        assert_eq!(count(5).since(&count(2)), count(3));
        assert_eq!(count(2).with(&count(3)), count(5));
    }
}
