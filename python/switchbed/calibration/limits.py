"""Counters of a switch that the simulated switch of its configuration cannot have."""

from collections.abc import Mapping
from typing import Any

from switchbed import quantity
from switchbed.calibration import fit
from switchbed.calibration.counters import Counters
from switchbed.calibration.fit import WATERMARKS, Key
from switchbed.scenario import Scenario

SLACK = 1.05
"""How far over its limit a watermark may be: cells, and packets under way."""


def filled(base: Scenario, queue: int) -> dict[Key, float]:
    """The most that a queue, and its groups, hold while all ports send all they can to one."""
    hosts = fit.ports(base)
    all_to_one = {"kind": "long-lived", "from": f"1-{hosts - 1}", "to": 0, "classes": [queue]}
    if hosts == 2:
        all_to_one["from"] = 1
    full = base.with_(
        {
            "traffic": [all_to_one | {"transport": "udp"}],
            "run.until": "1ms",
            "measure.queues": "all",
        }
    )
    return fit.held(full.run(any_threads=True), hosts)


def contradictions(
    counters: Counters, resolved: Mapping[str, Any], most: Mapping[Key, float]
) -> list[str]:
    """A line for each."""
    lines = []
    pfc = resolved["switch"].get("pfc") or {}
    lossless = set(pfc.get("priorities", ()))
    for kind in WATERMARKS:
        for number in counters.numbers(kind):
            found = counters.most(kind, number)
            limit = most.get((kind, number, "max"))
            if kind != "queue" and number not in lossless:
                # Groups of lossy classes have no account of their own in the simulated switch.
                continue
            if found and limit is not None and found[0] > SLACK * limit:
                lines.append(
                    f"{fit.MEANT[kind]} {number} of {found[1]} held {quantity.kb(found[0])}: "
                    f"the simulated switch lets none hold over {quantity.kb(limit)}"
                )
    lines += _pauses(counters, lossless)
    lines += _marks(counters, resolved)
    for number in counters.numbers("drops"):
        found = counters.most("drops", number)
        if number in lossless and found:
            lines.append(
                f"queue {number} of {found[1]} dropped {found[0]:,} packets: its class is lossless "
                "in the configuration, and the simulated switch drops only beyond its headroom"
            )
    return lines


def _pauses(counters: Counters, lossless: set[int]) -> list[str]:
    lines = []
    for number in counters.numbers("pfc_tx"):
        found = counters.most("pfc_tx", number)
        if found and number not in lossless:
            lines.append(
                f"{found[1]} sent {found[0]:,} pause frames of class {number}: the configuration "
                "has no flow control there"
            )
    known = counters.by_kind["pfc_tx"]
    for (port, number), used in counters.by_kind["headroom"].items():
        sent = known.get((port, number))
        if used and sent == 0:
            lines.append(
                f"group {number} of {port} held {quantity.kb(used)} in its headroom, and sent no "
                "pause frame: a simulated group sends one before"
            )
    return lines


def _marks(counters: Counters, resolved: Mapping[str, Any]) -> list[str]:
    lines = []
    scheme = resolved["scheme"]
    for number in counters.numbers("marked"):
        marked = counters.most("marked", number)
        of = scheme["queues"][number] if number < len(scheme.get("queues", ())) else scheme
        params = of.get("params", {})
        begins = params.get("kmin", params.get("threshold"))
        if marked is None:
            continue
        if of["name"] == "none":
            lines.append(
                f"queue {number} of {marked[1]} marked {marked[0]:,} packets: the configuration "
                "marks nothing there"
            )
        elif isinstance(begins, str):
            longest = counters.by_kind["queue"].get((marked[1], number))
            if longest is not None and longest < (least := quantity.size(begins)):
                lines.append(
                    f"queue {number} of {marked[1]} marked {marked[0]:,} packets, and never held "
                    f"over {quantity.kb(longest)}: marks begin at {quantity.kb(least)}; the "
                    "counters are of other times, or the threshold is not this"
                )
    return lines
