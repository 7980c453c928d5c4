"""`make demo`: figure 9 of the MQ-ECN paper at three loads, with few flows.

Bai, Chen, Chen, Wu: Enabling ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016, §5.2.
"""

from collections.abc import Sequence
from pathlib import Path

from switchbed import comparing, library, printing, threads
from switchbed.plots.fct import fct_over_load
from switchbed.run import Request, execute
from switchbed.runner import Outcome
from switchbed.series.comparison import PANELS
from switchbed.terminal import say

SCENARIO = library.shipped("@mqecn-fig9")
OUT = Path("demo-results")
LOADS = (0.3, 0.5, 0.8)
SEEDS = (1, 2, 3)
FLOWS = 2500
"""With these, half of two minutes on two cores of 2026."""

PAPER = {
    ("all", "mean_us"): "0.959",
    ("small", "mean_us"): "0.763",
    ("small", "p99_us"): "0.563",
    ("large", "mean_us"): "0.979 (fig. 10, at 80 %)",
}
"""The lowest ratios of MQ-ECN to the standard threshold that §5.2 states, over loads of
10 to 90 % and figures 9 and 10 together, at 50,000 flows."""


def demo(scenario: Path = SCENARIO, out: Path = OUT, flows: int = FLOWS) -> None:
    """Run the demonstration, print its results and draw them."""
    sets = [f"compare.load={list(LOADS)}", f"compare.seed={list(SEEDS)}", f"flows={flows}"]
    jobs = threads.cores()
    say(f"{scenario}: 3 schemes × {len(LOADS)} loads × {len(SEEDS)} seeds, {flows:,} flows each")
    done = execute(Request(scenario, sets, out=out, force=True, jobs=jobs))
    if done.sweep.stopped_by is not None:
        raise done.sweep.stopped_by
    outcomes = done.sweep.outcomes
    printing.print_sweep(outcomes, done.wall_s)
    say()
    print_paper(outcomes, flows)
    figure = out / "fct-over-load.png"
    fct_over_load(outcomes, f"MQ-ECN, figure 9, with {flows:,} flows", figure)
    say()
    say(f"figure: {figure}")
    say(f"results: {out}/")
    say("the full figure: switchbed run @mqecn-fig9 --out results/mqecn-fig9")


def print_paper(outcomes: Sequence[Outcome], flows: int) -> None:
    """The lowest ratio of MQ-ECN over the loads, beside what the paper states."""
    ratios = [r for r in comparing.ratios(outcomes) if r.scheme == "MQ-ECN"]
    say("MQ-ECN's lowest FCT ratio to the standard threshold over the loads, and the paper's")
    say(f"(not comparable: FCTs depend on the number of flows, here {flows:,}, there 50,000):")
    for statistic, paper in PAPER.items():
        here = [r.ratio for r in ratios if (r.size_class, r.statistic) == statistic]
        lowest = f"{min(here):.3f}" if here else "    –"
        say(f"  {PANELS[statistic]:30} {lowest}   paper {paper}")
