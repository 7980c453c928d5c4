"""Many runs on many threads. A run holds no interpreter lock, so threads are enough; one whose
scheme is in Python has a process of its own, and its thread waits for it."""

import functools
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from switchbed import free_memory, signals
from switchbed._native import Mistake, Panic, Plan, Progress, Results

TICK_S = 0.1
"""How often the main thread wakes. It has to: Polars replaces the handler of SIGINT by one
that restarts system calls, so a wait without end would not notice Ctrl-C."""
PATIENCE_S = 0.5
"""Seconds that cancelled runs get to end after a signal. Enough unless they write large tables."""


@dataclass(frozen=True)
class Outcome:
    """Result of a run that finished."""

    index: int
    """Position of the run among the plans."""
    settings: dict[str, Any]
    """Coordinates in `[compare]`, empty without. A scheme is given by its label."""
    scheme: str
    """The scheme's name in the registry."""
    summary: dict[str, Any]
    """Headline figures: the same for the same seed, whatever the machine and the threads."""
    wall_s: float
    processor_s: float | None = None
    """Seconds of the thread that ran it, where there was one and the system reports it."""

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` writes; settings only where there are any."""
        settings = {"settings": self.settings} if self.settings else {}
        return settings | self.summary | {"wall_s": self.wall_s}


class Sweep(NamedTuple):
    """Result of running all plans."""

    planned: int
    outcomes: list[Outcome]
    """Outcomes of finished runs in the plans' order, whatever the order of the threads."""
    stopped_by: BaseException | None
    """Exception that ended the sweep early."""


class Meter(Protocol):
    """Shows how far the runs are."""

    def show(self, tracks: Sequence[Progress]) -> None:
        """Show every run's progress; called every `TICK_S` or sooner."""


Keep = Callable[[Plan, Results, Outcome], None]
"""Called on the run's own thread as soon as it has finished, to write its tables: they
may be large and are dropped after it."""


Tolerate = Callable[[int, str], None]
"""Told the place of a run that failed, and why."""


def run_all(
    plans: Sequence[Plan],
    jobs: int,
    keep: Keep,
    progress_bar: Meter,
    tolerate: Tolerate | None = None,
    *,
    any_memory: bool = False,
    threads: int = 1,
) -> Sweep:
    """Runs the plans, `jobs` at a time on `threads` each. A signal, or an error in one of them,
    cancels the others; those that have finished are kept. With `tolerate` a run that fails by its
    own fault does not stop the others. Runs that need more memory than there is are refused before
    any starts, and a run that takes far more than it needs by its forecast is stopped, unless
    `any_memory`."""
    one = functools.partial(
        _one, keep=keep, tolerate=tolerate, threads=threads, any_memory=any_memory
    )
    if not any_memory:
        free_memory.Need.of(plans, jobs).check(free_memory.free())
    tracks = [Progress() for _ in plans]
    pool = _Pool(one, list(zip(plans, tracks, strict=True)), jobs)
    stopped_by: BaseException | None = None
    # One that raises in the midst of a pool's work leaves its locks held and its threads half made.
    with signals.held():
        try:
            pool.start()
            while pool.wait():
                signals.due()
                progress_bar.show(tracks)
            signals.due()
            if tracks:
                progress_bar.show(tracks)
        except BaseException as error:
            stopped_by = error
            pool.stop()
            for track in tracks:
                track.cancel()
            stopped_by = _settle(pool, stopped_by)
    return Sweep(len(plans), pool.outcomes(), stopped_by)


class _Pool:
    """Threads that take runs in their order. `concurrent.futures` imports `logging`: some 4 ms of
    each start."""

    def __init__(
        self,
        work: Callable[[int, Plan, Progress], Outcome | None],
        runs: Sequence[tuple[Plan, Progress]],
        jobs: int,
    ) -> None:
        self._work = work
        self._runs = runs
        self._threads = min(jobs, len(runs))
        self._done: dict[int, Outcome] = {}
        self._next = 0
        self._busy = 0
        """Threads that were started and have not ended."""
        self._error: BaseException | None = None
        """Error of the first run that failed."""
        self._changed = threading.Condition()

    def start(self) -> None:
        """Start as many threads as there are runs at a time."""
        for nth in range(self._threads):
            with self._changed:
                self._busy += 1
            try:
                threading.Thread(target=self._take, name=f"{signals.THREADS}_{nth}").start()
            except RuntimeError:  # the system has no more
                with self._changed:
                    self._busy -= 1
                raise

    def wait(self) -> bool:
        """Wait until all threads have ended or a run has failed, `TICK_S` at most. Whether threads
        are still busy. Raises a run's error."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy or self._error is not None, TICK_S)
            if self._error is not None:
                raise self._error
            return bool(self._busy)

    def stop(self) -> None:
        """Begin no further run."""
        with self._changed:
            self._next = len(self._runs)

    def settled(self) -> bool:
        """Wait for all threads, `TICK_S` at most. Whether all have ended."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, TICK_S)

    def outcomes(self) -> list[Outcome]:
        """Outcomes of the finished runs in the order of the runs."""
        with self._changed:
            return [outcome for _, outcome in sorted(self._done.items())]

    def _take(self) -> None:
        """Run what is left, until there is none."""
        try:
            while (index := self._index()) is not None:
                outcome = self._work(index, *self._runs[index])
                if outcome is not None:
                    with self._changed:
                        self._done[index] = outcome
        except BaseException as error:
            with self._changed:
                self._error = self._error or error
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _index(self) -> int | None:
        with self._changed:
            index = self._next
            self._next += 1
            return index if index < len(self._runs) and self._error is None else None


def _settle(pool: _Pool, why: BaseException) -> BaseException:
    """Waits for the runs that were cancelled under way; after a signal not for long. Returns what
    ended the wait if it was another."""
    end = time.monotonic() + PATIENCE_S
    try:
        while not pool.settled():
            if isinstance(why, KeyboardInterrupt) and time.monotonic() > end:
                break
    except KeyboardInterrupt as error:
        return error
    return why


def _one(
    index: int,
    plan: Plan,
    track: Progress,
    keep: Keep,
    tolerate: Tolerate | None,
    threads: int,
    any_memory: bool,
) -> Outcome | None:
    try:
        results, outcome = run_one(index, plan, track, threads, any_memory=any_memory)
    except (Mistake, Panic) as error:
        if tolerate is None:
            # A comparison's file alone does not say which of its runs it is.
            settings = " ".join(f"{key}={value}" for key, value in json.loads(plan.settings))
            if not settings or isinstance(error, Panic):
                raise
            raise Mistake(f"{settings}: {error}") from error
        tolerate(index, str(error))
        return None
    except signals.CancelledError:
        return None
    if track.cancelled:
        return None
    with plan._held():
        keep(plan, results, outcome)
    return outcome


def run_one(
    index: int, plan: Plan, track: Progress, threads: int = 1, *, any_memory: bool = False
) -> tuple[Results, Outcome]:
    """Runs the plan at this place on the caller's thread, or on so many of its own. Raises
    `signals.CancelledError` once the track is cancelled."""
    begin = time.perf_counter()
    results: Results | None
    if plan.python:
        # Processes, pipes and hashes take as long to import as all else here.
        from switchbed.prototype import process

        with plan._held():
            results = process.run(plan, track)
    else:
        results = plan.run(track, threads=threads, any_memory=any_memory)
    if results is None:
        raise signals.CancelledError
    wall_s = time.perf_counter() - begin
    return results, Outcome(
        index,
        settings=dict(json.loads(plan.settings)),
        scheme=json.loads(plan.scenario)["scheme"]["name"],
        summary=json.loads(results.summary),
        wall_s=wall_s,
        processor_s=results.processor_s,
    )
