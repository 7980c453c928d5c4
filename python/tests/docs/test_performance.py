"""The committed results of benchmarks agree, and are of what there is."""

import copy
from typing import Any

import pytest

from evidence.bench import memory, peers_page, schemes, sizes
from switchbed import _native


@pytest.fixture
def found() -> dict[str, Any]:
    results: dict[str, Any] = peers_page.RESULTS.read()
    return results


def test_what_is_said_of_whole_runs_is_near_what_was_measured() -> None:
    found = memory.RESULTS.read()
    program = found["program"]
    for row in found["runs"]:
        # Of the process: a small run's own bytes are a part of the program's.
        ratio = (program + memory.said(row["what"])) / (program + row["bytes"])
        assert ratio == pytest.approx(1, rel=0.15), row


def test_every_row_of_the_sizes_is_a_scenario() -> None:
    for _, value, _, sets in sizes.rows():
        assert len(_native.plans(sizes.FIG9, sets)) == 1, value


def test_every_scheme_has_its_cost() -> None:
    counted = schemes.RESULTS.read()["rows"]
    cases = schemes.cases()
    assert counted.keys() == cases.keys()
    for label, sets in cases.items():
        assert len(_native.plans(schemes.STAR, sets)) == 1, label


def test_the_committed_runs_agree_on_what_happened(found: dict[str, Any]) -> None:
    assert peers_page.disagreements(found) == []


def test_a_run_that_did_something_else_is_named(found: dict[str, Any]) -> None:
    off = copy.deepcopy(found)
    off["benches"][0]["simulators"][1]["outcome"]["goodput_gbps"] *= 0.8
    for run in off["benches"][-1]["simulators"][1]["runs"]:
        run["packet_hops"] *= 2
    goodput, hops = peers_page.disagreements(off)
    assert goodput.startswith("star: ns-3.")
    assert "packet_hops" in hops
