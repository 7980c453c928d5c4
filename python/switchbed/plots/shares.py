"""Throughput of each class over time, as shares of all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.plots.queue import MOST
from switchbed.plots.runs import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a run, with a line a class; what all classes received is above it in words."""
    import polars as pl

    panels = [(line, run) for line in drawn for run in line.runs]
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} runs are too many panels: give at most {MOST}")
    for _, run in panels:
        if run.goodput.is_empty():
            raise Mistake(f"{run}: has no goodput over time; run it with measure.goodput_every")
    times, unit = style.clock(max(float(run.goodput["time_s"][-1]) for _, run in panels))
    made = style.figure(9, 1.2 + 2 * len(panels), title)
    rows = made.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (line, run) in zip(rows, panels, strict=True):
        total = pl.col("goodput_bps").sum().over("time_s")
        shares = run.goodput.with_columns((100 * pl.col("goodput_bps") / total).alias("share"))
        for group in shares.partition_by("class", maintain_order=True):
            number = int(group["class"][0])
            axes.plot(
                group["time_s"] * times,
                group["share"],
                color=style.COLOURS[number % len(style.COLOURS)],
                linestyle=style.DASHES[number % len(style.DASHES)],
                marker=style.MARKERS[number % len(style.MARKERS)],
                markevery=max(1, len(group) // 8),
                markersize=4,
                label=f"class {number}",
            )
        gbps = run.goodput.group_by("time_s").agg(pl.col("goodput_bps").sum())["goodput_bps"]
        mean = gbps.mean()
        all_of_it = f"{mean / 1e9:.3g} Gbps in all" if isinstance(mean, float) else ""
        seed = f", seed {run.seed}" if len(line.runs) > 1 else ""
        axes.set_title(
            f"{style.plain(line.label)}{seed}: {all_of_it}", fontsize="small", loc="left"
        )
        axes.set_ylim(0, 101)
        axes.grid(alpha=0.3)
        axes.margins(x=0)
    rows[-1].set_xlabel(f"time ({unit})")
    made.supylabel("share of goodput (%)", fontsize="medium")
    style.legend_below(made, 8)
    return made
