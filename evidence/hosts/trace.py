"""What became of the flow, from the captures at its two ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from evidence.hosts.packets import Packet

Points = list[tuple[float, int]]
"""Milliseconds since the SYN, and segments."""


@dataclass(frozen=True)
class Trace:
    """A run."""

    fct_ms: float
    """From the SYN to the arrival of the last byte."""
    retransmissions: int
    timeouts: int
    acks: int
    """That the receiver sent, that of the SYN not counted."""
    outstanding: Points
    """What is sent and not acknowledged, SACKs counted as such, at each change."""
    window: Points = field(default_factory=list)
    """The sender's congestion window, where it can be seen."""
    again: int | None = None
    """Which of the data packets is the first retransmission, from 1."""


def of(
    sender: Sequence[Packet],
    receiver: Sequence[Packet],
    size: int,
    mss: int,
    timeouts: int,
) -> Trace:
    """From what passed at the sender and at the receiver."""
    start = min(packet.at for packet in (*sender, *receiver) if packet.syn)
    outstanding: Points = []
    highest = acked = numbered = again = retransmissions = 0
    sacked: set[int] = set()
    for packet in sender:
        now = round((packet.at - start) * 1e3, 3)
        if packet.out and packet.length > 0:
            numbered += 1
            if packet.seq < highest:
                retransmissions += 1
                again = again or numbered
            highest = max(highest, packet.seq + packet.length)
        elif not packet.out and not packet.syn and packet.length == 0:
            acked = max(acked, packet.ack)
            for left, right in packet.sacks:
                sacked |= set(range(left // mss, right // mss))
            sacked -= set(range(acked // mss))
        if highest:
            out = -(-highest // mss) - acked // mss - len(sacked)
            if not outstanding or outstanding[-1][1] != out:
                outstanding.append((now, out))
    return Trace(
        fct_ms=(_complete(receiver, size) - start) * 1e3,
        retransmissions=retransmissions,
        timeouts=timeouts,
        acks=sum(not (packet.out or packet.syn or packet.length) for packet in receiver),
        outstanding=outstanding,
        again=again or None,
    )


def turned(packets: Sequence[Packet]) -> list[Packet]:
    """The same of a flow that the host which accepted the connection sends."""
    return [replace(packet, out=not packet.out) for packet in packets]


def sampled(points: Points, until_ms: float) -> list[int]:
    """What holds at each whole millisecond."""
    found, last, i = [], 0, 0
    for now in range(int(until_ms) + 1):
        while i < len(points) and points[i][0] <= now:
            last = points[i][1]
            i += 1
        found.append(last)
    return found


def _complete(receiver: Sequence[Packet], size: int) -> float:
    """When all bytes have arrived."""
    missing = [(0, size)]
    for packet in receiver:
        if not packet.out or packet.length == 0:
            continue
        left, right = packet.seq, packet.seq + packet.length
        missing = [
            part
            for begin, end in missing
            for part in ((begin, min(end, left)), (max(begin, right), end))
            if part[0] < part[1]
        ]
        if not missing:
            return packet.at
    raise ValueError("the flow has not arrived as a whole")
