"""RoCE's rate controls on fabrics: FCT slowdown by flow size, as HPCC's figure 11 has it. Writes
results.json, from which the tables and pictures of docs/roce.md are made.

    python -m evidence.bench.roce [--seeds N] [FABRIC…]    these anew, the others as they were
    python -m evidence.bench.roce --cost [REPEATS]         (5)

`--cost` prints instead how much a packet-hop of RoCE costs beside one of TCP, on HPCC's fabric: the
least of interleaved repeats, as ratios to DCTCP on the same switches.
"""

import argparse
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import switchbed as sb
from evidence.kept import Kept
from switchbed import stats
from switchbed.plots import output, sizes, style
from switchbed.series.distribution import sized

RESULTS = Kept(Path(__file__).parent, "roce")
SCENARIOS = Path(__file__).parents[2] / "scenarios"
KINDS = ("dcqcn", "timely", "hpcc", "swift")
TCP = "dctcp"
WITH_TCP = (TCP, *KINDS)
LOADS = (0.3, 0.5, 0.7)
DRAWN = 0.5
"""The load of the pictures."""

Found = dict[str, Any]


@dataclass(frozen=True)
class Fabric:
    """A shipped scenario with other settings."""

    says: str
    scenario: str
    sizes: str
    flows: int
    rates: tuple[str, str] | None = None
    """Of hosts and of the fabric, if not the scenario's."""


FABRICS = {
    "hpcc-web-search": Fabric(
        "HPCC's fabric, 100 Gbps, web search", "roce-fabric", "web-search-hpcc", 3000
    ),
    "hpcc-hadoop": Fabric("HPCC's fabric, 100 Gbps, Hadoop", "roce-fabric", "hadoop-hpcc", 20000),
    "hpcc-400-web-search": Fabric(
        "the same at 400 Gbps, joined at 1.6 Tbps, web search",
        "roce-fabric",
        "web-search-hpcc",
        3000,
        ("400Gbps", "1600Gbps"),
    ),
    "hpcc-400-hadoop": Fabric(
        "the same at 400 Gbps, joined at 1.6 Tbps, Hadoop",
        "roce-fabric",
        "hadoop-hpcc",
        20000,
        ("400Gbps", "1600Gbps"),
    ),
    "leaf-spine-web-search": Fabric(
        "leaf-spine, 100 Gbps, web search", "roce-leaf-spine", "web-search-hpcc", 3000
    ),
    "leaf-spine-hadoop": Fabric(
        "leaf-spine, 100 Gbps, Hadoop", "roce-leaf-spine", "hadoop-hpcc", 20000
    ),
    "leaf-spine-400-web-search": Fabric(
        "leaf-spine, 400 Gbps, web search",
        "roce-leaf-spine",
        "web-search-hpcc",
        3000,
        ("400Gbps", "1600Gbps"),
    ),
    "leaf-spine-400-hadoop": Fabric(
        "leaf-spine, 400 Gbps, Hadoop",
        "roce-leaf-spine",
        "hadoop-hpcc",
        20000,
        ("400Gbps", "1600Gbps"),
    ),
}


def main() -> None:
    """Runs and writes results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("fabrics", nargs="*", default=list(FABRICS))
    parser.add_argument("--cost", type=int, nargs="?", const=5, metavar="REPEATS")
    asked = parser.parse_args()
    if asked.cost is not None:
        _cost(asked.cost)
        return
    found = read()
    for name in asked.fabrics:
        found[name] = _run(FABRICS[name], asked.seeds)
        RESULTS.write(found)
        print(name, "done", flush=True)


def _cost(repeats: int) -> None:
    """Prints a line a control."""
    least: dict[str, float] = {}
    for _ in range(repeats):
        for kind in WITH_TCP:
            least[kind] = min(least.get(kind, float("inf")), _ns_a_hop(kind))
    for kind in WITH_TCP:
        print(f"{kind:8} {least[kind]:6.0f} ns a packet-hop, {least[kind] / least[TCP]:.2f}")


def _ns_a_hop(kind: str) -> float:
    tree = tomllib.loads((SCENARIOS / "roce-fabric.toml").read_text())
    del tree["compare"]
    tree["transport"]["kind"] = kind
    tree["traffic"][0]["flows"] = 600
    tree["run"]["until"] = "1ms"
    scenario = sb.Scenario(tree)
    start = time.process_time()
    run = scenario.run()
    took = time.process_time() - start
    return took * 1e9 / float(run.summary()["packet_hops"])


def read() -> Found:
    """What was found, by fabric."""
    found: Found = RESULTS.read()
    return found


def _run(fabric: Fabric, seeds: int) -> Found:
    cells: Found = {}
    drawn: dict[str, pl.DataFrame] = {}
    for load in LOADS:
        for kind in KINDS:
            runs = [_scenario(fabric, load, kind, seed).run() for seed in range(1, seeds + 1)]
            cells[f"{load:g} {kind}"] = _cell(runs)
            if load == DRAWN:
                drawn[kind] = sized(runs)
    return {"seeds": seeds, "cells": cells, "drawn": _binned(drawn)}


def _binned(drawn: dict[str, pl.DataFrame]) -> Found:
    """The bins' largest sizes, and of each control the percentiles of each bin."""
    edges = sizes.edges_of(list(drawn.values()), sizes.BINS)
    return {
        "edges": edges,
        "slowdown": {
            kind: {
                str(each): _short(sizes.percentiles(frame, edges, each))
                for each in sizes.PERCENTILES
            }
            for kind, frame in drawn.items()
        },
    }


