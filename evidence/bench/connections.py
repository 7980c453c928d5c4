"""`python -m evidence.bench.connections [FLOWS…]`: what runs of every transport take beside their
forecast, as a table in Markdown: flows that are all open at once, and flows that come one after
another. Each run is a process; what it takes is the rise of its peak while it runs.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from evidence.bench.memory import FLOWS, LEAN, LONG_LIVED, MB, SCENARIO

TRANSPORTS = ("dctcp", "cubic", "reno", "udp", "roce", "dcqcn", "timely", "hpcc", "swift")
NUMBERS = (1_000, 10_000, 100_000, 1_000_000)
SENDERS = 15
SECONDS_A_FLOW = 6e-5
"""Of both runs, on the machine of docs/performance.md."""
RUN = """
import json, resource, sys
from pathlib import Path
from switchbed import _native
resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000))
def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
(plan,) = _native.plans(Path(sys.argv[1]), sys.argv[2:])
before = peak()
plan.run(_native.Progress(), any_memory=True)
parts = json.loads(plan.memory)
print(json.dumps([peak() - before, sum(part["count"] * part["each"] for part in parts)]))
"""


def taken(traffic: str, *sets: str) -> tuple[int, int]:
    """Bytes that a run took, and those that were forecast."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.toml"
        scenario.write_text(SCENARIO + traffic)
        command = [sys.executable, "-c", RUN, str(scenario), LEAN, *sets]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    took, forecast = json.loads(done.stdout)
    return took, forecast


def row(transport: str, flows: int) -> str:
    """A line of the table."""
    kind = f"transport.kind={transport}"
    cells = []
    for traffic, key, value in (
        (LONG_LIVED, "traffic.flows_each", max(1, flows // SENDERS)),
        (FLOWS, "flows", flows),
    ):
        took, forecast = taken(traffic, kind, f"{key}={value}")
        cells += [f"{took / MB:.1f}", f"{forecast / MB:.1f}", f"{forecast / took:.2f}"]
    return f"| {transport} | {flows:,} | {' | '.join(cells)} |"


def main() -> None:
    """The numbers of flows are in the arguments."""
    numbers = [int(word) for word in sys.argv[1:]] or list(NUMBERS)
    price = sum(numbers) * len(TRANSPORTS) * SECONDS_A_FLOW
    print(f"about {price:,.0f} s; at most 4 GB of memory", flush=True)
    print(
        "| transport | flows | at once: MB | forecast | ratio | in turn: MB | forecast | ratio |",
        flush=True,
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for flows in numbers:
        for transport in TRANSPORTS:
            print(row(transport, flows), flush=True)


if __name__ == "__main__":
    main()
