"""Cases after public bug reports and questions: each file with its exit code, and what is printed
or measured."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Program

import switchbed as sb
from switchbed.sonic.normalised import meant, normalised
from switchbed.sweeps.stopping import figure

Summary = dict[str, Any]

CASES = {
    "asic-percentiles.toml": """\
title = "asic percentiles"
[topology]
kind = "star"
hosts = 9
rate = "100Gbps"
delay = "5us"
[switch]
queues = 2
asic = "tomahawk-5"
[scheme]
name = "per-queue"
params = { threshold = "200KB" }
[host]
profile = "ideal"
[transport]
kind = "dctcp"
[[traffic]]
kind = "long-lived"
from = "0-7"
to = 8
[measure]
queues = ["switch:8"]
series_every = "1us"
warmup = "5ms"
[run]
until = "15ms"
""",
    "c08-capture-class.toml": """\
# openconfig/featureprofiles#2076: a class over 63 in a packet trace, whose DSCP has six bits.
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "1us"
[switch]
queues = 1
classify = "single"
buffer = "400KB"
[scheme]
name = "per-queue"
params = { threshold = "1pkt" }
[transport]
kind = "dctcp"
[[traffic]]
kind = "incast"
from = "0-1"
to = 2
sizes = "20KB"
classes = [200]
[measure]
capture = ["switch:2"]
""",
    "c12-red-step.toml": """\
# After iproute2#19: RED with min=30000, max=30001, probability 1: a step at 30 KB.
[topology]
kind = "star"
hosts = 3
rate = "1Gbps"
delay = "50us"
[switch]
buffer = "100KB"
discipline = "fifo"
[scheme]
name = "red"
[scheme.params]
kmin = "30000B"
kmax = "30001B"
pmax = 1.0
weight = 0.25
[transport]
kind = "dctcp"
[[traffic]]
kind = "long-lived"
from = "0-1"
to = 2
[run]
until = "200ms"
[measure]
warmup = "50ms"
""",
    "c33b-many-to-one.toml": """\
# TrafficGenerator#30: four senders at load 0.9 to one receiver: 3.6 times what its link carries.
[topology]
kind = "star"
hosts = 5
rate = "1Gbps"
delay = "25us"
[switch]
buffer = "100KB"
[scheme]
name = "none"
[transport]
kind = "dctcp"
[[traffic]]
kind = "poisson"
from = "0-3"
to = 4
load = 0.9
flows = 2000
sizes = "20KB"
""",
    "c36-poisson-incast.toml": """\
# alibaba-edu/High-Precision-Congestion-Control#36: incasts of 60 senders, each 500 KB, at random
# times to a random receiver, for 2 % of the load.
[topology]
kind = "leaf-spine"
leaves = 8
spines = 4
hosts_per_leaf = 16
host_rate = "100Gbps"
host_delay = "1us"
[switch]
buffer = "16MB"
[scheme]
name = "per-queue"
params = { threshold = "400KB" }
[transport]
kind = "dctcp"
[[traffic]]
kind = "incast"
from = "all"
to = "all"
sizes = "500KB"
rounds = 20
every = "1ms"
""",
    "c53-ecn-fallback.toml": """\
