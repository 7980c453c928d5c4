"""`make bench-sizes`: what a packet-hop costs by the fabric's size, its number of flows, queues
a port and scheme, by default and without queue statistics, beside the bare loop (event queue, FIFO
and link, nothing else) on as many links. Writes results.json, of which docs/performance.md
has tables and a picture.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from evidence.bench import sizes_page
from switchbed import _native
from switchbed.bench import FOLDER, OFF, once
from switchbed.directory import machine

ROOT = Path(__file__).parents[2]
FIG9 = FOLDER / "fig9.toml"
SHAPES = {
    16: (4, 4, 4),
    64: (8, 8, 8),
    144: (12, 12, 12),
    256: (16, 16, 16),
    1024: (32, 32, 32),
    4096: (64, 64, 64),
    8192: (128, 64, 64),
}
"""Hosts: leaves, spines, hosts a leaf."""
HOST_SECONDS = 2.0
"""Simulated, for fabrics small enough to need more than `LEAST_S`."""
LEAST_S = 0.008
REQUIRED = {
    "threshold": "'65pkt'",
    "k1": "'40pkt'",
    "q_ref": "'20pkt'",
    "ins_target": "'70us'",
    "pst_target": "'10us'",
    "pst_interval": "'70us'",
}
"""For parameters that depend on the network, and so have no default."""
TIMES = {"tcn": "78us"}
"""Thresholds that are no lengths."""
BESIDES = {"cedm": "k2 = '65pkt'", "e-ecn": "t_a = '100us'", "red": "kmax = '65pkt'"}
"""And for those of which a scheme needs one or the other."""
NEEDS = {"per-pool": ["switch.pool=4MB"]}
"""What schemes ask of the switch."""
REPEATS = 5


def links(hosts: int) -> int:
    """Ports of a fabric, the hosts' own included."""
    leaves, spines, _ = SHAPES[hosts]
    return 2 * hosts + 2 * leaves * spines


def until(hosts: int) -> str:
    """Long enough for some millions of packet-hops."""
    return f"run.until={max(LEAST_S, HOST_SECONDS / hosts) * 1e3:.3f}ms"


def shape(hosts: int) -> list[str]:
    """The overrides that make fig9's fabric this large."""
    leaves, spines, each = SHAPES[hosts]
    sizes = [f"topology.leaves={leaves}", f"topology.spines={spines}"]
    return [*sizes, f"topology.hosts_per_leaf={each}", "flows=1_000_000", until(hosts)]


def scheme(info: dict[str, Any]) -> list[str]:
    """A scheme with its defaults, and a usual value for what has none."""
    name = info["name"]
    names = [p["name"] for p in info["parameters"] if p["required"]]
    given = REQUIRED | ({"threshold": f"'{TIMES[name]}'"} if name in TIMES else {})
    besides = [BESIDES[name]] if name in BESIDES else []
    params = ", ".join([*(f"{key} = {given[key]}" for key in names), *besides])
    return [f"scheme={{ name = '{name}', params = {{ {params} }} }}", *NEEDS.get(name, [])]


def rows() -> list[tuple[str, Any, int, list[str]]]:
    """What varies, its value, hosts and overrides."""
    found: list[tuple[str, Any, int, list[str]]] = []
    found += [("hosts", hosts, hosts, shape(hosts)) for hosts in SHAPES]
    found += [("flows", flows, 144, [f"flows={flows}"]) for flows in (500, 2_000, 8_000)]
    for queues in (1, 2, 4, 8, 16, 32, 64):
        services = [f"traffic.services={queues}", "traffic.sizes=web-search"]
        sets = [f"switch.queues={queues}", *services]
        found.append(("queues", queues, 144, [*shape(144), *sets]))
    for info in json.loads(_native.schemes()):
        if info["name"] != "python":  # costs what its class costs
            found.append(("scheme", info["name"], 144, [*shape(144), *scheme(info)]))
    return found


def built() -> str:
    """The bare loop."""
    build = ["cargo", "bench", "--locked", "--quiet", "--no-run", "--message-format=json"]
    build += ["--package", "switchbed-sim", "--bench", "bare_loop"]
    done = subprocess.run(build, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return next(str(m["executable"]) for m in messages if m.get("executable"))


def bare(program: str, number: int) -> float:
    """Nanoseconds of processor time a packet-hop of the bare loop."""

    def children_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = children_s()
    done = subprocess.run([program, str(number)], stdout=subprocess.PIPE, text=True, check=True)
    return (children_s() - before) * 1e9 / int(done.stdout)


def measure(program: str, repeats: int) -> list[dict[str, Any]]:
    """Every row: the two in turn, so that both meet the same machine."""
    found = []
    for what, value, hosts, sets in rows():
        times = repeats if links(hosts) < 10_000 else max(1, repeats // 3)
        each = (*sets, OFF)
        turns = [
            (once(FIG9, sets), once(FIG9, each), bare(program, links(hosts))) for _ in range(times)
        ]
        runs = [(run, ns) for run, _, ns in turns]
        # Other work only adds to either.
        ours, loop = min(run["ns_per_packet_hop"] for run, _ in runs), min(ns for _, ns in runs)
        row = {
            "what": what,
            "value": value,
            "hosts": hosts,
            "links": links(hosts),
            "packet_hops": runs[0][0]["packet_hops"],
            "ns_per_packet_hop": ours,
            "bare_ns_per_packet_hop": loop,
            "ratio": ours / loop,
            "ratios": [run["ns_per_packet_hop"] / ns for run, ns in runs],
            "peak_rss_bytes": max(run["peak_rss_bytes"] for run, _ in runs),
            "off_ns_per_packet_hop": min(off["ns_per_packet_hop"] for _, off, _ in turns),
            "off_peak_rss_bytes": max(off["peak_rss_bytes"] for _, off, _ in turns),
        }
        found.append(row)
        print(sizes_page.line(row), flush=True)
    return found


def main() -> None:
    """Measures and writes everything."""
    os.chdir(ROOT)
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    measured = measure(built(), repeats)
    found = {"machine": machine(), "switchbed": _native.__version__, "rows": measured}
    sizes_page.RESULTS.write(found)
    print(f"written: {sizes_page.RESULTS}")


if __name__ == "__main__":
    main()
