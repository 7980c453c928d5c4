"""Schemes that exist in Rust, written in Python: the tests compare the two."""

from collections import deque

from switchbed.prototype import (
    Admission,
    Buffer,
    Classifier,
    Departure,
    DropReason,
    Ends,
    Feedback,
    Intent,
    Marker,
    Note,
    Notifier,
    Packet,
    Port,
    Random,
    Scheduler,
    Selection,
    ServiceEnd,
    Slot,
    View,
)


class Step(Marker):
    """`per-queue`."""

    def __init__(self, port: Port, threshold: int) -> None:
        self.threshold = threshold

    def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
        over = view.queue_bytes(queue) + packet.len_bytes > self.threshold
        return Intent.Mark if over else Intent.Pass

    def threshold_bytes(self, view: View, queue: int) -> float:
        return self.threshold


class StepAtDeparture(Step):
    """`per-queue-dq`."""

    def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
        return Intent.Pass

    def depart(self, view: View, queue: int, slot: Slot, note: Note, rng: Random) -> Departure:
        return Departure.Mark if view.queue_bytes(queue) > self.threshold else Departure.Pass


class Waiting(Marker):
    """TCN."""

    def __init__(self, port: Port, threshold: int) -> None:
        self.threshold = threshold  # picoseconds

    def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
        return Intent.Pass

    def depart(self, view: View, queue: int, slot: Slot, note: Note, rng: Random) -> Departure:
        waited = view.now_ps - view.arrived_ps(slot)
        return Departure.Mark if waited > self.threshold else Departure.Pass


class ByClass(Classifier):
    """`classify = "class"`."""

    def __init__(self, port: Port) -> None:
        self.last = port.queues - 1

    def classify(self, view: View, packet: Packet) -> int:
        return min(packet.class_, self.last)


class Static(Buffer):
    """`policy = "static"`."""

    def __init__(self, port: Port) -> None:
        self.part = port.buffer_bytes // port.queues

    def admit(self, view: View, queue: int, packet: Packet, rng: Random) -> Admission:
        if view.queue_bytes(queue) + packet.len_bytes <= self.part:
            return Admission.In
        return Admission.Out(DropReason.Full)


class Strict(Scheduler):
    """`strict = queues`."""

    def select(self, view: View, ends: Ends) -> Selection:
        return Selection.Queue(view.eligible[0])


class Dwrr(Scheduler):
    """`discipline = "dwrr"`, without push-outs and pauses."""

    def __init__(self, port: Port) -> None:
        self.round: deque[int] = deque()
        self.deficit = [0] * port.queues
        self.visited = [False] * port.queues
        self.started = [0] * port.queues

    def enqueued(self, view: View, queue: int, packet: Packet) -> None:
        if view.queue_packets(queue) == 1:
            self.round.append(queue)
            self.started[queue] = view.now_ps

    def select(self, view: View, ends: Ends) -> Selection:
        while True:
            queue = self.round[0]
            head = view.head_packet(queue)
            assert head is not None
            if not self.visited[queue]:
                self.visited[queue] = True
                self.deficit[queue] += view.quantum(queue)
            if head.len_bytes <= self.deficit[queue]:
                return Selection.Queue(queue)
            self.visited[queue] = False
            ends(ServiceEnd(queue, self.started[queue], view.now_ps))
            self.started[queue] = view.now_ps
            self.round.rotate(-1)

    def served(self, view: View, queue: int, packet: Packet, until_ps: int, ends: Ends) -> None:
        self.deficit[queue] -= packet.len_bytes
        if view.queue_packets(queue) == 0:
            self._leave(queue)
            ends(ServiceEnd(queue, self.started[queue], until_ps))

    def removed(self, view: View, queue: int, packet: Packet, why: DropReason) -> None:
        if view.queue_packets(queue) == 0:
            self._leave(queue)

    def _leave(self, queue: int) -> None:
        self.round.remove(queue)
        self.deficit[queue] = 0
        self.visited[queue] = False