# RFC 3168, section 6.1.1.1, and Linux's tcp_ecn_fallback: a SYN that is sent again asks for no
# ECN; what the connection sends then is not ECN-capable.
[topology]
kind = "star"
hosts = 2
rate = "10Gbps"
delay = "5us"
[switch]
buffer = "400KB"
[scheme]
name = "per-queue"
params = { threshold = "2pkt" }
[transport]
kind = "cubic"
[[traffic]]
kind = "list"
file = "hundred-pkts.csv"
[[event]]
at = "0us"
port = "host0"
lose = [1]
[measure]
capture = ["host0"]
""",
    "flows.csv": "start_s,src,dst,packets\n0,0,1,100\n",
    "hundred-pkts.csv": "start_s,src,dst,size_bytes\n0,0,1,144800\n",
    "d01-port-with-alias.json": """\
{
 "PORT": {
  "Ethernet0": {
   "lanes": "1", "speed": "100000", "alias": "etp1", "index": "1", "admin_status": "up",
   "mtu": "9100", "fec": "rs"
  },
  "Ethernet4": {
   "lanes": "2", "speed": "100000", "alias": "etp1", "index": "1", "admin_status": "up",
   "mtu": "9100", "fec": "rs"
  }
 },
 "SCHEDULER": {
  "scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"}
 },
 "WRED_PROFILE": {
  "AZURE_LOSSLESS": {
   "wred_green_enable": "true", "ecn": "ecn_all", "green_drop_probability": "5",
   "green_min_threshold": "1048576", "green_max_threshold": "2097152"
  }
 },
 "BUFFER_POOL": {
  "ingress_lossless_pool": {
   "type": "ingress", "mode": "dynamic", "size": "32689152", "xoff": "2058240"
  },
  "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "32340992"}
 },
 "BUFFER_PROFILE": {
  "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
  "pg_lossless_100000_40m_profile": {
   "pool": "ingress_lossless_pool", "size": "4608", "xon": "4608", "xoff": "160000",
   "dynamic_th": "0", "xon_offset": "4608"
  },
  "egress_lossless_profile": {
   "pool": "egress_lossless_pool", "size": "0", "static_th": "32340992"
  },
  "egress_lossy_profile": {"pool": "egress_lossless_pool", "size": "1792", "dynamic_th": "3"}
 },
 "QUEUE": {
  "Ethernet0|0": {"scheduler": "scheduler.0"}, "Ethernet0|1": {"scheduler": "scheduler.0"},
  "Ethernet0|2": {"scheduler": "scheduler.0"},
  "Ethernet0|3": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
  "Ethernet0|4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
  "Ethernet0|5": {"scheduler": "scheduler.0"}, "Ethernet0|6": {"scheduler": "scheduler.0"},
  "Ethernet4|0": {"scheduler": "scheduler.0"}, "Ethernet4|1": {"scheduler": "scheduler.0"},
  "Ethernet4|2": {"scheduler": "scheduler.0"},
  "Ethernet4|3": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
  "Ethernet4|4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
  "Ethernet4|5": {"scheduler": "scheduler.0"}, "Ethernet4|6": {"scheduler": "scheduler.0"}
 },
 "BUFFER_QUEUE": {
  "Ethernet0|0-2": {"profile": "egress_lossy_profile"},
  "Ethernet0|3-4": {"profile": "egress_lossless_profile"},
  "Ethernet0|5-6": {"profile": "egress_lossy_profile"},
  "Ethernet4|0-2": {"profile": "egress_lossy_profile"},
  "Ethernet4|3-4": {"profile": "egress_lossless_profile"},
  "Ethernet4|5-6": {"profile": "egress_lossy_profile"}
 },
 "BUFFER_PG": {
  "Ethernet0|0": {"profile": "ingress_lossy_profile"},
  "Ethernet0|3-4": {"profile": "pg_lossless_100000_40m_profile"},
  "Ethernet4|0": {"profile": "ingress_lossy_profile"},
  "Ethernet4|3-4": {"profile": "pg_lossless_100000_40m_profile"}
 },
 "PORT_QOS_MAP": {
  "Ethernet0": {"pfc_enable": "3,4"}, "Ethernet4": {"pfc_enable": "3,4"}
 },
 "CABLE_LENGTH": {
  "AZURE": {"Ethernet0": "40m", "Ethernet4": "40m"}
 }
}
""",
    "d02-five-wred-profiles.json": """\
{
 "DEVICE_METADATA": {
  "localhost": {"platform": "x86_64-nvidia_sn5600-r0", "hwsku": "Example", "type": "LeafRouter"}
 },
 "PORT": {
  "Ethernet0": {"lanes": "1", "speed": "100000"}, "Ethernet4": {"lanes": "2", "speed": "100000"},
  "Ethernet512": {"lanes": "3", "speed": "10000"}
 },
 "SCHEDULER": {
  "s": {"type": "DWRR", "weight": "20"}
 },
 "WRED_PROFILE": {
  "LOSSY_Q1": {
   "wred_green_enable": "false", "ecn": "ecn_all", "green_drop_probability": "5",
   "green_min_threshold": "166912", "green_max_threshold": "239616"
  },
  "LOSSY_Q2": {
   "wred_green_enable": "false", "ecn": "ecn_all", "green_drop_probability": "5",
   "green_min_threshold": "166912", "green_max_threshold": "239616"
  },
  "LOSSY_Q3": {
   "wred_green_enable": "false", "ecn": "ecn_all", "green_drop_probability": "5",
   "green_min_threshold": "166912", "green_max_threshold": "239616"
  },
  "LOSSY_Q4": {
   "wred_green_enable": "false", "ecn": "ecn_all", "green_drop_probability": "5",
   "green_min_threshold": "158220288", "green_max_threshold": "158220288"
  },
  "LOSSY_Q5": {
   "wred_green_enable": "false", "ecn": "ecn_all", "green_drop_probability": "5",
   "green_min_threshold": "158220288", "green_max_threshold": "158220288"
  }
 },
 "BUFFER_POOL": {
  "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "142703616"}
 },
 "BUFFER_PROFILE": {
  "q_lossy": {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "0"}
 },
 "QUEUE": {
  "Ethernet0|0": {"scheduler": "s"}, "Ethernet0|1": {"scheduler": "s", "wred_profile": "LOSSY_Q1"},
  "Ethernet0|2": {"scheduler": "s", "wred_profile": "LOSSY_Q2"},
  "Ethernet0|3": {"scheduler": "s", "wred_profile": "LOSSY_Q3"},
  "Ethernet0|4": {"scheduler": "s", "wred_profile": "LOSSY_Q4"},
  "Ethernet0|5": {"scheduler": "s", "wred_profile": "LOSSY_Q5"}, "Ethernet0|6": {"scheduler": "s"},
  "Ethernet4|0": {"scheduler": "s"}, "Ethernet4|1": {"scheduler": "s", "wred_profile": "LOSSY_Q1"},
  "Ethernet4|2": {"scheduler": "s", "wred_profile": "LOSSY_Q2"},
  "Ethernet4|3": {"scheduler": "s", "wred_profile": "LOSSY_Q3"},
  "Ethernet4|4": {"scheduler": "s", "wred_profile": "LOSSY_Q4"},
  "Ethernet4|5": {"scheduler": "s", "wred_profile": "LOSSY_Q5"}, "Ethernet4|6": {"scheduler": "s"},
  "Ethernet512|0": {"scheduler": "s"},
  "Ethernet512|1": {"scheduler": "s", "wred_profile": "LOSSY_Q1"},
  "Ethernet512|2": {"scheduler": "s", "wred_profile": "LOSSY_Q2"},
  "Ethernet512|3": {"scheduler": "s", "wred_profile": "LOSSY_Q3"},
  "Ethernet512|4": {"scheduler": "s", "wred_profile": "LOSSY_Q4"},
  "Ethernet512|5": {"scheduler": "s", "wred_profile": "LOSSY_Q5"},
  "Ethernet512|6": {"scheduler": "s"}
 },
 "BUFFER_QUEUE": {
  "Ethernet0|0-6": {"profile": "q_lossy"}, "Ethernet4|0-6": {"profile": "q_lossy"},
  "Ethernet512|0-6": {"profile": "q_lossy"}
 }
}
""",
    "i04-tc-red-probability.json": """\
