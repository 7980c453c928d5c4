"""Intervals and paired ratios against numbers worked out by hand, their coverage on synthetic data,
the styles of figures, and slowdowns over the ideal FCT and over the flow alone."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SINGLE, Program
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import switchbed as sb
from switchbed import alone, comparing, distributions, printing, stats
from switchbed.plots.style import styles
from switchbed.runner import Outcome

SEEDS = st.integers(0, 2**32 - 1)
POSITIVE = st.floats(1e-3, 1e6)
ONCE = (Phase.explicit, Phase.generate)
"""A failure says no more after minutes of shrinking."""
coverage = settings(max_examples=2, derandomize=True, phases=ONCE)
"""The experiments of a coverage test are many already, and must come out the same each time."""


def holds(intervals: Sequence[stats.Interval], truth: float) -> float:
    """The share of the intervals that contain the truth."""
    inside = sum(
        i.low is not None and i.high is not None and i.low <= truth <= i.high for i in intervals
    )
    return inside / len(intervals)


def within(share: float, level: float, experiments: int) -> bool:
    """Whether a share may come from that level: 4.5 standard errors."""
    return abs(share - level) < 4.5 * math.sqrt(level * (1 - level) / experiments)


def test_the_mean_of_four_has_students_interval() -> None:
    # s = √(5/3), t(0.975; 3) = 3.18245, so ± 3.18245·√(5/12) = 2.05426.
    found = stats.mean([1.0, 2.0, 3.0, 4.0])
    assert (found.estimate, found.n) == (2.5, 4)
    assert found.low == pytest.approx(2.5 - 2.05426, abs=1e-5)
    assert found.high == pytest.approx(2.5 + 2.05426, abs=1e-5)
    assert found.relative == pytest.approx(2.05426 / 2.5, abs=1e-5)


RANGES = st.sampled_from([stats.POSITIVE, stats.SLOWDOWN, stats.SHARE, stats.Range(high=3.0)])


@given(st.data(), RANGES, st.sampled_from([0.8, 0.95, 0.999]))
def test_no_interval_leaves_the_quantitys_range(
    data: st.DataObject, within: stats.Range, level: float
) -> None:
    inside = st.floats(max(within.low, -1e6), min(within.high, 1e6))
    values = data.draw(st.lists(inside, min_size=2, max_size=9))
    found = stats.mean(values, level, within)
    assert found.low is not None
    rounding = 1e-9 * (1 + abs(found.estimate))
    assert within.low <= found.low <= found.estimate + rounding
    if found.high is not None:
        assert found.estimate - rounding <= found.high <= within.high


@given(st.lists(st.floats(90.0, 110.0), min_size=5, max_size=9))
def test_far_from_its_end_a_range_changes_an_interval_little(values: list[float]) -> None:
    there, plain = stats.mean(values, within=stats.POSITIVE), stats.mean(values)
    assert there.low == pytest.approx(plain.low, abs=4.0)
    assert there.high == pytest.approx(plain.high, abs=4.0)


@given(st.lists(POSITIVE, min_size=2, max_size=9), st.floats(0.01, 100.0))
def test_an_interval_of_a_positive_quantity_does_not_depend_on_its_unit(
    values: list[float], unit: float
) -> None:
    found = stats.mean(values, within=stats.POSITIVE)
    other = stats.mean([unit * value for value in values], within=stats.POSITIVE)
    assert found.low is not None
    assert other.low == pytest.approx(unit * found.low)


def test_two_positive_values_have_the_interval_of_the_logarithm() -> None:
    # mean 2, s = √2, error 1: relative to the mean 0.5, times t(0.975; 1) = 12.7062.
    found = stats.mean([1.0, 3.0], within=stats.POSITIVE)
    assert found.low == pytest.approx(2 * math.exp(-6.3531), rel=1e-5)
    assert found.high == pytest.approx(2 * math.exp(6.3531), rel=1e-5)
    assert not found.tells
    # Of slowdowns what is over 1 counts: mean 1 over it, the same error.
    slow = stats.mean([1.0, 3.0], within=stats.SLOWDOWN)
    assert slow.low == pytest.approx(1 + math.exp(-12.7062), rel=1e-5)


def test_values_outside_the_range_have_no_interval() -> None:
    found = stats.mean([-1.0, 3.0], within=stats.POSITIVE)
    assert (found.estimate, found.low, found.high) == (1.0, None, None)


@coverage
@given(SEEDS, st.sampled_from([3, 5, 10, 20]))
def test_the_interval_of_a_positive_mean_covers_skewed_values(seed: int, n: int) -> None:
    # Log-normal, as FCTs over seeds are; the mean's error is estimated from few values.
    rng = np.random.default_rng(seed)
    for spread, least in ((0.1, 0.93), (0.5, 0.90), (1.0, 0.84)):
        truth = math.exp(spread**2 / 2)
        data = rng.lognormal(0.0, spread, (800, n))
        found = [stats.mean(list(row), within=stats.POSITIVE) for row in data]
        assert least <= holds(found, truth) <= 0.98
        plain = [stats.mean(list(row)) for row in data]
        assert holds(found, truth) >= holds(plain, truth) - 0.01


@coverage
@given(SEEDS, st.sampled_from([5, 12]))
def test_the_interval_of_a_slowdown_and_of_a_share_cover_them(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    slow = 1 + rng.gamma(2.0, 0.5, (800, n))
    found = [stats.mean(list(row), within=stats.SLOWDOWN) for row in slow]
    assert 0.88 <= holds(found, 2.0) <= 0.98
    part = rng.beta(8.0, 2.0, (800, n))
    found = [stats.mean(list(row), within=stats.SHARE) for row in part]
    assert 0.90 <= holds(found, 0.8) <= 0.98


def test_a_change_of_too_few_seeds_names_no_number() -> None:
    # ln ratios 0.1 and 5.64: 17.6 times, with ends a factor of 4,800 apart around 1.
    found = stats.paired([1.105, 281.5], [1.0, 1.0])
    assert (str(found), found.words, found.bounds) == (
        "not enough seeds (2)",
        "not enough seeds",
        None,
    )


def test_a_large_difference_that_the_seeds_show_is_said() -> None:
    found = stats.paired([30.0, 120.0, 60.0, 70.0], [1.0, 1.0, 1.0, 1.0])
    assert found.words.endswith("higher")
    assert found.bounds is not None


def test_intervals_that_are_read_together_are_counted() -> None:
    assert stats.looked(1) is None
    assert str(stats.looked(40)).startswith("40 intervals of 95 % each: about 2 of them")


def test_one_seed_has_no_interval() -> None:
    found = stats.mean([3.0])
    assert (found.estimate, found.low, found.high, found.relative) == (3.0, None, None, math.inf)
    assert str(stats.paired([3.0], [4.0])) == "25.0 % lower (1 seed, no interval)"


@coverage
@given(SEEDS, st.integers(2, 12), st.sampled_from([0.8, 0.95]))
def test_students_interval_covers_the_mean_as_often_as_it_says(
    seed: int, n: int, level: float
) -> None:
    rng = np.random.default_rng(seed)
    found = [stats.mean(list(row), level) for row in rng.normal(7.0, 2.0, (800, n))]
    assert within(holds(found, 7.0), level, 800)


@coverage
@given(SEEDS, st.integers(2, 8), st.floats(0.3, 3.0))
def test_the_paired_interval_covers_the_ratio_whatever_the_seeds_do_to_both(
    seed: int, n: int, truth: float
) -> None:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(800):
        base = rng.lognormal(3.0, 1.5, n)
        values = base * truth * rng.lognormal(0.0, 0.1, n)
        found.append(stats.paired(list(values), list(base)).ratio)
    assert within(holds(found, truth), stats.LEVEL, 800)


@pytest.mark.long
@settings(max_examples=2, derandomize=True, phases=ONCE)
@given(SEEDS, st.sampled_from([30, 80]))
def test_the_bootstrap_interval_covers_a_median_and_a_mean(seed: int, n: int) -> None:
    # BCa is right to order 1/n, and a little short of the level at these n.
    rng = np.random.default_rng(seed)
    data = rng.gamma(4.0, 1.0, (120, n))
    for statistic, truth in ((np.mean, 4.0), (np.median, 3.67206)):
        found = [stats.bootstrap(list(row), statistic, resamples=299) for row in data]
        assert 0.87 <= holds(found, truth) <= 0.995


@coverage
@given(SEEDS, st.sampled_from([(40, 0.5), (600, 0.99), (200, 0.95)]))
def test_a_tail_is_covered_at_least_as_often_as_it_says(seed: int, case: tuple[int, float]) -> None:
    n, p = case
    rng = np.random.default_rng(seed)
    truth = -math.log(1 - p)
    found = [stats.tail(list(row), p) for row in rng.exponential(1.0, (400, n))]
    share = holds(found, truth)
    assert share > 0.95 or within(share, 0.95, 400)
    assert share < 0.995


def test_a_tail_of_few_has_no_upper_bound() -> None:
    # 1 - 0.99ⁿ ≥ 0.975 from n = 368 on bounds it on one side; both sides need 0.99ⁿ ≤ 0.025.
    values = [float(v) for v in range(367)]
    assert stats.tail(values, 0.99).high is None
    assert stats.tail([*values, 367.0], 0.99).high == 367.0


def test_a_percentile_is_the_summarys_element() -> None:
    values = [float(v) for v in range(200)]
    assert [stats.percentile(values, p) for p in (0.5, 0.95, 0.99)] == [100, 190, 198]
    # In doubles 0.29 · 100 is 28.999999999999996.
    assert stats.percentile(values[:100], 0.29) == 29
    assert stats.percentile([7.0], 0.99) == 7


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=9))
def test_comparing_the_other_way_round_gives_the_reciprocal(
    pairs: list[tuple[float, float]],
) -> None:
    above, below = zip(*pairs, strict=True)
    there, back = stats.paired(above, below).ratio, stats.paired(below, above).ratio
    assert there.low is not None
    assert there.high is not None
    assert back.estimate == pytest.approx(1 / there.estimate)
    assert back.low == pytest.approx(1 / there.high if there.high < math.inf else 0)
    assert there.low <= there.estimate * (1 + 1e-9)


@pytest.mark.parametrize(
    ("values", "base", "text"),
    [
        # log-ratios ln 0.9 and ln 0.8: mean -0.16425, half width 12.7062·0.058892 = 0.74829.
        ([9.0, 8.0], [10.0, 10.0], "15.1 % lower (95 % CI −59.8 to +79.3 %, 2 seeds)"),
        ([8.0, 8.0, 8.0], [10.0, 10.0, 10.0], "20.0 % lower (95 % CI 20.0–20.0 %, 3 seeds)"),
        ([12.0, 12.0], [10.0, 10.0], "20.0 % higher (95 % CI 20.0–20.0 %, 2 seeds)"),
    ],
)
def test_a_change_in_words(values: list[float], base: list[float], text: str) -> None:
    assert str(stats.paired(values, base)) == text


def test_what_has_no_ratio_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        stats.paired([0.0], [1.0])
    with pytest.raises(ValueError, match="no values"):
        stats.mean([])


def test_what_rounding_alone_tells_apart_is_equal() -> None:
    values = [0.1 + 0.2, 0.3, 0.3 * (1 + 2e-16)]
    found = stats.mean(values)
    assert found.low == found.estimate == found.high
    assert printing.reach(found) == "±0%"
    change = stats.paired(values, [0.3, 0.3, 0.3])
    assert change.ratio == stats.Interval(1.0, 1.0, 1.0, 3)
    assert str(change) == "the same (3 seeds)"
    assert str(stats.paired(values[:1], [0.3])) == "the same (1 seed)"
    # A part in a million is an outcome.
    assert stats.mean([0.3, 0.3000003]).low != 0.3


def test_equal_values_have_a_bootstrap_interval_of_no_width() -> None:
    found = stats.bootstrap([2.0, 2.0, 2.0], np.mean)
    assert (found.low, found.estimate, found.high) == (2.0, 2.0, 2.0)


def test_the_bootstrap_gives_the_same_twice() -> None:
    values = list(np.random.default_rng(1).normal(size=20))
    assert stats.bootstrap(values, np.mean) == stats.bootstrap(values, np.mean)


def test_jain() -> None:
    assert stats.jain([1.0, 0.0, 0.0, 0.0]) == 0.25
    assert stats.jain([3.0, 3.0]) == 1
    assert stats.jain([0.0, 0.0]) == 1


def test_a_series_has_settled_where_it_stays() -> None:
    times = [0.0, 1.0, 2.0, 3.0, 4.0]
    assert stats.settling_time(times, [0.0, 1.0, 0.5, 0.95, 1.05], 1.0, 0.1) == 3.0
    assert stats.settling_time(times, [1.0, 1.0, 1.0, 1.0, 0.5], 1.0, 0.1) is None


def test_seeds_needed_is_the_smallest_number_that_is_enough() -> None:
    # s = 1, mean 10: 0.05 needs t(n-1)/√n ≤ 0.5; n = 18 gives 0.4973, 17 gives 0.5142.
    assert stats.seeds_needed([9.0, 10.0, 11.0], 0.05) == 18
    assert stats.seeds_needed([10.0, 10.0], 0.05) == 2
    with pytest.raises(ValueError, match="one value"):
        stats.seeds_needed([10.0], 0.05)


def test_pairs_needed_is_the_smallest_number_that_is_enough() -> None:
    # s = 0.1 on the logarithms: asinh(0.05) = 0.04998 needs t(n-1)/√n ≤ 0.4998, as above.
    of, base = [math.exp(-0.1), 7.0, 2 * math.exp(0.1)], [1.0, 7.0, 2.0]
    assert stats.pairs_needed(of, base, 0.05) == stats.pairs_needed(base, of, 0.05) == 18
    assert stats.pairs_needed(of, [2 * value for value in of], 0.05) == 2


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30, 999, 1000, 1001, 10**7])
def test_students_quantiles_are_scipys(freedom: int) -> None:
    from scipy.special import stdtrit

    for p in (0.6, 0.9, 0.975, 0.995, 0.9995):
        assert distributions.student(freedom, p) == pytest.approx(stdtrit(freedom, p), rel=1e-12)


@pytest.mark.needs("scipy")
@given(
    st.integers(1, 3000),
    st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]),
    st.sampled_from([0.005, 0.025, 0.1]),
)
def test_the_binomials_quantiles_are_scipys(n: int, p: float, below: float) -> None:
    from scipy.stats import binom

    of = binom(n, p)
    assert distributions.binomial(n, p, below) == (int(of.ppf(below)), int(of.isf(below)))


@pytest.mark.needs("scipy")
@settings(max_examples=20)
@given(SEEDS, st.integers(3, 40), st.sampled_from([np.mean, np.median, np.std]))
def test_bootstrap_intervals_are_scipys(seed: int, n: int, statistic: Any) -> None:
    from scipy.stats import bootstrap

    data = np.random.default_rng(seed).lognormal(size=n)
    theirs = bootstrap(
        (data,), statistic, n_resamples=199, vectorized=False, rng=np.random.default_rng(0)
    ).confidence_interval
    ours = distributions.resampled(data, statistic, 0.95, 199)
    assert ours == pytest.approx((theirs.low, theirs.high), rel=1e-9)


def test_what_no_value_has_an_influence_on_has_no_interval() -> None:
    found = stats.bootstrap([1.0, 2.0, 3.0], lambda data: float(len(data) > 0))
    assert (found.estimate, found.low, found.high) == (1.0, None, None)


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


def test_variants_of_a_scheme_alone_differ_in_colour() -> None:
    names = ["MQ-ECN", "beta 0.5", "beta 0.9"]
    alone = styles([outcome(name, 1, 1.0) for name in names])
    assert alone["MQ-ECN"] == styles([outcome("MQ-ECN", 1, 1.0)])["MQ-ECN"]
    assert len({alone[name].colour for name in names}) == 3
    among = [outcome("Standard", 1, 1.0, "per-queue"), *(outcome(name, 1, 1.0) for name in names)]
    assert len({styles(among)[name].colour for name in names}) == 1


LONE = """
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "20us"
[switch]
queues = 2
discipline = "dwrr"
buffer = "300KB"
[scheme]
name = "per-queue"
params = {{ threshold = "65pkt" }}
[transport]
kind = "{kind}"
[[traffic]]
kind = "incast"
from = [0]
to = 1
sizes = "{size}"
classes = [1]
connections = "{connections}"
"""


def lone(size: str, kind: str = "dctcp", connections: str = "fresh") -> sb.Result:
    text = LONE.format(size=size, kind=kind, connections=connections)
    import tomllib

    return sb.Scenario(tomllib.loads(text)).run()


@pytest.mark.parametrize("connections", ["fresh", "fresh-no-handshake", "persistent"])
@pytest.mark.parametrize("kind", ["dctcp", "cubic"])
@pytest.mark.parametrize("size", ["1KB", "100KB", "3MB"])
def test_a_lone_flow_has_slowdown_one_over_itself(size: str, kind: str, connections: str) -> None:
    run = lone(size, kind, connections)
    over_ideal = run.summary()["slowdown"]["all"]["mean"]
    assert over_ideal >= 1.0
    found = alone.over(run, "alone")
    assert found.summary()["slowdown"]["all"]["mean"] == pytest.approx(1.0, abs=1e-12)
    assert found.summary()["slowdown_over"] == "alone"
    assert found.flows["slowdown"].to_list() == pytest.approx([1.0], abs=1e-12)
    # The run itself stays as it was.
    assert run.summary()["slowdown"]["all"]["mean"] == over_ideal


@pytest.mark.parametrize(
    "transport",
    ["cubic", {"kind": "cubic", "initial_window": "1pkt"}, {"kind": "reno", "ecn": False}],
)
def test_a_lone_flow_keeps_the_transport_of_its_entry(transport: str | dict[str, Any]) -> None:
    import tomllib

    given = tomllib.loads(LONE.format(size="100KB", kind="dctcp", connections="fresh"))
    other = {"kind": "incast", "from": [2], "to": 3, "sizes": "100KB", "start": "1s"}
    given["traffic"] = [given["traffic"][0] | {"transport": transport}, other]
    found = alone.over(sb.Scenario(given).run(), "alone")
    assert found.flows["slowdown"].to_list() == pytest.approx([1.0, 1.0], abs=1e-12)
    summary = found.summary()
    for each in (*summary["by_traffic"], *summary["by_transport"]):
        assert each["slowdown"]["mean"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("size", "ideal"), [("1KB", 2.0), ("100KB", 2.64)])
def test_over_the_ideal_a_lone_flow_pays_for_handshake_and_window(size: str, ideal: float) -> None:
    assert lone(size).summary()["slowdown"]["all"]["mean"] == pytest.approx(ideal, rel=0.05)


def test_a_request_and_its_answer_alone() -> None:
    import tomllib

    values = tomllib.loads(LONE.format(size="20KB", kind="dctcp", connections="fresh"))
    values["traffic"] = [
        {"kind": "request-response", "from": [0], "to": [1], "sizes": "20KB", "load": 0.001}
        | {"flows": 1, "request": "3KB", "service": "random", "shares": [0, 1]}
    ]
    found = alone.over(sb.Scenario(values).run(), "alone")
    assert found.flows["class"].to_list() == [1]
    assert found.flows["slowdown"].to_list() == pytest.approx([1.0], abs=1e-9)


def test_the_summary_is_of_the_table(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(SINGLE.replace("flows = 300", "flows = 40"))
    run = sb.Scenario.from_file(file).run()
    found = alone.over(run, "alone")
    counted = found.summary()["slowdown"]["all"]
    assert counted["n"] == run.summary()["slowdown"]["all"]["n"] == 40
    assert counted["mean"] == pytest.approx(found.flows["slowdown"].mean())
    assert found.summary()["by_traffic"][0]["slowdown"] == counted
    # All pairs of a star are alike, and all sizes: one time divides them all.
    base = found.flows["fct_s"] / found.flows["slowdown"]
    assert base.max() == pytest.approx(base.min())


@pytest.mark.long
def test_pages_say_what_a_slowdown_is_over(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(
        SINGLE.replace("flows = 300", "flows = 40") + "[compare]\nload = [0.2, 0.3]\n"
    )
    switchbed("run", "one.toml", "--out", "ran")
    asked = ["table", "ran", "--metric", "slowdown.all.mean"]
    for over, words in (("ideal", "line rate, no handshake"), ("alone", "own transport")):
        printed = switchbed(*asked, "--over", over).stdout
        assert f" {over} " in printed
        assert words in printed
        rows = json.loads(switchbed(*asked, "--over", over, "--json", "-").stdout)
        assert [row["over"] for row in rows] == [over] * 2
        switchbed("report", "ran", "--out", f"{over}.html", "--over", over)
        assert words in (tmp_path / f"{over}.html").read_text()
    label = {"ideal": "slowdown (FCT over ideal)", "alone": "slowdown (FCT over the flow alone)"}
    for kind in (["fct", "--value", "slowdown"], ["cdf", "--value", "slowdown"], ["sizes"]):
        for over, words in label.items():
            name = f"{kind[0]}-{over}.svg"
            style = tmp_path / "text.mplstyle"
            style.write_text("svg.fonttype: none\n")
            switchbed("plot", *kind, "ran", "--out", name, "--over", over, "--style", str(style))
            assert words in (tmp_path / name).read_text()
    assert "over" not in json.loads(switchbed("table", "ran", "--json", "-").stdout)[0]
