"""Bus bandwidth of collectives over their size, as nccl-tests prints it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from switchbed._native import Mistake
from switchbed.plots import output, style
from switchbed.plots.sizes import _size
from switchbed.series import runs
from switchbed.series.operations import Curve, curves
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IDEAL: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 1}


def figure(drawn: Sequence[Line], traffic: int | None, title: str) -> "Figure":
    """A panel a value of `panel`: the mean over seeds with its 95 % interval, and the bandwidth in
    an empty network, dotted."""
    panels = list(dict.fromkeys(line.panel for line in drawn))
    style.fits(len(panels))
    made = style.figure(4.5 * min(2, len(panels)), 3.4 * -(-len(panels) // 2), title)
    grid = made.subplots(-(-len(panels) // 2), min(2, len(panels)), squeeze=False, sharey=True)
    every = list(grid.flat)
    counts: list[int] = []
    for axes, panel in zip(every, panels, strict=False):
        found = [
            (line, curve)
            for line in drawn
            if line.panel == panel
            for curve in curves(line.runs, traffic)
        ]
        counts += [point.gbps.n for _, curve in found for point in curve.points]
        if not found:
            raise Mistake("no collective was completed: there is no bandwidth to draw")
        for line, curve in found:
            several = sum(other is line for other, _ in found) > 1
            _curve(axes, line, curve, several=several)
        if panel is not None:
            axes.set_title(style.plain(runs.named(*panel)), fontsize="medium")
        _finish(axes, found)
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    style.legend_below(made, note=style.means(counts, drawn="shaded"))
    return made


def _curve(axes: "Axes", line: Line, curve: Curve, *, several: bool) -> None:
    label = f"{line.label}, {curve.name}" if several else line.label
    xs = [point.bytes for point in curve.points]
    ys = [point.gbps.estimate for point in curve.points]
    drawn = style.line(axes, xs, ys, line.look, label, 1.2, every=1)
    output.band(drawn, [point.gbps for point in curve.points])
    low = [point.gbps.low for point in curve.points]
    high = [point.gbps.high for point in curve.points]
    if any(one is not None for one in low):
        axes.fill_between(
            xs, style.gaps(low), style.gaps(high), color=line.look.colour, alpha=0.2, linewidth=0
        )
    axes.plot(xs, [point.ideal_gbps for point in curve.points], label="empty network", **IDEAL)


def _finish(axes: "Axes", found: Sequence[tuple[Line, Curve]]) -> None:
    sizes = sorted({point.bytes for _, curve in found for point in curve.points})
    if len(sizes) > 1:
        axes.set_xscale("log")
    shown = sizes[:: max(1, len(sizes) // 6)]
    axes.set_xticks(shown, [_size(size) for size in shown])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("size (bytes)")
    axes.set_ylabel("bus bandwidth (Gbps)")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
