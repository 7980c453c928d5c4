"""Scenario files: the JSON Schema accepts what the program accepts, and a resolved scenario
resolves to itself and gives the same flows."""

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import switchbed as sb
from switchbed import _native

SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("*.toml"))
SCHEMA = json.loads(_native.schema())


def validator() -> Any:
    kind = jsonschema.validators.validator_for(SCHEMA)
    kind.check_schema(SCHEMA)
    return kind(SCHEMA)


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_every_scenario_is_valid_as_written_and_as_resolved(file: Path) -> None:
    valid = validator()
    valid.validate(tomllib.loads(file.read_text()))
    for plan in _native.plans(file):
        valid.validate(json.loads(plan.scenario))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("topolgy",), {}),
        (("topology", "hots"), 3),
        (("topology", "kind"), "torus"),
        (("switch", "queues"), "two"),
        (("transport", "g"), 2),
        (("traffic", 0, "classes"), [256]),
        (("measure", "queues"), "some"),
        (("run", "seed"), -1),
        (("compare",), 3),
    ],
)
def test_what_the_program_refuses_is_not_valid(path: tuple[str | int, ...], value: object) -> None:
    (star,) = (file for file in SCENARIOS if file.stem == "star-dctcp")
    scenario: Any = copy.deepcopy(tomllib.loads(star.read_text()))
    *steps, last = path
    place = scenario
    for step in steps:
        place = place[step]
    place[last] = value
    assert not validator().is_valid(scenario)


TRAFFIC = """
[[traffic]]
kind = "poisson"
load = 0.1
flows = 60
sizes = "30KB"
service = "random"
services = 4
"""
STAR = """
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us"
[transport]
kind = "dctcp"
"""
LEAF = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_rate = "10Gbps"
host_delay = "1us"
[transport]
kind = "dctcp"
"""
SCHEME = '[scheme]\nname = "per-queue"\nparams.threshold = "30KB"\n'
RED = 'scheme = { name = "red", label = "ramp", params = { kmin = "9KB", kmax = "20KB" } }'
QUEUES = f"""
[[switch.queue]]
queue = "0-1"
scheme = {{ params.threshold = "3KB" }}
quantum = "3KB"
[[switch.queue]]
queue = 3
{RED}
"""
OWN = '[switch]\nqueues = 4\nbuffer = "300KB"\n'
POOL = '[switch]\nqueues = 4\nbuffer = "300KB"\npool = "600KB"\npolicy = "dynamic"\nalpha = 2\n'
FILE = """node,tier
a,host
b,host
left,leaf
right,leaf
from,to,rate,delay
a,left,10Gbps,1us
b,right,10Gbps,1us
left,right,40Gbps,1us
"""
CASES = {
    "schemes": STAR + OWN + QUEUES + SCHEME,
    "labels": STAR + OWN + f"[[switch.queue]]\nqueue = 0\n{RED}\n" + SCHEME,
    "rules": STAR
    + POOL
    + '[[switch.queue]]\nqueue = 2\nstrict = true\nlimit = "60KB"\nunmarkable = "pass"\nalpha = 4\n'
    + SCHEME,
    "lossless": STAR
    + '[switch]\nqueues = 4\npool = "2MB"\nalpha = 0.5\n'
    + "[[switch.queue]]\nqueue = [2, 3]\nlossless = true\n"
    + "[[switch.queue]]\nqueue = 0\nalpha = 4\n"
    + SCHEME,
    "deployed": LEAF
    + OWN
    + QUEUES
    + SCHEME
    + '[[deploy]]\nswitches = "spine"\nqueue = 2\nscheme = "none"\n',
    "file": '[topology]\nkind = "file"\npath = "f.csv"\n[transport]\nkind = "dctcp"\n'
    + OWN
    + SCHEME,
    "spray": LEAF + OWN + SCHEME + '[routing]\nkind = "spray"\norder = "round-robin"\n',
    "adaptive": LEAF + OWN + SCHEME + '[routing]\nkind = "adaptive"\n',
    "flowlet": LEAF + OWN + SCHEME + '[routing]\nkind = "flowlet"\ngap = "20us"\n',
}


@pytest.mark.parametrize("name", CASES)
def test_a_resolved_scenario_resolves_to_itself(name: str, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(FILE)
    (tmp_path / "one.toml").write_text(CASES[name] + TRAFFIC)
    first = sb.Scenario.from_file(tmp_path / "one.toml")
    again = sb.Scenario(first.resolved)
    assert again.resolved == first.resolved
    assert again.run().flows.equals(first.run().flows)


def test_load_leaves_incast_beside_other_flows() -> None:
    text = """topology = { kind = "star", hosts = 4, rate = "10Gbps", delay = "1us" }
switch.buffer = "1MB"
scheme.name = "none"
transport.kind = "reno"
[[traffic]]
kind = "incast"
to = "all"
sizes = "64KB"
rounds = 5
load = 0.1
"""
    flows = '[[traffic]]\nkind = "poisson"\nload = 0.3\nflows = 10\nsizes = "20KB"\n'

    def loads(text: str) -> list[float]:
        traffic = sb.Scenario(tomllib.loads(text)).with_({"load": 0.5}).resolved["traffic"]
        return [each["load"] for each in traffic]

    assert loads(text + flows) == [0.1, 0.5]
    # Without other flows it is the incast's.
    assert loads(text) == [0.5]
