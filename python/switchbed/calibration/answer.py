"""Which traffic of a grid fits a switch's counters, and what contradicts the simulated switch."""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed import foreign, quantity
from switchbed._native import Mistake
from switchbed.calibration import fit, limits
from switchbed.calibration.counters import Counters, read
from switchbed.calibration.fit import Fit, Point
from switchbed.scenario import Scenario
from switchbed.sonic import importing
from switchbed.terminal import say

SHOWN = 5
"""Points that are printed."""


@dataclass(frozen=True)
class Answer:
    """Points, the nearest first, and what contradicts the simulated switch."""

    found: Sequence[Fit]
    against: Sequence[str]

    def described(self) -> dict[str, Any]:
        """All of it, for programs."""
        rows = [
            {"load": fit.point.load, "degree": fit.point.degree, "distance": fit.distance}
            for fit in self.found
        ]
        good = [[of.point.load, of.point.degree] for of in fit.as_good(self.found)]
        return {"points": rows, "as_good": good, "contradictions": list(self.against)}

    def show(self) -> None:
        """The same for people."""
        good = fit.as_good(self.found)
        loads = sorted({of.point.load for of in good})
        degrees = sorted({of.point.degree for of in good})
        best = self.found[0].point
        say(f"nearest: load {best.load:g}, incast degree {best.degree}")
        if len(good) > 1:
            say(
                f"seeds do not tell it from {len(good) - 1} other points: loads {loads[0]:g} to "
                f"{loads[-1]:g}, degrees {degrees[0]} to {degrees[-1]}"
            )
        say("  load  degree  typical factor between simulated and seen")
        for each in self.found[:SHOWN]:
            # Distances are of logarithms, so their exponential is a factor.
            factor = math.exp(each.distance)
            say(f"  {each.point.load:4g}  {each.point.degree:6}  {factor:.3g}")
        for line in self.against:
            say(f"contradicts: {line}")
        if not self.against:
            say("no counter contradicts the simulated switch")


def _base(config: Path, ports: Sequence[str], folder: str) -> tuple[Scenario, list[str] | None]:
    """A scenario of the configuration, and its ports' names where it has any."""
    if str(config).startswith("@") or config.suffix == ".toml":
        return Scenario.from_file(config), None
    given = foreign.read(config)
    if not isinstance(given, dict):
        raise Mistake(f"{config}: is no config_db.json: an object of tables is needed")
    found = importing.load(given, str(config), ports)
    for name, text in found.files.items():
        (Path(folder) / name).write_text(text, "utf-8")
    # Beside its file of links, which the scenario names without a folder.
    file = Path(folder) / "imported.toml"
    file.write_text(found.text, "utf-8")
    return Scenario.from_file(file), list(given.get("PORT", {}))


def _list(option: str, text: str, low: float, high: float) -> list[float]:
    """Numbers between commas, each once."""
    values = []
    for word in text.split(","):
        try:
            value = foreign.real(word.strip())
        except ValueError as error:
            raise Mistake(f"{option} {foreign.name(text)}: {error}") from error
        if not low <= value <= high:
            raise Mistake(f"{option} {foreign.name(text)}: from {low:g} to {high:g} each")
        values.append(value)
    # A value that is typed twice would run twice.
    return list(dict.fromkeys(values))


def _points(loads: str, degrees: str) -> list[Point]:
    whole = _list("--degrees", degrees, 0, 4096)
    if any(degree != int(degree) for degree in whole):
        raise Mistake(f"--degrees {foreign.name(degrees)}: whole numbers of senders")
    points = [
        Point(load, int(degree)) for load in _list("--loads", loads, 0, 0.99) for degree in whole
    ]
    # Without load and incast there is no traffic to simulate.
    points = [point for point in points if point.load or point.degree]
    if not points:
        raise Mistake("--loads, --degrees: no traffic is left: a load or a degree over 0 is needed")
    return points


def _together(paths: Sequence[Path], ports: list[str] | None) -> Counters:
    """The counters of several files, each kind in one of them."""
    found: dict[str, Any] = {}
    for path in paths:
        for kind, values in read(path, ports).by_kind.items():
            # Two snapshots of a kind are of different times and cannot be joined.
            if values and found.get(kind):
                raise Mistake(f"{path}: an earlier file has {kind} already: one snapshot is needed")
            found[kind] = values or found.get(kind, {})
    return Counters(found)


def answer(
    config: Path,
    paths: Sequence[Path],
    ports: Sequence[str],
    grid: tuple[str, str, str],
    seeds: int,
    jobs: int | None,
) -> Answer:
    """`grid`: loads, degrees and the simulated time, as they are typed."""
    loads, degrees, time = grid
    points = _points(loads, degrees)
    try:
        until_ns = round(quantity.time(time) * 1e9)
    except Mistake as mistake:
        raise Mistake(f"--time {foreign.name(time)}: {mistake}") from mistake
    if not 10_000 <= until_ns <= 10**9:
        raise Mistake(f"--time {foreign.name(time)}: from 10us to 1s")
    with tempfile.TemporaryDirectory() as folder:
        base, names = _base(config, ports, folder)
        counters = _together(paths, names)
        watermarks = fit.seen(counters)
        resolved = base.resolved
        # Watermarks of groups say which classes came in, where those of queues were not taken.
        queues = counters.numbers("queue") or counters.numbers("shared", "headroom")
        if not queues:
            raise Mistake(f"{paths[0]}: every watermark is 0: there is nothing to fit")
        if resolved["topology"]["kind"] not in ("star", "file"):
            raise Mistake(f"{config}: topology.kind: a star is needed, which is one switch")
        if max(queues) >= resolved["switch"]["queues"]:
            raise Mistake(
                f"{paths[0]}: queue {max(queues)} held packets: {config} has "
                f"{resolved['switch']['queues']} queues"
            )
        runs = fit.grid(base, points, queues, seeds, until_ns).run_all(jobs)
        found = fit.fits(runs, points, watermarks, fit.ports(base))
        most: dict[fit.Key, float] = {}
        # Each queue is filled alone: together they would share the memory, and a lone one may hold
        # more.
        for queue in queues:
            most |= limits.filled(base, queue)
        against = limits.contradictions(counters, resolved, most)
    against += fit.differences(found[0], watermarks)
    return Answer(found, against)
