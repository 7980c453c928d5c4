"""The committed rows of the papers' runs beside today's engine."""

import hashlib
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from switchbed import _native
from switchbed.meter import Silent
from switchbed.store import Store
from switchbed_papers.reproduce import claims, evidence, page
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.rows import Row
from switchbed_papers.reproduce.setup import JOINT

CHEAP_S = 0.3
"""A run that took no longer is run again."""
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


@pytest.mark.parametrize("budget_s", [2.0, pytest.param(12.0, marks=pytest.mark.long)])
def test_rows_of_another_engine_are_what_todays_gives_or_their_build_is_named(
    budget_s: float, tmp_path: Path
) -> None:
    """A tenth of the cheap runs, another tenth for each engine, within a budget of the time that
    they took before. Rows of set-ups that resolve otherwise today are of an earlier build, which
    the page names."""
    draw = Random(_native.__build__)
    left_s = budget_s
    differing = []
    store = Store(tmp_path / "store")
    text = page.render()
    for paper in claims.papers().values():
        for experiment in paper.experiments.values():
            chosen: dict[tuple[str, int], list[Row]] = defaultdict(list)
            for profile, rows in evidence.read(paper, experiment).items():
                for row in rows:
                    if row.build in OTHER_RESULTS:
                        assert f"`{row.build}`" in text, paper.name
                        continue
                    cheap = row.wall_s < CHEAP_S and row.build != _native.__build__
                    if cheap and draw.random() < 0.1 and left_s > row.wall_s:
                        left_s -= row.wall_s
                        chosen[profile, row.seed].append(row)
            for (profile, seed), kept in chosen.items():
                if profile not in experiment.setup.readings or not kept[0].setup:
                    assert all(f"`{row.build}`" in text for row in kept), paper.name
                    continue
                scale = experiment.full if profile == JOINT else experiment.other
                scale = replace(scale, seeds=1)
                jobs = experiments.jobs(paper, experiment, scale, seed, profile)
                wanted = {row.scenario: row for row in kept}
                again = [job for job in jobs if experiments.digest(job.plan) in wanted]
                same = {experiments.digest(job.plan) for job in again}
                for row in kept:
                    assert row.scenario in same or f"`{row.build}`" in text, paper.name
                experiments.run(paper, experiment, again, store, Silent())
                for row in experiments.rows(again, store):
                    if _figures(row) != _figures(wanted[row.scenario]):
                        differing.append(f"{paper.name}/{experiment.id} {profile} seed {seed}")
    assert not differing, "run them again with switchbed reproduce --full --commit"


def _figures(row: Row) -> str:
    return hashlib.sha256(json.dumps(row.figures, sort_keys=True).encode()).hexdigest()
