"""The pattern in the simulator."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evidence.hosts import packets
from evidence.hosts.patterns import MTU_BYTES, REQUEST_BYTES, RTT_S, Pattern
from switchbed import _native, toml

SYN = 1
"""Packets of the sender's, and of the receiver's, before the first that counts; of the sender of an
answer one more."""
FAST = "1Gbps"
MSS = MTU_BYTES - 52
"""Of answers: Linux's, with time stamps."""

Keys = Mapping[str, Any]


def run(pattern: Pattern, host: Keys, transport: Keys) -> packets.Trace:
    """Under these keys of `[host]` and `[transport]`."""
    lose = [SYN + number + pattern.answer for number in pattern.lose]
    found = _once(pattern, host, transport, lose)
    for _ in range(pattern.lose_again):
        if found.again is None:
            raise ValueError(f"{pattern.name}: nothing was sent again")
        lose.append(SYN + found.again)
        found = _once(pattern, host, transport, lose)
    return found


def _once(pattern: Pattern, host: Keys, transport: Keys, lose: list[int]) -> packets.Trace:
    with tempfile.TemporaryDirectory() as folder:
        return _in(Path(folder), pattern, host, transport, lose)


def _in(
    folder: Path, pattern: Pattern, host: Keys, transport: Keys, lose: list[int]
) -> packets.Trace:
    file = folder / "pattern.toml"
    file.write_text(toml.document(scenario(pattern, host, transport, lose)))
    (folder / "flow.csv").write_text(f"start_s,src,dst,packets\n0,0,1,{pattern.segments}\n")
    (plan,) = _native.plans(file, (), None)
    mss = _native.size_bytes(json.loads(plan.scenario)["transport"]["mss"])
    results = plan.run(_native.Progress())
    assert results is not None, "nobody cancels it"
    captures = {name: packets.read(pcapng) for name, pcapng, _ in results.captures}
    seen = [captures["host0"], captures["host1"]]
    if pattern.answer:
        seen = [packets.turned(of) for of in reversed(seen)]
    timeouts = json.loads(results.summary)["timeouts"]
    return packets.of(seen[0], seen[1], pattern.segments * mss, mss, timeouts)


_LISTED = {"kind": "list", "file": "flow.csv", "connections": "fresh"}


def _asked(pattern: Pattern) -> dict[str, Any]:
    """One request, which an answer of so many full packets follows."""
    return {
        "kind": "request-response",
        "request": f"{REQUEST_BYTES}B",
        "load": 0.5,
        "flows": 1,
        "sizes": f"{pattern.segments * MSS}B",
        "from": "1",
        "to": "0",
        "connections": "fresh",
    }


def scenario(pattern: Pattern, host: Keys, transport: Keys, lose: list[int]) -> dict[str, Any]:
    """Its file's contents."""
    events: list[dict[str, Any]] = []
    if not pattern.own:
        port = "switch:0" if pattern.answer else "switch:1"
        events.append({"at": "0s", "port": port, "rate": pattern.rate})
    if lose:
        events.append({"at": "0s", "port": "host1" if pattern.answer else "host0", "lose": lose})
    if pattern.lose_acks:
        numbers = [SYN + number for number in pattern.lose_acks]
        events.append({"at": "0s", "port": "host1", "lose": numbers})
    if pattern.mark:
        numbers = [SYN + number for number in pattern.mark]
        events.append({"at": "0s", "port": "host0", "mark": numbers})
    return {
        "topology": {
            "kind": "star",
            "hosts": 2,
            "rate": pattern.rate if pattern.own else FAST,
            "delay": f"{RTT_S / 4:.6f}s",
        },
        "switch": {"buffer": f"{pattern.buffer}pkt"},
        "scheme": {"name": "none"},
        "host": {"mtu": f"{MTU_BYTES}B", "lso": pattern.offload, **host},
        "transport": {"kind": pattern.control, "ecn": pattern.ecn, **transport},
        "traffic": [_asked(pattern) if pattern.answer else _LISTED],
        "event": events,
        "measure": {"fct_end": "received", "capture": ["host0", "host1"]},
        "run": {"until": "60s"},
    }
