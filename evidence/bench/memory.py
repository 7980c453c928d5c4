"""`make bench-memory`: bytes of memory that a port, a flow, a connection, a sample and a captured
packet take, and whole runs, beside what a run says beforehand (crates/sim/src/run/memory.rs). The
bytes of each are the difference of two runs' peaks over that of their numbers; a run is the whole
command, which makes its tables and writes none. Writes results.json, of which docs/performance.md
has a table.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.kept import Kept
from switchbed import _native, free_memory
from switchbed.bench import FOLDER
from switchbed.directory import machine

HERE = Path(__file__).parent
RESULTS = Kept(HERE, "memory")
MB = 1e6
SCENARIO = """
[topology]
kind = "star"
hosts = 16
rate = "10Gbps"
delay = "1us"
[switch]
queues = 8
discipline = "dwrr"
buffer = "300KB"
[scheme]
name = "none"
[transport]
kind = "dctcp"
"""
FLOWS = """
[[traffic]]
kind = "poisson"
load = 0.5
flows = 10_000
sizes = "2KB"
"""
LONG_LIVED = """
[[traffic]]
kind = "long-lived"
from = "0-14"
to = 15
[run]
until = "1us"
"""
BUSY = FLOWS.replace("10_000", "1_000_000_000") + '[run]\nuntil = "60ms"\n'
PROBES = """
[[traffic]]
kind = "probe"
from = "0-14"
to = 15
every = "1us"
stop = "1s"
[run]
until = "65ms"
"""
PORTS_ALONE = FLOWS.replace("10_000", "1") + '[run]\nuntil = "1ns"\n'
LEAN = "measure.queues=off"
PORTS = [f"switch:{port}" for port in range(16)]
CONVERGENCE = f"measure.convergence={{ port = '{PORTS[0]}', window = '50ns' }}"
CHANGES = f"measure.changes={{ ports = {PORTS}, until = '60ms' }}"
CAPTURE = f"measure.capture={PORTS}"


@dataclass(frozen=True)
class Case:
    """Two runs that differ in the number of one thing."""

    traffic: str
    key: str
    values: tuple[int, int]
    each: int
    """How many there are for each that the key says."""
    sets: tuple[str, ...]


CASES = {
    "ports": Case(PORTS_ALONE, "topology.hosts", (4_000, 12_000), 2, (LEAN,)),
    "flows": Case(FLOWS, "flows", (200_000, 600_000), 1, (LEAN,)),
    "connections": Case(LONG_LIVED, "traffic.flows_each", (4_000, 12_000), 15, (LEAN,)),
    "rows of series": Case(
        BUSY, "measure.samples", (1_000_000, 3_000_000), 1, ("measure.series_every=2us",)
    ),
    "rows of goodput": Case(
        BUSY,
        "measure.samples",
        (200_000, 600_000),
        1,
        (LEAN, "measure.goodput_every=20ns", "run.until=20ms"),
    ),
    "probes": Case(PROBES, "measure.samples", (300_000, 900_000), 1, (LEAN,)),
    "rows of changes": Case(BUSY, "measure.samples", (200_000, 600_000), 1, (LEAN, CHANGES)),
    "rows of rates": Case(BUSY, "measure.samples", (200_000, 600_000), 1, (LEAN, CONVERGENCE)),
    "captured packets": Case(BUSY, "measure.capture_packets", (5_000, 15_000), 16, (LEAN, CAPTURE)),
}

LARGE = HERE.parents[1] / "scenarios" / "fat-tree-65536.toml"
RUNS = {
    "figure 9, 144 hosts, 5,000 flows": (FOLDER / "fig9.toml", ("flows=5000",)),
    "fat-tree, 1,024 hosts, 2 ms": (LARGE, ("topology.k=16",)),
    "fat-tree, 8,192 hosts, 2 ms": (LARGE, ("topology.k=32",)),
    "fat-tree, 65,536 hosts, 2 ms": (LARGE, ("topology.k=64",)),
}
"""Whole runs that what is said is held against."""

TEXT = """\
## Memory

What grows with a run, as measured and as `switchbed run` and `scenario check --memory` reckon with
before it starts. Measured is the difference of the peaks of two whole commands over the
difference of their numbers; {machine}; Switchbed {switchbed}. `make bench-memory` repeats it.
Writing tables as Parquet takes 50 MB more, and little by row.

