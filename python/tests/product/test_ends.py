"""Every run comes to an end; and whatever it is busy with, a signal ends it at once, keeps what has
finished and leaves nothing else."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import pytest
from conftest import AT_ONCE_S, Program
from forked import HANGS_S

from switchbed import directory, files, signals

SLOW = ("--set", "flows=30_000")
"""Makes a run last for a while."""
MANY = (*SLOW, "--set", f"compare.seed={list(range(1, 51))}", "--jobs", "1")
"""Makes a comparison of many such, one after the other."""
LONG = ("--set", "flows=100_000_000", "--any-memory")
"""Makes a run last for minutes."""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

LOSSY = """
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "1us"
[switch]
buffer = "3KB"
[scheme]
name = "none"
[transport]
kind = "udp"
[[traffic]]
kind = "poisson"
load = 1.0
overload = true
flows = 200
sizes = "30KB"
from = [0, 1]
to = 2
connections = "fresh-no-handshake"
"""


@contextmanager
def begun(
    command: list[str], folder: Path, *arguments: str | Path
) -> Iterator[subprocess.Popen[str]]:
    """The program at work in the folder; killed if the test goes wrong."""
    with subprocess.Popen(
        [*command, *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: subprocess.Popen[str], folder: Path, pattern: str) -> None:
    """Until there is such a file, and a moment longer, so that work is under way."""
    while not any(folder.glob(pattern)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    time.sleep(0.3)


def end(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """What it says when the signal has ended it."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=AT_ONCE_S)
    assert process.returncode == 128 + number, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    return errors


@pytest.mark.parametrize("more", [(), ("--set", "measure.series_every=1us")], ids=["", "series"])
def test_a_run_that_loses_its_last_packets_ends(
    switchbed: Program, tmp_path: Path, more: tuple[str, ...]
) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    done = switchbed("run", "lossy.toml", "--out", "out", *more)
    flows = pl.read_parquet(tmp_path / "out/flows.parquet")
    lost = flows.filter(pl.col("fct_s").is_null())
    assert 0 < len(lost) < len(flows) == 200
    assert (lost["received_bytes"] < lost["size_bytes"]).all()
    says = f"{len(lost)} of 200 flows never finished: their last packets were lost"
    assert says in " ".join(done.stderr.split())


def test_a_load_that_no_clock_would_see_the_end_of_is_refused(
    switchbed: Program, single: Path
) -> None:
    done = switchbed("run", single, "--set", "load=1e-12", code=2)
    assert "the last flow would come after" in done.stderr
    assert "give a higher load, fewer flows, or until in [run]" in done.stderr


@pytest.mark.parametrize(
    "sets",
    [
        ("measure.series_every=1ps",),
        ("measure.goodput_every=1ps",),
        ("measure.convergence={ port = 'switch:0', window = '1ps' }",),
        ("measure.series_every=1us",),
    ],
    ids=["series 1ps", "goodput 1ps", "convergence 1ps", "series 1us"],
)
def test_a_run_that_looks_all_the_time_can_be_stopped(
    command: list[str], single: Path, tmp_path: Path, sets: tuple[str, ...]
) -> None:
    given = [word for key in sets for word in ("--set", key)]
    with begun(command, tmp_path, "run", single, *LONG, *given, "--out", "out") as process:
        wait_for(process, tmp_path, ".out*")
        assert "nothing kept" in end(process, signal.SIGINT)
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_keeps_what_has_finished(
    command: list[str], sweep: Path, tmp_path: Path, number: signal.Signals
) -> None:
    with begun(command, tmp_path, "run", sweep, *MANY, "--out", "out") as process:
        wait_for(process, tmp_path, ".out*/*/summary.json")
        assert "runs had finished and are kept" in end(process, number)
    assert (tmp_path / "out/summary.json").exists()
    assert not list(tmp_path.glob("out/.*"))
    assert not list(tmp_path.glob(".out*"))


def _directory(place: Path) -> AbstractContextManager[object]:
    return directory.Directory(place, force=False, form="parquet", is_sweep=False)


@pytest.mark.parametrize("begin", [_directory, files.whole], ids=["directory", "file"])
@pytest.mark.parametrize("body", [False, True], ids=["begun", "begun and ended"])
def test_a_signal_as_a_result_is_begun_or_ended_leaves_no_draft(
    tmp_path: Path, begin: Callable[[Path], AbstractContextManager[object]], body: bool
) -> None:
    """At any line of it."""
    for line in itertools.count(1):
        left = Countdown(line)
        sys.settrace(left.trace)
        try:
            with begin(tmp_path / "out") as draft:
                if not body:
                    sys.settrace(None)
                if isinstance(draft, Path):
                    draft.write_text("{}")
        except signals.Stopped:
            pass
        finally:
            sys.settrace(None)
            draft = None  # as the command's end lets go of it
        (tmp_path / "out").unlink(missing_ok=True)
        assert not list(tmp_path.iterdir()), left.place
        if left.lines:
            break
    assert line > 20


