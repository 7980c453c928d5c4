"""A sweep's progress on a terminal: runs done, failures, rate, time remaining."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self

from switchbed import meter
from switchbed._native import Progress
from switchbed.sweeps import engine

if TYPE_CHECKING:
    import rich.progress


class Tally(engine.Tally, Protocol):
    """Counters of a sweep under way."""

    kept: int


class Silent(meter.Silent):
    """Meter that shows nothing, for output that is no terminal."""

    def begin(self, total: int) -> None:
        """Ignore the number of runs."""

    def draw(self, done: float) -> None:
        """Ignore how much is done."""


class SweepBar:
    """The bar. `begin` starts a round of so many runs."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._started = time.monotonic()
        self._total = 0
        self._base = 0
        self._bar: rich.progress.Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, total: int) -> None:
        """Add `total` runs to the display."""
        self._base = self._tally.ran + self._tally.failed
        self._total = self._base + total

    def show(self, tracks: Sequence[Progress]) -> None:
        """Draws the bar anew by how far each run is."""
        self.draw(sum(map(meter.fraction, tracks)))

    def draw(self, done: float) -> None:
        """Draws the bar anew, once runs last; `done` of this round's runs are."""
        elapsed = time.monotonic() - self._started
        if elapsed < meter.PATIENCE_S:
            return
        if self._bar is None:
            self._bar = meter.bar()
            self._bar.add_task("", total=1.0, text="")
            self._bar.start()
        text = describe(self._tally, self._total, elapsed)
        task = self._bar.task_ids[0]
        self._bar.update(task, completed=self._base + done, total=max(self._total, 1), text=text)
        self._bar.refresh()


def describe(tally: Tally, total: int, elapsed_s: float) -> str:
    """`12/200 runs · 3 kept from before · 1 failed · 2.1 runs/s`."""
    done = tally.ran + tally.failed
    parts = [f"{done:,}/{total:,} runs"]
    if tally.kept:
        parts.append(f"{tally.kept:,} kept from before")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    parts.append(f"{done / elapsed_s:.2g} runs/s")
    return " · ".join(parts)


Bar = SweepBar | Silent


def bar(tally: Tally, *, quiet: bool = False) -> Bar:
    """A bar where standard error is a terminal that draws, unless `quiet`."""
    return SweepBar(tally) if meter.drawn() and not quiet else Silent()
