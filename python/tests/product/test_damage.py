"""Results and stores that are damaged, cut off, full of something else or on a full disk. All of it
is `evidence.robustness.damage` and its neighbours; here is a part that has each kind."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import switchbed as sb
from evidence.robustness import damage, full_disk
from evidence.robustness.damage import PLACES, Case, Place
from evidence.robustness.in_process import contents, switchbed
from switchbed.store import Store
from switchbed.sweeps.query import query

ROOT = Path(__file__).parents[3]


def some(place: Place, whole: Path) -> Iterator[Case]:
    """Each kind of damage to each kind of file, and each file, with the readers in turn."""
    slow = {name for name in place.readers if name.startswith("plot") and name != "plot cdf"}
    readers = [name for name in place.readers if name not in slow]
    seen: set[object] = set()
    for case in damage.cases(place, whole):
        facts = {case.file, (case.kind, case.file.suffix)}
        if case.reader == readers[len(seen) % len(readers)] and not facts <= seen:
            seen |= facts
            yield case
    keys = list(damage.mistyped_cases(place, whole, random.Random(1)))
    yield from [case for case in keys if case.reader not in slow][::40]


@pytest.mark.parametrize("place", PLACES, ids=[place.name for place in PLACES])
def test_each_reader_says_in_one_line_what_is_damaged(place: Place, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    place.make(whole)
    tried = list(some(place, whole))
    assert {case.kind for case in tried} >= set(damage.DAMAGES)
    assert {case.file for case in tried} == set(place.files(whole))
    found = {str(case): case.faults(whole, tmp_path / "damaged") for case in tried}
    assert {case: faults for case, faults in found.items() if faults} == {}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One with two runs."""
    file = tmp_path / "two.toml"
    file.write_text(damage.SCENARIO + "[compare]\nseed = [1, 2]\n")
    path = tmp_path / "store"
    assert switchbed("sweep", file, "--store", path).code == 0
    return path


def test_what_a_killed_sweep_once_left_in_a_store_is_not_read(store: Path) -> None:
    table = (store / "sweeps/two.parquet").read_bytes()
    (store / "sweeps/.two.host-7-abc.parquet").write_bytes(table)
    (store / "sweeps/.two.host-8-abc.parquet").write_bytes(table[:100])
    (store / "failed/.ab.json.host-7-abc").write_text("{")
    assert query(store, "select count(*) as n from runs")["n"][0] == 2
    assert switchbed("report", store, "--out", store.parent / "report.html").code == 0
    assert switchbed("sweep", store.parent / "two.toml", "--store", store).code == 0


def test_a_table_appears_in_a_store_only_whole(store: Path) -> None:
    """Nothing is ever written where a query looks."""
    seen: list[str] = []

    def look(event: str, given: tuple[object, ...]) -> None:
        if watching and event == "open" and given[1] in ("w", "wb", "x"):
            seen.append(str(given[0]))

    watching = True
    sys.addaudithook(look)
    opened = Store(store)
    opened.write_sweep("other", [{"run": "a"}])
    (plan,) = sb.plans(store.parent / "two.toml", ["compare.seed=[1]"])
    opened.fail("ab", plan, "because")
    watching = False
    assert len(seen) == 2
    assert all(Path(path).is_relative_to(store / ".drafts") for path in seen)


def test_a_store_is_asked_by_its_own_name(store: Path) -> None:
    """DuckDB takes a path for a pattern, and `k=1` for a column."""
    odd = store.parent / "k=1" / "s[t]o*"
    odd.parent.mkdir()
    store.rename(odd)
    assert query(odd, "select count(*) as n from runs join flows using (run)")["n"][0] == 60
    assert "k" not in query(odd, "select * from runs").columns


@pytest.mark.skipif(not full_disk.possible(), reason="needs root or user namespaces for a tmpfs")
def test_a_full_disk_is_said_in_a_line_and_costs_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", full_disk.MODULE, "23"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "each said so in a line" in done.stdout


