//! Small seats for the suite alone, each odd in one way that the port must bear. Later
//! schemes of the library do these things for a reason.

use switchbed_qdisc::hooks::{
    Admission, Buffer, Departure, Feedback, Intent, Marker, Notifier, Scheduler, Selection,
    ServiceEnd,
};
use switchbed_qdisc::port::view::DropReason;
use switchbed_qdisc::{Note, Packet, QueueId, Random, SlotId, View};
use switchbed_units::{Bytes, Span, Time};

/// Which packet an arrival displaces.
#[derive(Clone, Copy)]
pub enum Victim {
    Head,
    Middle,
    Tail,
    /// Any packet of the arrival's queue, by bytes, the arrival itself among them.
    Lot,
    /// The tail of the longest queue.
    Longest,
}

/// Pushes out of the arrival's queue (or the longest) until the arrival fits.
pub struct PushOut {
    pub limit: Bytes,
    pub victim: Victim,
}

impl Buffer for PushOut {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission {
        let full = Admission::Out(DropReason::Full);
        let queues = 0..view.port.queues() as QueueId;
        let (from, used) = match self.victim {
            Victim::Longest => {
                let longest = queues.max_by_key(|&q| view.port.queue_bytes(q)).unwrap();
                (longest, view.port.bytes())
            }
            _ => (queue, view.port.queue_bytes(queue)),
        };
        let len = packet.len_bytes as u64;
        if used.get() + len <= self.limit.get() {
            return Admission::In;
        }
        let packets = view.port.queue_packets(from) as usize;
        let nth = |n: usize| view.slots(from).nth(n);
        let victim = match self.victim {
            Victim::Head => nth(0),
            Victim::Middle => nth(packets / 2),
            Victim::Tail | Victim::Longest => nth(packets.saturating_sub(1)),
            Victim::Lot => {
                let drawn = Bytes::new(rng.below(used.get() + len));
                let slot = view.slot_at_byte(from, drawn);
                (!slot.is_none()).then_some(slot)
            }
        };
        victim.map_or(full, Admission::PushOut)
    }
}

/// Refuses by its own count of each queue, kept from its hooks alone, and ticks.
#[derive(Default)]
pub struct Ledger {
    bytes: [u64; 4],
    offered: u64,
    clock: Clock,
}

impl Ledger {
    fn agree(&self, view: &View) {
        let seen = [0, 1, 2, 3].map(|q| view.port.queue_bytes(q).get());
        assert_eq!(self.bytes, seen, "a buffer's hooks tell of every packet");
    }
}

/// Checks that ticks come at their own times, and in time.
#[derive(Default)]
struct Clock {
    last: Time,
}

impl Clock {
    fn tick(&mut self, view: &View, n: u64, period: Span) {
        assert_eq!(view.now, self.last + period * n, "ticks at their own times");
        self.last = view.now;
    }
    fn settled(&self, view: &View, period: Span) {
        assert!(view.now.since(self.last) < period, "a tick is overdue");
    }
}

impl Buffer for Ledger {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        self.agree(view);
        self.clock.settled(view, LEDGER_PERIOD);
        if self.bytes[queue as usize] + packet.len_bytes as u64 <= 10_000 {
            return Admission::In;
        }
        match view.slots(queue).next() {
            Some(head) if packet.len_bytes <= 10_000 => Admission::PushOut(head),
            _ => Admission::Out(DropReason::Full),
        }
    }
    fn stored(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.bytes[queue as usize] += packet.len_bytes as u64;
        self.agree(view);
        self.offered += 1;
    }
    fn refused(&mut self, view: &View, _: QueueId, _: &Packet, _: DropReason) {
        self.agree(view);
        self.offered += 1;
        assert_eq!(self.offered, view.port.counters().arrived, "and of every arrival");
    }
    fn sent(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.bytes[queue as usize] -= packet.len_bytes as u64;
        self.agree(view);
    }
    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, _: DropReason) {
        self.bytes[queue as usize] -= packet.len_bytes as u64;
        self.agree(view);
    }
    fn period(&self) -> Option<Span> {
        Some(LEDGER_PERIOD)
    }
    fn tick(&mut self, view: &View, n: u64) {
        self.agree(view);
        self.clock.tick(view, n, LEDGER_PERIOD);
    }
}

const LEDGER_PERIOD: Span = Span::from_ns(2_300);

/// Marks everything, on arrival or departure.
pub struct Always {
    pub on_arrival: bool,
}

impl Marker for Always {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        if self.on_arrival { Intent::Mark } else { Intent::Pass }
    }
    fn depart(
        &mut self,
        _: &View,
        _: QueueId,
        _: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        if self.on_arrival { Departure::Pass } else { Departure::Mark }
    }
}

/// Marks, drops and passes by chance, on arrival and departure.
pub struct Coin;

impl Marker for Coin {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, rng: &mut dyn Random) -> Intent {
        [Intent::Pass, Intent::Mark, Intent::Drop, Intent::Pass][rng.below(4) as usize]
    }
    fn depart(
        &mut self,
        _: &View,
        _: QueueId,
        _: SlotId,
        _: Note,
        rng: &mut dyn Random,
    ) -> Departure {
        let verdicts = [Departure::Pass, Departure::Mark, Departure::Unmark, Departure::Drop];
        verdicts[rng.below(4) as usize]
    }
}

