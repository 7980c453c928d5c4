"""The packets of one TCP connection, from a capture: a live switch's pcap, ns-3's, or a
simulation's pcapng. What became of the flow follows from the captures at its two ends."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

SYN, ACK = 0x02, 0x10
ETHERNET, PPP = (14, b"\x08\x00"), (2, b"\x00\x21")
"""Of a frame: its header's length, and what ends it before IPv4."""
PPP_TYPE = 9
PCAPNG = 0x0A0D0D0A
ENHANCED = 6
"""The type of pcapng's block with a packet."""


@dataclass(frozen=True)
class Packet:
    """One of the connection's packets."""

    at: float
    """In seconds."""
    out: bool
    """From the host that opened the connection."""
    seq: int
    """Of the first byte of payload, from 0."""
    length: int
    """Of the payload."""
    ack: int
    """The next byte that the other side wants, from 0."""
    sacks: tuple[tuple[int, int], ...]
    syn: bool
    ce: bool


def read(capture: bytes) -> list[Packet]:
    """The TCP packets of a capture that holds one connection from its first SYN on, in order."""
    frames = _pcapng(capture) if _u32(capture, 0) == PCAPNG else _pcap(capture)
    opener: bytes | None = None
    starts: dict[bool, int] = {}
    found = []
    for at, (begin, kind), frame in frames:
        ip = frame[begin:]
        if frame[begin - 2 : begin] != kind or ip[9] != 6:
            # It would be counted among what is to be lost.
            raise ValueError("the capture has a frame that is none of TCP's")
        header = 4 * (ip[0] & 15)
        tcp = ip[header:]
        seq, ack, offset, flags = struct.unpack_from("!IIBB", tcp, 4)
        options = 4 * (offset >> 4)
        if opener is None and flags & SYN:
            opener = ip[12:16]
        out = ip[12:16] == opener
        if flags & SYN:
            starts[out] = seq + 1 & 0xFFFFFFFF
        mine, other = starts.get(out, 1), starts.get(not out, 1)
        length = struct.unpack_from("!H", ip, 2)[0] - header - options
        found.append(
            Packet(
                at=at,
                out=out,
                seq=_since(seq, mine),
                length=length,
                ack=_since(ack, other) if flags & ACK else 0,
                sacks=tuple(
                    (_since(left, other), _since(right, other))
                    for left, right in _sacks(tcp[20:options])
                ),
                syn=bool(flags & SYN),
                ce=ip[1] & 3 == 3,
            )
        )
    return found


def _since(number: int, start: int) -> int:
    """How far a sequence number is behind another; a little before it is negative."""
    behind = number - start & 0xFFFFFFFF
    return behind - (1 << 32) if behind >= 1 << 31 else behind


def _sacks(options: bytes) -> Iterator[tuple[int, int]]:
    i = 0
    while i < len(options) and options[i] != 0:
        if options[i] == 1:
            i += 1
            continue
        length = options[i + 1]
        if options[i] == 5:
            yield from struct.iter_unpack("!II", options[i + 2 : i + length])
        i += length


Frames = Iterator[tuple[float, tuple[int, bytes], bytes]]


def _pcap(capture: bytes) -> Frames:
    """With nanoseconds, in either byte order."""
    order = "<" if capture[:4] == b"\x4d\x3c\xb2\xa1" else ">"
    (link,) = struct.unpack_from(f"{order}I", capture, 20)
    header = PPP if link == PPP_TYPE else ETHERNET
    i = 24
    while i < len(capture):
        seconds, nanoseconds, kept, _ = struct.unpack_from(f"{order}IIII", capture, i)
        yield seconds + nanoseconds / 1e9, header, capture[i + 16 : i + 16 + kept]
        i += 16 + kept


def _pcapng(capture: bytes) -> Frames:
    """With nanoseconds, little-endian, as ours are."""
    i = 0
    while i < len(capture):
        kind, length = struct.unpack_from("<II", capture, i)
        if kind == ENHANCED:
            high, low, kept = struct.unpack_from("<III", capture, i + 12)
            yield ((high << 32) + low) / 1e9, ETHERNET, capture[i + 28 : i + 28 + kept]
        i += length


def _u32(capture: bytes, at: int) -> int:
    (found,) = struct.unpack_from("<I", capture, at)
    return int(found)


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
    """ACKs that the receiver sent, that of the SYN not counted."""
    outstanding: Points
    """Packets sent and not acknowledged at each change; SACKs acknowledge."""
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
    """The value that holds at each whole millisecond."""
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
