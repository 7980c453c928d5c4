"""How a command ends when it is told to. SIGINT (Ctrl-C), SIGTERM and SIGHUP raise `Stopped` where
the main thread is, and what was begun is put away as it passes: within a second. What has locks
and threads of others in its hands holds them meanwhile, and asks whether one came."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDING = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
"""Windows has no SIGHUP."""
AGAIN_S = 1.0
"""One that comes sooner does not disturb what the first has started."""
THREADS = "run"
"""How the names of threads begin that no command waits for once it is stopped."""
LAST_S = 0.1
"""Seconds that threads get to end by themselves."""


class Stopped(KeyboardInterrupt):
    """A signal said to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class CancelledError(Exception):
    """A run ended early because its `Progress` was cancelled."""


class _State:
    def __init__(self) -> None:
        self.last = -AGAIN_S
        """When one raised."""
        self.held = 0
        """How many want none to raise now."""
        self.waits: int | None = None
        """The one that will."""


_STATE = _State()


def install() -> None:
    """From now on they raise; what is ignored, as SIGHUP by `nohup`, still is."""
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    now = time.monotonic()
    if now - _STATE.last < AGAIN_S:
        return
    _STATE.last = now
    if _STATE.held:
        _STATE.waits = number
    else:
        raise Stopped(number)


@contextmanager
def held() -> Iterator[None]:
    """For what is short and must not be left half done: one that comes meanwhile raises after."""
    _STATE.held += 1
    try:
        yield
    finally:
        _STATE.held -= 1
    if not _STATE.held:
        due()


def due() -> None:
    """Raises what came while they were held."""
    if _STATE.waits is not None:
        number, _STATE.waits = _STATE.waits, None
        raise Stopped(number)


def over() -> None:
    """The work is done or given up: until `leave` none raises."""
    _STATE.held += 1


def code(error: BaseException | None) -> int:
    """The exit code that says which signal it was; Ctrl-C's where nothing tells."""
    return 128 + (error.number if isinstance(error, Stopped) else signal.SIGINT)


def leave(status: int) -> NoReturn:
    """Ends the program, whatever threads of runs are still busy with: they write what nobody
    keeps, and the interpreter would wait for them. What comes now ends it at once, with the same
    code to a shell."""
    busy = [thread for thread in threading.enumerate() if thread.name.startswith(THREADS)]
    end = time.monotonic() + LAST_S
    for thread in busy:
        thread.join(max(0.0, end - time.monotonic()))
    for number in ENDING:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_DFL)
    if _STATE.waits is not None:
        status = 128 + _STATE.waits
    _STATE.held, _STATE.waits = 0, None  # where commands run in one process
    if any(thread.is_alive() for thread in busy):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
