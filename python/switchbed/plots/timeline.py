"""Operations of ranks over time: a row a rank, with its messages and calculations as bars."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.series import operations
from switchbed.series.looks import COLOURS
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 100_000
"""Greatest number of operations in a panel."""
LOOKS = {"send": COLOURS[0], "calculate": COLOURS[1]}
RECEIVED = COLOURS[2]
BEGINS: dict[str, Any] = {"color": COLOURS[3], "linewidth": 1, "linestyle": "--"}
ALIKE = 4
"""Panels share their time axis unless the longest lasts over so many times the shortest."""


def figure(
    drawn: Sequence[Line],
    traffic: int | None,
    window_ms: tuple[float, float] | None,
    title: str,
) -> "Figure":
    """A panel a run. Sends are bars from the sending to the last ACK, receives are ticks at the
    arrival of the last byte."""
    panels = [(line, run) for line in drawn for run in line.runs]
    style.fits(len(panels))
    frames = []
    for _, run in panels:
        frames.append(chosen := _chosen(operations.frame(run), traffic, window_ms))
        if chosen.is_empty():
            raise Mistake(f"{run}: has no operations of this traffic and time")
        if len(chosen) > MOST_BARS:
            raise Mistake(f"{run}: {len(chosen)} operations are too many to draw; give --window")
    lasts = [chosen["end_s"].max() - chosen["start_s"].min() for chosen in frames]
    made, rows = style.over_time(
        len(panels),
        title,
        "time (ms)",
        "rank",
        sharex=window_ms is not None or max(lasts) <= ALIKE * min(lasts),
        sharey=False,
    )
    for axes, (line, run), chosen in zip(rows, panels, frames, strict=True):
        _panel(axes, chosen)
        if window_ms is not None:
            axes.set_xlim(*window_ms)
        seed = f", seed {run.seed}" if len(line.runs) > 1 else ""
        axes.set_title(style.plain(f"{line.label}{seed}"), fontsize="small", loc="left")
    style.legend_below(made, 6, style.of_seeds(run for _, run in panels))
    return made


def _chosen(frame: Any, traffic: int | None, window_ms: tuple[float, float] | None) -> Any:
    import polars as pl

    if traffic is not None:
        frame = frame.filter(pl.col("traffic") == traffic)
    if window_ms is not None:
        low, high = (at / 1e3 for at in window_ms)
        frame = frame.filter(pl.col("end_s") >= low, pl.col("start_s") <= high)
    return frame


def _panel(axes: "Axes", frame: Any) -> None:
    import polars as pl

    own = frame.filter(pl.col("kind").is_in(list(LOOKS)), pl.col("end_s") > pl.col("start_s"))
    ranks = own["rank"].to_list()
    starts = [at * 1e3 for at in own["start_s"]]
    ends = [at * 1e3 for at in own["end_s"]]
    lanes = _lanes(ranks, starts, ends)
    rows = zip(own["kind"], ranks, starts, ends, lanes, strict=True)
    for kind, rank, start, end, (lane, count) in rows:
        high = 0.8 / count
        low = rank - 0.4 + lane * high
        axes.broken_barh([(start, end - start)], (low, high * 0.92), color=LOOKS[kind], linewidth=0)
    for kind in own["kind"].unique(maintain_order=True):
        axes.broken_barh([], (0, 0), color=LOOKS[kind], label=kind)
    got = frame.filter(pl.col("kind") == "receive")
    if not got.is_empty():
        times = [at * 1e3 for at in got["end_s"]]
        axes.plot(times, got["rank"], "|", color=RECEIVED, markersize=6, label="receive")
    begins = frame.group_by("traffic", "repetition").agg(pl.col("start_s").min())["start_s"].sort()
    for at in begins[1:]:
        axes.axvline(at * 1e3, **BEGINS)
    if len(begins) > 1:
        axes.plot([], [], label="repetition begins", **BEGINS)
    last = int(frame["rank"].max())
    axes.set_ylim(last + 0.6, -0.6)
    step = max(1, (last + 1) // 16)
    axes.set_yticks(range(0, last + 1, step))


def _lanes(
    ranks: Sequence[int], starts: Sequence[float], ends: Sequence[float]
) -> list[tuple[int, int]]:
    """A lane for each bar of a rank, none of which covers another, and how many the rank has."""
    free: dict[int, list[float]] = {}
    lanes = [0] * len(ranks)
    for i in sorted(range(len(ranks)), key=lambda i: (starts[i], i)):
        busy = free.setdefault(ranks[i], [])
        lane = next((n for n, until in enumerate(busy) if until <= starts[i]), len(busy))
        if lane == len(busy):
            busy.append(ends[i])
        else:
            busy[lane] = ends[i]
        lanes[i] = lane
    return [(lane, len(free[rank])) for lane, rank in zip(lanes, ranks, strict=True)]
