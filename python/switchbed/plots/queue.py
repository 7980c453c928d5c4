"""Queue lengths over time, with the thresholds in force and the marks given."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from switchbed._native import Mistake
from switchbed.plots import runs, style
from switchbed.plots.runs import Line
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 8
"""Panels in one figure."""


def figure(
    drawn: Sequence[Line], port: str | None, window_ms: tuple[float, float] | None, title: str
) -> "Figure":
    """A panel a run: each queue of a port, its threshold dashed, and marks as ticks below."""
    panels = [(line, run) for line in drawn for run in line.runs]
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} runs are too many panels: give at most {MOST}")
    chosen = port or busiest(panels[0][1])
    made = style.figure(9, 1.2 + 2 * len(panels), title)
    rows = made.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (line, run) in zip(rows, panels, strict=True):
        _panel(axes, series(run, chosen, window_ms), THRESHOLDS[threshold_is_of(line)])
        seed = f", seed {run.seed}" if len(line.runs) > 1 else ""
        axes.set_title(f"{style.plain(line.label)}{seed}: {chosen}", fontsize="small", loc="left")
    rows[0].set_ylim(bottom=0)
    rows[-1].set_xlabel("time (ms)")
    made.supylabel("queue (KB)", fontsize="medium")
    style.legend_below(made, 6)
    return made


def together(
    drawn: Sequence[Line], port: str | None, window_ms: tuple[float, float] | None, title: str
) -> "Figure":
    """A panel a value of the lines' panels: the queues of a port together, a line a setting, of
    each the first seed."""
    import polars as pl

    panels = list(dict.fromkeys(line.panel for line in drawn))
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} panels are too many: at most {MOST}; choose by --only")
    chosen = port or busiest(drawn[0].runs[0])
    made = style.figure(9, 1.2 + 2 * len(panels), title)
    rows = made.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        for line in (line for line in drawn if line.panel == panel):
            found = series(line.runs[0], chosen, window_ms)
            sums = found.group_by("time_s", maintain_order=True).agg(pl.col("bytes").sum())
            look = {"color": line.look.colour, "linestyle": line.look.dashes, "linewidth": 1}
            axes.plot(sums["time_s"] * 1e3, sums["bytes"] / 1e3, label=line.label, **look)
        where = f"{runs.named(*panel)}: " if panel else ""
        axes.set_title(style.plain(f"{where}{chosen}"), fontsize="small", loc="left")
        axes.grid(alpha=0.3)
        axes.margins(x=0)
    rows[0].set_ylim(bottom=0)
    rows[-1].set_xlabel("time (ms)")
    made.supylabel("queues together (KB)", fontsize="medium")
    style.legend_below(made, 6)
    return made


WIDER = {"per-port": "port", "per-pool": "pool"}
"""Schemes whose threshold is for more than the packet's queue."""


THRESHOLDS = {
    "queue": "threshold",
    "port": "threshold for all queues of the port",
    "pool": "threshold for the switch's memory",
}
"""What they are called, by whose length they are for."""


DOTTED: Any = {"linestyle": ":", "linewidth": 1.2}


def threshold_is_of(line: Line) -> str:
    """Whose length the scheme compares with its threshold: a `queue`'s, the `port`'s, the
    `pool`'s."""
    return WIDER.get(line.scheme, "queue")


def busiest(run: Result) -> str:
    """The sampled port that marked or held most."""
    import polars as pl

    if run.series.is_empty():
        raise Mistake(f"{run}: has no series; run it with measure.series_every")
    by_port = run.series.group_by("port").agg(pl.col("bytes").mean()).sort("bytes", "port")
    return str(by_port["port"][-1])


def series(run: Result, port: str, window_ms: tuple[float, float] | None) -> Any:
    import polars as pl

    if run.series.is_empty():
        raise Mistake(f"{run}: has no series; run it with measure.series_every")
    found = run.series.filter(pl.col("port") == port)
    if found.is_empty():
        ports = ", ".join(run.series["port"].unique().sort())
        raise Mistake(f"--port {port}: is not in the series of {run}, which has {ports}")
    if window_ms is not None:
        low, high = window_ms
        found = found.filter((pl.col("time_s") * 1e3).is_between(low, high))
        if found.is_empty():
            raise Mistake(f"--window {low:g},{high:g}: holds no sample of {run}")
    return found


def _panel(axes: "Axes", series: Any, threshold: str) -> None:
    queues = [q for q in series.partition_by("queue", maintain_order=True) if q["bytes"].max()]
    for queue in queues:
        number = int(queue["queue"][0])
        colour = style.COLOURS[number % len(style.COLOURS)]
        dashes = style.DASHES[number // len(style.COLOURS) % len(style.DASHES)]
        times = queue["time_s"] * 1e3
        axes.plot(
            times,
            queue["bytes"] / 1e3,
            color=colour,
            linestyle=dashes,
            linewidth=1,
            label=f"queue {number}",
        )
        if queue["threshold_bytes"].null_count() < len(queue):
            axes.plot(times, queue["threshold_bytes"] / 1e3, color=colour, **DOTTED)
            axes.plot([], [], color="black", label=threshold, **DOTTED)
    if queues:
        _marks(axes, queues[0])
    axes.grid(alpha=0.3)
    axes.margins(x=0)


def _marks(axes: "Axes", queue: Any) -> None:
    """A tick at the top for each sample since whose predecessor the port has marked packets."""
    fresh = queue["port_marked_packets"].diff().fill_null(0) > 0
    times = (queue["time_s"] * 1e3).filter(fresh)
    axes.plot(
        times,
        [0.97] * len(times),
        "|",
        color=style.VERMILION,
        markersize=6,
        transform=axes.get_xaxis_transform(),
        label="marks",
    )
