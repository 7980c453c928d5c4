"""`switchbed calibrate`: known traffic, contradictions by hand, and files that are not right."""

import json
from pathlib import Path

import pytest
from conftest import Program

from switchbed import Scenario
from switchbed.calibration import fit
from switchbed.calibration.counters import read
from switchbed.calibration.fit import Point

TOR = Path(__file__).parent / "sonic" / "tor.json"
STAR = """
[topology]
kind = "star"
hosts = 12
rate = "100Gbps"
delay = "500ns"
[switch]
queues = 2
pool = "4MB"
policy = "asic"
alpha = 1.0
[scheme]
name = "per-queue"
params = { threshold = "100KB" }
[transport]
kind = "dctcp"
[[traffic]]
kind = "long-lived"
from = 0
to = 1
[run]
until = "1ms"
"""
QUEUES = """\
admin@tor:~$ show queue watermark unicast
Egress shared pool occupancy per unicast queue:
     Port    UC0    UC1    UC2      UC3    UC4    UC5    UC6    UC7
---------  -----  -----  -----  -------  -----  -----  -----  -----
Ethernet0      0      0      0   812032      0      0      0      0
Ethernet4      0      0      0  1640016      0      0      0    N/A
"""
HEADROOM = """
Ingress headroom per PG:
     Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7
---------  -----  -----  -----  -----  -----  -----  -----  -----
Ethernet4      0      0      0  31200      0      0      0      0
"""
PFC = """
  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet4       0       0       0   1,204       0       0       0       0

  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet4       0      17       0       0       0       0       0       0
"""
WRED = """
     Port    TxQ    WredDrp/pkts    WredDrp/bytes    EcnMarked/pkts    EcnMarked/bytes
---------  -----  --------------  ---------------  ----------------  -----------------
Ethernet0    UC2             N/A              N/A           120,000        180,000,000
Ethernet0    UC3             N/A              N/A             5,000          7,500,000
Ethernet0    MC3             N/A              N/A             5,000          7,500,000
"""
FEW = ("--loads", "0.5", "--degrees", "2", "--seeds", "1", "--time", "100us")


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(Point(0.3, 0), marks=pytest.mark.long),
        Point(0.3, 8),
        pytest.param(Point(0.8, 4), marks=pytest.mark.long),
    ],
)
def test_a_traffic_that_is_known_is_found(switchbed: Program, tmp_path: Path, point: Point) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR)
    base = Scenario.from_file(file)
    run = base.with_(
        {
            "traffic": fit.traffic(point, [1], 5_000_000),
            "run.seed": 77,
            "measure.queues": "all",
            "run.until": "5ms",
        }
    ).run()
    table = run.table("queues").filter(run.table("queues")["queue"] == "1")
    rows = zip(table["port"], table["max_bytes"], strict=True)
    seen = {port: {"1": int(most)} for port, most in rows if port.startswith("switch:")}
    (tmp_path / "seen.json").write_text(json.dumps({"queue": seen}))
    out = switchbed(
        *("calibrate", file, "--watermarks", tmp_path / "seen.json"),
        *("--loads", "0.1,0.3,0.8", "--degrees", "0,4,8", "--json"),
    ).stdout
    found = json.loads(out)
    assert [point.load, point.degree] in found["as_good"]
    nearest = found["points"][0]
    assert nearest["load"] == point.load or nearest["degree"] == point.degree
    assert not any("lets none hold" in line for line in found["contradictions"])


def test_the_tables_that_show_prints_are_read(tmp_path: Path) -> None:
    file = tmp_path / "seen.txt"
    file.write_text(QUEUES + HEADROOM + PFC + WRED)
    found = read(file, ["Ethernet0", "Ethernet4"]).by_kind
    assert found["queue"]["Ethernet4", 3] == 1_640_016
    assert ("Ethernet4", 7) not in found["queue"]
    assert found["headroom"]["Ethernet4", 3] == 31_200
    assert found["shared"] == {}
    assert (found["pfc_rx"]["Ethernet4", 3], found["pfc_tx"]["Ethernet4", 1]) == (1204, 17)
    assert found["marked"] == {("Ethernet0", 2): 120_000, ("Ethernet0", 3): 5_000}
    assert found["wred_drops"] == {}
    same = {"queue": {"Ethernet0": {"3": 812_032}, "Ethernet4": {"UC3": 1_640_016}}}
    file.write_text(json.dumps(same))
    again = read(file, None).by_kind["queue"]
    assert again == {key: value for key, value in found["queue"].items() if value}


HISTORY = """
     Port    Priority    RX Pause Transitions    Total RX Pause Time MS
---------  ----------  ----------------------  ------------------------
Ethernet0        PFC0                      12                       120
Ethernet4        PFC0                      14                       140
"""
CUT_SHORT = """
Ingress headroom per PG:
Interface     PG0   PG1   PG2   PG3
Ethernet0       0     0     0    23
…
Ethernet4       0     0     0     0

Ethernet0 Last cached time was 2026-11-28 10:00:00.123
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC3            8193           852072       91,786       9545744
Ethernet0   MC10              17             1241            1             0
"""


