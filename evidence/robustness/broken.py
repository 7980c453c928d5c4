"""Breaks a scheme on purpose and checks that a claim that rests on it no longer holds: a claim
that held all the same would measure something else. `make validate` runs it."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from switchbed.meter import Silent
from switchbed.store import Store
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce import measures
from switchbed_papers.reproduce.claims import papers
from switchbed_papers.reproduce.verdict import Word, judge

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORE = ROOT / "results/store"
BASE = '{ name = "per-queue", label = "Standard" }'
RANK: dict[Word, int] = {"reproduced": 3, "in direction": 2, "undecided": 1, "not reproduced": 0}
"""How much a verdict grants."""


@dataclass(frozen=True)
class Break:
    """A claim and what breaks the scheme that it rests on."""

    claim: str
    how: str
    sets: tuple[str, ...]


BREAKS = (
    Break(
        "mqecn.fig6.rtt_avg",
        "a threshold four times too large",
        (
            f"compare.scheme=[{BASE}, {{ name = 'mq-ecn', label = 'MQ-ECN', "
            "params = { threshold = '128KB', t_idle = '12us' } }]",
            "switch.buffer=256KB",
        ),
    ),
    # No parameter of CEDM says this: it takes marks back below K1 too, whatever K2 and the slope.
    Break(
        "cedm.fig10.dctcp",
        "no mark taken back",
        (
            "compare.scheme=['per-queue', { name = 'python', label = 'cedm', params = "
            f"{{ file = '{HERE / 'cedm.py'}', class = 'Cedm', withdraws = false }} }}]",
        ),
    ),
    Break(
        "eecn.fig11.reno",
        "T_a = 0",
        (
            "compare.scheme=['per-queue', 'per-queue-dq', { name = 'e-ecn', "
            "params = { t_a = '0us', t_i = '10us' } }]",
        ),
    ),
    Break(
        "cqrd.fig2.cq",
        "one queue an output, tail drop",
        ("compare.scheme=['oq', { name = 'oq', label = 'cq' }]",),
    ),
    Break("afqcn.fig6", "α = 0: QCN's feedback alone", ("scheme.params.alpha=0",)),
)


def verdict(claim_id: str, sets: tuple[str, ...]) -> tuple[Word, float]:
    """The claim's verdict on quick runs under overrides, and the value measured."""
    paper = papers()[claim_id.partition(".")[0]]
    claim = paper.claims[claim_id]
    experiment = paper.experiments[claim.experiment]
    quick = replace(experiment.quick, sets=(*experiment.quick.sets, *sets))
    found = experiments.jobs(paper, experiment, quick, 1)
    wanted = {**claim.measure.get("where", {}), **claim.measure.get("at", {})}.get("scenario")
    needed = [job for job in found if wanted in (None, job.settings.get("scenario"))]
    store = Store(STORE)
    experiments.run(paper, experiment, needed, store, Silent())
    measured = measures.measure(paper, claim, experiments.rows(needed, store))
    return judge(claim.target, measured), measured.estimate


def main() -> int:
    """Says of each claim what became of it; 1 if a verdict is no weaker."""
    os.chdir(ROOT)
    bad = False
    for broken in BREAKS:
        before, value = verdict(broken.claim, ())
        after, changed = verdict(broken.claim, broken.sets)
        good = RANK[after] < RANK[before]
        bad |= not good
        print(
            f"{broken.claim}: {before} ({value:.4g}); with {broken.how}: {after} ({changed:.4g})"
            f"{'' if good else '  <- broken, and granted as much'}",
            flush=True,
        )
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
