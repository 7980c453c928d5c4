"""Traffic that an imported scenario begins with: enough for `switchbed tune` as it is."""

from collections.abc import Sequence
from typing import Any

from switchbed import library

LOAD = 0.5
FLOWS = 4000
"""More than half of web search's are small: a 99th percentile of five seeds has 100 in its tail."""
SIZES = "web-search"
SENDERS = 8
"""Of an incast's round; so many are left where `topology.hosts` is lowered to nine."""
BUSY = 0.5
"""Part of the time in which some host's line is taken by an incast's round."""


def traffic(
    hosts: Sequence[str], count: int, bps: int, memory: int, queue: int
) -> list[dict[str, Any]]:
    """Entries of `[[traffic]]`: flows among `count` hosts of one rate, in one class, and where
    there are three hosts, incast that fills half of what a queue's packets share. `hosts`: as
    `from` takes them; empty: all."""
    among = {"from": list(hosts), "to": list(hosts)} if hosts else {}
    flows: dict[str, Any] = {"kind": "poisson", "load": LOAD, "flows": FLOWS, **among}
    if queue:
        # A share of 1 for the class, and none for those before it.
        flows |= {"service": "random", "shares": [0] * queue + [1]}
    found = [flows | {"sizes": SIZES}]
    senders = min(SENDERS, count - 1)
    if senders > 1:
        # At least one packet each.
        size = max(1500, memory // 2 // senders)
        every = senders * size * 8 / (BUSY * bps)
        mean = next(each["mean_bytes"] for each in library.sizes() if each["name"] == SIZES)
        # Seconds in which the other flows come.
        lasts = FLOWS * mean * 8 / (LOAD * count * bps)
        found.append(
            {
                "kind": "incast",
                # Each round draws its receiver.
                **({"to": "all"} | among),
                **({"fan_in": senders} if senders < count - 1 else {}),
                "sizes": f"{size}B",
                # By a load, as the end of a run may cut rounds off then.
                "load": float(f"{BUSY / count:.3g}"),
                "rounds": max(1, round(lasts / every)),
                **({"classes": [queue]} if queue else {}),
            }
        )
    return found
