"""Shared parts of a report's charts: a chart in the form of Plotly.js, and line styles.

A trace's `meta` tells its `line`, which the reader may hide (null: none), and its `view`: what must
be chosen above the chart for it to be seen. `page.js` does both.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from switchbed import comparing
from switchbed.series import places as places_of
from switchbed.series.looks import Style
from switchbed.series.runs import Line, words

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
        """Return the choices above the chart, where there is more than one value."""
        found: dict[str, list[str]] = {}
        for trace in self.traces:
            for key, value in trace["meta"]["view"].items():
                values = found.setdefault(key, [])
                if value not in values:
                    values.append(value)
        return {key: values for key, values in found.items() if len(values) > 1}


def order(place: Any) -> tuple[float, str]:
    """Numbers and quantities by size, words after them by letters."""
    number = places_of.number(place)
    return (math.inf if number is None else number, comparing.text(place))


def at(line: Line, place: Any) -> dict[str, str]:
    """The view of a line's panel, and of a place on the axis."""
    found = {} if line.panel is None else {words(line.panel[0]): comparing.text(line.panel[1])}
    if line.over is not None and place is not None:
        found[words(line.over)] = comparing.text(place)
    return found


def look_of(look: Style) -> Trace:
    """A scheme's look, as in plots."""
    return {
        "line": {"color": look.colour, "dash": DASHES[look.dashes], "width": 2},
        "marker": {"color": look.colour, "symbol": SYMBOLS[look.marker], "size": 8},
    }


def curve(xs: Iterable[float], ys: Iterable[float | None], line: Trace, hover: str) -> Trace:
    """A line; `hover` is what its points say under the pointer after the line's name."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": rounded(xs),
        "y": rounded(ys),
        "line": line,
        "hovertemplate": f"%{{fullData.name}}{hover}<extra></extra>",
    }


def rounded(values: Iterable[float | None]) -> list[Any]:
    """Values in enough digits for an eye, few for the file."""
    return [None if value is None else float(f"{value:.5g}") for value in values]


LEGEND_BELOW = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"}


def layout(xaxis: dict[str, Any], yaxis: dict[str, Any]) -> dict[str, Any]:
    """Axes in the report's plain look."""
    plain = {"automargin": True, "gridcolor": "#e4e4e4", "zerolinecolor": "#bbb"}
    return {
        "showlegend": False,
        "hovermode": "closest",
        "margin": {"l": 48, "r": 12, "t": 28, "b": 44},
        "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "xaxis": plain | xaxis,
        "yaxis": plain | yaxis,
    }
