"""`switchbed live run`: opens the devices, gives up its rights, forwards until it is stopped,
and writes down what it was asked to."""

import io
import json
import os
import signal
import socket as socketlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from switchbed import _native, files, signals
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
        raise Mistake(
            f"--out {request.out}: exists, and --force replaces files alone; name another"
        )
    traces = _traces(live)
    with interfaces.joined(live):
        return _run(request, plan, live, traces)


def _run(request: Request, plan: _native.LivePlan, live: dict[str, Any], traces: list[Path]) -> int:
    # The switch begins them anew (crates/live, `Recorder`).
    for path in traces:
        path.unlink(missing_ok=True)
    socket = request.socket or _socket(live, request.file)
    switch = _open(plan, socket)
    # After opening: TAP interfaces exist only now.
    interfaces.place_taps(live)
    user = _native.unprivileged_user()
    out = None if request.out is None else _Results(request.out, user)
    # While root's rights are there to ask for it.
    if live["live"]["realtime"]:
        _be_punctual()
    with _stopped_by_signals(switch), _removed_by_root(socket) if user else nullcontext():
        # Later no socket can be made any more.
        _notify_systemd()
        # Before any thread is started: what those have is taken from them here.
        confined = _native.confine()
        ports, scheme = len(live["port"]), live["scheme"]["label"]
        _say(f"{ports} ports, {scheme}; {confined}; {socket}")
        for note in plan.notes:
            _say(note)
        stats, series = _forward(switch, request.seconds, keep_series=out is not None)
        if out is not None:
            out.write(live, stats, series)
    return 0


def _notify_systemd() -> None:
    """Tells systemd that the devices are open, if it waits for that (Type=notify, sd_notify(3))."""
    place = os.environ.get("NOTIFY_SOCKET")
    if not place:
        return
    # An abstract socket's name begins with a null byte, written as an @.
    address = "\0" + place[1:] if place.startswith("@") else place
    with socketlib.socket(socketlib.AF_UNIX, socketlib.SOCK_DGRAM) as stream:
        try:
            stream.sendto(b"READY=1", address)
        except OSError as error:
            _say(f"NOTIFY_SOCKET {place}: {error.strerror or error}; systemd is not notified")


def _traces(live: dict[str, Any]) -> list[Path]:
    """Where the packet traces will be, all of which may be written."""
    found = [Path(port["pcap"]) for port in live["port"] if port.get("pcap")]
    for path in found:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise Mistake(f"port.pcap {path}: is a device or a pipe; name a file")
        files.free(path, "port.pcap")
    return found


def _say(text: str) -> None:
    say(f"switchbed: {text}", err=True)


@contextmanager
def _removed_by_root(socket: Path) -> Iterator[None]:
    """The switch may not remove its socket, as another user than whose folder it is in. A process
    that stays root's, without a capability, with nothing open and with few system calls, does when
    the switch has ended, however that was."""
    made = socket.stat()
    ended, end = os.pipe()
    remover = os.fork()
    if remover == 0:
        try:
            os.setsid()  # Ctrl-C ends the switch
            # The pipe's end alone stays: a device held open would outlive the switch.
            os.closerange(0, ended)
            os.closerange(ended + 1, os.sysconf("SC_OPEN_MAX"))
            _native.confine_remover()
            # The pipe closes when the switch ends, however that is.
            os.read(ended, 1)
            if os.path.samestat(socket.stat(), made):
                socket.unlink()
        finally:
            os._exit(0)
    os.close(ended)
    try:
        yield
    finally:
        os.close(end)
        os.waitpid(remover, 0)


def _socket(live: dict[str, Any], file: Path) -> Path:
    named = live["live"].get("socket")
    return Path(named) if named else system.make_runtime_folder() / f"{file.stem}.sock"


def _open(plan: LivePlan, socket: Path) -> LiveSwitch:
    try:
        return plan.open(socket)
    except OSError as error:
        # "Operation not permitted" and "Permission denied".
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
    switch: LiveSwitch, seconds: float | None, *, keep_series: bool
) -> tuple[dict[str, Any], "pl.DataFrame | None"]:
    """Runs it on a thread of its own; this one waits for signals."""
    result: list[str | BaseException] = []

    def forward() -> None:
        try:
            result.append(switch.run())
        except BaseException as error:
            result.append(error)

    parts: list[pl.DataFrame] = []
    said = 0
    thread = threading.Thread(target=forward, name="switch")
    thread.start()
    end = None if seconds is None else time.monotonic() + seconds
    while thread.is_alive():
        thread.join(TICK_S)
        if end is not None and time.monotonic() >= end:
            switch.stop()
        _take(switch, parts if keep_series else None)
        gone = switch.gone()
        for text in gone[said:]:
            _say(text)
        said = len(gone)
    _take(switch, parts if keep_series else None)
    if isinstance(result[0], BaseException):
        raise result[0]
    stats: dict[str, Any] = json.loads(result[0])
    return stats, _joined(parts)


def _joined(parts: "list[pl.DataFrame]") -> "pl.DataFrame | None":
    if not parts:
        return None
    import polars as pl

    return pl.concat(parts)


def _take(switch: LiveSwitch, parts: "list[pl.DataFrame] | None") -> None:
    table = switch.take_series()
    if parts is not None and len(table):
        import polars as pl

        parts.append(pl.DataFrame(table))


@contextmanager
def _stopped_by_signals(switch: LiveSwitch) -> Iterator[None]:
    """Signals end the switch in order: what was measured is written."""

    def stop(_number: int, _frame: object) -> None:
        switch.stop()

    before = {number: signal.getsignal(number) for number in signals.ENDING}
    # Signals that were ignored (nohup) stay so.
    heard = [number for number in before if before[number] != signal.SIG_IGN]
    for number in heard:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def _load_what_writes() -> None:
    """The new user may not be allowed to read it. It starts threads: their rights go with the
    user."""
    _native.leave_none_to_heirs()
    import polars as pl

    pl.DataFrame({"none": []}).write_parquet(io.BytesIO())


class _Results:
    """The folder of `--out`, opened while that is still allowed and handed to the user that the
    switch becomes."""

    def __init__(self, path: Path, user: tuple[str, int, int] | None) -> None:
        # Opened before the rights go: the new user could not reach the path.
        path.mkdir(parents=True)
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        if user is not None:
            _, uid, gid = user
            os.fchown(self._folder, uid, gid)
            _load_what_writes()

    def write(
        self, live: dict[str, Any], stats: dict[str, Any], series: "pl.DataFrame | None"
    ) -> None:
        """Write the measurements to a result directory."""
        for name, found in (("live", live), ("stats", stats)):
            with self._open(f"{name}.json") as file:
                file.write(json.dumps(found, indent=2).encode() + b"\n")
        if series is not None:
            # As it was tried before: into memory.
            written = io.BytesIO()
            series.write_parquet(written)
            with self._open("series.parquet") as file:
                file.write(written.getbuffer())

    def _open(self, name: str) -> BinaryIO:
        def within(path: str, flags: int) -> int:
            # Within the folder held open: the path may not be reachable any more.
            return os.open(path, flags, 0o644, dir_fd=self._folder)

        return open(name, "wb", opener=within)
