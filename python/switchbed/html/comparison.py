"""Figures of the summary by line, over load where loads are compared."""

from collections.abc import Callable, Sequence

from switchbed import stats
from switchbed.html.chart import Chart, Trace, layout, load, look_of
from switchbed.plots.fct import PANELS
from switchbed.plots.runs import Line
from switchbed.result import Result

Measure = Callable[[Result], float | None]


def chart(drawn: Sequence[Line]) -> Chart:
    """Means over seeds."""
    loads = {load(run) for line in drawn for run in line.runs}
    over_load = len(loads) > 1 and None not in loads
    traces: list[Trace] = []
    alone = len(drawn) == 1 and not over_load  # its figures are in the tables
    for name, measure in () if alone else MEASURES.items():
        for line in drawn:
            points = _means(line, measure, over_load)
            if points:
                titles = ["load (%)" if over_load else "", name.rpartition(": ")[2]]
                meta = {"line": line.label, "view": {"figure": name}, "titles": titles}
                traces.append({"name": line.label, "meta": meta} | _points(line, points))
    level = f"{100 * stats.LEVEL:g} % confidence intervals"
    note = f"Means over seeds, with {level}, which may leave the axis where seeds are few."
    named = {"type": "category", "showticklabels": sum(len(line.label) for line in drawn) < 100}
    xaxis = {"title": {"text": "load (%)"}} if over_load else named
    return Chart("comparison", "Comparison", note, traces, layout(xaxis, {"rangemode": "tozero"}))


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
"""Figures of the summary by what they are called."""


def _means(
    line: Line, measure: Measure, over_load: bool
) -> list[tuple[float | str, stats.Interval]]:
    found: dict[float | str, list[float]] = {}
    for run in line.runs:
        value = measure(run)
        if value is not None:
            place = 100 * (load(run) or 0) if over_load else line.label
            found.setdefault(place, []).append(value)
    places = sorted(found, key=lambda place: place if isinstance(place, float) else 0.0)
    return [(place, stats.mean(found[place])) for place in places]


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
        above = [(mean.high or mean.estimate) - mean.estimate for mean in means]
        drawn["error_y"] = {"type": "data", "array": above, "thickness": 1}
    if isinstance(points[0][0], str):
        look = {"color": line.look.colour, "line": {"color": "#000", "width": 0.5}}
        return drawn | {"type": "bar", "marker": look, "textposition": "none"}
    return drawn | {"type": "scatter", "mode": "lines+markers"} | look_of(line.look)


def _told(mean: stats.Interval) -> str:
    if mean.low is None or mean.high is None:
        return f"{mean.estimate:.4g} ({stats.seeds(mean.n)})"
    to = "–" if mean.low >= 0 else " to "
    bounds = f"{mean.low:.4g}{to}{mean.high:.4g}".replace("-", "−")
    return f"{mean.estimate:.4g} ({bounds}, {stats.seeds(mean.n)})"
