"""How often a live test passes, by how often what it looks for happens (`live_lab.shows`)."""

import functools
import math
from collections.abc import Callable

import pytest
from live_lab import SPEEDS, shows


class UndecidedError(Exception):
    """One more run is needed."""


Run = tuple[float, bool]
"""Its scale, and whether it happened."""


def verdict(outcomes: tuple[bool, ...]) -> tuple[bool, list[Run]]:
    """What `shows` says of runs with these outcomes, and their scales."""
    runs: list[Run] = []

    def happens(scale: float) -> tuple[bool, object]:
        if len(runs) == len(outcomes):
            raise UndecidedError
        runs.append((scale, outcomes[len(runs)]))
        return runs[-1][1], None

    try:
        shows(happens)
    except pytest.fail.Exception:
        return False, runs
    return True, runs


@functools.cache
def passing() -> list[list[Run]]:
    """All runs that pass."""
    found = []
    undecided: list[tuple[bool, ...]] = [()]
    while undecided:
        outcomes = undecided.pop()
        try:
            passes, runs = verdict(outcomes)
        except UndecidedError:
            undecided += [(*outcomes, True), (*outcomes, False)]
        else:
            found += [runs] if passes else []
    return found


def probability(chance: Callable[[float], float]) -> float:
    """How probably it passes what happens by chance, at each scale by its own."""
    return sum(
        math.prod(chance(scale) if happened else 1 - chance(scale) for scale, happened in runs)
        for runs in passing()
    )


@pytest.mark.parametrize(("p", "pass_"), [(0.1, 0.001), (0.3, 0.035), (0.5, 0.253), (0.8, 0.946)])
def test_what_happens_now_and_then_seldom_passes(p: float, pass_: float) -> None:
    assert probability(lambda _: p) == pytest.approx(pass_, abs=0.0005)


@pytest.mark.parametrize(("p", "at_once", "slowly"), [(0.9, 465, 126), (0.95, 18_900, 2_700)])
def test_what_nearly_always_happens_nearly_always_passes(
    p: float, at_once: int, slowly: int
) -> None:
    """`slowly`: on a machine that shows nothing at the first speed."""
    assert 1 / (1 - probability(lambda _: p)) == pytest.approx(at_once, rel=0.01)
    assert 1 / (1 - probability(lambda scale: p * (scale < SPEEDS[0][0]))) == pytest.approx(
        slowly, rel=0.01
    )
