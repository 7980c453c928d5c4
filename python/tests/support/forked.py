"""The program in forks of a process that has imported it and what it draws with, which takes two
seconds."""

import atexit
import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from progress import STALLED_S, wait_for, worked

HANGS_S = 600
"""No test takes so long, on a machine as busy as any: what does hangs."""


class Forks:
    """Starts the program again and again; the parent of all that it starts is this file."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run`: in the folder, with today's environment."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        with tempfile.TemporaryDirectory(prefix="switchbed-tests-") as place:
            out, err = Path(place, "out"), Path(place, "err")
            err.touch()
            words = [arguments, str(folder), dict(os.environ), str(out), str(err)]
            self._parent.stdin.write(json.dumps(words) + "\n")
            self._parent.stdin.flush()
            live = arguments[:1] == ["live"]
            try:
                wait_for(
                    lambda: (self._answered(), arguments, err.read_text()),
                    lambda seen: seen[0],
                    moves=lambda: worked(self._parent.pid),
                    # Sweeps may wait for each other; nothing waits long for a live switch.
                    stalled_s=STALLED_S if live else HANGS_S,
                    most_s=HANGS_S,
                )
            except AssertionError:
                # The next command would wait for this one.
                self._kill()
                raise
            code = int(self._parent.stdout.readline())
            return subprocess.CompletedProcess(
                ["switchbed", *arguments], code, out.read_text(), err.read_text()
            )

    def _answered(self) -> bool:
        assert self._parent.stdout is not None
        return bool(select.select([self._parent.stdout], [], [], 0)[0])

    def _kill(self) -> None:
        """Ends what runs, and reads the answer of its end."""
        parent = self._parent.pid
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        assert self._parent.stdout is not None
        self._parent.stdout.readline()

    def close(self) -> None:
        self._parent.communicate()


def _end(main: Callable[[], object]) -> NoReturn:
    """Runs the program and ends the process with its exit code, without taking the interpreter to
    pieces, which takes ten times as long as a short command."""
    code = 0
    try:
        main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _serve() -> None:
    """A line in, a run of the program, its exit code out."""
    # Imported by what draws, what has tables and what most commands are.
    import duckdb  # noqa: F401
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg
    import matplotlib.figure  # noqa: F401
    import polars  # noqa: F401
    import rich.console
    import rich.progress
    import rich.table  # noqa: F401

    from switchbed import free_memory, printing, profiles, run  # noqa: F401
    from switchbed.cli import main
    from switchbed.sweeps import command  # noqa: F401

    # Objects that the collector leaves alone are not copied for forks.
    gc.collect()
    gc.freeze()
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            arguments, folder, environment, out, err = json.loads(line)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
            for number, path, how in (
                (0, os.devnull, os.O_RDONLY),
                (1, out, os.O_CREAT | os.O_WRONLY),
                (2, err, os.O_CREAT | os.O_WRONLY),
            ):
                os.dup2(os.open(path, how), number)
            sys.argv = ["switchbed", *arguments]
            _end(main)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
