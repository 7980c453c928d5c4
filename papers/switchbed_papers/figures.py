"""`make figures`: the testbed figures of the MQ-ECN paper, for docs/mqecn-testbed.md.

Bai, Chen, Chen, Wu: Enabling ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016. Each
figure is a scenario and a way to draw what its runs measured."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import _native, runner, threads
from switchbed._native import Mistake, Plan, Results
from switchbed.cli import finish
from switchbed.meter import meter
from switchbed.plots import style
from switchbed.plots.fct import fct_over_load
from switchbed.runner import Outcome
from switchbed.terminal import say

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = Path("docs/mqecn")
SCENARIOS = Path("scenarios")


@dataclass(frozen=True)
class Run:
    """A run and the tables that figures are drawn from."""

    outcome: Outcome
    goodput: "pl.DataFrame"
    probes: "pl.DataFrame"


Draw = Callable[[Sequence[Run], str, Path], None]


def draw(name: str, path: Path, sets: Sequence[str] = ()) -> None:
    """Runs a figure's scenario under the overrides `sets` and draws it."""
    import polars as pl

    runs: dict[int, Run] = {}

    def keep(_: Plan, results: Results, outcome: Outcome) -> None:
        goodput, probes = pl.DataFrame(results.goodput), pl.DataFrame(results.probes)
        runs[outcome.index] = Run(outcome, goodput, probes)

    plans = _native.plans(SCENARIOS / f"{name}.toml", sets)
    with meter() as shown:
        sweep = runner.run_all(plans, threads.cores(), keep, shown)
    if sweep.stopped_by is not None:
        raise sweep.stopped_by
    title = json.loads(plans[0].scenario)["title"]
    FIGURES[name]([run for _, run in sorted(runs.items())], title, path)


def rtts_by_queues(runs: Sequence[Run], title: str, path: Path) -> None:
    """Figure 1: the distribution of round-trip times for each number of busy queues."""
    figure = _figure(title, 7, 4.5)
    axes = figure.subplots()
    for run, look in zip(runs, style.PLAIN, strict=False):
        queues = len(run.outcome.settings["traffic.0.classes"])
        _distribution(axes, run, f"{queues} queue{'s' * (queues > 1)}", look)
    _finish_distribution(axes, 2)
    _save(figure, path)


def goodput_by_flows(runs: Sequence[Run], title: str, path: Path) -> None:
    """Figure 3: goodput of two services against the second one's number of flows."""
    figure = _figure(title, 7, 4)
    axes = figure.subplots()
    for service, look in enumerate(style.PLAIN[:2]):
        mbps = [_goodput_mbps(run, service) for run in runs]
        places = [place + 0.4 * service - 0.2 for place in range(len(runs))]
        bars = axes.bar(places, mbps, width=0.38, color=look.colour, label=f"service {service + 1}")
        axes.bar_label(bars, fmt="%.0f", fontsize="small")
    flows = [run.outcome.settings["traffic.1.flows_each"] for run in runs]
    axes.set_xticks(range(len(runs)), [f"1 : {n}" for n in flows])
    axes.set_xlabel("flows of service 1 : flows of service 2")
    axes.set_ylabel("goodput (Mbps)")
    axes.margins(y=0.12)
    axes.legend(frameon=False, loc="upper left")
    _save(figure, path)


def shares_and_rtts(runs: Sequence[Run], title: str, path: Path) -> None:
    """Figure 6: goodput of each service over time with the last scheme, and the distribution
    of round-trip times with each."""
    import polars as pl

    figure = _figure(title, 9, 4)
    left, right = figure.subplots(1, 2)
    shown = runs[-1]
    services = shown.goodput.pivot(on="class", index="time_s", values="goodput_bps")
    both = services.select("time_s", (pl.col("0") + pl.col("1")).alias("both"))
    left.plot(
        both["time_s"], both["both"] / 1e6, color="0.5", label=f"both: {_all_mbps(shown):.0f} Mbps"
    )
    for service, look in enumerate(style.PLAIN[:2]):
        label = f"service {service + 1}: {_goodput_mbps(shown, service):.0f} Mbps"
        mbps = services[str(service)] / 1e6
        left.plot(services["time_s"], mbps, color=look.colour, linestyle=look.dashes, label=label)
    left.set_title(f"goodput, {shown.outcome.settings['scheme']}", fontsize="medium")
    left.set_xlabel("time (s)")
    left.set_ylabel("goodput (Mbps)")
    left.set_ylim(0, 1000)
    left.grid(alpha=0.3)
    left.legend(frameon=False, loc="lower right", fontsize="small")
    styles = style.styles([run.outcome for run in runs])
    for run in runs:
        scheme = run.outcome.settings["scheme"]
        _distribution(right, run, scheme, styles[scheme])
    right.set_title("round-trip time through service 2's queue", fontsize="medium")
    _finish_distribution(right, 1)
    _save(figure, path)


def fct(runs: Sequence[Run], title: str, path: Path) -> None:
    """Figures 2 and 7: FCT over load, relative to the first scheme's."""
    fct_over_load([run.outcome for run in runs], title, path)


FIGURES: dict[str, Draw] = {
    "mqecn-fig1": rtts_by_queues,
    "mqecn-fig2": fct,
    "mqecn-fig3": goodput_by_flows,
    "mqecn-fig6": shares_and_rtts,
    "mqecn-fig7": fct,
}
"""How each scenario's figure is drawn."""


def _distribution(axes: "Axes", run: Run, label: str, look: style.Style) -> None:
    """The share of probes that came back within a time."""
    rtts_us = (run.probes["rtt_s"].drop_nulls() * 1e6).sort()
    (found,) = run.outcome.summary["probes"]
    shares = [(i + 1) / len(rtts_us) for i in range(len(rtts_us))]
    text = f"{label}: mean {found['mean_us']:.0f}, p99 {found['p99_us']:.0f} us"
    axes.plot(rtts_us, shares, color=look.colour, linestyle=look.dashes, label=text)


def _finish_distribution(axes: "Axes", columns: int) -> None:
    axes.set_xlabel("round-trip time (us)")
    axes.set_ylabel("share of probes")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=columns)


def _goodput_mbps(run: Run, service: int) -> float:
    found = run.outcome.summary["classes"]
    return next((float(c["goodput_bps"]) / 1e6 for c in found if c["class"] == service), 0.0)


def _all_mbps(run: Run) -> float:
    return float(run.outcome.summary["goodput_bps"]) / 1e6


def _figure(title: str, width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=120)
    figure.suptitle(title, fontsize="medium")
    return figure


def _save(figure: "Figure", path: Path) -> None:
    figure.savefig(path, metadata={"Software": None})


def main() -> None:
    """Draws the figures named on the command line, or all."""
    names = sys.argv[1:] or list(FIGURES)
    for name in names:
        if name not in FIGURES:
            raise Mistake(f"{name}: no such figure; there are {', '.join(FIGURES)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = FOLDER / f"{name}.png"
        draw(name, path)
        say(f"{SCENARIOS / name}.toml -> {path}")


if __name__ == "__main__":
    finish(main)
