"""A lab in a figure: simulated and live over each other, a row a combination."""

import math
from collections.abc import Callable, Sequence
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

COLORS = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE, style.ORANGE)
"""Colours of entries' goodputs, in order."""

Row = tuple[dict[str, Any], dict[str, Any], dict[str, Measured]]
"""A lab's summary, its scenario, and what was measured, by `simulated` and `live`."""


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw goodput and delay over time where there are endless flows and probes, the longest queue
    over time, and how round-trip or completion times are distributed."""
    from matplotlib.figure import Figure

    lines = [_panels(row) for row in rows]
    tall = sum(map(len, lines))
    figure = Figure(figsize=(9, 0.6 + 2.6 * tall), layout="constrained", dpi=150)
    panels = iter(figure.subplots(tall, 2, squeeze=False))
    for (found, scenario, both), drawn in zip(rows, lines, strict=True):
        for pair in drawn:
            for axes, draw_it in zip(next(panels), pair, strict=True):
                title = draw_it(axes, found, scenario, both)
                axes.set_title(f"{found['scheme']}: {title}", fontsize="medium")
    looks = figure.axes[-1].get_legend_handles_labels()
    figure.legend(*looks, loc="outside lower center", ncols=len(looks[1]), frameon=False)
    figure.savefig(path, metadata={"Software": None})


Panel = Callable[["Axes", dict[str, Any], dict[str, Any], dict[str, Measured]], str]
"""Draws into axes, and returns their title."""


def _panels(row: Row) -> list[tuple[Panel, Panel]]:
    """List the pairs of panels of a lab."""
    over_time = [(_goodputs, _delays)] if _has_times(row[2]) else []
    return [*over_time, (_queues, _distribution)]


def _has_times(both: dict[str, Measured]) -> bool:
    """Whether there are goodput and delay over time."""
    return all(each.goodput is not None and len(each.pings) > 0 for each in both.values())


def _goodputs(
    axes: "Axes", found: dict[str, Any], scenario: dict[str, Any], both: dict[str, Measured]
) -> str:
    import polars as pl

    for which, measured in both.items():
        assert measured.goodput is not None
        groups = _directions(scenario, measured.goodput["traffic"].unique().sort().to_list())
        for color, (name, entries) in zip(COLORS, groups.items(), strict=False):
            of = measured.goodput.filter(pl.col("traffic").is_in(entries))
            total = of.group_by("time_s").agg(pl.col("goodput_bps").sum()).sort("time_s")
            look = LOOKS[which] | {"color": color, "label": name if which == "live" else None}
            axes.plot(total["time_s"], total["goodput_bps"] / 1e6, **look)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("Mbps")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small", loc="lower right")
    return "goodput"


def _directions(scenario: dict[str, Any], entries: Sequence[int]) -> dict[str, list[int]]:
    """Name the entries' flows by transport where there are several, else by their end that all have
    in common."""
    sources = scenario["traffic"]
    named = any("transport" in sources[of] for of in entries)
    groups: dict[str, list[int]] = {}
    for of in entries:
        source = sources[of]
        if named:
            name = source.get("transport", scenario["transport"])["kind"]
        else:
            name = f"to host {source['to']}"
        groups.setdefault(name, []).append(of)
    return groups


def _delays(
    axes: "Axes", found: dict[str, Any], scenario: dict[str, Any], both: dict[str, Measured]
) -> str:
    for which, measured in both.items():
        axes.plot(measured.pings["time_s"], measured.pings["rtt_s"] * 1e3, **LOOKS[which])
    axes.set_xlabel("time (s)")
    axes.set_ylabel("ms")
    axes.set_ylim(bottom=0)
    return "round-trip time of the probes"


def _queues(
    axes: "Axes", found: dict[str, Any], scenario: dict[str, Any], both: dict[str, Measured]
) -> str:
    begin_s = seconds(scenario["measure"]["warmup"])
    end_s = begin_s + SHOWN * seconds(scenario["measure"]["series_every"])
    if _has_times(both):
        # As goodput and delay.
        until = scenario["run"].get("until")
        begin_s, end_s = 0.0, seconds(until) if until else math.inf
    port = found["live"]["bottleneck"]["port"]
    for which, measured in both.items():
        _queue(axes, measured, port, begin_s, end_s, which)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("KB")
    axes.set_ylim(bottom=0)
    return f"queue at {port}"


def _distribution(
    axes: "Axes", found: dict[str, Any], scenario: dict[str, Any], both: dict[str, Measured]
) -> str:
    name = ""
    for which, measured in both.items():
        name = _times(axes, measured, seconds(scenario["measure"]["warmup"]), which)
    axes.set_xlabel("ms")
    axes.set_ylabel("part of all")
    return name


def _queue(
    axes: "Axes", measured: Measured, port: str, begin_s: float, end_s: float, which: str
) -> None:
    import polars as pl

    time = pl.col("time_s")
    series = measured.series.filter((pl.col("port") == port) & time.is_between(begin_s, end_s))
    total = series.group_by("time_s").agg(pl.col("bytes").sum()).sort("time_s")
    axes.plot(total["time_s"], total["bytes"] / 1000, **LOOKS[which])


def _times(axes: "Axes", measured: Measured, warmup_s: float, which: str) -> str:
    """Draws the distribution of round-trip times, or of completion times without probes; says
    of what."""
    since = measured.pings["time_s"] >= warmup_s
    name, times = "round-trip time", measured.pings.filter(since)["rtt_s"]
    if times.is_empty():
        name, times = "flow completion time", _completions(measured)
    ordered = times.sort() * 1e3
    n = len(ordered)
    axes.step(ordered, [(i + 1) / n for i in range(n)], where="post", **LOOKS[which])
    return name


def _completions(measured: Measured) -> "pl.Series":
    return measured.flows.filter(measured.flows["counted"])["fct_s"].drop_nulls()
