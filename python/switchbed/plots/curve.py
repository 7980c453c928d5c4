"""Any figure over any setting: each setting that was swept is the x axis, a colour, or a panel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed.plots import style
from switchbed.plots.fct import curve, reach
from switchbed.result import Result
from switchbed.series.comparison import Axis, readable
from switchbed.series.curves import Asked, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure(results: Sequence[Result], asked: Asked, title: str) -> "Figure":
    """A panel a metric and a value of `panel`, a line a value of `colour`: mean over seeds with
    95 % intervals, or with `against` the geometric mean of paired ratios."""
    axis, found = panels(results, asked)
    style.fits(len(found), style.MOST_IN_GRID)
    across = style.across(min(len(found), 2 if len(found) in (2, 4) else 3))
    down = -(-len(found) // across)
    made = style.figure(4.5 * across if across > 1 else 6, 3.1 * down + 0.6, title)
    grid = list(made.subplots(down, across, squeeze=False).flat)
    cut = False
    for axes, panel in zip(grid, found, strict=False):
        label, curves = readable(panel.title, panel.curves)
        for i, one in enumerate(curves):
            curve(axes, one, (i, len(curves)), axis.places)
        cut |= reach(axes, curves)
        axes.set_title(style.plain(panel.heading), fontsize="medium")
        axes.set_ylabel(style.plain(label))
        axes.set_xlabel(style.plain(axis.title))
        _ticks(axes, axis)
        axes.grid(alpha=0.3)
    for axes in grid[len(found) :]:
        axes.set_visible(False)
    counts = [at.value.n for panel in found for one in panel.curves for at in one.points]
    mean = "mean" if asked.against is None else "geometric mean over pairs"
    hollow = any(at.untold for panel in found for one in panel.curves for at in one.points)
    style.legend_below(made, note=style.means(counts, mean, hollow=hollow, cut=cut))
    return made


def _ticks(axes: "Axes", axis: Axis) -> None:
    places = axis.places
    if places.names:
        axes.set_xticks(range(len(places.names)), list(map(style.plain, places.names)))
        axes.margins(x=0.1)
    elif len(places.xs) <= 8:
        at = [axis.scale * x for x in places.xs]
        axes.set_xticks(at, [f"{x:g}" for x in at])
