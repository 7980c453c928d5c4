//! Observers of a single port.

use crate::ids::HostId;
use crate::packet::Payload;
use std::any::Any;
use switchbed_qdisc::{Packet, PortState, QueueId};
use switchbed_units::Time;

/// A packet that a port has sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Time when its queue took it in.
    pub arrived: Time,
    /// The queue that it was in.
    pub queue: QueueId,
    /// Time when its transmission began.
    pub left: Time,
    /// Time when its transmission ended.
    pub until: Time,
    /// When its last bit reaches the far end.
    pub arrives: Time,
    /// The packet as it left, its mark included.
    pub packet: Packet,
    /// Payload that the packet carries.
    pub payload: Payload,
    /// The host that sent it; `None`: a switch did.
    pub from: Option<HostId>,
    /// The host that it is for.
    pub to: HostId,
}

/// Observer of a port, which is called as things happen there.
pub(crate) trait AtPort: Any + Send {
    /// Handles a change of a queue's length.
    fn changed(&mut self, queue: QueueId, now: Time, state: &PortState) {
        let _ = (queue, now, state);
    }
    /// Handles a packet that leaves.
    fn sent(&mut self, sent: &Sent) {
        let _ = sent;
    }
    /// Counts begin again (the warm-up is over).
    fn restart(&mut self, now: Time) {
        let _ = now;
    }
}

/// Observers of one port.
#[derive(Default)]
pub(crate) struct Watch(Vec<Box<dyn AtPort>>);

impl Watch {
    /// One more watches, unless one of its kind does.
    pub(crate) fn add<T: AtPort>(&mut self, observer: T) {
        if self.of::<T>().is_none() {
            self.0.push(Box::new(observer));
        }
    }

    /// The one of a kind.
    pub(crate) fn of<T: AtPort>(&self) -> Option<&T> {
        self.0.iter().find_map(|observer| (&**observer as &dyn Any).downcast_ref())
    }

    /// Finds the observer of a type, to read its records.
    pub(crate) fn of_mut<T: AtPort>(&mut self) -> Option<&mut T> {
        self.0.iter_mut().find_map(|observer| (&mut **observer as &mut dyn Any).downcast_mut())
    }

    pub(crate) fn changed(&mut self, queue: QueueId, now: Time, state: &PortState) {
        self.0.iter_mut().for_each(|observer| observer.changed(queue, now, state));
    }

    pub(crate) fn sent(&mut self, sent: &Sent) {
        self.0.iter_mut().for_each(|observer| observer.sent(sent));
    }

    pub(crate) fn restart(&mut self, now: Time) {
        self.0.iter_mut().for_each(|observer| observer.restart(now));
    }
}
