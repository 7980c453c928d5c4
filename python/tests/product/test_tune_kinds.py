"""`switchbed tune` on rings, lossless classes, curves, and grids that reach over a buffer."""

import json
from typing import Any

import pytest

import switchbed as sb
from switchbed.runner import run_one
from switchbed.tuning import advice, first, grid


@pytest.mark.parametrize("name", ["@pfc-deadlock", "@pfc-incast", "@roce-leaf-spine", "@fat-tree"])
def test_the_round_trip_is_measured_whatever_the_switches_do(name: str) -> None:
    scenario = json.loads(sb.Scenario.from_file(name).plans[0].scenario)
    assert 1e-6 < first.link(scenario, None).rtt < 1e-3


def test_the_furthest_host_of_a_ring_is_half_round() -> None:
    made = sb.Scenario(
        {
            "topology": {"kind": "ring", "switches": 6, "hosts_per_switch": 1}
            | {"rate": "10Gbps", "delay": "1us", "ring_delay": "10us"},
            "switch": {"queues": 1, "buffer": "100KB"},
            "scheme": {"name": "per-queue", "params": {"threshold": "20KB"}},
            "transport": {"kind": "dctcp"},
            "traffic": [{"kind": "incast", "from": [0], "to": 1, "sizes": "10KB"}],
        }
    )
    # Three links of the ring and two of hosts there and back, 64 us; ten times a packet, 12 us.
    assert first.link(made.resolved, None).rtt == pytest.approx(76e-6, rel=0.05)


def test_a_curve_and_a_rate_are_taken_apart_without_a_change() -> None:
    given = sb.Scenario.from_file("@roce-incast")
    plan = given.plans[0]
    free = grid.unbound(json.loads(plan.scenario))
    assert "curve" not in free["scheme"]["params"]
    tuned = given.with_(free)
    summaries = [
        run_one(0, each, sb._native.Progress())[1].summary for each in (plan, tuned.plans[0])
    ]
    for summary in summaries:
        summary.pop("warnings")
    assert summaries[0] == summaries[1]
    # A compared parameter is of the scheme that was set.
    low = tuned.with_({"compare.scheme.params.kmin": ["5000B"]}).plans[0]
    assert json.loads(low.scenario)["scheme"]["params"]["kmin"] in ("5KB", "5000B")


def test_points_over_the_buffer_are_refused_and_the_others_run(tmp_path: Any) -> None:
    small = sb.Scenario(
        {
            "topology": {"kind": "star", "hosts": 3, "rate": "10Gbps", "delay": "25us"},
            "switch": {"queues": 1, "buffer": "120KB"},
            "scheme": {"name": "per-queue", "params": {"threshold": "65pkt"}},
            "transport": {"kind": "dctcp"},
            "traffic": [{"kind": "incast", "from": [0, 1], "to": 2, "sizes": "200KB"}],
        }
    )
    found = sb.tune(
        small,
        objective="fct.all.mean_us",
        guards=(),
        params=["threshold=20KB,60KB,300KB"],
        seeds=5,
        store=tmp_path / "store",
    )
    verdicts = {entry.point.label: entry for entry in found.entries}
    assert verdicts["300 KB"].verdict == advice.REFUSED
    assert "120" in verdicts["300 KB"].why
    assert verdicts["20 KB"].verdict != advice.REFUSED


def test_a_store_says_what_a_run_takes_of_a_core(tmp_path: Any) -> None:
    scenario = sb.Scenario.from_file("@star-dctcp").with_({"measure.queues": "all"})
    found = sb.sweep(scenario, tmp_path / "store", name="s")
    machine = json.loads(next(tmp_path.glob("store/runs/*/machine.json")).read_text())
    assert found.ran == 1
    if "processor_s" in machine:
        # All of the run is on one thread: on a machine that is free, the two are alike.
        assert machine["processor_s"] > 0.02 * machine["wall_s"]
        assert machine["processor_s"] < 1.2 * machine["wall_s"] + 0.05
