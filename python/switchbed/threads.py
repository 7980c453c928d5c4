"""How many threads a run takes."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from switchbed._native import Plan


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Taken(NamedTuple):
    """Threads of each run, and why so many."""

    threads: int
    why: str = ""
    """Empty where one is what was asked for."""

    def __str__(self) -> str:
        few = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{few} a run: {self.why}"


def taken(asked: int, plans: Sequence[Plan], jobs: int, *, any_threads: bool = False) -> Taken:
    """Return the threads of each run: no more than the cores allow beside the other jobs, unless
    `any_threads`. Results are the same on any number."""
    if asked == 1:
        return Taken(1)
    if any(plan.python for plan in plans):
        return Taken(1, f"{asked} were asked for, and a scheme in Python runs on one")
    beside = min(jobs, len(plans))
    fair = max(1, cores() // beside)
    if asked <= fair or any_threads:
        return Taken(asked, "as asked; where a window has little work, one does it all")
    runs = "run at a time shares" if beside == 1 else "runs at a time share"
    return Taken(
        fair,
        f"{asked} were asked for, and {beside} {runs} {cores()} cores; "
        "--any-threads (any_threads=True) takes them all the same",
    )
