"""The committed results of other simulators agree with ours, and disagreement is noticed."""

import copy
import re
import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import switchbed as sb
from evidence import validate
from evidence.peers import aqm_star, beside, offered, page, simulators
from evidence.robustness import cedm
from switchbed.prototype import scheme


@pytest.fixture
def found() -> dict[str, Any]:
    results: dict[str, Any] = page.RESULTS.read()
    return results


def test_every_script_is_of_a_page_or_of_a_target() -> None:
    """Its command stands in the Makefile or on a page; helpers are started by others."""
    root = Path(__file__).parents[3]
    said = (root / "Makefile").read_text() + (root / "CONTRIBUTING.md").read_text()
    said += "".join(f"-m {' '.join(step.words[2:])}\n" for step in validate.STEPS)
    said += "".join(file.read_text() for file in (root / "docs").rglob("*.md"))
    started = {
        "evidence.bench.measured",
        "evidence.hosts.ends",
        "evidence.robustness.mutants_worker",
    }
    scripts = set()
    for file in (root / "evidence").rglob("*.py"):
        if '__name__ == "__main__"' in file.read_text():
            name = ".".join(file.relative_to(root).with_suffix("").parts)
            scripts.add(name.removesuffix(".__main__"))
    assert len(scripts) > 20
    assert started < scripts
    untold = [name for name in scripts - started if not re.search(rf"-m {re.escape(name)}\b", said)]
    assert untold == []


def test_the_committed_results_agree(found: dict[str, Any]) -> None:
    assert page.disagreements(found) == []


def test_a_figure_that_is_off_is_named(found: dict[str, Any]) -> None:
    off = copy.deepcopy(found)
    off["stars"][0]["ns3"]["classic"]["queue_mean_pkt"] *= 1.2
    off["leaf_spine"][1]["ns3"]["floored"]["small"]["mean_us"] *= 0.5
    star, fabric = page.disagreements(off)
    assert star.startswith("2 DCTCP senders: mean queue")
    assert fabric.startswith("leaf-spine at load 0.8: small flows: mean")


def test_what_the_seeds_span_is_no_disagreement(found: dict[str, Any]) -> None:
    off = copy.deepcopy(found)
    run = off["leaf_spine"][0]
    run["ns3"]["floored"]["large"]["p99_us"] *= 2
    assert len(page.disagreements(off)) == 1
    run["ours"][3]["large"]["p99_us"] *= 3
    assert page.disagreements(off) == []


def test_completion_times_are_split_by_size() -> None:
    sizes = [100_000.0, 100_001.0, 10_000_000.0, 10_000_001.0]
    flows = pl.DataFrame({"size_bytes": sizes, "fct_s": [1e-6, 2e-6, 4e-6, float("nan")]})
    assert simulators.fct_by_class(flows) == {
        "all": {"n": 3, "mean_us": pytest.approx(7 / 3), "p99_us": pytest.approx(4)},
        "small": {"n": 1, "mean_us": 1, "p99_us": 1},
        "medium": {"n": 2, "mean_us": 3, "p99_us": 4},
    }


def test_only_the_withdrawal_tells_the_broken_cedm_from_ours() -> None:
    file = Path(__file__).parents[3] / "scenarios" / "cedm-fig10-dctcp.toml"
    whole = scheme(cedm.Cedm, label="whole", withdraws=True)
    schemes = ["cedm", whole, scheme(cedm.Cedm, label="broken", withdraws=False)]
    sets = {"compare.scheme": schemes, "compare.host.lso_after_cut": [False]}
    short = {"measure.warmup": "1ms", "run.until": "12ms"}
    found = sb.Scenario.from_file(file).with_(sets | short).run_all()
    ours, same, broken = (run.table("ports") for run in found)
    assert same.equals(ours)
    assert not broken.equals(ours)


def test_what_aqms_differ_by_is_removed_by_an_experiment() -> None:
    """Of the list of packets, and of the star."""
    rows = offered.RESULTS.read()["rows"]
    assert list(offered.unexplained(rows)) == []
    stars = aqm_star.RESULTS.read()
    assert set(stars) == set(aqm_star.ROWS)
    for name, found in stars.items():
        by_rules = found.get("by_their_rules", found["ours"])
        assert aqm_star.apart(by_rules, found["ns3"]) <= aqm_star.TOLERANCE, name
        # None is made where none is needed.
        needed = aqm_star.apart(found["ours"], found["ns3"]) > aqm_star.TOLERANCE
        assert needed == ("by_their_rules" in found), name
    # Something is found where it is off.
    rows[0]["linux"]["mean_ms"] *= 1.2
    assert len(list(offered.unexplained(rows))) == 1


def test_no_more_than_three_explain_a_peer() -> None:
    """In the list; besides, ns-3's senders and its RED on the star."""
    causes = {peer: {row.why for row in offered.ROWS if row.beside == peer} for peer in PEERS}
    assert {peer: len(why) for peer, why in causes.items()} == {"linux": 1, "ns3": 1}


PEERS = ("linux", "ns3")


def test_one_link_by_the_kernel_the_live_switch_and_simulated_is_alike() -> None:
    found = beside.RESULTS.read()
    assert len(found) >= 2
    for name, row in found.items():
        kernel, *others = (
            {
                "mbps": statistics.fmean(sum(run["goodput_mbps"]) for run in row[way]),
                **{p: statistics.fmean(run[p] for run in row[way]) for p in ("p50_ms", "p99_ms")},
            }
            for way in (*beside.WAYS, "simulated")
        )
        for other in others:
            assert other["mbps"] == pytest.approx(kernel["mbps"], rel=0.01), name
            # Three packets' time on the line.
            assert other["p50_ms"] == pytest.approx(kernel["p50_ms"], abs=1.9), name
            assert other["p99_ms"] == pytest.approx(kernel["p99_ms"], abs=1.9), name
    assert f"| {name} | kernel |" in beside.render(found)
