"""The package away from its source tree: a copy of what a wheel has of it, in another place.
`evidence.robustness.wheels` builds the wheels and tries them in environments of their own.

The package without what Windows lacks, too.
"""

import subprocess
import sys
from pathlib import Path

import away
import pytest
from click.testing import CliRunner

from switchbed import _native
from switchbed.cli import cli

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is installed; its `work` is where commands run."""
    place = tmp_path_factory.mktemp("away")
    away.copied(place, {"switchbed": ROOT / "python/switchbed"})
    return place


def test_it_is_the_copy_that_runs(place: Path) -> None:
    found = away.run(place, "-c", "import switchbed; print(switchbed.__file__)")
    assert Path(found.strip()).is_relative_to(place)


@pytest.mark.long
def test_main_commands_need_no_source_tree(place: Path) -> None:
    def run(*words: str) -> str:
        return away.run(place, "-m", "switchbed", *words)

    run("new", "star")
    short = ("--set", "flows=50")
    run("run", "star.toml", *short, "--out", "run")
    run("sweep", "star.toml", *short, "--set", 'compare.scheme=["per-queue", "none"]')
    run("plot", "cdf", "run", "--out", "cdf.svg")
    run("report", "run")
    assert "flows" in run("query", "select count(*) as flows from flows")


def test_a_build_without_the_live_switch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_native, "live_plan")
    with pytest.raises(_native.Mistake, match="built without the live switch"):
        CliRunner().invoke(cli, ["live", "keys"], catch_exceptions=False, standalone_mode=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(_native.Mistake, match="needs Linux"):
        CliRunner().invoke(cli, ["live", "keys"], catch_exceptions=False, standalone_mode=False)


HIDDEN = """
import multiprocessing.connection, os, signal, subprocess, sys  # as they are here
import click, polars, rich.progress, rich.table
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
del os.O_DIRECTORY, os.getuid, os.geteuid, os.sched_getaffinity, os.uname, signal.SIGHUP
sys.platform = "win32"
from switchbed.__main__ import main
main()
"""


def elsewhere(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDDEN, *words]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def test_a_scenario_runs_without_what_windows_lacks(single: Path, tmp_path: Path) -> None:
    short = ("run", str(single), "--set", "flows=20", "--out", "out")
    done = elsewhere(tmp_path, *short)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/flows.parquet").exists()
    live = elsewhere(tmp_path, "live", "lab", str(single))
    assert (live.returncode, live.stderr) == (2, "switchbed: the live switch needs Linux\n")