def test_tables_of_other_commands_and_cut_ones_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "seen.txt"
    file.write_text(QUEUES + HISTORY + CUT_SHORT + HISTORY)
    found = read(file, ["Ethernet0", "Ethernet4"]).by_kind
    assert found["headroom"]["Ethernet0", 3] == 23
    assert ("Ethernet4", 3) in found["headroom"]
    assert found["drops"] == {("Ethernet0", 3): 91_786}
    assert found["pfc_rx"] == {}


@pytest.mark.parametrize("command", ["", "admin@sonic:~$ show priority-group drop counters\n"])
def test_packets_that_groups_dropped_are_no_bytes(command: str, tmp_path: Path) -> None:
    file = tmp_path / "seen.txt"
    drops = """Ingress PG dropped packets:
     Port    PG0    PG3
---------  -----  -----
Ethernet0      0     17
"""
    shared = drops.replace("PG dropped packets", "shared pool occupancy per PG").replace("17", "99")
    file.write_text(f"{command}{drops}\n{shared}")
    found = read(file, ["Ethernet0"]).by_kind
    assert found["shared"] == {("Ethernet0", 0): 0, ("Ethernet0", 3): 99}
    assert not any(values for kind, values in found.items() if kind != "shared")


def test_queue_counters_are_read_as_show_prints_them_with_json(tmp_path: Path) -> None:
    file = tmp_path / "seen.json"
    queues = {
        "time": "2026-11-28T10:00:00",
        "UC0": {"droppacket": "1,234", "dropbytes": "0", "totalpacket": "9"},
        "UC3": {"wreddroppacket": "N/A", "ecnmarkedpacket": "19", "ecnmarkedbytes": "76"},
        "MC10": {"droppacket": "5"},
    }
    file.write_text(json.dumps({"Ethernet0": queues}))
    found = read(file, ["Ethernet0"]).by_kind
    assert found["drops"] == {("Ethernet0", 0): 1234}
    assert found["marked"] == {("Ethernet0", 3): 19}
    assert found["wred_drops"] == {}


def test_contradictions_by_hand(switchbed: Program, tmp_path: Path) -> None:
    # Queue 3 is lossless: three inputs of 1,361,152 bytes in cells are 3.7 MB in packets.
    file = tmp_path / "seen.txt"
    file.write_text(QUEUES.replace("1640016", "9640016") + HEADROOM + PFC + WRED)
    said = switchbed("calibrate", TOR, "--watermarks", file, *FEW).stdout
    assert "queue 3 of Ethernet4 held 9.64 MB: the simulated switch lets none hold over 3.7" in said
    assert "sent 17 pause frames of class 1: the configuration has no flow control there" in said
    assert "group 3 of Ethernet4 held 31.2 KB in its headroom, and sent no pause frame" in said
    assert "queue 2 of Ethernet0 marked 120,000 packets: the configuration marks nothing" in said
    assert "queue 3 of Ethernet0 marked" not in said, "812,032 bytes are over kmin, 250,000"
    file.write_text(QUEUES.replace("812032", "112032") + WRED)
    said = switchbed("calibrate", TOR, "--watermarks", file, *FEW).stdout
    assert "queue 3 of Ethernet0 marked 5,000 packets, and never held over 112" in said
    assert "lets none hold" not in said


def test_ports_of_several_speeds_are_all_there(switchbed: Program, tmp_path: Path) -> None:
    # Ports of several speeds become a file of links, without a number of hosts.
    config = json.loads(TOR.read_text())
    config["PORT"]["Ethernet12"]["speed"] = "40000"
    device, file = tmp_path / "device.json", tmp_path / "seen.json"
    device.write_text(json.dumps(config))
    # Numbers as `show … --json` prints them.
    file.write_text('{"queue": {"Ethernet4": {"UC3": "9,640,016"}, "Ethernet0": {"UC3": "N/A"}}}')
    few = ("--loads", "0.5", "--degrees", "3", "--seeds", "1", "--time", "100us")
    said = switchbed("calibrate", device, "--watermarks", file, *few).stdout
    assert "nearest: load 0.5, incast degree 3" in said
    assert "queue 3 of Ethernet4 held 9.64 MB: the simulated switch lets none hold over 3.7" in said
    done = switchbed("calibrate", device, "--watermarks", file, "--degrees", "4", code=2)
    assert "--degrees 4: the switch has 4 ports: at most 3" in done.stderr


