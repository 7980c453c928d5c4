"""Sweeps on a Ray cluster: the same runs in the same store, whatever dies."""

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import AT_ONCE_S, SINGLE, Program
from forked import HANGS_S
from test_sweeps import contents

pytestmark = pytest.mark.needs("ray")
WORKERS = ["--engine", "ray", "--jobs", "2"]


@pytest.fixture(autouse=True)
def ray_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters of the test's own: with a token that is not the user's, and no word home."""
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def below(pid: int) -> Iterator[tuple[int, str]]:
    """The processes that descend from one, with their command lines."""
    parents, names = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            names[int(folder.name)] = (folder / "cmdline").read_text()
        except OSError:
            continue  # it has just ended
        parents[int(folder.name)] = int(parent)
    for child in parents:
        ancestor = child
        while ancestor in parents and ancestor != pid:
            ancestor = parents[ancestor]
        if ancestor == pid and child != pid:
            yield child, names[child]


def wait_for(found: Callable[[], object], process: subprocess.Popen[str]) -> None:
    while not found():
        assert process.poll() is None, "it ended early"
        time.sleep(0.01)


def start(command: list[str], *arguments: str, cwd: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*command, *arguments], cwd=cwd, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


@pytest.mark.long
def test_a_worker_that_is_killed_costs_no_run(
    switchbed: Program, command: list[str], sweep: Path, tmp_path: Path
) -> None:
    slow = ["--set", "flows=10_000", "--seeds", "5"]
    store = tmp_path / "ray"
    arguments = ["sweep", "sweep.toml", *slow, *WORKERS, "--store", "ray"]
    with start(command, *arguments, cwd=tmp_path) as process:
        wait_for(lambda: len(list(store.glob("runs/*"))) >= 5, process)
        busy: list[int] = []
        while not busy:
            assert process.poll() is None, "it ended before a worker could be killed"
            busy = [pid for pid, name in below(process.pid) if name.startswith("ray::execute")]
        os.kill(busy[0], signal.SIGKILL)
        assert len(list(store.glob("runs/*"))) < 20, "half-way"
        printed, errors = process.communicate(timeout=HANGS_S)
    assert process.returncode == 0, errors
    assert "20 runs: 20 ran, 0 kept from before; in ray" in printed
    switchbed("sweep", sweep, *slow, "--store", "threads")
    assert contents(store) == contents(tmp_path / "threads")


@pytest.mark.long
def test_ctrl_c_ends_the_cluster_and_keeps_what_has_finished(
    command: list[str], sweep: Path, tmp_path: Path
) -> None:
    store = tmp_path / "switchbed-store"
    slow = ["--set", "flows=60_000"]
    with start(command, "sweep", sweep.name, *slow, *WORKERS, cwd=tmp_path) as process:
        wait_for(lambda: list(store.glob("runs/*")), process)
        workers = dict(below(process.pid))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        printed, errors = process.communicate(timeout=AT_ONCE_S)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1].startswith("switchbed: interrupted; the same command goes on")
    assert "Traceback" not in errors
    kept = len(list(store.glob("runs/*")))
    assert f"{kept} runs: {kept} ran" in printed
    assert workers
    assert not [name for pid, name in workers.items() if Path(f"/proc/{pid}").exists()]


SCRIPT = """
import subprocess
import sys
import ray
import switchbed as sb

ray.init(address="local", num_cpus=1, object_store_memory=2**27, include_dashboard=False,
         log_to_driver=False, logging_level="ERROR")
found = sb.sweep("scenario.toml", "store", engine=sb.Ray())
assert ray.is_initialized(), "a cluster that was there stays"
(failure,) = found.failures
assert (found.ran, found.failed) == (1, 1), found
assert failure.settings == {"scheme.params.fails": True}
assert "mine.py:5: Mine.intend: ValueError: as asked" in failure.message, failure.message

def mine():  # a class that no file holds, as one of a notebook
    from switchbed.prototype import Feedback, Notifier

    class Tells(Notifier):
        def __init__(self, port, fails):
            self.above = 3000 if fails else 9000

        def stored(self, view, queue, packet, rng):
            return Feedback(9) if view.queue_bytes(queue) > self.above else None

    return Tells

scenario = sb.Scenario.from_file("scenario.toml").with_({
    "scheme": sb.prototype.scheme(mine()), "reaction.limiters": "flow",
})
theirs = sb.sweep(scenario, "ray", name="mine", engine=sb.Ray())
ours = sb.sweep(scenario, "threads", name="mine")
assert theirs.ran == ours.ran == 2, theirs.failures
assert min(theirs.frame["notifications"]) > 0
assert theirs.frame.drop("run").equals(ours.frame.drop("run"))

there = ["--engine", "ray", "--address", ray.get_runtime_context().gcs_address]
done = subprocess.run([sys.argv[1], "sweep", "scenario.toml", "--seeds", "2", *there], check=False)
assert done.returncode == 1
"""
FAILING = """from switchbed.prototype import Intent, Marker
class Mine(Marker):
    def intend(self, view, queue, packet, rng):
        if self.fails:
            raise ValueError("as asked")
        return Intent.Pass
    def __init__(self, port, fails):
        self.fails = fails
"""


@pytest.mark.long
def test_schemes_in_python_on_a_cluster_that_is_there(command: list[str], tmp_path: Path) -> None:
    """A run that fails is recorded and the rest goes on; classes of no file are sent along."""
    scheme = '[scheme]\nname = "python"\nparams = { file = "mine.py", class = "Mine" }\n'
    text = re.sub(r"\[scheme\].*?(?=\[transport\])", scheme, SINGLE, flags=re.S)
    text += '[compare]\n"scheme.params.fails" = [true, false]\n'
    (tmp_path / "scenario.toml").write_text(text)
    (tmp_path / "mine.py").write_text(FAILING)
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-W", "error", "script.py", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "4 runs: 2 ran, 0 kept from before, 2 failed; in switchbed-store" in done.stdout


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_extra_is_one_line_with_the_command(
    switchbed: Program,
    sweep: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    package: str,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hiding"))
    (tmp_path / "hiding").mkdir()
    (tmp_path / f"hiding/{package}.py").write_text("raise ImportError")
    done = switchbed("sweep", sweep, "--engine", engine, code=2)
    assert len(done.stderr.splitlines()) == 1
    assert f"pip install '{package}>=" in done.stderr
    assert not (tmp_path / "switchbed-store").exists()


def test_an_address_without_a_cluster_is_said(switchbed: Program, sweep: Path) -> None:
    address = "127.0.0.1:1"
    done = switchbed("sweep", sweep, "--engine", "ray", "--address", address, code=2)
    assert len(done.stderr.splitlines()) == 1
    assert f"--address {address}: no Ray cluster there" in done.stderr
