"""CEDM once more (`crates/qdisc/src/schemes/cedm.rs`), so that its withdrawal of marks can be
switched off and everything else stays: none of the scheme's own parameters does that."""

from switchbed.prototype import Departure, Intent, Marker, Note, Packet, Port, Random, Slot, View

HEADER_BYTES = 66
"""The longest packet without payload."""


class Cedm(Marker):
    """Algorithms 1 and 2 of the paper; the slope's sign and K1 take marks back only if `withdraws`.
    Parameters that a scenario has for other schemes are passed over."""

    def __init__(
        self, port: Port, k1: int, k2: int, w_s: float, withdraws: bool, **_: object
    ) -> None:
        self.k1, self.k2, self.weight, self.withdraws = k1, k2, w_s, withdraws
        self.slope = [0.0] * port.queues
        self.last: list[tuple[int, int] | None] = [None] * port.queues

    def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
        if packet.len_bytes <= HEADER_BYTES:
            return Intent.Pass
        length = view.queue_bytes(queue) + packet.len_bytes
        grows = self.slope[queue] >= 0
        marks = length >= self.k2 or (grows and length >= self.k1)
        return Intent.Mark if marks else Intent.Pass

    def depart(self, view: View, queue: int, slot: Slot, note: Note, rng: Random) -> Departure:
        len_bytes = view.packet(slot).len_bytes
        if len_bytes <= HEADER_BYTES:
            return Departure.Pass
        length = view.queue_bytes(queue) - len_bytes
        last = self.last[queue]
        if last is None:
            self.last[queue] = (view.now_ps, length)
        elif view.now_ps > last[0]:
            sample = (length - last[1]) / (view.now_ps - last[0])
            self.slope[queue] = (1 - self.weight) * self.slope[queue] + self.weight * sample
            self.last[queue] = (view.now_ps, length)
        passing = length < self.k2 and (length < self.k1 or self.slope[queue] < 0)
        back = self.withdraws and note == Note.Mark and passing
        return Departure.Unmark if back else Departure.Pass
