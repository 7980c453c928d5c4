"""`python -m evidence.bench.connections [FLOWS…]`: what runs of every transport take beside their
forecast: flows that are all open at once, and flows that come one after another; and messages of a
GOAL file, all under way at once or one after another. Each run is a
process; what a run takes is the rise of the process's peak while it runs, and the process's own
memory before it is part of both sums. Fails where a forecast is below, or over a tenth above.
With the numbers of NUMBERS it writes results.json, of which docs/performance.md has a
table.
"""

import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evidence.bench.memory import FLOWS, LEAN, MB, SCENARIO
from evidence.kept import Kept
from switchbed.directory import machine

RESULTS = Kept(Path(__file__).parent, "connections")
GOAL = "goal"
"""Messages of a schedule, over DCTCP."""
TRANSPORTS = (
    *("dctcp", "cubic", "reno", "udp", "roce", "dcqcn", "timely", "hpcc", "swift"),
    *("bbr", "bbr3", "nscc", "rccc"),
    GOAL,
)
NUMBERS = (1_000, 10_000, 100_000, 1_000_000)
LARGE = ("bbr", "bbr3", GOAL)
"""Transports whose largest number does not fit: it is left out."""
SENDERS = 8
SCHEDULE = """
[[traffic]]
kind = "goal"
file = "schedule.goal"
"""
PAIR = """
[[traffic]]
kind = "long-lived"
from = {sender}
to = {receiver}
flows_each = {flows}
"""
FLOWS_A_MS = 100_000
"""Flows that get connections, and send first packets, in a millisecond."""
MOST = 1.1
SECONDS_A_FLOW = 2e-5
"""Of both runs, on the machine of docs/performance.md."""
RUN = """
import json, resource, sys
from pathlib import Path
from switchbed import _native
resource.setrlimit(resource.RLIMIT_AS, (6_000_000_000, 6_000_000_000))
def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
_native.plans(Path(sys.argv[1]), [])
before = peak()
# The run of a schedule also takes the memory that its check takes.
(plan,) = _native.plans(Path(sys.argv[2]), sys.argv[3:])
plan.run(_native.Progress(), any_memory=True)
parts = json.loads(plan.memory)
forecast = sum(part["count"] * part["each"] for part in parts)
print(json.dumps({"before": before, "took": peak() - before, "forecast": forecast}))
"""
HEAD = """\
| transport | flows | at once: MB | forecast | process | in turn: MB | forecast | process |
| --- | --- | --- | --- | --- | --- | --- | --- |"""
TEXT = """\
Memory of runs on 16 hosts beside the forecast: eight pairs with flows all open at once,
for as long as their handshakes take, or flows one after another; what a run adds to its process,
which has {before:.0f} MB before it.
*Process* is the forecast with that memory over the process's peak: from {least:.3f} to
{most:.3f}. The forecast alone is {low:.2f} to {high:.2f} times what a run adds. The kernel counts
pages in batches, so that runs of one scenario differ by up to 0.3 MB. Flows whose first packets a
switch refuses take less than is forecast, as their first windows wait for another SYN.

{rows}

`python -m evidence.bench.connections`, {processor}, {date}. It fails where *process* is not
from 1 to 1.1."""


def pairs(flows: int) -> str:
    """Hosts that each send a share of the flows to another, so that no port refuses SYNs."""
    each = flows // SENDERS
    lines = (PAIR.format(sender=i, receiver=i + SENDERS, flows=each) for i in range(SENDERS))
    return "".join(lines) + f'[run]\nuntil = "{max(1, flows // FLOWS_A_MS)}ms"\n'


