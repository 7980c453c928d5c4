"""`switchbed sweep` and `switchbed query`."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from switchbed import library, options, printing, profiles, signals
from switchbed._native import Plan
from switchbed.store import Store
from switchbed.sweeps.engine import Engine
from switchbed.sweeps.stopping import Rule
from switchbed.sweeps.sweep import SweepResult, check, run
from switchbed.terminal import say

FAILED = 1


def sweep(
    file: Path,
    sets: Sequence[str],
    path: Path,
    name: str | None,
    seeds: int | None,
    rule: Rule | None,
    engine: Engine,
    *,
    retry: bool,
    quiet: bool = False,
) -> int:
    """Returns the exit code: 1 if a run failed."""

    given = library.given(file)

    def plans(chosen: Sequence[int] | None) -> list[Plan]:
        extra = [] if chosen is None else [f"compare.seed={list(chosen)}"]
        return given.plans([*sets, *extra])

    called = name or given.stem
    planned = plans(None)
    check(called, planned, rule)
    printing.load()
    begin = time.perf_counter()
    found = run(plans, Store(path), called, seeds, rule, engine, retry=retry, quiet=quiet)
    if found.outcomes and not quiet:
        printing.print_sweep(found.outcomes, time.perf_counter() - begin)
    if not quiet:
        say(f"{counts(found)}; in {path}, sweep {found.name}")
    if found.replaced:
        say(
            f"warning: sweep {found.name} had {found.replaced:,} other runs, which {path} keeps "
            "and its table has no more: --name keeps both tables",
            err=True,
        )
    sys.stdout.flush()
    for entry in found.failures:
        settings = " ".join(f"{key}={value}" for key, value in entry.settings.items())
        say(f"failed: {settings}: {entry.message}", err=True)
    if not quiet:
        if found.outcomes and (chosen := profiles.of_plans(planned)):
            say(chosen, err=True)
        printing.print_warnings(found.outcomes)
    if found.unmet is not None:
        say(f"warning: {found.unmet}", err=True)
    if found.stopped_by is not None:
        if not isinstance(found.stopped_by, KeyboardInterrupt):
            raise found.stopped_by
        say("switchbed: interrupted; the same command goes on from here", err=True)
        return signals.code(found.stopped_by)
    return FAILED if found.failures else 0


def counts(found: SweepResult) -> str:
    """`200 runs: 150 ran, 50 kept from before, 0 failed`."""
    parts = [f"{found.ran:,} ran", f"{found.kept:,} kept from before"]
    if found.failures:
        parts.append(f"{len(found.failures):,} failed")
    return f"{len(found.entries):,} runs: {', '.join(parts)}"


def query(path: Path, sql: str, json_to: str | None, csv_to: str | None) -> None:
    """Prints the rows, or writes them."""
    from switchbed.sweeps import query as asking

    frame = asking.query(path, sql)
    if csv_to is not None:
        options.write(asking.as_csv(frame), csv_to)
    if json_to is not None:
        options.write(asking.as_json(frame), json_to)
    if csv_to is None and json_to is None:
        printing.print_frame(frame.columns, frame.iter_rows())