| | bytes each, measured | reckoned with |
| --- | --- | --- |
{rows}

How many there will be is worked out from the scenario: flows as far as `run.until` lets them
start, connections as the load makes one expect, rows as often as the intervals fit, at most
`measure.samples`, captured packets at most `measure.capture_packets`, packets as many as the way
there and back and a marked (or full) queue at each receiver hold, of each flow under way but of no
more flows than hosts; of TCP flows that start together, what windows, small queues and timeouts
let wait in cards, and a record of each segment that a sender or its model remembers. A host is
reckoned with 840 B, a port with its link with 2,030 B, a queue with 60 B, a queue whose lengths are
measured with 90 B and, once it has held packets, 1,200 B.
Whole runs without tables, beside the {program:.0f} MB of the program itself:

| | peak, MB, measured | reckoned with | ratio |
| --- | --- | --- | --- |
{runs}

A run that takes 1 GB and more says so before it starts. Over 80 %
of the lesser of the machine's free memory (`MemAvailable`) and the control group's limit it is
refused, with the sum, unless `--any-memory` (`any_memory=True` in Python) is given. Runs side by
side are counted together: the `--jobs` largest."""


def peak(scenario: Path, sets: tuple[str, ...]) -> tuple[int, dict[str, int]]:
    """A run's peak in bytes, and what is reckoned with for each part."""
    given = [word for key in sets for word in ("--set", key)]
    command = [str(Path(sys.executable).with_name("switchbed")), "run", str(scenario), *given]
    command += ["--json", "-", "--jobs", "1", "--any-memory"]
    done = subprocess.run(
        [sys.executable, str(HERE / "measured.py"), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    (plan,) = _native.plans(scenario, list(sets))
    parts = {part["what"]: part["each"] for part in json.loads(plan.memory)}
    return int(json.loads(done.stdout)["peak_rss_bytes"]), parts


def alone() -> int:
    """The program's own peak: of a run of next to nothing."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.toml"
        scenario.write_text(SCENARIO + PORTS_ALONE)
        return peak(scenario, (LEAN,))[0]


def whole(name: str, program: int) -> dict[str, Any]:
    """A whole run beside what was said of it."""
    file, sets = RUNS[name]
    found, _ = peak(file, sets)
    return {"what": name, "bytes": found - program, "reckoned": said(name)}


def said(name: str) -> int:
    """What is reckoned with for a whole run."""
    file, sets = RUNS[name]
    (plan,) = _native.plans(file, list(sets))
    return sum(part["count"] * part["each"] for part in json.loads(plan.memory))


def run_line(row: dict[str, Any]) -> str:
    """A whole run as text."""
    ratio = row["reckoned"] / row["bytes"]
    return f"| {row['what']} | {row['bytes'] / MB:.0f} | {row['reckoned'] / MB:.0f} | {ratio:.2f} |"


def measure(what: str) -> dict[str, Any]:
    """One row."""
    case = CASES[what]
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.toml"
        scenario.write_text(SCENARIO + case.traffic)
        found = [peak(scenario, (f"{case.key}={n}", *case.sets)) for n in case.values]
    (few, parts), (many, _) = found
    number = (case.values[1] - case.values[0]) * case.each
    row = {"what": what, "bytes": (many - few) / number, "reckoned": parts[what]}
    print(line(row), flush=True)
    return row


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    return f"| {row['what']} | {row['bytes']:.0f} | {row['reckoned']} |"


def render(found: dict[str, Any]) -> str:
    """The block's text."""
    system = found["machine"]
    return TEXT.format(
        machine=f"{system['processor']}, {system['system']}",
        switchbed=found["switchbed"],
        rows="\n".join(map(line, found["rows"])),
        program=found["program"] / MB,
        runs="\n".join(map(run_line, found["runs"])),
    )


def main() -> None:
    """Measures and writes everything."""
    rows = [measure(what) for what in CASES]
    # A long-lived flow is a flow, too.
    each = {row["what"]: row for row in rows}
    each["connections"]["bytes"] -= each["flows"]["bytes"]
    program = alone()
    found = {
        "machine": machine(),
        "switchbed": _native.__version__,
        "rows": rows,
        "program": program,
        "runs": [whole(name, program) for name in RUNS],
    }
    RESULTS.write(found)
    print(f"written: {RESULTS}; free here: {free_memory.amount(free_memory.free())}")


if __name__ == "__main__":
    main()
