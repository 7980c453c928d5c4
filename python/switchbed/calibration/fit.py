"""Traffic under which the simulated switch holds as much as the real one was seen to hold."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from switchbed import quantity
from switchbed._native import Mistake
from switchbed.calibration.counters import Counters
from switchbed.result import Result
from switchbed.scenario import Scenario

PACKET = 1500
"""Bytes below which a difference means nothing."""
WATERMARKS = ("queue", "shared", "headroom")
ANSWER = "64KB"
MEANT = {"queue": "queue", "shared": "group", "headroom": "headroom of group"}
OFF = 2.0
"""Factor by which the best fit may be off before that is said."""

Key = tuple[str, int, str]
"""Kind, queue or class, and statistic over ports: `max` or `median`."""


@dataclass(frozen=True)
class Point:
    """A traffic of the grid."""

    load: float
    degree: int


@dataclass(frozen=True)
class Fit:
    """A point with what the simulated switch held, and how far that is from what was seen."""

    point: Point
    held: Mapping[Key, float]
    """Means over seeds, in bytes."""
    distances: Sequence[float]
    """By seed: root mean square of the logarithms of simulated over seen."""
    pauses: Mapping[int, float]
    """Time that ports were held, by class, in seconds."""

    @property
    def distance(self) -> float:
        """Mean over the seeds."""
        return statistics.fmean(self.distances)


def statistics_of(values: Sequence[float]) -> dict[str, float]:
    """Largest and median over ports."""
    return {"max": max(values), "median": statistics.median(values)} if values else {}


def seen(counters: Counters) -> dict[Key, float]:
    """Summarise the switch's watermarks, of queues and classes that held anything."""
    return {
        (kind, number, name): value
        for kind in WATERMARKS
        for number in counters.numbers(kind)
        for name, value in statistics_of(counters.of(kind, number)).items()
    }


def traffic(point: Point, queues: Sequence[int], until_ns: int) -> list[dict[str, Any]]:
    """Background flows at a load, and rounds of senders to one receiver, in these queues."""
    # Equal parts for the watermarked queues, none for the others; the list's place is the class.
    shares = [(queue in queues) / len(queues) for queue in range(max(queues) + 1)]
    entries: list[dict[str, Any]] = []
    if point.load > 0:
        entries.append(
            # More flows than any run's time holds: `run.until` ends it.
            {"kind": "poisson", "load": point.load, "flows": 200_000, "sizes": "web-search"}
            | ({"service": "random", "shares": shares} if len(shares) > 1 else {})
            # Three rounds beside it may be more than a slow port carries meanwhile.
            | {"overload": True}
        )
    if point.degree > 0:
        receiver = point.degree
        entries.append(
            # Hosts below the receiver send, so a degree is a receiver's number.
            {"kind": "incast", "from": f"0-{receiver - 1}" if receiver > 1 else 0, "to": receiver}
            | {"sizes": ANSWER, "rounds": 3, "every": f"{until_ns // 4}ns", "classes": [*queues]}
            | {"overload": True}
        )
    return entries


def ports(base: Scenario) -> int:
    """Ports of the switch: each has a host, where ports differ, too."""
    return base.plans[0].host_count


def grid(
    base: Scenario, points: Sequence[Point], queues: Sequence[int], seeds: int, until_ns: int
) -> Scenario:
    """All runs, a point after the other."""
    hosts = ports(base)
    too_wide = [point.degree for point in points if point.degree >= hosts]
    if too_wide:
        raise Mistake(f"--degrees {too_wide[0]}: the switch has {hosts} ports: at most {hosts - 1}")
    each = [traffic(point, queues, until_ns) for point in points]
    return base.with_(
        {
            "compare": {"traffic": each, "seed": [*range(1, seeds + 1)]},
            "run.until": f"{until_ns}ns",
            "measure.queues": "all",
        }
    )


def held(result: Result, of_ports: int) -> dict[Key, float]:
    """Summarise a run's watermarks over so many ports, as `seen` does those of a real switch."""
    found: dict[tuple[str, int], list[float]] = {}
    queues = result.table("queues")
    for port, queue, most in zip(queues["port"], queues["queue"], queues["max_bytes"], strict=True):
        if ":" in port and queue != "all":  # a switch's, and no host's card
            found.setdefault(("queue", int(queue)), []).append(float(most))
    if "pauses" in result.summary():
        groups = result.table("groups")
        for kind in ("shared", "headroom"):
            for number, most in zip(groups["class"], groups[f"{kind}_max_bytes"], strict=True):
                found.setdefault((kind, number), []).append(float(most))
    # A run's table may lack ports that held nothing, where a switch's table shows 0: medians need
    # both over all ports.
    padded = {
        key: values + [0.0] * (of_ports - len(values))
        for key, values in found.items()
        if any(values)
    }
    return {(*key, name): x for key, v in padded.items() for name, x in statistics_of(v).items()}


def apart(simulated: Mapping[Key, float], watermarks: Mapping[Key, float]) -> float:
    """Root mean square of the logarithms of simulated over seen."""
    ratios = (
        # One packet on either side keeps a simulated 0 finite, and differences below a packet
        # small.
        math.log((simulated.get(key, 0.0) + PACKET) / (value + PACKET))
        for key, value in watermarks.items()
    )
    return math.sqrt(statistics.fmean(ratio**2 for ratio in ratios))


def fits(
    results: Sequence[Result],
    points: Sequence[Point],
    watermarks: Mapping[Key, float],
    of_ports: int,
) -> list[Fit]:
    """Every point, the nearest first."""
    # Results come point by point, all seeds of a point together, as `grid` orders them.
    each = len(results) // len(points)
    found = []
    for place, point in enumerate(points):
        mine = results[place * each : (place + 1) * each]
        holds = [held(result, of_ports) for result in mine]
        keys = {key for one in holds for key in one}
        means = {key: statistics.fmean(one.get(key, 0.0) for one in holds) for key in keys}
        distances = [apart(one, watermarks) for one in holds]
        pauses: dict[int, float] = {}
        for result in mine:
            if "pauses" in result.summary():
                table = result.table("pauses")
                for number, paused in zip(table["class"], table["paused_s"], strict=True):
                    pauses[number] = pauses.get(number, 0.0) + paused
        found.append(Fit(point, means, distances, pauses))
    return sorted(found, key=lambda fit: fit.distance)


def as_good(found: Sequence[Fit]) -> list[Fit]:
    """The points that seeds do not tell from the nearest one."""
    # A point is as good if its nearest seed is within the farthest seed of the best point.
    worst = max(found[0].distances)
    return [fit for fit in found if min(fit.distances) <= worst]


def differences(best: Fit, watermarks: Mapping[Key, float]) -> list[str]:
    """Watermarks that the best fit misses by more than a factor."""
    lines = []
    for (kind, number, name), value in watermarks.items():
        simulated = best.held.get((kind, number, name), 0.0)
        ratio = (simulated + PACKET) / (value + PACKET)
        if not 1 / OFF <= ratio <= OFF:
            word = "over ports the largest" if name == "max" else "over ports the median"
            lines.append(
                f"{MEANT[kind]} {number}: {word} was {quantity.kb(value)}, and is "
                f"{quantity.kb(simulated)} in the best fit"
            )
    return lines
