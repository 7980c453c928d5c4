"""Scenarios changed at random do no more than the program says, and what would is noticed."""

import sys

import pytest

from evidence.robustness import mutants, mutants_texts, mutate
from evidence.robustness.mutants import Task
from switchbed import _native

WORKERS = {
    "died: SIGABRT sim/heap.rs:7:1": (
        "print('panicked at sim/heap.rs:7:1:', file=sys.stderr, flush=True); os.abort()"
    ),
    "goes on after Ctrl-C": "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    "hangs": "time.sleep(600)",
    "traceback": "print('traceback', flush=True)",
    "interrupted": (
        "try:\n    while True: time.sleep(0)\n"
        "except KeyboardInterrupt: print('interrupted', flush=True)"
    ),
    "ended": "print('ended', flush=True)",
}
"""What a worker does with its first task, by what should be found."""


def test_what_mutants_come_from_would_run() -> None:
    for name, text in mutate.texts().items():
        assert _native.plans_of(name, text, mutate.SCENARIOS, [], True), name


def test_a_mutant_is_its_numbers() -> None:
    found = [mutate.mutant(1, number) for number in range(200)]
    assert found == [mutate.mutant(1, number) for number in range(200)]
    assert sum(text != mutate.texts()[name] for name, text in found) > 180
    assert found != [mutate.mutant(2, number) for number in range(200)]


def test_mutants_break_nothing() -> None:
    checks = [Task(number, "check") for number in range(300)]
    words = {found.task: found.word for found in mutants.work(checks, 1, 1)}
    passed = [task.number for task in checks if words[task] == "accepted"]
    assert len(passed) > 20
    runs = [Task(number, "run") for number in passed[:15]]
    words |= {found.task: found.word for found in mutants.work(runs, 1, 1)}
    assert {t: word for t, word in words.items() if word not in mutants.GOOD} == {}
    assert sum(words[run] == "ended" for run in runs) > 5


@pytest.mark.parametrize("found", WORKERS)
def test_what_a_mutant_breaks_is_noticed(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("RUN_S", "END_S", "STUCK_S" if found == "hangs" else "RUN_S"):
        monkeypatch.setattr(mutants, limit, 0.2)
    script = f"import os, signal, sys, time\nprint('ready', flush=True)\ninput()\n{WORKERS[found]}"
    command = (sys.executable, "-c", script)
    assert [each.word for each in mutants.work([Task(1, "run")], 1, 1, command)] == [found]


@pytest.mark.parametrize(("code", "word"), [(0, "ended"), (130, "interrupted")])
def test_a_program_that_does_not_wait_for_its_threads_has_ended(code: int, word: str) -> None:
    script = f"import os\nprint('ready', flush=True)\ninput()\nos._exit({code})"
    tasks = [Task(number, "run") for number in range(2)]
    found = mutants.work(tasks, 1, 1, (sys.executable, "-c", script))
    assert [each.word for each in found] == [word, word]


@pytest.mark.parametrize("form", mutants_texts.TEXTS)
@pytest.mark.parametrize("change", [("", ""), ("\n", "\r\n"), ("", "\ufeff")])
def test_files_are_read_as_other_systems_write_them(form: str, change: tuple[str, str]) -> None:
    text = mutants_texts.TEXTS[form][0]
    assert mutants_texts.read(form, text.replace(*change, -1 if change[0] else 1)) == "read"


def test_changed_files_are_read_or_refused_in_a_line() -> None:
    ends = [mutants_texts.of_text(number, 1) for number in range(400)]
    assert {end for end in ends if end.startswith("BAD")} == set()
    assert ends.count("read") > 40
