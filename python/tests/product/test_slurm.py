"""Sweeps as Slurm's job arrays: submitit is real, Slurm a script (fake_slurm.py)."""

import os
import signal
import sys
from pathlib import Path

import polars as pl
import pytest
from conftest import AT_ONCE_S, SWEEP, Program
from forked import HANGS_S
from test_ray import below, start, wait_for
from test_sweeps import contents

import switchbed as sb
from switchbed import _native
from switchbed.prototype import (
    Feedback,
    Intent,
    Marker,
    Notifier,
    Packet,
    Port,
    Random,
    View,
    scheme,
)
from switchbed.sweeps import key

LONG = """from switchbed.prototype import Intent, Marker
class Long(Marker):
    def __init__(self, port, threshold): ...
    def intend(self, view, queue, packet, rng):
        return Intent.Mark if view.queue_bytes(queue) > 9000 else Intent.Pass
"""
pytestmark = pytest.mark.needs("submitit")
FAKE = Path(__file__).parents[1] / "support" / "fake_slurm.py"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cluster of this machine; where its jobs are listed."""
    programs, home = tmp_path / "bin", tmp_path / "cluster"
    programs.mkdir()
    home.mkdir()
    for name in ("sbatch", "srun", "sacct", "scancel", "scontrol"):
        program = programs / name
        program.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
        program.chmod(0o755)
    monkeypatch.setenv("FAKE_SLURM", str(home))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return home


def test_a_sweep_is_an_array_of_jobs(
    switchbed: Program, sweep: Path, tmp_path: Path, slurm: Path
) -> None:
    asked = ["--partition", "short", "--time", "30", "--cpus-per-task", "2", "--jobs", "3"]
    asked += ["--runs-per-job", "6", "--slurm", "account=net", "--slurm", "exclusive"]
    seeds = ["--seeds", "5"]
    done = switchbed("sweep", sweep, *seeds, "--engine", "slurm", *asked, "--store", "slurm")
    assert "20 runs: 20 ran, 0 kept from before; in slurm" in done.stdout
    (script,) = slurm.glob("*.sh")
    lines = script.read_text().splitlines()
    for line in (
        "--array=0-3%3",
        "--partition=short",
        "--time=30",
        "--cpus-per-task=2",
        "--account=net",
        "--exclusive",
        "--job-name=switchbed",
    ):
        assert f"#SBATCH {line}" in lines
    switchbed("sweep", sweep, *seeds, "--store", "threads")
    assert contents(tmp_path / "slurm") == contents(tmp_path / "threads")
    assert not list((tmp_path / "slurm/.drafts").iterdir())
    again = switchbed("sweep", sweep, *seeds, "--engine", "slurm", *asked, "--store", "slurm")
    assert "20 runs: 0 ran, 20 kept" in again.stdout
    assert list(slurm.glob("*.sh")) == [script], "nothing is submitted for nothing"


def running(slurm: Path, job: str) -> list[int]:
    """The Python processes of a job."""
    pid = slurm / f"{job}.pid"
    found = below(int(pid.read_text())) if pid.exists() else ()
    return [child for child, name in found if "submitit" in name]


@pytest.mark.long
def test_a_job_that_dies_or_is_preempted(
    switchbed: Program, command: list[str], sweep: Path, tmp_path: Path, slurm: Path
) -> None:
    slow = ["--set", "flows=12_000", "--seeds", "4"]
    arguments = ["--engine", "slurm", "--runs-per-job", "8", "--store", "slurm"]
    store = tmp_path / "slurm"
    plans = _native.plans(sweep, ["flows=12_000", "compare.seed=[1, 2, 3, 4]"])
    runs = [store / "runs" / key.of(plan) for plan in plans]
    with start(command, "sweep", sweep.name, *slow, *arguments, cwd=tmp_path) as process:
        # Both are at work: neighbours are dealt out.
        wait_for(lambda: all(any(map(Path.exists, runs[job::2])) for job in (0, 1)), process)
        os.killpg(int((slurm / "77_0.pid").read_text()), signal.SIGKILL)
        for pid in running(slurm, "77_1"):
            os.kill(pid, signal.SIGUSR2)  # as Slurm before it takes a job's machine away
        printed, errors = process.communicate(timeout=HANGS_S)
    assert process.returncode == 1, errors
    assert (slurm / "requeued").read_text() == "77_1\n"
    rows = pl.read_parquet(store / "sweeps/sweep.parquet")
    lost = rows.filter(status="failed")
    assert 0 < len(lost) < 8, "what the dead job had finished is there"
    assert f"16 runs: {16 - len(lost)} ran, 0 kept from before, {len(lost)} failed" in printed
    for message in lost["message"]:
        assert "Slurm job 77_0: it ended (NODE_FAIL) before the run; its log: " in message
    retried = switchbed("sweep", sweep, *slow, *arguments, "--retry").stdout
    assert f"16 runs: {len(lost)} ran, {16 - len(lost)} kept from before" in retried
    switchbed("sweep", sweep, *slow, "--store", "threads")
    for place in ("runs", "failed", "sweeps"):
        assert contents(store / place) == contents(tmp_path / "threads" / place)


def test_ctrl_c_cancels_the_jobs(
    command: list[str], sweep: Path, tmp_path: Path, slurm: Path
) -> None:
    store = tmp_path / "switchbed-store"
    slow = ["--set", "flows=60_000", "--engine", "slurm", "--runs-per-job", "4"]
    with start(command, "sweep", sweep.name, *slow, cwd=tmp_path) as process:
        wait_for(lambda: list(store.glob("runs/*")), process)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=AT_ONCE_S)
    assert process.returncode == 130, errors
    assert "the same command goes on from here" in errors
    assert (slurm / "cancelled").read_text() == "77"
    assert not running(slurm, "77_0")
    assert not running(slurm, "77_1")


def test_jobs_can_be_processes_of_this_machine(tmp_path: Path) -> None:
    """The same by submitit's own executor for one machine."""
    (tmp_path / "sweep.toml").write_text(SWEEP)
    engine = sb.Slurm(cluster="local", runs_per_job=4)
    found = sb.sweep(tmp_path / "sweep.toml", tmp_path / "store", engine=engine)
    assert (found.ran, found.failed, len(found.frame)) == (8, 0, 8)