/// Notes a mark on some queued packet of the port whenever one is stored, and takes the
/// note back from every second packet that leaves. It counts packets by its hooks alone.
#[derive(Default)]
pub struct MarkInside {
    leaving: u64,
    queued: u32,
    offered: u64,
}

impl Marker for MarkInside {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }
    fn stored(
        &mut self,
        view: &View,
        _: QueueId,
        _: SlotId,
        _: Intent,
        rng: &mut dyn Random,
    ) -> Option<SlotId> {
        self.queued += 1;
        self.offered += 1;
        assert_eq!(self.queued, view.port.packets(), "a marker's hooks tell of every packet");
        let queue = view.port.backlogged().next_from(rng.below(4) as QueueId)?;
        let packets = view.port.queue_packets(queue) as u64;
        view.slots(queue).nth(rng.below(packets) as usize)
    }
    fn refused(&mut self, view: &View, _: QueueId, _: &Packet, _: DropReason) {
        self.offered += 1;
        assert_eq!(self.offered, view.port.counters().arrived, "and of every arrival");
    }
    fn removed(&mut self, view: &View, _: QueueId, _: &Packet, _: DropReason) {
        self.queued -= 1;
        assert_eq!(self.queued, view.port.packets());
    }
    fn depart(
        &mut self,
        view: &View,
        _: QueueId,
        _: SlotId,
        note: Note,
        _: &mut dyn Random,
    ) -> Departure {
        assert_eq!(self.queued, view.port.packets());
        self.queued -= 1;
        self.leaving += (note == Note::Mark) as u64;
        if note == Note::Mark && self.leaving.is_multiple_of(2) {
            Departure::Unmark
        } else {
            Departure::Pass
        }
    }
}

/// Drops two of three packets as they leave, in a row and so across queues.
#[derive(Default)]
pub struct DropAtDeparture {
    leaving: u64,
}

impl Marker for DropAtDeparture {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }
    fn depart(
        &mut self,
        _: &View,
        _: QueueId,
        _: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        self.leaving += 1;
        if self.leaving.is_multiple_of(3) { Departure::Pass } else { Departure::Drop }
    }
}

/// Marks when a sum, taken periodically over all that a tick may see, is over a threshold.
pub struct Ticker {
    period: Span,
    sum: f64,
    clock: Clock,
}

impl Ticker {
    pub fn new(period: Span) -> Self {
        Ticker { period, sum: 0.0, clock: Clock::default() }
    }
}

impl Marker for Ticker {
    fn intend(&self, view: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        self.clock.settled(view, self.period);
        if self.sum > 8e3 { Intent::Mark } else { Intent::Pass }
    }
    fn depart(
        &mut self,
        view: &View,
        _: QueueId,
        _: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        self.clock.settled(view, self.period);
        if self.sum > 12e3 { Departure::Mark } else { Departure::Unmark }
    }
    fn period(&self) -> Option<Span> {
        Some(self.period)
    }
    fn tick(&mut self, view: &View, n: u64) {
        self.clock.tick(view, n, self.period);
        for _ in 0..n {
            let rate = view.port.rate().as_bps() as f64 / 1e7;
            let eligible = view.port.backlogged().len() as f64 * 500.0;
            self.sum = 0.5 * self.sum + view.port.bytes().as_f64() + eligible + rate;
        }
    }
    fn threshold_bytes(&self, _: &View, _: QueueId) -> Option<f64> {
        Some(self.sum)
    }
}

/// Tells the source of every third packet how long the queue is, and forgets its count
/// periodically.
#[derive(Default)]
pub struct Sampler {
    stored: u64,
    clock: Clock,
}

impl Notifier for Sampler {
    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Option<Feedback> {
        self.clock.settled(view, SAMPLER_PERIOD);
        self.stored += 1;
        self.stored.is_multiple_of(3).then(|| Feedback {
            flow: packet.flow,
            quantized: (self.stored % 64) as u8,
            offset_bytes: view.port.queue_bytes(queue).get() as i32,
            delta_bytes: 0,
        })
    }
    fn period(&self) -> Option<Span> {
        Some(SAMPLER_PERIOD)
    }
    fn tick(&mut self, view: &View, n: u64) {
        self.clock.tick(view, n, SAMPLER_PERIOD);
        self.stored >>= n.min(63);
    }
}

const SAMPLER_PERIOD: Span = Span::from_us(5);

/// Lets the line rest after each packet before the discipline below goes on.
pub struct Rest<S> {
    below: S,
    next: Time,
}

impl<S> Rest<S> {
    pub fn new(below: S) -> Self {
        Rest { below, next: Time::ZERO }
    }
}

impl<S: Scheduler> Scheduler for Rest<S> {
    fn enqueued(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.below.enqueued(view, queue, packet);
    }
    fn select(&mut self, view: &View, ends: &mut dyn FnMut(ServiceEnd)) -> Selection {
        if view.port.backlogged().is_empty() {
            Selection::Empty
        } else if view.now < self.next {
            Selection::NotBefore(self.next)
        } else {
            self.below.select(view, ends)
        }
    }
    fn served(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        until: Time,
        ends: &mut dyn FnMut(ServiceEnd),
    ) {
        self.next = until + Span::from_ns(700);
        self.below.served(view, queue, packet, until, ends);
    }
    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.below.removed(view, queue, packet, why);
    }
}
