"""The pattern in ns-3."""

import tempfile
from pathlib import Path

from evidence.hosts import packets
from evidence.hosts.patterns import Pattern
from evidence.peers import simulators

MSS = 1448
"""Time stamps are on."""
SENDERS_FIRST, RECEIVERS_FIRST = 2, 1
"""Packets before the first that counts: SYN and the handshake's ACK; the SYN's ACK."""


def run(pattern: Pattern, *settings: str) -> packets.Trace:
    """With ns-3's own defaults, but for the settings."""
    lose = [SENDERS_FIRST + number for number in pattern.lose]
    found = _once(pattern, lose, settings)
    for _ in range(pattern.lose_again):
        if found.again is None:
            raise ValueError(f"{pattern.name}: nothing was sent again")
        lose.append(SENDERS_FIRST + found.again)
        found = _once(pattern, lose, settings)
    return found


def _once(pattern: Pattern, lose: list[int], settings: tuple[str, ...]) -> packets.Trace:
    program = chosen().build("flow")
    with tempfile.TemporaryDirectory() as folder:
        found = simulators.run(
            program,
            f"--segments={pattern.segments}",
            f"--buffer={pattern.buffer}",
            f"--control={pattern.control}",
            f"--rate={pattern.rate}",
            f"--own={pattern.own}".lower(),
            f"--segment={MSS}",
            *_list("lose", lose),
            *_list("lose-acks", [RECEIVERS_FIRST + number for number in pattern.lose_acks]),
            f"--out={folder}/flow",
            *settings,
        )
        ends = [packets.read(Path(folder, f"flow{host}").read_bytes()) for host in (0, 1)]
    return packets.of(ends[0], ends[1], pattern.segments * MSS, MSS, found["timeouts"])


def chosen() -> simulators.Ns3:
    """The wheel, where it is installed: the newer one."""
    return simulators.wheel() or simulators.needed()


def _list(name: str, numbers: list[int]) -> list[str]:
    return [f"--{name}={','.join(map(str, numbers))}"] if numbers else []
