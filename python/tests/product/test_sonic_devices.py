"""Configurations that ship for real switches: import, check, run, export, and the same again.

Those of SONiC's device folders are beside the project (`../shared/sonic/devices`); small ones of
our own are here."""

import gzip
import json
import os
import re
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from sonic_configs import Config, base, configs, lossy

import switchbed as sb
from switchbed import quantity
from switchbed._native import Mistake
from switchbed.queues import said as said_of
from switchbed.sonic.draft import Choices
from switchbed.sonic.exporting import export
from switchbed.sonic.importing import Imported, load
from switchbed.sonic.normalised import meant, normalised

FOLDER = Path(__file__).parents[3].parent / "shared" / "sonic" / "devices"
DEVICES = sorted(FOLDER.glob("*.json.gz"))
OWN = Path(__file__).parent / "sonic"
UNSIZED = "no PORT"
EVERY = 1 if "SWITCHBED_WHOLE" in os.environ else 8
"""Of the devices each so many-th is read; `make validate` reads all."""


def scenario(found: Imported, folder: Path) -> sb.Scenario:
    """As files on a disk."""
    for name, text in found.files.items():
        (folder / name).write_text(text)
    file = folder / "imported.toml"
    file.write_text(found.text)
    return sb.Scenario.from_file(file)


def unchanged(config: Config, made: sb.Scenario, found: Imported) -> bool:
    tables, said = export(made.resolved, Choices(), found.device)
    assert not said.refusals, said.refusals
    return meant(tables) == meant(normalised(config))


@pytest.mark.whole
@pytest.mark.skipif(not DEVICES, reason=f"needs {FOLDER}: configurations of device folders")
def test_every_device_comes_back_as_it_was() -> None:
    assert len(DEVICES) >= 100
    wrong = []
    for device in DEVICES[::EVERY]:
        config: Any = json.loads(gzip.decompress(device.read_bytes()))
        with tempfile.TemporaryDirectory() as folder:
            found = load(config, device.name)
            if not unchanged(config, scenario(found, Path(folder)), found):
                wrong.append(device.name)
    assert wrong == []