[
  {"kind": "red", "handle": "10:", "root": true, "refcnt": 3, "options": {
    "limit": 100000, "min": 30000, "max": 30001, "ecn": true, "harddrop": false,
    "adaptive": false, "nodrop": false, "ewma": 2, "probability": 0.5, "Scell_log": 6}}
]
""",
    "i08-mixed-ect.toml": """\
# NTAP/rfc8312bis#95: ECT and not-ECT flows share one AQM queue; ECT ones at their least window
# keep it above the threshold and the others starve.
title = "ECT and not ECT in one queue"
[topology]
kind = "star"
hosts = 41
rate = "1Gbps"
delay = "20us"
[switch]
queues = 1
buffer = "1MB"
[scheme]
name = "per-queue"
params = { threshold = "30KB" }
[transport]
kind = "cubic"
[[traffic]]
kind = "long-lived"
from = "0-35"
to = 40
[[traffic]]
kind = "long-lived"
from = "36-39"
to = 40
transport = { kind = "cubic", ecn = false }
[run]
until = "2s"
""",
    "i09b-weight0.json": """\
{
 "PORT": {
  "Ethernet0": {"lanes": "1", "speed": "100000"}, "Ethernet4": {"lanes": "2", "speed": "100000"}
 },
 "SCHEDULER": {
  "scheduler.0": {"type": "DWRR", "weight": "0"}, "scheduler.1": {"type": "DWRR", "weight": "15"}
 },
 "WRED_PROFILE": {
  "AZURE_LOSSLESS": {
   "wred_green_enable": "true", "ecn": "ecn_all", "green_drop_probability": "5",
   "green_min_threshold": "250000", "green_max_threshold": "1048576"
  }
 },
 "BUFFER_POOL": {
  "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "9243812"}
 },
 "BUFFER_PROFILE": {
  "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "3"}
 },
 "QUEUE": {
  "Ethernet0,Ethernet4|0-1": {"scheduler": "scheduler.0"},
  "Ethernet0,Ethernet4|3-4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
 },
 "BUFFER_QUEUE": {
  "Ethernet0,Ethernet4|0-4": {"profile": "egress_lossy_profile"}
 }
}
""",
    "i13-tc-ets-priomap.json": """\
