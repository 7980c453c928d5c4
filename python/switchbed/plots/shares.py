"""Throughput of each class over time, as shares of all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import runs, style
from switchbed.plots.queue import MOST
from switchbed.plots.runs import Line
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a run, with a line a class; what all classes received is above it in words."""
    import polars as pl

    panels = [(line, run) for line in drawn for run in line.runs]
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} runs are too many panels: give at most {MOST}")
    classes([run for _, run in panels])
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


def together(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a class, and a value of the lines' panels: a line a setting, of each the first
    seed."""
    import polars as pl

    first = [line.runs[0] for line in drawn]
    over = list(dict.fromkeys(line.panel for line in drawn))
    panels = [(panel, number) for panel in over for number in classes(first)]
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} panels are too many: at most {MOST}; choose by --only")
    times, unit = style.clock(max(float(run.goodput["time_s"][-1]) for run in first))
    made = style.figure(9, 1.2 + 2 * len(panels), title)
    rows = made.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (panel, number) in zip(rows, panels, strict=True):
        for line in (line for line in drawn if line.panel == panel):
            total = pl.col("goodput_bps").sum().over("time_s")
            share = (100 * pl.col("goodput_bps") / total).alias("share")
            chosen = line.runs[0].goodput.with_columns(share).filter(pl.col("class") == number)
            look = {"color": line.look.colour, "linestyle": line.look.dashes, "linewidth": 1.2}
            axes.plot(chosen["time_s"] * times, chosen["share"], label=line.label, **look)
        where = f"{runs.named(*panel)}, " if panel else ""
        axes.set_title(style.plain(f"{where}class {number}"), fontsize="small", loc="left")
        axes.set_ylim(0, 101)
        axes.grid(alpha=0.3)
        axes.margins(x=0)
    rows[-1].set_xlabel(f"time ({unit})")
    made.supylabel("share of goodput (%)", fontsize="medium")
    style.legend_below(made)
    return made


def classes(results: Sequence[Result]) -> list[int]:
    """Those that received anything over time, in any run."""
    for run in results:
        if run.goodput.is_empty():
            raise Mistake(f"{run}: has no goodput over time; run it with measure.goodput_every")
    return sorted({int(number) for run in results for number in run.goodput["class"].unique()})


def metrics(results: Sequence[Result]) -> tuple[str, ...]:
    """Of each class its share, for a curve over a setting."""
    return tuple(f"share[class={number}].mean_pct" for number in classes(results))
