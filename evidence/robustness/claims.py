"""Judges claims of the papers on other runs than the committed ones. `make validate` runs both.

    python -m evidence.robustness.claims broken
    python -m evidence.robustness.claims seeds [MINUTES [FIRST_SEED]]

`broken` breaks a scheme on purpose and checks that a claim that rests on it no longer holds: a
claim that held all the same would measure something else. `seeds` runs the cheap experiments, of
up to MINUTES core-minutes (1), again at full scale on seeds that the committed results have not
seen: a claim that holds on some seeds and fails on others would say that an interval is too narrow.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from switchbed.progress_bar import Silent
from switchbed.store import Store
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce import measures, page, price
from switchbed_papers.reproduce.claims import Claim, Paper, papers
from switchbed_papers.reproduce.rows import Rows
from switchbed_papers.reproduce.verdict import Word, judge

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORE = ROOT / "results/store"
FIRST_SEED = 101
MINUTES = 1.0
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


def broken() -> int:
    """Says of each claim what became of it; 1 if a verdict is no weaker."""
    os.chdir(ROOT)
    bad = False
    for each in BREAKS:
        before, value = verdict(each.claim, ())
        after, changed = verdict(each.claim, each.sets)
        good = RANK[after] < RANK[before]
        bad |= not good
        print(
            f"{each.claim}: {before} ({value:.4g}); with {each.how}: {after} ({changed:.4g})"
            f"{'' if good else '  <- broken, and granted as much'}",
            flush=True,
        )
    return int(bad)


def compare(paper: Paper, claim: Claim, rows: Rows, before: str) -> str:
    """The claim's line of the table; a contradiction says so."""
    found = measures.measure(paper, claim, rows)
    after = judge(claim.target, found)
    bounds = "no interval"
    if found.low is not None and found.high is not None:
        bounds = f"{found.low:.4g} to {found.high:.4g}"
    line = f"{claim.id:26} {before:14} {after:14} {found.estimate:.4g} {claim.unit} ({bounds})"
    contradicts = {before, after} == {"reproduced", "not reproduced"}
    return f"{line}  <- CONTRADICTS" if contradicts else line


def seeds(arguments: list[str]) -> int:
    """Prints each claim with its committed verdict and the one on other seeds; 1 if any two
    contradict each other."""
    os.chdir(ROOT)
    store = Store(STORE)
    minutes = float(arguments[0]) if arguments else MINUTES
    first_seed = int(arguments[1]) if len(arguments) > 1 else FIRST_SEED
    lines = []
    for paper in papers().values():
        committed = page.committed(paper)
        for experiment in paper.experiments.values():
            needed = experiments.jobs(paper, experiment, experiment.full, first_seed)
            if price.missing(paper, experiment, needed, store).core_s > 60 * minutes:
                continue
            experiments.run(paper, experiment, needed, store, Silent())
            rows = experiments.rows(needed, store)
            for claim in paper.claims.values():
                if claim.experiment == experiment.id and committed[claim.id].profiles:
                    line = compare(paper, claim, rows, committed[claim.id].verdict)
                    lines.append(line)
                    print(line, flush=True)
    against = sum("CONTRADICTS" in line for line in lines)
    print(f"{len(lines)} claims on seeds from {first_seed}: {against} contradict")
    return int(against > 0)


def main(words: list[str]) -> int:
    """Judges claims of broken schemes, or claims on other seeds."""
    match words:
        case ["broken"]:
            return broken()
        case ["seeds", *more]:
            return seeds(more)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
