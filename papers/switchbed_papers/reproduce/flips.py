"""What in the hosts flips a claim's verdict: the judged profile with one setting of another's at a
time, at the quick scale, and with all of them, which is the other profile itself."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from switchbed import toml
from switchbed._native import Mistake
from switchbed.meter import meter
from switchbed.store import Store
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce import measures
from switchbed_papers.reproduce.claims import Claim, Experiment, Paper, Scale
from switchbed_papers.reproduce.hosts import SECTIONS, flat
from switchbed_papers.reproduce.rows import Rows
from switchbed_papers.reproduce.verdict import judge


@dataclass(frozen=True)
class Flip:
    """A claim that has another verdict on other hosts, and what brings it there."""

    claim: str
    profile: str
    """The other one."""
    judged: str
    """The verdict on the judged hosts, at this scale."""
    other: str
    """And on the others."""
    by: dict[str, str]
    """Settings of the other profile each of which alone, on the judged one, gives the other's
    verdict: KEY = VALUE, and what was measured."""
    seeds: int


def flips(paper: Paper, experiment: Experiment, store: Store, seeds: int | None) -> list[Flip]:
    """Of each claim of an experiment and each other profile under which its verdict is another."""
    scale = Scale(experiment.quick.sets, seeds or experiment.full.seeds, "")
    judged = experiment.hosts.judged
    base = _rows(paper, experiment, scale, judged, store)
    found = []
    for profile in experiment.hosts.others:
        there = _rows(paper, experiment, scale, profile, store)
        changed = [
            (claim, before, after)
            for claim in _claims(paper, experiment)
            if (before := _verdict(paper, claim, base)[0])
            != (after := _verdict(paper, claim, there)[0])
            and "undecided" not in (before, after)
        ]
        by: dict[str, dict[str, str]] = {claim.id: {} for claim, _, _ in changed}
        for setting in _differing(paper, experiment, profile) if changed else ():
            one = Scale((*scale.sets, setting), scale.seeds, "")
            try:
                rows = _rows(paper, experiment, one, judged, store)
            except Mistake:
                continue  # it goes with others alone
            for claim, _, after in changed:
                verdict, measured = _verdict(paper, claim, rows)
                if verdict == after:
                    by[claim.id][setting.replace("=", " = ", 1)] = measured
        found += [
            Flip(claim.id, profile, before, after, by[claim.id], scale.seeds)
            for claim, before, after in changed
        ]
    return found


def commit(paper: Paper, experiment: Experiment, found: list[Flip]) -> None:
    """Keeps them beside the rows."""
    text = json.dumps([asdict(flip) for flip in found], indent=1, ensure_ascii=False)
    file(paper, experiment).write_text(text + "\n", encoding="utf-8")


def read(paper: Paper, experiment: Experiment) -> list[Flip]:
    """The committed ones."""
    path = file(paper, experiment)
    if not path.exists():
        return []
    return [Flip(**each) for each in json.loads(path.read_text(encoding="utf-8"))]


def file(paper: Paper, experiment: Experiment) -> Path:
    """Where an experiment's are."""
    return paper.folder / "rows" / f"{experiment.id}.flips.json"


def in_words(flip: Flip) -> str:
    """A flip in a sentence."""
    begin = f"`{flip.claim}`: {flip.judged} on the judged hosts, {flip.other} on {flip.profile}"
    scale = f"({flip.seeds} seeds at the quick scale)"
    if not flip.by:
        return f"{begin}; no single setting of theirs makes it so {scale}."
    by = "; ".join(f"`{setting}` ({measured})" for setting, measured in flip.by.items())
    return f"{begin}; so it is with one setting of theirs alone: {by} {scale}."


def _claims(paper: Paper, experiment: Experiment) -> Iterator[Claim]:
    return (claim for claim in paper.claims.values() if claim.experiment == experiment.id)


def _rows(paper: Paper, experiment: Experiment, scale: Scale, profile: str, store: Store) -> Rows:
    needed = experiments.jobs(paper, experiment, scale, 1, profile)
    with meter() as shown:
        experiments.run(paper, experiment, needed, store, shown)
    return experiments.rows(needed, store)


def _verdict(paper: Paper, claim: Claim, rows: Rows) -> tuple[str, str]:
    """And what was measured, in words."""
    found = measures.measure(paper, claim, rows)
    return judge(claim.target, found), f"{found.estimate:.4g} {claim.unit}".strip()


def _differing(paper: Paper, experiment: Experiment, profile: str) -> Iterator[str]:
    """The other profile's settings that are not the judged one's, as `--set` takes them."""
    ours, theirs = (
        _settings(paper, experiment, name) for name in (experiment.hosts.judged, profile)
    )
    varied = {each.key for each in experiment.hosts.ranges}
    for key, value in theirs.items():
        if value is not None and ours.get(key) != value and key not in varied:
            yield f"{key}={toml.value(key, value)}"


def _settings(paper: Paper, experiment: Experiment, profile: str) -> dict[str, Any]:
    scale = Scale(experiment.quick.sets, 1, "")
    job, *_ = experiments.jobs(paper, experiment, scale, 1, profile)
    scenario = json.loads(job.plan.scenario)
    settings = flat({name: scenario[name] for name in SECTIONS})
    return {key: value for key, value in settings.items() if key not in ("host.profile",)}
