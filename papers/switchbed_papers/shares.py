"""Pictures of who gets how much: classes' rates over time beside their max-min fair shares."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import _native, runner
from switchbed._native import Plan, Results
from switchbed.meter import Silent
from switchbed.plots import style
from switchbed.runner import Outcome

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

# Okabe and Ito's colours.
COLOURS = (
    style.BLUE,
    style.ORANGE,
    style.GREEN,
    style.PURPLE,
    style.VERMILION,
    style.SKY,
    style.BLACK,
)

PICTURES = {"schemes/afd": "@afd-unequal"}
"""Scenario that each picture of the site is drawn from."""


@dataclass(frozen=True)
class Run:
    """One run's rates and queue."""

    label: str
    rates: "pl.DataFrame"
    """Columns `time_s`, `class`, `goodput_bps`, `fair_bps`."""
    queue: "pl.DataFrame"
    """`time_s`, `bytes` of the first port that is measured."""


def runs(scenario: Path, jobs: int = 1) -> list[Run]:
    """Runs every combination of a scenario, in its order."""
    found: dict[int, Run] = {}

    def keep(_: Plan, results: Results, outcome: Outcome) -> None:
        found[outcome.index] = _run(results, outcome)

    sweep = runner.run_all(_native.plans(scenario), jobs, keep, Silent())
    if sweep.stopped_by is not None:
        raise sweep.stopped_by
    return [run for _, run in sorted(found.items())]


def _run(results: Results, outcome: Outcome) -> Run:
    import polars as pl

    series = pl.DataFrame(results.series)
    queue = series.filter(pl.col("port") == series["port"].first()).select("time_s", "bytes")
    label = ", ".join(str(value) for value in outcome.settings.values()) or outcome.scheme
    return Run(label, pl.DataFrame(results.goodput), queue)


def over_time(scenario: Path, path: Path) -> None:
    """Draws rates on the left and the queue on the right, a row a run; dashed: fair shares."""
    from matplotlib.figure import Figure

    rows = runs(scenario)
    most: float = max(max(run.rates["goodput_bps"].to_list()) for run in rows)
    unit_of = (1e9, "Gbps") if most > 2e9 else (1e6, "Mbps")
    figure = Figure(figsize=(9, 0.8 + 1.9 * len(rows)), layout="constrained", dpi=110)
    figure.suptitle(_title(scenario), fontsize="medium")
    grid = figure.subplots(len(rows), 2, sharex=True, sharey="col", squeeze=False)
    for (left, right), run in zip(grid, rows, strict=True):
        _rates(left, run, unit_of)
        right.plot(run.queue["time_s"], run.queue["bytes"] / 1e3, color="0.3", linewidth=0.6)
        right.set_ylabel("queue (KB)", fontsize="small")
        right.grid(alpha=0.3)
        right.margins(x=0)
    for axes in grid[0]:
        axes.set_ylim(bottom=0)
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
    figure.savefig(path, metadata={"Software": None})


def _rates(axes: "Axes", run: Run, unit_of: tuple[float, str]) -> None:
    import polars as pl

    scale, unit = unit_of
    for i, (_, of) in enumerate(run.rates.group_by("class", maintain_order=True)):
        look = COLOURS[i % len(COLOURS)]
        times = of["time_s"]
        axes.plot(times, of["goodput_bps"] / scale, color=look, linewidth=0.7)
        fair = of.select(pl.when(pl.col("fair_bps") > 0).then(pl.col("fair_bps")))["fair_bps"]
        axes.plot(times, fair / scale, color=look, linewidth=1.2, linestyle="--")
    axes.set_title(run.label, fontsize="small", loc="left")
    axes.set_ylabel(f"rate ({unit})", fontsize="small")
    axes.grid(alpha=0.3)
    axes.margins(x=0)


def _title(scenario: Path) -> str:
    title: str = json.loads(_native.plans(scenario)[0].scenario)["title"]
    return title
