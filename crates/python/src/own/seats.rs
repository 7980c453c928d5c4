//! The seats that a class may take, as adapters: arguments to Python, answers back, and
//! what makes no sense refused, so that a port stays a port whatever a class does.

use super::hook::{Hook, Read, Shared};
use super::view::place;
use super::words::{
    Admission as PyAdmission, Choice, Departure as PyDeparture, DropReason as PyReason,
    Feedback as PyFeedback, Intent as PyIntent, Note as PyNote, Packet as PyPacket,
    Selection as PySelection, ServiceEnd as PyServiceEnd, Slot,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyClass, PyTypeInfo};
use std::sync::{Arc, Mutex, PoisonError};
use switchbed_qdisc::hooks::{
    Admission, Buffer, Classifier, Departure, Feedback, Intent, Marker, Notifier, Scheduler,
    Selection, ServiceEnd,
};
use switchbed_qdisc::port::view::DropReason;
use switchbed_qdisc::schemes::fairness::Share;
use switchbed_qdisc::{self as qdisc, Note, Packet, QueueId, SlotId, View};
use switchbed_units::{Rate, Span, Time};

/// One of our words, or what is needed instead.
fn word<'a, 'py, T: PyClass + PyTypeInfo>(
    answer: &'a Bound<'py, PyAny>,
) -> Read<&'a Bound<'py, T>> {
    answer.cast::<T>().map_err(|_| format!("a switchbed.prototype.{} is needed", T::NAME))
}

/// A place of this port.
fn queued(view: &View, slot: &Slot) -> Read<SlotId> {
    let slot = place(slot).map_err(|why| why.to_string())?;
    let queues = 0..view.port.queues() as QueueId;
    // A slot that left its queue may belong to another packet by now.
    match queues.into_iter().any(|queue| view.slots(queue).any(|id| id == slot)) {
        true => Ok(slot),
        false => Err("no packet of this port is queued there".to_owned()),
    }
}

/// Nothing, or a length of time over 0.
fn period(answer: &Bound<'_, PyAny>) -> Read<Option<Span>> {
    match answer.extract::<Option<u64>>() {
        // A period of 0 would tick for ever at one time.
        Ok(Some(0)) | Err(_) => Err("None or picoseconds, over 0, are needed".to_owned()),
        Ok(ps) => Ok(ps.map(Span::from_ps)),
    }
}

fn flag(answer: &Bound<'_, PyAny>) -> Read<bool> {
    answer.extract().map_err(|_| "True or False is needed".to_owned())
}

fn reason(why: DropReason) -> PyReason {
    why.into()
}

macro_rules! hooks {
    ($methods:ident, $shared:ident, $name:ident { $($hook:ident),* } $($field:ident: $value:expr),*) => {
        $name { $($hook: Hook::of($methods, stringify!($hook), $shared)?,)* $($field: $value),* }
    };
}

pub(super) struct OwnClassifier {
    classify: Hook,
    shared: Shared,
}

impl OwnClassifier {
    pub(super) fn new(methods: &Bound<'_, PyDict>, shared: &Shared) -> PyResult<Self> {
        Ok(hooks!(methods, shared, OwnClassifier { classify } shared: shared.clone()))
    }
}

impl Classifier for OwnClassifier {
    fn classify(&mut self, view: &View, packet: &Packet) -> QueueId {
        let args = (&*self.shared.view, PyPacket(*packet));
        let read = |answer: &Bound<'_, PyAny>| {
            let queue: Option<usize> = answer.extract().ok();
            let queue = queue.filter(|&queue| queue < view.port.queues());
            let last = view.port.queues() - 1;
            queue.map(|queue| queue as QueueId).ok_or(format!("a queue is needed, 0 to {last}"))
        };
        // After a failure the run goes on by defaults until it ends.
        self.classify.ask(view, args, read).unwrap_or(0)
    }
}