@pytest.mark.skipif(not full_disk.possible(), reason="needs root or user namespaces for a tmpfs")
def test_a_store_that_cannot_be_written(store: Path) -> None:
    words = [sys.executable, "-m", "switchbed", "sweep", str(store.parent / "two.toml")]
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'

    def read_only(*more: str) -> str:
        inside = [*full_disk.NAMESPACE, "sh", "-c", script, str(store)]
        done = subprocess.run(
            [*inside, *words, "--store", str(store), *more],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, done.stderr
        (line,) = [x for x in done.stderr.splitlines() if x.startswith("switchbed: ")]
        return line

    for more in ([], ["--seeds", "3"]):
        line = read_only(*more)
        assert f"--store {store}: cannot be written: Read-only file system" in line
        assert "name a place that can be written" in line


def test_force_removes_only_what_a_run_wrote(tmp_path: Path) -> None:
    """Whether of one run or of several."""
    for name, compare in (("one", ""), ("all", damage.COMPARE)):
        file, out = tmp_path / f"{name}.toml", tmp_path / name
        file.write_text(damage.SCENARIO + compare)
        again = ("run", file, "--out", out)
        assert switchbed(*again).code == 0
        run = next(out.glob("0000-*"), out)
        for place in (out, run):
            mine = [place / "notes.txt", place / "flows.csv", place / "empty", place / "link"]
            mine[0].write_text("years")
            mine[1].write_text("of work")
            mine[2].mkdir()
            mine[3].symlink_to(tmp_path)
            before = contents(out)
            for path in mine:
                done = switchbed(*again, "--force")
                assert done.code == 2
                assert str(path.relative_to(out)) in done.err
                assert len(done.err.splitlines()) == 1
                assert contents(out) == before
                path.rmdir() if path.name == "empty" else path.unlink()
                before = contents(out)
        assert switchbed(*again, "--force").code == 0


def test_a_manifest_says_which_files_are_a_runs_own(tmp_path: Path) -> None:
    file, out = tmp_path / "one.toml", tmp_path / "out"
    trace = 'capture = ["switch:0"]\n'
    file.write_text(damage.SCENARIO + trace)
    assert switchbed("run", file, "--out", out, "--tables", "csv").code == 0
    listed = json.loads((out / "manifest.json").read_text())["files"]
    there = [str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()]
    assert listed == sorted(there)
    assert any(name.startswith("captures/") for name in listed)
    # Of a manifest that does not say it nothing is known to be a run's.
    (out / "manifest.json").write_text('{"format": "switchbed-results"}')
    assert switchbed("run", file, "--out", out, "--force").code == 2


def test_a_run_killed_as_it_replaces_another_gives_it_back(tmp_path: Path) -> None:
    file, out = tmp_path / "one.toml", tmp_path / "out"
    file.write_text(damage.SCENARIO)
    assert switchbed("run", file, "--out", out).code == 0
    before = contents(out)
    dead = subprocess.Popen(["true"])
    dead.wait()
    out.rename(tmp_path / f".out.{dead.pid}.old")
    assert "exists" in switchbed("run", file, "--out", out).err
    assert contents(out) == before
    # With its place taken since, it is what was to go.
    shutil.copytree(out, tmp_path / f".out.{dead.pid}.old")
    assert switchbed("run", file, "--out", out, "--force").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"one.toml", "out"}


@pytest.mark.parametrize(
    ("way", "reader"),
    [
        (("scenario", "measure", "large"), "plot cdf"),
        (("scenario", "transport", "mss"), "fct"),
    ],
)
def test_a_size_in_a_manifest_that_is_none_is_said_with_its_file(
    tmp_path: Path, way: tuple[str, ...], reader: str
) -> None:
    (tmp_path / "whole").mkdir()
    place = next(place for place in PLACES if place.name == "result")
    place.make(tmp_path / "whole")
    file = Path("out/manifest.json")
    case = Case(place, file, "= x", damage.mistyped(way, "x"), reader)
    assert case.faults(tmp_path / "whole", tmp_path / "damaged") == []


