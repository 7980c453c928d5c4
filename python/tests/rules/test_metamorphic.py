"""Relations between runs hold on a sample of all combinations, and each can fail. Scenarios changed
at random do no more than the program says, and what would is noticed."""

import copy
import dataclasses
import json
import sys
from functools import cache

import pytest

from evidence.robustness import (
    combinations,
    metamorphic,
    mutants,
    mutants_texts,
    mutate,
    transformed,
)
from evidence.robustness.combinations import Case
from evidence.robustness.metamorphic import BAD, HELD, Outcome
from evidence.robustness.mutants import Task
from switchbed import _native

SAMPLE = 12


def case(**chosen: str) -> Case:
    """A plain combination but for these."""
    plain = {
        "topology": "star",
        "scheme": "per-queue",
        "memory": "shared",
        "transport": "dctcp",
        "profile": "switchbed-0.1",
        "pauses": "none",
        "card": "as the profile has it",
        "setting": "as the profile has it",
    }
    return Case(tuple((plain | chosen).items()))


@cache
def outcome(late: bool = False) -> Outcome:
    """Of a plain run, or of one that ends late and drops nothing."""
    of = case(scheme="none", pauses="all classes") if late else case()
    tree = transformed.resolved(combinations.scenario(of))
    assert tree is not None
    return metamorphic.run(transformed.with_late_flow(tree) if late else tree)


def test_relations_hold_on_a_sample() -> None:
    sample = list(combinations.cases(SAMPLE, 7, metamorphic.accepted))
    tallies = [metamorphic.tried(each) for each in sample]
    found = [each for tally in tallies for each in tally.found]
    assert [(each.relation, each.why) for each in found if each.verdict == BAD] == []
    assert sum(tally.runs for tally in tallies) > 5 * SAMPLE
    assert len({each.relation for each in found}) >= 9


def test_every_dimension_is_the_products_own() -> None:
    named = combinations.dimensions()
    schemes = {each["name"] for each in json.loads(_native.schemes())} - {"python"}
    assert {value.partition(",")[0] for value in named["scheme"]} == schemes
    policies = json.loads(_native.policies())
    switch = json.loads(_native.schema())["properties"]["switch"]["properties"]
    assert {each["name"] for each in policies if each["key"] == "switch.policy"} <= set(
        switch["policy"]["enum"]
    )
    chips = set(switch["asic"]["enum"]) & set(named["memory"])
    assert chips | set(switch["policy"]["enum"]) - {"asic"} == set(named["memory"])
    with_none = {each["name"] for each in json.loads(_native.chips()) if not each["lossy_bytes"]}
    assert set(switch["asic"]["enum"]) - chips == with_none


@pytest.mark.parametrize(
    ("relation", "late", "table", "change"),
    [
        (metamorphic.fct_over_ideal, False, "flows", {"fct_s": 1e-6}),
        (metamorphic.fct_over_ideal, False, "flows", {"slowdown": 0.99}),
        (metamorphic.utilisation_is_a_share, False, "ports", {"utilisation": 1.0001}),
        (metamorphic.busiest_is_busiest, False, "ports", {"utilisation": 0.9999}),
        (metamorphic.switches_keep_nothing, True, "ports", {"sent_packets": 3}),
        (metamorphic.switches_keep_nothing, True, "ports", {"sent_bytes": 3}),
    ],
)
def test_a_relation_of_one_run_can_fail(
    relation: object, late: bool, table: str, change: dict[str, object]
) -> None:
    assert callable(relation)
    right = outcome(late)
    said = list(relation(case(), right))
    assert said
    assert not any(said)
    rows = copy.deepcopy(getattr(right, table))
    rows[-1].update(change)
    assert any(relation(case(), dataclasses.replace(right, **{table: rows})))


def test_a_lossless_class_that_drops_is_found() -> None:
    tree = copy.deepcopy(outcome().tree) | {"switch": {"queues": 1, "pfc": {"priorities": [0]}}}
    right = dataclasses.replace(outcome(late=True), tree=tree)
    assert not any(metamorphic.lossless_loses_nothing(case(), right))
    ports = copy.deepcopy(right.ports)
    ports[-1]["drops_full"] = 1
    assert any(metamorphic.lossless_loses_nothing(case(), dataclasses.replace(right, ports=ports)))


@pytest.mark.parametrize(
    "relation",
    [
        metamorphic.monitors_change_nothing,
        metamorphic.unused_queue_changes_nothing,
        metamorphic.idle_host_changes_nothing,
        metamorphic.renumbered_hosts_permute,
        metamorphic.scaled,
    ],
)
def test_a_relation_of_two_runs_can_fail(relation: object) -> None:
    assert callable(relation)
    runs: list[Outcome] = []

    def again(tree: combinations.Scenario) -> Outcome:
        runs.append(metamorphic.run(tree))
        return runs[-1]

    def slower(tree: combinations.Scenario) -> Outcome:
        right = again(tree)
        flows = copy.deepcopy(right.flows)
        # Nothing that picoseconds decide: each run has the same.
        flows[0]["fct_s"] = 1.0 if len(runs) % 2 else 2.0
        return dataclasses.replace(right, flows=flows)

    assert {each.verdict for each in relation(case(), outcome(), again)} == {HELD}
    runs.clear()
    assert HELD not in {each.verdict for each in relation(case(), outcome(), slower)}


def test_marks_without_ecn_are_found() -> None:
    def marking(tree: combinations.Scenario | None) -> Outcome:
        assert tree
        assert not tree["transport"]["ecn"]
        return outcome()

    assert any(port["marked_packets"] for port in outcome().ports)
    (found,) = metamorphic.unmarkable_is_unmarked(case(), outcome(), marking)
    assert found.verdict == BAD


def test_twice_the_rates_and_half_the_times() -> None:
    faster = transformed.faster(outcome().tree)
    assert faster["topology"]["rate"] == "20000000000bps"
    assert faster["topology"]["delay"] == "1000000ps"
    assert faster["switch"] == outcome().tree["switch"]
    assert faster["scheme"] == outcome().tree["scheme"]
    tcn = combinations.scenario(case(scheme="tcn"))
    assert transformed.faster(tcn)["scheme"]["params"] == {"threshold": "6000000ps"}


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