pub(super) struct OwnBuffer {
    admit: Hook,
    stored: Hook,
    refused: Hook,
    removed: Hook,
    sent: Hook,
    tick: Hook,
    reads_pool: bool,
    period: Option<Span>,
    shared: Shared,
}

impl OwnBuffer {
    pub(super) fn new(methods: &Bound<'_, PyDict>, shared: &Shared) -> PyResult<Self> {
        let alone = |name| Hook::of(methods, name, shared);
        let reads_pool = alone("reads_pool")?.ask_alone(flag).unwrap_or_default();
        let period = alone("period")?.ask_alone(period).unwrap_or_default();
        Ok(hooks!(methods, shared, OwnBuffer { admit, stored, refused, removed, sent, tick }
            reads_pool: reads_pool, period: period, shared: shared.clone()))
    }
}

impl Buffer for OwnBuffer {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn qdisc::Random,
    ) -> Admission {
        let args = (&*self.shared.view, queue, PyPacket(*packet), &*self.shared.random);
        let read = |answer: &Bound<'_, PyAny>| match *word::<PyAdmission>(answer)?.get() {
            PyAdmission(Admission::PushOut(id), hook) => {
                queued(view, &Slot { id, hook }).map(Admission::PushOut)
            }
            PyAdmission(other, _) => Ok(other),
        };
        let answer = self.admit.ask_with(view, rng, args, read);
        answer.unwrap_or(Admission::In)
    }
    fn stored(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.stored.tell(view, (&*self.shared.view, queue, PyPacket(*packet)));
    }
    fn refused(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.refused.tell(view, (&*self.shared.view, queue, PyPacket(*packet), reason(why)));
    }
    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.removed.tell(view, (&*self.shared.view, queue, PyPacket(*packet), reason(why)));
    }
    fn sent(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.sent.tell(view, (&*self.shared.view, queue, PyPacket(*packet)));
    }
    fn reads_pool(&self) -> bool {
        self.reads_pool
    }
    fn period(&self) -> Option<Span> {
        self.period
    }
    fn tick(&mut self, view: &View, n: u64) {
        self.tick.tell(view, (&*self.shared.view, n));
    }
}

pub(super) struct OwnMarker {
    intend: Hook,
    stored: Hook,
    refused: Hook,
    depart: Hook,
    removed: Hook,
    service_ended: Hook,
    tick: Hook,
    set_share: Hook,
    threshold_bytes: Hook,
    round_time: Hook,
    reads_pool: bool,
    period: Option<Span>,
    shared: Shared,
}

impl OwnMarker {
    pub(super) fn new(methods: &Bound<'_, PyDict>, shared: &Shared) -> PyResult<Self> {
        let alone = |name| Hook::of(methods, name, shared);
        let reads_pool = alone("reads_pool")?.ask_alone(flag).unwrap_or_default();
        let period = alone("period")?.ask_alone(period).unwrap_or_default();
        Ok(hooks!(methods, shared, OwnMarker {
            intend, stored, refused, depart, removed, service_ended, tick, set_share,
            threshold_bytes, round_time
        } reads_pool: reads_pool, period: period, shared: shared.clone()))
    }
}

