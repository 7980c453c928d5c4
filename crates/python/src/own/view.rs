//! State that a hook may see, and the random numbers it may draw. The objects that Python holds are
//! empty: the view and the source of randomness are lent to the thread for the length of a hook.
//! Nothing is copied, and nothing can be read after the hook.

use super::words::{Packet, Slot};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use switchbed_qdisc as qdisc;
use switchbed_qdisc::QueueId;
use switchbed_units::Bytes;

/// The source of randomness of a hook.
pub(super) struct Dice<'a>(pub &'a mut dyn qdisc::Random);

impl<'a, 'b: 'a> ReborrowMut<'a> for Dice<'b> {
    type Result = Dice<'a>;
    fn reborrow_mut(&'a mut self) -> Dice<'a> {
        Dice(self.0)
    }
}

scoped_thread_local!(pub static VIEW: for<'a> qdisc::View<'a>);
scoped_thread_local!(pub static mut DICE: for<'a> Dice<'a>);

/// Numbers of hooks that have ended, on all threads.
static ENDED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Number of this thread's hook, or of its next one.
    static HOOK: Cell<u64> = Cell::new(ENDED.fetch_add(1, Relaxed));
}

/// Number of the hook under way: no other has it.
pub(super) fn hook() -> u64 {
    HOOK.get()
}

/// The hook returns: slots that it was given are no packets' from now on.
pub(super) fn ended() {
    HOOK.set(ENDED.fetch_add(1, Relaxed));
}

/// The packet's place, within the hook that was given the slot.
pub(super) fn place(slot: &Slot) -> PyResult<qdisc::SlotId> {
    // The packet may have left since, and the place be another's.
    if slot.hook == hook() { Ok(slot.id) } else { Err(over("slot")) }
}

fn over(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "a {what} may be used only within the hook that it is given to"
    ))
}

/// A port's queues and line, and its packets, at the time of a hook.
#[pyclass(frozen, module = "switchbed.prototype")]
pub struct View;

fn look<T>(read: impl FnOnce(qdisc::View) -> T) -> PyResult<T> {
    // Set for the duration of a hook only: a view that was kept shows nothing.
    if VIEW.is_set() { Ok(VIEW.with(read)) } else { Err(over("view")) }
}

/// The same of one queue.
fn queue<T>(queue: QueueId, read: impl FnOnce(qdisc::View) -> T) -> PyResult<T> {
    look(|view| match usize::from(queue) < view.port.queues() {
        true => Ok(read(view)),
        false => {
            let last = view.port.queues() - 1;
            Err(PyIndexError::new_err(format!("queue {queue}: the port has queues 0 to {last}")))
        }
    })?
}

fn slot(id: qdisc::SlotId) -> Option<Slot> {
    (!id.is_none()).then(|| Slot::of(id))
}

/// The same of a packet's place.
fn at<T>(
    slot: &Bound<'_, Slot>,
    read: impl FnOnce(qdisc::View, qdisc::SlotId) -> T,
) -> PyResult<T> {
    let id = place(slot.get())?;
    // A hook may be given a slot whose packet has left by now.
    look(|view| match id.index() < view.arena.capacity() {
        true => Ok(read(view, id)),
        false => Err(PyValueError::new_err("this slot is no queued packet's")),
    })?
}

