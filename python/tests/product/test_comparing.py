"""Paired ratios against numbers worked out by hand, and the styles of figures."""

from typing import Any

import pytest

from switchbed import comparing, stats
from switchbed.plots.style import styles
from switchbed.runner import Outcome


def outcome(label: str, seed: int, mean_us: float | None, scheme: str = "mq-ecn") -> Outcome:
    fct: dict[str, Any] = {
        name: {"n": 1, "mean_us": mean_us, "p99_us": mean_us}
        for name in ("all", "small", "medium", "large")
    }
    settings = {"scheme": label, "load": 0.5, "seed": seed}
    return Outcome(0, settings, scheme, {"fct": fct, "seed": seed}, 1.0)


def test_ratios_pair_the_same_seeds() -> None:
    runs = [outcome("A", 1, 100.0), outcome("A", 2, 10.0)]
    # In another order, and with a seed that the first scheme does not have.
    runs += [outcome("B", 2, 20.0), outcome("B", 1, 50.0), outcome("B", 3, 1.0)]
    ratio = comparing.ratios(runs)[0]
    assert (ratio.scheme, ratio.to, ratio.pairs) == ("B", "A", 2)
    assert (ratio.mean, ratio.low, ratio.high) == (1.25, 0.5, 2.0)
    # Twice as fast once and half as fast once is no difference, which the mean hides.
    assert ratio.ratio == pytest.approx(1)
    assert ratio.point == (("load", 0.5),)


def test_a_class_without_flows_has_no_ratio() -> None:
    assert comparing.ratios([outcome("A", 1, None), outcome("B", 1, 1.0)]) == []


def test_fcts_of_different_flows_are_said() -> None:
    def finished(label: str, seed: int, n: int) -> Outcome:
        made = outcome(label, seed, 1.0)
        made.summary["fct"]["small"]["n"] = n
        return made

    same = [finished(label, seed, 5) for label in "AB" for seed in (1, 2)]
    assert comparing.populations(same) == []
    fewer = [*same[:3], finished("B", 2, 4)]
    assert comparing.populations(fewer) == [
        "small flows that finished at load 0.5: A 10, B 9; their FCTs are not of the same flows"
    ]


def test_an_interval_that_says_nothing_has_no_bounds() -> None:
    wide = comparing.over_seeds([1.0, 100.0, 5.0])
    assert wide is not None
    assert (wide.low, wide.high, wide.n) == (None, None, 3)
    narrow = comparing.over_seeds([10.0, 11.0, 10.5])
    assert narrow is not None
    assert narrow.low is not None
    assert comparing.range_of("by_traffic.0.slowdown.p99") == stats.SLOWDOWN
    assert comparing.range_of("by_traffic.0.slowdown.n") == stats.POSITIVE
    assert comparing.range_of("by_transport.cubic.share") == stats.SHARE


def test_without_schemes_there_are_no_ratios() -> None:
    run = Outcome(0, {"load": 0.5}, "mq-ecn", outcome("A", 1, 1.0).summary, 1.0)
    assert comparing.ratios([run, run]) == []


def test_a_parameter_of_a_scheme_is_no_scheme() -> None:
    assert comparing.is_scheme("scheme")
    assert not comparing.is_scheme("scheme.params.threshold")


def test_a_scheme_looks_the_same_in_every_figure() -> None:
    alone = styles([outcome("MQ-ECN", 1, 1.0)])
    among = styles([outcome("Standard", 1, 1.0, "per-queue"), outcome("MQ-ECN", 1, 1.0)])
    assert alone["MQ-ECN"] == among["MQ-ECN"] != among["Standard"]


def test_variants_of_a_scheme_look_different() -> None:
    found = styles([outcome("MQ-ECN", 1, 1.0), outcome("beta 0.5", 1, 1.0)])
    assert found["MQ-ECN"] != found["beta 0.5"]
