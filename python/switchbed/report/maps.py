"""Squares by colour: a figure over two settings of a sweep, and how busy the fabric's ports are."""

from collections.abc import Sequence
from itertools import combinations

from switchbed import comparing
from switchbed.plots import heatmap, utilisation
from switchbed.plots.runs import Line
from switchbed.report.chart import Chart, Trace, at, layout, places, rounded
from switchbed.report.comparison import measures_of
from switchbed.result import Result


def sweep(results: Sequence[Result]) -> Chart:
    """Means over seeds by two settings, where a sweep has two beside scheme and seed."""
    keys = [
        key
        for key in results[0].settings
        if not comparing.is_seed(key) and not comparing.is_scheme(key)
        if len(heatmap.values(results, key)) > 1
    ]
    traces: list[Trace] = []
    for x, y in combinations(keys, 2):
        panels = heatmap.panels(results, x, y)
        xs, ys = (heatmap.values(results, key) for key in (x, y))
        for name, measure in measures_of(results).items():
            cells = {panel: heatmap.cells(seeds, measure, x, y) for panel, seeds in panels.items()}
            known = [value for found in cells.values() for value in found.values()]
            for panel, found in cells.items():
                if not found:
                    continue
                view = {"figure": name, "settings": f"{x}, {y}", "of": panel}
                grid = [[_rounded(found.get((a, b))) for a in xs] for b in ys]
                traces.append(
                    {"type": "heatmap", "meta": {"line": None, "view": view, "titles": [x, y]}}
                    | {"x": xs, "y": ys, "z": grid, "zmin": min(known), "zmax": max(known)}
                    | _look("%{z:.4g}")
                    | {"hovertemplate": f"{x} %{{x}}, {y} %{{y}}: %{{z:.4g}}<extra></extra>"}
                )
    note = "Means over seeds; one scale for all that can be chosen of a figure."
    axis = {"type": "category", "title": {"standoff": 10}}
    made = layout(axis, axis)
    return Chart("heatmap", "Heat map of the sweep", note, traces, made)


def fabric(drawn: Sequence[Line]) -> Chart:
    """How busy each switch port was, a row a switch, of one kind of switch at a time."""
    traces: list[Trace] = []
    for line in drawn:
        for place in places(line):
            chosen = [run for run in line.runs if line.place(run) == place]
            for grid in utilisation.grids(chosen):
                across = len(grid.ports)
                rows = [
                    [*map(rounded, row), *[None] * (across - len(row))]
                    for row in grid.used.values()
                ]
                used = [value for row in grid.used.values() for value in row]
                view = {"line": line.label} | at(line, place) | {"switches": grid.kind}
                traces.append(
                    {"type": "heatmap", "meta": {"line": None, "view": view}}
                    | {"x": list(grid.ports), "y": list(grid.used), "z": rows}
                    | {"zmin": 0, "zmax": 100}
                    | _look("%{z:.0f}" if across <= 12 else "")
                    | {"hovertemplate": "%{y} to %{x}: %{z:.4g} %<extra></extra>"}
                    | {"name": f"mean {sum(used) / len(used):.1f} %, busiest {max(used):.1f} %"}
                )
    note = "Percent of the whole run that each switch port sent, its seeds averaged."
    yaxis = {"type": "category", "autorange": "reversed", "title": {"text": "switch"}}
    xaxis = {"type": "category", "title": {"text": "port, by what is at its other end"}}
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


def _rounded(value: float | None) -> float | None:
    return None if value is None else rounded(value)