[
  {"kind": "ets", "handle": "1:", "root": true, "refcnt": 2, "options": {
    "bands": 8, "strict": 8, "quanta": [], "priomap": [7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7]}},
  {"kind": "bfifo", "handle": "11:", "parent": "1:1", "options": {"limit": 200000}},
  {"kind": "bfifo", "handle": "12:", "parent": "1:2", "options": {"limit": 200000}},
  {"kind": "bfifo", "handle": "13:", "parent": "1:3", "options": {"limit": 200000}},
  {"kind": "bfifo", "handle": "14:", "parent": "1:4", "options": {"limit": 200000}},
  {"kind": "bfifo", "handle": "15:", "parent": "1:5", "options": {"limit": 200000}},
  {"kind": "bfifo", "handle": "16:", "parent": "1:6", "options": {"limit": 200000}},
  {"kind": "bfifo", "handle": "17:", "parent": "1:7", "options": {"limit": 200000}},
  {"kind": "bfifo", "handle": "18:", "parent": "1:8", "options": {"limit": 200000}}
]
""",
    "linux-cubic-one50.toml": """\
title = "losses by plan"
[topology]
kind = "dumbbell"
left = 1
right = 1
rate = "100Gbps"
delay = "0us"
bottleneck_rate = "20Mbps"
bottleneck_delay = "10ms"
[switch]
queues = 1
buffer = "1000pkt"
[scheme]
name = "none"
[host]
profile = "linux-6.x"
mtu = "1514B"
nic = "unlimited"
lso = false
merge_packets = 1
[transport]
mss = "1448B"
header = "66B"
kind = "cubic"
ecn = false

[[traffic]]
kind = "list"
file = "flows.csv"
connections = "fresh"
[[event]]
at = "0s"
port = "host0"
lose = [52]

[measure]
fct_end = "acked"
queues = "off"
capture = ["host0"]
[run]
until = "100s"
""",
    "ns3-last2.toml": """\
title = "losses by plan"
[topology]
kind = "dumbbell"
left = 1
right = 1
rate = "100Gbps"
delay = "0us"
bottleneck_rate = "100Mbps"
bottleneck_delay = "10ms"
[switch]
queues = 1
buffer = "10000pkt"
[scheme]
name = "none"
[host]
profile = "ns-3"
mtu = "1502B"
nic = "unlimited"

[transport]
mss = "1460B"
header = "42B"
kind = "reno"
sack_blocks = 3
ack_every = 2
rto_min = "200ms"
receive_window = 2739
slow_start = "acks"
avoidance = "acks"

[[traffic]]
kind = "list"
file = "flows.csv"
connections = "fresh"
[[event]]
at = "0s"
port = "left:0"
lose = [100, 101]

[measure]
fct_end = "received"
queues = "off"
capture = ["left:0"]
[run]
until = "100s"
""",
    "queue-percentiles.toml": """\
