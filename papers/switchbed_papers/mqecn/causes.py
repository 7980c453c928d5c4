"""What explains the claims of the MQ-ECN paper that do not hold; see README.md."""

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from switchbed import library
from switchbed._native import Mistake
from switchbed.result import Result
from switchbed_papers.mqecn import published
from switchbed_papers.reproduce import page
from switchbed_papers.reproduce.causes import (
    COLOURS,
    claims_by,
    claims_read,
    main,
    panels,
    runs,
    table,
)
from switchbed_papers.reproduce.claims import papers
from switchbed_papers.reproduce.verdict import Measured, judge

# Of the set-up's 100 µs, which are varied by a seed, none stand here.
BASE_RTT = {f"base RTT {us} µs": (f"topology.delay={us / 4:g}us",) for us in (40, 60, 80, 90)}


def queues(_: Path) -> str:
    """Figure 1, by the base round-trip time."""
    settings = {"as they are": (), **BASE_RTT}
    return claims_by("mqecn", "fig1", settings, seeds=4)


def services(_: Path) -> str:
    """Figure 3, by the base round-trip time and what hosts do."""
    settings = {
        "as they are": (),
        **BASE_RTT,
        "no LSO": ("host.lso=false",),
        "bursts that go on after cuts": ("host.lso_after_cut=true",),
        "jitter of 12 µs": ("host.jitter=12us",),
    }
    return claims_by("mqecn", "fig3", settings, seeds=4)


def loads(_: Path) -> str:
    """Figure 2 at some of its loads, which the paper does not give, from the committed rows."""

    def at(*loads: float) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        return lambda measure: {**measure, "at": [{"load": load} for load in loads]}

    readings = {
        "at loads of 0.2 to 0.8": at(0.2, 0.4, 0.6, 0.8),
        "at loads of 0.4 to 0.8": at(0.4, 0.6, 0.8),
        "at loads of 0.6 and 0.8": at(0.6, 0.8),
    }
    return claims_read("mqecn", ["mqecn.fig2"], readings)


def round_trips(_: Path) -> str:
    """Figure 6's round-trip times, by what hosts do and by the threshold."""
    settings = {
        "as they are": (),
        "an ACK for each packet": ("transport.ack_every=1",),
        "no LSO": ("host.lso=false",),
        "cuts at once": ("transport.reduction=at-once",),
        "DCTCP's α exact": ("transport.alpha=exact",),
        "a threshold of 26 KB": ('scheme.params.threshold="26KB"',),
    }
    return claims_by("mqecn", "fig6", settings)


def testbed(_: Path) -> str:
    """Figures 7 and 8, by what hosts do, at 2,000 flows and two loads."""
    settings = {
        "as they are": (),
        "no LSO": ("host.lso=false",),
        "no LSO, nothing merged": ("host.lso=false", "host.merge_packets=1"),
        "… an ACK for each packet": (
            "host.lso=false",
            "host.merge_packets=1",
            "transport.ack_every=1",
        ),
    }
    figures = ("fig7", "fig8")
    return "\n".join(claims_by("mqecn", figure, settings, seeds=4) for figure in figures)


def segments(_: Path) -> str:
    """Figures 7 and 8 with an ACK for each packet, by how large segments are, over more seeds."""
    every = "transport.ack_every=1"
    settings = {
        "an ACK for each packet, segments of 8 KB at most": (every, "host.lso_max=8KB"),
        "an ACK for each packet, segments of 4 KB at most": (every, "host.lso_max=4KB"),
        "an ACK for each packet, no LSO, nothing merged": (
            "host.lso=false",
            "host.merge_packets=1",
            every,
        ),
    }
    figures = ("fig7", "fig8")
    return "\n".join(claims_by("mqecn", figure, settings, seeds=12) for figure in figures)


def more_flows(_: Path) -> str:
    """The same with the paper's 5,000 flows."""
    every, flows = "transport.ack_every=1", "flows=5_000"
    settings = {
        "an ACK for each packet, segments of 4 KB at most": (every, "host.lso_max=4KB", flows),
        "an ACK for each packet, no LSO": (every, "host.lso=false", flows),
    }
    figures = ("fig7", "fig8")
    return "\n".join(claims_by("mqecn", figure, settings, seeds=12) for figure in figures)


def no_buffer(_: Path) -> str:
    """Section 6.2's sender without a buffer, by how long its host takes over a packet."""
    settings = {"as they are": (), "no jitter": ("host.jitter=0ns",)}
    return claims_by("mqecn", "text", settings, seeds=12)


