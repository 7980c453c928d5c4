"""Where a peer and the simulator differ by more than the tolerance, why, and the experiment that
shows it: one of the two is set otherwise, and the difference is gone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Difference:
    """One cause."""

    name: str
    peer: str
    patterns: tuple[str, ...]
    why: str
    """As the page has it."""
    host: Mapping[str, Any] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=dict)
    """Keys of ours in the experiment."""
    theirs: tuple[str, ...] = ()
    """The peer's settings in it."""


ACK_EACH = ("--del-ack=1",)
CLASSIC = ("--ns3::TcpL4Protocol::RecoveryType=ns3::TcpClassicRecovery",)
BUFFERS = tuple(f"--ns3::TcpSocket::{buffer}BufSize=1000000" for buffer in ("Rcv", "Snd"))
NEWRENO = ("set agent Agent/TCP/Newreno", "set taker Agent/TCPSink")
DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        name="first-ack",
        peer="ns-3",
        patterns=("tail", "tail-3"),
        why="""\
ns-3's receiver acknowledges the first data packet at once, as the handshake's ACK counts towards
its delayed ones: it acknowledges packets 1, 3, 5, ours 2, 4, 6. Where what comes before a lost
tail is left over, ours waits 200 ms for it, and the timer begins anew then. With an ACK a packet
on both sides:""",
        transport={"ack_every": 1},
        theirs=ACK_EACH,
    ),
    Difference(
        name="prr",
        peer="ns-3",
        patterns=("early",),
        why="""\
ns-3's proportional rate reduction sends a segment more for each ACK while too little is in
flight (RFC 6937's slow start), ours only where the ACK advances (RFC 9937, as the kernel). With
a window that comes down at once on both sides:""",
        transport={"reduction": "at-once"},
        theirs=CLASSIC,
    ),
    Difference(
        name="unused",
        peer="ns-3",
        patterns=("one-reno", "overflow-reno"),
        why="""\
ns-3's window grows past the receive window, which nobody can use, and a loss halves that: ours
halves what could be out. With buffers of a megabyte on both sides no receive window is in the
way:""",
        transport={"receive_window": "690pkt"},
        theirs=BUFFERS,
    ),
    Difference(
        name="after-timeout",
        peer="ns-3",
        patterns=("again", "again-reno"),
        why="""\
After the timeout the window is a packet, then two, and every odd packet's ACK is delayed by 200 ms:
ns-3 and ours meet that at other packets. With an ACK a packet on both sides:""",
        transport={"ack_every": 1},
        theirs=ACK_EACH,
    ),
    Difference(
        name="pipe",
        peer="ns-2-sack",
        patterns=("early",),
        why="""\
With a window of three packets ns-2's estimate of what is in flight, a counter that only ACKs
lower, sends the next packet a round trip later. Without SACK (`Agent/TCP/Newreno`, `sack_blocks
= 0`):""",
        transport={"sack_blocks": 0},
        theirs=NEWRENO,
    ),
)


@dataclass(frozen=True)
class Open:
    """What is off, and no experiment removes: it stays named until one does."""

    peer: str
    patterns: tuple[str, ...]
    what: str
    """As the page has it."""


OPEN: tuple[Open, ...] = (
    *(
        Open(
            peer=peer,
            patterns=("overflow-reno",),
            what="""\
Where many packets of a window are lost, ns-2 takes longer, the more the longer the list of
losses: nothing with one, 0.7 % with five, 4 % with twenty, 20 % here. Its estimate of what is in
flight, a counter that only ACKs lower, has the lost packets in it; ours (RFC 6675) takes out
what counts as lost. No setting of either undoes that.""",
        )
        for peer in ("ns-2-sack", "ns-2-fulltcp")
    ),
)


def explains(peer: str, pattern: str) -> Difference | None:
    """What is said of a peer's pattern."""
    found = (each for each in DIFFERENCES if each.peer == peer and pattern in each.patterns)
    return next(found, None)


def open_ones(peer: str) -> list[Open]:
    """A peer's."""
    return [each for each in OPEN if each.peer == peer]


def is_open(peer: str, pattern: str) -> bool:
    """Whether a peer's pattern is known to be off, and not explained."""
    return any(pattern in each.patterns for each in open_ones(peer))