impl Marker for OwnMarker {
    fn intend(
        &self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn qdisc::Random,
    ) -> Intent {
        let args = (&*self.shared.view, queue, PyPacket(*packet), &*self.shared.random);
        let read = |answer: &Bound<'_, PyAny>| Ok((*word::<PyIntent>(answer)?.get()).into());
        self.intend.ask_with(view, rng, args, read).unwrap_or(Intent::Pass)
    }
    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        intent: Intent,
        rng: &mut dyn qdisc::Random,
    ) -> Option<SlotId> {
        let intent = PyIntent::from(intent);
        let args = (&*self.shared.view, queue, Slot::of(slot), intent, &*self.shared.random);
        let read = |answer: &Bound<'_, PyAny>| match answer.is_none() {
            true => Ok(None),
            false => match word::<Slot>(answer)?.get() {
                found if *found == Slot::of(slot) && place(found).is_ok() => Ok(Some(slot)),
                found => queued(view, found).map(Some),
            },
        };
        self.stored.ask_with(view, rng, args, read).flatten()
    }
    fn refused(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.refused.tell(view, (&*self.shared.view, queue, PyPacket(*packet), reason(why)));
    }
    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        note: Note,
        rng: &mut dyn qdisc::Random,
    ) -> Departure {
        let note = PyNote::from(note);
        let args = (&*self.shared.view, queue, Slot::of(slot), note, &*self.shared.random);
        let read = |answer: &Bound<'_, PyAny>| Ok((*word::<PyDeparture>(answer)?.get()).into());
        self.depart.ask_with(view, rng, args, read).unwrap_or(Departure::Pass)
    }
    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.removed.tell(view, (&*self.shared.view, queue, PyPacket(*packet), reason(why)));
    }
    fn service_ended(&mut self, view: &View, end: ServiceEnd) {
        self.service_ended.tell(view, (&*self.shared.view, PyServiceEnd(end)));
    }
    fn reads_pool(&self) -> bool {
        self.reads_pool
    }
    fn period(&self) -> Option<Span> {
        self.period
    }
    fn tick(&mut self, view: &View, n: u64) {
        self.tick.tell(view, (&*self.shared.view, n));
    }
    fn set_share(&mut self, class: u8, share: Share) {
        self.set_share.tell_alone((class, share.weight, share.cap.map(Rate::as_bps)));
    }
    fn threshold_bytes(&self, view: &View, queue: QueueId) -> Option<f64> {
        let read = |answer: &Bound<'_, PyAny>| match answer.extract::<Option<f64>>() {
            Ok(bytes) if bytes.is_none_or(|bytes| bytes >= 0.0) => Ok(bytes),
            _ => Err("None or a number of bytes is needed".to_owned()),
        };
        self.threshold_bytes.ask(view, (&*self.shared.view, queue), read).flatten()
    }
    fn round_time(&self) -> Option<Span> {
        let read = |answer: &Bound<'_, PyAny>| match answer.extract::<Option<u64>>() {
            Ok(ps) => Ok(ps.map(Span::from_ps)),
            Err(_) => Err("None or picoseconds are needed".to_owned()),
        };
        self.round_time.ask_alone(read).flatten()
    }
}

/// Collector of the services that have ended, which a scheduler calls.
#[pyclass(frozen, module = "switchbed.prototype")]
#[derive(Default)]
pub struct Ends(Mutex<Vec<ServiceEnd>>);

#[pymethods]
impl Ends {
    fn __call__(&self, end: &Bound<'_, PyServiceEnd>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(end.get().0);
    }
}

pub(super) struct OwnScheduler {
    enqueued: Hook,
    select: Hook,
    served: Hook,
    removed: Hook,
    ends: Arc<Py<Ends>>,
    shared: Shared,
}

impl OwnScheduler {
    pub(super) fn new(methods: &Bound<'_, PyDict>, shared: &Shared) -> PyResult<Self> {
        let ends = Arc::new(Py::new(methods.py(), Ends::default())?);
        Ok(hooks!(methods, shared, OwnScheduler { enqueued, select, served, removed }
            ends: ends, shared: shared.clone()))
    }

    /// Hands on the ends that the hook named.
    fn hand_on(&self, view: &View, hook: &Hook, to: &mut dyn FnMut(ServiceEnd)) {
        let named = &self.ends.get().0;
        for end in named.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            match usize::from(end.queue) < view.port.queues() && end.started <= end.ended {
                true => to(end),
                false => hook.refuse(
                    "it named the end of a service of a queue that is none, or from a time after \
                     it: a queue of the port is needed, and times in order",
                ),
            }
        }
    }
}

