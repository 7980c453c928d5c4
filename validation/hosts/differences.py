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


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        name="first-ack",
        peer="ns-3",
        patterns=("tail", "tail-3"),
        why="ns-3's receiver acknowledges the first data packet at once, as the handshake's ACK "
        "counts towards its delayed ones: it acknowledges packets 1, 3, 5, ours 2, 4, 6. Where "
        "what comes before a lost tail is left over, ours waits 200 ms for it, and the timer "
        "begins anew then. With an ACK a packet on both sides:",
        transport={"ack_every": 1},
        theirs=("--del-ack=1",),
    ),
)


def explains(peer: str, pattern: str) -> Difference | None:
    """What is said of a peer's pattern."""
    found = (each for each in DIFFERENCES if each.peer == peer and pattern in each.patterns)
    return next(found, None)
