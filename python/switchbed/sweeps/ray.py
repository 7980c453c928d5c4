"""Runs on a Ray cluster. Machines of a cluster need not share a file system, so a worker sends
a run's files back and the driver alone writes the store: a worker that is killed leaves
nothing, and Ray starts its run again elsewhere."""

import os
import socket
import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from switchbed import runner, store
from switchbed._native import Mistake, Panic, Progress
from switchbed.sweeps.engine import Job, Ledger, Meter, Task
from switchbed.threads import cores

RETRIES = 3
"""How often a run is started again whose worker died."""
STORE_BYTES = 256 * 2**20
"""Where results wait, on a cluster of one's own, until they are written; more goes to disk."""
MISSING = "--engine ray: Ray is not installed; pip install 'ray>=2.44' installs it"

Files = dict[str, bytes]


@dataclass(frozen=True)
class Failed:
    """Message of a worker whose run failed by its own fault."""

    message: str


@dataclass
class Ray:
    """Engine that runs a sweep on a Ray cluster: `sweep(…, engine=Ray("auto"))`.

    Args:
        address: Address of the cluster; `auto`: that of this machine. `None`: the one that this
            process is connected to, or one that is started here for the sweep.
        jobs: Runs at a time. `None`: as many as the cluster has processors.

    Raises:
        Mistake: Ray is not installed, or no cluster answers at the address.
    """

    address: str | None = None
    jobs: int | None = None
    """Runs at a time; as many as the cluster has processors unless given."""

    def __post_init__(self) -> None:
        self._connected = bool(_ray().is_initialized())

    def __enter__(self) -> Self:
        ray = _ray()
        if self._connected:
            return self
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self.address is None:
            ray.init(
                address="local",
                num_cpus=self.jobs or cores(),
                object_store_memory=STORE_BYTES,
                include_dashboard=False,
                **quiet,
            )
            return self
        try:
            _reach(self.address)
            ray.init(address=self.address, **quiet)
        except (OSError, ValueError, RuntimeError) as error:
            raise Mistake(
                f"--address {self.address}: no Ray cluster there of this version, or it "
                f"wants a token (RAY_AUTH_MODE=token): {_last_line(error)}"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        if not self._connected:
            _ray().shutdown()

    def run(self, jobs: Sequence[Job], ledger: Ledger, meter: Meter) -> BaseException | None:
        """Run the jobs; `sweep` calls this.

        Args:
            jobs: Runs that the store lacks.
            ledger: Receiver of each run's files or failure.
            meter: Display of the progress.

        Returns:
            The exception that stopped the sweep early, or `None`.
        """
        ray = _ray()
        execute_there = ray.remote(max_retries=RETRIES, num_cpus=1)(execute)
        waiting, running, done = deque(jobs), dict[Any, Job](), 0
        try:
            while waiting or running:
                limit = self._limit(ray)
                while waiting and len(running) < limit:
                    job = waiting.popleft()
                    running[execute_there.remote(job.task)] = job
                ready, _ = ray.wait(list(running), timeout=runner.TICK_S)
                for reference in ready:
                    _enter(ray, reference, running.pop(reference), ledger)
                    done += 1
                meter.draw(done)
        except BaseException as error:
            for reference in running:
                # By force, as a run does not look at Python's signals.
                ray.cancel(reference, force=True)
            return error
        return None

    def _limit(self, ray: ModuleType) -> int:
        """How many runs Ray is given at a time: as many again as run, so that no worker waits
        and a cluster that grows by itself sees that it should."""
        if self.jobs is not None and (self._connected or self.address is not None):
            return self.jobs
        # Twice: a worker finds the next run waiting.
        return 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))


def execute(task: Task) -> Files | Failed:
    """Run on a worker, and return the files as the store keeps them."""
    plan = task.job.plan
    try:
        results, outcome = runner.run_one(0, plan, Progress())
    except (Mistake, Panic) as error:
        return Failed(str(error))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store.write(folder, plan, results, outcome)
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _enter(ray: ModuleType, reference: Any, job: Job, ledger: Ledger) -> None:
    """Takes in what a worker sent."""
    errors = ray.exceptions
    try:
        found = ray.get(reference)
    except errors.RayTaskError as error:
        # A mistake is the user's: it stops the sweep; all else is the worker's.
        if isinstance(error.cause, Mistake):
            raise error.cause from None
        raise Mistake(f"--engine ray: a worker cannot run it: {_last_line(error)}") from error
    except (
        errors.WorkerCrashedError,
        errors.NodeDiedError,
        errors.ObjectLostError,
        errors.OutOfMemoryError,
    ) as error:
        ledger.failed(job, f"its worker died, {RETRIES} times again: {_last_line(error)}")
        return
    if isinstance(found, Failed):
        ledger.failed(job, found.message)
    else:
        ledger.store.keep_files(job.key, found)
        ledger.ran()


def _last_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[-1]


def _reach(address: str) -> None:
    """Ray itself waits for minutes until somebody answers."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "/" not in host:
        with socket.create_connection((host, int(port)), timeout=10):
            return


def _ray() -> ModuleType:
    """Ray, which phones home unless told not to before it is imported."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray warns of what it will do with GPUs one day; there are none in a run.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        # By its name: types are checked where it is not installed, too.
        return import_module("ray")
    except ImportError as error:
        raise Mistake(MISSING) from error
