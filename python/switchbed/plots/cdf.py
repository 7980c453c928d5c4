"""Distributions of FCT or slowdown by size class, all seeds of a line together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from switchbed import comparing
from switchbed._native import Mistake
from switchbed.plots import runs, style
from switchbed.plots.runs import Line
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Value = Literal["fct", "slowdown"]
MOST = 16
"""Panels in one figure."""
VALUES: tuple[Value, ...] = get_args(Value)


def figure(
    drawn: Sequence[Line], value: Value, title: str, *, complement: bool = False
) -> "Figure":
    """A panel for all flows and one for each size class that has any; the share of flows that
    finished within a time, or as the complement the share that took longer."""
    import polars as pl

    frames = [(line, pl.concat([flows(run, value) for run in line.runs])) for line in drawn]
    together = pl.concat([frame for _, frame in frames])
    if together.is_empty():
        raise Mistake("no flow has finished: there is no distribution to draw")
    present = set(together["size_class"].unique())
    classes = ["all", *(name for name in ("small", "medium", "large") if name in present)]
    panels = [(p, c) for p in dict.fromkeys(line.panel for line in drawn) for c in classes]
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} panels are too many: at most {MOST}; choose by --only")
    across = 1 if len(panels) == 1 else style.across(2)
    down = -(-len(panels) // across)
    made = style.figure(4.5 * across, 3.2 * down + 0.5, title)
    grid = made.subplots(down, across, sharey=True, squeeze=False)
    for axes, (panel, name) in zip(grid.flat, panels, strict=False):
        inside = [(line, frame) for line, frame in frames if line.panel == panel]
        for i, (line, frame) in enumerate(inside):
            chosen = frame if name == "all" else frame.filter(pl.col("size_class") == name)
            phase = i / len(inside)
            _curve(axes, chosen["value"].sort(), line, phase, complement=complement)
        where = f"{runs.named(*panel)}, " if panel else ""
        axes.set_title(style.plain(f"{where}{name} flows"), fontsize="medium")
        over = drawn[0].runs[0].over
        axes.set_xlabel("FCT (us)" if value == "fct" else comparing.slowdown(over))
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
        axes.set_ylabel("share of flows that took longer" if complement else "share of flows")
    style.legend_below(made)
    return made


def _minor(axes: "Axes") -> str:
    """Labels between powers of ten, where there is room: within two decades."""
    low, high = axes.get_xlim()
    return "{x:g}" if high < 8 * low else ""


def flows(run: Result, value: Value) -> Any:
    """Finished flows that count, with their size class."""
    import polars as pl

    small, large = (run.size_bytes("measure", name) for name in ("small", "large"))
    size = pl.col("size_bytes")
    shown = pl.col("fct_s") * 1e6 if value == "fct" else pl.col("slowdown")
    return _counted(run).select(
        shown.alias("value"),
        pl.when(size <= small)
        .then(pl.lit("small"))
        .when(size <= large)
        .then(pl.lit("medium"))
        .otherwise(pl.lit("large"))
        .alias("size_class"),
    )


def sized(run: Result) -> Any:
    """The sizes and slowdowns of finished flows that count."""
    return _counted(run).select("size_bytes", "slowdown")


def _counted(run: Result) -> Any:
    """Finished flows that started after the warm-up."""
    import polars as pl

    return run.flows.filter(
        pl.col("fct_s").is_not_null(),
        pl.col("start_s") >= _seconds(run.scenario["measure"]["warmup"]),
    )


def _seconds(text: str) -> float:
    from switchbed._native import time_ps

    return time_ps(text) / 1e12


def _curve(axes: "Axes", values: Any, line: Line, phase: float, *, complement: bool) -> None:
    n = len(values)
    if not n:
        return
    # Markers tell lines apart in grey: a few on each, not at the same shares.
    shares = [(i + 1) / n for i in range(n)]
    if complement:
        # The slowest flow took longer than all others: 0 has no place on the axis.
        values, shares = values[: n - 1], [1 - share for share in shares[:-1]]
    axes.step(
        values,
        shares,
        where="post",
        color=line.look.colour,
        linestyle=line.look.dashes,
        marker=line.look.marker,
        markevery=(int(phase * n / 5), max(1, n // 5)),
        markersize=4,
        linewidth=1.2,
        label=line.label,
    )
