"""Curves over a swept setting, for pages of docs: what each run of a scenario with `[compare]`
came to, against one of the compared keys, a line for each combination of the others."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native, runner
from switchbed._native import Plan, Results
from switchbed.meter import Silent
from switchbed.plots import style
from switchbed.runner import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = (
    (style.BLACK, "o", "-"),
    (style.ORANGE, "s", "--"),
    (style.BLUE, "^", "-"),
    (style.PURPLE, "D", "-."),
)
"""Colour (Okabe and Ito's), marker and dashes of each line."""


@dataclass(frozen=True)
class Curves:
    """A figure."""

    scenario: Path
    key: str
    """The key on the horizontal axis."""
    x: Callable[[str], float]
    """Its place on the axis, from its value as the file writes it."""
    xlabel: str
    panels: Mapping[str, Callable[[Results], float]]
    """What is drawn, by the label of the vertical axis."""


def draw(curves: Curves, path: Path) -> None:
    """Runs the scenario and draws the figure."""
    from matplotlib.figure import Figure

    points: dict[int, tuple[str, float, list[float]]] = {}

    def keep(_: Plan, results: Results, outcome: Outcome) -> None:
        settings = dict(outcome.settings)
        x = curves.x(str(settings.pop(curves.key)))
        line = ", ".join(name(key, value) for key, value in settings.items())
        points[outcome.index] = (line, x, [of(results) for of in curves.panels.values()])

    plans = _native.plans(curves.scenario)
    sweep = runner.run_all(plans, 1, keep, Silent())
    if sweep.stopped_by is not None:
        raise sweep.stopped_by
    found = [points[index] for index in sorted(points)]
    figure = Figure(figsize=(8, 3.4), layout="constrained", dpi=120)
    figure.suptitle(json.loads(plans[0].scenario)["title"], fontsize="medium")
    for i, (axes, label) in enumerate(
        zip(figure.subplots(1, len(curves.panels), squeeze=False)[0], curves.panels, strict=True)
    ):
        _panel(axes, [(line, x, values[i]) for line, x, values in found])
        axes.set_xlabel(curves.xlabel)
        axes.set_ylabel(label)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(path, metadata={"Software": None})


def _panel(axes: "Axes", points: list[tuple[str, float, float]]) -> None:
    names = list(dict.fromkeys(line for line, _, _ in points))
    for name, (colour, marker, dashes) in zip(names, LINES, strict=False):
        line = sorted((x, y) for other, x, y in points if other == name)
        axes.plot(
            [x for x, _ in line],
            [y for _, y in line],
            color=colour,
            marker=marker,
            markersize=4,
            linestyle=dashes,
            linewidth=1.2,
            label=name,
        )
    axes.grid(alpha=0.3)


def name(key: str, value: Any) -> str:
    """A compared setting in a few words."""
    if isinstance(value, bool):
        return f"{key.rsplit('.', maxsplit=1)[-1]} {'on' if value else 'off'}"
    if isinstance(value, list) and key.endswith(".classes"):
        return f"class {', '.join(map(str, value))}"
    return str(value)


def goodput_gbps(results: Results) -> float:
    """Payload received, in Gbps."""
    return float(json.loads(results.summary)["goodput_bps"]) / 1e9


def longest(results: Results) -> float:
    """The longest queue of the measured port, in bytes."""
    return float(json.loads(results.summary)["bottleneck"]["max_bytes"])


def below_threshold(results: Results) -> float:
    """The share of the samples of the run's second half in which the measured queue is shorter
    than its threshold."""
    import polars as pl

    half_s = float(json.loads(results.summary)["simulated_s"]) / 2
    late = pl.DataFrame(results.series).filter(pl.col("time_s") > half_s)
    return int((late["bytes"] < late["threshold_bytes"]).sum()) / late.height
