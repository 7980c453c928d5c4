"""What the charts of a report share: a chart as Plotly.js takes it, and how its lines look.

A trace's `meta` tells its `line`, which the reader may hide (null: none), and its `view`: what must
be chosen above the chart for it to be seen. `page.js` does both.
"""

from dataclasses import dataclass
from typing import Any

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


def load(run: Result) -> float | None:
    """Its load where loads are compared."""
    settings = run.settings.items()
    return next((float(v) for key, v in settings if key.split(".")[-1] == "load"), None)


def at(place: float | None) -> dict[str, str]:
    """The view of a load."""
    return {} if place is None else {"load": f"{place:g}"}


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
