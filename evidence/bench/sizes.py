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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot as plt

from evidence.kept import Kept
from switchbed import _native
from switchbed.bench import FOLDER, OFF, once
from switchbed.directory import machine

matplotlib.use("Agg")

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
        print(line(row), flush=True)
    return found


def main() -> None:
    """Measures and writes everything."""
    os.chdir(ROOT)
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    measured = measure(built(), repeats)
    found = {"machine": machine(), "switchbed": _native.__version__, "rows": measured}
    RESULTS.write(found)
    print(f"written: {RESULTS}")


RESULTS = Kept(Path(__file__).parent, "sizes")
MIB = 2**20
HEADS = {"hosts": "hosts", "flows": "flows", "queues": "queues a port", "scheme": "scheme"}

Found = dict[str, Any]

TEXT = """\
## Cost by size

![Cost of a packet-hop by hosts, queues and scheme](performance-sizes.png)

fig9's fabric (`switchbed bench`'s `fig9.toml`) at load 0.5 a host; each table varies one thing
and leaves the rest at 144 hosts, 8 queues, MQ-ECN. The **bare loop** is the event queue, a FIFO
for a port and a link, nothing else (`cargo bench --bench bare_loop`): what this design costs
without any scheme, host or statistics, on the same number of links about half busy. Processor
time, one thread, the least of runs that took turns with the bare loop's, as other work only adds;
in brackets the ratios of single turns. *Queues off* is with `measure.queues = "off"`; a row without
a figure by default (—) was measured with them off, its ratio and memory too. Memory is the whole
process's peak, Python's included.
{machine}; Switchbed {switchbed}. `make bench-sizes` repeats it.

{tables}"""


def line(row: Found) -> str:
    """A row as text."""
    return (
        f"| {row['value']} | {row['links']:,} | {row['packet_hops'] / 1e6:.1f} M "
        f"| {_default(row)} | {_off(row):.0f} | {row['bare_ns_per_packet_hop']:.0f} "
        f"| {row['ratio']:.2f} ({min(row['ratios']):.2f} to {max(row['ratios']):.2f}) "
        f"| {row['peak_rss_bytes'] / MIB:.0f} |"
    )


def _default(row: Found) -> str:
    return f"{row['ns_per_packet_hop']:.0f}" if "off_ns_per_packet_hop" in row else "—"


def _off(row: Found) -> float:
    """Rows from before the default was measured have queue statistics off."""
    key = "off_ns_per_packet_hop"
    return float(row[key] if key in row else row["ns_per_packet_hop"])


def tables(found: Found) -> Iterator[str]:
    """A table for each thing that varies."""
    for what, head in HEADS.items():
        columns = "links | packet-hops | ns a packet-hop | queues off | bare loop | ratio | MiB"
        yield f"| {head} | {columns} |"
        yield "| --- |" + " --- |" * 7
        yield from (line(row) for row in found["rows"] if row["what"] == what)
        yield ""


def render(found: Found) -> str:
    """The block's text."""
    machine = found["machine"]
    return TEXT.format(
        machine=f"{machine['processor']}, {machine['cores']} cores, {machine['system']}",
        switchbed=found["switchbed"],
        tables="\n".join(tables(found)).rstrip(),
    )


def draw(found: Found, file: Path) -> None:
    """The picture: by hosts and by queues against the bare loop, and by scheme."""
    figure, (hosts, queues, schemes) = plt.subplots(
        1, 3, figsize=(11, 3.6), layout="constrained", width_ratios=(1, 1, 1.1)
    )
    for axes, what, label in ((hosts, "hosts", "hosts"), (queues, "queues", "queues a port")):
        rows = [row for row in found["rows"] if row["what"] == what]
        values = [row["value"] for row in rows]
        for key, name, style in (
            ("ns_per_packet_hop", "Switchbed", "o-"),
            ("bare_ns_per_packet_hop", "bare loop", "s--"),
        ):
            colour = "#0072B2" if key == "ns_per_packet_hop" else "#999999"
            axes.plot(values, [row[key] for row in rows], style, color=colour, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks(values, [f"{value:,}" for value in values], rotation=45)
        axes.set_xlabel(label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    hosts.set_ylabel("processor time a packet-hop, ns")
    hosts.legend(frameon=False)
    rows = [row for row in found["rows"] if row["what"] == "scheme"]
    names = [row["value"] for row in rows]
    schemes.barh(names, [row["ns_per_packet_hop"] for row in rows], color="#0072B2")
    schemes.axvline(rows[0]["bare_ns_per_packet_hop"], color="#999999", linestyle="--")
    schemes.invert_yaxis()
    schemes.set_xlabel("ns a packet-hop (dashed: bare loop)")
    figure.savefig(file, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main()
