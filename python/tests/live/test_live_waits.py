"""Waits that cannot end fail, and say what they saw; slow ones go on."""

import subprocess
import sys
import time
from itertools import count

import pytest
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
