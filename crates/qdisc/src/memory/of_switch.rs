//! The packet memory of a switch, which its ports share, and the policy by which they share it.
//!
//! The switch owns its memory and lends it to its ports for each operation. A port whose buffer is [`OfSwitch`]
//! leaves each arrival to the memory, and the memory hears of every packet that comes or goes at a port. Two
//! questions are the switch's own: which port is to lose a packet ([`SwitchMemory::expels`]), and which
//! neighbour is to pause ([`SwitchMemory::signal`]).

use crate::port::arena::SlotId;
use crate::port::packet::{Packet, QueueId};
use crate::port::state::{DropReason, PortState};
use std::fmt::Debug;
use std::ops::Range;
use switchbed_units::{Bytes, Time};

/// A buffer's answer to an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Store it in its queue.
    In,
    /// Refuse it, for this reason.
    Out(DropReason),
    /// Drop this queued packet of the same port, then ask again.
    PushOut(SlotId),
    /// Ask the switch's memory ([`Policy::admit`]).
    Ask,
}

/// A packet that some port of the switch is to lose for the memory that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expulsion {
    /// Port and queue that lose the packet.
    pub of: QueueOf,
    /// Which of that queue it is.
    pub end: End,
}

/// An end of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The packet that would go next.
    Head,
    /// The one that came last.
    Tail,
}

/// A pause or resume that a switch sends to the neighbour behind one of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The port that they come in on, as [`Packet::ingress`] numbers it.
    pub input: u16,
    /// Class of the packets concerned.
    pub class: u8,
    /// Whether the neighbour stops sending this class (true) or may send again (false).
    pub pause: bool,
}

/// A lossless group's use of its switch's memory: a class of an input (docs/pfc.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUse {
    /// Input, as [`Packet::ingress`] numbers it.
    pub input: u16,
    /// Class of the packets.
    pub class: u8,
    /// Most bytes outside the headroom.
    pub shared: Bytes,
    /// Most bytes in the headroom.
    pub headroom: Bytes,
    /// Packets refused since neither the shared part nor the headroom had space.
    pub lost: u64,
    /// Packets that the scheme, a limit of the queue or the watchdog dropped.
    pub dropped: u64,
}

/// Packet memory of a switch. The switch settles its ports before a scheme that reads the memory is asked
/// ([`crate::Needs::pool`]).
#[derive(Debug, Default)]
pub struct SwitchMemory {
    used: Bytes,
    /// `None`: without a limit, which most switches have, whose ports have memory of their own.
    pool: Option<Box<Pool>>,
}

// A simulated switch has its memory in the same cache line as the rest of its state.
const _: () = assert!(size_of::<SwitchMemory>() == 16);

#[derive(Debug)]
struct Pool {
    capacity: Bytes,
    /// `None`: ports count into the memory and share it by no rule.
    policy: Option<Box<dyn Policy>>,
    /// Whether the policy hears of packets.
    hears: bool,
}

/// A port at which something happens, and the use of its switch's memory.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// Time of the operation.
    pub now: Time,
    /// Queues and line of the port.
    pub port: &'a PortState,
    /// Bytes that the memory may hold.
    pub capacity: Bytes,
    /// Bytes that the queued packets of all ports take.
    pub used: Bytes,
}

impl At<'_> {
    /// Number of the port among those of its switch.
    #[inline]
    pub fn number(&self) -> usize {
        self.port.number() as usize
    }

    /// Bytes that are free.
    #[inline]
    pub fn free(&self) -> Bytes {
        self.capacity.saturating_sub(self.used)
    }
}

/// A queue of a switch: its port's number there, and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOf {
    /// The port.
    pub port: u32,
    /// The queue.
    pub queue: QueueId,
}

impl QueueOf {
    /// Place of a queue of the port `at` among all of the switch, by port, then by queue, of so many queues a port.
    #[inline]
    pub(super) fn place(at: &At, queue: QueueId, queues: usize) -> usize {
        at.number() * queues + usize::from(queue)
    }

