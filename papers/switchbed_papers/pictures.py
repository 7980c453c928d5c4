"""Pictures for pages about schemes, buffers and PFC, each of a short scenario that compares
schemes and measures one port.

`draw`: the queues of one port over time, a panel a run, with the scheme's threshold if it has one.
`over_time`: classes' rates over time beside their max-min fair shares, and the queue.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native, library, runner
from switchbed._native import Plan, Results
from switchbed.plots import style
from switchbed.progress_bar import Silent
from switchbed.runner import Outcome

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes


PICTURES: dict[str, tuple[str, ...]] = {
    "schemes/buffers": ("@buffers-sharing",),
    "schemes/cedm": ("@cedm-bursts",),
    "schemes/codel": ("@aqm-joining",),
    "schemes/cqrd": ("@cqrd-fig2", "run.until=5.5ms", "measure.series_every=1us"),
    "schemes/dualpi2": ("@l4s-joining",),
    "schemes/e-ecn": ("@e-ecn-joining",),
    "schemes/pmsb": ("@aqm-two-queues",),
    "schemes/red": ("@red-average",),
    "schemes/s-ecn": ("@s-ecn-slope",),
    "pfc": ("@pfc-incast", "traffic.0.rounds=1", "run.until=0.5ms", "measure.series_every=1us"),
}
"""Scenario and settings of each picture of queues."""
FROM_MS = {"schemes/cqrd": 4.6}
"""First time that a picture shows, in milliseconds."""
# Okabe and Ito's colours.
CLASS_COLOURS = (
    style.BLUE,
    style.ORANGE,
    style.GREEN,
    style.PURPLE,
    style.VERMILION,
    style.SKY,
    style.BLACK,
)

RATES = {"schemes/afd": "@afd-unequal"}
"""Scenario that each picture of rates is drawn from."""


@dataclass(frozen=True)
class Panel:
    """One run: its measured port."""

    outcome: Outcome
    queues: "list[pl.DataFrame]"
    """`time_s`, `bytes` and `threshold_bytes` of each queue that was ever used."""
    overall: dict[str, Any]
    """The port's row of the table of queues."""
    utilisation: float


def draw(name: str, path: Path) -> None:
    """Runs a picture's scenario and draws it."""
    from matplotlib.figure import Figure

    panels: dict[int, Panel] = {}

    def keep(_: Plan, results: Results, outcome: Outcome) -> None:
        panels[outcome.index] = _panel(results, outcome)

    scenario, *sets = PICTURES[name]
    plans = _native.plans(library.shipped(scenario), sets)
    sweep = runner.run_all(plans, 1, keep, Silent())
    if sweep.stopped_by is not None:
        raise sweep.stopped_by
    figure = Figure(figsize=(8, 1.0 + 1.35 * len(panels)), layout="constrained", dpi=120)
    title = json.loads(plans[0].scenario)["title"]
    figure.suptitle(title, fontsize="medium")
    rows = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (_, panel) in zip(rows, sorted(panels.items()), strict=True):
        _lengths(axes, panel)
    rows[-1].set_ylim(bottom=0)
    rows[-1].set_xlim(left=FROM_MS.get(name))
    rows[-1].set_xlabel("time (ms)")
    figure.supylabel("queue (KB)", fontsize="medium")
    figure.savefig(path, metadata={"Software": None})


def _panel(results: Results, outcome: Outcome) -> Panel:
    import polars as pl

    series = pl.DataFrame(results.series).partition_by("queue", maintain_order=True)
    queues = [queue for queue in series if queue["bytes"].max()]
    overall = pl.DataFrame(results.queues).filter(pl.col("queue") == "all").row(0, named=True)
    port = pl.DataFrame(results.ports).filter(pl.col("port") == overall["port"])
    return Panel(outcome, queues, overall, port["utilisation"].item())


def _lengths(axes: "Axes", panel: Panel) -> None:
    for i, queue in enumerate(panel.queues):
        colour = style.IN_TURN[i % len(style.IN_TURN)]
        axes.plot(queue["time_s"] * 1e3, queue["bytes"] / 1e3, color=colour, linewidth=0.9)
    threshold = panel.queues[0]["threshold_bytes"][0]
    if threshold is not None:
        axes.axhline(threshold / 1e3, color="0.5", linestyle="--", linewidth=0.9)
    mean, most = (panel.overall[name] / 1e3 for name in ("mean_bytes", "max_bytes"))
    figures = f"mean {mean:.1f} KB, longest {most:.1f} KB, link {panel.utilisation:.1%} used"
    label = ", ".join(_name(key, value) for key, value in panel.outcome.settings.items())
    axes.set_title(f"{label}: {figures}", fontsize="small", loc="left")
    axes.grid(alpha=0.3)
    axes.margins(x=0)


def _name(key: str, value: Any) -> str:
    """A compared setting in a few words."""
    if isinstance(value, list) and key.endswith(".classes"):
        return f"class {', '.join(map(str, value))}"
    return str(value)


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
        look = CLASS_COLOURS[i % len(CLASS_COLOURS)]
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
