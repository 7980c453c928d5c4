"""Has the program check and run mutants, one a line of standard input, and answers what became of
each. `mutants.py` starts and watches it."""

import contextlib
import io
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from evidence.robustness import mutate
from switchbed import _native, cli, ending

BAD_INPUT, INTERRUPTED = 2, 130
LIMIT = 6 * 2**30
"""Address space beyond which the system gives no more."""
plans = _native.plans


def outcome(arguments: list[str], good: str) -> str:
    """What the command line makes of the arguments."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            ending.finish(lambda: cli.cli.main(arguments, "switchbed", standalone_mode=False))
    except SystemExit as end:
        if end.code == 0:
            return good
        lines = said.getvalue().splitlines()
        if end.code == BAD_INPUT and len(lines) == 1:
            return "refused"
        if end.code == INTERRUPTED:
            return "interrupted"
        return f"exit {end.code}, {len(lines)} lines: {lines[-1] if lines else ''}"
    except BaseException as error:
        traceback.print_exc()
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"traceback: {type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}"
    raise AssertionError("finish() returned")


def do(verb: str, name: str, text: str, folder: Path, choice: int = 0) -> str:
    """Checks the scenario, or runs one of its combinations."""
    file = folder / f"{name}.toml"
    file.write_text(text)
    if verb == "check":
        return outcome(["scenario", "check", str(file)], "accepted")

    def one(*arguments: Any) -> list[_native.Plan]:
        found = plans(*arguments)
        return [found[choice % len(found)]]

    _native.plans = one  # type: ignore[assignment]
    try:
        return outcome(["run", str(file), "--out", str(folder / "out"), "--force"], "ended")
    finally:
        _native.plans = plans


def main() -> None:
    """Answers until its input ends."""
    seed = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else is printed goes where the last words go
    with tempfile.TemporaryDirectory(prefix="switchbed-mutants-") as place:
        folder = Path(place)
        for file in mutate.SCENARIOS.glob("*.csv"):
            shutil.copy(file, folder)
        do(
            "run", *next(iter(mutate.texts().items())), folder
        )  # what is imported then counts for none
        print("ready", file=answers)
        for line in sys.stdin:
            verb, number = line.split()
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                word = do(verb, *mutate.mutant(seed, int(number)), folder, int(number))
            except KeyboardInterrupt:  # as it was about to end
                word = "interrupted"
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            print(" ".join(word.split()), file=answers)


if __name__ == "__main__":
    main()
