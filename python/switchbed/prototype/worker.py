"""The process that runs one scheme in Python, or looks whether it would run; `process` starts it
and reads what it sends."""

import json
import os
import random
import sys
import threading
import time
from multiprocessing.connection import Connection

from switchbed._native import Mistake, Panic, Plan, Progress, Results
from switchbed.prototype import load, sources

EVERY_S = 0.1
"""How often it tells how far it is."""


class Begun(Exception):  # noqa: N818
    """The ports are made, and nothing more was asked."""


def run(plan: Plan, pipe: Connection, *, checking: bool) -> Results | None:
    """Runs the plan, or only makes its ports. What a class does wrong is a `Mistake`."""
    progress = Progress()
    sent_at = 0.0

    def look() -> None:
        nonlocal sent_at
        if checking:
            raise Begun
        if time.monotonic() - sent_at >= EVERY_S:
            sent_at = time.monotonic()
            pipe.send(("counts", progress.counts()))

    scenario = json.loads(plan.scenario)
    files = sources.files(scenario)
    before = list(map(sources.digest, files))
    # Classes should draw from `rng`; those that do not shall repeat themselves at least.
    random.seed(scenario["run"]["seed"])
    try:
        results = plan.run(progress, load.make, look)
    except Begun:
        return None
    except (Mistake, Panic, ConnectionError):
        raise
    except BaseException as error:
        raise load.explain(error, [file.resolve().parent for file in files]) from error
    for file, digest in zip(files, before, strict=True):
        if sources.digest(file) != digest:
            raise Mistake(f"{file}: has changed during the run: start it again")
    assert results is not None, "nobody cancels it here"
    return None if checking else results


def _end_with(pipe: Connection) -> None:
    """Ends this process, whatever it does, once nobody waits for it."""
    pipe.poll(None)
    os._exit(1)


def main() -> None:
    """One plan in, results or a message out."""
    with Connection(int(sys.argv[1])) as pipe:
        try:
            plan, scenario, checking = pipe.recv()
            threading.Thread(target=_end_with, args=[pipe], daemon=True).start()
            if plan.scenario != scenario:
                raise Mistake("a file that the scenario names has changed: start it again")
            results = run(plan, pipe, checking=checking)
            pipe.send(("checked" if checking else "results", results))
        except Mistake as mistake:
            pipe.send(("mistake", str(mistake)))
        except Panic as panic:
            pipe.send(("panic", str(panic)))
        except ConnectionError:
            sys.exit(1)  # nobody waits for it any more


if __name__ == "__main__":
    main()
