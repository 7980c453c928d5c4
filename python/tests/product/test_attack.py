"""Small files that broke something once, and others of their kind: each is refused in a line that
says what is wrong and what would be right, or runs in bounds."""

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Program

import switchbed as sb
from switchbed._native import Mistake
from switchbed.result import Result
from switchbed.tc import importing as tc_import

SHARED = Path(__file__).resolve().parents[4] / "shared" / "cases" / "attack"

PAIRS = """\
title = "storm"
[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"
[switch]
queues = 4
pool = "2MB"
[switch.pfc]
priorities = [3]
[scheme]
name = "none"
[transport]
kind = "roce"
[[traffic]]
kind = "incast"
from = [0,1]
to = 2
sizes = "1MB"
classes = [3]
"""
DOWN = '[[event]]\nat = "1us"\nport = "{}"\nup = false\n'
STORM = '[[event]]\nat = "1us"\nport = "host2"\nstorm = 3\nlasts = "100000s"\n'
UNTIL = '[run]\nuntil="{}"\n'
PROBES = """\
title = "{title}"
[topology]
{topology}
rate = "40Gbps"
delay = "1us"
[switch]
{switch}
[scheme]
{scheme}
[host]
jitter = "100us"
[[traffic]]
kind = "probe"
from = "0"
to = 4
every = "100us"
stop = "500us"
[[event]]
at = "0us"
port = "host4"
lose = [{lose}]
"""
RATE = """\
title = "negative utilisation: a port's rate falls and rises while a packet is on the line"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us"
[switch]
buffer = "300KB"
[scheme]
name = "none"
[[traffic]]
kind = "incast"
to = 3
sizes = "200KB"
[[event]]
at = "50us"
port = "switch:3"
rate = "100kbps"
[[event]]
at = "60us"
port = "switch:3"
rate = "10Gbps"
[run]
until = "1ms"
"""
QUANTA = """\
title = "pause tree"
[topology]
kind = "leaf-spine"
leaves = 8
spines = 8
hosts_per_leaf = 32
host_rate = "100Gbps"
host_delay = "1us"
[switch]
queues = 8
pool = "64MB"
pfc = {{ priorities = [{priorities}], alpha = 0.001, quanta = {quanta} }}
[scheme]
name = "none"
[transport]
kind = "roce"
[[traffic]]
kind = "poisson"
load = 0.9
flows = 20000
sizes = "web-search-hpcc"
service = "random"
services = 4
[run]
until = "3ms"
"""
RING = 'kind = "ring"\nswitches = 5\nhosts_per_switch = 1'
STAR = 'kind = "star"\nhosts = 5'
LOST = "negative utilisation: the run's last packet is lost by an event"

SCENARIOS = {
    "roce-host-down-memory": PAIRS + UNTIL.format("60s") + DOWN.format("host2"),
    "roce-timeouts-leak": PAIRS + UNTIL.format("400s") + DOWN.format("switch:2"),
    "storm-endless-memory": PAIRS + STORM,
    "util-negative-star": PROBES.format(
        title=LOST,
        topology=STAR,
        switch='buffer = "100KB"',
        scheme='name = "none"',
        lose="5",
    ),
    "util-negative": PROBES.format(
        title="t",
        topology=RING,
        switch='pool = "100KB"\npfc = { priorities = [0] }',
        scheme='name = "per-queue-min"\nparams = { threshold = "9KB" }',
        lose="5, 7",
    ),
    "util-rate-event": RATE,
}
"""Of ../shared/cases/attack, by their names there."""
KIN = {
    "both ends down": PAIRS + UNTIL.format("60s") + DOWN.format("host2") + DOWN.format("host0"),
    "selective repeat": PAIRS.replace("[[traffic]]", '[roce]\nrecovery = "selective"\n[[traffic]]')
    + UNTIL.format("60s")
    + DOWN.format("switch:2"),
    "datagrams": PAIRS.replace('"roce"', '"udp"') + UNTIL.format("1s") + DOWN.format("switch:2"),
    "a storm of each class": PAIRS.replace("[3]", "[0, 3]") + STORM + STORM.replace("= 3", "= 0"),
    "a line that stops for good": RATE.replace('"60us"', '"999us"').replace("100kbps", "10kbps"),
    "a rate that falls at the end": RATE.replace('"50us"', '"998us"').replace('"60us"', '"999us"'),
    "all probes lost": PROBES.format(
        title=LOST,
        topology=STAR,
        switch='buffer = "100KB"',
        scheme='name = "none"',
        lose="1, 2, 3, 4, 5, 6, 7, 8",
    ),
}


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared/cases beside the tree")
@pytest.mark.parametrize("name", SCENARIOS)
def test_these_are_the_scenarios_as_they_came(name: str) -> None:
    assert SCENARIOS[name] == (SHARED / f"{name}.toml").read_text()


