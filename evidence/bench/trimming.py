"""Trim, pause or drop: six ways with what memory refuses, over incasts, web search and
collectives, two chips and two rates. Writes results.json, from which `page` makes
docs/trimming.md's tables.

    python -m evidence.bench.trimming [SEEDS]    run, some minutes of a core
    python -m evidence.bench.trimming page       print the tables
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import switchbed as sb
from evidence.kept import Kept
from switchbed import _native, stats

RESULTS = Kept(Path(__file__).parent, "trimming")
SEEDS = 5
CHIPS = ("trident-3", "tomahawk-5")
RATES = (100, 400)
"""Gbps."""
SENDERS = (8, 32, 128, 256)
ANSWER = 500_000
LEAVES, UNDER = 4, 8
"""Of the fabric on which collectives run; nothing is oversubscribed."""
WAYS: Mapping[str, Mapping[str, Any]] = {
    "trim, `rccc`": {"kind": "rccc", "trim": True},
    "trim, `nscc`": {"kind": "nscc", "trim": True},
    "drop, `nscc`": {"kind": "nscc"},
    "drop, `nscc`, sleek": {"kind": "nscc", "sleek": True},
    "drop, `dctcp`": {"kind": "dctcp"},
    "pause, `dcqcn`": {"kind": "dcqcn", "pause": True},
}
JOBS = {"ring": ("all-reduce", "ring"), "all-to-all": ("all-to-all", "pairwise")}
"""Operation and algorithm."""
TRAFFIC = (*(f"incast {n}" for n in SENDERS), "web-search", *JOBS)


def scenario(way: Mapping[str, Any], chip: str, gbps: int, name: str) -> dict[str, Any]:
    """One cell of the grid. A lossy queue may hold an eighth of the memory that is left. Marks
    begin at 12 KB for each 100 Gbps, a round trip's worth."""
    ramp = {
        "kmin": f"{12 * gbps // 100}KB",
        "kmax": f"{48 * gbps // 100}KB",
        "pmax": 1,
        "weight": 1,
    }
    found: dict[str, Any] = {
        "switch": {"queues": 2, "asic": chip},
        "scheme": {"name": "red", "params": ramp | {"mark_at": "dequeue"}},
        "host": {"mtu": "4150B"},
        "transport": {"kind": way["kind"]},
        "roce": {"mtu": "4088B", "ack_class": 1},
        "measure": {"fct_end": "received"},
    }
    if way.get("pause"):
        found["switch"]["pfc"] = {"priorities": [0]}
    else:
        found["switch"]["alpha"] = 0.125
    if way.get("trim"):
        found["switch"]["trimming"] = {"dscp": 1}
    if way.get("sleek"):
        found["roce"]["sleek"] = True
    if way["kind"] == "dctcp":
        found["transport"]["mss"] = "4096B"
    kind, _, number = name.partition(" ")
    incast: dict[str, Any] = {"kind": "incast"}
    if kind == "incast":
        hosts = int(number) + 1
        asked = {"to": 0, "sizes": f"{ANSWER}B", "rounds": 1, "load": 0.01}
        entries = [incast | asked]
    elif kind == "web-search":
        hosts = 33
        asked = {"from": "all", "to": "all", "fan_in": 32, "sizes": "64KB"}
        flows = {"kind": "poisson", "load": 0.6, "flows": 2000, "sizes": "web-search"}
        entries = [incast | asked | {"rounds": 25, "load": 0.1}, flows]
    else:
        operation, algorithm = JOBS[kind]
        job = {"operation": operation, "algorithm": algorithm, "bytes": "16MB"}
        entries = [{"kind": "collective", "ranks": "all", "placement": "random"} | job]
        return found | {"topology": fabric(gbps), "traffic": entries}
    star = {"kind": "star", "hosts": hosts, "rate": f"{gbps}Gbps", "delay": "1us"}
    return found | {"topology": star, "traffic": entries}


