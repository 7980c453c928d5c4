"""The block of docs/performance.md on cost by size, and its picture, from results.json."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from evidence.kept import Kept

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
