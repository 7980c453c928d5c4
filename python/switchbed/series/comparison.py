"""Estimates over a setting, a curve a line: means over seeds of figures of the summary, and FCTs
over the first scheme's."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from switchbed import comparing, stats
from switchbed._native import Mistake
from switchbed.quantity import kb
from switchbed.result import Result
from switchbed.runner import Outcome
from switchbed.series import looks, runs
from switchbed.series.looks import Style
from switchbed.series.places import Places
from switchbed.series.runs import Line

Measure = Callable[[Result], float | None]

LOAD, FCT, SLOWDOWN = "load (%)", "FCT (µs)", "slowdown"
OVER_IDEAL = "time over the ideal"
"""Titles of the axes and names of the figures."""
PANELS = {
    ("all", "mean_us"): "All flows, average",
    ("small", "mean_us"): "Small flows, average",
    ("small", "p99_us"): "Small flows, 99th percentile",
    ("large", "mean_us"): "Large flows, average",
}


def sizes(found: Iterable[Result]) -> dict[str, str]:
    """Limits of the size classes for headings, such as `up to 100 KB`; none where runs differ."""
    limits = {tuple(run.size_bytes("measure", key) for key in ("small", "large")) for run in found}
    if len(limits) != 1:
        return {}
    small, large = map(kb, limits.pop())
    return {"small": f"up to {small}", "medium": f"{small} to {large}", "large": f"over {large}"}


def headed(heading: str, limits: Mapping[str, str]) -> str:
    """A heading such as `Small flows, average`, with the class's limits behind its name."""
    name = heading.partition(" ")[0].lower()
    return heading.replace("flows", f"flows ({limits[name]})", 1) if name in limits else heading


@dataclass(frozen=True)
class Point:
    x: float | str
    """A number, or the name of what is none."""
    value: stats.Interval

    @property
    def untold(self) -> bool:
        """Whether its seeds are too few for an interval that says how large it is."""
        return self.value.n > 1 and self.value.low is None


@dataclass(frozen=True)
class Curve:
    """A line of a panel."""

    name: str
    look: Style
    points: tuple[Point, ...]
    """Estimates in the order of the x axis."""

    @property
    def estimates(self) -> list[float]:
        """Return the heights of the points."""
        return [point.value.estimate for point in self.points]

    @property
    def reach(self) -> list[list[float]]:
        """How far each interval reaches below and above its estimate; nowhere without one."""
        known = [point.value for point in self.points]
        return [
            [0.0 if i.low is None else i.estimate - i.low for i in known],
            [0.0 if i.high is None else i.high - i.estimate for i in known],
        ]


MANY = 10_000
"""Values from which on an axis has the next unit."""
NEXT = {"µs": ("ms", 1e3), "bytes": ("KB", 1e3), "bit/s": ("Gbps", 1e9), "KB": ("MB", 1e3)}
"""Units, with the next larger one and its size."""


def unit(name: str) -> str:
    """The unit in a figure's name, for what is shown under the pointer."""
    return " " + name.rpartition("(")[2][:-1] if name.endswith(")") else ""


def unit_of(title: str, most: float) -> tuple[str, float]:
    """An axis' title, and the number that its values are divided by: the next larger unit from
    10,000 on, ms in place of µs, and Mbps below 1 Gbps."""
    head, _, unit = title.removesuffix(")").rpartition("(")
    if unit == "Gbps" and 0 < most < 1:
        return f"{head}(Mbps)", 1e-3
    if unit not in NEXT or most < MANY or not title.endswith(")"):
        return title, 1.0
    return f"{head}({NEXT[unit][0]})", NEXT[unit][1]


def readable(title: str, curves: Sequence[Curve]) -> tuple[str, Sequence[Curve]]:
    """A panel's title and curves, in the unit of `unit_of`."""
    most = max((height for one in curves for height in one.estimates), default=0.0)
    title, size = unit_of(title, most)
    if size == 1:
        return title, curves
    return title, [
        replace(one, points=tuple(Point(at.x, _over(at.value, size)) for at in one.points))
        for one in curves
    ]


def _over(value: stats.Interval, size: float) -> stats.Interval:
    low, high = (None if end is None else end / size for end in (value.low, value.high))
    return replace(value, estimate=value.estimate / size, low=low, high=high)


@dataclass(frozen=True)
class Axis:
    """The setting that curves are drawn over."""

    title: str
    places: Places
    scale: float = 1.0

    @classmethod
    def of(cls, key: str, values: Sequence[Any]) -> Self:
        """Make the axis of a setting with these values."""
        places = Places.of(values)
        # Loads are fractions in files and percent on every axis.
        if key.rsplit(".", maxsplit=1)[-1] == "load" and not places.names:
            return cls(LOAD, places, 100)
        return cls(runs.words(key) + (f" ({places.unit})" if places.unit else ""), places)

    @classmethod
    def of_lines(cls, drawn: Sequence[Line]) -> Self | None:
        """Make the axis of the lines; `None` where its values are not compared."""
        over = drawn[0].over
        if over is None:
            return None
        found = cls.of(over, [line.place(run) for line in drawn for run in line.runs])
        # A curve needs two places at least.
        return None if len(found.places.xs) < 2 else found

    def at(self, value: Any) -> float | str:
        """A value's place: a number, or a name."""
        if self.places.names:
            return comparing.text(value)
        return self.scale * self.places.at(value)