class MqEcn(Marker):
    """`mq-ecn`, with its defaults (MQ-ECN, section 4.1)."""

    def __init__(self, port: Port, threshold: int) -> None:
        self.threshold = threshold
        self.t_idle = 8 * 1500 * 10**12 // port.rate_bps
        self.round_ps = 0.0

    def _round(self, view: View) -> float:
        if view.idle_ps < self.t_idle:
            return self.round_ps
        return float(self.round_ps * 0.75 ** (view.idle_ps // self.t_idle))

    def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
        quantum_ps = view.quantum(queue) * (8 * 10**12 / view.rate_bps)
        length = view.queue_bytes(queue) + packet.len_bytes
        over = length * max(quantum_ps, self._round(view)) > self.threshold * quantum_ps
        return Intent.Mark if over else Intent.Pass

    def stored(self, view: View, queue: int, slot: Slot, intent: Intent, rng: Random) -> None:
        self.round_ps = self._round(view)

    def service_ended(self, view: View, end: ServiceEnd) -> None:
        self.round_ps = 0.75 * self.round_ps + 0.25 * (end.ended_ps - end.started_ps)


class RandomPushOut(Buffer):
    """A random byte of the longest queue goes: no scheme of Rust, for invariants."""

    def __init__(self, port: Port) -> None:
        self.limit = port.buffer_bytes

    def admit(self, view: View, queue: int, packet: Packet, rng: Random) -> Admission:
        if view.bytes + packet.len_bytes <= self.limit:
            return Admission.In
        longest = max(view.backlogged, key=view.queue_bytes)
        slot = view.slot_at_byte(longest, rng.below(view.queue_bytes(longest)))
        assert slot is not None
        return Admission.PushOut(slot)


class Erratic(Marker):
    """Marks, unmarks and drops what it likes: for invariants."""

    def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
        return (Intent.Pass, Intent.Mark, Intent.Drop)[self._often_first(rng, 3)]

    def stored(
        self, view: View, queue: int, slot: Slot, intent: Intent, rng: Random
    ) -> Slot | None:
        slots = view.slots(rng.below(view.queues))
        return slots[rng.below(len(slots))] if slots else None

    def depart(self, view: View, queue: int, slot: Slot, note: Note, rng: Random) -> Departure:
        words = (Departure.Pass, Departure.Mark, Departure.Unmark, Departure.Drop)
        return words[self._often_first(rng, 4)]

    def _often_first(self, rng: Random, n: int) -> int:
        return rng.below(n) if rng.unit() < 0.1 else 0


class ErraticTurns(Scheduler):
    """Any queue, or later."""

    def __init__(self, port: Port) -> None:
        self.asked = 0

    def select(self, view: View, ends: Ends) -> Selection:
        self.asked += 1
        if self.asked % 7 == 0:
            return Selection.NotBefore(view.now_ps + 300_000 * (self.asked % 3 + 1))
        return Selection.Queue(view.eligible[self.asked % len(view.eligible)])


class Qcn(Notifier):
    """`qcn` without jitter."""

    PERIODS = (150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500)

    def __init__(self, port: Port, q_eq: int, w: float = 2.0) -> None:
        self.q_eq, self.w = q_eq, w
        self.left = [float(self.PERIODS[0])] * port.queues
        self.old = [0] * port.queues

    def stored(self, view: View, queue: int, packet: Packet, rng: Random) -> Feedback | None:
        self.left[queue] -= packet.len_bytes
        if self.left[queue] > 0:
            return None
        length = view.queue_bytes(queue)
        offset, delta = length - self.q_eq, length - self.old[queue]
        measure = (offset + self.w * delta) / ((2 * self.w + 1) * self.q_eq)
        quantized = int(max(-1.0, min(1.0, measure)) * 63)
        self.old[queue] = length
        self.left[queue] = float(self.PERIODS[max(quantized, 0) >> 3])
        return Feedback(quantized, offset, delta) if quantized > 0 else None
