"""FCT against load by size class: relative to the first scheme, as it is, or as slowdown."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from switchbed import comparing
from switchbed.plots import output, style
from switchbed.runner import Outcome
from switchbed.series import comparison, runs
from switchbed.series.comparison import FCT, LOAD, PANELS, SLOWDOWN, Curve
from switchbed.series.places import Places
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Value = Literal["relative", "slowdown", "us"]


def figure(drawn: Sequence[Line], value: Value, title: str) -> "Figure":
    """A panel a statistic, a line a scheme: mean over seeds, with 95 % intervals. One scheme alone
    has nothing to be relative to: its FCTs are drawn."""
    limits = comparison.sizes(run for line in drawn for run in line.runs)
    if value == "relative" and len(drawn) > 1:
        return relative(runs.outcomes(drawn), title, limits)
    if value == "slowdown":
        name = comparing.slowdown(drawn[0].runs[0].over)
        return _draw(comparison.over_load(drawn, SLOWDOWN), name, title, limits=limits)
    return _draw(comparison.over_load(drawn, FCT), FCT, title, limits=limits)


def fct_over_load(outcomes: Sequence[Outcome], title: str, path: Path) -> None:
    """The figure `relative`, written to a file."""
    output.save(relative(outcomes, title), path)


def relative(
    outcomes: Sequence[Outcome], title: str, limits: Mapping[str, str] | None = None
) -> "Figure":
    """FCT of every scheme divided by the first one's, a panel a statistic: geometric mean over
    paired seeds, with bars for the confidence interval."""
    found = comparison.relative(outcomes)
    return _draw(found.panels, f"FCT relative to {found.base}", title, found.base, limits)


def _draw(
    panels: Sequence[Sequence[Curve]],
    quantity: str,
    title: str,
    base: str | None = None,
    limits: Mapping[str, str] | None = None,
) -> "Figure":
    """Panels two by two, or below each other; the curve called `base` stands in the middle."""
    across = style.across(2)
    made = style.figure(4.5 * across, 0.5 + 3 * 4 / across, title)
    grid = made.subplots(4 // across, across).flat
    cut = False
    for axes, heading, given in zip(grid, PANELS.values(), panels, strict=True):
        label, curves = comparison.readable(quantity, given)
        axes.set_title(comparison.headed(heading, limits or {}), fontsize="medium")
        others = [one for one in curves if one.name != base]
        for one in curves:
            curve(axes, one, (0, 1) if one.name == base else (others.index(one), len(others)))
        axes.set_ylabel(style.plain(label))
        axes.set_xlabel(LOAD)
        _finish(axes, sorted({point.x for one in curves for point in one.points}))
        cut |= reach(axes, curves)
    every = [point.value.n for given in panels for one in given for point in one.points]
    # The base over itself is 1 whatever its seeds.
    counts = [n for n in every if n > 1] or every if base else every
    mean = "geometric mean over pairs" if base else "mean"
    hollow = any(point.untold for given in panels for one in given for point in one.points)
    style.legend_below(made, note=style.means(counts, mean, hollow=hollow, cut=cut))
    return made


def reach(axes: "Axes", curves: Sequence[Curve]) -> bool:
    """Intervals of few seeds reach far: the estimates decide what is seen. Returns whether an
    interval leaves the axis, where triangles say so."""
    estimates = [estimate for one in curves for estimate in one.estimates]
    if estimates:
        low, high = min(estimates), max(estimates)
        reach = max(0.05 * high, high - low)
        bottom, top = axes.get_ylim()
        bottom, top = max(0, low - reach, bottom), min(high + reach, top)
        # Estimates within a few percent stand together, not at the axis' ends.
        spare = max(0, 0.05 * high - (top - bottom)) / 2
        axes.set_ylim(max(0, bottom - spare), top + spare)
    axes.ticklabel_format(axis="y", useOffset=False)
    return style.cut(axes)


def curve(axes: "Axes", drawn: Curve, place: tuple[int, int], places: Places | None = None) -> None:
    """Draws a curve; `place`: its number, of so many. Names stand where `places` has them, and no
    line joins them."""
    if not drawn.points:
        return
    named = places is not None and places.names
    xs = [places.at(point.x) if places else point.x for point in drawn.points]
    bars = axes.errorbar(
        xs,
        drawn.estimates,
        yerr=drawn.reach,
        color=drawn.look.colour,
        marker=drawn.look.marker,
        linestyle="none" if named else drawn.look.dashes,
        markersize=5,
        # Without intervals no caps either.
        capsize=3 if any(map(any, drawn.reach)) else 0,
        label=drawn.name,
        transform=_shifted(axes, *place),
    )
    output.count(bars, [point.value.n for point in drawn.points])
    hollow = [(x, at.value.estimate) for x, at in zip(xs, drawn.points, strict=True) if at.untold]
    axes.plot(
        [x for x, _ in hollow],
        [y for _, y in hollow],
        color=drawn.look.colour,
        marker=drawn.look.marker,
        linestyle="none",
        markersize=5,
        markerfacecolor="white",
        zorder=3,
        label="_hollow",
        transform=_shifted(axes, *place),
    )
    # Points drawn aside do not tell the axes their place.
    values = [(point.value.low, point.value.estimate, point.value.high) for point in drawn.points]
    ends = [(x, end) for x, of_it in zip(xs, values, strict=True) for end in of_it]
    axes.update_datalim([(x, end) for x, end in ends if end is not None])
    axes.autoscale_view()


def _shifted(axes: "Axes", number: int, of: int) -> Any:
    """A little to the left or right, so that bars do not hide each other; the data stay what they
    are."""
    from matplotlib.transforms import ScaledTranslation

    canvas = axes.get_figure(root=True)
    assert canvas is not None
    shift = ScaledTranslation((number - (of - 1) / 2) / 36, 0, canvas.dpi_scale_trans)
    return axes.transData + shift


def _finish(axes: "Axes", xs: Sequence[Any]) -> None:
    if not xs:
        axes.text(0.5, 0.5, "no such flows", ha="center", transform=axes.transAxes)
        axes.set_xticks([])
        return
    axes.grid(alpha=0.3)
    axes.set_xticks(xs if len(xs) <= 12 else xs[::2])
    if len(xs) == 1:
        axes.set_xlim(xs[0] - 5, xs[0] + 5)
