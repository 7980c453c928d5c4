"""The committed rows of the papers' runs beside today's engine."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from switchbed.progress_bar import Silent
from switchbed.store import Store
from switchbed_papers.reproduce import claims, evidence, page
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.claims import Experiment, Paper
from switchbed_papers.reproduce.experiment import Job
from switchbed_papers.reproduce.rows import Row
from switchbed_papers.reproduce.setup import JOINT

QUICK_S, AFFORDABLE_S = 0.3, 1.0
"""A run that took no longer is run again: each experiment's cheapest one, and all."""
OTHER_RESULTS = {
    "1ee52745bc649461",
    "26ef9717dc4e78aa",
    "2ed4968ffbbf2550",
    "4f01fc6599cf257e",
    "6439c6d53ee78481",
    "859dc4b2be32f086",
    "9f1d63860e7e6e75",
    "d287c9389deadd8c",
    "f237bb5175f6f688",
}
"""Builds since which results have changed on purpose (CHANGELOG): their rows are not run again."""


@dataclass(frozen=True)
class Kept:
    """A committed row that can be run again."""

    paper: Paper
    experiment: Experiment
    row: Row


def affordable() -> list[Kept]:
    """All committed rows whose runs are affordable, of set-ups that there are today."""
    return [
        Kept(paper, experiment, row)
        for paper in claims.papers().values()
        for experiment in paper.experiments.values()
        for reading, rows in evidence.read(paper, experiment).items()
        for row in rows
        if row.setup and reading in experiment.setup.readings
        if row.build not in OTHER_RESULTS and row.core_s <= AFFORDABLE_S
    ]


def cheapest() -> list[Kept]:
    """The cheapest row of each experiment: of two that took as long, by the scenario's digest."""
    found: dict[tuple[str, str], Kept] = {}
    for kept in sorted(affordable(), key=lambda kept: (kept.row.core_s, kept.row.scenario)):
        if kept.row.core_s <= QUICK_S:
            found.setdefault((kept.paper.name, kept.experiment.id), kept)
    return list(found.values())


def test_cheapest_row_of_each_experiment_is_what_todays_engine_gives(tmp_path: Path) -> None:
    again = cheapest()
    assert len(again) > 10
    assert not list(_differing(again, tmp_path))


@pytest.mark.long
def test_affordable_rows_are_what_todays_engine_gives(tmp_path: Path) -> None:
    assert not list(_differing(affordable(), tmp_path))


@pytest.mark.long
def test_build_of_each_row_is_named() -> None:
    text = page.render()
    for paper in claims.papers().values():
        for experiment in paper.experiments.values():
            for rows in evidence.read(paper, experiment).values():
                assert all(f"`{row.build}`" in text for row in rows), experiment.id


@pytest.mark.parametrize(
    ("ours", "theirs", "alike"),
    [
        ({"a": [1.0, None]}, {"a": [1.0 + 1e-13, None]}, True),
        ({"a": [1.0, None]}, {"a": [1.0 + 1e-6, None]}, False),
        ({"a": [1.0, None]}, {"a": [1.0]}, False),
        ({"a": 1.0}, {"a": 1.0, "b": 2.0}, False),
        ({"a": 0}, {"a": None}, False),
    ],
)
def test_figures_are_compared_to_nine_digits(ours: Any, theirs: Any, alike: bool) -> None:
    assert _same(ours, theirs) == alike


def _differing(again: list[Kept], folder: Path) -> Iterator[str]:
    """The rows that today's engine gives otherwise, or whose scenario resolves otherwise; to be run
    again with `switchbed reproduce PAPER/EXPERIMENT --full --commit`."""
    store = Store(folder / "store")
    jobs: dict[tuple[str, str, str, int], dict[str, Job]] = {}
    for kept in again:
        row = kept.row
        of = (kept.paper.name, kept.experiment.id, row.profile, row.seed)
        if of not in jobs:
            jobs[of] = _jobs(kept)
        found: Row | None = None
        if (job := jobs[of].get(row.scenario)) is not None:
            experiments.run(kept.paper, kept.experiment, [job], store, Silent())
            (found,) = experiments.rows([job], store)
        if found is None or not _same(found.figures, row.figures):
            yield f"{'/'.join(map(str, of))} {row.settings}"


def _jobs(kept: Kept) -> dict[str, Job]:
    """The runs of a row's reading and seed, by their scenarios as they resolve today."""
    row, experiment = kept.row, kept.experiment
    scale = experiment.full if row.profile == JOINT else experiment.other
    one = replace(scale, seeds=1)
    jobs = experiments.jobs(kept.paper, experiment, one, row.seed, row.profile)
    return {experiments.digest(job.plan): job for job in jobs}


def _same(ours: Any, theirs: Any) -> bool:
    """Whether figures are equal to nine digits: machines may differ in the last ones of a sum."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=1e-9)
    return bool(ours == theirs)
