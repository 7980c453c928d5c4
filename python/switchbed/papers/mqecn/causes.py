"""What explains the claims of the MQ-ECN paper that do not hold; see README.md."""

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from switchbed import library
from switchbed._native import Mistake
from switchbed.papers.mqecn import published
from switchbed.papers.reproduce import page
from switchbed.papers.reproduce.causes import COLOURS, claims_by, main, panels, runs, table
from switchbed.papers.reproduce.claims import papers
from switchbed.papers.reproduce.rows import number
from switchbed.result import Result

LOADS = (0.4, 0.8)
SIZES = ("all", "small", "medium", "large")
OFFLOADS: dict[str, Any] = {"host.lso": True, "host.merge_packets": 5}


def queues(_: Path) -> str:
    """Figure 1 on the declared hosts, by the base round-trip time."""
    settings = {
        "as they are": (),
        "base RTT 60 µs": ("topology.delay=15us",),
        "base RTT 40 µs": ("topology.delay=10us",),
        "20 KB as threshold": ("scheme.params.threshold=20KB",),
    }
    return claims_by("mqecn", "fig1", settings, seeds=3)


def services(_: Path) -> str:
    """Figure 3 on the declared hosts: how unevenly one flow and several share."""
    settings = {
        "as they are": (),
        "no LSO": ("host.lso=false",),
        "an ACK for each packet": ("transport.ack_every=1",),
        "nothing merged": ("host.merge_packets=1",),
    }
    return claims_by("mqecn", "fig3", settings, seeds=4)


def rtt(picture: Path) -> str:
    """Figure 1: the probes' round-trip time with one queue and with eight."""
    settings: dict[str, dict[str, Any]] = {
        "offloads, base RTT 100 µs": OFFLOADS,
        "no offloads": {},
        "offloads, base RTT 75 µs": OFFLOADS | {"topology.delay": "18.75us"},
        "offloads, base RTT 50 µs": OFFLOADS | {"topology.delay": "12.5us"},
        "no offloads, base RTT 75 µs": {"topology.delay": "18.75us"},
        "no offloads, base RTT 50 µs": {"topology.delay": "12.5us"},
        "no offloads, marks at dequeue": {"scheme.params.mark_at": "dequeue"},
        "no offloads, an ACK for two packets": {
            "transport.ack_every": 2,
            "transport.ack_delay": "1ms",
        },
        "no offloads, g = 1/4": {"transport.g": 0.25},
        "no offloads, jitter 12 µs": {"host.jitter": "12us"},
        "no offloads, 75 µs, threshold 17": {
            "topology.delay": "18.75us",
            "scheme.params.threshold": "17pkt",
        },
        "offloads, 75 µs, threshold 18": OFFLOADS
        | {"topology.delay": "18.75us", "scheme.params.threshold": "18pkt"},
    }
    shown = ("offloads, base RTT 100 µs", "offloads, 75 µs, threshold 18")
    figure, axes = panels("Figure 1: round-trip times; dotted: the paper's averages", 2)
    rows: list[list[object]] = [["paper", 279.0, 375.0, 1582.0, 1850.0, 5.67, 4.93]]
    for name, sets in settings.items():
        common: dict[str, Any] = {
            "compare.traffic.0.classes": [[0], list(range(8))],
            "host.jitter": "1us",
            "run.until": "3s",
        }
        one, eight = runs("@mqecn-fig1", common | sets)
        found = [
            run.summary()["probes"][0][key] for run in (one, eight) for key in ("mean_us", "p99_us")
        ]
        rows.append([name, *found, found[2] / found[0], found[3] / found[1]])
        if name in shown:
            at = axes[shown.index(name)]
            for index, (run, queues) in enumerate(((one, "1 queue"), (eight, "8 queues"))):
                times = 1e6 * run.probes["rtt_s"].drop_nulls().sort()
                parts = [place / len(times) for place in range(len(times))]
                at.plot(times, parts, color=COLOURS[index], label=queues)
                at.axvline((279, 1582)[index], color=COLOURS[index], linestyle=":")
            at.set_title(name, fontsize="small")
            at.set_xlabel("round-trip time (µs)")
    axes[0].set_ylabel("cumulative share")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["hosts", "1 queue, µs", "99th percentile", "8 queues, µs", "99th percentile"]
    return table([*head, "ratio", "of the 99th percentiles"], rows)


