"""The JSON Schema of scenario files accepts what the program accepts."""

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

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