@pytest.mark.parametrize("name", SCENARIOS | KIN)
def test_a_run_ends_in_bounds_with_utilisation_a_share(
    name: str, switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text((SCENARIOS | KIN)[name])
    (said,) = json.loads(switchbed("scenario", "check", "x.toml", "--json", "-").stdout)
    # 10,000 packets in each of a few cards are the most that any of these keeps.
    assert said["memory_bytes"] < 10_000_000
    # A run that takes half as much again, and 128 MB, is stopped with exit code 2.
    switchbed("run", "x.toml", "--out", "ran")
    ran = Result.load(tmp_path / "ran")
    summary, ports = ran.summary(), ran.table("ports")
    assert ports["utilisation"].is_between(0, 1).all()
    if "rate" not in name:
        # A line that goes down lets its packet end.
        ended_s = summary["simulated_s"] + 12_000 / 1e9
        assert (ports["sent_bytes"] * 8 / ports["rate_bps"] <= ended_s).all()
    switches = ports.filter(ports["port"].str.starts_with("switch"))
    busiest = summary["bottleneck"]
    assert 0 < busiest["utilisation"] == switches["utilisation"].max()
    assert busiest["port"] in switches.filter(switches["utilisation"] > 0)["port"]


@pytest.mark.parametrize(
    ("priorities", "quanta", "least"),
    [("0, 1, 2, 3", 1, 9), ("0", 1, 3), ("0, 1, 2, 3, 4, 5, 6, 7", 2, 17)],
)
def test_pause_frames_that_fill_the_line_are_refused(
    priorities: str, quanta: int, least: int, switchbed: Program, tmp_path: Path
) -> None:
    text = QUANTA.format(priorities=priorities, quanta=quanta)
    if SHARED.exists() and priorities == "0, 1, 2, 3":
        assert text == (SHARED / "pfc-quanta1-memory.toml").read_text()
    (tmp_path / "x.toml").write_text(text)
    for words in (["scenario", "check", "x.toml"], ["run", "x.toml"]):
        said = switchbed(*words, code=2).stderr
        assert f"x.toml:12: switch.pfc.quanta is {quanta}: " in said
        assert f"at least {least}" in said
        assert said.count("\n") == 1
    fits = text.replace(f"quanta = {quanta}", f"quanta = {least}").replace("0.9", "0.2")
    (tmp_path / "x.toml").write_text(fits)
    switchbed("scenario", "check", "x.toml")


DEVICE: Any = {
    "PORT": {
        "Ethernet0": {"lanes": "1", "speed": "10000"},
        "Ethernet4": {"lanes": "2", "speed": "10000"},
    },
    "SCHEDULER": {
        "scheduler.0": {"type": "DWRR", "weight": "14"},
        "scheduler.1": {"type": "DWRR", "weight": "15"},
    },
    "WRED_PROFILE": {
        "AZURE": {
            "wred_green_enable": "true",
            "ecn": "ecn_all",
            "green_drop_probability": "5",
            "green_min_threshold": "1048576",
            "green_max_threshold": "2097152",
        }
    },
    "BUFFER_POOL": {"egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "12000000"}},
    "BUFFER_PROFILE": {
        "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "1"}
    },
    "QUEUE": {
        "Ethernet0,Ethernet4|0": {"scheduler": "scheduler.0", "wred_profile": "AZURE"},
        "Ethernet0,Ethernet4|1": {"scheduler": "scheduler.1", "wred_profile": "AZURE"},
    },
    "BUFFER_QUEUE": {"Ethernet0,Ethernet4|0-1": {"profile": "egress_lossy_profile"}},
}
PORT = {"admin_status": "up", "alias": "etp1", "index": "1", "mtu": "9100", "fec": "rs"}
MAPS: Any = {
    "DSCP_TO_TC_MAP": {"AZURE": {str(n): str(n % 8) for n in range(64)}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(n): str(n) for n in range(8)}},
    "PORT_QOS_MAP": {
        "Ethernet0": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3,4"}
    },
    "DEVICE_METADATA": {
        "localhost": {
            "hwsku": "ACS-MSN2700",
            "platform": "x86_64-mlnx_msn2700-r0",
            "hostname": "sonic",
        }
    },
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}},
    "PFC_WD": {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "200"},
    },
}
ROW = "Ethernet0,Ethernet4|"


