"""Changes scenarios at random, has the program check them and runs those that pass: none may
panic, print a traceback or hang.

    python -m evidence.robustness.mutants [--check N] [--run N] [--seed N] [--jobs N]
    python -m evidence.robustness.mutants --show NUMBER [--seed N]    prints a mutant

Each goes through the command line as a user's file would, in a process that is watched. A run has
0.3 s of a core and 2 GB: then it is interrupted, as by Ctrl-C, and must end within a second
more. What was done is kept in results/mutants by the build it was done with, and not done again.
With all checks (100,000, of which 10,000 run) the figures go into results.json, which
docs/reliability.md shows, as far as the runs came.
"""

import argparse
import collections
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evidence.kept import Kept
from evidence.robustness import mutate
from switchbed import _native

ROOT = Path(__file__).resolve().parents[2]
DONE = ROOT / "results" / "mutants"
RESULTS = Kept(Path(__file__).parent, "mutants")
WORKER = (sys.executable, "-m", "evidence.robustness.mutants_worker")

CHECKED, RUN = 100_000, 10_000
CHECK_S = 10.0
"""Processor time that a check may take."""
RUN_S = 0.3
"""Processor time that a run has before it is interrupted."""
END_S = 1.0
"""Processor time that a run may take to end then."""
STUCK_S = 60.0
"""A worker that has used no processor time for so long waits for ever."""
MEMORY = 2 * 2**30
"""Resident memory at which a run is interrupted; a check may not reach it."""
HERTZ = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

GOOD = ("refused", "accepted", "ended", "interrupted")
"""What may become of a mutant."""
LEFT = {0: "ended", 130: "interrupted"}
"""What it means that the program has left with that code at once, as it does where threads of a run
take long to hear that it has ended."""


@dataclass(frozen=True)
class Task:
    """A mutant to check, or to run."""

    number: int
    verb: str


@dataclass(frozen=True)
class Found:
    """What became of it: a word of `GOOD`, or what was bad."""

    task: Task
    word: str


