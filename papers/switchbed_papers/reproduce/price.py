"""Prices of runs before they run, in core-seconds: from what the committed runs took."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from switchbed import _native
from switchbed.store import Store
from switchbed_papers.reproduce import evidence
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.claims import Experiment, Paper, Scale
from switchbed_papers.reproduce.experiment import Job
from switchbed_papers.reproduce.rows import mean
from switchbed_papers.reproduce.setup import JOINT


@dataclass(frozen=True)
class Price:
    """Cost of runs."""

    core_s: float = 0.0
    at_most: bool = False
    """Whether it rests on rows before 0.3.0, which have the time that passed on a busy machine."""

    def __add__(self, other: "Price") -> "Price":
        return Price(self.core_s + other.core_s, self.at_most or other.at_most)

    def hours(self) -> str:
        """In words."""
        return f"{self._word} {self.core_s / 3600:.2f} core-hours"

    def minutes(self) -> str:
        """In words, where it is little."""
        return f"{self._word} {self.core_s / 60:.1f} core-minutes"

    @property
    def _word(self) -> str:
        return "at most" if self.at_most else "about"


def missing(paper: Paper, experiment: Experiment, needed: Sequence[Job], store: Store) -> Price:
    """Price of those runs that a store has not measured yet."""
    return _of(paper, experiment, [job for job in needed if store.measured(job.key) is None])


def search(paper: Paper, experiment: Experiment, points: int) -> Price:
    """Price of an experiment's search over so many points."""
    a_seed = _of(paper, experiment, _one_seed(paper, experiment, experiment.search))
    return replace(a_seed, core_s=a_seed.core_s * experiment.search.seeds * points)


def _of(paper: Paper, experiment: Experiment, jobs: Sequence[Job]) -> Price:
    """As many core-seconds a flow, or a simulated second, as the committed runs took; none where no
    run is committed."""
    rows = evidence.timed(paper, experiment)
    if not rows.rows or not jobs:
        return Price()
    ours = _one_seed(paper, experiment, experiment.full)
    full = mean(map(_size, ours))
    # Rows of another scale tell how many flows they had; of those without flows the scale is ours.
    told = "all.n" if all(map(_flows, ours)) else ""
    units = sum(row.figures.get(told) or full for row in rows)
    a_unit_s = sum(row.core_s for row in rows) / units
    return Price(a_unit_s * sum(map(_size, jobs)), any(row.passed for row in rows))


def _one_seed(paper: Paper, experiment: Experiment, scale: Scale) -> list[Job]:
    return experiments.jobs(paper, experiment, replace(scale, seeds=1), 1, JOINT)


def _size(job: Job) -> float:
    """Flows of a run, or what it simulates in seconds."""
    until = json.loads(job.plan.scenario)["run"].get("until", "1s")
    return _flows(job) or _native.time_ps(until) / 1e12


def _flows(job: Job) -> int:
    """Flows of a run that ends with them; 0 of one that ends with its time."""
    traffic = json.loads(job.plan.scenario)["traffic"]
    return sum(source.get("flows") or 0 for source in traffic)
