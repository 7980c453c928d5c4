"""Tables of a configuration that turn on a feature of the switch: SWITCH_TRIMMING becomes
[switch.trimming], or is left out by name; PFC_WD becomes keys of `switch.pfc`. Both come out as
they went in."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from sonic_configs import Config, base, changed, configs

import switchbed as sb
from switchbed import _native
from switchbed._native import Mistake
from switchbed.sonic import schema, watchdog
from switchbed.sonic.draft import Choices
from switchbed.sonic.exporting import export
from switchbed.sonic.importing import Imported, load
from switchbed.sonic.normalised import meant, normalised
from switchbed.sonic.watchdog import POLL


def config(trimming: dict[str, str] | None, action: str = "trim") -> dict[str, Any]:
    profile = {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "0"}
    tables: dict[str, Any] = {
        "PORT": {"Ethernet0": {"speed": "100000", "lanes": "0,1,2,3"}},
        "BUFFER_POOL": {
            "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "16777216"}
        },
        "BUFFER_PROFILE": {
            "lossy": profile | {"packet_discard_action": action},
            "cut": profile,
        },
        "BUFFER_QUEUE": {
            "Ethernet0|0-3": {"profile": "lossy"},
            "Ethernet0|4": {"profile": "cut"},
        },
        "DSCP_TO_TC_MAP": {"M": {"10": "4"}},
        "TC_TO_QUEUE_MAP": {"M": {"4": "4"}},
        "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "M", "tc_to_queue_map": "M"}},
    }
    return tables | ({"SWITCH_TRIMMING": {"GLOBAL": trimming}} if trimming else {})


def imported(trimming: dict[str, str] | None, action: str = "trim") -> Imported:
    return load(config(trimming, action), "config_db.json")


@pytest.mark.parametrize(
    "row",
    [
        {"size": "256", "dscp_value": "10", "queue_index": "4"},
        {"size": "256", "dscp_value": "10", "queue_index": "dynamic"},
        {"size": "256", "dscp_value": "from-tc", "tc_value": "4", "queue_index": "dynamic"},
    ],
)
def test_trimming_is_the_scenarios(row: dict[str, str], tmp_path: Path) -> None:
    text = imported(row).text
    assert "[switch.trimming]" in text
    assert all(line in text for line in ('size = "256B"', "queue = 4", "dscp = 4"))
    (plan,) = _native.plans_of("x", text, str(tmp_path), [], lines=True)
    assert '"trimming"' in plan.scenario


@pytest.mark.parametrize(
    ("row", "action", "told"),
    [
        (None, "trim", "SWITCH_TRIMMING does not say how"),
        ({"size": "128"}, "drop", "no queue's profile has packet_discard_action"),
        ({"queue_index": "9"}, "trim", "no queue of the port"),
        ({"queue_index": "0"}, "trim", "or is trimmed"),
        ({"dscp_value": "11"}, "trim", "is not known"),
    ],
)
def test_what_cannot_be_is_left_out(row: dict[str, str] | None, action: str, told: str) -> None:
    found = imported(row, action)
    assert "[switch.trimming]" not in found.text
    assert any(told in str(each) for each in found.findings.all)


TRIMS = """
[topology]
kind = "star"
hosts = 2
rate = "100Gbps"
delay = "1us"
[switch]
queues = 3
pool = "16MB"
buffer = "16MB"
policy = "dynamic"
[switch.trimming]
size = "192B"
queues = [0, 1]
dscp = 2
[scheme]
name = "none"
[transport]
kind = "nscc"
[[traffic]]
kind = "poisson"
load = 0.5
flows = 10
sizes = "web-search"
"""


def test_an_export_is_imported_as_it_was(tmp_path: Path) -> None:
    (plan,) = _native.plans_of("x", TRIMS, str(tmp_path), [], lines=True)
    tables, said = export(json.loads(plan.scenario), Choices(ports=["Ethernet0"]))
    assert not said.refusals, said.refusals
    row = {"size": "192", "dscp_value": "2", "queue_index": "2"}
    assert tables["SWITCH_TRIMMING"]["GLOBAL"] == row
    back = load({**tables, "PORT": {"Ethernet0": {"speed": "100000", "lanes": "0"}}}, "back.json")
    assert 'size = "192B"\nqueues = [0, 1]\nqueue = 2\ndscp = 2\n' in back.text
    htsim = TRIMS.replace("dscp = 2", 'dscp = 2\nmode = "htsim"').replace(
        'pool = "16MB"\nbuffer = "16MB"\npolicy = "dynamic"', 'buffer = "1MB"'
    )
    (plan,) = _native.plans_of("x", htsim, str(tmp_path), [], lines=True)
    _, said = export(json.loads(plan.scenario), Choices(ports=["Ethernet0"]))
    assert any("no switch trims so" in str(each) for each in said.refusals)


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
    assert meant(normalised(config)) == meant(
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
    assert meant(normalised(config)) == meant(made)


WORDS = {
    "type": ["STRICT"],
    "ecn": ["ecn_none"],
    "mode": ["static", "dynamic"],
    "action": ["forward"],
    "pfc_enable": ["3"],
}
PLAIN = {"TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"}
"""Maps whose fields of classes that never pause change nothing."""


def others(config: Config, table: str, field: str, value: str) -> list[str]:
    """Other values of a field."""
    known = schema.TABLES[table].fields.get(field)
    if known is not None and known.to is not None:
        return [each for each in config[known.to] if each != value]
    if value.isdigit():
        return [str(2 * int(value) + 1), str(int(value) // 2)]
    flipped = {"true": ["false"], "false": ["true"]}
    return flipped.get(value, [each for each in WORDS.get(field, []) if each != value])


@pytest.mark.parametrize("shape", ["everything lossless", "trimming"])
def test_no_field_is_silent(shape: str) -> None:
    """A field that changes neither the scenario nor what is said is named as left out."""
    whole = configs()[shape]
    port = "Ethernet0"
    tables = {
        table: {key: row for key, row in rows.items() if "Ethernet" not in key or port in key}
        for table, rows in whole.items()
    }
    tables["PORT"][port] |= {"fec": "rs", "alias": "Eth1", "autoneg": "on"}

    def shown(of: Config) -> tuple[str, list[str]]:
        try:
            found = load(of, shape)
        except Mistake as mistake:
            return str(mistake), []
        return found.text, [str(each) for each in found.findings.all]

    before = shown(tables)
    out = [line.removeprefix("left out: ") for line in before[1] if line.startswith("left out")]
    silent = []
    for table, rows in tables.items():
        for key, row in rows.items():
            for field, value in row.items():
                named = (
                    f"{table}:",
                    f"{table}|{key}:",
                    f"{table}|{key}|{field}",
                    f"{table}|{field}",
                )
                if table in PLAIN or any(line.startswith(named) for line in out):
                    continue
                if any(line.startswith(f"{table}|") and field in line for line in out):
                    continue
                made = [
                    shown(changed(tables, table, key, field, other))
                    for other in others(tables, table, field, value)
                ]
                if made and all(after == before for after in made):
                    silent.append(f"{table}|{key}|{field}: {value}")
    assert silent == []


def odd() -> dict[str, Config]:
    """Devices that SONiC takes and that few operators have."""
    tor, nvidia = base(), configs()["Nvidia marks and never drops, with a blank"]
    lean = changed(tor, "SCHEDULER", "scheduler.0", "weight", "100")
    lean["SCHEDULER"] |= {"rare": {"type": "DWRR", "weight": "1"}}
    for port in lean["PORT"]:
        lean["QUEUE"][f"{port}|6"]["scheduler"] = "rare"
    mixed = changed(tor, "SCHEDULER", "scheduler.0", "weight", None)
    return {
        "a weight that is meant": mixed,
        "another of two": changed(tor, "SCHEDULER", "scheduler.1", "weight", None),
        "a share of a 600th": lean,
        "marks without wred_green_enable": changed(
            nvidia, "WRED_PROFILE", "AZURE_LOSSLESS", "wred_green_enable", None
        ),
        "a pause that stops a queue without rows": changed(
            tor, "MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "3", "7"
        ),
    }


@pytest.mark.parametrize("name", odd())
def test_an_odd_device_comes_back(name: str) -> None:
    device = odd()[name]
    found = load(device, name)
    (plan,) = _native.plans_of("x", found.text, ".", [], lines=True)
    made, said = export(json.loads(plan.scenario), Choices(), found.device)
    assert not said.refusals
    assert made == normalised(device)


def test_a_weight_that_is_meant_is_written_where_it_changes() -> None:
    found = load(odd()["a weight that is meant"], "x")
    (plan,) = _native.plans_of("x", found.text, ".", [], lines=True)
    scenario = json.loads(plan.scenario)
    scenario["switch"]["quantum"][1] = "3000B"
    made, _ = export(scenario, Choices(), found.device)
    rows = [made["SCHEDULER"][made["QUEUE"][f"Ethernet0|{n}"]["scheduler"]] for n in (0, 1, 2)]
    assert [row.get("weight") for row in rows] == [None, "2", None]


def test_a_pool_too_small_is_named_by_its_row() -> None:
    small = changed(base(), "BUFFER_POOL", "ingress_lossless_pool", "size", "255")
    with pytest.raises(Mistake, match=r"BUFFER_POOL.ingress_lossless_pool.size: 255 bytes hold no"):
        load(small, "x.json")
