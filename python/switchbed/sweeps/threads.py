"""Runs on this machine's cores."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from switchbed import runner
from switchbed._native import Mistake, Plan, Results
from switchbed.prototype import sources
from switchbed.runner import Outcome
from switchbed.sweeps import key
from switchbed.sweeps.engine import Job, Ledger, Meter
from switchbed.threads import cores


@dataclass(frozen=True)
class Threads:
    """Threads of this process: a run holds no interpreter lock."""

    jobs: int | None = None
    """Runs at a time; all cores unless given."""
    any_memory: bool = False
    """Run even what needs more memory than there is."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def run(self, jobs: Sequence[Job], ledger: Ledger, meter: Meter) -> BaseException | None:

        def keep(plan: Plan, results: Results, outcome: Outcome) -> None:
            name = jobs[outcome.index].key
            known = plan.python and sources.known(json.loads(plan.scenario))
            # The file is read anew by each run: changed meanwhile, results would stand under the
            # wrong key.
            if known and key.of(plan) != name:
                raise Mistake("the source of a scheme has changed since the sweep began: again")
            ledger.store.keep(name, plan, results, outcome)
            ledger.ran()

        def tolerate(index: int, message: str) -> None:
            ledger.failed(jobs[index], message)

        plans = [job.plan for job in jobs]
        done = runner.run_all(
            plans, self.jobs or cores(), keep, meter, tolerate, any_memory=self.any_memory
        )
        return done.stopped_by