def device(*changes: tuple[str, str, str, str], more: Any = None) -> Any:
    """The device with fields changed: table, row, field, value."""
    made = copy.deepcopy(DEVICE) | (more or {})
    for table, row, field, value in changes:
        made[table][row][field] = value
    return made


def with_range(key: str) -> Any:
    return device() | {"BUFFER_QUEUE": {key: {"profile": "egress_lossy_profile"}}}


NAMED = "only scheduler.0, scheduler.1"
RANGE = "is no queue or range of queues: from 0 to 63, as 3 or 0-2"
REFUSED = {
    "emptysched": (
        device(("QUEUE", f"{ROW}0", "scheduler", "")),
        f"QUEUE|Ethernet0|0|scheduler: SCHEDULER has no '', {NAMED}",
    ),
    "sonic-empty-scheduler": (
        device(("QUEUE", f"{ROW}1", "scheduler", ""), more=MAPS),
        f"QUEUE|Ethernet0|1|scheduler: SCHEDULER has no '', {NAMED}",
    ),
    "poolsize": (
        device(("BUFFER_POOL", "egress_lossy_pool", "size", "12MB")),
        "BUFFER_POOL|egress_lossy_pool|size: is '12MB': a whole number from 0 to ",
    ),
    "weight0": (
        device(("SCHEDULER", "scheduler.0", "weight", "-1")),
        "SCHEDULER|scheduler.0|weight: is '-1': a whole number from 1 to 100 is needed",
    ),
    "sonic-range-bomb": (
        with_range("Ethernet0|0-99999999"),
        f"BUFFER_QUEUE|Ethernet0|0-99999999: '0-99999999' {RANGE}",
    ),
    "an empty profile": (
        device(("BUFFER_QUEUE", f"{ROW}0-1", "profile", "")),
        "BUFFER_QUEUE|Ethernet0|0|profile: BUFFER_PROFILE has no '', only egress_lossy_profile",
    ),
    "a marking that is none": (
        device(("QUEUE", f"{ROW}0", "wred_profile", "")),
        "QUEUE|Ethernet0|0|wred_profile: WRED_PROFILE has no '', only AZURE",
    ),
    "a range backwards": (with_range("Ethernet0|7-0"), RANGE),
    "a range of many digits": (with_range(f"Ethernet0|0-{'9' * 5000}"), RANGE),
    "a negative threshold": (
        device(("WRED_PROFILE", "AZURE", "green_max_threshold", "-1")),
        "WRED_PROFILE|AZURE|green_max_threshold: is '-1': a whole number from 0 to 2147483647",
    ),
}
KEPT = {
    "queuevendor": device(("QUEUE", f"{ROW}0", "new_field", "1")),
    "sonic-real-port-rows": device()
    | {"PORT": {name: row | PORT for name, row in DEVICE["PORT"].items()}},
    "a newer scheduler": device(("SCHEDULER", "scheduler.0", "meter_type", "packets")),
    "a newer pool": device(("BUFFER_POOL", "egress_lossy_pool", "from_tomorrow", "x" * 10_000)),
}


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared/cases beside the tree")
def test_these_are_the_files_as_they_came() -> None:
    files = {name: config for name, (config, _) in REFUSED.items()} | KEPT
    found = {path.stem for path in SHARED.iterdir()} - {"README"}
    assert found == (found & files.keys()) | SCENARIOS.keys() | {"pfc-quanta1-memory", "tc-quanta"}
    for name in found & files.keys():
        was = json.loads((SHARED / f"{name}.json").read_text())
        assert files[name] == was, name


@pytest.mark.parametrize("name", REFUSED)
def test_a_device_is_refused_by_table_row_and_key(
    name: str, switchbed: Program, tmp_path: Path
) -> None:
    config, says = REFUSED[name]
    (tmp_path / "x.json").write_text(json.dumps(config))
    said = switchbed("import", "sonic", "x.json", code=2).stderr
    assert said.startswith("switchbed: x.json: ")
    assert says in said
    assert said.count("\n") == 1
    assert len(said) < 500
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize("name", KEPT)
def test_a_device_comes_back_as_it_was(name: str, switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(KEPT[name]))
    switchbed("import", "sonic", "x.json")
    switchbed("scenario", "check", "x.toml")
    assert json.loads(switchbed("export", "sonic", "x.toml", "--changes").stdout) == {}