def small(picture: Path) -> str:
    """Figure 2: what small and other flows gain with 16 packets instead of 2."""
    settings: dict[str, dict[str, Any]] = {
        "no offloads": {},
        "segmentation offload": {"host.lso": True},
        "… and receive offload": OFFLOADS,
        "… bursts after cuts": OFFLOADS | {"host.lso_after_cut": True},
        "… base RTT 250 µs": OFFLOADS | {"host.delay": "37.5us"},
        "… an ACK for two packets": OFFLOADS
        | {"transport.ack_every": 2, "transport.ack_delay": "1ms"},
        "… g = 1/4": OFFLOADS | {"transport.g": 0.25},
        "… windows kept when idle": OFFLOADS | {"transport.restart": "keep"},
        "no offloads, base RTT 250 µs": {"host.delay": "37.5us"},
    }
    rows = []
    for name, sets in settings.items():
        common = {"flows": 2000, "compare.load": list(LOADS), "compare.seed": [1]}
        found: dict[tuple[float, str], dict[str, Any]] = {}
        for run in runs("@mqecn-fig2", common | {"measure.queues": "off"} | sets):
            load, label = run.scenario["traffic"][0]["load"], run.scenario["scheme"]["label"]
            found[load, label] = run.summary()["fct"]
        row: list[object] = [name]
        for size in SIZES:
            for load in LOADS:
                with_16, with_2 = (found[load, f"{k} packets"][size]["mean_us"] for k in (16, 2))
                row.append(f"{100 * (1 - with_16 / with_2):.0f}")
        rows.append(row)
    _busy_queue(picture, settings)
    head = [f"{size}, {load}" for size in SIZES for load in LOADS]
    return table(["hosts (% lower with 16 packets, by load)", *head], rows)


def _busy_queue(picture: Path, settings: dict[str, dict[str, Any]]) -> None:
    """Draws the queue with a threshold of 2 packets at load 0.8."""
    figure, axes = panels("Figure 2, load 0.8: the busy queue with a threshold of 2 packets", 3)
    shown = ("no offloads", "… and receive offload", "… base RTT 250 µs")
    traced = {
        "flows": 2000,
        "compare.load": [0.8],
        "compare.seed": [1],
        "run.until": "2.1s",
        "measure.series_every": "20us",
    }
    for index, name in enumerate(shown):
        _, run = runs("@mqecn-fig2", traced | settings[name])
        series = run.series.filter(run.series["queue"] == 0)
        at = axes[index]
        at.plot(1e3 * series["time_s"], series["bytes"] / 1500, color=COLOURS[index], linewidth=0.8)
        at.set_xlabel("time (ms)")
        at.set_xlim(2000, 2040)
        at.set_ylim(0, 20)
        at.set_title(
            name.replace("… and", "segmentation and").replace("…", "both,"), fontsize="small"
        )
    axes[0].set_ylabel("queue (packets)")
    figure.savefig(picture, metadata={"Software": None})


