"""RED with the two rules of ns-3's that matter where queues run empty, for `aqm_star.py`.

ns-3's discipline stands above a device whose queue has one packet: it neither counts that one nor
the arrival in question, and it drops nothing that it finds itself empty for. Otherwise this is
`red`: not gentle, evenly spread, in bytes.
"""

from switchbed.prototype import (
    Departure,
    DropReason,
    Intent,
    Marker,
    Note,
    Packet,
    Port,
    Random,
    Slot,
    View,
)

PACKET = 1502
"""Of the device's queue, in bytes."""
BITS = 12_000
"""What a packet counts on an idle line: MeanPktSize of 1500 bytes, in bits."""


class Ns3Red(Marker):
    """Marks, and so drops what is not ECN-capable; thresholds in bytes."""

    def __init__(self, port: Port, kmin: int, kmax: int, pmax: float, weight: float) -> None:
        self.kmin, self.kmax, self.pmax, self.weight = kmin, kmax, pmax, weight
        self.packet_ps = BITS * 10**12 // port.rate_bps
        self.average_bytes = 0.0
        self.count = 0
        self.drained_ps = 0

    def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
        waiting = view.queue_bytes(queue)
        p = self._probability(self._averaged(view, waiting), waiting)
        if 0 < p < 1:
            p = p / (1 - self.count * p) if self.count * p < 1 else 1.0
            return Intent.Mark if rng.unit() < p else Intent.Pass
        return Intent.Mark if p else Intent.Pass

    def stored(
        self, view: View, queue: int, slot: Slot, intent: Intent, rng: Random
    ) -> Slot | None:
        self._decided(view, view.queue_bytes(queue) - view.packet(slot).len_bytes, False)
        return None

    def refused(self, view: View, queue: int, packet: Packet, why: DropReason) -> None:
        self._decided(view, view.queue_bytes(queue), True)

    def depart(self, view: View, queue: int, slot: Slot, note: Note, rng: Random) -> Departure:
        if view.queue_packets(queue) == 1:
            self.drained_ps = view.now_ps + self.packet_ps
        return Departure.Pass

    def _averaged(self, view: View, waiting: int) -> float:
        idle = view.now_ps - self.drained_ps if waiting == 0 else 0
        kept = (1 - self.weight) ** (1 + max(0, idle) // self.packet_ps)
        return self.average_bytes * kept + self.weight * max(0, waiting - PACKET)

    def _probability(self, average: float, waiting: int) -> float:
        if average < self.kmin or waiting <= PACKET:
            return 0.0
        if average >= self.kmax:
            return 1.0
        return self.pmax * (average - self.kmin) / (self.kmax - self.kmin)

    def _decided(self, view: View, waiting: int, marked: bool) -> None:
        self.average_bytes = self._averaged(view, waiting)
        p = self._probability(self.average_bytes, waiting)
        self.count = 0 if marked or not p else self.count + 1
