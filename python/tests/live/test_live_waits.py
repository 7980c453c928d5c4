"""Waits of the live tests: those that cannot end fail, and say what they saw; slow ones go on. How
often a test passes follows from how often what it looks for happens (`live_lab.shows`)."""

import functools
import math
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count

import pytest
from live_lab import SPEEDS, shows
from live_switch import process
from progress import wait_for

from switchbed.live import system


def test_a_wait_without_progress_fails_with_what_it_saw() -> None:
    begin = time.monotonic()
    with pytest.raises(AssertionError, match=r"the last change was 0\.[0-9] s ago: 'two of three'"):
        wait_for(lambda: "two of three", lambda seen: seen == "three", stalled_s=0.2)
    assert time.monotonic() - begin < 10


def test_a_wait_with_progress_goes_on_but_not_for_ever() -> None:
    numbers = count()
    assert wait_for(lambda: next(numbers), lambda seen: seen > 20, stalled_s=0.2) == 21
    with pytest.raises(AssertionError, match="it did not happen in"):
        wait_for(lambda: next(numbers), lambda seen: seen < 0, stalled_s=10, most_s=0.2)


def test_what_a_process_has_said_is_told_when_it_ends_too_early() -> None:
    with (
        process(["sh", "-c", "echo one; echo two >&2"]) as running,
        pytest.raises(AssertionError, match=r"it ended with 0 and had said 'one\\ntwo\\n'"),
    ):
        running.wait_for("three")


SAYS = "import sys, time; {}; print('a line', flush=True); sys.stdin.read()"
BUSY = "end = time.process_time() + 1\nwhile time.process_time() < end: pass"


@pytest.mark.parametrize(
    ("before", "answers"), [("pass", True), (f"exec({BUSY!r})", True), ("time.sleep(99)", False)]
)
def test_a_process_that_does_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch, before: str, answers: bool
) -> None:
    monkeypatch.setattr(system, "LOOKS_EVERY_S", 0.25)
    monkeypatch.setattr(system, "STALLED_S", 5.0 if answers else 0.6)
    with subprocess.Popen(
        [sys.executable, "-S", "-c", SAYS.format(before)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        if answers:
            assert system.line_of(started, started.stdout, "it") == "a line\n"
            started.stdin.close()
            system.end_of(started, "it")
            assert started.returncode == 0
        else:
            with pytest.raises(OSError, match="it has not answered or ended in"):
                system.line_of(started, started.stdout, "it")
            started.kill()


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