@pytest.mark.long
@pytest.mark.skipif(not DEVICES, reason=f"needs {FOLDER}: configurations of device folders")
@pytest.mark.parametrize("device", DEVICES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_every_device_runs_for_a_millisecond(device: Path, tmp_path: Path) -> None:
    config: Any = json.loads(gzip.decompress(device.read_bytes()))
    found = load(config, device.name)
    scenario(found, tmp_path).with_({"run.until": "1ms", "run.seed": 1}).run()


@pytest.mark.parametrize("file", sorted(OWN.glob("*.json")), ids=lambda path: path.stem)
def test_small_configurations_run_and_come_back(file: Path, tmp_path: Path) -> None:
    config: Any = json.loads(file.read_text())
    found = load(config, file.name)
    made = scenario(found, tmp_path)
    assert unchanged(config, made, found)
    made.with_({"run.until": "1ms", "run.seed": 1}).run()


@pytest.mark.parametrize("shape", [name for name in configs() if name != UNSIZED])
def test_every_shape_runs(shape: str, tmp_path: Path) -> None:
    found = load(configs()[shape], shape)
    scenario(found, tmp_path).with_({"run.until": "200us", "run.seed": 1}).run()


OVERLOAD = """[transport]
kind = "udp"
[[traffic]]
kind = "long-lived"
from = "0-1"
to = 3
classes = [{queue}, {queue}]
[measure]
queues = ["switch:3"]
warmup = "3ms"
[run]
until = "4ms"
seed = 1
"""


@pytest.mark.parametrize(
    ("queue", "packets", "marks", "lost"),
    [
        # Packets of 1500 bytes take 8 cells of 208. A quarter of the chip has 11,110 lossy; less
        # what two queues of four ports reserve beyond the chip's 7 (8 each), is 11,094. A queue of
        # alpha 8 takes packets as long as x <= 8 (11,094 - x + 8), 9,868, and its 7: 1,234. One of
        # alpha 1/4 has 2,220 and 15: 279.
        (0, 1234, 1.0, True),  # over its step of 100 KB
        (1, 279, 1.0, True),  # 418.5 KB, over its ramp's end of 400 KB
        (2, 279, 0.0, True),
        (5, 1234, 0.0, True),
        (6, 1234, 0.0, True),
        # Two inputs in a quarter of 13,071 cells each: half of that and 6 are 6,541, 817 packets,
        # and their neighbour pauses. 2.45 MB are over the ramp's end of 2,097,152 bytes.
        (3, 2 * 817, 1.0, False),
    ],
)
def test_queues_of_an_imported_tomahawk_end_where_their_rules_say(
    queue: int, packets: int, marks: float, lost: bool, tmp_path: Path
) -> None:
    found = load(json.loads((OWN / "tor.json").read_text()), "tor.json")
    text = found.text[: found.text.index("[transport]")] + OVERLOAD.format(queue=queue)
    result = scenario(replace(found, text=text), tmp_path).run()
    lengths = {row["queue"]: row["mean_bytes"] for row in result.queues.to_dicts()}
    assert lengths[str(queue)] == pytest.approx(1500 * packets, rel=0 if lost else 0.01)
    port = next(row for row in result.counters.to_dicts() if row["port"] == "switch:3")
    assert port["marked_packets"] == marks * port["sent_packets"]
    assert (port["drops_full"] > 0) == lost
    assert (result.summary()["pauses"]["count"] > 0) == (not lost)


def test_traffic_is_enough_to_tune_with(tmp_path: Path) -> None:
    made = scenario(load(json.loads((OWN / "tor.json").read_text()), "tor.json"), tmp_path)
    flows, incast = made.resolved["traffic"]
    # 54 % of web search's flows are small, and a 99th percentile needs 2,000 of them.
    assert (flows["flows"], flows["sizes"][0]["name"]) == (4000, "web-search")
    # Half of a quarter of the chip, whose pool and headroom are 15,069,184 bytes, from three ports.
    assert (incast["kind"], incast["classes"]) == ("incast", [3])
    assert incast["sizes"]["name"] == "627882B"
    # A round takes one of four lines half of the time.
    assert incast["load"] == 0.125
    # 4000 · 1,671.4 KB at half of four lines take 267 ms.
    assert incast["rounds"] == 887
    # The incast's load is its own.
    busier = made.with_({"load": 0.8}).resolved["traffic"]
    assert [each["load"] for each in busier] == [0.8, 0.125]


def test_nine_hosts_of_many_are_enough_for_the_incast(tmp_path: Path) -> None:
    made = scenario(load(base(32), "x.json"), tmp_path)
    assert made.resolved["traffic"][1]["fan_in"] == 8
    assert made.with_({"topology.hosts": 9}).plans
    with pytest.raises(Mistake, match=r"fan_in"):
        _ = made.with_({"topology.hosts": 8}).plans


@pytest.mark.parametrize("ports", [1, 2])
def test_two_ports_have_no_incast(ports: int) -> None:
    found = load(base(ports), "x.json")
    assert "incast" not in found.text
    assert any("no incast, for which three are needed" in str(f) for f in found.findings.all)


def with_chip(platform: str) -> Any:
    config: Any = base()
    config["DEVICE_METADATA"] = {"localhost": {"platform": platform}}
    return config


@pytest.mark.parametrize(
    ("about", "chip"),
    [
        ({"platform": "x86_64-arista_7060_cx32s"}, "tomahawk"),
        ({"platform": "x86_64-dell_s6100_c2538-r0", "hwsku": "Force10-S6100"}, "tomahawk"),
        ({"hwsku": "Arista-7260CX3-D108C8"}, "tomahawk-2"),
        ({"platform": "x86_64-mlnx_msn2700-r0", "hwsku": "other"}, "spectrum-1"),
        ({"platform": "x86_64-nvidia_sn5610n-r0"}, "spectrum-4"),
        ({"hwsku": "Mellanox-SN5640-C512S2"}, "spectrum-5"),
        ({"platform": "x86_64-own-r0", "hwsku": "OWN"}, None),
        ({}, None),
    ],
)
def test_the_chip_is_named_by_platform_or_hwsku(about: dict[str, str], chip: str | None) -> None:
    config: Any = base() | {"DEVICE_METADATA": {"localhost": about}}
    text = load(config, "x.json").text
    assert (f'asic = "{chip}"' in text) if chip else ('policy = "asic"' in text)


def test_pools_are_added_up_against_the_chip() -> None:
    config = with_chip("x86_64-nexthop_4210-r0021")
    config["BUFFER_POOL"]["ingress_lossless_pool"] |= {"size": "258035400", "xoff": "81553920"}
    said = [str(each) for each in load(config, "x.json").findings.all]
    assert any("339.6 MB, more than tomahawk-6's 258 MB" in each for each in said)
    assert any("size holds the headroom there" in each for each in said)
    # (258,035,400 - 81,553,920)/420 cells: no reserve is known.
    assert 'pool = "176481480B"' in load(config, "x.json").text
    config["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "300000000"
    said = [str(each) for each in load(config, "x.json").findings.all]
    assert any("the file promises too much" in each for each in said)


def test_what_the_file_leaves_to_the_switch_has_one_story() -> None:
    config = base()
    config["BUFFER_POOL"]["ingress_lossless_pool"] |= {"size": "26531072", "xoff": "6291456"}
    found = load(config, "x.json")
    said = {each.key: str(each) for each in found.findings.all}
    assert 'pool = "32822528B"' in found.text  # both
    assert said["switch.pool"].startswith("exact: switch.pool: 32.82 MB: the inputs' 26.53 MB and")
    assert "alpha switch.pfc.alpha's default" in said["BUFFER_PG"]
    assert 'headroom than is computed or `check` counts: host.mtu = "9100B"' in said["PORT|mtu"]


def test_which_classes_are_lossless() -> None:
    def classes(config: Any) -> tuple[str, list[str]]:
        found = load(config, "x.json")
        lines = [line for line in found.text.splitlines() if line.startswith("priorities")]
        return "".join(lines), [str(each) for each in found.findings.all]

    assert classes(base())[0] == "priorities = [3, 4]"
    none: Any = base()
    for row in none["PORT_QOS_MAP"].values():
        row["pfc_enable"] = ""
    assert classes(none)[0] == ""
    bare_group: Any = base()
    for port in bare_group["PORT"]:
        bare_group["BUFFER_PG"][f"{port}|3"] = {"profile": "ingress_lossy_profile"}
    found, said = classes(bare_group)
    assert found == "priorities = [4]"
    assert any("without xoff: it never pauses" in each for each in said)
    bare: Any = base()
    bare["BUFFER_POOL"]["ingress_pool"] = bare["BUFFER_POOL"].pop("ingress_lossless_pool")
    bare["BUFFER_PROFILE"]["ingress_lossy_profile"]["pool"] = "ingress_pool"
    found, said = classes(bare)
    assert found == ""
    assert any("no ingress_lossless_pool, so no headroom" in each for each in said)
    moved: Any = base()
    moved["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"]["3"] = "5"
    found, said = classes(moved)
    assert found == "priorities = [4, 5]"
    assert any("priority 3 is queue 5's: here class 5 is paused" in each for each in said)


def test_lossless_groups_have_their_profile() -> None:
    config = with_chip("x86_64-arista_7060_cx32s")
    profile = {"pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "90000"}
    config["BUFFER_PROFILE"]["own"] = profile | {"dynamic_th": "-3", "xon_offset": "2288"}
    for port in config["PORT"]:
        config["BUFFER_PG"][f"{port}|3-4"] = {"profile": "own"}
    found = load(config, "x.json")
    for line in (
        *('headroom = "90000B"', 'reserve = "1248B"', 'xon = "2288B"', "alpha = 0.125"),
        *('headroom_pool = "1622016B"', 'xon_offset = "2288B"'),
    ):
        assert line in found.text
    with tempfile.TemporaryDirectory() as folder:
        made = scenario(found, Path(folder))
        assert unchanged(config, made, found)
        other = made.with_({"switch.pfc.headroom": "70KB", "switch.pfc.alpha": 0.25})
        tables, said = export(other.resolved, Choices(), found.device)
        assert not said.refusals
        row = tables["BUFFER_PROFILE"]["own"]
        assert (row["xoff"], row["dynamic_th"]) == ("70000", "-2")
        fewer = made.with_({"switch.pfc.priorities": [3]})
        refused = export(fewer.resolved, Choices(), found.device)[1].refusals
        assert [each.key for each in refused] == ["switch.pfc.priorities"]


def test_lossless_groups_that_differ_are_said() -> None:
    config = with_chip("x86_64-arista_7060_cx32s")
    near = {"pool": "ingress_lossless_pool", "size": "0", "xoff": "40000", "dynamic_th": "-3"}
    ports = list(config["PORT"])
    config["BUFFER_PROFILE"] |= {"near": near, "far": near | {"xoff": "90000"}, "like": dict(near)}
    for port in ports:
        config["BUFFER_PG"][f"{port}|3-4"] = {"profile": "near"}
    config["BUFFER_PG"][f"{ports[1]}|3-4"] = {"profile": "far"}
    config["BUFFER_PG"][f"{ports[2]}|3-4"] = {"profile": "like"}
    found = load(config, "x.json")
    assert 'headroom = "40000B"' in found.text
    said = [str(each) for each in found.findings.all]
    (line,) = [each for each in said if each.startswith("approximated: BUFFER_PG: ")]
    # Another name for the same settings is no difference.
    assert f"{ports[1]}|3, {ports[1]}|4: far (dynamic_th -3, size 0, xoff 90000)" in line
    assert "like" not in line
    with tempfile.TemporaryDirectory() as folder:
        assert unchanged(config, scenario(found, Path(folder)), found)


def mixed() -> Any:
    """Ports of 25 and 100 Gbps with cables of 5 and 300 m, and a lossless profile for each kind."""
    config = with_chip("x86_64-arista_7060_cx32s")
    ports = list(config["PORT"])
    config["PORT"][ports[3]]["speed"] = "25000"
    lengths = dict(zip(ports, ("5m", "5m", "300m", "5m"), strict=True))
    config["CABLE_LENGTH"] = {"AZURE": lengths}
    of = {"pool": "ingress_lossless_pool", "size": "1248", "dynamic_th": "-3"}
    for name, xoff in (("100000_5m", 90_000), ("100000_300m", 130_000), ("25000_5m", 40_000)):
        config["BUFFER_PROFILE"][f"pg_lossless_{name}_profile"] = of | {"xoff": str(xoff)}
    for port, metres in lengths.items():
        kind = f"{config['PORT'][port]['speed']}_{metres}"
        config["BUFFER_PG"][f"{port}|3-4"] = {"profile": f"pg_lossless_{kind}_profile"}
    return config


def test_each_speed_and_cable_has_its_headroom(tmp_path: Path) -> None:
    config = mixed()
    found = load(config, "x.json")
    for line in (
        *('headroom = "90000B"', 'headroom_rates = ["25Gbps", "100Gbps"]'),
        *('headroom_delays = ["25ns", "1500ns"]', 'headroom_sizes = ["40000B", "130000B"]'),
    ):
        assert line in found.text
    (line,) = [str(each) for each in found.findings.all if each.key == "BUFFER_PG"]
    assert line.startswith("exact")
    assert "xoff 40000 by the links' rate and cable" in line
    made = scenario(found, tmp_path)
    # In cells of 208 bytes.
    links = {
        (of["rate_bps"], of["delay_ns"]): of["configured_bytes"]
        for of in json.loads(made.plans[0].headroom)["links"]
    }
    assert links == {
        (100 * 10**9, 25.0): 432 * 208,
        (100 * 10**9, 1500.0): 625 * 208,
        (25 * 10**9, 25.0): 192 * 208,
    }
    assert unchanged(config, made, found)
    changed = made.with_({"switch.pfc.headroom_sizes": ["50KB", "130000B"]})
    tables, said = export(changed.resolved, Choices(), found.device)
    assert not said.refusals
    rows = {name: row.get("xoff") for name, row in tables["BUFFER_PROFILE"].items()}
    assert rows["pg_lossless_25000_5m_profile"] == "50000"
    assert rows["pg_lossless_100000_300m_profile"] == "130000"
    fewer = made.with_(
        {
            "switch.pfc.headroom_rates": ["25Gbps"],
            "switch.pfc.headroom_delays": ["25ns"],
            "switch.pfc.headroom_sizes": ["50KB"],
        }
    )
    refused = export(fewer.resolved, Choices(), found.device)[1].refusals
    assert [each.key for each in refused] == ["switch.pfc.headroom_sizes"]


def test_what_else_a_speeds_profile_has_is_said(tmp_path: Path) -> None:
    config = mixed()
    config["BUFFER_PROFILE"]["pg_lossless_25000_5m_profile"]["dynamic_th"] = "0"
    found = load(config, "x.json")
    (line,) = [str(each) for each in found.findings.all if each.key == "BUFFER_PG"]
    assert line.startswith("approximated")
    assert "dynamic_th 0 is not here" in line
    assert unchanged(config, scenario(found, tmp_path), found)


def test_newer_fields_of_all_ports_are_one_line(tmp_path: Path) -> None:
    config: Any = base(32)
    for row in config["PORT"].values():
        row["dhcp_rate_limit"] = "300"
    config["PORT"]["Ethernet4"]["subport_mode"] = "x"
    found = load(config, "x.json")
    said = [str(each) for each in found.findings.all if "published model" in str(each)]
    assert len(said) == 2
    assert said[0].startswith("left out: PORT|Ethernet0, Ethernet8, ")
    assert ": dhcp_rate_limit: no key" in said[0]
    assert "PORT|Ethernet4: dhcp_rate_limit, subport_mode: no key" in said[1]
    assert unchanged(config, scenario(found, tmp_path), found)


def test_traffic_classes_of_other_groups_are_said() -> None:
    config: Any = base()
    groups = {str(tc): "0" for tc in range(8)} | {"3": "3", "4": "4"}
    config["TC_TO_PRIORITY_GROUP_MAP"] = {"AZURE": groups}
    for row in config["PORT_QOS_MAP"].values():
        row["tc_to_pg_map"] = "AZURE"

    def said() -> list[str]:
        all_ = [str(each) for each in load(config, "x.json").findings.all]
        return [each for each in all_ if "TC_TO_PRIORITY_GROUP_MAP" in each]

    assert said() == []
    groups |= {"2": "3", "4": "0"}
    (line,) = said()
    assert line.startswith("approximated: TC_TO_PRIORITY_GROUP_MAP|AZURE: traffic class 2 to 3, 4")


@pytest.mark.parametrize(
    ("table", "key", "row", "said"),
    [
        ("PFC_WD", "Ethernet0", {"detection_time": "abc"}, "from 100 to 5000 is needed"),
        ("PFC_WD", "Ethernet0", {"detection_time": "50"}, "from 100 to 5000 is needed"),
        ("PFC_WD", "GLOBAL", {"POLL_INTERVAL": "5"}, "from 100 to 1000 is needed"),
        ("PFC_WD", "Ethernet0", {"action": "reset"}, "one of drop, forward, alert is needed"),
        ("BUFFER_PG", "Ethernet0|9", {"profile": "ingress_lossy_profile"}, "no key of BUFFER_PG"),
        ("BUFFER_PG", "Ethernet0|0", {"profile": ""}, "BUFFER_PROFILE has no ''"),
        ("BUFFER_PG", "Ethernet0|0", {}, "has no profile"),
        ("TC_TO_QUEUE_MAP", "M", {"0": "99"}, "from 0 to 9 is needed"),
        ("TC_TO_PRIORITY_GROUP_MAP", "M", {"0": "8"}, "from 0 to 7 is needed"),
        ("DSCP_TO_TC_MAP", "M", {"64": "1"}, "its name: a whole number from 0 to 63"),
        ("SWITCH_TRIMMING", "GLOBAL", {"dscp_value": "99"}, "0 to 63 or from-tc is needed"),
        (
            "BUFFER_PROFILE",
            "egress_lossy_profile",
            {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "1", "static_th": "9"},
            "exactly one of dynamic_th and static_th",
        ),
        (
            "BUFFER_POOL",
            "ingress_lossless_pool",
            {"type": "ingress", "mode": "dynamic", "size": "12000000", "xoff": "12000000"},
            "|size: is 12000000: this chip takes headroom (xoff) and reserves, 12",
        ),
        (
            "BUFFER_POOL",
            "ingress_lossless_pool",
            {"type": "ingress", "mode": "dynamic", "size": "12000000", "xoff": str(2**64 - 1)},
            "|xoff: is 18446744073709551615 bytes: at most 1000GB",
        ),
    ],
)
def test_what_sonic_refuses_is_refused_in_every_table(
    table: str, key: str, row: dict[str, str], said: str
) -> None:
    config = with_chip("x86_64-arista_7050cx3_32c")
    config.setdefault(table, {})[key] = row
    with pytest.raises(Mistake, match=rf"x\.json: {table}\|{re.escape(key)}.*{re.escape(said)}"):
        load(config, "x.json")


def test_a_profile_that_the_switch_makes_may_be_missing() -> None:
    config: Any = base()
    config["BUFFER_PG"]["Ethernet0|3-4"] = {"profile": "pg_lossless_400000_40m_profile"}
    assert "priorities = [3, 4]" in load(config, "x.json").text


def test_ports_of_which_no_two_are_alike_can_run(tmp_path: Path) -> None:
    config: Any = base()
    speeds = ("100000", "40000", "25000", "1000")
    for port, speed in zip(config["PORT"].values(), speeds, strict=True):
        port["speed"] = speed
    made = scenario(load(config, "x.json"), tmp_path)
    # From the slowest to the fastest: no link is offered more than it carries.
    assert (made.resolved["traffic"][0]["from"], made.resolved["traffic"][0]["to"]) == ([3], [0])


def test_a_profile_that_no_queue_has_is_said() -> None:
    config: Any = base()
    for row in config["QUEUE"].values():
        row.pop("wred_profile", None)
    found = load(config, "x.json")
    said = [str(each) for each in found.findings.all]
    assert any("no queue of these ports has AZURE_LOSSLESS" in each for each in said)
    assert 'name = "none"' in found.text


def test_a_queue_that_changes_alone_gets_rows_of_its_own(tmp_path: Path) -> None:
    found = load(json.loads((OWN / "tor.json").read_text()), "tor.json")
    made = scenario(found, tmp_path)
    # Entries: queue 0, 1, 2, 5, 6. Queue 1 and 2 share a buffer profile, 1 has WRED alone.
    kmin = made.with_({"switch.queue.1.scheme.params.kmin": "60KB", "switch.queue.2.alpha": 4})
    tables, said = export(kmin.resolved, Choices(), found.device)
    assert not said.refusals, said.refusals
    assert tables["WRED_PROFILE"]["C"]["green_min_threshold"] == "60000"
    assert tables["WRED_PROFILE"]["A"]["green_min_threshold"] == "250000"
    assert tables["BUFFER_PROFILE"]["small"]["dynamic_th"] == "-2"
    assert tables["BUFFER_PROFILE"]["small_q2"]["dynamic_th"] == "2"
    assert tables["BUFFER_QUEUE"]["Ethernet0|2"]["profile"] == "small_q2"
    assert tables["BUFFER_QUEUE"]["Ethernet0|1"]["profile"] == "small"


@pytest.mark.parametrize(
    ("table", "row", "field"),
    [("WRED_PROFILE", "A", "green_min_threshold"), ("BUFFER_PROFILE", "small", "dynamic_th")],
)
def test_rows_that_lack_a_threshold_stay_without(
    table: str, row: str, field: str, tmp_path: Path
) -> None:
    config = json.loads((OWN / "tor.json").read_text())
    del config[table][row][field]
    found = load(config, "tor.json")
    assert unchanged(config, scenario(found, tmp_path), found)


def told(config: Any) -> tuple[Imported, str]:
    """The import of a configuration that comes back as it was, and its findings' text."""
    found = load(config, "x.json")
    with tempfile.TemporaryDirectory() as folder:
        assert unchanged(config, scenario(found, Path(folder)), found)
    return found, "\n".join(map(str, found.findings.all))


@pytest.mark.parametrize(
    ("table", "key", "row", "says"),
    [
        ("QUEUE", "CPU|0", {"scheduler": "scheduler.0"}, "QUEUE: PORT has no CPU"),
        ("BUFFER_QUEUE", "CPU|0-24", {"profile": "nope"}, "BUFFER_QUEUE: PORT has no CPU"),
        ("PORT_QOS_MAP", "PortChannel10", {}, "PORT_QOS_MAP: PORT has no PortChannel10"),
        ("BUFFER_PG", "Ethernet500|0", {"profile": "ingress_lossy_profile"}, "no Ethernet500"),
        ("BUFFER_QUEUE", "Ethernet0|10-17", {"profile": "egress_lossy_profile"}, "over 9: no"),
        ("BUFFER_QUEUE", "Ethernet0|5", {"profile": "nope"}, "leaves Ethernet0|5 alone"),
        ("BUFFER_PG", "Ethernet0|0", {"profile": "nope"}, "BUFFER_PROFILE has no nope"),
    ],
)
def test_rows_that_a_port_does_not_have_are_said_and_kept(
    table: str, key: str, row: dict[str, str], says: str
) -> None:
    config: Any = base()
    config[table][key] = row
    found, said = told(config)
    assert says in said
    if key.startswith("Ethernet0") and table == "BUFFER_QUEUE":
        return
    # The ports have what they had without the row.
    assert found.text == load(base(), "x.json").text


def test_ports_without_lanes_and_speeds_are_read() -> None:
    config: Any = base()
    config["PORT"] = {port: {"alias": port} for port in config["PORT"]}
    assert "no speed is given: 10000 Mbps is a guess" in told(config)[1]
    ports = list(config["PORT"])
    config["PORT"][ports[0]]["speed"] = "100000"
    said = told(config)[1]
    assert f"{', '.join(ports[1:])}: no speed is given: 10000 Mbps is a guess" in said


def test_old_brackets_and_lists_are_read() -> None:
    config: Any = base()
    config["DOT1P_TO_TC_MAP"] = {"AZURE": {"3": "3"}}
    lists = {"adv_speeds": ["40000", "100000"]}
    config["PORT"]["Ethernet0"] |= lists
    for row in config["PORT_QOS_MAP"].values():
        row["dot1p_to_tc_map"] = "[DOT1P_TO_TC_MAP|AZURE]"
    profiles = ["egress_lossless_profile", "egress_lossy_profile"]
    config["BUFFER_PORT_EGRESS_PROFILE_LIST"] = {"Ethernet0": {"profile_list": profiles}}
    told(config)


def test_a_dump_of_the_data_base_is_the_same_switch() -> None:
    config: Any = json.loads((OWN / "tor.json").read_text())
    dump = {
        f"{table}|{key}": {"type": "hash", "ttl": -0.001, "value": row}
        for table, rows in config.items()
        for key, row in rows.items()
    }
    dump["PORT|Ethernet0"]["value"]["adv_speeds@"] = "40000,100000"
    assert load(dump, "tor.json").text == load(config, "tor.json").text
    flat = {key: row["value"] for key, row in dump.items()}
    assert load(flat, "tor.json").text == load(config, "tor.json").text


def test_a_switch_of_several_chips_is_refused_as_such() -> None:
    with pytest.raises(Mistake, match=r"x\.json: has asic0, asic1, a switch of several chips"):
        load({"localhost": {}, "asic0": base(), "asic1": base()}, "x.json")


def test_a_second_file_is_refused_by_its_name(switchbed: Program, tmp_path: Path) -> None:
    for name in ("config_db0.json", "config_db1.json"):
        (tmp_path / name).write_text(json.dumps(base()))
    said = switchbed("import", "sonic", "config_db0.json", "config_db1.json", code=2).stderr
    assert said.startswith("switchbed: config_db1.json: is one file too many: a chip's, as ")
    assert said.count("\n") == 1
    # The file of a whole switch of several chips has no ports of traffic.
    (tmp_path / "config_db.json").write_text('{"DEVICE_METADATA": {"localhost": {}}}')
    said = switchbed("import", "sonic", "config_db.json", code=2).stderr
    assert said.startswith("switchbed: config_db.json: has no PORT")
    assert "config_db0.json" in said
    assert not list(tmp_path.glob("*.toml"))


def test_a_priority_pauses_for_its_traffic_classs_group() -> None:
    config = with_chip("x86_64-own-r0")
    own = {"pool": "ingress_lossless_pool", "size": "1518", "xoff": "38816", "dynamic_th": "1"}
    config["BUFFER_PROFILE"]["own"] = own
    groups = {str(tc): "0" for tc in range(8)} | {"3": "1", "4": "2"}
    config["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"] = groups
    for port in config["PORT"]:
        config["BUFFER_PG"][f"{port}|1-2"] = {"profile": "own"}
    found, _ = told(config)
    for line in ("priorities = [3, 4]", 'headroom = "38816B"', "alpha = 2.0"):
        assert line in found.text
    # A map of priorities comes before.
    config["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {"AZURE": {"3": "3", "4": "4"}}
    for row in config["PORT_QOS_MAP"].values():
        row["pfc_to_pg_map"] = "AZURE"
    assert 'headroom = "38816B"' not in told(config)[0].text


def test_headroom_that_the_switch_computes_makes_a_group_lossless() -> None:
    config = with_chip("x86_64-mlnx_msn2700-r0")
    ports = list(config["PORT"])
    # As `config buffer profile add own --dynamic_th 1` writes it.
    config["BUFFER_PROFILE"]["own"] = {"dynamic_th": "1", "headroom_type": "dynamic"}
    for port in ports:
        config["BUFFER_PG"][f"{port}|3-4"] = {"profile": "own"}
    found, said = told(config)
    assert "priorities = [3, 4]" in found.text
    assert "alpha = 2.0" in found.text
    assert "headroom =" not in found.text
    assert "the switch computes the headroom" in said
    assert "never pauses" not in said
    assert "lossy groups" not in said.replace("ingress_lossy", "")
    # Most groups are made by the switch: one port's profile is not all ports'.
    for port in ports[1:]:
        config["BUFFER_PG"][f"{port}|3-4"] = {"profile": "NULL"}
    found, said = told(config)
    assert "alpha = 2.0" not in found.text
    assert f"{ports[0]}|3, {ports[0]}|4: own (dynamic_th 1" in said


def test_lossless_queues_mark_up_to_their_own_pools_end() -> None:
    config: Any = base()
    # Lossy queues have a smaller pool, which ends below the ramp.
    config["BUFFER_POOL"]["egress_lossy_pool"]["size"] = "1000000"
    found, said = told(config)
    assert '"kmin" = "1048576B", "kmax" = "2097152B"' in found.text
    assert "it is off" not in said
    config["BUFFER_POOL"]["egress_lossless_pool"]["size"] = "1500000"
    assert '"kmin" = "1048576B", "kmax" = "1500000B"' in told(config)[0].text
    config["BUFFER_POOL"]["egress_lossless_pool"]["size"] = "1048576"
    assert "begins at 1048576, above the memory, 1048576: it is off" in told(config)[1]


def two_maps(field: str, table: str, changes: dict[str, str]) -> Any:
    """The last port's map by another name and with other values; the second's by name alone."""
    config: Any = base()
    table_rows = config.setdefault(table, {})
    ports = list(config["PORT"])
    table_rows.setdefault("AZURE", {str(i): str(i) for i in range(8)})
    table_rows |= {"SAME": dict(table_rows["AZURE"]), "OTHER": table_rows["AZURE"] | changes}
    for port, name in zip(ports, ("AZURE", "SAME", "AZURE", "OTHER"), strict=True):
        config["PORT_QOS_MAP"][port][field] = name
    return config


@pytest.mark.parametrize(
    ("field", "table", "changes", "says"),
    [
        (
            *("dscp_to_tc_map", "DSCP_TO_TC_MAP", {"2": "2", "10": "5"}),
            "Ethernet12 has OTHER: 2 to 2 (elsewhere 0), 10 to 5 (elsewhere 0)",
        ),
        (
            *("dot1p_to_tc_map", "DOT1P_TO_TC_MAP", {"1": "0"}),
            "Ethernet12 has OTHER: 1 to 0 (elsewhere 1)",
        ),
        (
            *("tc_to_queue_map", "TC_TO_QUEUE_MAP", {"5": "6", "9": "1"}),
            "Ethernet12 has OTHER: 5 to 6 (elsewhere 5), 9 to 1 (elsewhere none)",
        ),
        (
            # Class 1 counts with the lossless class 3 there.
            *("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", {"1": "3"}),
            "Ethernet12 has OTHER: 1 to 3 (elsewhere 0)",
        ),
        (
            # No priority that pauses.
            *("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", {"6": "5"}),
            "Ethernet12 has OTHER: 6 to 5 (elsewhere 6)",
        ),
        (
            *("tc_to_dscp_map", "TC_TO_DSCP_MAP", {"1": "8"}),
            "Ethernet12 has OTHER: 1 to 8 (elsewhere 1)",
        ),
    ],
)
def test_maps_that_differ_by_port_are_said(
    field: str, table: str, changes: dict[str, str], says: str
) -> None:
    found, said = told(two_maps(field, table, changes))
    (line,) = [each for each in said.splitlines() if f"PORT_QOS_MAP|{field}: " in each]
    assert line.startswith(f"approximated: PORT_QOS_MAP|{field}: {says}: ")
    # Another name for the same map is no difference.
    assert "SAME" not in said
    assert "hosts = 4" in found.text


def test_a_port_without_a_map_is_said() -> None:
    config: Any = base()
    del config["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"]
    # Most ports' map is what the others are compared with.
    assert "PORT_QOS_MAP|dscp_to_tc_map: Ethernet0 has none: " in told(config)[1]


@pytest.mark.parametrize(
    ("field", "table", "changes", "mine", "other"),
    [
        # There a pause for priority 4 stops queue 5.
        ("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", {"4": "5"}, "[3, 4]", "[3, 5]"),
        # There class 4's packets are in group 5.
        ("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", {"4": "5"}, "[3, 4]", "[3, 4]"),
    ],
)
def test_ports_that_pause_otherwise_are_another_group(
    field: str, table: str, changes: dict[str, str], mine: str, other: str
) -> None:
    config = two_maps(field, table, changes)
    found, said = told(config)
    assert f"priorities = {mine}" in found.text
    assert "hosts = 3" in found.text
    assert "1 ports (Ethernet12) whose queues or PFC differ from Ethernet0's" in said
    alone = load(config, "x.json", ["Ethernet12"]).text
    assert f"priorities = {other}" in alone


def test_ports_that_trim_into_another_queue_are_another_group() -> None:
    config: Any = configs()["trimming"]
    config["SWITCH_TRIMMING"]["GLOBAL"]["queue_index"] = "dynamic"
    config["DSCP_TO_TC_MAP"] |= {
        name: config["DSCP_TO_TC_MAP"]["AZURE"] | {"48": tc}
        for name, tc in (("LOW", "5"), ("HIGH", "6"))
    }
    for port, row in config["PORT_QOS_MAP"].items():
        row["dscp_to_tc_map"] = "LOW" if port == "Ethernet0" else "HIGH"
    found, said = told(config)
    assert "queue = 6" in found.text
    assert "1 ports (Ethernet0) whose queues or PFC differ" in said
    assert "queue = 5" in load(config, "x.json", ["Ethernet0"]).text


def test_bounds_of_lossy_groups_are_said() -> None:
    config: Any = base()
    assert "ingress_lossy_profile" not in told(config)[1]  # as large as its pool
    row = config["BUFFER_PROFILE"]["ingress_lossy_profile"]
    row |= {"static_th": "9000000", "size": "4000"}
    said = told(config)[1]
    assert "ingress_lossy_profile: size 4000, static_th 9000000 of lossy groups" in said
    config["BUFFER_PROFILE"]["egress_lossless_profile"]["size"] = "1518"
    assert "egress_lossless_profile: size 1518: reserved for lossless queues" in told(config)[1]


def test_profiles_and_pools_that_nothing_has_are_said() -> None:
    config: Any = base()
    config["BUFFER_POOL"]["spare_pool"] = {"type": "egress", "mode": "static", "size": "10500000"}
    spare = {"pool": "spare_pool", "size": "0", "static_th": "9000"}
    config["BUFFER_PROFILE"]["spare"] = spare
    said = told(config)[1]
    assert "left out: BUFFER_PROFILE: no queue or group of these ports has spare" in said
    assert "left out: BUFFER_POOL|spare_pool: no queue or group" in said
    config["BUFFER_PORT_EGRESS_PROFILE_LIST"] = {"Ethernet0": {"profile_list": "spare"}}
    assert "has spare" not in told(config)[1]
    # The switch makes lossless groups of a pool that no profile names.
    config["BUFFER_PROFILE"]["ingress_lossy_profile"]["pool"] = "spare_pool"
    assert "BUFFER_POOL|ingress_lossless_pool" not in told(config)[1]


def test_names_wiring_and_fec_of_ports_are_said() -> None:
    config: Any = base()
    config["PORT"]["Ethernet0"] |= {"alias": "Eth1", "index": "1", "fec": "rs"}
    said = told(config)[1]
    assert "left out: PORT|lanes, index, alias: names and wiring" in said
    assert "left out: PORT|fec: rs: its delay" in said


def test_a_colour_that_is_enabled_otherwise_is_said() -> None:
    config: Any = base()
    (row,) = config["WRED_PROFILE"].values()
    row["wred_red_enable"] = "false"
    said = told(config)[1]
    assert "|red: differs from green; all packets have green's wred_green_enable" in said
    assert "|yellow" not in said


def test_a_profile_without_a_threshold_is_said() -> None:
    config = with_chip("x86_64-arista_7060_cx32s")
    for name in ("egress_lossy_profile", "egress_lossless_profile"):
        for key in ("dynamic_th", "static_th"):
            config["BUFFER_PROFILE"][name].pop(key, None)
    config["BUFFER_PROFILE"]["own"] = {"pool": "ingress_lossless_pool", "size": "0", "xoff": "9000"}
    for port in config["PORT"]:
        config["BUFFER_PG"][f"{port}|3-4"] = {"profile": "own"}
    said = told(config)[1]
    for name in ("egress_lossy_profile", "own"):
        assert f"approximated: BUFFER_PROFILE|{name}: " in said
    assert said.count("neither dynamic_th nor static_th") == 2
    assert "egress_lossless_profile: bounds" not in said


def test_a_pool_without_a_size_is_the_chips() -> None:
    config = with_chip("x86_64-arista_7060_cx32s")
    del config["BUFFER_POOL"]["ingress_lossless_pool"]["size"]
    said = told(config)[1]
    assert "approximated: BUFFER_POOL|ingress_lossless_pool: no size (the switch finds" in said
    assert "here tomahawk's memory" in said
    given = load(config, "x.json", pool=9_000_000)
    assert "no size" not in str(given.findings.all)


def test_wred_ends_at_the_smaller_of_both_pools() -> None:
    config: Any = lossy()
    for row in config["PORT_QOS_MAP"].values():
        row["pfc_enable"] = ""
    config["BUFFER_POOL"]["ingress_lossless_pool"] |= {"size": "1500000", "xoff": "0"}
    assert '"kmax" = "1500000B"' in told(config)[0].text
    config["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "1000000"
    assert "above the memory, 1000000: it is off" in told(config)[1]


RAMPS = {"low": (250_000, 2_097_152, 0.05), "high": (1_048_576, 2_097_152, 0.05)}
RAMPS["nvidia"] = (166_912, 239_616, 0.05)
LOSSY = (21_000, 8.0, None, True)
"""Of a shipped lossy queue: bytes of weight 14, alpha of dynamic_th 3, no WRED."""


@pytest.mark.skipif(not DEVICES, reason=f"needs {FOLDER}: configurations of device folders")
@pytest.mark.parametrize(
    ("device", "links", "switch", "queues", "left_out"),
    [
        (
            # Tomahawk's sizes are net of headroom; 40 m are 200 ns; queue_reserve is the file's.
            "arista_7060_cx32s_Arista-7060CX-32S-C32",
            {("100Gbps", "200ns"): 32},
            ("tomahawk", 10_875_072, 9_243_812, 4_194_112),
            [
                *(LOSSY, LOSSY, LOSSY),
                *((22_500, 8.0, "low", True), (22_500, 8.0, "low", True)),
                *(LOSSY, LOSSY),
            ],
            # Yellow and red begin at 1,048,576.
            ("WRED_PROFILE|AZURE_LOSSLESS|yellow", "BUFFER_PROFILE|egress_lossless_profile"),
        ),
        (
            # Trident 3's are gross. 32,712,448 less 1,622,016 are 121,447 cells of 256; each of 34
            # ports reserves 2 groups of 18 and 5 queues of 7: 119,033 are left. 300 m are 1.5 us.
            "arista_7050cx3_32c_Arista-7050CX3-32C-C28S4",
            {("100Gbps", "1500ns"): 28, ("10Gbps", "1500ns"): 6},
            ("trident-3", 30_472_448, 24_709_632, 1_622_016),
            [
                *(LOSSY, LOSSY, LOSSY),
                *((22_500, 8.0, "high", True), (22_500, 8.0, "high", True)),
                *(LOSSY, LOSSY),
            ],
            ("PORT|mtu", "BUFFER_POOL|mode"),
        ),
        (
            # The port's alpha is 128: 128 a/(1 + a) for a of 1, 1/128 and 1/8. Queues 4 and 5 mark
            # from 158 MB, over the pool; no length of cable is 1 m. No class pauses.
            "nvidia_sn5600-r0_Mellanox-SN5600-C256S1",
            {("100Gbps", "5ns"): 256, ("10Gbps", "5ns"): 1},
            ("spectrum-4", 142_703_616, 142_703_616, None),
            [
                (6_000, 64.0, None, False),
                (12_000, 128 / 129, "nvidia", False),
                (27_000, 128 / 129, "nvidia", False),
                (33_000, 128 / 129, "nvidia", False),
                (33_000, 64.0, None, False),
                (33_000, 128 / 9, None, False),
                (6_000, 64.0, None, False),
            ],
            ("WRED_PROFILE|AZURE_LOSSY_DOWNLINK_Q4", "BUFFER_POOL|egress_lossless_pool"),
        ),
    ],
    ids=["tomahawk", "trident-3", "spectrum-4"],
)
def test_a_device_is_as_worked_by_hand(
    device: str,
    links: dict[tuple[str, str], int],
    switch: tuple[str, int, int, int | None],
    queues: list[tuple[int, float, str | None, bool]],
    left_out: tuple[str, ...],
    tmp_path: Path,
) -> None:
    file = FOLDER / f"{device}.json.gz"
    found = load(json.loads(gzip.decompress(file.read_bytes())), "x.json")
    made = scenario(found, tmp_path).resolved
    star = made["topology"]
    rows = found.files.get("links.csv", "").partition("from,to,rate,delay")[2].split()
    each = Counter(tuple(row.split(",")[2:]) for row in rows)
    assert (each or {(star["rate"], star["delay"]): star["hosts"]}) == links
    of, pfc = made["switch"], made["switch"].get("pfc") or {}
    pools = [of["pool"], of["egress_pool"], pfc.get("headroom_pool")]
    assert (of["asic"], *(size and quantity.size(size) for size in pools)) == switch
    assert pfc.get("priorities", []) == ([3, 4] if switch[-1] else [])
    for queue, (quantum, alpha, ramp, drops) in zip(said_of(made), queues, strict=True):
        params = queue.params
        ends = [quantity.size(params[end]) for end in ("kmin", "kmax") if end in params]
        has = (*ends, params["pmax"]) if queue.scheme == "red" else None
        assert (queue.quantum, queue.drops) == (quantum, drops), queue
        assert queue.lossless or queue.alpha == pytest.approx(alpha), queue
        assert has == (RAMPS[ramp] if ramp else None), queue
    kinds = {each.key: each.kind for each in found.findings.all}
    assert [kinds.get(key) for key in left_out] == ["left out"] * len(left_out)
