"""The pattern in ns-2: Agent/TCP/Sack1, or Agent/TCP/FullTcp/Sack."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from evidence.hosts import packets
from evidence.hosts.packets import Packet
from evidence.hosts.patterns import PATTERNS, Pattern
from evidence.peers import simulators

MSS = 1460
FIRST = {"sack1": 1, "fulltcp": 2}
"""Packets of the sender's before the first that counts: the SYN, and FullTcp's handshake's ACK."""
SYN = 0x02
VERSION = "2.35"
"""Debian's; it does not say itself."""


def takes(pattern: Pattern) -> bool:
    """Reno alone, whose own patterns stand for the others' of their name; no marks, offload or
    answers."""
    others = pattern.control != "reno" and any(
        each.name == f"{pattern.name}-reno" for each in PATTERNS
    )
    return not (others or pattern.mark or pattern.offload or pattern.answer)


def run(kind: str, pattern: Pattern, *settings: str) -> packets.Trace:
    """With these settings, which are Tcl."""
    lose = [FIRST[kind] + number for number in pattern.lose]
    found = _once(kind, pattern, lose, settings)
    for _ in range(pattern.lose_again):
        if found.again is None:
            raise ValueError(f"{pattern.name}: nothing was sent again")
        lose.append(FIRST[kind] + found.again)
        found = _once(kind, pattern, lose, settings)
    return found


def _once(kind: str, pattern: Pattern, lose: list[int], settings: tuple[str, ...]) -> packets.Trace:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "flow.tr")
        found = simulators.run(
            "ns",
            str(simulators.HERE / "ns2" / "flow.tcl"),
            kind,
            str(pattern.segments),
            pattern.rate.removesuffix("ps"),
            str(pattern.buffer),
            str(int(pattern.own)),
            " ".join(map(str, lose)),
            " ".join(str(1 + number) for number in pattern.lose_acks),
            str(out),
            ";".join(settings),
        )
        lines = [line.split() for line in out.read_text().splitlines()]
    sender = list(_seen(lines, kind, sends="0", hears="0"))
    receiver = list(_seen(lines, kind, sends="1", hears="1"))
    return packets.of(sender, receiver, pattern.segments * MSS, MSS, found["timeouts"])


def _seen(lines: list[list[str]], kind: str, sends: str, hears: str) -> Iterator[Packet]:
    """What a host sends, lost or not, and what comes in."""
    for line in lines:
        event, at, source, target = line[:4]
        mine = source == sends and event in "-d"
        if mine or (target == hears and event == "r"):
            yield _packet(kind, float(at), line)


def _packet(kind: str, at: float, line: list[str]) -> Packet:
    size, number = int(line[5]), int(line[10])
    out = line[8] == "0.0"
    if kind == "sack1":
        # Numbers are packets, the SYN's is 0; an ACK has that of the last in order.
        seq, ack = ((number - 1) * MSS, 0) if out else (0, number * MSS)
        length, syn = (MSS if out and number else 0), number == 0
    else:
        seq, ack, length = number - 1, int(line[12]) - 1, size - int(line[14])
        syn = bool(int(line[13], 16) & SYN)
    return Packet(at, out, seq, length, ack, (), syn, ce=False)
