"""Distributions of FCT or slowdown by size class, all seeds of a line together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.series import comparison, distribution, runs
from switchbed.series.distribution import Distribution, Value
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure(
    drawn: Sequence[Line], value: Value, title: str, *, complement: bool = False
) -> "Figure":
    """A panel for all flows and one for each size class that has any; the share of flows that
    finished within a time, or as the complement the share that took longer."""
    found = [(line, distribution.distributions(line.runs, value)) for line in drawn]
    present = {name for _, of_line in found for name in of_line}
    if not present:
        raise Mistake("no flow has finished: there is no distribution to draw")
    classes = [name for name in distribution.CLASSES if name in present]
    panels = [(p, c) for p in dict.fromkeys(line.panel for line in drawn) for c in classes]
    style.fits(len(panels), style.MOST_IN_GRID)
    across = 1 if len(panels) == 1 else style.across(2)
    down = -(-len(panels) // across)
    made = style.figure(4.5 * across, 3.2 * down + 0.5, title)
    grid = made.subplots(down, across, sharey=True, squeeze=False)
    limits = comparison.sizes(run for line in drawn for run in line.runs)
    for axes, (panel, name) in zip(grid.flat, panels, strict=False):
        inside = [(line, of_line) for line, of_line in found if line.panel == panel]
        for i, (line, of_line) in enumerate(inside):
            if name in of_line:
                some = of_line[name].complement if complement else of_line[name]
                _curve(axes, some, line, i / len(inside))
        where = f"{runs.named(*panel)}, " if panel else ""
        heading = comparison.headed(f"{name} flows", limits)
        axes.set_title(style.plain(f"{where}{heading}"), fontsize="medium")
        axes.set_xlabel(distribution.title(value, drawn))
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(_minor(axes))
        if complement:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.01)
        axes.grid(alpha=0.3)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel(distribution.SHARE + (" that took longer" if complement else ""))
    seeds = style.counted(len(line.runs) for line in drawn)
    style.legend_below(made, note=f"flows of {seeds} together")
    return made


def _minor(axes: "Axes") -> str:
    """Labels between powers of ten, where there is room: within two decades."""
    low, high = axes.get_xlim()
    return "{x:g}" if high < 8 * low else ""


def _curve(axes: "Axes", drawn: Distribution, line: Line, phase: float) -> None:
    n = len(drawn.values)
    axes.step(
        drawn.values,
        drawn.shares,
        where="post",
        color=line.look.colour,
        linestyle=line.look.dashes,
        marker=line.look.marker,
        # Markers tell lines apart in grey: a few on each, not at the same shares.
        markevery=(int(phase * n / 5), max(1, n // 5)),
        markersize=4,
        linewidth=1.2,
        label=line.label,
    )
