"""Sweeps that are killed or race for one store: in the end the store must be the same as that of a
sweep left in peace, and no run may ever be in it twice. `make validate` runs both.

    python -m evidence.robustness.sweeps [KILLS [SEED]]                 so many kills (200)
    python -m evidence.robustness.sweeps --writers [ROUNDS [WRITERS]]   so many (20, 2)

A sweep is killed again and again and goes on; at no time may a query fail. Half of the kills come
just before one of its writes, renames and removals, the others at any time. Of several processes
that sweep into one store at a time none may fail.
"""

import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from evidence.kept import Kept
from evidence.robustness.damage import SCENARIO
from evidence.robustness.in_process import contents, switchbed
from switchbed.sweeps.query import query

COMPARE = """
[compare]
scheme = ["per-queue", "mq-ecn"]
load = [0.4, 0.8]
seed = [1, 2]
"""
FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["polars", "switchbed.cli", "switchbed.sweeps.command"])
"""Each sweep is a process of its own, of one that has imported what takes long."""
ROUNDS, WRITERS = 20, 2
STEPS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "open"}
"""What Python tells of before it does it; Polars opens files without a word."""


def arguments(folder: Path, store: Path) -> list[str]:
    """The sweep."""
    return ["sweep", str(folder / "all.toml"), "--store", str(store), "--jobs", "2"]


def victim(step: str, words: list[str], told: Connection) -> None:
    """Sweeps, until it is killed: before that step of those that change a file (`7`), or after
    that time (`0.7s`). Tells its steps."""
    left = 0 if step.endswith("s") else int(step)
    lock = threading.Lock()

    def look(event: str, given: tuple[object, ...]) -> None:
        nonlocal left
        if event not in STEPS or (event == "open" and not _writes(given)):
            return
        with lock:
            told.send(event)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    if step.endswith("s"):
        threading.Timer(float(step[:-1]), os.kill, (os.getpid(), signal.SIGKILL)).start()
    sys.addaudithook(look)
    done = switchbed(*words)
    sys.stderr.write(done.err if done.code else "")
    sys.stderr.flush()
    os._exit(done.code)


def _writes(given: tuple[object, ...]) -> bool:
    return isinstance(given[1], str) and given[1][0] in "wax"


class Store:
    """A store that is swept, killed and swept again until it is done."""

    def __init__(self, folder: Path, path: Path) -> None:
        self.path = path
        self._words = arguments(folder, path)
        # A table that queries find from the first kill on.
        assert switchbed(*self._words, "--name", "before", "--set", "compare.seed=[1]").code == 0

    def sweep(self, step: str) -> tuple[bool, list[str]]:
        """Whether it was killed, and the steps that it told."""
        ours, theirs = FORKED.Pipe(duplex=False)
        process = FORKED.Process(target=victim, args=(step, self._words, theirs))
        process.start()
        theirs.close()
        told = []
        with suppress(EOFError):
            while True:
                told.append(ours.recv())
        process.join()
        if process.exitcode not in (0, -signal.SIGKILL):
            raise AssertionError("it failed of itself")
        return process.exitcode != 0, told


def once(store: Path) -> None:
    """Each run is in each sweep of a store once, and its flows are there once."""
    sql = "select count(*) as n, count(distinct run) as runs from {} group by {}"
    for table, group in (("runs", "sweep"), ("flows", "row")):
        found = query(store, sql.format(table, group))
        assert (found["n"] == found["runs"]).all(), f"{table}: something is there twice"


def kill(words: list[str]) -> int:
    """Kills, and compares each store with the one that was left in peace."""
    kills, seed = (int(word) for word in (*words, *("200", "1")[len(words) :]))
    draw = random.Random(seed)
    before: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "all.toml").write_text(SCENARIO + COMPARE)
        whole = Store(folder, folder / "whole")
        begin = time.monotonic()
        _, steps = whole.sweep("0")
        took_s = time.monotonic() - begin
        wanted = contents(whole.path)
        done = stores = 0
        while done < kills:
            stores += 1
            store = Store(folder, folder / f"store-{stores}")
            killed = True
            while killed and done < kills:
                at_step = draw.random() < 0.5
                step = (
                    f"{draw.randint(1, len(steps))}"
                    if at_step
                    else f"{draw.random() * took_s:.3f}s"
                )
                killed, told = store.sweep(step)
                done += killed
                if killed:
                    before[told[-1] if at_step else "any time"] += 1
                once(store.path)
            store.sweep("0")
            once(store.path)
            assert contents(store.path) == wanted, "the store is another one"
            assert not list((store.path / ".drafts").iterdir()), "drafts are left"
            print(f"store {stores} is identical, {done} kills so far", flush=True)
    told_of = ", ".join(f"{n} before {event}" for event, n in sorted(before.items()))
    print(f"{kills} kills of sweeps ({told_of}): {stores} stores identical, nothing in them twice")
    return 0


def writer(words: list[str]) -> None:
    """A sweep, in a process of its own."""
    done = switchbed(*words)
    sys.stderr.write(done.err if done.code else "")
    sys.exit(done.code)


def race(folder: Path, store: Path, writers: int) -> None:
    """The same sweep by all of them, begun together."""
    words = arguments(folder, store)
    processes = [FORKED.Process(target=writer, args=(words,)) for _ in range(writers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0, f"a writer ended with {process.exitcode}"


def write_together(words: list[str]) -> int:
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


def main(words: list[str]) -> int:
    """Kills, or writes together."""
    return write_together(words[1:]) if words[:1] == ["--writers"] else kill(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
