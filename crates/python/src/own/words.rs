//! The words that Python classes answer with: those of `switchbed_qdisc`, by the same names.

use super::view::{hook, place};
use pyo3::prelude::*;
use std::hash::{Hash, Hasher};
use switchbed_qdisc::hooks;
use switchbed_qdisc::port::view;
use switchbed_qdisc::{self as qdisc, SlotId};
use switchbed_units::Time;

/// A Rust enum without fields as Python has it.
macro_rules! mirror {
    ($($(#[$doc:meta])* $name:ident($rust:path) { $($word:ident),* })*) => {$(
        $(#[$doc])*
        #[pyclass(frozen, eq, hash, module = "switchbed.prototype")]
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($word),* }

        impl From<$rust> for $name {
            fn from(word: $rust) -> Self {
                match word { $(<$rust>::$word => $name::$word),* }
            }
        }
        impl From<$name> for $rust {
            fn from(word: $name) -> Self {
                match word { $($name::$word => <$rust>::$word),* }
            }
        }
    )*};
}
mirror! {
    /// ECN field of a packet.
    Ecn(qdisc::Ecn) { NotEct, Ect0, Ect1, Ce }
    /// A marker's wish for an arrival.
    Intent(hooks::Intent) { Pass, Mark, Drop }
    /// A marker's verdict on a departure.
    Departure(hooks::Departure) { Pass, Mark, Unmark, Drop }
    /// Why a packet was dropped.
    DropReason(view::DropReason) { Full, NotEcnCapable, Early, PushedOut, AtDeparture }
}

/// Decision of this port about a queued packet.
#[pyclass(frozen, eq, hash, module = "switchbed.prototype")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Note {
    Clear,
    Mark,
}

impl From<qdisc::Note> for Note {
    fn from(note: qdisc::Note) -> Self {
        match note {
            qdisc::Note::Mark => Note::Mark,
            // A trimmed packet is never marked here, whatever the scheme says.
            qdisc::Note::Clear | qdisc::Note::Trimmed | qdisc::Note::Whole => Note::Clear,
        }
    }
}

/// Handle of a queued packet, for the hook that is given it. Slots of one place are equal whenever they were given.
#[pyclass(frozen, eq, hash, module = "switchbed.prototype")]
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub id: SlotId,
    /// Number of the hook.
    pub hook: u64,
}

impl Slot {
    /// The handle of a packet for the hook under way.
    pub(super) fn of(id: SlotId) -> Slot {
        Slot { id, hook: hook() }
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Slot) -> bool {
        self.id == other.id
    }
}
impl Eq for Slot {}
impl Hash for Slot {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// Fields of a packet that a scheme may read.
#[pyclass(frozen, eq, module = "switchbed.prototype")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet(pub qdisc::Packet);

#[pymethods]
impl Packet {
    /// Flow that the packet belongs to.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow.0
    }
    /// Length on the wire in bytes.
    #[getter]
    fn len_bytes(&self) -> u32 {
        self.0.len_bytes
    }
    /// The port of this switch that it came in on.
    #[getter]
    fn ingress(&self) -> u16 {
        self.0.ingress
    }
    /// Service class: the DSCP field.
    #[getter]
    fn class_(&self) -> u8 {
        self.0.class
    }
    /// ECN field at arrival. A mark of this port is a note until the packet leaves.
    #[getter]
    fn ecn(&self) -> Ecn {
        self.0.ecn.into()
    }
}

/// Answer of a buffer to an arrival, and the hook of the slot that it names.
#[pyclass(frozen, module = "switchbed.prototype")]
#[derive(Clone, Copy)]
pub struct Admission(pub hooks::Admission, pub u64);

#[pymethods]
#[allow(non_snake_case)]
impl Admission {
    /// Store the packet in its queue.
    #[classattr]
    fn In() -> Self {
        Admission(hooks::Admission::In, 0)
    }
    /// Refuse it, for this reason.
    #[staticmethod]
    fn Out(why: &Bound<'_, DropReason>) -> Self {
        Admission(hooks::Admission::Out((*why.get()).into()), 0)
    }
    /// Drop that queued packet, then ask again.
    #[staticmethod]
    fn PushOut(slot: &Bound<'_, Slot>) -> PyResult<Self> {
        let id = place(slot.get())?;
        Ok(Admission(hooks::Admission::PushOut(id), slot.get().hook))
    }
}

/// A message to a packet's source, with what an 802.1Qau congestion notification carries.
#[pyclass(frozen, module = "switchbed.prototype")]
#[derive(Clone, Copy)]
pub struct Feedback {
    pub quantized: u8,
    pub offset_bytes: i32,
    pub delta_bytes: i32,
}

#[pymethods]
impl Feedback {
    #[new]
    #[pyo3(signature = (quantized, offset_bytes = 0, delta_bytes = 0))]
    fn new(quantized: u8, offset_bytes: i32, delta_bytes: i32) -> Self {
        Feedback { quantized, offset_bytes, delta_bytes }
    }
    /// Quantized feedback, 1 to 63.
    #[getter]
    fn quantized(&self) -> u8 {
        self.quantized
    }
    /// Queue length less its set point.
    #[getter]
    fn offset_bytes(&self) -> i32 {
        self.offset_bytes
    }
    /// Growth of the queue since the last message.
    #[getter]
    fn delta_bytes(&self) -> i32 {
        self.delta_bytes
    }
}

/// A scheduler's choice, not yet judged.
#[pyclass(frozen, module = "switchbed.prototype")]
#[derive(Clone, Copy)]
pub struct Selection(pub Choice);

/// Choice in the form in which the class returned it.
#[derive(Clone, Copy)]
pub enum Choice {
    Queue(i64),
    Empty,
    NotBefore(i64),
}

#[pymethods]
#[allow(non_snake_case)]
impl Selection {
    /// No queue is eligible now.
    #[classattr]
    fn Empty() -> Self {
        Selection(Choice::Empty)
    }
    /// The head of this queue, which must be eligible.
    #[staticmethod]
    fn Queue(queue: i64) -> Self {
        Selection(Choice::Queue(queue))
    }
    /// Nothing may go before this time, which is later than now.
    #[staticmethod]
    fn NotBefore(time_ps: i64) -> Self {
        Selection(Choice::NotBefore(time_ps))
    }
}

/// A queue has ended its service in a round.
#[pyclass(frozen, module = "switchbed.prototype")]
#[derive(Clone, Copy)]
pub struct ServiceEnd(pub hooks::ServiceEnd);

#[pymethods]
impl ServiceEnd {
    #[new]
    fn new(queue: u8, started_ps: u64, ended_ps: u64) -> Self {
        let (started, ended) = (Time::from_ps(started_ps), Time::from_ps(ended_ps));
        ServiceEnd(hooks::ServiceEnd { queue, started, ended })
    }
    /// Queue whose service has ended.
    #[getter]
    fn queue(&self) -> u8 {
        self.0.queue
    }
    /// When it joined the round, or was last put at its end.
    #[getter]
    fn started_ps(&self) -> u64 {
        self.0.started.as_ps()
    }
    /// Time when its service ended, in picoseconds.
    #[getter]
    fn ended_ps(&self) -> u64 {
        self.0.ended.as_ps()
    }
}
