"""Runs the cheap experiments again at full scale on seeds that the committed results have not
seen, and compares the verdicts: a claim that holds on some seeds and fails on others would say
that an interval is too narrow for what it is asked. `make validate` runs it.

    python -m evidence.robustness.other_seeds [MINUTES [FIRST_SEED]]

Experiments of up to MINUTES core-minutes (1) run.
"""

import os
import sys
from pathlib import Path

from switchbed.meter import Silent
from switchbed.store import Store
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce import measures, page, price
from switchbed_papers.reproduce.claims import Claim, Paper, papers
from switchbed_papers.reproduce.rows import Rows
from switchbed_papers.reproduce.verdict import judge

ROOT = Path(__file__).parents[2]
FIRST_SEED = 101
MINUTES = 1.0


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


def main(arguments: list[str]) -> int:
    """Prints each claim with its committed verdict and the one on other seeds; 1 if any two
    contradict each other."""
    os.chdir(ROOT)
    store = Store(Path("results/store"))
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
