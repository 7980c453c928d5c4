"""Figures of the summary by line, over load where loads are compared."""

from collections.abc import Sequence
from typing import Any

from switchbed import comparing, stats
from switchbed.report.chart import Chart, Trace, at, layout, look_of
from switchbed.series import comparison
from switchbed.series.comparison import Axis, Curve
from switchbed.series.runs import Line, others


def chart(drawn: Sequence[Line]) -> Chart:
    """Draw the means over seeds."""
    axis = Axis.of_lines(drawn)
    traces: list[Trace] = []
    alone = len(drawn) == 1 and axis is None  # its figures are in the tables
    results = [run for line in drawn for run in line.runs]
    for name, measure in ({} if alone else comparison.measures_of(results)).items():
        curves = comparison.means(
            drawn,
            name,
            measure,
            lambda line, run: line.label if axis is None else axis.at(line.place(run)),
        )
        for line, curve in zip(drawn, curves, strict=True):
            if curve.points:
                titles = [axis.title if axis else "", name.rpartition(": ")[2]]
                view = {"figure": name} | at(line, None)
                meta = {"line": line.label, "view": view, "titles": titles}
                traces.append(
                    {"name": line.label, "meta": meta} | _points(curve, comparison.unit(name))
                )
    level = f"{100 * stats.LEVEL:g} % confidence intervals"
    sentence = comparing.SLOWDOWNS[drawn[0].runs[0].over]
    note = f"Means over seeds, with {level}. {sentence}."
    xaxis: dict[str, Any] = {"type": "category"} | _ticks(drawn)
    if axis is not None:
        xaxis = {"title": {"text": axis.title}}
        if axis.places.names:  # in the order of the runs
            xaxis |= {"type": "category", "categoryarray": list(axis.places.names)}
    return Chart("comparison", "Comparison", note, traces, layout(xaxis, {"rangemode": "tozero"}))


ROOM = 100
"""Characters of labels side by side under a chart."""


def _ticks(drawn: Sequence[Line]) -> dict[str, Any]:
    """Labels of the bars: lines' own, or their values alone where these are too long."""
    labels = list(dict.fromkeys(line.label for line in drawn))
    if sum(map(len, labels)) < ROOM:
        return {}
    first = {line.label: line.runs[0] for line in reversed(drawn)}
    values = [
        [comparing.text(value) for value in others(first[label]).values()] for label in labels
    ]
    short = [", ".join(each) or label for each, label in zip(values, labels, strict=True)]
    return {"tickvals": labels, "ticktext": short, "automargin": True}


def _points(curve: Curve, of: str) -> Trace:
    """A line over numbers, a bar over a name."""
    drawn: Trace = {
        "x": [point.x for point in curve.points],
        "y": curve.estimates,
        "text": [_told(point.value, of) for point in curve.points],
        "hovertemplate": "%{fullData.name}, %{x}: %{text}<extra></extra>",
    }
    if any(point.value.low is not None for point in curve.points):
        below, above = curve.reach
        ends = {"array": above, "arrayminus": below, "symmetric": False}
        drawn["error_y"] = {"type": "data", "thickness": 1} | ends
    if isinstance(curve.points[0].x, str):
        look = {"color": curve.look.colour, "line": {"color": "#000", "width": 0.5}}
        return drawn | {"type": "bar", "marker": look, "textposition": "none"}
    return drawn | {"type": "scatter", "mode": "lines+markers"} | look_of(curve.look)


def _told(mean: stats.Interval, of: str) -> str:
    if mean.low is None or mean.high is None:
        few = f", {stats.FEW} for an interval" if mean.n > 1 else ""
        return f"{mean.estimate:.4g}{of} ({stats.seeds(mean.n)}{few})"
    return f"{mean.estimate:.4g}{of} ({mean.low:.4g}–{mean.high:.4g}, {stats.seeds(mean.n)})"
