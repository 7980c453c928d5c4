"""FCT against load by size class: relative to the first scheme, as it is, or as slowdown."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from switchbed import comparing, stats
from switchbed._native import Mistake
from switchbed.plots import output, runs, style
from switchbed.plots.runs import Line
from switchbed.plots.style import Style
from switchbed.runner import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Value = Literal["relative", "slowdown", "us"]
VALUES: tuple[Value, ...] = get_args(Value)

PANELS = {
    ("all", "mean_us"): "All flows, average",
    ("small", "mean_us"): "Small flows, average",
    ("small", "p99_us"): "Small flows, 99th percentile",
    ("large", "mean_us"): "Large flows, average",
}


def figure(drawn: Sequence[Line], value: Value, title: str) -> "Figure":
    """A panel a statistic, a line a scheme: mean over seeds, with 95 % intervals. One scheme alone
    has nothing to be relative to: its FCTs are drawn."""
    if value == "relative" and len(drawn) > 1:
        return relative(runs.outcomes(drawn), title)
    made, grid = _panels(title)
    over = drawn[0].runs[0].over
    name = "FCT (us)" if value != "slowdown" else comparing.slowdown(over)
    for axes, (statistic, heading) in zip(grid, PANELS.items(), strict=True):
        axes.set_title(heading, fontsize="medium")
        loads: list[float] = []
        seen: list[float] = []
        for i, line in enumerate(drawn):
            points = _points(line, value, *statistic)
            xs = [x for x, _ in points]
            place = (i, len(drawn))
            _line(axes, xs, [y for _, y in points], line.look, line.label, place)
            loads += [x for x, _ in points]
            seen += [y.estimate for _, y in points]
        axes.set_ylabel(name)
        axes.set_xlabel("load (%)")
        _finish(axes, loads)
        reach(axes, seen)
    style.legend_below(made)
    return made


def _panels(title: str) -> "tuple[Figure, list[Axes]]":
    """Two by two, or below each other."""
    across = style.across(2)
    made = style.figure(4.5 * across, 0.5 + 3 * 4 / across, title)
    return made, list(made.subplots(4 // across, across).flat)


def _points(
    line: Line, value: Value, size_class: str, statistic: str
) -> list[tuple[float, stats.Interval]]:
    group, field = ("slowdown", statistic[:-3]) if value == "slowdown" else ("fct", statistic)
    found: dict[float, list[float]] = {}
    for run in line.runs:
        y = run.summary()[group][size_class][field]
        if y is not None:
            found.setdefault(100 * runs.load(run), []).append(y)
    within = comparing.range_of(group, line.runs[0].over)
    return [(load, stats.mean(values, within=within)) for load, values in sorted(found.items())]


def fct_over_load(outcomes: Sequence[Outcome], title: str, path: Path) -> None:
    """The figure `relative`, written to a file."""
    output.save(relative(outcomes, title), path)


def relative(outcomes: Sequence[Outcome], title: str) -> "Figure":
    """FCT of every scheme divided by the first one's, a panel a statistic: geometric mean over
    paired seeds, with bars for the confidence interval."""
    ratios = comparing.ratios(outcomes)
    if not ratios:
        raise Mistake("there is nothing to divide by: give two schemes at the same load and seed")
    pairs = max(ratio.pairs for ratio in ratios)
    spread = (
        f"\ngeometric mean of {pairs} paired seeds, {100 * stats.LEVEL:g} % confidence intervals"
    )
    made, grid = _panels(title + (spread if pairs > 1 else ""))
    base = ratios[0].to
    looks = style.styles(outcomes)
    for axes, (statistic, heading) in zip(grid, PANELS.items(), strict=True):
        axes.set_title(heading, fontsize="medium")
        _panel(axes, base, [r for r in ratios if (r.size_class, r.statistic) == statistic], looks)
        axes.set_ylabel(f"FCT relative to {style.plain(base)}")
        axes.set_xlabel("load (%)")
    style.legend_below(made)
    return made


def _panel(
    axes: "Axes", base: str, ratios: Sequence[comparing.Ratio], looks: dict[str, Style]
) -> None:
    loads = sorted({_load(ratio) for ratio in ratios})
    _line(axes, loads, [stats.Interval(1.0, None, None, 1)] * len(loads), looks[base], base)
    schemes = list(dict.fromkeys(ratio.scheme for ratio in ratios))
    for i, scheme in enumerate(schemes):
        line = sorted((r for r in ratios if r.scheme == scheme), key=_load)
        xs = [_load(ratio) for ratio in line]
        _line(axes, xs, [r.change.ratio for r in line], looks[scheme], scheme, (i, len(schemes)))
    _finish(axes, loads)
    if ratios:
        reach(axes, [r.ratio for r in ratios] + [1.0])


def reach(axes: "Axes", estimates: Sequence[float]) -> None:
    """Intervals of few seeds reach far: the estimates decide what is seen."""
    if estimates:
        low, high = min(estimates), max(estimates)
        reach = max(0.05 * high, high - low)
        bottom, top = axes.get_ylim()
        axes.set_ylim(max(0, low - reach, bottom), min(high + reach, top))


def _line(
    axes: "Axes",
    xs: Sequence[float],
    ys: Sequence[stats.Interval],
    look: Style,
    label: str,
    place: tuple[int, int] = (0, 1),
) -> None:
    """`place`: its number, of so many."""
    if not xs:
        return
    axes.errorbar(
        xs,
        [y.estimate for y in ys],
        yerr=bars(ys),
        color=look.colour,
        marker=look.marker,
        linestyle=look.dashes,
        markersize=5,
        capsize=3,
        label=label,
        transform=aside(axes, *place),
    )
    ends = [(x, end) for x, y in zip(xs, ys, strict=True) for end in (y.low, y.estimate, y.high)]
    told(axes, [(x, end) for x, end in ends if end is not None])


def aside(axes: "Axes", number: int, of: int) -> Any:
    """A little to the left or right, so that bars do not hide each other; the data stay what they
    are."""
    from matplotlib.transforms import ScaledTranslation

    canvas = axes.get_figure(root=True)
    assert canvas is not None
    shift = ScaledTranslation((number - (of - 1) / 2) / 36, 0, canvas.dpi_scale_trans)
    return axes.transData + shift


def told(axes: "Axes", points: Sequence[tuple[float, float]]) -> None:
    """What is drawn aside tells the axes nothing of its place."""
    axes.update_datalim(points)
    axes.autoscale_view()


def _finish(axes: "Axes", loads: Iterable[float]) -> None:
    xs = sorted(set(loads))
    if not xs:
        axes.text(0.5, 0.5, "no such flows", ha="center", transform=axes.transAxes)
        axes.set_xticks([])
        return
    axes.grid(alpha=0.3)
    axes.set_xticks(xs if len(xs) <= 12 else xs[::2])
    if len(xs) == 1:
        axes.set_xlim(xs[0] - 5, xs[0] + 5)


def bars(intervals: Iterable[stats.Interval]) -> list[list[float]]:
    """How far each interval reaches below and above its estimate; nowhere without one."""
    known = list(intervals)
    return [
        [0.0 if i.low is None else i.estimate - i.low for i in known],
        [0.0 if i.high is None else i.high - i.estimate for i in known],
    ]


def _load(ratio: comparing.Ratio) -> float:
    """Offered load in percent."""
    return 100 * next(float(v) for key, v in ratio.point if key.split(".")[-1] == "load")
