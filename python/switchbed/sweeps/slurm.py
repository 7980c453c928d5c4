"""Runs as job arrays of Slurm, by submitit. A job takes several runs and writes them into the
store itself, as a sweep on that machine would: a Slurm cluster shares its files, and what a job
that is killed has finished is kept. The process that was started waits and counts."""

import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from switchbed._native import Mistake
from switchbed.store import Store
from switchbed.sweeps.engine import Job, Ledger, Meter, Task
from switchbed.sweeps.progress import Silent
from switchbed.sweeps.threads import Threads

if TYPE_CHECKING:
    from submitit import Job as Submitted
    from submitit.helpers import DelayedSubmission

MISSING = "--engine slurm: submitit is not installed; pip install 'submitit>=1.5' installs it"
MAX_ARRAY = 1000
"""Jobs in an array: Slurm's own limit unless a cluster raises it (MaxArraySize is 1001)."""
POLL_S = 1.0
GRACE_S = 5.0
"""How long after a job's end its last runs may take to show in a directory over the network."""


@dataclass(frozen=True)
class Slurm:
    """Engine that runs a sweep as job arrays on the Slurm cluster that this machine submits to.

    Args:
        partition: Partition of the jobs. `None`: the cluster's default.
        time: Limit of a job in minutes; one that reaches it is queued again, three times.
        cpus_per_task: Cores of a job, and its runs at a time.
        runs_per_job: Runs of a job.
        jobs: Jobs at a time. `None`: as many as Slurm allows.
        more: Further options of sbatch by name, such as `{"account": "net", "mem": "8G"}`.
        cluster: Executor in submitit; with `local`, jobs are processes of this machine.

    Raises:
        Mistake: submitit is not installed, or this machine has no sbatch and srun.

    Example:
        >>> sb.sweep("load.toml", engine=sb.Slurm(partition="short", time=30))
    """

    partition: str | None = None
    time: int = 60
    """A job's limit in minutes. A job that reaches it is queued again with what it lacks, three
    times."""
    cpus_per_task: int = 1
    """Runs of a job at a time."""
    runs_per_job: int = 10
    jobs: int | None = None
    """Jobs at a time; as many as Slurm allows unless given."""
    more: Mapping[str, str | bool] = field(default_factory=dict)
    """Further options of sbatch by name, as account and mem."""
    cluster: str = "slurm"
    """Executor name in submitit; with `local`, jobs are processes of this machine."""

    def __post_init__(self) -> None:
        _submitit()
        if self.cluster == "slurm" and not (shutil.which("sbatch") and shutil.which("srun")):
            raise Mistake("--engine slurm: no sbatch and srun here; submit from a Slurm cluster")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def run(self, jobs: Sequence[Job], ledger: Ledger, meter: Meter) -> BaseException | None:
        """Run the jobs; `sweep` calls this.

        Args:
            jobs: Runs that the store lacks.
            ledger: Receiver of each run's files or failure.
            meter: Display of the progress.

        Returns:
            The exception that stopped the sweep early, or `None`.
        """
        # A folder of its own: a driver that was killed left another's behind.
        folder = ledger.store.path.absolute() / ".slurm" / str(time.time_ns())
        for job in jobs:
            ledger.store.forget_failure(job.key)  # what is there later is new
        arrays: list[_Array] = []
        try:
            for batches in self._arrays(jobs):
                submitted = self._submit(batches, ledger.store, folder)
                arrays.append(_Array(submitted, batches, ledger))
            while any(array.open for array in arrays):
                time.sleep(POLL_S)
                for array in arrays:
                    array.look()
                meter.draw(len(jobs) - sum(array.left for array in arrays))
        except BaseException as error:
            self._cancel([job for array in arrays for job in array.open])
            return error
        # Logs of lost runs stay to be read.
        if not any(array.lost for array in arrays):
            shutil.rmtree(folder, ignore_errors=True)
        return None

    def _arrays(self, jobs: Sequence[Job]) -> list[list[Sequence[Job]]]:
        """The runs of each job of each array. Neighbours, which often last alike, are dealt out."""
        n = -(-len(jobs) // self.runs_per_job)
        # Every n-th: neighbours are settings alike, and would make one job the longest.
        batches = [jobs[i::n] for i in range(n)]
        return [batches[i : i + MAX_ARRAY] for i in range(0, n, MAX_ARRAY)]

    def _submit(
        self, batches: Sequence[Sequence[Job]], store: Store, folder: Path
    ) -> "list[Submitted[None]]":
        submitit = _submitit()
        executor = submitit.AutoExecutor(folder, cluster=self.cluster)
        executor.update_parameters(
            name="switchbed",
            timeout_min=self.time,
            cpus_per_task=self.cpus_per_task,
            slurm_partition=self.partition,
            slurm_array_parallelism=self.jobs or MAX_ARRAY,
            slurm_additional_parameters=dict(self.more),
        )
        worker = Worker(store.path.absolute(), self.cpus_per_task)
        tasks = [[job.task for job in batch] for batch in batches]
        try:
            return list(executor.map_array(worker, tasks))
        except submitit.core.utils.FailedJobError as error:
            raise Mistake(f"--engine slurm: sbatch refuses: {_one_line(error)}") from error

    def _cancel(self, jobs: "Sequence[Submitted[None]]") -> None:
        if self.cluster == "slurm" and jobs:
            arrays = sorted({job.job_id.partition("_")[0] for job in jobs})
            subprocess.run(["scancel", *arrays], check=False)
            return
        for job in jobs:
            job.cancel()


class _Array:
    """An array that was submitted, as the driver follows it."""

    def __init__(
        self, submitted: "list[Submitted[None]]", batches: list[Sequence[Job]], ledger: Ledger
    ) -> None:
        missing = ({job.key: job for job in batch} for batch in batches)
        self.open = dict(zip(submitted, missing, strict=True))
        """Jobs that have not ended or whose runs are not all known, and those runs by key."""
        self.lost = 0
        """Runs that their job ended without."""
        self._ledger = ledger
        self._ended: dict[Submitted[None], float] = {}

    @property
    def left(self) -> int:
        """Runs of which nothing is known yet."""
        return sum(map(len, self.open.values()))

    def look(self) -> None:
        """Enters what has come since."""
        for job in self.open:
            if job not in self._ended and job.done():
                self._ended[job] = time.monotonic()
        store = self._ledger.store
        # From the store, not from Slurm: a run counts once its files are there.
        ran, failed = store.keys()
        for missing in self.open.values():
            for key in ran & missing.keys():
                del missing[key]
                self._ledger.ran()
            for key in failed & missing.keys():
                del missing[key]
                self._ledger.has_failed()
        for job, ended in self._ended.items():
            # A shared file system may show files late.
            if time.monotonic() - ended > GRACE_S:
                self._give_up(job)
        self.open = {
            job: missing for job, missing in self.open.items() if missing or job not in self._ended
        }

    def _give_up(self, job: "Submitted[None]") -> None:
        missing = self.open.get(job, {})
        if missing:
            why = _last_words(job)
        for run in missing.values():
            self._ledger.failed(run, f"Slurm job {job.job_id}: {why}; its log: {job.paths.stderr}")
            self.lost += 1
        missing.clear()


@dataclass(frozen=True)
class Worker:
    """Task that a Slurm job runs."""

    store: Path
    threads: int

    def __call__(self, tasks: Sequence[Task]) -> None:
        """Runs those that the store does not have, and writes them there."""
        store = Store(self.store, create=False)
        missing = (task for task in tasks if not store.has(task.key))
        # A job that was requeued skips what it had done.
        jobs = [task.job for task in missing if store.failure(task.key) is None]
        try:
            here = Threads(self.threads, any_memory=True)
            stopped = here.run(jobs, Ledger(store, _Uncounted()), Silent())
        finally:
            store.end()
        if stopped is not None:
            raise stopped

    def checkpoint(self, tasks: Sequence[Task]) -> "DelayedSubmission":
        """Return the same task for submitit to queue again, when the job is preempted or out of
        time."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, tasks)


@dataclass
class _Uncounted:
    ran: int = 0
    failed: int = 0


def _last_words(job: "Submitted[None]") -> str:
    """Why a job ended before its work was done."""
    if not job.paths.result_pickle.exists():
        return f"it ended ({job.state}) before the run"
    trace = str(job.exception() or "it lost the run").partition("\n-----")[2]
    lines = [line for line in trace.partition("\n-----")[0].splitlines() if line.strip(" -")]
    return lines[-1] if lines else "it lost the run"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _submitit() -> Any:
    try:
        import submitit
    except ImportError as error:
        raise Mistake(MISSING) from error
    return submitit
