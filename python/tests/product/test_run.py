"""`switchbed run`: the JSON others rely on, its order, Ctrl-C."""

import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import AT_ONCE_S, SLOW, Program

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
