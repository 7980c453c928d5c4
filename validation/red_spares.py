"""RED with ns-3's rule for packets that find the queue empty, as a scheme in Python."""

from typing import Any

from switchbed.prototype import Departure, Intent, Marker

PACKET_PS = 12_000_000
"""1,500 bytes at 1 Gbps: the average decays once for each such time that the port is idle."""


class RedSpares(Marker):
    """RED as `red` has it, but a packet that finds the queue empty is never dropped, as in ns-3."""

    def __init__(self, port: Any, kmin: int, kmax: int, pmax: float, weight: float) -> None:
        self.kmin, self.kmax, self.pmax, self.weight = kmin, kmax, pmax, weight
        self.average = 0.0
        self.count = 0
        self.idle_since_ps: int | None = 0

    def intend(self, view: Any, queue: int, packet: Any, rng: Any) -> Intent:
        waiting = view.queue_bytes(queue)
        idle = 0
        if self.idle_since_ps is not None:
            idle = max(0, view.now_ps - self.idle_since_ps) // PACKET_PS
            self.idle_since_ps = None
        self.average *= (1 - self.weight) ** (idle + 1)
        self.average += self.weight * (waiting + packet.len_bytes)
        over = (self.average - self.kmin) / (self.kmax - self.kmin)
        if over < 0 or waiting == 0:
            self.count = 0
            return Intent.Pass
        p = self.pmax * over
        probability = p / max(1 - self.count * p, p) if over < 1 else 1.0
        self.count += 1
        if rng.unit() > probability:
            return Intent.Pass
        self.count = 0
        return Intent.Mark

    def depart(self, view: Any, queue: int, slot: Any, note: Any, rng: Any) -> Departure:
        if view.queue_packets(queue) == 1:
            self.idle_since_ps = view.now_ps + PACKET_PS
        return Departure.Pass
