"""Relations between runs hold on a sample of all combinations, and each can fail."""

import copy
import dataclasses
import json
from functools import cache

import pytest

from evidence.robustness import combinations, metamorphic, transformed
from evidence.robustness.combinations import Case
from evidence.robustness.metamorphic import BAD, HELD, Outcome
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