#[pymethods]
impl View {
    /// The time of the hook.
    #[getter]
    fn now_ps(&self) -> PyResult<u64> {
        look(|view| view.now.as_ps())
    }
    /// Bytes queued in all queues, the packet on the wire not counted.
    #[getter]
    fn bytes(&self) -> PyResult<u64> {
        look(|view| view.port.bytes().get())
    }
    /// Packets queued in all queues.
    #[getter]
    fn packets(&self) -> PyResult<u32> {
        look(|view| view.port.packets())
    }
    /// Number of queues of the port.
    #[getter]
    fn queues(&self) -> PyResult<usize> {
        look(|view| view.port.queues())
    }
    /// Rate of the line in bits per second.
    #[getter]
    fn rate_bps(&self) -> PyResult<u64> {
        look(|view| view.port.rate().as_bps())
    }
    /// When the transmission under way ends, or the last one ended.
    #[getter]
    fn busy_until_ps(&self) -> PyResult<u64> {
        look(|view| view.port.busy_until().as_ps())
    }
    /// In the hooks of an arrival: how long the port had been idle; 0 if it was not.
    #[getter]
    fn idle_ps(&self) -> PyResult<u64> {
        look(|view| view.idle().as_ps())
    }
    /// The memory that the switch's ports share.
    #[getter]
    fn pool_bytes(&self) -> PyResult<u64> {
        look(|view| view.memory.capacity().get())
    }
    /// How much of it is taken; right only where `reads_pool` says so.
    #[getter]
    fn pool_used_bytes(&self) -> PyResult<u64> {
        look(|view| view.memory.used().get())
    }
    /// The queues that hold packets, in order.
    #[getter]
    fn backlogged(&self) -> PyResult<Vec<u32>> {
        look(|view| view.port.backlogged().iter().map(u32::from).collect())
    }
    /// Queues that may send now: the same as `backlogged`.
    #[getter]
    fn eligible(&self) -> PyResult<Vec<u32>> {
        look(|view| view.port.backlogged().iter().map(u32::from).collect())
    }
    /// Bytes that a queue holds.
    fn queue_bytes(&self, queue: QueueId) -> PyResult<u64> {
        self::queue(queue, |view| view.port.queue_bytes(queue).get())
    }
    /// Packets that a queue holds.
    fn queue_packets(&self, queue: QueueId) -> PyResult<u32> {
        self::queue(queue, |view| view.port.queue_packets(queue))
    }
    /// A queue's quantum in bytes; for disciplines without rounds its weight.
    fn quantum(&self, queue: QueueId) -> PyResult<u64> {
        self::queue(queue, |view| view.port.quantum(queue).get())
    }
    /// The place of the packet at a queue's head; `None` if it is empty.
    fn head(&self, queue: QueueId) -> PyResult<Option<Slot>> {
        self::queue(queue, |view| slot(view.head(queue)))
    }
    /// Packet at the head of a queue.
    fn head_packet(&self, queue: QueueId) -> PyResult<Option<Packet>> {
        self::queue(queue, |view| view.head_packet(queue).copied().map(Packet))
    }
    /// The places of a queue's packets, from its head.
    fn slots(&self, queue: QueueId) -> PyResult<Vec<Slot>> {
        self::queue(queue, |view| view.slots(queue).map(Slot::of).collect())
    }
    /// The place that holds this byte of a queue, counted from its head; `None` beyond its end.
    fn slot_at_byte(&self, queue: QueueId, offset: u64) -> PyResult<Option<Slot>> {
        self::queue(queue, |view| slot(view.slot_at_byte(queue, Bytes::new(offset))))
    }
    /// The packet in a place.
    fn packet(&self, slot: &Bound<'_, Slot>) -> PyResult<Packet> {
        at(slot, |view, id| Packet(*view.arena.packet(id)))
    }
    /// When the packet in a place arrived at this port.
    fn arrived_ps(&self, slot: &Bound<'_, Slot>) -> PyResult<u64> {
        at(slot, |view, id| view.arena.arrived(id).as_ps())
    }
}

/// The run's own randomness: the same seed draws the same.
#[pyclass(frozen, module = "switchbed.prototype")]
pub struct Random;

fn draw<T>(read: impl FnOnce(&mut dyn qdisc::Random) -> T) -> PyResult<T> {
    if DICE.is_set() {
        Ok(DICE.with(|dice| read(dice.0)))
    } else {
        Err(over("source of randomness"))
    }
}

#[pymethods]
impl Random {
    /// Draws 64 uniformly distributed bits.
    fn next_u64(&self) -> PyResult<u64> {
        draw(|rng| rng.next_u64())
    }
    /// A number uniform in [0, 1).
    fn unit(&self) -> PyResult<f64> {
        draw(|rng| rng.unit())
    }
    /// A whole number uniform in 0 to n - 1.
    fn below(&self, n: u64) -> PyResult<u64> {
        match n {
            0 => Err(PyValueError::new_err("below(0): there is no number below 0")),
            n => draw(|rng| rng.below(n)),
        }
    }
}

/// A port as a class meets it when it is made.
#[pyclass(frozen, get_all, module = "switchbed.prototype")]
pub(crate) struct Port {
    /// Number of queues of the port.
    pub queues: usize,
    /// Quantum of each queue in bytes.
    pub quantum: Vec<u64>,
    /// Rate of the line in bits per second.
    pub rate_bps: u64,
    /// Bytes of the port's packet memory.
    pub buffer_bytes: u64,
}