title = "a short queue in a large pool"
[topology]
kind = "star"
hosts = 3
rate = "101.0120482Gbps"
delay = "1us"
[switch]
queues = 4
pool = "33583104B"
[switch.pfc]
priorities = [3]
alpha = 0.125
response = "0us"
headroom = "37500B"
[scheme]
name = "red"
params.kmin = "12KB"
params.kmax = "500KB"
params.pmax = 0.01
params.weight = 1
params.spacing = "geometric"
params.mark_at = "dequeue"
[host]
profile = "ideal"
nic = "classes"
mtu = "1500B"
[transport]
kind = "dcqcn"
[roce]
mtu = "1000B"
header = "48B"
variant = "connectx"
g = 0.00390625
alpha_start = 1
clamp_target = false
cnp_interval = "1ns"
alpha_timer = "50us"
cut_interval = "50us"
increase_timer = "55us"
recovery_steps = 5
additive_increase = "100Mbps"
hyper_increase = "100Mbps"
min_rate = "1Gbps"
[[traffic]]
kind = "long-lived"
from = "1-2"
to = 0
classes = [3]
[measure]
queues = ["switch:0"]
series_every = "1us"
warmup = "30ms"
[run]
until = "60ms"
seed = 3
""",
    "sonic-ect.json": """\
{
 "PORT": {
  "Ethernet0": {"lanes": "1", "speed": "10000"}, "Ethernet4": {"lanes": "2", "speed": "10000"}
 },
 "SCHEDULER": {
  "scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"}
 },
 "WRED_PROFILE": {
  "AZURE": {
   "wred_green_enable": "true", "ecn": "ecn_all", "green_drop_probability": "5",
   "green_min_threshold": "1669120", "green_max_threshold": "2826240",
   "green_ect_min_threshold": "100000", "green_ect_max_threshold": "200000"
  }
 },
 "BUFFER_POOL": {
  "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "12000000"}
 },
 "BUFFER_PROFILE": {
  "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "1"}
 },
 "QUEUE": {
  "Ethernet0,Ethernet4|0": {"scheduler": "scheduler.0", "wred_profile": "AZURE"},
  "Ethernet0,Ethernet4|1": {"scheduler": "scheduler.1", "wred_profile": "AZURE"}
 },
 "BUFFER_QUEUE": {
  "Ethernet0,Ethernet4|0-1": {"profile": "egress_lossy_profile"}
 }
}
""",
    "timely-delta.toml": """\
title = "two TIMELY senders of 4 MB to one at 100 Gbps"
[topology]
kind = "star"
hosts = 3
rate = "100.5714286Gbps"
delay = "1us"
[switch]
queues = 4
pool = "32MB"
[switch.pfc]
priorities = [3]
response = "0us"
[scheme]
name = "none"
[host]
profile = "ideal"
nic = "classes"
[transport]
kind = "timely"
[roce]
mtu = "1000B"
header = "56B"
min_rate = "1Gbps"
[[traffic]]
kind = "incast"
from = "1-2"
to = 0
sizes = "4MB"
classes = [3]
""",
}
"""Scenarios, lists and queueing disciplines by their files' names."""
CASES |= {
    # A ramp in place of the step.
    "c12b-red-ramp.toml": CASES["c12-red-step.toml"]
    .replace('"30001B"', '"62768B"')
    .replace("weight = 0.25", "weight = 0.0625"),
    # The segment that is sent again is lost, too.
    "linux-reno-rtx_lost50.toml": CASES["linux-cubic-one50.toml"]
    .replace('"cubic"', '"reno"')
    .replace("[52]", "[52, 102]"),
}


def sonic(schedulers: dict[str, dict[str, str]], **profile: str) -> str:
    """The configuration of sonic-ect.json with other schedulers and another WRED profile."""
    config = json.loads(CASES["sonic-ect.json"])
    config["SCHEDULER"] |= schedulers
    config["WRED_PROFILE"]["AZURE"] = {
        "wred_green_enable": "true",
        "ecn": "ecn_all",
        "green_drop_probability": "5",
        "green_min_threshold": "166912",
        "green_max_threshold": "282624",
        "yellow_min_threshold": "166912",
        "yellow_max_threshold": "282624",
        "wred_yellow_enable": "true",
        "yellow_drop_probability": "5",
        **profile,
    }
    return json.dumps(config, indent=1)


