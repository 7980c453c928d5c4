"""`make bench-core`: what MQ-ECN's figure 9 costs on one core, in units of a yardstick that runs
before and after every run (yardstick.cpp), as a shared machine's own speed moves. Writes
results.json, of which docs/performance.md has a table.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from evidence.kept import Kept
from switchbed import _native
from switchbed.bench import FOLDER, once
from switchbed.directory import machine

HERE = Path(__file__).parent
RESULTS = Kept(HERE, "core")
ROUNDS = 7
YARDSTICK_NS = 170.0
"""The yardstick where the targets were set: 100 ns a packet-hop at load 0.5, and a minute for the
whole figure at load 0.8."""
CASES = {
    "load 0.5, 5,000 flows": (["load=0.5", "flows=5_000"], 1),
    "load 0.8, 50,000 flows": (["load=0.8", "flows=50_000"], 3),
}
"""Overrides of figure 9, and in what part of the rounds it runs."""

Found = dict[str, Any]

TEXT = """\
| figure 9 | packet-hops | runs | ns a packet-hop | yardstick, ns | ratio | at {yardstick:.0f} ns |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

The **yardstick** is the textbook's loop and nothing else: two events a packet-hop in a
`std::multimap`, 768 links, 5,000 packets (`evidence/bench/yardstick.cpp`). It ran before and after
each run, and the run is divided by the mean of the two: a machine that runs at half its speed does
so for both, nearly. The last column is what the ratio comes to where the yardstick takes
{yardstick:.0f} ns, as a loop of this description did where the targets were set (at most 100 ns a
packet-hop at load 0.5, and the whole figure at load 0.8 in a minute); that one's code was not at
hand, and another can differ. Medians, and the ranges of all runs; {machine}; load average
{load:.1f} as it began; Switchbed {switchbed}. `make bench-core` repeats it."""


def rows(found: Found) -> str:
    """The table's body."""
    return "\n".join(row(name, runs) for name, runs in found["cases"].items())


def row(name: str, runs: list[dict[str, float]]) -> str:
    """A case's runs as a line of the table."""

    def spread(values: list[float], digits: int) -> str:
        low, middle, high = min(values), statistics.median(values), max(values)
        return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"

    hops = runs[0]["packet_hops"]
    ratios = [run["ns"] / run["yardstick_ns"] for run in runs]
    reckoned_ns = statistics.median(ratios) * YARDSTICK_NS
    return (
        f"| {name} | {hops / 1e6:,.0f} M | {len(runs)} | {spread([run['ns'] for run in runs], 0)} "
        f"| {spread([run['yardstick_ns'] for run in runs], 0)} | {spread(ratios, 2)} "
        f"| {reckoned_ns:.0f} ns, {reckoned_ns * hops / 1e9:.1f} s in all |"
    )


def render(found: Found) -> str:
    """The block's text."""
    on = found["machine"]
    return TEXT.format(
        yardstick=YARDSTICK_NS,
        rows=rows(found),
        machine=f"{on['processor']}, {on['cores']} cores, {on['system']}",
        load=found["load_average"],
        switchbed=found["switchbed"],
    )


def measure(rounds: int) -> dict[str, list[dict[str, float]]]:
    """Every case's runs, the yardstick around each."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "yardstick")
        build = ["g++", "-std=c++17", "-O2", str(HERE / "yardstick.cpp"), "-o", str(program)]
        subprocess.run(build, check=True)

        def yardstick() -> float:
            done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
            return float(done.stdout)

        yardstick()  # the first is slow
        before = yardstick()
        for number in range(rounds):
            for name, (sets, every) in CASES.items():
                if number % every:
                    continue
                run = once(FOLDER / "fig9.toml", sets)
                after = yardstick()
                found[name].append(
                    {
                        "packet_hops": run["packet_hops"],
                        "ns": run["ns_per_packet_hop"],
                        "yardstick_ns": (before + after) / 2,
                    }
                )
                before = after
                print(row(name, found[name][-1:]), flush=True)
    return found


def main() -> None:
    """Measures and writes everything."""
    load = os.getloadavg()[0]
    found = {
        "machine": machine(),
        "switchbed": _native.__version__,
        "load_average": load,
        "cases": measure(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS),
    }
    RESULTS.write(found)
    print(f"written: {RESULTS}")


if __name__ == "__main__":
    main()
