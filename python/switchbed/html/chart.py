"""The charts of a report, as Plotly.js takes them.

A trace's `meta` tells its line, which the reader may hide, and its `view`: what must be chosen
above the chart for it to be seen. `page.js` does both.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from switchbed import stats
from switchbed.plots import cdf, queue
from switchbed.plots.fct import PANELS
from switchbed.plots.runs import Line
from switchbed.plots.style import Style
from switchbed.result import Result

Trace = dict[str, Any]

DASHES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "D": "diamond",
    "d": "diamond-tall",
    "P": "cross",
    "X": "x",
    "x": "x-thin-open",
    "h": "hexagon",
    "H": "hexagon2",
    "p": "pentagon",
    "*": "star",
}
"""Matplotlib's markers, as Plotly has them."""
MOST_SAMPLES = 1500
"""Points of a queue's line; of more, each point is the longest of several samples."""
MOST_INSTANTS = 300
"""Places of the time slider."""
BELOW, TAIL = 200, 60
"""Points of a distribution below and above its 99th percentile."""


@dataclass(frozen=True)
class Chart:
    """One chart with what is said above it."""

    name: str
    heading: str
    note: str
    traces: list[Trace]
    layout: dict[str, Any]

    @property
    def choices(self) -> dict[str, list[str]]:
        """What the reader may choose, where there is more than one."""
        found: dict[str, list[str]] = {}
        for trace in self.traces:
            for key, value in trace["meta"]["view"].items():
                values = found.setdefault(key, [])
                if value not in values:
                    values.append(value)
        return {key: values for key, values in found.items() if len(values) > 1}


def charts(drawn: Sequence[Line]) -> list[Chart]:
    """All that the runs have data for."""
    made = [comparison(drawn), distribution(drawn), *queues(drawn)]
    return [chart for chart in made if chart.traces]


def load(run: Result) -> float | None:
    """Its load where loads are compared."""
    settings = run.settings.items()
    return next((float(v) for key, v in settings if key.split(".")[-1] == "load"), None)


def comparison(drawn: Sequence[Line]) -> Chart:
    """Each line's figures, over load where several are compared: means over seeds."""
    loads = {load(run) for line in drawn for run in line.runs}
    over_load = len(loads) > 1 and None not in loads
    traces: list[Trace] = []
    alone = len(drawn) == 1 and not over_load  # its figures are in the tables
    for name, measure in () if alone else MEASURES.items():
        for line in drawn:
            points = _means(line, measure, over_load)
            if points:
                meta = {"line": line.label, "view": {"figure": name}}
                traces.append({"name": line.label, "meta": meta} | _points(line, points))
    level = f"{100 * stats.LEVEL:g} % confidence intervals"
    note = f"Means over seeds, with {level}, which may leave the axis where seeds are few."
    xaxis = {"title": {"text": "load (%)"}} if over_load else {"type": "category"}
    return Chart("comparison", "Comparison", note, traces, _layout(xaxis, {"rangemode": "tozero"}))


def _fct(size_class: str, statistic: str) -> Callable[[Result], float | None]:
    return lambda run: run.summary()["fct"][size_class][statistic]


def _slowdown(size_class: str, statistic: str) -> Callable[[Result], float | None]:
    return lambda run: run.summary()["slowdown"][size_class][statistic.removesuffix("_us")]


def _counter(name: str, scale: float = 1) -> Callable[[Result], float | None]:
    return lambda run: run.summary()[name] / scale


MEASURES: dict[str, Callable[[Result], float | None]] = (
    {f"{title}: FCT (us)": _fct(*statistic) for statistic, title in PANELS.items()}
    | {f"{title}: slowdown": _slowdown(*statistic) for statistic, title in PANELS.items()}
    | {"Goodput (Gbps)": _counter("goodput_bps", 1e9)}
    | {name.capitalize(): _counter(name) for name in ("marks", "drops", "timeouts")}
)
"""Figures of the summary by what they are called."""


def _means(
    line: Line, measure: Callable[[Result], float | None], over_load: bool
) -> list[tuple[float | str, stats.Interval]]:
    found: dict[float | str, list[float]] = {}
    for run in line.runs:
        value = measure(run)
        if value is not None:
            at = 100 * (load(run) or 0) if over_load else line.label
            found.setdefault(at, []).append(value)
    places = sorted(found, key=lambda at: at if isinstance(at, float) else 0.0)
    return [(at, stats.mean(found[at])) for at in places]


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
        drawn["text"] = drawn.pop("text")
        look = {"color": line.look.colour, "line": {"color": "#000", "width": 0.5}}
        return drawn | {"type": "bar", "marker": look, "textposition": "none"}
    return drawn | {"type": "scatter", "mode": "lines+markers"} | look_of(line.look)


def _told(mean: stats.Interval) -> str:
    if mean.low is None or mean.high is None:
        return f"{mean.estimate:.4g} ({stats.seeds(mean.n)})"
    return f"{mean.estimate:.4g} ({mean.low:.4g}–{mean.high:.4g}, {stats.seeds(mean.n)})"


def look_of(look: Style) -> Trace:
    """A scheme's look, as in plots."""
    return {
        "line": {"color": look.colour, "dash": DASHES[look.dashes], "width": 2},
        "marker": {"color": look.colour, "symbol": SYMBOLS[look.marker], "size": 8},
    }


