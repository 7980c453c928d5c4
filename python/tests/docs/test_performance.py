"""The blocks of docs/performance.md follow from the committed results."""

import copy
import json
from typing import Any

import pytest

import bench_core
import bench_memory
import bench_schemes
import bench_sizes
import performance
import sizes
from switchbed import _native

PAGE = f"# Performance\n\nbefore\n\n{performance.BEGIN}\nold\n{performance.END}\n\nafter\n"


@pytest.fixture
def found() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(performance.RESULTS.read_text())
    return results


def test_the_block_follows_from_the_results(found: dict[str, Any]) -> None:
    text = performance.FILE.read_text()
    block = performance.render(found)
    assert performance.place(text, block) == text, "run .venv/bin/python validation/performance.py"


@pytest.mark.parametrize(
    "block",
    [bench_core, bench_memory, bench_schemes, sizes],
    ids=["core", "memory", "schemes", "sizes"],
)
def test_the_other_blocks_follow_from_theirs(block: Any) -> None:
    text = performance.FILE.read_text()
    rendered = block.render(json.loads(block.RESULTS.read_text()))
    assert performance.place(text, rendered) == text


def test_what_is_said_of_whole_runs_is_near_what_was_measured() -> None:
    for row in json.loads(bench_memory.RESULTS.read_text())["runs"]:
        assert bench_memory.said(row["what"]) == pytest.approx(row["bytes"], rel=0.15), row


def test_every_row_of_the_sizes_is_a_scenario() -> None:
    for _, value, _, sets in bench_sizes.rows():
        assert len(_native.plans(bench_sizes.FIG9, sets)) == 1, value


def test_every_scheme_has_its_cost() -> None:
    counted = json.loads(bench_schemes.RESULTS.read_text())["rows"]
    cases = bench_schemes.cases()
    assert counted.keys() == cases.keys()
    for label, sets in cases.items():
        assert len(_native.plans(bench_schemes.STAR, sets)) == 1, label


def test_the_committed_runs_agree_on_what_happened(found: dict[str, Any]) -> None:
    assert performance.disagreements(found) == []


def test_a_run_that_did_something_else_is_named(found: dict[str, Any]) -> None:
    off = copy.deepcopy(found)
    off["benches"][0]["simulators"][1]["outcome"]["goodput_gbps"] *= 0.8
    for run in off["benches"][-1]["simulators"][1]["runs"]:
        run["packet_hops"] *= 2
    goodput, hops = performance.disagreements(off)
    assert goodput.startswith("star: ns-3.")
    assert "packet_hops" in hops


def test_the_rest_of_the_page_stays() -> None:
    block = f"{performance.BEGIN}\nnew\n{performance.END}"
    assert performance.place(PAGE, block) == PAGE.replace("old", "new")
    assert performance.place("# Performance\n", block) == f"# Performance\n\n{block}\n"
