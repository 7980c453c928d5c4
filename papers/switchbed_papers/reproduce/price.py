"""Prices of runs before they run, in core-seconds: from what the committed runs took."""

import json
from collections.abc import Sequence
from dataclasses import replace

from switchbed import _native
from switchbed.store import Store
from switchbed_papers.reproduce import evidence
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.claims import Experiment, Paper, Scale
from switchbed_papers.reproduce.experiment import Job
from switchbed_papers.reproduce.rows import mean
from switchbed_papers.reproduce.setup import JOINT


def missing(paper: Paper, experiment: Experiment, needed: Sequence[Job], store: Store) -> float:
    """Core-seconds of those runs that a store has not measured yet."""
    return _of(paper, experiment, [job for job in needed if store.measured(job.key) is None])


def search(paper: Paper, experiment: Experiment, points: int) -> float:
    """Core-seconds of an experiment's search over so many points."""
    a_seed = _of(paper, experiment, _one_seed(paper, experiment, experiment.search))
    return a_seed * experiment.search.seeds * points


def _of(paper: Paper, experiment: Experiment, jobs: Sequence[Job]) -> float:
    """Core-seconds: as many a flow, or a simulated second, as the committed runs took; 0 where no
    run is committed."""
    judging = next(iter(evidence.read(paper, experiment).values()), None)
    if judging is None or not jobs:
        return 0.0
    full = _one_seed(paper, experiment, experiment.full)
    a_run_s = mean(row.core_s for row in judging)
    return a_run_s * sum(map(_size, jobs)) / mean(map(_size, full))


def _one_seed(paper: Paper, experiment: Experiment, scale: Scale) -> list[Job]:
    return experiments.jobs(paper, experiment, replace(scale, seeds=1), 1, JOINT)


def _size(job: Job) -> float:
    """Flows of a run, or what it simulates in seconds."""
    scenario = json.loads(job.plan.scenario)
    flows = sum(source.get("flows") or 0 for source in scenario["traffic"])
    return flows or _native.time_ps(scenario["run"].get("until", "1s")) / 1e12
