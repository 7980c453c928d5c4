"""Seats of a switch port as Python classes, for prototypes: docs/prototyping.md.

A class takes one seat by its base class, and has the methods of that seat's Rust trait
(`crates/qdisc/src/hooks.rs`); `classify`, `admit`, `intend`, `select` and a notifier's `stored`
must be there. An object is made for every port: `MyMarker(port, **params)`. Times are whole
picoseconds, lengths whole bytes.

A hook's view counts the packet in question or not, as each method says.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from switchbed._native import (
    Admission,
    Departure,
    DropReason,
    Ecn,
    Feedback,
    Intent,
    Mistake,
    Note,
    Packet,
    Port,
    Random,
    Selection,
    ServiceEnd,
    Slot,
    View,
)
from switchbed.prototype import sources

__all__ = [
    "Admission",
    "Buffer",
    "Classifier",
    "Departure",
    "DropReason",
    "Ecn",
    "Feedback",
    "Intent",
    "Marker",
    "Note",
    "Notifier",
    "Packet",
    "Port",
    "Random",
    "Scheduler",
    "Selection",
    "ServiceEnd",
    "Slot",
    "View",
    "scheme",
]


def scheme(
    *classes: type, label: str | None = None, base: str = "none", **params: Any
) -> dict[str, Any]:
    """Classes of a Python file as a scheme, for `Scenario.with_` and its `compare.scheme`:
    `with_(scheme=scheme(MyMarker, threshold="20pkt"))`. `params` are theirs and the base's.

    Classes of a prompt or a notebook will do, too; such runs share this process's one core unless
    they are sent to Ray or Slurm, and sweeps do not keep them for another time."""
    files = {_file(cls) for cls in classes}
    if len(files) != 1:
        raise Mistake(f"scheme() takes classes of one file, and these are of {len(files)}")
    names = [cls.__qualname__ for cls in classes]
    named = {} if label is None else {"label": label}
    file = files.pop() or sources.keep(classes)
    params = {"file": file, "class": names, "base": base} | params
    return {"name": "python"} | named | {"params": params}


def _file(cls: type) -> str | None:
    """Where a class is written; `None` if another process could not import it from there."""
    try:
        file = inspect.getsourcefile(cls)
        inspect.getsourcelines(cls)
    except (OSError, TypeError):
        return None
    if file is None or not Path(file).is_file() or "<locals>" in cls.__qualname__:
        return None
    return str(Path(file).resolve())


Ends = Callable[[ServiceEnd], None]
"""Callback of a scheduler, for when a queue's service in a round ends."""


class Classifier:
    """Which queue a packet joins."""

    def __init__(self, port: Port) -> None:
        """A port's classifier; a class's own parameters follow `port`."""

    def classify(self, view: View, packet: Packet) -> int:
        """The queue for an arrival (not counted by the view)."""
        raise NotImplementedError


class Buffer:
    """In or out, and whom to push out."""

    def __init__(self, port: Port) -> None:
        """A port's buffer; a class's own parameters follow `port`."""

    def admit(self, view: View, queue: int, packet: Packet, rng: Random) -> Admission:
        """`Admission.In`, `Admission.Out(reason)`, or `Admission.PushOut(slot)` to drop that
        queued packet and be asked again. The arrival is not counted by the view."""
        raise NotImplementedError

    def stored(self, view: View, queue: int, packet: Packet) -> None:
        """A packet was stored (counted)."""

    def refused(self, view: View, queue: int, packet: Packet, why: DropReason) -> None:
        """An arrival was refused, by whichever seat."""

    def removed(self, view: View, queue: int, packet: Packet, why: DropReason) -> None:
        """A queued packet was pushed out, or dropped as it left (no longer counted)."""

    def sent(self, view: View, queue: int, packet: Packet) -> None:
        """A packet left by the wire (no longer counted)."""

    def reads_pool(self) -> bool:
        """Whether decisions read the memory that the switch's ports share. Asked once."""
        return False

    def period(self) -> int | None:
        """Interval of periodic work in picoseconds. Asked once."""
        return None

    def tick(self, view: View, n: int) -> None:
        """Periodic work: `n` intervals have ended, the last at `view.now_ps`."""


