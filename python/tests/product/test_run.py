"""`switchbed run`: the JSON others rely on, its order, its prints, Ctrl-C, and several threads."""

import json
import os
import pty
import re
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import AT_ONCE_S, SLOW, Program

import switchbed as sb
from switchbed import printing, runner, threads
from switchbed._native import plans
from switchbed.progress_bar import Silent
from switchbed.runner import Outcome

COUNTERS = ("marks", "drops", "timeouts", "packet_hops", "events", "seed", "schema_version")


def check_contract(summary: dict[str, Any]) -> None:
    assert {"count", "finished"} <= summary["flows"].keys()
    assert {"all", "small", "medium", "large"} <= summary["fct"].keys()
    for fct in summary["fct"].values():
        assert {"n", "mean_us", "p50_us", "p95_us", "p99_us"} <= fct.keys()
    for counter in COUNTERS:
        assert isinstance(summary[counter], int), counter
    assert isinstance(summary["version"], str)
    assert summary["wall_s"] > 0


def test_runs_end_where_the_system_has_no_thread_left(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def once(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", once)
    done = runner.run_all(plans(str(sweep), []), 2, lambda *_: None, Silent())
    assert "new thread" in str(done.stopped_by)
    assert len(done.outcomes) <= 1
    assert not started[0].is_alive()


def test_json_of_one_run_is_an_object(switchbed: Program, single: Path, tmp_path: Path) -> None:
    done = switchbed("run", single, "--json", "summary.json")
    summary = json.loads((tmp_path / "summary.json").read_text())
    check_contract(summary)
    assert "FCT" in done.stdout


def test_json_on_standard_output_is_alone_there(switchbed: Program, single: Path) -> None:
    for arguments in (["--json"], ["--json", "-"]):
        check_contract(json.loads(switchbed("run", single, *arguments).stdout))


def test_json_of_a_sweep_is_a_list_in_the_order_of_the_file(
    switchbed: Program, sweep: Path
) -> None:
    lists = [
        json.loads(switchbed("run", sweep, "--json", "-", "--jobs", jobs).stdout)
        for jobs in ("1", "4")
    ]
    for summaries in lists:
        for summary in summaries:
            check_contract(summary)
            assert summary.pop("settings")
            del summary["wall_s"]
    assert lists[0] == lists[1]


def test_a_sweep_prints_paired_ratios(switchbed: Program, sweep: Path) -> None:
    printed = switchbed("run", sweep).stdout
    assert "against that of per-queue: geometric mean over paired seeds (95 %" in printed
    assert re.search(r"MQ-ECN.* \d+\.\d % (lower|higher) \(−?\d+\.\d(–| to )\d+\.\d\)", printed)
    assert re.search(r"MQ-ECN .* ms (±\d|−\d+ to \+\d|\(not enough seeds\))", printed)
    assert "−1" not in re.sub(r"\(−?[\d.]+ to [\d.]+\)|−\d\d? to", "", printed)
    assert re.search(r"\d+ intervals of 95 % each: about \d", printed)


def test_seed_replaces_that_of_the_file(switchbed: Program, single: Path) -> None:
    summary = json.loads(switchbed("run", single, "--json", "-", "--seed", "7").stdout)
    assert summary["seed"] == 7


@pytest.mark.parametrize("whole", [True, False], ids=["sweep", "single"])
def test_ctrl_c_keeps_what_has_finished(
    command: list[str], sweep: Path, single: Path, tmp_path: Path, whole: bool
) -> None:
    file = sweep if whole else single
    long = SLOW if whole else ("--set", "flows=100_000_000", "--any-memory")
    arguments = ["run", file, *long, "--jobs", "1", "--out", "out", "--json", "found.json"]
    begun = ".out.*/*/summary.json" if whole else ".out.*"
    with subprocess.Popen(
        [*command, *map(str, arguments)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        while not any(tmp_path.glob(begun)):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=AT_ONCE_S)
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert not list(tmp_path.glob(".out*"))
    if whole:
        summary = json.loads((tmp_path / "out/summary.json").read_text())
        assert summary["complete"] is False
        assert 0 < len(summary["runs"]) < summary["planned"]
        found = json.loads((tmp_path / "found.json").read_text())
        assert len(found) == len(summary["runs"])
    else:
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "found.json").exists()


def test_progress_shows_on_a_terminal_and_only_there(command: list[str], single: Path) -> None:
    # Longer than anybody looks on, and nothing to warn of.
    sets = ["--set", "flows=2_000_000", "--set", "measure.warmup=1us"]
    arguments = [*command, "run", str(single), *sets, "--json", os.devnull]
    parent, child = pty.openpty()
    with (
        subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as unseen,
        subprocess.Popen(arguments, stderr=child, stdout=subprocess.DEVNULL) as seen,
    ):
        os.close(child)
        shown = b""
        while not re.search(rb"[\d,]+/2,000,000 flows", shown):
            assert seen.poll() is None, shown
            shown += read(parent)
        # It began first, and has been silent for as long.
        for process in (unseen, seen):
            process.send_signal(signal.SIGINT)
        _, unshown = unseen.communicate(timeout=AT_ONCE_S)
        while read(parent):
            pass
    os.close(parent)
    assert seen.returncode == unseen.returncode == 130
    assert unshown == b"switchbed: interrupted; nothing kept\n"


def read(terminal: int) -> bytes:
    """What a terminal holds; nothing once its other side is closed."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


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


SCENARIO = """
topology = { kind = "star", hosts = 4, rate = "1Gbps", delay = "25us" }
switch = { queues = 2, discipline = "dwrr", buffer = "300KB" }
scheme = { name = "per-queue", params = { threshold = "20pkt" } }
measure = { goodput_every = "5ms" }
run = { until = "50ms" }
[[traffic]]
kind = "long-lived"
from = [0, 1]
to = 3
classes = [0, 1]
[[traffic]]
kind = "probe"
from = 2
to = 3
every = "1ms"
classes = [1]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "probed.toml"
    path.write_text(SCENARIO)
    return path


def test_one_run_says_each_classs_goodput_and_the_probes_round_trips(
    switchbed: Program, scenario: Path
) -> None:
    said = switchbed("run", scenario).stdout
    assert re.search(r"goodput: \d+\.?\d* Mbps of class 0, \d+\.?\d* Mbps of class 1", said)
    assert re.search(r"round trips of \d+ probes from 2 to 3 in class 1: mean \d+", said)


def test_a_comparison_has_columns_for_what_was_measured_alone(
    switchbed: Program, scenario: Path, single: Path
) -> None:
    text = scenario.read_text()
    scenario.write_text(text + '[compare]\nscheme.params.threshold = ["20pkt", "40pkt"]\n')
    said = switchbed("run", scenario).stdout
    assert "goodput by class" in said
    assert re.search(r"[\d.]+ \+ [\d.]+ Mbps", said)
    assert re.search(r"busiest queue .*\n.*\n +20pkt .* \d+\.\d KB ", said)
    assert "scheme " not in said
    assert "RTT mean" in said
    assert "RTT p99" in said
    assert "all mean" not in said
    said = switchbed("run", single, "--set", "compare.load=[0.2, 0.3]").stdout
    assert "all mean" in said
    # No flow is large.
    assert re.search(r"large mean.*\n.*\n +0\.2 .* – ", said)
    assert "–: nothing of this kind has finished\n" in said
    assert "goodput by class" not in said
    assert "busiest queue" not in said
    assert "RTT" not in said


def test_rates_are_readable_from_megabits_to_terabits() -> None:
    assert printing.rates([9733e6, 1e6]) == "9733 + 1 Mbps"
    assert printing.rates([24.27e9, 0.5e9]) == "24.27 + 0.5 Gbps"
    assert printing.rates([3.2e12]) == "3200 Gbps"


def test_warnings_of_one_kind_take_one_line() -> None:
    def outcomes(*runs: list[str]) -> list[Outcome]:
        return [Outcome(i, {}, "x", {"warnings": each}, 0.0) for i, each in enumerate(runs)]

    small, large = (
        f"percentiles are mostly idle waits for a timer, which decides them: of {of} flows"
        for of in ("small", "large")
    )
    found = printing.warnings(
        outcomes([small, large, "3 packets were lost"], [small, "4 packets were lost"], ["a: b"])
    )
    assert found == [
        f"{small} (2 of 3 runs; 1 like it, 2 runs in all: their summaries have them)",
        "3 packets were lost (1 of 3 runs; 1 like it, 2 runs in all: their summaries have them)",
        "a: b (1 of 3 runs)",
    ]
    assert printing.warnings(outcomes([small, large])) == [small, large]
    head = "FCTs are mostly idle waits for a timer, which decides them"
    timer = f"{head}: of small flows (mean), for rto_min, 200ms"
    later = timer.replace("(mean)", "(slowdown: 95th, 99th percentile)")
    runs = [
        Outcome(0, {"scheme": "b", "load": load, "seed": seed}, "x", {"warnings": each}, 0.0)
        for load, seed, each in (
            (0.3, 1, [timer]),
            (0.3, 2, [later]),
            (0.6, 1, [timer]),
            (0.6, 2, []),
        )
    ]
    assert printing.warnings(runs) == [
        "FCTs are mostly idle waits for rto_min, 200ms: b, load 0.3 (small flows: mean, 95th, 99th "
        "percentile; 2 of 2 runs); b, load 0.6 (small flows: mean; 1 of 2 runs)"
    ]
    rest = "for the retransmission timer, transport.rto_min, 200ms"
    many = [
        f"FCTs are mostly idle waits for a timer, which decides them: {of}, {rest}"
        for of in (
            "of all flows (99.9th percentile), of medium flows "
            "(99th, 99.9th percentile; slowdown: 99th percentile)",
            "of traffic 0 (poisson) (median)",
            "of small flows (mean and all percentiles)",
        )
    ]
    heads = [
        "all flows: 99.9th percentile; medium flows: 99th, 99.9th percentile",
        "traffic 0 (poisson): median",
        "small flows: mean and all percentiles",
    ]
    for warning, head in zip(many, heads, strict=True):
        (line,) = printing.warnings([replace(runs[0], summary={"warnings": [warning]}), runs[3]])
        assert line == f"FCTs are mostly idle waits {rest}: b, load 0.3 ({head}; 1 of 1 runs)"
    # A short head, such as a key's name, does not make two warnings alike.
    assert len(printing.warnings(outcomes(["host.mtu: odd"], ["host.mtu: even"]))) == 2


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_goodputs_and_round_trips_are_tables(
    switchbed: Program, scenario: Path, tmp_path: Path, form: str
) -> None:
    switchbed("run", scenario, "--out", "out", "--tables", form)

    def read(name: str) -> pl.DataFrame:
        path = tmp_path / f"out/{name}.{form}"
        match form:
            case "parquet":
                return pl.read_parquet(path)
            case "csv":
                return pl.read_csv(path)
            case _:
                return pl.read_json(path)

    goodput = read("goodput")
    assert {"time_s", "class", "goodput_bps"} <= set(goodput.columns)
    assert len(goodput) == 2 * 10
    probes = read("probes")
    assert probes.columns == ["time_s", "src", "dst", "class", "rtt_s"]
    assert len(probes) == 50
    rtts = probes["rtt_s"].drop_nulls()
    assert len(rtts) >= 49
    assert (rtts > 100e-6).all()


def test_a_table_is_printed_as_rich_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    headings = ("FCT", "n", "mean")
    rows = [("all", "1,000", "–"), ("class 1", "10", "455.3 us")]
    printing.print_table(headings, rows)
    ours = capsys.readouterr().out
    console, table = printing.ruled(*headings)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    assert capsys.readouterr().out == ours
    # Where a character may be wider than one column, or the table than the output, it is rich's.
    printing.print_table(headings, [("\u4e2d" * 100, "1", "2")])
    assert len(capsys.readouterr().out.splitlines()) > 4