def test_schemes_in_python_run_in_jobs(tmp_path: Path) -> None:
    """One of a file, and two of no file, which are sent along; one of them tells sources."""
    (tmp_path / "mine.py").write_text(LONG)

    class Never(Marker):
        def __init__(self, port: Port, threshold: int) -> None: ...

        def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
            return Intent.Pass

    class Tells(Notifier):
        def __init__(self, port: Port, threshold: int) -> None: ...

        def stored(self, view: View, queue: int, packet: Packet, rng: Random) -> Feedback | None:
            return Feedback(9) if view.queue_bytes(queue) > 9000 else None

    of_a_file = {
        "name": "python",
        "label": "long",
        "params": {"file": str(tmp_path / "mine.py"), "class": "Long"},
    }
    (tmp_path / "sweep.toml").write_text(SWEEP)
    scenario = sb.Scenario.from_file(tmp_path / "sweep.toml").with_(
        {
            "compare.load": [0.8],
            "compare.scheme": [
                of_a_file,
                scheme(Never, label="never"),
                scheme(Tells, label="tells"),
            ],
            "reaction.limiters": "flow",
        }
    )
    slurm = sb.Slurm(cluster="local", runs_per_job=8)
    theirs = sb.sweep(scenario, tmp_path / "slurm", engine=slurm)
    ours = sb.sweep(scenario, tmp_path / "threads")
    assert (theirs.ran, theirs.failed) == (ours.ran, 0)
    assert theirs.frame.drop("run").equals(ours.frame.drop("run"))
    sums = theirs.frame.group_by("scheme").agg(pl.col("marks", "notifications").sum())
    of = {scheme: (marks, told) for scheme, marks, told in sums.iter_rows()}
    assert of["never"] == (0, 0)
    assert of["long"][0] > 0 == of["long"][1]
    assert of["tells"][0] == 0 < of["tells"][1]


def test_without_slurm_it_is_said(switchbed: Program, sweep: Path, tmp_path: Path) -> None:
    done = switchbed("sweep", sweep, "--engine", "slurm", code=2)
    assert len(done.stderr.splitlines()) == 1
    assert "no sbatch" in done.stderr
    assert not (tmp_path / "switchbed-store").exists()


@pytest.mark.parametrize("option", ["--partition=x", "--time=3", "--slurm=a=b", "--runs-per-job=2"])
def test_an_option_of_another_engine_is_refused(
    switchbed: Program, sweep: Path, option: str
) -> None:
    for other in ("ray", "threads"):
        done = switchbed("sweep", sweep, "--engine", other, option, code=2)
        assert f"{option.partition('=')[0]}: is for --engine slurm" in done.stderr
