"""Engines that run a sweep: threads (`threads`), a Ray cluster (`ray`), Slurm (`slurm`). An engine
is given the missing runs and puts each into the store, whole or as a failure. Planning and
storage are the same for all."""

import json
import os
import pickle
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from switchbed._native import Mistake, Plan, Progress, __build__
from switchbed.prototype import sources
from switchbed.store import Store
from switchbed.sweeps import key as keys


@dataclass(frozen=True)
class Job:
    """A run that is missing."""

    key: str
    """Where the store keeps it."""
    plan: Plan

    @property
    def task(self) -> "Task":
        """Return the job in a form for another process."""
        lent = sources.lend(sources.unknown(json.loads(self.plan.scenario)))
        # Classes in memory have no file whose content could make a key.
        inputs = keys.inputs(self.plan) if lent else self.key
        return Task(self.key, inputs, pickle.dumps(self.plan), Path.cwd(), lent)


@dataclass(frozen=True)
class Task:
    """A run on its way to another process, which plans it anew from the scenario's text."""

    key: str
    inputs: str
    """A hash of all that its results depend on."""
    pickled: bytes
    folder: Path
    """Folder that the plan's paths are relative to."""
    lent: Mapping[str, sources.Classes]
    """Schemes in Python that no file holds; what carries the task carries classes by value."""

    @property
    def job(self) -> Job:
        """The run, which must be the one that was meant: the same build, the same inputs."""
        # Paths of the scenario are relative to the folder it was planned in.
        if self.folder.is_dir():
            os.chdir(self.folder)
        sources.borrow(self.lent)
        plan: Plan = pickle.loads(self.pickled)
        if keys.inputs(plan) != self.inputs:
            raise Mistake(
                f"on {os.uname().nodename} the run is another one: that machine needs the same "
                f"build of switchbed (it has {__build__}) and the same files"
            )
        return Job(self.key, plan)


class Tally(Protocol):
    """Runs that ended in this sweep."""

    ran: int
    failed: int


class Ledger:
    """Where an engine enters what became of its jobs; from any thread."""

    def __init__(self, store: Store, tally: Tally) -> None:
        self.store = store
        self._tally = tally
        self._lock = threading.Lock()

    def ran(self) -> None:
        """One run is in the store."""
        with self._lock:
            self._tally.ran += 1

    def failed(self, job: Job, message: str) -> None:
        """A run will not be there, and why."""
        self.store.fail(job.key, job.plan, message)
        self.has_failed()

    def has_failed(self) -> None:
        """Count a run whose failure is in the store already."""
        with self._lock:
            self._tally.failed += 1


class Meter(Protocol):
    """Shows how far the jobs are."""

    def show(self, tracks: Sequence[Progress]) -> None:
        """By each job's own progress."""

    def draw(self, done: float) -> None:
        """By so many jobs done."""


class Engine(Protocol):
    """Where runs take place. As a context it holds what lasts as long as the sweep."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def run(self, jobs: Sequence[Job], ledger: Ledger, meter: Meter) -> BaseException | None:
        """Runs the jobs. What ended it early, such as Ctrl-C, is returned once nothing runs
        any more; what has finished by then is in the store."""