def tc(quanta: Any) -> list[dict[str, Any]]:
    red = {"limit": 600000, "min": 97500, "max": 97501, "ecn": True, "ewma": 1, "probability": 0.5}
    ets = {"bands": 2, "strict": 0, "quanta": quanta, "priomap": [1] * 16}
    tbf = {"rate": 1243750000, "burst": "1242506b/1", "lat": 805}
    return [
        {"kind": "tbf", "handle": "1:", "root": True, "options": tbf},
        {"kind": "ets", "handle": "2:", "parent": "1:1", "options": ets},
        {"kind": "red", "handle": "3:", "parent": "2:1", "options": red},
        {"kind": "red", "handle": "4:", "parent": "2:2", "options": red},
    ]


def test_the_tc_file_is_as_it_came() -> None:
    if SHARED.exists():
        assert tc(["a"]) == json.loads((SHARED / "tc-quanta.json").read_text())


@pytest.mark.parametrize(
    ("quanta", "says"),
    [
        (["a"], "ets: quanta: a whole number is needed; 'a' is none"),
        (["\u0661"], "ets: quanta: a whole number is needed"),
        ([1500, None], "ets: quanta: a whole number is needed"),
        ([1e400], "Infinity is no number of JSON"),
        ([-1], "quanta"),
        ({}, "quanta: a list of whole numbers is needed"),
        ([["x" * 10_000]], "ets: quanta: a whole number is needed"),
        ([[1]] * 2, "ets: quanta: a whole number is needed; [1] is none"),
        ([0, 2**40], "ets 2: quanta: is 0: it must be from "),
    ],
)
def test_tc_output_is_refused_by_discipline_and_key(
    quanta: Any, says: str, switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text(json.dumps(tc(quanta)))
    said = switchbed("import", "tc", "x.json", code=2).stderr
    assert says in said
    assert "x.json" in said
    assert said.count("\n") == 1
    assert len(said) < 500
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize("kind", ["sonic", "tc"])
def test_a_number_of_many_digits_is_refused_in_words(
    kind: str, switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text('[{"a": -%s}]' % ("9" * 5000))
    said = switchbed("import", kind, "x.json", code=2).stderr
    assert said == "switchbed: x.json: a number has 5001 digits: at most 60 are needed\n"


def test_disciplines_are_read_in_linear_time() -> None:
    def law(number: int) -> dict[str, Any]:
        options = {"limit": 1000, "target": 5000, "interval": 100_000}
        return {"kind": "codel", "handle": "0:", "parent": f"1:{number:x}", "options": options}

    def steps(count: int) -> int:
        shown = [{"kind": "mq", "handle": "1:", "root": True}, *map(law, range(1, count + 1))]
        seen = 0

        def count_line(frame: object, event: str, argument: object) -> Any:
            nonlocal seen
            seen += event == "line"
            return count_line

        sys.settrace(count_line)
        try:
            tc_import.load(shown, "x.json", 10**10)
        finally:
            sys.settrace(None)
        return seen

    assert steps(400) < 2.2 * steps(200)


def test_a_mistake_is_one_type_for_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(QUANTA.format(priorities=0, quanta=1))
    with pytest.raises(Mistake, match="quanta"):
        sb.Scenario.from_file(tmp_path / "x.toml").run()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rail", "--servers", 65535, "--gpus", 65535], "4294836225 hosts: at most 65535"),
        (["rail", "--servers", 8000, "--spines", 65535], " ports: at most 1048575"),
        (["dual-tor", "--pairs", 65535, "--hosts", 2], "131070 hosts: at most 65535"),
        (["dual-plane", "--pairs", 65535, "--spines", 65535], "hosts: at most 65535"),
    ],
)
def test_a_network_is_counted_before_it_is_made(
    words: list[Any], says: str, switchbed: Program, tmp_path: Path
) -> None:
    said = switchbed("topology", "new", *words, "--out", "x.csv", code=2).stderr
    assert said.startswith("switchbed: the network would have ")
    assert says in said
    assert not list(tmp_path.iterdir())