def base(picture: Path) -> str:
    """Figures 9 to 11: what the divided threshold and MQ-ECN differ by, in percent of the smaller
    time and of the larger one, and the greatest gains where they are found, at 80 % load with WRR,
    without the interval that holds for eighteen points; figure 12 by load, likewise. It runs
    nothing: it reads the committed rows."""

    def as_judged(measure: Mapping[str, Any]) -> Mapping[str, Any]:
        return measure

    def of_the_larger(measure: Mapping[str, Any]) -> dict[str, Any]:
        swapped = {"of": measure["base"], "base": measure["of"]}
        return {**measure, "kind": "below", **swapped}

    def at_80(measure: Mapping[str, Any]) -> dict[str, Any]:
        return {**measure, "at": {"load": 0.8, "switch.discipline": "wrr"}}

    compared = ("fig9.small_vs_min", "fig10.small_vs_min", "fig10.large_min90", "fig11")
    names = [f"mqecn.{claim}" for claim in compared]
    gains = [f"mqecn.fig9.{what}" for what in ("overall", "small_avg", "small_p99")]
    readings = {"of the smaller time": as_judged, "of the larger time": of_the_larger}
    best = {"the greatest of all loads": as_judged, "at 80 % load with WRR": at_80}

    def alone(load: float) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
        return lambda measure: {**measure, "at": {"load": load}}

    loads = {f"{100 * load:.0f} % load alone": alone(load) for load in (0.1, 0.5, 0.8, 0.9)}
    by_load = {"the worst of nine loads": as_judged} | loads
    _bases(picture, compared)
    tables = [claims_read("mqecn", names, readings), claims_read("mqecn", gains, best)]
    return "\n".join((*tables, claims_read("mqecn", ["mqecn.fig12"], by_load)))


def parameters(_: Path) -> str:
    """Figure 13 with fewer flows and more seeds than at the full scale, and each load alone, from
    the committed rows."""

    def alone(load: float) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
        return lambda measure: {**measure, "where": {"load": load}}

    settings = {"1,000 flows at 50 % load, 48 seeds": ()}
    loads = {f"{10 * tenths} % load alone": alone(tenths / 10) for tenths in range(1, 10)}
    names = [f"mqecn.fig13.{size}" for size in ("overall", "small")]
    fewer = claims_by("mqecn", "fig13", settings, seeds=48)
    return "\n".join((fewer, claims_read("mqecn", names, loads)))


def _bases(picture: Path, compared: Sequence[str]) -> None:
    """Draws both readings beside the paper's number."""
    paper = papers()["mqecn"]
    found = page.committed(paper)
    figure, (axes,) = panels("Figures 9 to 11, load 0.9: the two schemes' difference", 1)
    for place, claim in enumerate(compared):
        above = found[f"mqecn.{claim}"].measured
        if above is None:
            raise Mistake(f"mqecn.{claim} has not run on its hosts: switchbed reproduce --commit")
        below = 100 * (1 - 1 / (1 + above / 100))
        said = paper.claims[f"mqecn.{claim}"].target.high
        axes.plot(said, place, "|", color="black", markersize=24, label="paper")
        axes.plot(above, place, "s", color=COLOURS[0], label="% of the smaller time")
        axes.plot(below, place, "o", color=COLOURS[1], label="% of the larger time")
        if place == 0:
            axes.legend(frameon=False, fontsize="small", loc="upper right")
    axes.set_yticks(range(len(compared)), list(compared))
    axes.set_xlim(0, 90)
    axes.set_ylim(len(compared) - 0.4, -0.6)
    axes.set_xlabel("difference (%)")
    figure.savefig(picture, metadata={"Software": None})


def paths(picture: Path) -> str:
    """Figures 9 to 11 at load 0.9 with the flows and the paths of the published simulation."""
    settings: dict[str, tuple[bool, dict[str, Any]]] = {
        "fig9, published flows, paths drawn": (False, {}),
        "fig9, published flows and paths": (True, {}),
        "fig10, published flows and paths": (True, {"switch.discipline": "wrr"}),
        "fig11, published flows and paths": (True, {"switch.queues": 32}),
    }
    rows: list[list[object]] = [
        ["fig9, paper (of any load)", 4.1, 23.7, 43.7, 24.3, "", ""],
        ["fig10, paper", 4.1, 23.7, 43.7, 26.4, "", 13.2],
        ["fig11, paper", "", "", "", "", 35.7, ""],
    ]
    for name, (with_paths, sets) in settings.items():
        found = {run.scenario["scheme"]["label"]: run for run in _published(0.9, with_paths, sets)}
        rows.append([name, *_differences(found)])
    _uplinks(picture, rows)
    head = ["MQ-ECN below Standard, %: all flows", "small", "small, 99th percentile"]
    larger = ["Minimum below MQ-ECN: small", "MQ-ECN below Minimum: all", "large"]
    digits = [[f"{cell:.1f}" if isinstance(cell, float) else cell for cell in row] for row in rows]
    return "\n".join((table(["load 0.9", *head, *larger], digits), _as_claims(rows)))


