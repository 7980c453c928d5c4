"""`switchbed run`: plan, run on all cores, write, print."""

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from switchbed import (
    files,
    free_memory,
    library,
    options,
    printing,
    profiles,
    runner,
    signals,
    tables,
)
from switchbed._native import Mistake, Plan, Results
from switchbed.progress_bar import progress_bar
from switchbed.runner import Outcome, Sweep
from switchbed.terminal import say
from switchbed.threads import taken

if TYPE_CHECKING:
    from switchbed.directory import Directory


class Request(NamedTuple):
    """The command line of `switchbed run`."""

    file: Path
    """Path of the scenario, or `@NAME`, or `-` (`library.given`)."""
    sets: Sequence[str] = ()
    seed: int | None = None
    json_to: str | None = None
    """A path, or `-` for standard output, which then holds nothing else."""
    out: Path | None = None
    force: bool = False
    form: tables.Format = "parquet"
    jobs: int = 1
    any_memory: bool = False
    threads: int = 1
    """Threads of each run."""
    any_threads: bool = False
    quiet: bool = False
    """Whether to print errors only."""


class Finished(NamedTuple):
    """Result of `execute`."""

    sweep: Sweep
    is_sweep: bool
    """The file has `[compare]`, be it with one combination only."""
    wall_s: float
    captures: bool
    """Packet traces were asked for."""
    hosts: str | None
    """Remark about host settings that the user did not choose."""


def run(request: Request) -> int:
    """`switchbed run`: returns the exit code. Bad input raises `Mistake` before anything
    has run."""
    _check_json(request.json_to)
    done = execute(request)
    if done.sweep.outcomes:
        _publish(request, done)
    return _ending(done.sweep)


def execute(request: Request) -> Finished:
    """Runs the request and writes its result directory. A sweep that was stopped keeps
    what has finished."""
    plans = library.given(request.file).plans(request.sets, request.seed)
    is_sweep = len(plans) > 1 or bool(json.loads(plans[0].settings))
    need = free_memory.Need.of(plans, request.jobs)
    if need.bytes >= free_memory.LARGE and not request.quiet:
        say(f"switchbed: {need}", err=True)
    threads = taken(request.threads, plans, request.jobs, any_threads=request.any_threads)
    if threads.why:
        say(f"switchbed: {threads}", err=True)
    if is_sweep:
        printing.load()
    with _directory(request, is_sweep) as out:

        def keep(plan: Plan, results: Results, outcome: Outcome) -> None:
            if out is not None:
                out.keep(plan, results, outcome)

        begin = time.perf_counter()
        with progress_bar(quiet=request.quiet) as shown:
            sweep = runner.run_all(
                plans,
                request.jobs,
                keep,
                shown,
                any_memory=request.any_memory,
                threads=threads.threads,
            )
        wall_s = time.perf_counter() - begin
        if out is not None and sweep.outcomes:
            out.commit(sweep, wall_s, request.jobs, threads.threads)
    captures = any(json.loads(plan.scenario)["measure"].get("capture") for plan in plans)
    return Finished(sweep, is_sweep, wall_s, captures, profiles.of_plans(plans))


def _directory(request: Request, is_sweep: bool) -> "AbstractContextManager[Directory | None]":
    if request.out is None:
        return nullcontext()
    from switchbed.directory import Directory

    return Directory(request.out, force=request.force, form=request.form, is_sweep=is_sweep)


def _publish(request: Request, done: Finished) -> None:
    """JSON where it was asked for; tables on standard output unless the JSON is there."""
    outcomes = done.sweep.outcomes
    if request.json_to is not None:
        objects = [outcome.to_json() for outcome in outcomes]
        found = objects if done.is_sweep else objects[0]
        text = json.dumps(found, indent=2, allow_nan=False) + "\n"
        options.write(text, request.json_to)
    if request.json_to != "-" and not request.quiet:
        if done.is_sweep:
            printing.print_sweep(outcomes, done.wall_s)
        else:
            printing.print_run(outcomes[0])
        if request.out is not None:
            say(f"written to {request.out}")
        elif done.captures:
            say("the packet traces (measure.capture) are kept only with --out DIR")
    sys.stdout.flush()
    if not request.quiet:
        if done.hosts:
            say(done.hosts, err=True)
        printing.print_warnings(outcomes)


def _ending(sweep: Sweep) -> int:
    if sweep.stopped_by is None:
        return 0
    if not isinstance(sweep.stopped_by, KeyboardInterrupt):
        raise sweep.stopped_by
    kept = f"{len(sweep.outcomes)} of {sweep.planned} runs had finished and are kept"
    say(f"switchbed: interrupted; {kept if sweep.outcomes else 'nothing kept'}", err=True)
    return signals.code(sweep.stopped_by)


def _check_json(target: str | None) -> None:
    """Refuses what could not be written once the runs are done."""
    if target is None or target == "-":
        return
    path = Path(target)
    files.free(path, "--json")
    if not os.access(path.parent, os.W_OK):
        raise Mistake(f"--json {path}: the directory {path.parent} does not exist or is read-only")