def means(
    drawn: Sequence[Line],
    name: str,
    measure: Measure,
    at: Callable[[Line, Result], float | str],
) -> list[Curve]:
    """A curve a line, of the figure called so, whose runs stand where `at` says; without points
    where no run has a value."""
    of = SLOWDOWN if SLOWDOWN in name or name.endswith(OVER_IDEAL) else "fct"
    curves = []
    for line in drawn:
        found: dict[float | str, list[float | None]] = {}
        for run in line.runs:
            found.setdefault(at(line, run), []).append(measure(run))
        # Intervals stay in the figure's range: what is over the ideal is never below 1.
        within = comparing.range_of(of, line.runs[0].over)
        means = {x: comparing.over_seeds(values, within) for x, values in found.items()}
        points = [Point(x, mean) for x, mean in means.items() if mean is not None]
        # The sort is stable: names keep the order of the scenario, numbers are put in theirs.
        points.sort(key=lambda point: 0.0 if isinstance(point.x, str) else point.x)
        curves.append(Curve(line.label, line.look, tuple(points)))
    return curves


def over_load(drawn: Sequence[Line], quantity: str) -> list[list[Curve]]:
    """FCT or slowdown, a list for each of `PANELS`."""
    names = [f"{heading}: {quantity}" for heading in PANELS.values()]
    return [means(drawn, name, MEASURES[name], _percent) for name in names]


def _percent(line: Line, run: Result) -> float:
    return 100 * runs.offered(line, run)


@dataclass(frozen=True)
class Relative:
    """FCT of every scheme over the first one's: geometric means over paired seeds."""

    base: str
    pairs: int
    """Greatest number of seeds behind a pair."""
    panels: list[list[Curve]]
    """A list for each of `PANELS`, the first scheme's 1 before the others."""


def relative(outcomes: Sequence[Outcome]) -> Relative:
    """Of runs that have a load each."""
    ratios = comparing.ratios(outcomes)
    if not ratios:
        raise Mistake("there is nothing to divide by: give two schemes at the same load and seed")
    base, known = ratios[0].to, looks.styles(outcomes)
    panels = []
    for statistic in PANELS:
        # The base comes first, so that it is first in the legend and below the other lines.
        points: dict[str, list[Point]] = {base: []}
        for ratio in ratios:
            if (ratio.size_class, ratio.statistic) == statistic:
                points.setdefault(ratio.scheme, []).append(Point(_load(ratio), ratio.change.drawn))
        loads = sorted({point.x for of_scheme in points.values() for point in of_scheme})
        # The base divided by itself is 1 without an interval.
        points[base] = [Point(load, stats.Interval(1.0, None, None, 1)) for load in loads]
        panels.append(
            [
                Curve(name, known[name], tuple(sorted(of_it, key=lambda point: point.x)))
                for name, of_it in points.items()
            ]
        )
    return Relative(base, max(ratio.pairs for ratio in ratios), panels)


def _load(ratio: comparing.Ratio) -> float:
    return 100 * next(float(v) for key, v in ratio.point if key.split(".")[-1] == "load")


def _of_flows(group: str, size_class: str, statistic: str) -> Measure:
    return lambda run: run.summary()[group][size_class][statistic]


def _counter(name: str, scale: float = 1) -> Measure:
    return lambda run: run.summary()[name] / scale


MEASURES: dict[str, Measure] = (
    {f"{title}: {FCT}": _of_flows("fct", *statistic) for statistic, title in PANELS.items()}
    | {
        f"{title}: {SLOWDOWN}": _of_flows("slowdown", size_class, statistic.removesuffix("_us"))
        for (size_class, statistic), title in PANELS.items()
    }
    | {"Goodput (Gbps)": _counter("goodput_bps", 1e9)}
    | {name.capitalize(): _counter(name) for name in ("marks", "drops", "timeouts")}
)
"""Figures that every summary has by what they are called."""


def measures_of(results: Sequence[Result]) -> dict[str, Measure]:
    """These, completion times of incasts' rounds and of requests with their answers, and times and
    bandwidths of collectives."""
    places = sorted({place for run in results for place in _queries(run)})
    found = {}
    for place in places:
        whose = "Queries" if len(places) == 1 else f"Queries of traffic {place}"
        for statistic, word in (("mean_us", "average"), ("p99_us", "99th percentile")):
            found[f"{whose}, {word}: completion time (µs)"] = _query(place, statistic)
    return _jobs(results) | MEASURES | found


def _jobs(results: Sequence[Result]) -> dict[str, Measure]:
    """Times of collectives and schedules first, since one compares them by that."""
    places = sorted({job["traffic"] for run in results for job in run.summary().get("jobs", ())})
    found: dict[str, Measure] = {}
    for place in places:
        whose = "Job" if len(places) == 1 else f"Job of traffic {place}"
        for field, what, size in (
            ("time_us", "time (µs)", 1.0),
            ("slowdown", OVER_IDEAL, 1.0),
            ("busbw_bps", "bus bandwidth (Gbps)", 1e9),
        ):
            found[f"{whose}: {what}"] = _job(place, field, size)
    return found


def _job(place: int, field: str, size: float) -> Measure:
    def measure(run: Result) -> float | None:
        jobs = (job for job in run.summary().get("jobs", ()) if job["traffic"] == place)
        value = next((job[field] for job in jobs), None)
        return None if value is None else value / size

    return measure


def _query(place: int, statistic: str) -> Measure:
    return lambda run: _queries(run).get(place, {}).get(statistic)


def _queries(run: Result) -> dict[int, dict[str, Any]]:
    sources = run.summary().get("by_traffic", ())
    return {each["traffic"]: each["query"] for each in sources if (each["query"] or {}).get("n")}
