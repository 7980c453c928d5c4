"""Warnings about measures: each on rows that have what it warns of, and on rows that have not."""

from dataclasses import replace
from typing import Any

import pytest

from switchbed_papers.reproduce import claims, lint, measures
from switchbed_papers.reproduce.claims import Claim, Experiment
from switchbed_papers.reproduce.rows import Row, Rows
from switchbed_papers.reproduce.verdict import Target

PAPERS = claims.papers()
PAPER = PAPERS["eecn"]
FIG12 = PAPER.experiments["fig12"]
GOOD = {
    "small.mean_us": 300.0,
    "medium.mean_us": 2_000.0,
    "small.p99_us": 900.0,
    "drops": 5,
    "marks": 90,
}


def rows(*figures: dict[str, Any]) -> Rows:
    return Rows([Row({"scheme": "a"}, seed, of) for seed, of in enumerate(figures)])


def claim(measure: dict[str, Any]) -> Claim:
    target = Target(10, 10, tolerance=1, null=0)
    return replace(next(iter(PAPER.claims.values())), measure=measure, target=target)


def test_good_rows_have_no_warning() -> None:
    assert lint.of_rows(PAPER, FIG12, rows(GOOD, GOOD)) == []
    value = {"kind": "value", "metric": "small.mean_us"}
    assert lint.of_claim(PAPER, claim(value), rows(GOOD, GOOD)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drops": 0}, "1 of 2 runs have no drops"),
        ({"marks": 0}, "1 of 2 runs have no marks"),
        ({"small.mean_us": 2_500.0}, "small flows are slower than medium ones"),
    ],
)
def test_what_the_papers_text_has_and_orders_of_sizes(change: dict[str, Any], words: str) -> None:
    (found,) = lint.of_rows(PAPER, FIG12, rows(GOOD, GOOD | change))
    assert words in found


def test_a_percentile_that_is_a_timer_is_named() -> None:
    timers = lint.timers_us(PAPER, FIG12)
    assert "transport.rto_min" in timers
    for timer, us in timers.items():
        for off in (1.0, 1.009, 0.991):
            (found,) = lint.of_rows(PAPER, FIG12, rows(GOOD | {"small.p99_us": off * us}))
            assert found.startswith(f"small.p99_us is {timer}")
        assert not lint.of_rows(PAPER, FIG12, rows(GOOD | {"small.p99_us": 1.5 * us}))
        # A mean of times is none of them.
        assert not lint.of_rows(PAPER, FIG12, rows(GOOD | {"large.mean_us": us}))


def test_senders_without_tcp_have_no_timers() -> None:
    tcp = {"kind": "dctcp", "rto_min": "1ms"}
    traffic = [{"kind": "long-lived"}]
    without = {"transport": {**tcp, "kind": "udp"}, "traffic": traffic, "host": {}}
    assert lint.timers_of({**without, "transport": tcp}) == {"transport.rto_min": 1000.0}
    assert lint.timers_of(without) == {}


def test_an_ack_for_each_packet_waits_for_no_timer() -> None:
    def timers(ack_every: int) -> dict[str, float]:
        tcp = {"kind": "dctcp", "rto_min": "1ms", "ack_delay": "40ms", "ack_every": ack_every}
        return lint.timers_of({"transport": tcp, "traffic": [{"kind": "poisson"}], "host": {}})

    assert timers(1) == {"transport.rto_min": 1000.0}
    assert timers(2) == {"transport.rto_min": 1000.0, "transport.ack_delay": 40_000.0}


def test_runs_that_are_left_out_are_counted() -> None:
    none = GOOD | {"small.mean_us": None}
    value = {"kind": "value", "metric": "small.mean_us"}
    (found,) = lint.of_claim(PAPER, claim(value), rows(GOOD, none, GOOD))
    assert found == "1 runs have nothing to measure and are left out"


def both(of: float) -> Rows:
    runs = [Row({"scheme": "a"}, s, {"x": 1.0 + s}) for s in range(3)]
    return Rows([*runs, *(Row({"scheme": "b"}, s, {"x": of * (1.0 + s)}) for s in range(3))])


@pytest.mark.parametrize("kind", ["below", "above", "ratio"])
def test_schemes_that_did_the_same_are_named(kind: str) -> None:
    asked = claim({"kind": kind, "metric": "x", "of": "a", "base": "b"})
    (found,) = lint.of_claim(PAPER, asked, both(1.00001))
    assert "equal to four digits" in found
    assert lint.of_claim(PAPER, asked, both(1.001)) == []


def of_larger(kind: str, factor: float) -> float:
    asked = {"kind": kind, "metric": "x", "of": "b", "base": "a", "reading": "larger"}
    return measures.measure(PAPER, claim(asked), both(factor)).estimate


def test_a_percentage_of_the_larger_is_below_100_and_the_other_reading_stands_beside_it() -> None:
    # 13.2 % worse as a part of the larger is 15.2 % of the smaller.
    assert of_larger("above", 1 / 0.868) == pytest.approx(13.2)
    assert of_larger("above", 3) == pytest.approx(200 / 3)
    assert of_larger("above", 1) == 0
    # The other way round the base is the larger one.
    assert of_larger("above", 0.75) == pytest.approx(-25)
    assert of_larger("below", 0.75) == pytest.approx(25)
    asked = {"kind": "above", "metric": "x", "of": "b", "base": "a", "reading": "larger"}
    found = measures.measure(PAPER, claim(asked), both(1 / 0.868))
    assert found.note == "as a part of the smaller: 15.21 (15.21 to 15.21)"


def expecting() -> list[Experiment]:
    return [e for paper in PAPERS.values() for e in paper.experiments.values() if e.expects]


def test_expected_events_are_counts_of_runs() -> None:
    assert expecting()
    for experiment in expecting():
        assert {*experiment.expects} <= {"drops", "marks", "timeouts"}, experiment.id
