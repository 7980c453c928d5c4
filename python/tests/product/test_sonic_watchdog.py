"""PFC_WD of a configuration becomes keys of `switch.pfc`, and comes out as it went in."""

import tomllib
from typing import Any

import pytest
from sonic_configs import Config, base

import switchbed as sb
from switchbed.sonic import watchdog
from switchbed.sonic.draft import Choices
from switchbed.sonic.exporting import export
from switchbed.sonic.importing import load
from switchbed.sonic.tidy import meant, tidy
from switchbed.sonic.watchdog import POLL


def watched(**rows: dict[str, str]) -> Config:
    """Four ports with these rows of PFC_WD."""
    config = base()
    config["PFC_WD"] = rows
    return config


def pfc_of(config: Config) -> dict[str, Any]:
    found = tomllib.loads(load(config, "x").text)["switch"]["pfc"]
    return {key: value for key, value in found.items() if key in watchdog.KEYS}


STARTED = {"action": "forward", "detection_time": "400", "restoration_time": "600"}
PORTS = [f"Ethernet{4 * n}" for n in range(4)]


def test_a_watchdog_comes_in_and_goes_out_again() -> None:
    config = watched(GLOBAL={"POLL_INTERVAL": "200"}, **dict.fromkeys(PORTS, STARTED))
    keys = {
        "watchdog": "forward",
        "detection_time": "400ms",
        "restoration_time": "600ms",
        "poll": "200ms",
    }
    assert pfc_of(config) == keys
    found = load(config, "x")
    kinds = {each.kind for each in found.findings.all if each.key.startswith("PFC_WD")}
    assert kinds == {"exact"}
    scenario = tomllib.loads(found.text)
    scenario["switch"]["pfc"] |= {"watchdog": "drop", "detection_time": "300ms", "poll": "100ms"}
    resolved = sb.Scenario(scenario).resolved
    made, said = export(resolved, Choices(), found.device)
    assert said.refusals == []
    changed = STARTED | {"action": "drop", "detection_time": "300"}
    assert made["PFC_WD"] == {"GLOBAL": {"POLL_INTERVAL": "100"}} | dict.fromkeys(PORTS, changed)
    del resolved["switch"]["pfc"]["watchdog"]
    _, said = export(resolved, Choices(), found.device)
    assert any("pfcwd stop" in str(each) for each in said.refusals)
    assert meant(tidy(config)) == meant(
        export(sb.Scenario(tomllib.loads(found.text)).resolved, Choices(), found.device)[0]
    )


def test_a_watchdog_without_a_global_row_looks_every_100_ms() -> None:
    config = watched(**{key: {"detection_time": "100", "restoration_time": "200"} for key in PORTS})
    assert pfc_of(config)["poll"] == "100ms"
    assert pfc_of(config)["watchdog"] == "drop"
    config["DEVICE_METADATA"] = {"localhost": {"platform": "x86_64-mlnx_msn2700-r0"}}
    assert pfc_of(config)["poll_rule"] == "nvidia"


@pytest.mark.parametrize(
    ("rows", "keys", "says"),
    [
        ({key: {"action": "alert", "detection_time": "200"} for key in PORTS}, set(), "it reports"),
        ({key: {"action": "drop"} for key in PORTS}, set(), "starts no watchdog"),
        (dict.fromkeys(PORTS[:3], STARTED), {"watchdog", "poll"}, "Ethernet12 have another"),
        (
            dict.fromkeys(PORTS, STARTED | {"detection_time": "150"}) | {"GLOBAL": {POLL: "300"}},
            {"watchdog", "poll"},
            "under a look's 300",
        ),
        (
            {key: {"action": "drop", "detection_time": "200"} for key in PORTS},
            {"watchdog", "poll"},
            "no restoration_time",
        ),
    ],
)
def test_watchdogs_that_a_scenario_cannot_have_are_said(
    rows: dict[str, dict[str, str]], keys: set[str], says: str
) -> None:
    config = watched(**rows)
    found = load(config, "x")
    assert says in " ".join(map(str, found.findings.all))
    assert keys <= pfc_of(config).keys()
    assert bool(keys) == bool(pfc_of(config))
    made, said = export(sb.Scenario(tomllib.loads(found.text)).resolved, Choices(), found.device)
    assert said.refusals == []
    assert meant(tidy(config)) == meant(made)
