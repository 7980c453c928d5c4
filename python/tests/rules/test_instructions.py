"""The guard of the hot path: instructions a packet-hop, counted by callgrind in the module as it
is installed, against the committed figures. `make bench-accept` writes those anew, for a commit
of its own that says why."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from switchbed.bench import OFF

BENCH = Path(__file__).parents[2] / "switchbed/bench"
COMMITTED = Path(__file__).with_name("instructions.json")
RISE = 1.10
"""More than this times the committed figure is a failure."""

MEASURED = 1.15
"""What queue statistics may cost: the default over the same with them off."""
BESIDE = {
    "fig9, queues off": "fig9, MQ-ECN, 8 DWRR queues",
    "star, queues off": "star, step marking, one queue",
}
ONE_QUEUE = ["switch.queues=1", "switch.discipline=fifo", "switch.classify=single"]
RED = "{ name = 'red', params = { kmin = '20pkt', kmax = '65pkt', pmax = 0.1 } }"
FLOWS = "{ kind = 'poisson', load = 0.95, flows = 20000, sizes = 'web-search'"
PAIRS = f"{FLOWS}, service = 'pair', services = 8 }}"
REQUESTS = "{ kind = 'request-response', load = 0.3, flows = 5000, sizes = '1KB', to = '0-3' }"
CASES = {
    # A few flows fill queues of fig9 as its 5,000 do, for a fraction of a second.
    "fig9, MQ-ECN, 8 DWRR queues": ["fig9.toml", "flows=40"],
    "fig9, step marking, one queue": ["fig9.toml", "flows=40", "scheme=per-queue", *ONE_QUEUE],
    "fig9, queues off": ["fig9.toml", "flows=40", OFF],
    "star, step marking, one queue": ["star.toml", "run.until=20ms"],
    "star, queues off": ["star.toml", "run.until=20ms", OFF],
    "star, RED, one queue": ["star.toml", "run.until=20ms", f"scheme={RED}"],
    "star, dynamic thresholds": [
        "star.toml",
        "run.until=20ms",
        "switch.policy=dynamic",
        "switch.pool=300KB",
    ],
    # The policy looks at the queues of all ports.
    "64 ports of eight queues, ABM": [
        "star.toml",
        "run.until=3ms",
        "topology.hosts=64",
        "switch.queues=8",
        "switch.policy=abm",
        "switch.pool=1MB",
        f"traffic=[{PAIRS}]",
    ],
    "fat-tree of 1,024 hosts, MQ-ECN": [
        "../data/scenarios/fat-tree-65536.toml",
        "topology.k=16",
        "run.until=300us",
    ],
    # Of a packet each: what starts and ends of flows cost.
    "star, requests and answers": ["star.toml", "run.until=20ms", f"traffic=[{REQUESTS}]"],
    "star, step marking, boxed seats": ["star.toml", "run.until=20ms", "switch.discipline=wfq"],
}

RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from switchbed._native import Progress, plans
(plan,) = plans(sys.argv[2], sys.argv[3:])
print(json.loads(plan.run(Progress()).summary)["packet_hops"])
"""
"""One run and no more: each module that is imported takes valgrind seconds."""

pytestmark = [pytest.mark.needs("valgrind"), pytest.mark.long]


def per_hop(file: str, *sets: str) -> float:
    """Instructions a packet-hop of one case, without building the network."""
    grind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    grind += ["--collect-atstart=no", "--toggle-collect=switchbed_sim::*::Simulation::advance"]
    run = [sys.executable, "-I", "-S", "-c", RUN, str(BENCH.parents[1]), str(BENCH / file), *sets]
    done = subprocess.run([*grind, *run], capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1]) / int(done.stdout)


def test_no_hot_path_costs_more_instructions_than_committed() -> None:
    counted = {case: round(per_hop(*of), 1) for case, of in CASES.items()}
    if os.environ.get("SWITCHBED_ACCEPT_COUNTS"):
        COMMITTED.write_text(json.dumps(counted, indent=2) + "\n")
    committed = json.loads(COMMITTED.read_text())
    assert counted.keys() == committed.keys(), "cases came or went: make bench-accept"
    risen = {
        case: (committed[case], n) for case, n in counted.items() if n > RISE * committed[case]
    }
    assert not risen, f"instructions a packet-hop, committed and now: {risen}"
    ratios = {case: counted[case] / counted[off] for off, case in BESIDE.items()}
    assert all(ratio <= MEASURED for ratio in ratios.values()), ratios
