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
    buffer: int | None = None
    """Packets in the bottleneck, on both sides."""


ACK_EACH = ("--del-ack=1",)
CLASSIC = ("--ns3::TcpL4Protocol::RecoveryType=ns3::TcpClassicRecovery",)
BUFFERS = tuple(f"--ns3::TcpSocket::{buffer}BufSize=1000000" for buffer in ("Rcv", "Snd"))
DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        name="receive-window",
        peer="kernel",
        patterns=("answer-tail",),
        why="""\
Each packet that opens the receive window is acknowledged at once (`tcp_grow_window`). Since 6.16,
`tcp_rcvbuf_grow` opens it less far than the profile, which has the rule of 4.10. So the last packet
but one is acknowledged 40 ms later, and the probe for the last one waits as much longer. With a
receive buffer that does not tune itself (`tcp_moderate_rcvbuf = 0`) on both sides:""",
        transport={"receive_window": "90pkt", "initial_receive_window": "90pkt"},
        theirs=("net.ipv4.tcp_moderate_rcvbuf=0",),
    ),
    Difference(
        name="delayed-acks",
        peer="ns-3",
        patterns=("again", "again-reno"),
        why="""\
After the timeout single packets are under way, and ns-3's receiver delays an ACK of one by 200 ms,
which ours does not. With an ACK a packet on both sides:""",
        transport={"ack_every": 1},
        theirs=ACK_EACH,
    ),
    Difference(
        name="prr",
        peer="ns-3",
        patterns=("early",),
        why="""\
ns-3's proportional rate reduction counts a segment twice, by its SACK block and by the duplicate
ACK that brings it (RFC 9937 counts that ACK only without SACK), and so sends more, while too little
is in flight, than what arrives. With a window that comes down at once on both sides:""",
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
    *(
        Difference(
            name="one-more",
            peer=peer,
            patterns=("overflow-reno",),
            why="""\
ns-2 loses one packet more, the last of those that it sends as its recovery ends, and halves the
window a second time. Where the buffer has room for that packet it does not: with 40 packets on
both sides:""",
            buffer=40,
        )
        for peer in ("ns-2-sack", "ns-2-fulltcp")
    ),
)


def explains(peer: str, pattern: str) -> Difference | None:
    """What is said of a peer's pattern."""
    found = (each for each in DIFFERENCES if each.peer == peer and pattern in each.patterns)
    return next(found, None)
