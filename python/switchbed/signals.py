"""How a command ends when it is told to. SIGINT (Ctrl-C), SIGTERM and SIGHUP raise `Stopped` where
the main thread is, and what was begun is put away as it passes: within a second. What has locks
and threads of others in its hands holds them meanwhile, and asks whether one came."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, TypeVar

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDING = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
"""Windows has no SIGHUP."""
AGAIN_S = 1.0
"""One that comes sooner does not disturb what the first has started."""
THREADS = "run"
"""How the names of threads begin that no command waits for once it is stopped."""
LAST_S = 0.1
"""Seconds that threads get to end by themselves."""
TICK_S = 0.1
"""How often a thread that waits looks for signals: Polars's handler of SIGINT restarts waits."""
Found = TypeVar("Found")


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


def apart(work: Callable[[], Found], interrupt: Callable[[], object]) -> Found:
    """Does the work in a thread, for a library that does not look for signals. A command leaves it
    behind (`leave`); a program that catches Ctrl-C goes on once `interrupt` has ended the work."""
    found: list[Found] = []
    failed: list[BaseException] = []

    # `Thread.join` takes a thread for ended where Ctrl-C ends the wait (Python 3.11), and an
    # interpreter that ends with a library at work in a thread aborts.
    ended = threading.Event()

    def done() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            ended.set()

    # A signal's exception would leave the thread half begun.
    with held():
        thread = threading.Thread(target=done, name=f"{THREADS}_apart")
        try:
            thread.start()
            while not ended.wait(TICK_S):
                due()
        except Stopped:
            raise
        except KeyboardInterrupt:
            # More than once: work that has only begun to begin does not notice.
            while not ended.is_set():
                interrupt()
                ended.wait(LAST_S)
            raise
    if failed:
        raise failed[0]
    return found[0]


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
