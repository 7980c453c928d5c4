"""A run on several threads: the same results, and no more of them than there are cores."""

import json
from pathlib import Path

import pytest
from conftest import Program

import switchbed as sb
from switchbed import threads
from switchbed._native import plans

COMPARED = '[compare]\nscheme = ["none", "per-queue", "mq-ecn"]\n'


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)


@pytest.mark.parametrize(
    ("asked", "runs", "jobs", "given", "why"),
    [
        (1, 1, 2, 1, ""),
        (2, 1, 2, 2, "as asked"),
        (3, 1, 2, 2, "3 were asked for, and 1 run at a time shares 2 cores"),
        (2, 3, 2, 1, "2 were asked for, and 2 runs at a time share 2 cores"),
        (2, 3, 1, 2, "as asked"),
        (2, 3, 4, 1, "2 were asked for, and 3 runs at a time share 2 cores"),
    ],
)
def test_runs_at_a_time_share_the_cores(
    single: Path, two_cores: None, asked: int, runs: int, jobs: int, given: int, why: str
) -> None:
    if runs > 1:
        single.write_text(single.read_text() + COMPARED)
    found = threads.taken(asked, plans(single), jobs)
    assert (found.threads, found.why.split(";")[0]) == (given, why)
    assert threads.taken(asked, plans(single), jobs, any_threads=True).threads == asked


def test_the_command_says_what_it_took_and_the_tables_are_the_same(
    switchbed: Program, single: Path, tmp_path: Path
) -> None:
    def made(name: str, *more: str) -> tuple[dict[str, bytes], str]:
        done = switchbed("run", single, "--out", tmp_path / name, *more)
        folder = tmp_path / name
        files = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
        return files | {"summary": (folder / "summary.json").read_bytes()}, done.stderr

    alone, said = made("alone")
    assert "thread" not in said
    three, said = made("three", "--threads", "3", "--any-threads")
    assert "switchbed: 3 threads a run: as asked; " in said
    assert alone == three
    machine = json.loads((tmp_path / "three/machine.json").read_text())
    assert machine["threads_a_run"] == 3


def test_in_python_too(single: Path, two_cores: None) -> None:
    scenario = sb.Scenario.from_file(single)
    alone = scenario.run()
    assert scenario.run(threads=2).flows.equals(alone.flows)
    with pytest.warns(UserWarning, match="2 threads a run: 5 were asked for"):
        assert scenario.run(threads=5).flows.equals(alone.flows)
    with pytest.raises(sb.Mistake, match="threads is 0: a run needs at least 1"):
        scenario.run(threads=0)
