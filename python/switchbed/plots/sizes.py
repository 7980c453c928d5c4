"""Slowdown over flow size, as HPCC's authors draw it (SIGCOMM 2019, figure 11): flows by size in
bins of equal count, percentiles of each bin, a panel a percentile."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from switchbed import comparing
from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.series import runs
from switchbed.series.distribution import sized
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 20
"""At most; fewer where flows are few."""
FEWEST = 20
"""Flows in a bin at least: a 95th percentile of fewer is the slowest."""
PERCENTILES = (50, 95, 99)
MOST = 18
"""Greatest number of panels in one figure."""


def figure(drawn: Sequence[Line], title: str, bins: int = BINS) -> "Figure":
    """A panel for each percentile and value of `panel`; bins are alike for all lines of a panel,
    and stand side by side, each under its largest size. Panels of a percentile have one scale."""
    panels = list(dict.fromkeys(line.panel for line in drawn))
    if len(panels) * len(PERCENTILES) > MOST:
        raise Mistake(f"{len(panels)} values of --panel are too many: at most {MOST // 3}")
    frames = {line: sized(line.runs) for line in drawn}
    if not sum(map(len, frames.values())):
        raise Mistake("no flow has finished: there is no slowdown to draw")
    across = len(PERCENTILES)
    made = style.figure(3.6 * across, 3.0 * len(panels) + 0.5, title)
    grid = made.subplots(len(panels), across, sharey="col", squeeze=False)
    for row, panel in zip(grid, panels, strict=True):
        inside = {line: frame for line, frame in frames.items() if line.panel == panel}
        where = f"{runs.named(*panel)}, " if panel else ""
        edges = edges_of(list(inside.values()), bins)
        for axes, percentile in zip(row, PERCENTILES, strict=True):
            for line, frame in inside.items():
                curve(axes, line.label, line.look, percentiles(frame, edges, percentile))
            finish(axes, edges, f"{where}{percentile}th percentile")
        row[0].set_ylabel(comparing.slowdown(drawn[0].runs[0].over))
    seeds = style.counted(len(line.runs) for line in drawn)
    style.legend_below(made, note=f"flows of {seeds} together")
    return made


def curve(axes: "Axes", label: str, look: style.Style, ys: Sequence[float | None]) -> None:
    """Draws a line of a panel: a value for each bin, `None` where there is no flow."""
    known = [(i, y) for i, y in enumerate(ys) if y is not None]
    style.line(axes, [i for i, _ in known], [y for _, y in known], look, label, 1.2, every=1)


def finish(axes: "Axes", edges: Sequence[int], title: str) -> None:
    """Gives a panel its title and axes."""
    from matplotlib.ticker import LogLocator

    axes.set_title(style.plain(title), fontsize="medium")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    shown = range(len(edges) - 1, -1, -max(1, len(edges) // 5))
    axes.set_xticks(list(shown), [_size(edges[i]) for i in shown])
    axes.set_xlabel("flow size up to (bytes)")
    axes.grid(alpha=0.3)


def edges_of(frames: Sequence[Any], bins: int) -> list[int]:
    """The largest size of each bin, rising: of all lines' flows together."""
    import polars as pl

    sizes = pl.concat([frame["size_bytes"] for frame in frames]).sort()
    least = min(len(frame) for frame in frames)
    count = max(1, min(bins, least // FEWEST))
    largest = [sizes[len(sizes) * (i + 1) // count - 1] for i in range(count)]
    return sorted(set(largest))


def percentiles(frame: Any, edges: Sequence[int], percentile: int) -> list[float | None]:
    """Return the percentile of the slowdowns in each bin; `None` where there is no flow."""
    import polars as pl

    found: list[float | None] = []
    below = -1
    for edge in edges:
        inside = frame.filter(pl.col("size_bytes") > below, pl.col("size_bytes") <= edge)
        found.append(inside["slowdown"].quantile(percentile / 100, "nearest"))
        below = edge
    return found


def _size(count: float) -> str:
    for unit, letter in ((1e6, "M"), (1e3, "K")):
        if count >= unit:
            return f"{count / unit:.3g}{letter}"
    return f"{count:g}"