@pytest.mark.parametrize("value", [{"x": None}, "soon", "9", None])
def test_a_warm_up_in_a_manifest_that_is_none_is_said_with_its_file(
    tmp_path: Path, value: object
) -> None:
    file = tmp_path / "one.toml"
    file.write_text(damage.SCENARIO)
    assert switchbed("run", file, "--out", tmp_path / "out").code == 0
    path = tmp_path / "out/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["scenario"]["measure"]["warmup"] = value
    path.write_text(json.dumps(manifest))
    for words in (
        ("report", tmp_path / "out", "--out", tmp_path / "r.html"),
        ("table", tmp_path / "out", "--metric", "queue.mean_bytes"),
    ):
        done = switchbed(*words)
        assert "internal error" not in done.err
        assert done.code == 0 or str(tmp_path / "out") in done.err


def test_a_summary_without_a_value_that_may_be_null_is_damaged(store: Path) -> None:
    path = next((store / "runs").iterdir()) / "summary.json"
    whole = path.read_text()
    # Older summaries lack these.
    later = {"p999_us", "p999"}
    for way in [("fct", "small", key) for key in json.loads(whole)["fct"]["small"]] + [
        ("fct_by_met",),
        ("bottleneck", "p99_bytes"),
    ]:
        summary = json.loads(whole)
        inner = summary
        for key in way[:-1]:
            inner = inner[key]
        del inner[way[-1]]
        path.write_text(json.dumps(summary))
        done = switchbed("sweep", store.parent / "two.toml", "--store", store)
        assert done.code == (0 if way[-1] in later else 2), (way, done.err)
        assert done.code == 0 or (str(path) in done.err and way[-1] in done.err)


def test_a_store_without_its_sweeps_tables_is_named(store: Path) -> None:
    for file in (store / "sweeps").iterdir():
        file.unlink()
    done = switchbed("query", "select count(*) from runs", "--store", store)
    assert (done.code, done.err) == (2, f"switchbed: {store}: has no sweep's table; sweep again\n")


@pytest.mark.parametrize("asked", ["runs", "ports"])
def test_a_query_names_the_table_whose_metadata_is_damaged(store: Path, asked: str) -> None:
    """DuckDB says of some damages where they are, of this one not."""
    ports = sorted(store.glob("runs/*/ports.parquet"))[-1]
    content = bytearray(ports.read_bytes())
    metadata = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[metadata] ^= 0x0F
    ports.write_bytes(content)
    done = switchbed("query", f"select count(*) from {asked}, ports", "--store", store)
    assert done.code == 2
    assert f"; remove {ports.parent} and sweep again" in done.err


def test_a_pipe_in_a_store_is_refused_and_not_waited_for(store: Path) -> None:
    (flows, *_) = store.glob("runs/*/flows.parquet")
    flows.unlink()
    os.mkfifo(flows)
    done = switchbed("query", "select count(*) from runs", "--store", store)
    assert (done.code, done.err) == (2, f"switchbed: {flows}: cannot be read: it is no file\n")


def test_a_pipe_in_place_of_a_manifest_is_refused_and_not_waited_for(store: Path) -> None:
    manifest = next(store.glob("runs/*/manifest.json"))
    manifest.unlink()
    os.mkfifo(manifest)
    done = asked("query", "select count(*) from runs", "--store", str(store))
    assert done.returncode == 2
    assert f"{manifest}: cannot be read: it is no file" in done.stderr


def test_a_pipe_is_no_script(tmp_path: Path) -> None:
    pipe = tmp_path / "x.pkt"
    os.mkfifo(pipe)
    done = asked("drill", str(pipe))
    assert "cannot be read: it is no file" in done.stdout + done.stderr


def asked(*words: str) -> "subprocess.CompletedProcess[str]":
    """A program that is given a minute, since a pipe is waited for without an end."""
    command = [sys.executable, "-m", "switchbed", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