def fabric(gbps: int) -> dict[str, Any]:
    """Leaves and spines whose links are twice as fast as the hosts'."""
    hosts = {"hosts_per_leaf": UNDER, "host_rate": f"{gbps}Gbps", "host_delay": "1us"}
    between = {"spines": UNDER // 2, "fabric_rate": f"{2 * gbps}Gbps", "fabric_delay": "1us"}
    return {"kind": "leaf-spine", "leaves": LEAVES} | hosts | between


def figures(name: str, gbps: int, summary: Mapping[str, Any]) -> dict[str, float]:
    """The figures of one run, all but counts over 0."""
    packets = summary["goodput_bps"] * summary["simulated_s"] / 8 / 4088
    found = {
        "queue_bytes": summary["bottleneck"]["max_bytes"],
        "again": summary["retransmissions"] / packets,
        "dropped": float(summary["drops"]),
    }
    asked = summary["by_traffic"][0]["query"]
    if name.startswith("incast"):
        line_us = int(name.split()[1]) * ANSWER * 8 / gbps / 1e3
        found["time"] = asked["mean_us"] / line_us
    elif name == "web-search":
        found["query_us"] = asked["mean_us"]
        found["small_p99_us"] = summary["fct"]["small"]["p99_us"]
    else:
        found["time"] = summary["jobs"][0]["slowdown"]
    return found


def cells(seeds: int) -> Iterator[dict[str, Any]]:
    """Each figure of each cell of the grid, over seeds."""
    for chip in CHIPS:
        for gbps in RATES:
            for name in TRAFFIC:
                for label, way in WAYS.items():
                    made = sb.Scenario(scenario(way, chip, gbps, name))
                    runs = [
                        figures(name, gbps, made.with_(seed=seed).run().summary())
                        for seed in range(1, seeds + 1)
                    ]
                    cell = {"chip": chip, "gbps": gbps, "traffic": name, "way": label}
                    yield cell | {key: _over(key, [run[key] for run in runs]) for key in runs[0]}


def _over(key: str, values: list[float]) -> list[float | None]:
    """Mean and bounds over seeds, to four digits. No time is under what the line needs."""
    found = stats.mean(values, within=stats.Range(1.0 if key == "time" else 0.0))
    parts = (found.estimate, found.low, found.high)
    return [None if each is None else float(f"{each:.4g}") for each in parts]


TEXT = """\
Incasts of 8 to 256 senders with 500 KB each; web search at 0.6 beside incasts of 32 senders;
collectives of 16 MB on 32 ranks in random places of a leaf-spine. Two chips, two rates, {seeds}
seeds; 95 % intervals where they are wider than 2 % ({version}).

![Incasts: time over what the line needs, by senders](trimming-grid.png)

Incasts: the last answer's time over what the line needs for all payload, and packets that were
sent again.

{incasts}

Web search beside incasts: mean time of an incast and 99th percentile of flows up to 100 KB, in
µs; longest queue.

{searches}

Collectives: time over the ideal. Both chips give the same, since nothing is refused.

{jobs}
"""


def render(found: Mapping[str, Any]) -> str:
    """The block's text."""
    by = {(c["chip"], c["gbps"], c["traffic"], c["way"]): c for c in found["cells"]}
    columns = [f"incast {n}" for n in (32, 128, 256)]
    incasts = ["| | | " + " | ".join(columns).replace("incast", "senders:") + " |"]
    incasts.append("| --- |" + " --- |" * 4)
    searches = ["| | | incast | small p99 | longest queue |", "| --- |" + " --- |" * 4]
    for chip in CHIPS:
        for gbps in RATES:
            for way in WAYS:
                row = [by[chip, gbps, name, way] for name in columns]
                times = [f"{_cell(of['time'])}{_again(of['again'][0])}" for of in row]
                incasts.append(f"| {chip}, {gbps}G | {way} | " + " | ".join(times) + " |")
                of = by[chip, gbps, "web-search", way]
                queue = f"{of['queue_bytes'][0] / 1e3:.0f} KB"
                waits = [_cell(of[key]) for key in ("query_us", "small_p99_us")]
                searches.append(f"| {chip}, {gbps}G | {way} | {' | '.join([*waits, queue])} |")
    jobs = ["| | " + " | ".join(f"{n}, {g}G" for n in TRAFFIC[-2:] for g in RATES) + " |"]
    jobs.append("| --- |" + " --- |" * 4)
    for way in WAYS:
        row = [by[CHIPS[0], gbps, name, way] for name in TRAFFIC[-2:] for gbps in RATES]
        jobs.append(f"| {way} | " + " | ".join(_cell(of["time"]) for of in row) + " |")
    texts = {"incasts": incasts, "searches": searches, "jobs": jobs}
    return TEXT.format(
        seeds=found["seeds"],
        version=found["version"],
        **{key: "\n".join(lines) for key, lines in texts.items()},
    )


def _cell(of: list[float | None]) -> str:
    mean, low, high = of
    assert mean is not None
    if low is None or high is None or high - low < 0.02 * mean:
        return _digits(mean)
    return f"{_digits(mean)} ({_digits(low)} to {_digits(high)})"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _again(share: float | None) -> str:
    return f"; {100 * share:.2g} % again" if share else ""


def draw(found: Mapping[str, Any], file: Path) -> None:
    """The picture: incasts' times by senders, a panel for each chip and rate."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(11, 3.3), layout="constrained", sharey=True)
    colours = ("#0072B2", "#56B4E9", "#D55E00", "#CC79A7", "#E69F00", "#009E73")
    panels = [(chip, gbps) for chip in CHIPS for gbps in RATES]
    for (chip, gbps), panel in zip(panels, axes, strict=True):
        for (way, colour), marker in zip(zip(WAYS, colours, strict=True), "os^<Dv", strict=True):
            of = [
                next(
                    c["time"][0]
                    for c in found["cells"]
                    if (c["chip"], c["gbps"], c["way"]) == (chip, gbps, way)
                    and c["traffic"] == f"incast {n}"
                )
                for n in SENDERS
            ]
            label = way.replace("`", "")
            panel.plot(SENDERS, of, marker=marker, color=colour, label=label, markersize=4)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(SENDERS, [str(n) for n in SENDERS])
        ticks = (1, 2, 4, 8, 16, 32, 64)
        panel.set_yticks(ticks, [str(tick) for tick in ticks])
        panel.minorticks_off()
        panel.set_title(f"{chip}, {gbps} Gbps", fontsize=9)
        panel.set_xlabel("senders")
        panel.grid(visible=True, alpha=0.3)
    axes[0].set_ylabel("time over what the line needs")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(WAYS), fontsize=8)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main() -> None:
    """Runs, or prints the page's part."""
    if sys.argv[1:] == ["page"]:
        print(render(RESULTS.read()))
        return
    seeds = int(sys.argv[1]) if sys.argv[1:] else SEEDS
    rows = []
    for cell in cells(seeds):
        rows.append(cell)
        print(*(f"{value}" for value in cell.values()), flush=True)
    version = f"switchbed {_native.__version__}"
    RESULTS.write({"version": version, "seeds": seeds, "cells": rows})


if __name__ == "__main__":
    main()