    /// The queue at a place.
    #[inline]
    pub(super) fn at(place: usize, queues: usize) -> QueueOf {
        QueueOf { port: (place / queues) as u32, queue: (place % queues) as QueueId }
    }
}

/// A rule by which the ports of a switch share its memory. Hooks have the contracts of [`crate::hooks::Buffer`]'s of the same
/// name; the port's state counts a packet or not as a buffer's view does.
///
/// Ports whose buffer is `OfSwitch` leave arrivals to it. A queue of any of them may hold half of what is free:
///
/// ```
/// use switchbed_qdisc::hooks::Admission;
/// use switchbed_qdisc::memory::{At, Policy, SwitchMemory};
/// use switchbed_qdisc::port::view::DropReason;
/// use switchbed_qdisc::{Packet, QueueId};
/// use switchbed_units::Bytes;
///
/// #[derive(Debug)]
/// struct Half;
///
/// impl Policy for Half {
///     fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission {
///         let after = at.port.queue_bytes(queue).get() + u64::from(packet.len_bytes);
///         match after <= at.free().get() / 2 {
///             true => Admission::In,
///             false => Admission::Out(DropReason::Full),
///         }
///     }
/// }
///
/// let memory = SwitchMemory::shared(Bytes::new(1_000_000), Box::new(Half));
/// assert_eq!(memory.capacity(), Bytes::new(1_000_000));
/// ```
pub trait Policy: Debug + Send {
    /// Decides on an arrival, as [`crate::hooks::Buffer::admit`]; never [`Admission::Ask`].
    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission;

    /// See [`crate::hooks::Buffer::full`].
    fn full(&self, _at: &At, _queue: QueueId, _packet: &Packet) -> bool {
        false
    }

    /// Whether it goes by packets that come and go; else it is not told of each, nor asked what is to go.
    fn hears(&self) -> bool {
        true
    }

    /// A packet was stored at a port.
    fn stored(&mut self, _at: &At, _queue: QueueId, _packet: &Packet) {}

    /// An arrival was refused, by whichever seat.
    fn refused(&mut self, _packet: &Packet, _why: DropReason) {}

    /// A queued packet was removed other than by departure.
    fn removed(&mut self, _at: &At, _queue: QueueId, _packet: &Packet, _why: DropReason) {}

    /// A packet left by the wire.
    fn sent(&mut self, _at: &At, _queue: QueueId, _packet: &Packet) {}

    /// A packet passed an idle port, in place of `stored` and `sent`: the port never counts it here.
    fn passed(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.stored(at, queue, packet);
        self.sent(at, queue, packet);
    }

    /// The port's line is about to have another rate.
    fn rate_changes(&mut self, _at: &At) {}

    /// Names a packet that some port is to lose since a packet came to the port `at`, stored or not.
    fn expels(&mut self, _at: &At) -> Option<Expulsion> {
        None
    }

    /// Names a pause or resume for a neighbour behind any input, due to packets that came or went.
    fn signal(&mut self) -> Option<Signal> {
        None
    }

    /// Returns how far each lossless group used the memory since the last restart.
    fn groups(&self) -> Vec<GroupUse> {
        Vec::new()
    }

    /// Begins the counts of lossless groups again.
    fn restart_groups(&mut self) {}
}

impl SwitchMemory {
    /// Makes an empty memory of `capacity` bytes, into which ports count.
    pub fn new(capacity: Bytes) -> Self {
        let pool = (capacity != Bytes::MAX)
            .then(|| Box::new(Pool { capacity, policy: None, hears: false }));
        SwitchMemory { used: Bytes::ZERO, pool }
    }

    /// Makes an empty memory that ports share by a policy.
    pub fn shared(capacity: Bytes, policy: Box<dyn Policy>) -> Self {
        let hears = policy.hears();
        let pool = Some(Box::new(Pool { capacity, policy: Some(policy), hears }));
        SwitchMemory { used: Bytes::ZERO, pool }
    }

