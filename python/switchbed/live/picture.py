"""A lab in a figure: simulated and live over each other, a row a combination."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed.live.measured import Measured
from switchbed.live.scale import seconds
from switchbed.plots import style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

SHOWN = 300
"""Samples of the queue: few enough for its swings to be seen."""
LOOKS: dict[str, dict[str, Any]] = {
    "simulated": {"label": "simulated", "color": style.BLACK, "ls": "--", "linewidth": 1},
    "live": {"label": "live", "color": style.BLUE, "ls": "-", "linewidth": 1},
}

Row = tuple[dict[str, Any], dict[str, Any], dict[str, Measured]]
"""A lab's summary, its scenario, and what was measured, by `simulated` and `live`."""


def draw(rows: Sequence[Row], path: Path) -> None:
    """The longest queue over time, and how round-trip or completion times are distributed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.6 + 2.6 * len(rows)), layout="constrained", dpi=150)
    panels = figure.subplots(len(rows), 2, squeeze=False)
    for (found, scenario, both), (left, right) in zip(rows, panels, strict=True):
        name = found["scheme"]
        left.set_title(f"{name}: queue at {found['live']['bottleneck']['port']}", fontsize="medium")
        begin_s = seconds(scenario["measure"]["warmup"])
        end_s = begin_s + SHOWN * seconds(scenario["measure"]["series_every"])
        for which, measured in both.items():
            _queue(left, measured, found["live"]["bottleneck"]["port"], begin_s, end_s, which)
            what = _times(right, measured, which)
        left.set_xlabel("time (ms)")
        left.set_ylabel("bytes")
        left.set_ylim(bottom=0)
        right.set_title(f"{name}: {what}", fontsize="medium")
        right.set_xlabel("ms")
        right.set_ylabel("part of all")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(path, metadata={"Software": None})


def _queue(
    axes: "Axes", measured: Measured, port: str, begin_s: float, end_s: float, which: str
) -> None:
    import polars as pl

    time = pl.col("time_s")
    series = measured.series.filter((pl.col("port") == port) & time.is_between(begin_s, end_s))
    total = series.group_by("time_s").agg(pl.col("bytes").sum()).sort("time_s")
    axes.plot(total["time_s"] * 1e3, total["bytes"], **LOOKS[which])


def _times(axes: "Axes", measured: Measured, which: str) -> str:
    """Draws the distribution of round-trip times, or of completion times without probes; says
    of what."""
    name, times = "round-trip time", measured.pings["rtt_s"]
    if times.is_empty():
        name, times = "flow completion time", _completions(measured)
    ordered = times.sort() * 1e3
    n = len(ordered)
    axes.step(ordered, [(i + 1) / n for i in range(n)], where="post", **LOOKS[which])
    return name


def _completions(measured: Measured) -> "pl.Series":
    return measured.flows.filter(measured.flows["counted"])["fct_s"].drop_nulls()
