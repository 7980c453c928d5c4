"""`make pictures`: what a scheme does to a queue, for its page in docs/schemes.

Each picture is a scenario that compares schemes and measures one port: a panel a scheme, with
the port's length over time and, where the scheme has one, its threshold."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native, runner
from switchbed._native import Plan, Results
from switchbed.cli import finish
from switchbed.meter import Silent
from switchbed.runner import Outcome

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

FOLDER = Path("docs/schemes")
PICTURES = {
    "cedm": Path("scenarios/cedm-bursts.toml"),
    "e-ecn": Path("scenarios/e-ecn-joining.toml"),
    "s-ecn": Path("scenarios/s-ecn-slope.toml"),
}
"""What each picture is drawn from."""


@dataclass(frozen=True)
class Panel:
    """One run: its measured port."""

    outcome: Outcome
    lengths: "pl.DataFrame"
    """`time_s`, `bytes` of all its queues, and the `threshold_bytes` of the first."""
    overall: dict[str, Any]
    """The port's row of the table of queues."""
    utilisation: float


def draw(scenario: Path, path: Path) -> None:
    """Runs a scenario and draws its picture."""
    from matplotlib.figure import Figure

    panels: dict[int, Panel] = {}

    def keep(_: Plan, results: Results, outcome: Outcome) -> None:
        panels[outcome.index] = _panel(results, outcome)

    plans = _native.plans(scenario)
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
    rows[-1].set_xlabel("time (ms)")
    figure.supylabel("queue (KB)", fontsize="medium")
    figure.savefig(path, metadata={"Software": None})


def _panel(results: Results, outcome: Outcome) -> Panel:
    import polars as pl

    lengths = (
        pl.DataFrame(results.series)
        .group_by("time_s", maintain_order=True)
        .agg(pl.col("bytes").sum(), pl.col("threshold_bytes").first())
    )
    overall = pl.DataFrame(results.queues).filter(pl.col("queue") == "all").row(0, named=True)
    port = pl.DataFrame(results.ports).filter(pl.col("port") == overall["port"])
    return Panel(outcome, lengths, overall, port["utilisation"].item())


def _lengths(axes: "Axes", panel: Panel) -> None:
    time_ms = panel.lengths["time_s"] * 1e3
    axes.plot(time_ms, panel.lengths["bytes"] / 1e3, color="#0072B2", linewidth=0.9)
    threshold = panel.lengths["threshold_bytes"][0]
    if threshold is not None:
        axes.axhline(threshold / 1e3, color="0.5", linestyle="--", linewidth=0.9)
    mean, most = (panel.overall[name] / 1e3 for name in ("mean_bytes", "max_bytes"))
    figures = f"mean {mean:.1f} KB, longest {most:.1f} KB, link {panel.utilisation:.1%} used"
    label = ", ".join(str(value) for value in panel.outcome.settings.values())
    axes.set_title(f"{label}: {figures}", fontsize="small", loc="left")
    axes.grid(alpha=0.3)
    axes.margins(x=0)


def main() -> None:
    """Draws all."""
    for name, scenario in PICTURES.items():
        path = FOLDER / f"{name}.png"
        draw(scenario, path)
        print(f"{scenario} -> {path}")


if __name__ == "__main__":
    finish(main)