def port(picture: Path) -> str:
    """Figure 3: goodput of one flow and of four under a threshold for the port."""
    figure, axes = panels("Figure 3 at 1 : 4: the port's queue, threshold 16 packets", 2)
    settings: dict[str, dict[str, Any]] = {
        "no offloads": {},
        "segmentation offload": {"host.lso": True},
        "… of 16 KB at most": {"host.lso": True, "host.lso_max": "16KB"},
        "… of a sixth of the window": {"host.lso": True, "host.lso_beta": 1 / 6},
        "… bursts after cuts": {"host.lso": True, "host.lso_after_cut": True},
        "receive offload alone": {"host.merge_packets": 5},
        "both": OFFLOADS,
        "both, base RTT 250 µs": OFFLOADS | {"host.delay": "37.5us"},
        "an ACK for two packets": {"transport.ack_every": 2, "transport.ack_delay": "1ms"},
        "no offloads, jitter 12 µs": {"host.jitter": "12us"},
    }
    rows = []
    for name, sets in settings.items():
        common = {
            "compare.traffic.1.flows_each": [4],
            "host.jitter": "1us",
            "run.until": "4s",
            "measure.series_every": "100us",
        }
        (run,) = runs("@mqecn-fig3", common | sets)
        one, four = (of["goodput_bps"] / 1e6 for of in run.summary()["classes"])
        rows.append([name, f"{one:.0f}", f"{four:.0f}", four / one])
        shown = ("no offloads", "both")
        if name in shown:
            at = axes[shown.index(name)]
            for index, words in ((0, "one flow's queue"), (1, "four flows' queue")):
                series = run.series.filter(run.series["queue"] == index)
                at.plot(
                    1e3 * series["time_s"],
                    series["bytes"] / 1500,
                    color=COLOURS[index],
                    linewidth=0.8,
                    label=words,
                )
            at.set_xlim(2000, 2050)
            at.set_ylim(0, 40)
            at.set_title(name, fontsize="small")
            at.set_xlabel("time (ms)")
    axes[0].set_ylabel("queue (packets)")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["one flow, Mbps", "four flows", "ratio (paper: 1.34)"]
    return table(["hosts", *head], rows)


def tail(picture: Path) -> str:
    """Figure 8: small flows' 99th percentile and their timeouts, at 5,000 flows."""
    figure, axes = panels("Figure 8, load 0.5: the slowest two in a hundred small flows", 2)
    settings = {"with offloads": OFFLOADS, "no offloads": {}}
    rows = []
    for index, (name, sets) in enumerate(settings.items()):
        common: dict[str, Any] = {
            "traffic.shares": [0.1, 0.2, 0.3, 0.4],
            "compare.load": [0.5, 0.7],
            "compare.seed": [1],
            "flows": 5000,
            "measure.queues": "off",
        }
        for run in runs("@mqecn-fig7", common | sets):
            load, scheme = run.scenario["traffic"][0]["load"], run.scenario["scheme"]["label"]
            flows = run.flows.filter(run.flows["size_bytes"] <= 100_000).sort("fct_s")
            times = 1e3 * flows["fct_s"]
            waited = 100 * number((flows["timeouts"] > 0).mean() or 0)
            p99 = float(times.quantile(0.99) or 0)
            rows.append([name, load, scheme, waited, p99, number(times.mean() or 0)])
            if load == 0.5 and scheme != "Minimum":
                first = int(0.98 * len(times))
                parts = [100 * i / len(times) for i in range(first, len(times))]
                colour = COLOURS[int(scheme == "MQ-ECN")]
                axes[index].plot(times[first:], parts, color=colour, label=scheme)
                axes[index].axhline(99, color="grey", linewidth=0.8)
                axes[index].axvline(10, color="grey", linestyle=":")
                axes[index].set_xlim(0, 30)
                axes[index].set_title(name, fontsize="small")
                axes[index].set_xlabel("FCT (ms); dotted: the minimum RTO")
    axes[0].set_ylabel("small flows (%)")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["hosts", "load", "scheme", "small flows with a timeout, %"]
    return table([*head, "99th percentile, ms", "average"], rows)


