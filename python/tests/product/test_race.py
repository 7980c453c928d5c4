"""The race on synthetic responses whose best point is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchbed.tuning import guards
from switchbed.tuning.objective import Guard
from switchbed.tuning.race import Race, _regrets, middle

TRIALS = 200
DELTA = math.log(1.01)


def responses(rng: np.random.Generator, scenes: int) -> np.ndarray:
    """24 points, a row each: flat about a best one that chance places."""
    best = rng.integers(2, 22)
    one = np.array([0.01 * abs(i - best) ** 1.3 for i in range(24)])
    return np.repeat(one[:, None], scenes, axis=1)


def race(
    rng: np.random.Generator, truth: np.ndarray, sd: float, most: int, weights: list[float] | None
) -> tuple[Race, bool]:
    """What seeds do to all points alike is far more than their differences vary. Returns, too,
    whether at each look the interval of the best point against the leader held."""
    points, scenes = truth.shape
    made = Race(points, scenes, DELTA, weights)
    best = int(truth.max(axis=1).argmin())
    n, more, held = 0, 5, True
    commons: list[np.ndarray] = []
    while True:
        n += more
        commons += list(rng.normal(0, 0.15, (more, scenes)))
        for point in sorted(made.live):
            for common in commons[made.blocks(point) :]:
                made.add(point, list(truth[point] + common + rng.normal(0, sd, scenes)))
        made.look()
        found = made.against[best]
        true = truth[best].max() - truth[made.leader].max()
        held &= found.low <= true + 1e-12 and true - 1e-12 <= found.high
        if made.over or (n >= most and not made.behind):
            return made, held
        more = 0 if made.behind else min(n // 2, most - n)


@pytest.mark.parametrize(
    ("scenes", "weights", "sd", "stops"),
    [
        (1, None, 0.02, 0.99),
        pytest.param(3, [1.0, 2.0, 1.0], 0.02, 0.99, marks=pytest.mark.long),
        pytest.param(3, None, 0.01, 0.99, marks=pytest.mark.long),
    ],
)
def test_the_race_ends_within_delta_of_the_best_and_its_intervals_hold(
    scenes: int, weights: list[float] | None, sd: float, stops: float
) -> None:
    rng = np.random.default_rng(20)
    good = held = over = kept = 0
    for _ in range(TRIALS):
        truth = responses(rng, scenes)
        made, all_held = race(rng, truth, sd, 200, weights)
        good += truth[made.leader].max() - truth.max(axis=1).min() <= DELTA + 1e-12
        held += all_held
        over += made.over
        kept += int(truth.max(axis=1).argmin()) in made.live
    assert good >= 0.99 * TRIALS
    assert kept >= 0.95 * TRIALS  # the best is not put out
    assert held >= 0.95 * TRIALS  # at every look, or the whole trial counts as one that failed
    assert over >= stops * TRIALS


def test_intervals_are_no_wider_than_their_level_asks() -> None:
    """With two points and one look they are Student's at 1 - 0.05·6/π²: 97 of 100 hold, not all."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(4000):
        made = Race(2, 1, DELTA)
        for _ in range(6):
            made.add(0, [0.0])
            made.add(1, [rng.normal(0.1, 0.05)])
        made.look()
        found = made.against[1 if made.leader == 0 else 0]
        true = 0.1 if made.leader == 0 else -0.1
        held += found.low <= true <= found.high
    level = 1 - 0.05 * 6 / math.pi**2
    assert abs(held / 4000 - level) < 4 * math.sqrt(level * (1 - level) / 4000)


def test_of_equal_points_none_is_put_out_more_often_than_the_level_says() -> None:
    rng = np.random.default_rng(8)
    truth = np.zeros((10, 1))
    out = sum(0 not in race(rng, truth, 0.2, 20, None)[0].live for _ in range(TRIALS))
    assert out <= 0.05 * TRIALS


@given(
    st.integers(2, 4).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.floats(-1, 1), min_size=n, max_size=n), min_size=2, max_size=3),
            st.floats(0, 0.5),
        )
    )
)
def test_the_bound_of_regrets_is_below_whatever_the_intervals_allow(
    drawn: tuple[list[list[float]], float],
) -> None:
    """Any truth within the intervals has a difference of worst regrets within the bounds."""
    rows, reach = drawn
    middles = np.array([[0.0] * len(rows[0]), *rows])  # the leader's own is nought
    width = np.full_like(middles, reach)
    width[0] = 0
    low, high = middles - width, middles + width
    rng = np.random.default_rng(1)
    for point in range(1, len(middles)):
        _, below, above = _regrets(point, low, middles, high)
        for _ in range(50):
            true = rng.uniform(low, high)
            regrets = (true - true.min(axis=0)).max(axis=1)
            assert below - 1e-9 <= regrets[point] - regrets[0] <= above + 1e-9


def test_one_scene_bounds_are_the_interval_itself() -> None:
    low, mid, high = (np.array([[0.0], [x]]) for x in (0.1, 0.2, 0.3))
    assert _regrets(1, low, mid, high) == pytest.approx((0.2, 0.1, 0.3))


def test_a_guard_is_broken_only_where_the_seeds_show_it() -> None:
    guard = Guard.parse("slowdown.large.mean<=1.05*best")
    same = [[1.0, 1.1, 1.2, 1.0, 1.1]]
    worse = [[v * 1.2 * w for v, w in zip(same[0], (1, 1.01, 0.99, 1.02, 0.98), strict=True)]]
    noisy = [[1.0, 1.9, 0.9, 1.6, 0.8]]
    found = guards.judge(guard, [same, worse, noisy], 0, 0.01)
    assert [v.surely for v in found] == [False, True, False]
    assert found[0].over == pytest.approx(1 / 1.05 - 1)
    assert found[1].over > 0.1


