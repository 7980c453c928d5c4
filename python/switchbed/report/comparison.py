"""Figures of the summary: by line, over load where loads are compared, and as squares by colour
over two settings of a sweep. Squares show how busy the fabric's ports are, too."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from switchbed import comparing, stats
from switchbed.report.chart import Chart, Trace, at, layout, look_of, rounded
from switchbed.result import Result
from switchbed.series import comparison, maps
from switchbed.series.comparison import Axis, Curve, measures_of, unit
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
        title, shown = comparison.readable(name, curves)
        where = f"{axis.title} %{{x}}" if axis else "%{x}"
        for line, curve in zip(drawn, shown, strict=True):
            if curve.points:
                titles = [axis.title if axis else "", title.rpartition(": ")[2]]
                view = {"figure": title} | at(line, None)
                meta = {"line": line.label, "view": view, "titles": titles}
                points = _points(curve, comparison.unit(title), where)
                traces.append({"name": line.label, "meta": meta} | points)
    level = f"{100 * stats.LEVEL:g} % confidence intervals"
    sentence = comparing.SLOWDOWNS[drawn[0].runs[0].over]
    note = f"Means over seeds, with {level}. {sentence}."
    xaxis: dict[str, Any] = {"type": "category"} | _ticks(drawn)
    if axis is not None:
        xaxis = {"title": {"text": axis.title}}
        if axis.places.names:  # in the order of the runs
            xaxis |= {"type": "category", "categoryarray": list(axis.places.names)}
    return Chart("comparison", "Comparison", note, traces, layout(xaxis, {"rangemode": "tozero"}))


MOST_LETTERS = 100
"""Characters of labels side by side under a chart."""


def _ticks(drawn: Sequence[Line]) -> dict[str, Any]:
    """Labels of the bars: lines' own, or their values alone where these are too long."""
    labels = list(dict.fromkeys(line.label for line in drawn))
    if sum(map(len, labels)) < MOST_LETTERS:
        return {}
    first = {line.label: line.runs[0] for line in reversed(drawn)}
    values = [
        [comparing.text(value) for value in others(first[label]).values()] for label in labels
    ]
    short = [", ".join(each) or label for each, label in zip(values, labels, strict=True)]
    return {"tickvals": labels, "ticktext": short, "automargin": True}


def _points(curve: Curve, of: str, where: str) -> Trace:
    """A line over numbers, a bar over a name."""
    drawn: Trace = {
        "x": [point.x for point in curve.points],
        "y": curve.estimates,
        "text": [_described(point.value, of) for point in curve.points],
        "hovertemplate": f"%{{fullData.name}}, {where}: %{{text}}<extra></extra>",
    }
    if any(point.value.low is not None for point in curve.points):
        below, above = curve.reach
        ends = {"array": above, "arrayminus": below, "symmetric": False}
        drawn["error_y"] = {"type": "data", "thickness": 1} | ends
    if isinstance(curve.points[0].x, str):
        look = {"color": curve.look.colour, "line": {"color": "#000", "width": 0.5}}
        return drawn | {"type": "bar", "marker": look, "textposition": "none"}
    return drawn | {"type": "scatter", "mode": "lines+markers"} | look_of(curve.look)


def _described(mean: stats.Interval, of: str) -> str:
    if mean.low is None or mean.high is None:
        few = f", {stats.FEW} for an interval" if mean.n > 1 else ""
        return f"{mean.estimate:.4g}{of} ({stats.seeds(mean.n)}{few})"
    return f"{mean.estimate:.4g}{of} ({mean.low:.4g}–{mean.high:.4g}, {stats.seeds(mean.n)})"


def sweep(results: Sequence[Result]) -> Chart:
    """Means over seeds by two settings, where a sweep has two beside scheme and seed."""
    keys = [
        key
        for key in results[0].settings
        if not comparing.is_seed(key) and not comparing.is_scheme(key)
        if len(maps.values(results, key)) > 1
    ]
    traces: list[Trace] = []
    for x, y in combinations(keys, 2):
        for name, measure in measures_of(results).items():
            found = maps.cells(results, measure, x, y)
            low, high = maps.scale(found) or (None, None)
            for cells in found:
                if not cells.known:
                    continue
                value = f"%{{z:.4g}}{unit(name)}"
                view = {"figure": name, "settings": f"{x}, {y}", "of": cells.name}
                traces.append(
                    {"type": "heatmap", "meta": {"line": None, "view": view, "titles": [x, y]}}
                    | {"x": list(cells.xs), "y": list(cells.ys)}
                    | {"z": list(map(rounded, cells.rows)), "zmin": low, "zmax": high}
                    | _look("%{z:.4g}")
                    | {"hovertemplate": f"{x} %{{x}}, {y} %{{y}}: {value}<extra></extra>"}
                )
    note = "Means over seeds; one scale for all that can be chosen of a figure."
    axis = {"type": "category", "title": {"standoff": 10}}
    made = layout(axis, axis)
    return Chart("heatmap", "Heat map of the sweep", note, traces, made)


def fabric(drawn: Sequence[Line]) -> Chart:
    """How busy each switch port was, a row a switch, of one kind of switch at a time."""
    traces: list[Trace] = []
    for line in drawn:
        for place, runs in line.by_place:
            for grid in maps.grids(runs):
                view = {"line": line.label} | at(line, place) | {"switches": grid.kind}
                traces.append(
                    {"type": "heatmap", "meta": {"line": None, "view": view}}
                    | {"x": list(grid.ports), "y": list(grid.used)}
                    | {"z": list(map(rounded, grid.rows))}
                    | {"zmin": 0, "zmax": 100}
                    | _look("%{z:.0f}" if len(grid.ports) <= 12 else "")
                    | {"hovertemplate": "%{y} to %{x}: %{z:.4g} %<extra></extra>"}
                    | {"name": grid.described}
                )
    note = (
        "Percent of the time since the warm-up, while its link was up, that each switch port sent; "
        "its seeds averaged."
    )
    yaxis = {"type": "category", "autorange": "reversed", "title": {"text": "switch"}}
    xaxis = {"type": "category", "title": {"text": maps.PORT}}
    made = layout(xaxis, yaxis)
    return Chart("utilisation", "The fabric's utilisation", note, traces, made)


def _look(text: str) -> Trace:
    return {
        "colorscale": "Cividis",
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "texttemplate": text,
        "colorbar": {"thickness": 12, "outlinewidth": 0},
    }