def testbed(picture: Path) -> str:
    """Figures 7 and 8: how far MQ-ECN is below the standard threshold, with and without the hosts'
    offloads, in the mean of three seeds."""
    figures: dict[str, tuple[dict[str, Any], tuple[float, float, float]]] = {
        "fig7": ({}, (2.85, 61.3, 72.8)),
        "fig8": ({"traffic.shares": [0.1, 0.2, 0.3, 0.4]}, (1.65, 42.9, 71.3)),
    }
    sizes = (("all", "mean_us"), ("small", "mean_us"), ("small", "p99_us"))
    names = ("all flows", "small", "small, 99th percentile")
    figure, axes = panels("Small flows' average below the standard threshold's; grey: paper", 2)
    rows: list[list[object]] = []
    for place, (name, (shares, paper)) in enumerate(figures.items()):
        rows.append([f"{name}, paper", "up to", "", *paper])
        axes[place].axhline(paper[1], color="grey", linewidth=0.8)
        for index, (hosts, sets) in enumerate((("offloads", OFFLOADS), ("no offloads", {}))):
            below = []
            for load in (0.5, 0.7, 0.9):
                found = _testbed(load, shares | sets)
                of, base = (
                    [
                        np.mean([run.summary()["fct"][size][value] for run in found[scheme]])
                        for size, value in sizes
                    ]
                    for scheme in ("MQ-ECN", "Standard")
                )
                waited = np.mean(
                    [(run.flows["timeouts"] > 0).mean() or 0 for run in found["Standard"]]
                )
                lower = [100 * (1 - float(a / b)) for a, b in zip(of, base, strict=True)]
                rows.append([f"{name}, {hosts}", load, 100 * float(waited), *lower])
                below.append(lower[1])
            axes[place].plot((0.5, 0.7, 0.9), below, "o-", color=COLOURS[index], label=hosts)
        axes[place].set_title(name, fontsize="small")
        axes[place].set_xlabel("load")
        axes[place].set_ylim(0, 80)
    axes[0].set_ylabel("% below")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["hosts", "load", "flows with a timeout, Standard, %", *(f"{n}, % below" for n in names)]
    return table(head, rows)


def _testbed(load: float, sets: dict[str, Any]) -> dict[str, list[Result]]:
    """Three runs of figure 7 with the standard threshold and three with MQ-ECN."""
    common: dict[str, Any] = {
        "compare.scheme": [
            {"name": "per-queue", "label": "Standard"},
            {"name": "mq-ecn", "label": "MQ-ECN", "params": {"beta": 0.75, "t_idle": "12us"}},
        ],
        "compare.load": [load],
        "compare.seed": [1, 2, 3],
        "measure.queues": "off",
    }
    found: dict[str, list[Result]] = {}
    for run in runs("@mqecn-fig7", common | sets):
        found.setdefault(run.scenario["scheme"]["label"], []).append(run)
    return found


def base(picture: Path) -> str:
    """Figures 9 to 11: what the divided threshold and MQ-ECN differ by, in percent of the smaller
    time and of the larger one. It runs nothing: it reads the committed rows."""
    claims = {
        "fig9.small_vs_min": 24.3,
        "fig10.small_vs_min": 26.4,
        "fig10.large_min90": 13.2,
        "fig11": 35.7,
    }
    found = page.committed(papers()["mqecn"])
    measured = {claim: found[f"mqecn.{claim}"].measured for claim in claims}
    figure, (axes,) = panels("Figures 9 to 11, load 0.9: the two schemes' difference", 1)
    rows: list[list[object]] = []
    for place, (claim, paper) in enumerate(claims.items()):
        above = measured[claim]
        if above is None:
            raise Mistake(f"mqecn.{claim} has not run on its hosts: switchbed reproduce --commit")
        below = 100 * (1 - 1 / (1 + above / 100))
        rows.append([claim, paper, above, below])
        axes.plot(paper, place, "|", color="black", markersize=24, label="paper")
        axes.plot(above, place, "s", color=COLOURS[0], label="% of the smaller time")
        axes.plot(below, place, "o", color=COLOURS[1], label="% of the larger time")
        if place == 0:
            axes.legend(frameon=False, fontsize="small", loc="upper right")
    axes.set_yticks(range(len(claims)), list(claims))
    axes.set_xlim(0, 90)
    axes.set_ylim(len(claims) - 0.4, -0.6)
    axes.set_xlabel("difference (%)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["claim", "paper, %", "measured, % of the smaller time", "% of the larger time"]
    return table(head, rows)


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
    return table(["load 0.9", *head, *larger], digits)


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
    """Figure 9's runs with 50,000 flows of the published simulation. All flows of a pair take its
    first connection's path; ACKs' paths are drawn."""
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
        return runs(scenario, sets)


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
    main(__file__, [queues, services, rtt, small, port, tail, testbed, base, paths])