METERED = {"type": "WRR", "weight": "15", "meter_type": "packets", "pir": "125000000"}
OF_A_QUEUE = {
    "limit": 10240,
    "flows": 1024,
    "quantum": 1514,
    "target": 4999,
    "interval": 99999,
    "memory_limit": 33554432,
    "ecn": True,
    "drop_batch": 64,
}
CASES |= {
    "sonic-unknown.json": sonic(
        {"scheduler.0": {"type": "STRICT"}, "scheduler.1": METERED}, foo="bar"
    ),
    "sonic-w0.json": sonic({"scheduler.0": {"type": "DWRR", "weight": "0"}}),
    # A card with four hardware queues.
    "tc-mq-fqcodel.json": json.dumps(
        [{"kind": "mq", "handle": "0:", "root": True, "options": {}}]
        + [
            {"kind": "fq_codel", "handle": "0:", "parent": f":{n}", "options": OF_A_QUEUE}
            for n in range(1, 5)
        ]
    ),
}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """The program's folder with all cases in it."""
    for name, text in CASES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


REFUSED = {
    "c08-capture-class.toml": "16: traffic has class 200, and captured packets (measure.capture) "
    "have their class as DSCP, which has six bits: classes 0 to 63",
    "c33b-many-to-one.toml": "17: traffic.load is 0.9: it offers switch:4's link 3.6000 times what "
    "it carries, which never drains; offer less, or write overload = true to mean it",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_the_check(name: str, switchbed: Program, cases: Path) -> None:
    said = switchbed("scenario", "check", name, code=2)
    assert said.stderr.splitlines() == [f"switchbed: {name}:{REFUSED[name]}"]
    assert switchbed("run", name, "--out", "o", code=2).stderr == said.stderr
    assert not (cases / "o").exists()


def test_an_overload_that_is_meant_runs(switchbed: Program, cases: Path) -> None:
    sets = ("--set", "traffic.0.overload=true", "--set", "flows=50")
    switchbed("run", "c33b-many-to-one.toml", *sets)


def steps(summary: Summary) -> None:
    # Endless flows have their cuts in the window of the marks: some 18 a millisecond and flow.
    assert summary["marks"] > 1_000
    assert 50 < summary["ecn_cuts"] < summary["marks"]


def ramp(summary: Summary) -> None:
    steps(summary)


def incasts(summary: Summary) -> None:
    assert summary["flows"] == {"count": 20 * 127, "finished": 20 * 127, "failed": 0}
    assert [source["query"]["n"] for source in summary["by_traffic"]] == [20]


def without_ecn(summary: Summary) -> None:
    assert (summary["marks"], summary["ecn_cuts"]) == (0, 0)
    assert summary["waits"]["syn"] == 1


def near(ms: float, within: float = 0.05) -> Callable[[Summary], None]:
    """The flow takes so long."""

    def check(summary: Summary) -> None:
        assert summary["fct"]["all"]["mean_us"] / 1000 == pytest.approx(ms, rel=within)

    return check


RUN: dict[str, Callable[[Summary], None]] = {
    "c12-red-step.toml": steps,
    "c12b-red-ramp.toml": ramp,
    "c53-ecn-fallback.toml": without_ecn,
    # The kernel's 101.9 ms from the first data on, after a handshake of 20.1 ms.
    "linux-cubic-one50.toml": near(122.0),
    # The kernel's timeout is 355.7 ms after the start; the answer to it comes 20 ms later.
    "linux-reno-rtx_lost50.toml": near(375.7),
    # ns-3 3.44.
    "ns3-last2.toml": near(333.27),
    # With delta = 100 Mbps, which is 10 Mbps for each 10 Gbps of the line.
    "timely-delta.toml": near(1.639),
}


@pytest.mark.parametrize("name", RUN)
def test_run(name: str, switchbed: Program, cases: Path) -> None:
    summary = json.loads(switchbed("run", name, "--json").stdout)
    RUN[name](summary)


@pytest.mark.parametrize("name", ["queue-percentiles.toml", "asic-percentiles.toml"])
def test_percentiles_of_queues_are_those_of_the_series(name: str, cases: Path) -> None:
    scenario = sb.Scenario.from_file(cases / name)
    run = scenario.run()
    # Samples at even times; what is before the warm-up counts for no percentile.
    warm_s = 0.001 * float(scenario.resolved["measure"]["warmup"].removesuffix("ms"))
    found = run.queues.sort("max_bytes").row(-1, named=True)
    if found["queue"] == "all":
        found = run.queues.filter(pl.col("queue") != "all").sort("max_bytes").row(-1, named=True)
    queue = pl.col("queue").cast(pl.String) == found["queue"]
    kept = (pl.col("port") == found["port"]) & queue & (pl.col("time_s") >= warm_s)
    series = run.series.filter(kept)["bytes"]
    for key, share in (("p50_bytes", 0.5), ("p95_bytes", 0.95), ("p99_bytes", 0.99)):
        assert found[key] == pytest.approx(series.quantile(share), rel=0.03), key
    assert found["mean_bytes"] == pytest.approx(series.mean(), rel=0.02)
    assert found["p50_bytes"] < 1.2 * found["mean_bytes"]
    assert found["p50_bytes"] < found["p95_bytes"] < found["p99_bytes"] < found["max_bytes"]


IMPORTED = {
    ("tc", "i04-tc-red-probability.json"): [
        "approximated: scheme.params.pmax: 0.5 is what a device makes of probability 1",
    ],
    ("tc", "i13-tc-ets-priomap.json"): [
        "exact: priomap: all traffic goes to band 8 of 8",
    ],
    ("tc", "tc-mq-fqcodel.json"): [
        "approximated: mq: 4 hardware queues, a fq-codel each: here one, the port's",
    ],
    ("sonic", "sonic-ect.json"): [
        "left out: WRED_PROFILE|AZURE|green_ect_min_threshold: '100000'",
        "left out: WRED_PROFILE|AZURE|green_ect_max_threshold: '200000'",
        "approximated: WRED_PROFILE|AZURE: a ramp from 1669120 to 2826240 bytes, 5 %",
    ],
    ("sonic", "sonic-unknown.json"): [
        "left out: WRED_PROFILE|AZURE|foo: 'bar': no key of SONiC's published model",
    ],
    ("sonic", "d01-port-with-alias.json"): [
        "exact: QUEUE: 7 queues, weights 14, 14, 14, 15, 15, 14, 14; queue 0 to 2, 5 to 6: no",
    ],
    ("sonic", "d02-five-wred-profiles.json"): [
        "left out: WRED_PROFILE|LOSSY_Q4: begins at 158220288, above the memory",
        "left out: WRED_PROFILE|LOSSY_Q5: begins at 158220288, above the memory",
    ],
}


@pytest.mark.parametrize(("form", "name"), IMPORTED)
def test_an_import_says_what_differs_and_runs(
    form: str, name: str, switchbed: Program, cases: Path
) -> None:
    done = switchbed("import", form, name, "--out", "imported.toml")
    said = (done.stdout + done.stderr).splitlines()
    for wanted in IMPORTED[form, name]:
        assert any(line.startswith(wanted) for line in said), (wanted, said)
    switchbed("scenario", "check", "imported.toml")
    if form == "sonic":
        switchbed("export", "sonic", "imported.toml", "--out", "back.json")
        configs = (json.loads((cases / file).read_text()) for file in (name, "back.json"))
        before, after = (meant(normalised(config)) for config in configs)
        for table, rows in after.items():
            for row, fields in rows.items():
                assert fields.items() <= before[table][row].items(), (table, row)


@pytest.mark.parametrize("name", ["sonic-w0.json", "i09b-weight0.json"])
@pytest.mark.parametrize("weight", ["0", "-1", "101"])
def test_a_weight_out_of_range_is_refused_with_it(
    name: str, weight: str, switchbed: Program, cases: Path
) -> None:
    text = (cases / name).read_text().replace('"weight": "0"', f'"weight": "{weight}"')
    (cases / name).write_text(text)
    said = switchbed("import", "sonic", name, "--out", "imported.toml", code=2).stderr
    assert f"SCHEDULER|scheduler.0|weight: is '{weight}': a whole number from 1 to 100" in said
    assert not (cases / "imported.toml").exists()


def test_a_probability_of_one_is_what_the_device_can_hold(switchbed: Program, cases: Path) -> None:
    done = switchbed("export", "tc", "c12b-red-ramp.toml", "--out", "made.sh")
    assert "approximated: scheme.params.pmax: 1 as 0.9999847 on the device" in done.stderr
    assert "probability 0.99999" in (cases / "made.sh").read_text()


def test_incasts_have_receivers_senders_and_times_drawn(switchbed: Program, cases: Path) -> None:
    name = "c36-poisson-incast.toml"
    incasts(json.loads(switchbed("run", name, "--json").stdout))
    # As the field has it: 60 senders, receivers at random, 2 % of the load.
    tree = tomllib.loads((cases / name).read_text())
    del tree["traffic"][0]["every"]
    tree["traffic"][0] |= {"fan_in": 60, "load": 0.02, "rounds": 200, "sizes": "5KB"}
    run = sb.Scenario(tree).run()
    rounds = run.flows.group_by("start_s", maintain_order=True).agg("src", "dst")
    assert len(rounds) == 200
    assert all(len(set(each)) == 60 for each in rounds["src"])
    assert all(len(set(each)) == 1 for each in rounds["dst"])
    assert all(dst[0] not in src for src, dst in rounds.select("src", "dst").rows())
    assert len({dst[0] for dst in rounds["dst"]}) > 80
    assert len({src for each in rounds["src"] for src in each}) == 128
    # 60 senders' 5 KB are 0.02 of 128 links in 9.375 us; gaps are exponential.
    gaps = rounds["start_s"].diff().drop_nulls()
    assert gaps.mean() == pytest.approx(9.375e-6, rel=0.2)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.25)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"fan_in": 128}, "traffic.fan_in is 128: at most 127 hosts"),
        ({"load": 0.02}, "traffic.load is 0.02: rounds start at random at a load, or by every"),
        ({"load": 0, "every": None}, "traffic.load is 0: a load is greater than 0"),
        ({"load": 1.5, "every": None}, "times what it carries, which never drains"),
        ({"load": 1e308, "every": None}, "a load is at most 1e9"),
        ({"from": "0-1", "to": [0, 1], "fan_in": 2}, "at most 1 hosts"),
        ({"from": [0], "to": [0, 1]}, "host 0 is the only sender"),
    ],
)
def test_incasts_that_cannot_be_are_refused(keys: dict[str, Any], said: str) -> None:
    tree = tomllib.loads(CASES["c36-poisson-incast.toml"])
    entry = tree["traffic"][0] | keys
    tree["traffic"] = [{key: value for key, value in entry.items() if value is not None}]
    with pytest.raises(sb.Mistake, match=said):
        _ = sb.Scenario(tree).plans


