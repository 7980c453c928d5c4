"""A lab says why flows did not finish, and which losses are not the switch's queues'."""

from types import SimpleNamespace
from typing import Any, cast

import polars as pl

from switchbed.live import measured
from switchbed.live.lab import Setup

SCENARIO = {
    "title": "",
    "scheme": {"label": "none"},
    "topology": {"rate": "100Mbps"},
    "measure": {"warmup": "1s", "small": "100KB", "large": "10MB"},
    "run": {"until": "9s"},
}
COUNTERS = {
    "marks": 0,
    "drops": 12,
    "host_drops": 0,
    "overruns": 0,
    "timeouts": 4,
    "retransmissions": 7,
}


PUNCTUAL = {"count": 500, "p50_late_ns": 9_000, "p99_late_ns": 16_383, "max_late_ns": 1_200_000}


def notes(
    rows: list[tuple[float, float | None, int]],
    counters: dict[str, int],
    wakes: dict[str, int] = PUNCTUAL,
) -> list[str]:
    """Of a lab whose flows of 1000 bytes have these starts, FCTs and received bytes."""
    flows = pl.DataFrame(
        {
            "class": [0] * len(rows),
            "size_bytes": [1000] * len(rows),
            "start_s": [start for start, _, _ in rows],
            "counted": [start >= 1 for start, _, _ in rows],
            "fct_s": pl.Series([fct for _, fct, _ in rows], dtype=pl.Float64),
            "received_bytes": [got for _, _, got in rows],
        }
    )
    none = pl.DataFrame(schema={"time_s": pl.Float64, "port": pl.Utf8, "bytes": pl.UInt64})
    pings = pl.DataFrame(schema=measured.PINGS)
    found = measured.Measured(flows, none, pings, COUNTERS | counters, stats={"wakes": wakes})
    setup: Any = SimpleNamespace(
        scenario=SCENARIO,
        simulated=found,
        until_s=9.0,
        hosts=2,
        congestion_control="cubic",
        notes=["first"],
    )
    others: list[str]
    first, *others = measured.beside({}, cast("Setup", setup), found)["notes"]
    assert first == "first"
    return others


def test_flows_that_all_finish_and_lose_nothing_need_no_word() -> None:
    assert notes([(1, 0.1, 1000), (2, 0.1, 1000)], {}) == []


def test_why_a_flow_did_not_finish_is_said() -> None:
    early = (0.5, None, 0)  # started within the warm-up: it does not count
    rows = [early, (1, 0.1, 1000), (1, None, 0), (2, None, 400), (2, None, 1000), (9.5, None, 0)]
    (said,) = notes(rows, {})
    assert said.startswith("live: 4 of 5 flows did not finish in 9 s: 1 were to start after that; ")
    for part in (
        "1 had no byte at the receiver",
        "1 had a part of their bytes there",
        "1 had all bytes there",
        "4 timeouts, 7 segments sent again",
    ):
        assert part in said


def test_losses_of_cards_and_before_the_switch_are_named() -> None:
    (said,) = notes([(1, 0.1, 1000)], {"host_drops": 8, "overruns": 3})
    assert said.startswith("live: of 12 drops 8 are the hosts' cards' ")
    assert "and 3 came before the switch read them" in said


def test_wakes_that_cost_a_port_its_rate_are_named() -> None:
    (said,) = notes([(1, 0.1, 1000)], {}, PUNCTUAL | {"max_late_ns": 4_250_000})
    assert said.startswith(
        "live: the switch woke up to 4.2 ms late (99 % of 500 times at most 16 us)"
    )
    assert "ports make up for 1.2 ms" in said


def test_losses_are_counted_by_where_they_are() -> None:
    port = {"marked_packets": 5, "drops_tail": 1, "host_drops": 2, "overruns": 3, "received": 99}
    found = measured.count([], {"ports": [port, port]})
    kinds = {name: found[name] for name in ("drops", "host_drops", "overruns", "marks")}
    assert kinds == {"drops": 12, "host_drops": 4, "overruns": 6, "marks": 10}