class Worker:
    """The program in a process of its own, one mutant after the other."""

    def __init__(self, command: Sequence[str], seed: int) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [*command, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            bufsize=1,
            cwd=ROOT,
        )
        self.usable = True
        self._answer()  # that it is ready

    def do(self, task: Task) -> str:
        """Has it done under watch. Without an answer in time the worker is of no more use."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{task.verb} {task.number}\n")
        began = self.cpu_s()
        allowed = CHECK_S if task.verb == "check" else RUN_S
        interrupted = None
        seen, seen_at = began, time.monotonic()
        while (answer := self._answer(0.02)) is None:
            used = self.cpu_s()
            if used > seen:
                seen, seen_at = used, time.monotonic()
            stuck = time.monotonic() - seen_at > STUCK_S
            over = used - began > allowed or self.memory() > MEMORY
            if interrupted is not None and (used - interrupted > END_S or stuck):
                return self._kill("goes on after Ctrl-C")
            if interrupted is None and stuck:
                return self._kill("hangs")
            if interrupted is None and over:
                if task.verb == "check":
                    return self._kill("a check without end or limit")
                interrupted = used
                self.process.send_signal(signal.SIGINT)
        if answer == "":
            return self._kill(LEFT.get(self.process.wait()) or f"died: {self._last_words()}")
        return answer

    def _answer(self, wait_s: float | None = None) -> str | None:
        """A line of its; nothing if none comes in time, an empty one if none can come."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], wait_s)[0]:
            return None
        return self.process.stdout.readline().strip()

    def _kill(self, why: str) -> str:
        self.usable = False
        self.process.kill()
        return why

    def _last_words(self) -> str:
        code = self.process.wait()
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        panic = re.search(r"panicked at (\S+):", text)
        how = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return f"{how} {panic[1] if panic else text[-200:]}"

    def cpu_s(self) -> float:
        """Processor time that it has used."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0
        return (int(stat[11]) + int(stat[12])) / HERTZ

    def memory(self) -> int:
        """Its resident memory in bytes."""
        try:
            pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        except FileNotFoundError:
            return 0
        return int(pages) * PAGE

    def end(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                stream.close()


def work(
    tasks: Iterable[Task], jobs: int, seed: int, command: Sequence[str] = WORKER
) -> Iterator[Found]:
    """Has the tasks done by so many workers; what became of them comes in no order."""
    queue = iter(tasks)
    lock = threading.Condition()
    found: collections.deque[Found] = collections.deque()
    running = jobs

    def one() -> None:
        nonlocal running
        worker = Worker(command, seed)
        try:
            while True:
                with lock:
                    task = next(queue, None)
                if task is None:
                    return
                word = worker.do(task)
                with lock:
                    found.append(Found(task, word))
                    lock.notify()
                if not worker.usable:
                    worker.end()
                    worker = Worker(command, seed)
        finally:
            worker.end()
            with lock:
                running -= 1
                lock.notify()

    for _ in range(jobs):
        threading.Thread(target=one, daemon=True).start()
    while True:
        with lock:
            lock.wait_for(lambda: found or not running)
            if not found:
                return
            each = found.popleft()
        yield each


def known(log: Path) -> dict[Task, str]:
    """What is done already; the last line may be half."""
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    split = (line.split(" ", 2) for line in lines)
    return {Task(int(number), verb): word for verb, number, word in split}


def main() -> int:
    """Says how many did what, and what each that was bad did; 1 if any was."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--check", type=int, default=CHECKED)
    parser.add_argument("--run", type=int, default=RUN)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--show", type=int, metavar="NUMBER")
    asked = parser.parse_args()
    if asked.show is not None:
        name, text = mutate.mutant(asked.seed, asked.show)
        print(f"# {name}\n{text}", end="")
        return 0
    log = DONE / f"{_native.__build__}-{asked.seed}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    done = known(log)
    with log.open("a") as kept:

        def ask(tasks: Iterable[Task]) -> None:
            for found in work((t for t in tasks if t not in done), asked.jobs, asked.seed):
                done[found.task] = found.word
                kept.write(f"{found.task.verb} {found.task.number} {found.word}\n")
                kept.flush()

        checks = [Task(number, "check") for number in range(asked.check)]
        ask(checks)
        passed = [task.number for task in checks if done[task] == "accepted"]
        runs = [Task(number, "run") for number in passed[: asked.run]]
        ask(runs)
    found = figures([done[t] for t in checks], [done[t] for t in runs], asked.seed)
    bad = [task for task in (*checks, *runs) if done[task] not in GOOD]
    for word, tasks in _by_word(bad, done).items():
        numbers = ", ".join(str(task.number) for task in tasks[:5])
        print(f"{len(tasks)} × {tasks[0].verb}: {word} (mutants --show {numbers})")
    print(sentence(found))
    if asked.check >= CHECKED:
        RESULTS.write(found)
    return int(bool(bad))


def _by_word(tasks: Iterable[Task], done: dict[Task, str]) -> dict[str, list[Task]]:
    grouped: dict[str, list[Task]] = {}
    for task in tasks:
        grouped.setdefault(done[task], []).append(task)
    return grouped


def figures(checks: Sequence[str], runs: Sequence[str], seed: int) -> dict[str, object]:
    """What is committed of it."""
    return {
        "switchbed": _native.__version__,
        "build": _native.__build__,
        "seed": seed,
        "date": time.strftime("%Y-%m-%d"),
        "checked": len(checks),
        "accepted": checks.count("accepted"),
        "refused": checks.count("refused"),
        "run": len(runs),
        "ended": runs.count("ended"),
        "interrupted": runs.count("interrupted"),
        "refused_late": runs.count("refused"),
        "bad": sum(word not in GOOD for word in (*checks, *runs)),
    }


def sentence(found: dict[str, object]) -> str:
    """The figures in words."""
    return (
        "{checked:,} checked: {accepted:,} accepted, {refused:,} refused in one line; {run:,} run: "
        "{ended:,} ended, {interrupted:,} had used up {run_s:g} s of a core or 2 GB, "
        "were interrupted and ended within a second, {refused_late:,} were refused as they began; "
        "{bad:,} panicked, printed a traceback or hung"
    ).format(**found, run_s=RUN_S)


def render(found: dict[str, object]) -> str:
    """The block of docs/reliability.md."""
    left = RUN - int(str(found["run"]))
    to_do = f"{left:,} of the {RUN:,} runs are still to be done.\n" if left > 0 else ""
    return (
        f"{sentence(found)} (seed {found['seed']}, build `{found['build']}`, {found['date']}).\n"
        f"{to_do}"
    )


if __name__ == "__main__":
    sys.exit(main())