def test_a_guard_that_is_missed_on_average_costs_nobody_the_lead() -> None:
    """Few flows make a guard's figure: the best point's is over its bound, and may well keep it."""
    bound = Guard.parse("slowdown.large.mean<=1.05*best")
    few = [[[1.9, 1.4, 2.3, 1.2, 1.9]], [[1.6, 1.5, 1.7, 1.5, 1.6]]]
    best, other = found = guards.judge(bound, few, own=1, error=0.01)
    assert best.over > 0 >= other.over
    made = Race(2, 1, DELTA)
    for noise in (0.0, 0.01, -0.01, 0.005, -0.005):
        made.add(0, [noise])
        made.add(1, [0.5 - noise])
    made.look(guards.kept([found], 2))
    assert made.leader == 0
    assert made.live == {0}


def test_a_count_that_must_be_nought_is_broken_by_one() -> None:
    found = guards.judge(Guard.parse("drops=0"), [[[0, 0, 0]], [[0, 1, 0]]], 0, 0.01)
    assert [v.surely for v in found] == [False, True]


def test_a_guard_over_nought_is_missed_by_anything() -> None:
    own, worse, best = ([[0.0] * 3], [[1000.0, 0.0, 900.0]], [[0.0, 0.0, 0.0]])
    guard = Guard.parse("drops<=1.05*own")
    kept_, missed, same = guards.judge(guard, [own, worse, best], 0, 0.05)
    assert (kept_.over, kept_.surely) == (0, False)
    assert missed.surely
    assert missed.over == pytest.approx(1900 / 3)
    assert (same.over, same.surely) == (0, False)
    # Nought in one block alone: each block has its own bound.
    some = [[10.0, 0.0, 20.0]]
    assert guards.judge(guard, [some, [[10.0, 0.0, 21.0]]], 0, 0.05)[1].over == pytest.approx(
        (31 - 1.05 * 30) / (1.05 * 30)
    )
    assert guards.judge(guard, [some, [[100.0, 90.0, 110.0]]], 0, 0.05)[1].surely


def test_the_middle_is_geometric() -> None:
    assert middle([10.0, 20.0, 40.0, 160.0]) == 2
    assert middle([10.0, 11.0, 1000.0]) == 1


def test_the_interval_that_put_a_point_out_stands() -> None:
    """Later looks spend less of the error: judged again, these five blocks would tell nothing."""
    made = Race(3, 1, DELTA)
    for noise in (0.0, 0.01, -0.01, 0.02, -0.02):
        for point, gap in enumerate((0.0, 0.03 + noise, 0.001 + noise)):
            made.add(point, [gap])
    made.look()
    assert made.live == {0, 2}
    out = made.against[1]
    assert 0 < out.low < 0.01
    for look in range(6):
        made.add(0, [0.0])
        made.add(2, [-0.019 if look % 2 else 0.02])
        made.look()
        assert made.leader == 0
        assert made.against[1] == out
    made._errors.clear()
    assert made._judge(0)[1].low < 0


def test_who_was_put_out_by_a_point_that_breaks_a_guard_is_in_again() -> None:
    made = Race(4, 1, DELTA)
    gaps = (0.0, 0.3, 0.31, 0.6)
    for noise in (0.0, 0.01, -0.01, 0.02, -0.02):
        for point, gap in enumerate(gaps):
            made.add(point, [gap + noise * (1 + point)])
    made.look()
    assert (made.leader, made.live) == (0, {0})
    # The leader turns out to break a guard: the best of the others is not known.
    made.drop(0)
    assert made.live == {1, 2, 3}
    made.look()
    assert made.leader == 1
    assert made.live == {1, 2}
    made.drop(2)
    assert made.live == {1}


@given(st.integers(0, 10**6), st.booleans())
def test_whoever_is_out_is_surely_worse_than_the_leader(draw: int, regrets: bool) -> None:
    """A setting that another put out does not stay out for it, whatever guards fell on the way."""
    rng = np.random.default_rng(draw)
    points, scenes = 6, 2 if regrets else 1
    truth = rng.normal(0, 0.3, (points, scenes))
    made = Race(points, scenes, DELTA)
    falls = {p: int(rng.integers(0, 6)) for p in range(points) if rng.random() < 0.5}
    dropped: set[int] = set()
    for look in range(6):
        most = max(map(made.blocks, range(points))) + 3
        for p in sorted(made.live):
            for block in range(made.blocks(p), most):
                noise = np.random.default_rng((draw, p, block)).normal(0, 0.2, scenes)
                made.add(p, list(truth[p] + noise))
        kept = [falls.get(p, 9) > look for p in range(points)]
        for p in range(points):
            if not kept[p] and p not in dropped and len(made.live | made.put_out.keys()) > 1:
                made.drop(p)
                dropped.add(p)
        made.look(kept)
        assert made.live | made.put_out.keys() | dropped == set(range(points))
        assert not made.live & (made.put_out.keys() | dropped)
        assert made.leader in made.live
        assert set(made.put_out.values()) <= {made.leader}
        assert all(made.against[p].low > 0 for p in made.put_out)
        if kept[made.leader]:
            assert all(made.against[p].low <= 0 for p in made.live)