def schedule(messages: int, *, in_turn: bool) -> str:
    """A GOAL file of messages of 2,000 bytes, eight pairs of ranks, all at once or in turn."""
    each = messages // SENDERS
    lines = [f"num_ranks {2 * SENDERS}"]
    for rank in range(2 * SENDERS):
        to = rank + SENDERS
        lines.append(f"rank {rank} {{")
        for nth in range(each):
            verb = f"send 2000b to {to}" if rank < SENDERS else f"recv 2000b from {rank - SENDERS}"
            lines.append(f"o{nth}: {verb} tag {nth}")
            if in_turn and nth:
                lines.append(f"o{nth} requires o{nth - 1}")
        lines.append("}")
    return "\n".join(lines) + "\n"


def taken(traffic: str, *sets: str, goal: str = "") -> dict[str, int]:
    """Bytes before a run, those that it took, and those that were forecast for it."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.toml"
        (Path(folder) / "schedule.goal").write_text(goal)
        scenario.write_text(SCENARIO + traffic)
        return run_of(scenario, LEAN, *sets)


def run_of(scenario: Path, *sets: str) -> dict[str, int]:
    """Bytes before a file's run, those that it took, and those that were forecast for it."""
    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder) / "warm.toml"
        warm.write_text(SCENARIO + FLOWS)
        command = [sys.executable, "-c", RUN, str(warm), str(scenario), *sets]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def measure(transport: str, flows: int) -> dict[str, Any]:
    """Both runs of a transport; of `goal` those of a schedule over DCTCP."""
    if transport == GOAL:
        runs = (schedule(flows, in_turn=in_turn) for in_turn in (False, True))
        at_once, in_turn = (taken(SCHEDULE, goal=goal) for goal in runs)
        return {"transport": GOAL, "flows": flows, "at_once": at_once, "in_turn": in_turn}
    kind = f"transport.kind={transport}"
    return {
        "transport": transport,
        "flows": flows,
        "at_once": taken(pairs(flows), kind),
        "in_turn": taken(FLOWS, kind, f"flows={flows}"),
    }


def ratio(run: dict[str, int]) -> float:
    """The forecast of a process's peak over that peak."""
    return (run["before"] + run["forecast"]) / (run["before"] + run["took"])


def line(row: dict[str, Any]) -> str:
    """A line of the table."""
    cells = [row["transport"], f"{row['flows']:,}"]
    for run in (row["at_once"], row["in_turn"]):
        cells += [f"{run['took'] / MB:.1f}", f"{run['forecast'] / MB:.1f}", f"{ratio(run):.3f}"]
    return f"| {' | '.join(cells)} |"


def runs(rows: list[dict[str, Any]]) -> list[dict[str, int]]:
    """All runs of the table."""
    return [row[kind] for row in rows for kind in ("at_once", "in_turn")]


def render(found: dict[str, Any]) -> str:
    """The block's text."""
    every = runs(found["rows"])
    return TEXT.format(
        before=max(run["before"] for run in every) / MB,
        least=min(map(ratio, every)),
        most=max(map(ratio, every)),
        low=min(run["forecast"] / run["took"] for run in every),
        high=max(run["forecast"] / run["took"] for run in every),
        rows="\n".join([HEAD, *map(line, found["rows"])]),
        processor=found["machine"]["processor"],
        date=found["date"],
    )


def main() -> int:
    """The numbers of flows are in the arguments."""
    numbers = [int(word) for word in sys.argv[1:]] or list(NUMBERS)
    price = sum(numbers) * len(TRANSPORTS) * SECONDS_A_FLOW
    print(f"about {price:,.0f} s; at most 5 GB of memory\n{HEAD}", flush=True)
    rows = []
    for flows in numbers:
        for transport in TRANSPORTS:
            if transport in LARGE and flows > NUMBERS[-2]:
                continue
            rows.append(measure(transport, flows))
            print(line(rows[-1]), flush=True)
    if numbers == list(NUMBERS):
        date = datetime.now(UTC).date().isoformat()
        found = {"machine": machine(), "date": date, "rows": rows}
        RESULTS.write(found)
    return int(not all(1 <= ratio(run) <= MOST for run in runs(rows)))


if __name__ == "__main__":
    sys.exit(main())