WITH_A_SIGNAL = """
import itertools, json, os, signal, sys
import polars
from switchbed import __main__, cli, printing, run

step, places = int(sys.argv.pop(1)), tuple(sys.argv.pop(1).split())
signal.signal(signal.SIGINT, signal.default_int_handler)

def trace(frame, event, _):
    global left
    if not frame.f_code.co_filename.endswith(places):
        return None
    if event == "line":
        left -= 1
        if left == 0:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGINT)
    return trace

status = 1
for left in itertools.count(1, step):
    os.mkdir(str(left))
    child = os.fork()
    if child == 0:
        os.chdir(str(left))
        os.dup2(os.open("stdout", os.O_CREAT | os.O_WRONLY), 1)
        os.dup2(os.open("stderr", os.O_CREAT | os.O_WRONLY), 2)
        sys.settrace(trace)
        __main__.main()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([left, status]), flush=True)
    if status not in (130, -2):
        break
"""
"""Runs of the program with Ctrl-C at a line of these files, a later one each time, until it ends
before that line comes."""


def test_ctrl_c_at_any_line_of_a_run_ends_it(single: Path, tmp_path: Path) -> None:
    """Of ours that start, follow and end it, and of the standard library's that they call: a
    thread begins, a lock is taken."""
    files = "threading.py runner.py signals.py cli.py ending.py store.py"
    words = ["run", str(single), "--set", "flows=20", "--out", "out", "--json", "found.json"]
    done = subprocess.run(
        [sys.executable, "-c", WITH_A_SIGNAL, "29", files, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(ends) > 10
    for line, status in ends:
        place = tmp_path / str(line)
        errors = (place / "stderr").read_text()
        assert not re.search("Traceback|Exception", errors), errors
        left = {path.name for path in place.iterdir()} - {"stdout", "stderr"}
        # As a shell has it, both are 130.
        assert status in (0, 130, -signal.SIGINT), (line, errors)
        assert left in ({"out", "found.json"}, {"out"}, set()), (line, left)
    assert status == 0
    assert left == {"out", "found.json"}


def test_ctrl_c_ends_the_program_as_it_begins(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os\nos.kill(os.getpid(), 2)\nos.abort()\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [sys.executable, "-m", "switchbed"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


class Countdown:
    """A signal comes at this line of ours."""

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.place = ""

    def trace(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(str(Path(directory.__file__).parent)):
            return None
        if event == "line" and self.lines:
            self.lines -= 1
            if not self.lines:
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                sys.settrace(None)
                signals._STATE.last = -signals.AGAIN_S
                signals._stop(signal.SIGINT, frame)
        return self.trace


def test_a_signal_ends_a_sweep(command: list[str], sweep: Path, tmp_path: Path) -> None:
    with begun(command, tmp_path, "sweep", sweep, *MANY) as process:
        wait_for(process, tmp_path, "switchbed-store/runs/*/summary.json")
        assert "goes on from here" in end(process, signal.SIGTERM)
    assert not list(tmp_path.glob("switchbed-store/.drafts/*"))
    assert not list(tmp_path.glob("switchbed-store/sweeps/.*"))


ENDLESS = "with recursive t as (select 1 as n union all select n + 1 from t) select count(*) from t"
QUERIES = {
    "recursion": ENDLESS,
    "range": "select count(*) from range(100000000000)",
    "rows": "select * from range(1000000000)",
}
ASKED = """
import os, sys, threading
from switchbed import cli
from switchbed.sweeps import query

def select(*arguments, of=query._select):
    of(*arguments)
    threading.Timer(0.5, os.kill, (os.getpid(), number)).start()

number = int(sys.argv.pop(1))
query._select = select
cli.main()
"""
"""A query that gets a signal half a second after it has been read."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of a run."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "lossy.toml").write_text(LOSSY)
    done = [sys.executable, "-m", "switchbed", "sweep", "lossy.toml", "--quiet"]
    subprocess.run(done, cwd=folder, capture_output=True, check=True)
    return folder


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
def test_a_signal_ends_a_query(asked: Path, sql: str, number: int) -> None:
    words = [sys.executable, "-c", ASKED, str(int(number)), "query", sql, "--csv", "found.csv"]
    begin = time.monotonic()
    done = subprocess.run(
        words, cwd=asked, capture_output=True, text=True, timeout=HANGS_S, check=False
    )
    assert time.monotonic() - begin < 0.5 + 2 * AT_ONCE_S
    assert (done.returncode, done.stdout) == (128 + number, "")
    assert done.stderr.strip() == "switchbed: interrupted"
    assert not list(asked.glob("*found*"))


OF_A_PROGRAM = """
import os, signal, sys, threading

import duckdb, polars
from pathlib import Path
from switchbed.sweeps.query import query

for sql in sys.argv[1:]:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        query(Path("switchbed-store"), sql)
    except KeyboardInterrupt:
        print("interrupted", threading.active_count())
print(query(Path("switchbed-store"), "select 7 as n").item())
"""


def test_ctrl_c_in_a_query_is_a_program_s_to_catch(asked: Path) -> None:
    words = [sys.executable, "-c", OF_A_PROGRAM, *QUERIES.values()]
    done = subprocess.run(
        words, cwd=asked, capture_output=True, text=True, timeout=HANGS_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["interrupted", "1"] * len(QUERIES) + ["7"]


LOADED = """
import sys
from switchbed import cli, runner

def run_all(*arguments, of=runner.run_all, **options):
    done = of(*arguments, **options)
    loaded.update(sys.modules)
    return done

loaded = set()
runner.run_all = run_all
try:
    cli.main()
finally:
    tools = {name for name in set(sys.modules) - loaded if "." not in name}
    print(len(loaded), *tools & {"numpy", "polars", "rich", "scipy"}, file=sys.stderr)
"""
"""What of other tools a command still loads once its runs have ended."""


@pytest.mark.parametrize("verb", ["run", "sweep"])
def test_what_a_table_of_runs_needs_is_loaded_before_they_run(
    sweep: Path, tmp_path: Path, verb: str
) -> None:
    """It takes half a second of a core, which a command that was told to end does not have."""
    words = [sys.executable, "-c", LOADED, verb, str(sweep), "--set", "flows=20"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded, *later = done.stderr.splitlines()[-1].split()
    assert int(loaded) > 100
    assert not later


def test_a_signal_ends_a_reproduction(command: list[str], tmp_path: Path) -> None:
    with begun(command, tmp_path, "reproduce", "mqecn/fig9", "--full", "--store", ".") as process:
        assert process.stderr is not None
        assert "core-hours" in process.stderr.readline()
        time.sleep(1)
        end(process, signal.SIGTERM)
    assert not list(tmp_path.rglob("*.partial"))


def test_a_signal_ends_a_benchmark(command: list[str], tmp_path: Path) -> None:
    with begun(command, tmp_path, "bench", "--repeat", "1000") as process:
        while not (children := children_of(process.pid)):
            time.sleep(0.02)
        time.sleep(0.5)
        children = children_of(process.pid) or children
        end(process, signal.SIGTERM)
    assert not any(Path(f"/proc/{child}/cmdline").exists() for child in children)


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if words[1] == str(pid):
            found.append(int(stat.parent.name))
    return found


def test_a_comparison_of_very_many_runs_can_be_given_up(
    command: list[str], sweep: Path, tmp_path: Path
) -> None:
    text = sweep.read_text()
    sweep.write_text(text.replace("seed = [1, 2]", f"seed = {list(range(25_000))}"))
    with begun(command, tmp_path, "scenario", "check", sweep) as process:
        while "detached" not in threads_of(process.pid):
            assert process.poll() is None
            time.sleep(0.02)
        end(process, signal.SIGINT)


def threads_of(pid: int) -> set[str]:
    """The names of a process's threads."""
    return {comm.read_text().strip() for comm in Path(f"/proc/{pid}/task").glob("*/comm")}


KEEPING = """
import sys, time
from switchbed import ending, runner, signals
from switchbed._native import plans
from switchbed.progress_bar import Silent

def keep(*_):
    print("keeping", flush=True)
    while True:
        time.sleep(600)

def work():
    sweep = runner.run_all(plans(sys.argv[1]), 1, keep, Silent())
    assert sweep.outcomes == []
    raise sweep.stopped_by

signals.install()
ending.finish(work)
"""


def test_what_takes_long_to_write_is_given_up(single: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KEEPING, str(single)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "keeping\n"
        end(process, signal.SIGTERM)


def test_what_nohup_ignores_is_ignored(command: list[str], single: Path, tmp_path: Path) -> None:
    with begun(["nohup", *command], tmp_path, "run", single, *SLOW, "--out", "out") as process:
        wait_for(process, tmp_path, ".out*")
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=HANGS_S)
    assert process.returncode == 0
    assert (tmp_path / "out/summary.json").exists()
