"""A command of Switchbed in this process, for checks that need thousands of them."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from switchbed.cli import cli
from switchbed.ending import finish


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    def faults(self) -> list[str]:
        """What no command may do, whatever it was given."""
        said = [line for line in self.err.splitlines() if line.startswith("switchbed: ")]
        found = [word for word in ("Traceback", "internal error", "panicked") if word in self.err]
        if self.code not in (0, 1, 2):
            found.append(f"exit code {self.code}")
        if self.code == 2 and len(said) != 1:
            found.append(f"{len(said)} lines of what is wrong")
        return found


def switchbed(*arguments: str | Path) -> Done:
    """Runs the command line."""
    words = list(map(str, arguments))
    return ended(lambda: cli.main(words, prog_name="switchbed", standalone_mode=False))


def ended(work: Callable[[], object]) -> Done:
    """Does what a command would, and ends as one."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            finish(work)
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder, but those that differ between two equal runs."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if p.name != "machine.json"}