def _as_claims(rows: list[list[Any]]) -> str:
    """What MQ-ECN gains in the claims' terms. The flows are the paper's own, one sample, so that
    there is no interval."""
    known = papers()["mqecn"].claims
    gains = [known[f"mqecn.fig9.{what}"] for what in ("overall", "small_avg", "small_p99")]
    judged: list[list[object]] = [["**the paper**", *(claim.paper for claim in gains)]]
    for name, *found in rows:
        values = found[: len(gains)]
        if all(isinstance(value, float) for value in values) and "paper" not in name:
            points = [Measured(value, value, value, 1, None) for value in values]
            words = [judge(claim.target, it) for claim, it in zip(gains, points, strict=True)]
            cells = [f"{v:.1f} %, {word}" for v, word in zip(values, words, strict=True)]
            judged.append([name, *cells])
    return table(["hosts that judge, and", *(f"`{claim.id}`" for claim in gains)], judged)


def _uplinks(picture: Path, rows: list[list[Any]]) -> None:
    """Draws how even the paths are, and what follows in figure 9."""
    figure, axes = panels("Figure 9, load 0.9: paths, and what follows from them", 2)
    drawn = np.random.default_rng(1).multinomial(12 * 132, [1 / 12] * 12, size=12).ravel()
    for index, (label, counts) in enumerate(
        (("drawn", drawn), ("published", published.per_uplink()))
    ):
        axes[0].plot(sorted(counts / 132), color=COLOURS[index], label=label)
    axes[0].axhline(1 / (0.9 * 1.025 * 132 / 143), color="grey", linewidth=0.8)
    axes[0].set_xlabel("the 144 uplinks, sorted; grey: full at load 0.9")
    axes[0].set_ylabel("pairs that take it, over the mean")
    effects = ("all flows", "small", "small, 99th", "small, Minimum")
    by_name = {row[0]: row[1:5] for row in rows}
    looks = (
        ("fig9, paper (of any load)", "paper", "|", "black"),
        ("fig9, published flows, paths drawn", "published flows", "s", COLOURS[0]),
        ("fig9, published flows and paths", "published flows and paths", "o", COLOURS[1]),
    )
    for name, label, marker, colour in looks:
        size = 18 if marker == "|" else 6
        axes[1].plot(by_name[name], range(4), marker, color=colour, markersize=size, label=label)
    axes[1].set_yticks(range(4), effects)
    axes[1].set_ylim(3.4, -0.6)
    axes[1].set_xlim(0, 80)
    axes[1].set_xlabel("% below")
    axes[0].legend(frameon=False, fontsize="small")
    axes[1].legend(frameon=False, fontsize="small", loc="upper right")
    figure.savefig(picture, metadata={"Software": None})


def _published(load: float, with_paths: bool, sets: dict[str, Any]) -> list[Result]:
    """Figure 9's runs with 50,000 flows of the published simulation, on the hosts that judge it.
    All flows of a pair take its first connection's path; ACKs' paths are drawn."""
    text = (library.SCENARIOS / "mqecn-fig9.toml").read_text()
    begin, end = text.index("[[traffic]]"), text.index("[measure]")
    traffic = '[[traffic]]\nkind = "list"\nfile = "flows.csv"\nconnections = "persistent"\n\n'
    text = re.sub(r"(?m)^load = .*$", "", text[:begin] + traffic + text[end:])
    with tempfile.TemporaryDirectory() as folder:
        services = int(sets.get("switch.queues", 8))
        flows = Path(folder) / "flows.csv"
        published.write(flows, load, services, 50_000, paths=with_paths)
        scenario = Path(folder) / "fig9.toml"
        scenario.write_text(text)
        # What the scenario's own hosts differ by from published.toml's, and the range's middle.
        declared = {"transport.slow_start": "acks", "transport.lost_in_flight": True}
        return runs(scenario, declared | {"host.jitter": "447ns"} | sets)


def _differences(found: dict[str, Result]) -> list[float]:
    """What the schemes differ by, in percent of the larger time."""
    fct = {name: run.summary()["fct"] for name, run in found.items()}

    def below(of: str, base: str, size: str, value: str = "mean_us") -> float:
        return 100 * (1 - float(fct[of][size][value]) / float(fct[base][size][value]))

    return [
        below("MQ-ECN", "Standard", "all"),
        below("MQ-ECN", "Standard", "small"),
        below("MQ-ECN", "Standard", "small", "p99_us"),
        below("Minimum", "MQ-ECN", "small"),
        below("MQ-ECN", "Minimum", "all"),
        below("MQ-ECN", "Minimum", "large"),
    ]


if __name__ == "__main__":
    main(
        __file__,
        [
            queues,
            services,
            loads,
            round_trips,
            testbed,
            segments,
            more_flows,
            no_buffer,
            base,
            parameters,
            paths,
        ],
    )
