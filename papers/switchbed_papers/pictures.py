"""`make pictures`: what a scheme does to a queue, for its page in docs/schemes, and figures
of other pages.

Each picture is a scenario that compares schemes and measures one port: a panel a scheme, with
the length of each of its queues over time and, where the scheme has one, its threshold. Curves
over a swept setting are `curves`'s."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native, runner
from switchbed._native import Plan, Results
from switchbed.cli import finish
from switchbed.meter import Silent
from switchbed.plots import style
from switchbed.runner import Outcome
from switchbed.terminal import say
from switchbed_papers import curves, shares

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

FOLDER = Path("docs/schemes")
PICTURES: dict[str, tuple[str, ...]] = {
    "buffers": ("scenarios/buffers-sharing.toml",),
    "cedm": ("scenarios/cedm-bursts.toml",),
    "codel": ("scenarios/aqm-joining.toml",),
    "cqrd": ("scenarios/cqrd-fig2.toml", "run.until=5.5ms", "measure.series_every=1us"),
    "dualpi2": ("scenarios/l4s-joining.toml",),
    "e-ecn": ("scenarios/e-ecn-joining.toml",),
    "pmsb": ("scenarios/aqm-two-queues.toml",),
    "red": ("scenarios/red-average.toml",),
    "s-ecn": ("scenarios/s-ecn-slope.toml",),
}
"""What each scheme's picture is drawn from: a scenario, and what is set."""
QUEUES: dict[str, tuple[str, ...]] = {
    "cedm-fig3": ("scenarios/cedm-fig3.toml",),
    "pfc": (
        "scenarios/pfc-incast.toml",
        "traffic.0.rounds=1",
        "run.until=0.5ms",
        "measure.series_every=1us",
    ),
}
"""Pictures of the same kind in docs."""
CURVES = {
    "cedm-fig4": curves.Curves(
        scenario=Path("scenarios/cedm-fig4.toml"),
        key="scheme.params.threshold",
        x=lambda threshold: float(threshold.removesuffix("KB")) / 1.5,
        xlabel="threshold (packets)",
        panels={"goodput (Gbps)": curves.goodput_gbps},
    ),
    "eecn-fig7": curves.Curves(
        scenario=Path("scenarios/eecn-fig7.toml"),
        key="traffic.0.from",
        x=lambda senders: 1 + float(senders.removeprefix("0-")),
        xlabel="flows",
        panels={
            "longest queue (packets)": lambda results: curves.longest(results) / 1000,
            "time below the threshold (%)": lambda results: 100 * curves.below_threshold(results),
        },
    ),
}
"""Figures over a swept setting, in docs."""
FROM_MS = {"cqrd": 4.6}
"""Where a picture begins."""


@dataclass(frozen=True)
class Panel:
    """One run: its measured port."""

    outcome: Outcome
    queues: "list[pl.DataFrame]"
    """`time_s`, `bytes` and `threshold_bytes` of each queue that was ever used."""
    overall: dict[str, Any]
    """The port's row of the table of queues."""
    utilisation: float


def draw(name: str, path: Path, root: Path = Path()) -> None:
    """Runs a picture's scenario and draws it."""
    from matplotlib.figure import Figure

    panels: dict[int, Panel] = {}

    def keep(_: Plan, results: Results, outcome: Outcome) -> None:
        panels[outcome.index] = _panel(results, outcome)

    scenario, *sets = (PICTURES | QUEUES)[name]
    plans = _native.plans(root / scenario, sets)
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
    label = ", ".join(curves.name(key, value) for key, value in panel.outcome.settings.items())
    axes.set_title(f"{label}: {figures}", fontsize="small", loc="left")
    axes.grid(alpha=0.3)
    axes.margins(x=0)


def main() -> None:
    """Draws all."""
    for name in PICTURES | QUEUES:
        path = (FOLDER if name in PICTURES else FOLDER.parent) / f"{name}.png"
        draw(name, path)
        say(path)
    for name, figure in CURVES.items():
        path = FOLDER.parent / f"{name}.png"
        curves.draw(figure, path)
        say(path)
    shares.draw_all(FOLDER)


if __name__ == "__main__":
    finish(main)
