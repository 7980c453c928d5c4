"""`switchbed live run`: opens the devices, gives up its rights, forwards until it is stopped,
and writes down what it was asked to."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native, signals
from switchbed._native import LivePlan, LiveSwitch, Mistake
from switchbed.live import interfaces, system
from switchbed.terminal import say

if TYPE_CHECKING:
    import polars as pl

TICK_S = 0.1
REALTIME_PRIORITY = 10
"""Above ordinary threads; the kernel's own are higher still."""


@dataclass(frozen=True)
class Request:
    """The command line of `switchbed live run`."""

    file: Path
    sets: tuple[str, ...] = ()
    socket: Path | None = None
    out: Path | None = None
    seconds: float | None = None
    """Stop then; None: run until SIGINT or SIGTERM."""


def run(request: Request, text: str | None = None) -> int:
    """Runs the switch to its end: the exit code. A text stands for the file."""
    if text is None:
        plan = _native.live_plan(request.file, request.sets)
    else:
        plan = _native.live_plan_of(str(request.file), text, request.sets)
    live = json.loads(plan.live)
    if request.out is not None and request.out.exists():
        raise Mistake(f"--out {request.out}: exists; name another")
    interfaces.check(live)
    socket = request.socket or _socket(live, request.file)
    switch = _open(plan, socket)
    interfaces.place_taps(live)
    if request.out is not None:
        request.out.mkdir(parents=True)
    if live["live"]["realtime"]:
        _be_punctual()
    # Threads that are started from here on have no rights either.
    _native.drop_capabilities()
    say(f"switchbed: {len(live['port'])} ports, {live['scheme']['label']}; {socket}", err=True)
    stats, series = _forward(switch, request.seconds)
    if request.out is not None:
        _write(request.out, live, stats, series)
    return 0


def _socket(live: dict[str, Any], file: Path) -> Path:
    named = live["live"].get("socket")
    return Path(named) if named else system.make_runtime_folder() / f"{file.stem}.sock"


def _open(plan: LivePlan, socket: Path) -> LiveSwitch:
    try:
        return plan.open(socket)
    except OSError as error:
        if os.geteuid() != 0 and "ermi" in str(error):
            raise Mistake(
                f"{error}: a live switch needs CAP_NET_ADMIN and CAP_NET_RAW: run it with sudo"
            ) from error
        raise Mistake(str(error)) from error


def _be_punctual() -> None:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    except OSError as error:
        raise Mistake(
            f"live.realtime is true: {error.strerror}; run it with sudo, or write realtime = false"
        ) from error


def _forward(
    switch: LiveSwitch, seconds: float | None
) -> tuple[dict[str, Any], "pl.DataFrame | None"]:
    """Runs it on a thread of its own; this one waits for signals."""
    result: list[str | BaseException] = []

    def forward() -> None:
        try:
            result.append(switch.run())
        except BaseException as error:
            result.append(error)

    parts: list[pl.DataFrame] = []
    with _stopped_by_signals(switch):
        thread = threading.Thread(target=forward, name="switch")
        thread.start()
        end = None if seconds is None else time.monotonic() + seconds
        while thread.is_alive():
            thread.join(TICK_S)
            if end is not None and time.monotonic() >= end:
                switch.stop()
            _take(switch, parts)
        _take(switch, parts)
    if isinstance(result[0], BaseException):
        raise result[0]
    stats: dict[str, Any] = json.loads(result[0])
    return stats, _joined(parts)


def _joined(parts: "list[pl.DataFrame]") -> "pl.DataFrame | None":
    if not parts:
        return None
    import polars as pl

    return pl.concat(parts)


def _take(switch: LiveSwitch, parts: "list[pl.DataFrame]") -> None:
    table = switch.take_series()
    if len(table):
        import polars as pl

        parts.append(pl.DataFrame(table))


@contextmanager
def _stopped_by_signals(switch: LiveSwitch) -> Iterator[None]:
    """Signals end the switch in order: what was measured is written."""

    def stop(_number: int, _frame: object) -> None:
        switch.stop()

    before = {number: signal.signal(number, stop) for number in signals.ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write(
    out: Path, live: dict[str, Any], stats: dict[str, Any], series: "pl.DataFrame | None"
) -> None:
    (out / "live.json").write_text(json.dumps(live, indent=2) + "\n")
    (out / "stats.json").write_text(json.dumps(stats, indent=2) + "\n")
    if series is not None:
        series.write_parquet(out / "series.parquet")