def distribution(drawn: Sequence[Line]) -> Chart:
    """The share of flows that finished within a time, or a slowdown."""
    import polars as pl

    traces: list[Trace] = []
    for value in cdf.VALUES:
        title = "FCT (us)" if value == "fct" else value
        for line in drawn:
            for at in dict.fromkeys(map(load, line.runs)):
                frames = [cdf.flows(run, value) for run in line.runs if load(run) == at]
                flows = pl.concat(frames)
                for name in ("all", "small", "medium", "large"):
                    some = flows if name == "all" else flows.filter(pl.col("size_class") == name)
                    if some.is_empty():
                        continue
                    view = {"value": title, "flows": name} | _at(at)
                    xs, ys = _thinned(some["value"].sort().to_list())
                    traces.append(
                        {"name": line.label, "meta": {"line": line.label, "view": view}}
                        | {"type": "scatter", "mode": "lines", "x": xs, "y": ys}
                        | {"line": look_of(line.look)["line"] | {"shape": "hv"}}
                        | {"hovertemplate": "%{fullData.name}: %{y:.3f} within %{x:.4g}"}
                        | {"hoverlabel": {"namelength": 0}}
                    )
    note = "Share of the finished flows that count; all seeds of a line together."
    xaxis = {"type": "log"}
    return Chart("distribution", "Distribution", note, traces, _layout(xaxis, {"range": [0, 1.01]}))


def _at(at: float | None) -> dict[str, str]:
    return {} if at is None else {"load": f"{at:g}"}


def _thinned(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Points of the distribution of sorted values: all, or some that lie closer in the tail."""
    n = len(values)
    if n <= BELOW + TAIL:
        return [_rounded(v) for v in values], [_rounded((i + 1) / n) for i in range(n)]
    shares = [0.99 * i / BELOW for i in range(BELOW)] + [
        0.99 + 0.01 * i / TAIL for i in range(TAIL + 1)
    ]
    places = sorted({max(0, math.ceil(share * n) - 1) for share in shares})
    return [_rounded(values[i]) for i in places], [_rounded((i + 1) / n) for i in places]


def _rounded(value: float) -> float:
    """Enough digits for an eye, few for the file."""
    return float(f"{value:.5g}")


def queues(drawn: Sequence[Line]) -> list[Chart]:
    """A port's queues over time, and each of them at one instant that a slider chooses."""
    runs = [run for line in drawn for run in line.runs if not run.series.is_empty()]
    ports = {at: queue.busiest(run) for run in reversed(runs) for at in [load(run)]}
    over_time: list[Trace] = []
    instant: list[Trace] = []
    for line in drawn:
        for at, port in sorted(ports.items(), key=lambda item: item[0] or 0):
            found = [run for run in line.runs if load(run) == at and not run.series.is_empty()]
            if found and port in found[0].series["port"]:
                meta = {"line": line.label, "view": _at(at)}
                samples = queue.series(found[0], port, None)
                over_time.append({"name": line.label, "meta": meta} | _over_time(samples, line))
                instant.append(_instant(samples, line, meta))
    named = " and ".join(dict.fromkeys(ports.values()))
    note = (
        f"All queues of port {named} together, the first seed of each line; where samples are "
        f"more than {MOST_SAMPLES:,}, each point is the longest of several."
    )
    kb = {"title": {"text": "KB"}, "rangemode": "tozero"}
    time = {"title": {"text": "time (ms)"}}
    top = max((max(map(max, trace["customdata"])) for trace in instant), default=0)
    fixed = kb | {"range": [0, 1.05 * top or 1]}
    return [
        Chart("queues", "Queue over time", note, over_time, _layout(time, kb)),
        Chart(
            "instant",
            "Queues at one instant",
            "Each queue of the port at the time that the slider shows.",
            instant,
            _layout({"type": "category"}, fixed) | {"barmode": "group"},
        ),
    ]


def _over_time(samples: Any, line: Line) -> Trace:
    import polars as pl

    total = samples.group_by("time_s", maintain_order=True).agg(pl.col("bytes").sum())
    each = -(-len(total) // MOST_SAMPLES)
    total = (
        total.with_row_index()
        .group_by(pl.col("index") // each, maintain_order=True)
        .agg(pl.col("time_s").first(), pl.col("bytes").max())
    )
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [_rounded(t) for t in total["time_s"] * 1e3],
        "y": [_rounded(b) for b in total["bytes"] / 1e3],
        "line": look_of(line.look)["line"] | {"width": 1.2, "shape": "hv"},
        "hovertemplate": "%{fullData.name}: %{y:.4g} KB at %{x:.4g} ms<extra></extra>",
    }


def _instant(samples: Any, line: Line, meta: Trace) -> Trace:
    """A bar a queue; `customdata` has its lengths at each of `meta`'s times."""
    each = samples.partition_by("queue", maintain_order=True)
    step = -(-len(each[0]) // MOST_INSTANTS)
    lengths = [[_rounded(b) for b in frame["bytes"][::step] / 1e3] for frame in each]
    times = [_rounded(t) for t in each[0]["time_s"][::step] * 1e3]
    return {
        "type": "bar",
        "name": line.label,
        "meta": meta | {"times_ms": times},
        "x": [f"queue {frame['queue'][0]}" for frame in each],
        "y": [series[0] for series in lengths],
        "customdata": lengths,
        "marker": {"color": line.look.colour, "line": {"color": "#000", "width": 0.5}},
        "hovertemplate": "%{fullData.name}, %{x}: %{y:.4g} KB<extra></extra>",
    }


def _layout(xaxis: dict[str, Any], yaxis: dict[str, Any]) -> dict[str, Any]:
    plain = {"automargin": True, "gridcolor": "#e4e4e4", "zerolinecolor": "#bbb"}
    return {
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "zoom",
        "margin": {"l": 48, "r": 12, "t": 28, "b": 44},
        "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "xaxis": plain | xaxis,
        "yaxis": plain | yaxis,
    }
