"""Sweeps by several processes into one store at a time: none may fail, no run may be in the store
twice, and in the end it must be that of a sweep alone. `make validate` runs it.

    python -m evidence.robustness.two_writers [ROUNDS [WRITERS]]    so many (20, 2)
"""

import sys
import tempfile
from pathlib import Path

from evidence.kept import Kept
from evidence.robustness.damage import SCENARIO
from evidence.robustness.in_process import contents, switchbed
from evidence.robustness.sweep_kills import COMPARE, FORKED, arguments, once

ROUNDS, WRITERS = 20, 2


def write(words: list[str]) -> None:
    """A sweep, in a process of its own."""
    done = switchbed(*words)
    sys.stderr.write(done.err if done.code else "")
    sys.exit(done.code)


def race(folder: Path, store: Path, writers: int) -> None:
    """The same sweep by all of them, begun together."""
    words = arguments(folder, store)
    processes = [FORKED.Process(target=write, args=(words,)) for _ in range(writers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0, f"a writer ended with {process.exitcode}"


def main(words: list[str]) -> int:
    """Races, and compares each store with that of a sweep alone."""
    rounds = int(words[0]) if words else ROUNDS
    writers = int(words[1]) if words[1:] else WRITERS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "all.toml").write_text(SCENARIO + COMPARE)
        race(folder, folder / "whole", 1)
        wanted = contents(folder / "whole")
        for number in range(rounds):
            path = folder / f"store-{number}"
            race(folder, path, writers)
            once(path)
            assert contents(path) == wanted, "the store is another one"
            assert not list((path / ".drafts").iterdir()), "drafts are left"
    print(f"{rounds} sweeps by {writers} processes at a time: all stores identical, nothing twice")
    if (rounds, writers) == (ROUNDS, WRITERS):
        Kept(Path(__file__).parent, "writers").write_dated({"rounds": rounds, "writers": writers})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