    /// The memory of ports, without its policy unless all of them leave arrivals to it ([`crate::Needs::memory`]): else
    /// their scheme has a buffer of its own.
    pub fn behind(mut self, asked: bool) -> Self {
        if let Some(pool) = self.pool.as_mut().filter(|_| !asked) {
            (pool.policy, pool.hears) = (None, false);
        }
        self
    }

    /// Bytes that the memory may hold.
    pub fn capacity(&self) -> Bytes {
        self.pool.as_ref().map_or(Bytes::MAX, |pool| pool.capacity)
    }

    /// Bytes that the queued packets of all ports take.
    #[inline]
    pub fn used(&self) -> Bytes {
        self.used
    }

    /// Counts bytes of packets that are there.
    #[inline]
    pub fn take(&mut self, bytes: Bytes) {
        self.used += bytes;
    }

    /// Counts bytes of packets that are gone.
    #[inline]
    pub fn give_back(&mut self, bytes: Bytes) {
        self.used -= bytes;
    }

    /// Tells the policy of an operation at a port.
    #[inline(always)]
    fn tell<'a, T>(
        &mut self,
        now: Time,
        port: &'a PortState,
        tell: impl FnOnce(&mut dyn Policy, &At<'a>) -> T,
    ) -> Option<T> {
        let Pool { capacity, policy, .. } = &mut **self.pool.as_mut()?;
        let at = At { now, port, capacity: *capacity, used: self.used };
        Some(tell(&mut **policy.as_mut()?, &at))
    }

    /// Whether it is to be told of packets that come and go.
    #[inline]
    pub(crate) fn hears(&self) -> bool {
        self.pool.as_ref().is_some_and(|pool| pool.hears)
    }

    /// Decides on an arrival whose port leaves it to the memory.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        now: Time,
        port: &PortState,
        queue: QueueId,
        packet: &Packet,
    ) -> Admission {
        let admission = self.tell(now, port, |policy, at| policy.admit(at, queue, packet));
        admission.unwrap_or_else(|| {
            let fits = self.used + Bytes::new(packet.len_bytes.into()) <= self.capacity();
            if fits { Admission::In } else { Admission::Out(DropReason::Full) }
        })
    }

    /// See [`crate::hooks::Buffer::full`].
    pub(crate) fn full(
        &self,
        now: Time,
        port: &PortState,
        queue: QueueId,
        packet: &Packet,
    ) -> bool {
        let Some(Pool { capacity, policy: Some(policy), .. }) = self.pool.as_deref() else {
            return false;
        };
        let at = At { now, port, capacity: *capacity, used: self.used };
        policy.full(&at, queue, packet)
    }

    /// A packet was stored at a port, and counted.
    #[inline]
    pub(crate) fn stored(&mut self, now: Time, port: &PortState, queue: QueueId, packet: &Packet) {
        self.tell(now, port, |policy, at| policy.stored(at, queue, packet));
    }

    /// An arrival was refused.
    pub(crate) fn refused(&mut self, packet: &Packet, why: DropReason) {
        if let Some(policy) = self.policy() {
            policy.refused(packet, why);
        }
    }

    /// A queued packet was removed other than by departure.
    pub(crate) fn removed(
        &mut self,
        now: Time,
        port: &PortState,
        queue: QueueId,
        packet: &Packet,
        why: DropReason,
    ) {
        self.used -= Bytes::new(packet.len_bytes.into());
        self.tell(now, port, |policy, at| policy.removed(at, queue, packet, why));
    }

    /// A packet left by the wire, and is no longer counted.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, port: &PortState, queue: QueueId, packet: &Packet) {
        self.tell(now, port, |policy, at| policy.sent(at, queue, packet));
    }

    /// A packet passed an idle port, and is no longer counted.
    #[inline]
    pub(crate) fn passed(&mut self, now: Time, port: &PortState, queue: QueueId, packet: &Packet) {
        self.tell(now, port, |policy, at| policy.passed(at, queue, packet));
    }

    /// A port's line is about to have another rate.
    pub(crate) fn rate_changes(&mut self, now: Time, port: &PortState) {
        self.tell(now, port, |policy, at| policy.rate_changes(at));
    }

    /// Names a packet that some port is to lose ([`crate::Qdisc::expel`]) since a packet came to this one, stored or not.
    /// Where the memory is read, the switch asks after each arrival until the answer is `None`.
    #[inline]
    pub fn expels(&mut self, now: Time, came: &PortState) -> Option<Expulsion> {
        if !self.hears() {
            return None;
        }
        self.tell(now, came, |policy, at| policy.expels(at)).flatten()
    }

    /// Names a pause or resume for a neighbour, since packets came or went. Where
    /// [`crate::switch::Switch::pfc`] is on, the switch asks after each operation until the answer is `None`.
    #[inline]
    pub fn signal(&mut self) -> Option<Signal> {
        self.policy()?.signal()
    }

    /// Returns how far each lossless group used the memory since the last restart; empty without such groups.
    pub fn groups(&self) -> Vec<GroupUse> {
        let policy = self.pool.as_ref().and_then(|pool| pool.policy.as_ref());
        policy.map_or_else(Vec::new, |policy| policy.groups())
    }

    /// Begins the counts of lossless groups again.
    pub fn restart_groups(&mut self) {
        if let Some(policy) = self.policy() {
            policy.restart_groups();
        }
    }

    #[inline]
    fn policy(&mut self) -> Option<&mut dyn Policy> {
        Some(&mut **self.pool.as_mut()?.policy.as_mut()?)
    }
}

