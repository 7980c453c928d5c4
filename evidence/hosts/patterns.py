"""What happens to the one flow: which of its packets are lost or marked, and where it queues."""

from dataclasses import dataclass, replace

MTU_BYTES = 1500
RTT_S = 0.02
"""Of an empty network: fine against the clock of a lab, whose thread wakes some 10 us late."""


@dataclass(frozen=True)
class Pattern:
    """A flow from host 0 to host 1 and what becomes of its packets.

    Data packets are numbered from 1 as the sender sends them; ACKs likewise as the receiver does,
    that of the SYN not counted.
    """

    name: str
    title: str
    segments: int
    """What is to be sent, in full segments."""
    control: str = "cubic"
    lose: tuple[int, ...] = ()
    """Data packets that are lost."""
    lose_again: int = 0
    """How often a retransmission of the first of them is lost too."""
    lose_acks: tuple[int, ...] = ()
    mark: tuple[int, ...] = ()
    """Data packets that are marked; then both ends negotiate ECN."""
    rate: str = "50Mbps"
    """Of the bottleneck."""
    buffer: int = 1000
    """What the bottleneck holds, in packets."""
    own: bool = False
    """The bottleneck is the sender's own line, not the switch's."""
    offload: bool = False
    """The sender hands down segments of many packets."""
    answer: bool = False
    """Host 1 sends the flow, in answer to a request of host 0 that opens the connection."""

    @property
    def ecn(self) -> bool:
        """Whether the ends negotiate it."""
        return bool(self.mark)


REQUEST_BYTES = 100

_BASE = (
    Pattern("slow-start", "no loss", 300),
    Pattern("one", "one packet of a full window is lost", 300, lose=(100,)),
    Pattern("several", "five packets of a window are lost", 300, lose=(100, 101, 104, 110, 120)),
    Pattern("burst", "twenty packets in a row are lost", 300, lose=tuple(range(100, 120))),
    Pattern("early", "the second packet of the first window is lost", 60, lose=(2,)),
    Pattern("tail", "the last packet is lost", 100, lose=(100,)),
    Pattern("tail-3", "the last three packets are lost", 100, lose=(98, 99, 100)),
    Pattern("again", "a packet and its retransmission are lost", 300, lose=(100,), lose_again=1),
    Pattern("acks", "twelve ACKs in a row are lost", 300, lose_acks=tuple(range(20, 32))),
    Pattern("mark", "one packet is marked", 300, mark=(100,)),
    Pattern("overflow", "slow start overruns a buffer of 30 packets", 600, buffer=30),
    Pattern("own-queue", "the sender's own line is the bottleneck", 600, rate="20Mbps", own=True),
)

PATTERNS = (
    *_BASE,
    *(
        replace(each, name=f"{each.name}-reno", control="reno")
        for each in _BASE
        if each.name in ("slow-start", "one", "several", "again", "mark", "overflow")
    ),
    *(
        replace(
            each, name=f"{each.name}-offload", title=f"{each.title}, with offload", offload=True
        )
        for each in _BASE
        if each.name in ("slow-start", "one", "tail", "own-queue")
    ),
    *(
        Pattern(name, title, segments, lose=lose, answer=True)
        for name, title, segments, lose in (
            ("answer", "no loss, in answer to a request", 60, ()),
            ("answer-one", "an answer of one packet, which is lost", 1, (1,)),
            ("answer-twice", "an answer of one packet, lost twice", 1, (1, 2)),
            ("answer-first", "the first window of an answer is lost", 60, tuple(range(1, 11))),
            ("answer-again", "the same, and the probe for it", 60, tuple(range(1, 12))),
            ("answer-head", "the first packet of an answer is lost", 60, (1,)),
            ("answer-tail", "the last packet of an answer is lost", 60, (60,)),
        )
    ),
)


def named(name: str) -> Pattern:
    """The pattern of this name."""
    return next(each for each in PATTERNS if each.name == name)