class Marker:
    """Decides which packets are marked or dropped."""

    def __init__(self, port: Port) -> None:
        """A port's marker; a class's own parameters follow `port`."""

    def intend(self, view: View, queue: int, packet: Packet, rng: Random) -> Intent:
        """The wish for an arrival (not counted). Must change nothing in the object: `stored`
        and `refused` do, once the outcome is known."""
        raise NotImplementedError

    def stored(
        self, view: View, queue: int, slot: Slot, intent: Intent, rng: Random
    ) -> Slot | None:
        """The arrival was stored (counted). May name a queued packet to note a mark on."""
        return None

    def refused(self, view: View, queue: int, packet: Packet, why: DropReason) -> None:
        """An arrival was refused, by whichever seat."""

    def depart(self, view: View, queue: int, slot: Slot, note: Note, rng: Random) -> Departure:
        """The verdict on a departure (still counted); `note` is what this port noted so far."""
        return Departure.Pass

    def removed(self, view: View, queue: int, packet: Packet, why: DropReason) -> None:
        """A queued packet was pushed out, or dropped as it left (no longer counted)."""

    def service_ended(self, view: View, end: ServiceEnd) -> None:
        """A queue ended its service in a round."""

    def reads_pool(self) -> bool:
        """Whether decisions read the memory that the switch's ports share. Asked once."""
        return False

    def period(self) -> int | None:
        """Interval of periodic work in picoseconds. Asked once."""
        return None

    def tick(self, view: View, n: int) -> None:
        """Periodic work: `n` intervals have ended, the last at `view.now_ps`."""

    def set_share(self, class_: int, weight: float, cap_bps: int | None) -> None:
        """A class's weight and cap are others from now on."""

    def threshold_bytes(self, view: View, queue: int) -> float | None:
        """The threshold in force for a queue, for the series of queues."""
        return None

    def round_time(self) -> int | None:
        """The smoothed round time in picoseconds, for the series of queues."""
        return None


class Scheduler:
    """Chooses the packet that leaves next."""

    def __init__(self, port: Port) -> None:
        """A port's scheduler; a class's own parameters follow `port`."""

    def enqueued(self, view: View, queue: int, packet: Packet) -> None:
        """A packet was stored in `queue` (counted)."""

    def select(self, view: View, ends: Ends) -> Selection:
        """`Selection.Queue(queue)`, one of `view.eligible` (never empty here), or
        `Selection.NotBefore(time_ps)`. May be asked again without a `served` between. `ends`
        hears of services that end here: `ends(ServiceEnd(queue, started_ps, ended_ps))`."""
        raise NotImplementedError

    def served(self, view: View, queue: int, packet: Packet, until_ps: int, ends: Ends) -> None:
        """The packet is being sent (no longer counted) until then."""

    def removed(self, view: View, queue: int, packet: Packet, why: DropReason) -> None:
        """A packet was pushed out, or dropped as it left (no longer counted). After a push-out
        `enqueued` may follow at once: the queue must keep its turn then."""


class Notifier:
    """Messages to sources. The hosts must listen: the scenario has `[reaction]`, perhaps empty."""

    def __init__(self, port: Port) -> None:
        """A port's notifier; a class's own parameters follow `port`."""

    def stored(self, view: View, queue: int, packet: Packet, rng: Random) -> Feedback | None:
        """A packet was stored (counted); perhaps its source shall hear of it."""
        raise NotImplementedError

    def refused(self, view: View, queue: int, packet: Packet, why: DropReason) -> None:
        """An arrival was refused, by whichever seat."""

    def period(self) -> int | None:
        """Interval of periodic work in picoseconds. Asked once."""
        return None

    def tick(self, view: View, n: int) -> None:
        """Periodic work: `n` intervals have ended, the last at `view.now_ps`."""

    def set_share(self, class_: int, weight: float, cap_bps: int | None) -> None:
        """A class's weight and cap are others from now on."""
