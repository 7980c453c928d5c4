"""The guard of the hot path: instructions a packet-hop, counted by callgrind, against the
committed figures. `make bench-accept` writes those anew, for a commit of its own that says
why."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "crates/scenario/benches/instructions.json"
RISE = 1.10
"""More than this times the committed figure is a failure."""

pytestmark = pytest.mark.needs("valgrind")


def built() -> str:
    """The benchmark, built as the wheel is."""
    build = ["cargo", "bench", "--locked", "--no-run", "--message-format=json"]
    build += ["--package", "switchbed-scenario", "--bench", "instructions"]
    done = subprocess.run(build, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return next(str(m["executable"]) for m in messages if m.get("executable"))


def per_hop(program: str, case: str) -> float:
    """Instructions a packet-hop of one case."""
    grind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    grind += ["--collect-atstart=no", "--toggle-collect=*counted*", program, case]
    done = subprocess.run(grind, capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1]) / int(done.stdout)


def test_no_hot_path_costs_more_instructions_than_committed() -> None:
    program = built()
    cases = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    counted = {case: round(per_hop(program, case), 1) for case in cases.splitlines()}
    if os.environ.get("SWITCHBED_ACCEPT_COUNTS"):
        COMMITTED.write_text(json.dumps(counted, indent=2) + "\n")
    committed = json.loads(COMMITTED.read_text())
    assert counted.keys() == committed.keys(), "cases came or went: make bench-accept"
    risen = {
        case: (committed[case], n) for case, n in counted.items() if n > RISE * committed[case]
    }
    assert not risen, f"instructions a packet-hop, committed and now: {risen}"
