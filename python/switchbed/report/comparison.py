"""Figures of the summary by line, over load where loads are compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from switchbed import comparing, stats
from switchbed.plots.fct import PANELS, bars
from switchbed.plots.places import Places
from switchbed.plots.runs import Line
from switchbed.report.chart import Chart, Trace, at, layout, look_of, words
from switchbed.result import Result

Measure = Callable[[Result], float | None]


def chart(drawn: Sequence[Line]) -> Chart:
    """Means over seeds."""
    axis = Axis.of(drawn)
    traces: list[Trace] = []
    alone = len(drawn) == 1 and axis is None  # its figures are in the tables
    measures = {} if alone else measures_of([run for line in drawn for run in line.runs])
    for name, measure in measures.items():
        of = "slowdown" if "slowdown" in name else "fct"
        within = comparing.range_of(of, drawn[0].runs[0].over)
        for line in drawn:
            points = _means(line, measure, axis, within)
            if points:
                titles = [axis.title if axis else "", name.rpartition(": ")[2]]
                view = {"figure": name} | at(line, None)
                meta = {"line": line.label, "view": view, "titles": titles}
                traces.append({"name": line.label, "meta": meta} | _points(line, points))
    level = f"{100 * stats.LEVEL:g} % confidence intervals"
    sentence = comparing.SLOWDOWNS[drawn[0].runs[0].over]
    note = f"Means over seeds, with {level}. {sentence}."
    labels = sum(len(line.label) for line in drawn)
    xaxis: dict[str, Any] = {"type": "category", "showticklabels": labels < 100}
    if axis is not None:
        xaxis = {"title": {"text": axis.title}} | axis.ticks
    return Chart("comparison", "Comparison", note, traces, layout(xaxis, {"rangemode": "tozero"}))


@dataclass(frozen=True)
class Axis:
    """The setting that lines are drawn over."""

    title: str
    scale: float
    places: Places

    @classmethod
    def of(cls, drawn: Sequence[Line]) -> Self | None:
        """That of the lines; `None` where its values are not compared."""
        over = drawn[0].over
        if over is None:
            return None
        found = Places.of([line.place(run) for line in drawn for run in line.runs])
        if len(found.xs) < 2:
            return None
        if over.split(".")[-1] == "load" and not found.names:
            return cls("load (%)", 100, found)
        unit = f" ({found.unit})" if found.unit else ""
        return cls(words(over) + unit, 1, found)

    def at(self, place: Any) -> float | str:
        """A value's place: a number, or a name."""
        if self.places.names:
            return comparing.text(place)
        return self.scale * self.places.at(place)

    @property
    def ticks(self) -> dict[str, Any]:
        """Names stand in the order of the runs."""
        if not self.places.names:
            return {}
        return {"type": "category", "categoryarray": list(self.places.names)}


def _fct(size_class: str, statistic: str) -> Measure:
    return lambda run: run.summary()["fct"][size_class][statistic]


def _slowdown(size_class: str, statistic: str) -> Measure:
    return lambda run: run.summary()["slowdown"][size_class][statistic.removesuffix("_us")]


def _counter(name: str, scale: float = 1) -> Measure:
    return lambda run: run.summary()[name] / scale


MEASURES: dict[str, Measure] = (
    {f"{title}: FCT (us)": _fct(*statistic) for statistic, title in PANELS.items()}
    | {f"{title}: slowdown": _slowdown(*statistic) for statistic, title in PANELS.items()}
    | {"Goodput (Gbps)": _counter("goodput_bps", 1e9)}
    | {name.capitalize(): _counter(name) for name in ("marks", "drops", "timeouts")}
)
"""Figures that every summary has by what they are called."""


def measures_of(results: Sequence[Result]) -> dict[str, Measure]:
    """These, and completion times of incasts' rounds and of requests with their answers."""
    places = sorted({place for run in results for place in _queries(run)})
    found = {}
    for place in places:
        whose = "Queries" if len(places) == 1 else f"Queries of traffic {place}"
        for statistic, word in (("mean_us", "average"), ("p99_us", "99th percentile")):
            found[f"{whose}, {word}: completion time (us)"] = _query(place, statistic)
    return MEASURES | found


def _query(place: int, statistic: str) -> Measure:
    return lambda run: _queries(run).get(place, {}).get(statistic)


def _queries(run: Result) -> dict[int, dict[str, Any]]:
    """By source of traffic."""
    sources = run.summary().get("by_traffic", ())
    return {each["traffic"]: each["query"] for each in sources if (each["query"] or {}).get("n")}


def _means(
    line: Line, measure: Measure, axis: Axis | None, within: stats.Range
) -> list[tuple[float | str, stats.Interval]]:
    found: dict[float | str, list[float]] = {}
    for run in line.runs:
        value = measure(run)
        if value is not None:
            place = line.label if axis is None else axis.at(line.place(run))
            found.setdefault(place, []).append(value)
    places = sorted(found, key=lambda place: place if isinstance(place, float) else 0.0)
    return [(place, stats.mean(found[place], within=within)) for place in places]


def _points(line: Line, points: Sequence[tuple[float | str, stats.Interval]]) -> Trace:
    """A line over numbers, a bar over a name."""
    means = [mean for _, mean in points]
    drawn: Trace = {
        "x": [x for x, _ in points],
        "y": [mean.estimate for mean in means],
        "text": [_told(mean) for mean in means],
        "hovertemplate": "%{fullData.name}, %{x}: %{text}<extra></extra>",
    }
    if any(mean.low is not None for mean in means):
        below, above = bars(means)
        ends = {"array": above, "arrayminus": below, "symmetric": False}
        drawn["error_y"] = {"type": "data", "thickness": 1} | ends
    if isinstance(points[0][0], str):
        look = {"color": line.look.colour, "line": {"color": "#000", "width": 0.5}}
        return drawn | {"type": "bar", "marker": look, "textposition": "none"}
    return drawn | {"type": "scatter", "mode": "lines+markers"} | look_of(line.look)


def _told(mean: stats.Interval) -> str:
    if mean.low is None or mean.high is None:
        return f"{mean.estimate:.4g} ({stats.seeds(mean.n)})"
    return f"{mean.estimate:.4g} ({mean.low:.4g}–{mean.high:.4g}, {stats.seeds(mean.n)})"
