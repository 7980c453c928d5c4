"""Progress on a terminal, for runs that last."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from switchbed import terminal
from switchbed._native import Progress

if TYPE_CHECKING:
    import rich.progress

PATIENCE_S = 2.0
"""Runs that end sooner show nothing."""


class Silent:
    """Meter that shows nothing, for output that is no terminal."""

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
        self._bar: rich.progress.Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, tracks: Sequence[Progress]) -> None:
        """Draws the bar anew, once the patience is over."""
        elapsed = time.monotonic() - self._begin
        if elapsed < PATIENCE_S:
            return
        if self._bar is None:
            self._bar = bar()
            self._bar.add_task("", total=1.0, text="")
            self._bar.start()
        done = sum(map(fraction, tracks)) / len(tracks)
        self._bar.update(self._bar.task_ids[0], completed=done, text=describe(tracks, elapsed))
        self._bar.refresh()


def drawn() -> bool:
    """Standard error is a terminal where a bar may be drawn."""
    return sys.stderr.isatty() and not terminal.plain()


def meter(*, quiet: bool = False) -> Bar | Silent:
    """A bar where it may be drawn, unless `quiet`."""
    return Bar() if drawn() and not quiet else Silent()


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
