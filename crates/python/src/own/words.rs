//! The words that Python classes answer with: those of `switchbed_qdisc`, by the same names.

use pyo3::prelude::*;
use switchbed_qdisc::seats;
use switchbed_qdisc::units::Time;
use switchbed_qdisc::view;
use switchbed_qdisc::{self as qdisc, SlotId};

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
    /// A packet's ECN field.
    Ecn(qdisc::Ecn) { NotEct, Ect0, Ect1, Ce }
    /// A marker's wish for an arrival.
    Intent(seats::Intent) { Pass, Mark, Drop }
    /// A marker's verdict on a departure.
    Departure(seats::Departure) { Pass, Mark, Unmark, Drop }
    /// What this port has decided about a queued packet.
    Note(qdisc::Note) { Clear, Mark }
    /// Why a packet was dropped.
    DropReason(view::DropReason) { Full, NotEcnCapable, Early, PushedOut, AtDeparture }
}

/// A queued packet's place.
#[pyclass(frozen, eq, hash, module = "switchbed.prototype")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(pub SlotId);

/// What a scheme may know of a packet.
#[pyclass(frozen, eq, module = "switchbed.prototype")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet(pub qdisc::Packet);

#[pymethods]
impl Packet {
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow.0
    }
    #[getter]
    fn len_bytes(&self) -> u32 {
        self.0.len_bytes
    }
    #[getter]
    fn ingress(&self) -> u16 {
        self.0.ingress
    }
    #[getter]
    fn class_(&self) -> u8 {
        self.0.class
    }
    #[getter]
    fn ecn(&self) -> Ecn {
        self.0.ecn.into()
    }
}

/// A buffer's answer.
#[pyclass(frozen, module = "switchbed.prototype")]
#[derive(Clone, Copy)]
pub struct Admission(pub seats::Admission);

#[pymethods]
#[allow(non_snake_case)]
impl Admission {
    #[classattr]
    fn In() -> Self {
        Admission(seats::Admission::In)
    }
    #[staticmethod]
    fn Out(why: &Bound<'_, DropReason>) -> Self {
        Admission(seats::Admission::Out((*why.get()).into()))
    }
    #[staticmethod]
    fn PushOut(slot: &Bound<'_, Slot>) -> Self {
        Admission(seats::Admission::PushOut(slot.get().0))
    }
}

/// A scheduler's choice, not yet judged.
#[pyclass(frozen, module = "switchbed.prototype")]
#[derive(Clone, Copy)]
pub struct Selection(pub Choice);

/// As the class wrote it.
#[derive(Clone, Copy)]
pub enum Choice {
    Queue(i64),
    Empty,
    NotBefore(i64),
}

#[pymethods]
#[allow(non_snake_case)]
impl Selection {
    #[classattr]
    fn Empty() -> Self {
        Selection(Choice::Empty)
    }
    #[staticmethod]
    fn Queue(queue: i64) -> Self {
        Selection(Choice::Queue(queue))
    }
    #[staticmethod]
    fn NotBefore(time_ps: i64) -> Self {
        Selection(Choice::NotBefore(time_ps))
    }
}

/// A queue has ended its service in a round.
#[pyclass(frozen, module = "switchbed.prototype")]
#[derive(Clone, Copy)]
pub struct ServiceEnd(pub seats::ServiceEnd);

#[pymethods]
impl ServiceEnd {
    #[new]
    fn new(queue: u8, started_ps: u64, ended_ps: u64) -> Self {
        let (started, ended) = (Time::from_ps(started_ps), Time::from_ps(ended_ps));
        ServiceEnd(seats::ServiceEnd { queue, started, ended })
    }
    #[getter]
    fn queue(&self) -> u8 {
        self.0.queue
    }
    #[getter]
    fn started_ps(&self) -> u64 {
        self.0.started.as_ps()
    }
    #[getter]
    fn ended_ps(&self) -> u64 {
        self.0.ended.as_ps()
    }
}