def _short(values: Sequence[float | None]) -> list[float | None]:
    """With the digits that a picture shows."""
    return [value and float(f"{value:.5g}") for value in values]


def draw(drawn: Found, file: Path) -> None:
    """A fabric's picture: a panel a percentile, a line a control."""
    figure = style.figure(3.6 * len(sizes.PERCENTILES), 3.5, "")
    panels = figure.subplots(1, len(sizes.PERCENTILES), squeeze=False)[0]
    for axes, percentile in zip(panels, sizes.PERCENTILES, strict=True):
        for kind, look in zip(drawn["slowdown"], style.PLAIN, strict=False):
            sizes.curve(axes, kind, look, drawn["slowdown"][kind][str(percentile)])
        sizes.finish(axes, drawn["edges"], f"{percentile}th percentile")
    panels[0].set_ylabel("slowdown")
    style.legend_below(figure)
    output.save(figure, file)


def _scenario(fabric: Fabric, load: float, kind: str, seed: int) -> sb.Scenario:
    tree = tomllib.loads((SCENARIOS / f"{fabric.scenario}.toml").read_text())
    del tree["compare"]
    tree["transport"]["kind"] = kind
    tree["traffic"][0] |= {"load": load, "sizes": fabric.sizes, "flows": fabric.flows}
    tree["run"]["seed"] = seed
    if fabric.rates:
        host, inner = fabric.rates
        between = "aggregation_rate" if "pods" in tree["topology"] else "fabric_rate"
        tree["topology"] |= {"host_rate": host, between: inner}
    return sb.Scenario(tree)


def _cell(runs: list[Any]) -> Found:
    """Slowdowns of small and large flows (under 10 KB and over 1 MB, say), the share of the time
    that hosts' lossless class was paused, and what was lost."""
    made: Found = {}
    for part, wanted in (
        ("small", pl.col("size_bytes") <= 10_000),
        ("middle", (pl.col("size_bytes") > 10_000) & (pl.col("size_bytes") <= 1_000_000)),
        ("large", pl.col("size_bytes") > 1_000_000),
    ):
        for percentile in (50, 95, 99):
            values = [
                run.flows.filter(wanted)["slowdown"].quantile(percentile / 100, "nearest")
                for run in runs
            ]
            kept = [float(value) for value in values if value is not None]
            if kept:
                made[f"{part}.p{percentile}"] = round(stats.mean(kept).estimate, 3)
    summaries = [run.summary() for run in runs]
    made["drops"] = sum(summary["drops"] for summary in summaries)
    made["timeouts"] = sum(int(run.flows["timeouts"].sum()) for run in runs)
    pauses = [run.table("pauses").filter(pl.col("port").str.starts_with("host")) for run in runs]
    lasted = [run.flows.select((pl.col("start_s") + pl.col("fct_s")).max()).item() for run in runs]
    shares = [
        float(table["paused_s"].mean() or 0.0) / span
        for table, span in zip(pauses, lasted, strict=True)
    ]
    made["paused"] = round(stats.mean(shares).estimate, 5)
    return made


def render(found: Found) -> str:
    """The tables of docs/roce.md."""
    lines = []
    for name, fabric in FABRICS.items():
        if name not in found:
            continue
        seeds = found[name]["seeds"]
        lines += [
            "",
            f"### {fabric.says}",
            "",
            f"{fabric.flows:,} flows, {seeds} seed{'s' if seeds > 1 else ''}; flows up to 10 KB, "
            "up to 1 MB, and over it: 50th / 95th / 99th percentile of the slowdown.",
            "",
            "| load | control | up to 10 KB | up to 1 MB | over 1 MB | hosts paused | drops |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for cell, it in found[name]["cells"].items():
            load, kind = cell.split()
            parts = [
                " / ".join(
                    f"{it[f'{part}.p{p}']:.3g}" if f"{part}.p{p}" in it else "–"
                    for p in (50, 95, 99)
                )
                for part in ("small", "middle", "large")
            ]
            paused = f"{100 * it['paused']:.2g} %"
            lines.append(f"| {load} | {kind} | {' | '.join(parts)} | {paused} | {it['drops']} |")
        if "drawn" in found[name]:
            lines += ["", f"![Slowdown by flow size at load {DRAWN:g}](roce-{name}.png)"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
