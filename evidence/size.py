"""Weight of the tree and length of its loops: tracked files, words of Markdown, the size of
`.venv`, and with `--timed` the seconds of `make check` after three changes, of `make test`, and of
`.ci/run` in a fresh clone.

    python -m evidence.size [--base REV] [--json] [--timed]

`--base` counts the files and words of another revision, too. `--timed` takes half an hour; the
three changes are a comment at the end of a file each, which is taken away again.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
CHANGES = {
    "a scheme": ("crates/qdisc/src/schemes/tcn.rs", "\n// Changed for a time.\n"),
    "the parser": ("crates/config/src/read.rs", "\n// Changed for a time.\n"),
    "a plot": ("python/switchbed/plots/cdf.py", "\n\n# Changed for a time.\n"),
}
"""By what is said to change: a file, and what it ends with then, formatted."""

Row = tuple[str, float, str]
"""What is measured, how much, and its unit."""


def git(*words: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"size: git {' '.join(words)}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def tracked(revision: str) -> Iterator[Row]:
    """The files of a revision, and the words of its Markdown, counted as `wc -w` does."""
    names = git("ls-tree", "-r", "-z", "--name-only", revision).split("\0")[:-1]
    pages = [name for name in names if name.endswith(".md")]
    yield "tracked files", len(names), ""
    yield "fuzz inputs and archives", sum(name.startswith("fuzz/corpus/") for name in names), ""
    yield "pictures", sum(name.endswith(".png") for name in names), ""
    yield "pages of Markdown", len(pages), ""
    words = sum(len(git("show", f"{revision}:{name}").split()) for name in pages)
    yield "words of Markdown", words, ""


def installed() -> Iterator[Row]:
    """The size of the virtual environment; files that are linked count once."""
    sizes = {}
    for file in VENV.rglob("*"):
        status = file.lstat()
        sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    yield ".venv", round(sum(sizes.values()) / 1e6), "MB"


def timed() -> Iterator[Row]:
    """The seconds of the loops, by the clock."""
    seconds(["make", "check"])
    for what, (name, more) in CHANGES.items():
        with changed(ROOT / name, more):
            yield f"make check after a change of {what}", seconds(["make", "check"]), "s"
        seconds(["make", "check"])
    yield "make test", seconds(["make", "test"]), "s"
    with tempfile.TemporaryDirectory(prefix="switchbed-clone-") as folder:
        clone = Path(folder) / "switchbed"
        git("clone", "--quiet", "--no-local", str(ROOT), str(clone))
        yield ".ci/run in a fresh clone", seconds([".ci/run"], clone), "s"


@contextmanager
def changed(file: Path, more: str) -> Iterator[None]:
    """The file with a line more, for as long as that lasts."""
    text = file.read_text(encoding="utf-8")
    file.write_text(text + more, encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")


def seconds(command: Sequence[str], folder: Path = ROOT) -> float:
    """How long a command takes; the program ends where that fails."""
    begin = time.monotonic()
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-30:])
        sys.exit(f"{last}\nsize: {' '.join(command)} failed with exit code {done.returncode}")
    return round(time.monotonic() - begin, 1)


def main() -> None:
    """Prints a line a figure."""
    parser = argparse.ArgumentParser(description="Weight of the tree and length of its loops.")
    parser.add_argument("--base", metavar="REV", help="count files and words of REV, too")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--timed", action="store_true", help="time make check, make test, .ci/run")
    asked = parser.parse_args()
    found: dict[str, list[Row]] = {}
    if asked.base:
        found[asked.base] = list(tracked(git("rev-parse", "--verify", asked.base).strip()))
    found["HEAD"] = list(tracked("HEAD"))
    found["here"] = [*installed(), *(timed() if asked.timed else ())]
    if asked.json:
        print(
            json.dumps(
                {place: {w: n for w, n, _ in rows} for place, rows in found.items()}, indent=2
            )
        )
        return
    for place, rows in found.items():
        for what, number, unit in rows:
            print(f"{place:12} {what:40} {number:12,g} {unit}".rstrip())


if __name__ == "__main__":
    main()