def test_an_unknown_key_of_an_entry_is_answered_with_those_of_its_kind(tmp_path: Path) -> None:
    file = tmp_path / "mixed.toml"
    text = CASES["i08-mixed-ect.toml"]
    file.write_text(text.replace("transport = {", "transprt = {"))
    with pytest.raises(sb.Mistake) as raised:
        _ = sb.Scenario.from_file(file).plans
    said = str(raised.value)
    assert "traffic.1.transprt is unknown: did you mean transport?" in said


def test_flows_without_ecn_starve_beside_those_with_it(cases: Path) -> None:
    # Least windows of 36 ECN-capable flows stand above 30 KB for good: other packets are dropped.
    run = sb.Scenario.from_file(cases / "i08-mixed-ect.toml").run()
    capable, others = run.summary()["by_transport"]
    assert (capable["transport"], others["transport"]) == ("cubic", "cubic (ecn = false)")
    assert capable["share"] > 0.99
    assert others["timeouts"] > 0 == capable["timeouts"]
    table = run.table("transports")
    assert list(table["transport"]) == [capable["transport"], others["transport"]]
    assert list(table["drops"]) == [capable["drops"], others["drops"]]
    assert capable["marks"] > 0 == others["marks"]
    assert others["drops"] > capable["drops"]
    assert figure(run.summary(), "by_transport.cubic.share") == capable["share"]
    assert run.flows.filter(run.flows["transport"] == others["transport"]).height == 4


def test_each_case_is_tried() -> None:
    named = {*REFUSED, *RUN, *(name for _, name in IMPORTED)}
    text = Path(__file__).read_text()
    for name in CASES:
        assert name.endswith(".csv") or name in named or text.count(f'"{name}"') > 1, name
