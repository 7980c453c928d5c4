"""A sweep's progress on standard error: runs done, failures, rate, time remaining."""

import time
from collections.abc import Sequence
from typing import Protocol, Self

from switchbed import progress_bar
from switchbed._native import Progress
from switchbed.sweeps import engine


class Tally(engine.Tally, Protocol):
    """Counters of a sweep under way."""

    kept: int


class Silent(progress_bar.Silent):
    """Meter that shows nothing."""

    def begin(self, total: int) -> None:
        """Ignore the number of runs."""

    def draw(self, done: float) -> None:
        """Ignore how much is done."""


class SweepBar:
    """Runs of all; `begin` starts a round of so many."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._started = time.monotonic()
        self._total = 0
        self._base = 0
        self._display = progress_bar.display()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._display.stop()

    def begin(self, total: int) -> None:
        """Add `total` runs to the display."""
        self._base = self._tally.ran + self._tally.failed
        self._total = self._base + total

    def show(self, tracks: Sequence[Progress]) -> None:
        """Shows how far each run is."""
        self.draw(sum(map(progress_bar.fraction, tracks)))

    def draw(self, done: float) -> None:
        """Shows that `done` of this round's runs are."""
        text = describe(self._tally, self._total, time.monotonic() - self._started)
        self._display.update(self._base + done, max(self._total, 1), text)


def describe(tally: Tally, total: int, elapsed_s: float) -> str:
    """`12/200 runs · 3 kept from before · 1 failed · 2.1 runs/s`."""
    done = tally.ran + tally.failed
    parts = [f"{done:,}/{total:,} runs"]
    if tally.kept:
        parts.append(f"{tally.kept:,} kept from before")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if elapsed_s > 0:
        parts.append(f"{done / elapsed_s:.2g} runs/s")
    return " · ".join(parts)


Bar = SweepBar | Silent


def bar(tally: Tally, *, quiet: bool = False) -> Bar:
    """Progress, unless `quiet`."""
    return Silent() if quiet else SweepBar(tally)
