"""Runs an experiment, and keeps of each run what is measured of it, in the store of all runs: an
interrupted reproduction goes on where it was, and what a sweep has run is not run again."""

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed import _native, files, runner, threads
from switchbed._native import Plan, Results
from switchbed.directory import MACHINE
from switchbed.prototype import sources
from switchbed.result import Result
from switchbed.runner import Meter, Outcome
from switchbed.store import Store
from switchbed.sweeps import key as keys
from switchbed_papers.reproduce.claims import Experiment, Paper, Scale
from switchbed_papers.reproduce.rows import Figures, Row, Rows
from switchbed_papers.reproduce.setup import JOINT, Point


def fct(result: Result) -> Figures:
    """The figures of the summary: `small.mean_us`, `small.n`, `slowdown.all.p99`, `timeouts`,
    `goodput_bps`, `class0.goodput_bps`, `probe0.mean_us`, `bottleneck.mean_bytes`, …"""
    summary = result.summary()
    found: Figures = {}
    for prefix, group in (("", "fct"), ("slowdown.", "slowdown")):
        for size_class, values in summary[group].items():
            # No claim is of the 99.9th, and committed rows are without it.
            kept = {name: value for name, value in values.items() if not name.startswith("p999")}
            found |= {f"{prefix}{size_class}.{name}": value for name, value in kept.items()}
    for values in summary["classes"]:
        found[f"class{values['class']}.goodput_bps"] = values["goodput_bps"]
    for index, values in enumerate(summary["probes"]):
        found |= {f"probe{index}.{name}": value for name, value in values.items()}
    if summary["endless"]:
        found["jain"] = summary["endless"]["jain"]
    found |= {f"bottleneck.{name}": value for name, value in summary["bottleneck"].items()}
    plain = ("goodput_bps", "marks", "drops", "timeouts", "retransmissions", "ecn_cuts")
    return found | {name: summary[name] for name in plain}


BUILT_IN: dict[str, Callable[[Result], Figures]] = {"fct": fct}


@dataclass(frozen=True)
class Job:
    """One run that an experiment needs."""

    plan: Plan
    settings: dict[str, Any]
    seed: int
    reading: str
    setup: str
    """The digest of the set-up; empty at other points of the grid than a reading's own."""
    key: str
    """Of the run, where its measurements are kept."""


def jobs(
    paper: Paper,
    experiment: Experiment,
    scale: Scale,
    first_seed: int,
    reading: str = JOINT,
    point: Point | None = None,
) -> list[Job]:
    """The runs of an experiment at a scale under a reading of its set-up, or at another point of
    the open settings' grid; each seed its own."""
    setup = experiment.setup
    source = _source(paper, experiment) + setup.source(reading)
    of = setup.digest(reading) if point is None else ""
    found = []
    sets = (*experiment.sets, *scale.sets)
    for seed in range(first_seed, first_seed + scale.seeds):
        for file in experiment.scenarios:
            for plan in setup.plans(file, sets, experiment.varies, reading, seed, point):
                settings = dict(json.loads(plan.settings))
                if len(experiment.scenarios) > 1:
                    settings["scenario"] = file.stem
                parts = [keys.inputs(plan), source, json.dumps(settings)]
                key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
                found.append(Job(plan, settings, seed, reading, of, key))
    return found


def run(
    paper: Paper,
    experiment: Experiment,
    needed: Sequence[Job],
    store: Store,
    progress_bar: Meter,
    *,
    any_memory: bool = False,
) -> None:
    """Runs those that have not run yet."""
    figures = extractor(paper, experiment)

    def measure(job: Job, result: Result, core_s: float) -> None:
        found = {"scheme": result.outcome.scheme, "build": _native.__build__, "core_s": core_s}
        store.keep_measured(job.key, found | {"figures": figures(result)})

    missing = []
    for job in needed:
        if store.measured(job.key) is None:
            kept = keys.inputs(job.plan)
            if store.has(kept):
                machine = files.read_json(store.run(kept) / MACHINE)
                took_s = machine.get("processor_s", machine["wall_s"])
                measure(job, Result.load(store.run(kept), job.settings), took_s)
            else:
                missing.append(job)

    def keep(plan: Plan, results: Results, outcome: Outcome) -> None:
        took_s = outcome.wall_s if outcome.processor_s is None else outcome.processor_s
        measure(missing[outcome.index], Result.of_run(plan, results, outcome), took_s)

    cores = threads.cores()
    plans = [job.plan for job in missing]
    try:
        done = runner.run_all(plans, cores, keep, progress_bar, any_memory=any_memory)
    finally:
        store.end()
    if done.stopped_by is not None:
        raise done.stopped_by


def rows(needed: Sequence[Job], store: Store) -> Rows:
    """Return the rows that the runs left in the store."""
    return Rows([_row(job, store) for job in needed])


def _row(job: Job, store: Store) -> Row:
    return Row.of(
        store.measured(job.key) or {},
        settings=job.settings,
        seed=job.seed,
        profile=job.reading,
        setup=job.setup,
        scenario=digest(job.plan),
    )


ADDED = {"dsack": False, "undo": False, "frto": False}
"""Keys of `[transport]` that came after the first rows, with the values that change no run."""


def digest(plan: Plan) -> str:
    """Return a hash that is equal for runs of one scenario. It covers the resolved text without the
    profile's name and the paths of lists, which differ between machines."""
    scenario = json.loads(plan.scenario)
    hosts = scenario["host"]
    each = hosts if isinstance(hosts, list) else [hosts]
    for host in each:
        host.pop("profile", None)
    for transport in (scenario["transport"], *(h["transport"] for h in each if "transport" in h)):
        for key, value in ADDED.items():
            if transport.get(key) == value:
                del transport[key]
    for source in scenario["traffic"]:
        # A list by what is in it, for the same reason.
        if "file" in source:
            source["file"] = sources.digest(Path(source["file"]))
    return hashlib.sha256(json.dumps(scenario, sort_keys=True).encode()).hexdigest()[:16]


def extractor(paper: Paper, experiment: Experiment) -> Callable[[Result], Figures]:
    """Return the function that extracts the kept figures of a run."""
    found = BUILT_IN.get(experiment.figures)
    if found is None:
        found = paper.function(experiment.figures)
    return found


def _source(paper: Paper, experiment: Experiment) -> str:
    """The code that takes the figures and the files that scenarios may name."""
    parts = [inspect.getsource(extractor(paper, experiment))]
    lists = sorted(paper.folder.glob("*.csv"))
    return hashlib.sha256("".join(parts + [f.read_text() for f in lists]).encode()).hexdigest()
