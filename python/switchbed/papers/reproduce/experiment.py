"""Runs an experiment, and keeps what has run: a file a run, so that an interrupted
reproduction goes on where it was."""

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed import _native, runner, threads
from switchbed._native import Plan, Results
from switchbed.papers.reproduce.claims import Experiment, Paper, Scale
from switchbed.papers.reproduce.rows import Figures, Row, Rows
from switchbed.prototype import sources
from switchbed.result import Result
from switchbed.runner import Meter, Outcome


def fct(result: Result) -> Figures:
    """The figures of the summary: `small.mean_us`, `small.n`, `slowdown.all.p99`, `timeouts`,
    `goodput_bps`, `class0.goodput_bps`, `probe0.mean_us`, `bottleneck.mean_bytes`, …"""
    summary = result.summary()
    found: Figures = {}
    for size_class, values in summary["fct"].items():
        found |= {f"{size_class}.{name}": value for name, value in values.items()}
    for size_class, values in summary["slowdown"].items():
        found |= {f"slowdown.{size_class}.{name}": value for name, value in values.items()}
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
    profile: str
    file: Path
    """Where its row is kept."""


def jobs(
    paper: Paper,
    experiment: Experiment,
    scale: Scale,
    first_seed: int,
    store: Path,
    profile: str | None = None,
) -> list[Job]:
    """The runs of an experiment at a scale on hosts of a profile, of those that judge if none is
    named; each seed its own."""
    profile = profile or experiment.hosts.judged
    source = _source(paper, experiment) + experiment.hosts.source(profile)
    found = []
    sets = (*experiment.sets, *scale.sets)
    for seed in range(first_seed, first_seed + scale.seeds):
        for file in experiment.scenarios:
            for plan in experiment.hosts.plans(file, sets, experiment.varies, profile, seed):
                settings = dict(json.loads(plan.settings))
                if len(experiment.scenarios) > 1:
                    settings["scenario"] = file.stem
                parts = [_native.__build__, source, plan.scenario, plan.settings, file.stem]
                parts += map(sources.digest, sources.files(json.loads(plan.scenario)))
                key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
                kept = store / paper.name / experiment.id / f"{key[:24]}.json"
                found.append(Job(plan, settings, seed, profile, kept))
    return found


def run(
    paper: Paper,
    experiment: Experiment,
    needed: Sequence[Job],
    meter: Meter,
    *,
    any_memory: bool = False,
) -> None:
    """Runs those that have not run yet."""
    missing = [job for job in needed if not job.file.exists()]
    figures = extractor(paper, experiment)

    def keep(plan: Plan, results: Results, outcome: Outcome) -> None:
        job = missing[outcome.index]
        row = {
            "settings": job.settings,
            "seed": job.seed,
            "scheme": outcome.scheme,
            "profile": job.profile,
            "scenario": digest(plan),
            "build": _native.__build__,
            "figures": figures(Result.of_run(plan, results, outcome)),
            "wall_s": outcome.wall_s,
        }
        job.file.parent.mkdir(parents=True, exist_ok=True)
        draft = job.file.with_suffix(".partial")
        draft.write_text(json.dumps(row))
        draft.rename(job.file)

    cores = threads.cores()
    plans = [job.plan for job in missing]
    done = runner.run_all(plans, cores, keep, meter, any_memory=any_memory)
    if done.stopped_by is not None:
        raise done.stopped_by


def rows(needed: Sequence[Job]) -> Rows:
    """What the runs left."""
    return Rows([Row(**json.loads(job.file.read_bytes())) for job in needed])


def digest(plan: Plan) -> str:
    """What says whether two runs were of one scenario: its resolved text, without the profile's
    name and the paths of lists, which are others on each machine."""
    scenario = json.loads(plan.scenario)
    scenario["host"].pop("profile", None)
    for source in scenario["traffic"]:
        # A list by what is in it, for the same reason.
        if "file" in source:
            source["file"] = sources.digest(Path(source["file"]))
    return hashlib.sha256(json.dumps(scenario, sort_keys=True).encode()).hexdigest()[:16]


def extractor(paper: Paper, experiment: Experiment) -> Callable[[Result], Figures]:
    """What takes the figures of a run that are kept."""
    found = BUILT_IN.get(experiment.figures)
    if found is None:
        found = paper.function(experiment.figures)
    return found


def _source(paper: Paper, experiment: Experiment) -> str:
    """The code that takes the figures and the files that scenarios may name."""
    parts = [inspect.getsource(extractor(paper, experiment))]
    lists = sorted(paper.folder.glob("*.csv"))
    return hashlib.sha256("".join(parts + [f.read_text() for f in lists]).encode()).hexdigest()