BAD = {
    "": "has no counters",
    "hello\nworld\n": "has no counters",
    "\x00\x01": "has no counters",
    QUEUES.replace("1640016", "-4"): "seen.txt:6: '-4' is no counter",
    QUEUES.replace("1640016", "1.5"): "'1.5' is no counter",
    QUEUES.replace("1640016", "9" * 40): "is no counter",
    QUEUES.replace("1640016  ", ""): "seen.txt:6: Ethernet4 has 7 values: its table has 8 columns",
    QUEUES.replace("Ethernet4", "Ethernet5"): "Ethernet5 is no port of the configuration",
    QUEUES + QUEUES: "Ethernet0 has 0 twice",
    QUEUES.replace("812032", "0").replace("1640016", "0"): "every watermark is 0",
    QUEUES.replace("      0      0      0      0\n", "      0      0      9      0\n"): "",
    "Ethernet0 1 2 3\n": "a row of Ethernet0 without the heading",
    "Port\nEthernet0\n": "a heading without columns",
    WRED.replace("UC2", "XX2"): "'XX2' is no queue",
    QUEUES.replace("UC3", "NaN"): "every watermark is 0",
    QUEUES.replace("UC3", "UC" + "9" * 5000): "is of no queue or class",
    QUEUES.replace("UC3", "UC\u0663"): "every watermark is 0",
    "Port UC\nEthernet0 3\n": "column 'UC' is of no queue or class",
    "Port inf PG-1 PG1\nEthernet0 3 3 3\n": "",
    "Port EcnMarked/pkts\nEthernet0 3\n": "'EcnMarked/pkts' is of no queue or class",
    "[]": "is no object of counters",
    "{": "is no JSON",
    '{"queues": {}}': "'queues' is no kind of counter",
    '{"queue": 3}': "queue is no object of ports",
    '{"queue": {"Ethernet0": 3}}': "is no object of queues",
    '{"queue": {"Ethernet0": {"x": 3}}}': "'x' is no queue",
    '{"queue": {"Ethernet0": {"3": "3 B"}}}': "'3 B' is no counter",
    '{"queue": {"Ethernet0": {"3": -3}}}': "-3 is no counter",
    '{"queue": {"Ethernet0": {"3": true}}}': "True is no counter",
    '{"queue": {"Ethernet0": {"3": 1, "UC3": 1}}}': "Ethernet0 has 3 twice",
    '{"queue": {"Ethernet0": {"9": 5}}}': "queue 9 held packets",
    '{"queue": {"eth0": {"3": 5}}}': "eth0 is no port of the configuration",
}


@pytest.mark.parametrize(("text", "why"), BAD.items())
def test_a_file_that_is_not_right_is_refused_in_a_line(
    switchbed: Program, tmp_path: Path, text: str, why: str
) -> None:
    file = tmp_path / "seen.txt"
    file.write_text(text)
    done = switchbed("calibrate", TOR, "--watermarks", file, *FEW, code=2 if why else 0)
    if why:
        assert done.stderr.count("\n") == 1
        assert why in done.stderr
        assert not done.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--loads", "x"), "--loads x"),
        (("--loads", "1.5"), "from 0 to 0.99"),
        (("--loads", "nan"), "--loads nan"),
        (("--degrees", "2.5"), "whole numbers"),
        (("--degrees", "4"), "the switch has 4 ports: at most 3"),
        (("--loads", "0", "--degrees", "0"), "no traffic is left"),
        (("--time", "1h"), "--time 1h"),
        (("--time", "1ns"), "from 10us to 1s"),
    ],
)
def test_a_grid_that_is_not_right_is_refused_in_a_line(
    switchbed: Program, tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    file = tmp_path / "seen.txt"
    file.write_text(QUEUES)
    done = switchbed("calibrate", TOR, "--watermarks", file, *FEW, *arguments, code=2)
    assert done.stderr.count("\n") == 1
    assert why in done.stderr


def test_a_scenario_that_comes_with_switchbed_may_be_the_configuration(
    switchbed: Program, tmp_path: Path
) -> None:
    file = tmp_path / "seen.txt"
    file.write_text(QUEUES)
    said = switchbed("calibrate", "@star-dctcp", "--watermarks", file, *FEW, code=2).stderr
    assert "queue 3 held packets: @star-dctcp has 1 queues" in said
    said = switchbed("calibrate", "@star-dctpc", "--watermarks", file, *FEW, code=2).stderr
    assert "did you mean @star-dctcp" in said


def test_the_configuration_may_be_wrong_too(switchbed: Program, tmp_path: Path) -> None:
    file = tmp_path / "seen.txt"
    file.write_text(QUEUES)
    for name, text in {"a.json": "[]", "b.json": "{}", "c.toml": "x", "d.toml": ""}.items():
        (tmp_path / name).write_text(text)
        done = switchbed("calibrate", tmp_path / name, "--watermarks", file, *FEW, code=2)
        assert done.stderr.count("\n") == 1
    done = switchbed("calibrate", TOR, "--watermarks", tmp_path / "none", *FEW, code=2)
    assert "none" in done.stderr
    twice = ("--watermarks", file, "--watermarks", file)
    done = switchbed("calibrate", TOR, *twice, *FEW, code=2)
    assert "an earlier file has queue already" in done.stderr
