//! The packet memory of a switch, which its ports share, and the policy by which they share it.
//!
//! The switch owns its memory and lends it to its ports for each operation. A port whose buffer is [`OfSwitch`]
//! leaves each arrival to the memory, and the memory hears of every packet that comes or goes at a port. Two
//! questions are the switch's own: which port is to lose a packet ([`SwitchMemory::expels`]), and which
//! neighbour is to pause ([`SwitchMemory::signal`]).

use crate::hooks::{Admission, Buffer, Expulsion, GroupUse, Signal};
use crate::port::Qdisc;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, PortState, View};
use std::fmt::Debug;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Time};

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

/// A rule by which the ports of a switch share its memory. Hooks have the contracts of [`Buffer`]'s of the same
/// name; the port's state counts a packet or not as a buffer's view does.
///
/// Ports whose buffer is [`OfSwitch`] leave arrivals to it. A queue of any of them may hold half of what is free:
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
    /// Decides on an arrival, as [`Buffer::admit`]; never [`Admission::Ask`].
    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission;

    /// See [`Buffer::full`].
    fn full(&self, _at: &At, _queue: QueueId, _packet: &Packet) -> bool {
        false
    }

    /// Whether it goes by packets that come and go; else it is not told of each.
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

    /// The memory of these ports: without its policy if they do not leave arrivals to it, since their scheme
    /// has a buffer of its own.
    pub fn behind<'a>(mut self, ports: impl IntoIterator<Item = &'a dyn Qdisc>) -> Self {
        let asked = ports.into_iter().all(|port| port.needs().memory);
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

    /// See [`Buffer::full`].
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

    /// A port's line is about to have another rate.
    pub(crate) fn rate_changes(&mut self, now: Time, port: &PortState) {
        self.tell(now, port, |policy, at| policy.rate_changes(at));
    }

    /// Names a packet that some port is to lose ([`Qdisc::expel`]) since a packet came to this one, stored or not.
    /// Where the memory is read, the switch asks after each arrival until the answer is `None`.
    pub fn expels(&mut self, now: Time, came: &PortState) -> Option<Expulsion> {
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

/// The buffer of a port that leaves arrivals to its switch's memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfSwitch;

impl Buffer for OfSwitch {
    #[inline]
    fn admit(&mut self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Admission {
        Admission::Ask
    }

    fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        view.memory.full(view.now, view.port, queue, packet)
    }

    fn asks_memory(&self) -> bool {
        true
    }

    fn reads_pool(&self) -> bool {
        true
    }
}
