"""What the charts of a report share: a chart as Plotly.js takes it, and how its lines look.

A trace's `meta` tells its `line`, which the reader may hide (null: none), and its `view`: what must
be chosen above the chart for it to be seen. `page.js` does both.
"""

import math
from dataclasses import dataclass
from typing import Any

from switchbed import comparing
from switchbed.plots import places as places_of
from switchbed.plots.runs import Line
from switchbed.plots.style import Style

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
        """What the reader may choose, where there is more than one."""
        found: dict[str, list[str]] = {}
        for trace in self.traces:
            for key, value in trace["meta"]["view"].items():
                values = found.setdefault(key, [])
                if value not in values:
                    values.append(value)
        return {key: values for key, values in found.items() if len(values) > 1}


def places(line: Line) -> list[Any]:
    """Where its runs stand on the axis, each once."""
    return list(dict.fromkeys(map(line.place, line.runs)))


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


def words(key: str) -> str:
    """A setting in words: `initial window` for transport.initial_window."""
    return key.rsplit(".", maxsplit=1)[-1].replace("_", " ")


def look_of(look: Style) -> Trace:
    """A scheme's look, as in plots."""
    return {
        "line": {"color": look.colour, "dash": DASHES[look.dashes], "width": 2},
        "marker": {"color": look.colour, "symbol": SYMBOLS[look.marker], "size": 8},
    }


def rounded(value: float) -> float:
    """Enough digits for an eye, few for the file."""
    return float(f"{value:.5g}")


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
