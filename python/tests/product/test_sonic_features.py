"""SWITCH_TRIMMING of a configuration becomes `[switch.trimming]`, or is left out by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from switchbed import _native
from switchbed.sonic.draft import Choices
from switchbed.sonic.exporting import export
from switchbed.sonic.importing import Imported, load


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
