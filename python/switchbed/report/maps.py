"""Squares by colour: a figure over two settings of a sweep, and how busy the fabric's ports are."""

from collections.abc import Sequence
from itertools import combinations

from switchbed import comparing
from switchbed.report.chart import Chart, Trace, at, layout, rounded
from switchbed.result import Result
from switchbed.series import maps
from switchbed.series.comparison import measures_of, unit
from switchbed.series.runs import Line


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
                    | {"name": grid.told}
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