impl Scheduler for OwnScheduler {
    fn enqueued(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.enqueued.tell(view, (&*self.shared.view, queue, PyPacket(*packet)));
    }
    fn select(&mut self, view: &View, ends: &mut dyn FnMut(ServiceEnd)) -> Selection {
        let eligible = view.port.backlogged();
        // A class that keeps no books would fail where nothing is eligible.
        let Some(first) = eligible.first() else { return Selection::Empty };
        let wanted = || {
            let eligible: Vec<String> = eligible.iter().map(|queue| queue.to_string()).collect();
            let (eligible, now) = (eligible.join(", "), view.now.as_ps());
            format!("the queues that may send are {eligible}; NotBefore is later than {now}")
        };
        let read = |answer: &Bound<'_, PyAny>| {
            let fits = |queue: i64| QueueId::try_from(queue).ok().filter(|&q| eligible.contains(q));
            match word::<PySelection>(answer)?.get().0 {
                Choice::Queue(queue) => fits(queue).map(Selection::Queue).ok_or_else(wanted),
                // Signed in Python: a time in the past would be asked for again at once, without
                // end.
                Choice::NotBefore(ps) if ps as u64 > view.now.as_ps() && ps > 0 => {
                    Ok(Selection::NotBefore(Time::from_ps(ps as u64)))
                }
                _ => Err(wanted()),
            }
        };
        let answer = self.select.ask(view, (&*self.shared.view, &*self.ends), read);
        // Told before the answer counts: ends belong to the rounds before it.
        self.hand_on(view, &self.select, ends);
        answer.unwrap_or(Selection::Queue(first))
    }
    fn served(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        until: Time,
        ends: &mut dyn FnMut(ServiceEnd),
    ) {
        let packet = PyPacket(*packet);
        self.served.tell(view, (&*self.shared.view, queue, packet, until.as_ps(), &*self.ends));
        self.hand_on(view, &self.served, ends);
    }
    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.removed.tell(view, (&*self.shared.view, queue, PyPacket(*packet), reason(why)));
    }
}

pub(super) struct OwnNotifier {
    stored: Hook,
    refused: Hook,
    tick: Hook,
    set_share: Hook,
    period: Option<Span>,
    shared: Shared,
}

impl OwnNotifier {
    pub(super) fn new(methods: &Bound<'_, PyDict>, shared: &Shared) -> PyResult<Self> {
        let period = Hook::of(methods, "period", shared)?.ask_alone(period).unwrap_or_default();
        Ok(hooks!(methods, shared, OwnNotifier { stored, refused, tick, set_share }
            period: period, shared: shared.clone()))
    }
}

impl Notifier for OwnNotifier {
    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn qdisc::Random,
    ) -> Option<Feedback> {
        let args = (&*self.shared.view, queue, PyPacket(*packet), &*self.shared.random);
        let flow = packet.flow;
        let read = |answer: &Bound<'_, PyAny>| match answer.is_none() {
            true => Ok(None),
            false => match *word::<PyFeedback>(answer)?.get() {
                // Six bits on the wire, of which 0 is no feedback (IEEE 802.1Qau).
                PyFeedback { quantized: quantized @ 1..=63, offset_bytes, delta_bytes } => {
                    Ok(Some(Feedback { flow, quantized, offset_bytes, delta_bytes }))
                }
                _ => Err("quantized feedback from 1 to 63 is needed".to_owned()),
            },
        };
        self.stored.ask_with(view, rng, args, read).flatten()
    }
    fn refused(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.refused.tell(view, (&*self.shared.view, queue, PyPacket(*packet), reason(why)));
    }
    fn period(&self) -> Option<Span> {
        self.period
    }
    fn tick(&mut self, view: &View, n: u64) {
        self.tick.tell(view, (&*self.shared.view, n));
    }
    fn set_share(&mut self, class: u8, share: Share) {
        self.set_share.tell_alone((class, share.weight, share.cap.map(Rate::as_bps)));
    }
}
