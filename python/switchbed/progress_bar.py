"""Progress on standard error, for runs that last: a bar on a terminal, else a line a minute."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self

from switchbed import terminal
from switchbed._native import Progress

if TYPE_CHECKING:
    import rich.progress

PATIENCE_S = 2.0
"""Runs that end sooner show nothing on a terminal."""
PERIOD_S = 60.0
"""Time between two lines where no bar can be drawn."""


class Display(Protocol):
    """The form that progress takes."""

    def update(self, done: float, total: float, text: str) -> None:
        """Shows how much is done of how much; `text` says more."""

    def stop(self) -> None:
        """Leaves nothing on the screen that moves."""


class Lines:
    """A line a minute."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def update(self, done: float, total: float, text: str) -> None:
        """Prints a line if the last one is a minute old."""
        now = time.monotonic()
        if now - self._last >= PERIOD_S:
            self._last = now
            terminal.say(f"switchbed: {done / total:.0%} · {text}", err=True)

    def stop(self) -> None:
        """Leaves what was printed."""


class Drawn:
    """A bar, once the patience is over."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._bar: rich.progress.Progress | None = None

    def update(self, done: float, total: float, text: str) -> None:
        """Draws the bar anew."""
        if time.monotonic() - self._begin < PATIENCE_S:
            return
        if self._bar is None:
            self._bar = bar()
            self._bar.add_task("", total=total, text="")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, text=text)
        self._bar.refresh()

    def stop(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()


class Silent:
    """Meter that shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def show(self, tracks: Sequence[Progress]) -> None:
        """Ignore the progress."""


class Bar:
    """Flows done of all, simulated time, rate, time remaining, on standard error."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._display = display()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._display.stop()

    def show(self, tracks: Sequence[Progress]) -> None:
        """Shows how far all runs are."""
        elapsed = time.monotonic() - self._begin
        done = sum(map(fraction, tracks)) / len(tracks)
        self._display.update(done, 1.0, describe(tracks, elapsed))


def drawn() -> bool:
    """Standard error is a terminal where a bar may be drawn."""
    return sys.stderr.isatty() and not terminal.plain()


def display() -> Display:
    """A bar where one may be drawn, else a line a minute."""
    return Drawn() if drawn() else Lines()


def progress_bar(*, quiet: bool = False) -> Bar | Silent:
    """Progress, unless `quiet`."""
    return Silent() if quiet else Bar()


def fraction(track: Progress) -> float:
    """How much of a run is done: of its flows, or of its time if that is more."""
    flows = track.flows_done / track.flows_total if track.flows_total else 0.0
    clock = track.now_ps / track.until_ps if track.until_ps else 0.0
    return min(1.0, max(flows, clock))


def describe(tracks: Sequence[Progress], elapsed_s: float) -> str:
    """Runs and flows begun and done, simulated time and rate over all runs."""
    begun = [track for track in tracks if track.events]
    done, total = sum(t.flows_done for t in begun), sum(t.flows_total for t in begun)
    hops = sum(track.packet_hops for track in tracks)
    parts = [
        f"{done:,}/{total:,} flows",
        f"{sum(t.now_ps for t in begun) / 1e9:,.1f} ms",
        f"{hops / elapsed_s / 1e6:.1f} M hops/s",
    ]
    if len(tracks) > 1:
        parts.insert(0, f"{len(begun)}/{len(tracks)} runs")
    return " · ".join(parts)


def bar() -> "rich.progress.Progress":
    """A bar that is drawn anew on request; its task's field `text` stands behind it."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    from switchbed.console import Console

    return Progress(
        BarColumn(bar_width=10),
        TaskProgressColumn(),
        Remaining(),
        TextColumn("{task.fields[text]}"),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