/// Lengths of all queues of a switch, as its policy knows them, by places that it gives them. A bit for each queue that
/// is not empty keeps a look at all of them short: of 64 ports with eight queues each, few hold packets.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    bytes: Box<[u64]>,
    /// A bit for each place whose queue is not empty.
    filled: Box<[u64]>,
}

impl Lengths {
    /// Makes those of so many queues.
    pub(super) fn new(queues: usize) -> Lengths {
        let words = queues.div_ceil(64);
        Lengths { bytes: vec![0; queues].into(), filled: vec![0; words].into() }
    }

    /// Notes how long a queue is now.
    #[inline]
    pub(super) fn note(&mut self, place: usize, bytes: Bytes) {
        self.bytes[place] = bytes.get();
        let word = &mut self.filled[place / 64];
        // Cleared, then set if it is not empty: no branch on a bit that changes often.
        *word = *word & !(1 << (place % 64)) | u64::from(bytes > Bytes::ZERO) << (place % 64);
    }

    /// Number of queues.
    pub(super) fn count(&self) -> usize {
        self.bytes.len()
    }

    /// The queues that are not empty at these places, in their order: place and length.
    #[inline]
    pub(super) fn filled(&self, places: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
        let Range { start, end } = places;
        let mut word = start / 64;
        let first = self.filled.get(word).copied().unwrap_or_default();
        let mut bits = first & (!0 << (start % 64));
        std::iter::from_fn(move || {
            while bits == 0 {
                word += 1;
                if 64 * word >= end {
                    return None;
                }
                bits = self.filled[word];
            }
            let place = 64 * word + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            (place < end).then(|| (place, self.bytes[place]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::chip::Chip;
    use crate::memory::{Abm, Cells, Fab, Lqd, Occamy, Own, Sizes, Young};
    use crate::port::packet::FlowId;
    use proptest::prelude::*;
    use switchbed_units::{Rate, Span};

    const PORTS: usize = 4;
    const ALPHAS: [f64; 2] = [0.5, 2.0];
    const MTU: Bytes = Bytes::new(1_500);

    fn policies() -> [Box<dyn Policy>; 6] {
        let (young, most) = (Young::new(Bytes::new(20_000)), Bytes::new(30_000));
        let sizes = Sizes { chip: Chip::named("trident-2"), pool: None, egress: None };
        let abm = |young| Abm::new(PORTS, &ALPHAS, young, most, Span::from_us(10));
        [
            Box::new(abm(None)),
            Box::new(abm(Some((young.clone(), 4.0)))),
            Box::new(Fab::new(PORTS, &ALPHAS, young, 4.0)),
            Box::new(Lqd::new(PORTS, ALPHAS.len())),
            Box::new(Occamy::new(PORTS, &ALPHAS, None, MTU)),
            Box::new(Cells::of(&sizes, PORTS, &[Own::default(); ALPHAS.len()]).unwrap()),
        ]
    }

    /// Tells of a packet that comes and, if it passes, goes at once: by two hooks, or by `passed`.
    fn tell(
        memory: &mut SwitchMemory,
        port: &mut PortState,
        (now, queue): (Time, QueueId),
        packet: &Packet,
        (passes, at_once): (bool, bool),
    ) {
        let len = u64::from(packet.len_bytes);
        if passes && at_once {
            return memory.passed(now, port, queue, packet);
        }
        memory.take(Bytes::new(len));
        port.queues[usize::from(queue)].bytes += len;
        memory.stored(now, port, queue, packet);
        if passes {
            memory.give_back(Bytes::new(len));
            port.queues[usize::from(queue)].bytes -= len;
            memory.sent(now, port, queue, packet);
        }
    }

    proptest! {
        #[test]
        fn a_packet_that_passes_leaves_what_storing_and_sending_it_leaves(
            packets in prop::collection::vec((0..PORTS, 0u8..2, 64u32..1_500, 0u32..5, 0u64..30), 1..60),
        ) {
            for nth in 0..policies().len() {
                let [first, second] = [false, true].map(|at_once| {
                    let policy = policies().into_iter().nth(nth).unwrap();
                    let mut memory = SwitchMemory::shared(Bytes::new(200_000), policy);
                    let port = |nth| {
                        PortState::new(Rate::from_gbps(10), &[MTU; 2]).numbered(nth as u32)
                    };
                    let mut ports: Vec<_> = (0..PORTS).map(port).collect();
                    let mut now = Time::ZERO;
                    for &(port, queue, len_bytes, flow, us) in &packets {
                        now += Span::from_us(us);
                        let (flow, ingress) = (FlowId(flow), (flow % 4) as u16);
                        let packet = Packet { flow, len_bytes, ingress, ..Packet::default() };
                        let port = &mut ports[port];
                        let admission = memory.admit(now, port, queue, &packet);
                        let passes = port.queues.iter().all(|queue| queue.bytes == 0) && flow.0 > 0;
                        if admission == Admission::In {
                            tell(&mut memory, port, (now, queue), &packet, (passes, at_once));
                        }
                    }
                    format!("{memory:?}")
                });
                prop_assert_eq!(first, second);
            }
        }
    }

    proptest! {
        /// Against a look at each place.
        #[test]
        fn the_queues_that_are_filled_are_found_in_order(
            queues in 1usize..300,
            notes in prop::collection::vec((0usize..300, 0u64..3), 0..200),
            (start, end) in (0usize..301, 0usize..301),
        ) {
            let (mut lengths, mut plain) = (Lengths::new(queues), vec![0; queues]);
            for (place, bytes) in notes {
                lengths.note(place % queues, Bytes::new(bytes));
                plain[place % queues] = bytes;
            }
            let places = start.min(queues)..end.min(queues);
            let expected = places.clone().map(|place| (place, plain[place]));
            let expected: Vec<_> = expected.filter(|&(_, bytes)| bytes > 0).collect();
            prop_assert_eq!(lengths.filled(places).collect::<Vec<_>>(), expected);
        }
    }
}
