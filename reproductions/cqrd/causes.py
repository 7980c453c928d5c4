"""What explains the claims of the CQRD paper that do not hold; see README.md."""

from pathlib import Path
from typing import Any

import polars as pl

from switchbed.reproduce.causes import COLOURS, main, panels, queue, runs, table
from switchbed.result import Result

HERE = Path(__file__).parent
SCENARIOS = HERE.parents[1] / "scenarios"
SCHEMES = ("oq", "hcf", "cq", "cqrd")


def toy(picture: Path) -> str:
    """Figure 2: what the two large flows get, and what small ones wait for under HCF."""
    common = {"compare.transport.rto_initial": ["200us"]}
    watched = {
        "measure.convergence": {"port": "switch:7", "window": "2ms"},
        "measure.queues": ["switch:7"],
    }
    variations: dict[str, dict[str, Any]] = {
        "as it is": watched,
        "1 µs of jitter in hosts": {"host.jitter": "1us"},
        "windows of 20 packets, ns-2's default": {"transport.receive_window": 20},
        "packets of 1000 bytes": {"host.mtu": "1040B", "transport.mss": "1000B"},
        "NewReno": {"transport.sack_blocks": 0},
        "initial window 10": {"transport.initial_window": 10},
        "an ACK for two packets": {"transport.ack_every": 2, "transport.ack_delay": "100us"},
        "links of 1 µs": {"topology.delay": "1us"},
        "minimum RTO 10 ms": {"transport.rto_min": "10ms"},
        "twice the memory": {"switch.memory": "576KB"},
    }
    figure, axes = panels("Figure 2: goodput of the two large flows", 2)
    rows = []
    for name, sets in variations.items():
        row: list[object] = [name]
        small, mean, done = {}, {}, {}
        for run in runs(HERE / "fig2.toml", common | sets):
            scheme = run.scenario["scheme"]["name"]
            large = run.flows.filter(run.flows["size_bytes"] > 1_000_000)["fct_s"]
            small[scheme] = run.summary()["fct"]["small"]["mean_us"]
            mean[scheme], done[scheme] = 1e3 * sum(large) / 2, 1e3 * max(large)
            if name == "as it is" and scheme in ("oq", "cqrd"):
                at = axes[("oq", "cqrd").index(scheme)]
                rates = run.table("rates")
                for index, row_number in enumerate((0, 1)):
                    one = rates.filter(rates["row"] == row_number)
                    at.plot(1e3 * one["time_s"], one["rate_bps"] / 1e9, color=COLOURS[index])
                at.set_title(scheme, fontsize="small")
                at.set_xlabel("time (ms)")
                at.set_ylim(0, 10.5)
        row += [f"{mean[s]:.0f}" for s in SCHEMES] + [f"{done[s]:.0f}" for s in SCHEMES]
        rows.append([*row, *(f"{small[s]:,.0f}" for s in ("hcf", "cq"))])
    axes[0].set_ylabel("goodput (Gbps)")
    figure.savefig(picture, metadata={"Software": None})
    head = [f"large, {s}, ms" for s in SCHEMES] + [f"both done, {s}" for s in SCHEMES]
    return table(["setting", *head, "small, hcf, µs", "small, cq"], rows)


def giants(picture: Path) -> str:
    """Figure 6: how many flows meet a giant one, on the switch of figure 8."""
    common: dict[str, Any] = {
        "compare.scheme": ["cqrd"],
        "compare.seed": [1],
        "compare.load": [0.1],
    }
    variations: dict[str, dict[str, Any]] = {
        "as it is": {"compare.load": [0.1, 0.4, 0.7]},
        "under OQ": {"compare.scheme": ["oq"]},
        "shorter tail": {"traffic.0.sizes": "cqrd-assumed-short-tail"},
        "VL2's table": {"traffic.0.sizes": "data-mining"},
        "σ = 1": {"traffic.0.sigma": 1},
        "σ = 4": {"traffic.0.sigma": 4},
        "minimum RTO 10 ms": {"transport.rto_min": "10ms"},
        "windows of 20 packets": {"transport.receive_window": 20},
        "windows of 4 packets": {"transport.receive_window": 4},
    }
    figure, axes = panels("Figure 6: flows that meet a giant one", 1)
    rows: list[list[Any]] = []
    line = []
    for name, sets in variations.items():
        for run in runs(SCENARIOS / "cqrd-fig8.toml", common | sets):
            load = run.scenario["traffic"][0]["load"]
            met = 100 * float((run.flows["met"] != "nothing").sum()) / len(run.flows)
            giant = run.flows.filter(run.flows["size_bytes"] > 1_000_000)
            under_way = float(giant["fct_s"].sum()) / 24 / float(run.summary()["simulated_s"])
            rows.append([name, load, 100 * len(giant) / len(run.flows), under_way, met])
            if name == "as it is":
                line.append((load, met))
    axes[0].plot(*zip(*line, strict=True), "o-", color=COLOURS[0], label="measured")
    axes[0].plot([0, 1], [0, 100], ":", color="grey", label="share of time in use")
    axes[0].axhline(80, color=COLOURS[1], linewidth=0.8, label="paper")
    axes[0].set_xlabel("load")
    axes[0].set_ylabel("flows (%)")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    return table(["setting", "load", "giants, %", "under way at an output", "flows met, %"], rows)


def windows(picture: Path) -> str:
    """Figures 11, 12 and 15: where small flows wait, at load 0.1 and 3,000 flows."""
    settings: dict[str, dict[str, Any]] = {
        "windows of 4096 packets, 1,000 in the card": {},
        "a card of 50 packets": {"host.nic_buffer": "50pkt"},
        "a card that loses nothing": {"host.nic_buffer": "100000pkt"},
        "windows of 256": {"transport.receive_window": 256},
        "windows of 64": {"transport.receive_window": 64},
        "windows of 20, ns-2's default": {"transport.receive_window": 20},
        "cards with the switches' queue": {"host.nic": "switch"},
    }
    figure, axes = panels("Figure 11, load 0.1: small flows' average by windows", 2)
    rows: list[list[Any]] = []
    found: dict[str, list[float]] = {}
    for name, sets in settings.items():
        small, p99 = {}, {}
        lost: dict[str, tuple[int, int]] = {}
        tree = {"flows": 3000, "compare.load": [0.1]}
        for run in runs(SCENARIOS / "cqrd-fig11.toml", tree | sets):
            scheme, fct = run.scenario["scheme"]["name"], run.summary()["fct"]["small"]
            small[scheme], p99[scheme] = fct["mean_us"], fct["p99_us"]
            lost[scheme] = _lost(run)
        dctcp = {"flows": 3000, "compare.scheme": ["oq"], "compare.transport.g": [0.0625]}
        (run,) = runs(HERE / "fig15.toml", dctcp | sets)
        small["dctcp oq"] = run.summary()["fct"]["small"]["mean_us"]
        below = [100 * (1 - small["cqrd"] / small[s]) for s in ("oq", "hcf", "cq")]
        tail = 100 * (1 - p99["cqrd"] / p99["oq"])
        ecn = 100 * (1 - small["dctcp oq"] / small["oq"])
        rows.append(
            [name, small["oq"], *(round(b) for b in below), round(tail), round(ecn), *lost["oq"]]
        )
        for scheme, value in small.items():
            found.setdefault(scheme, []).append(value)
    places = range(len(settings))
    for index, scheme in enumerate(("oq", "hcf", "cq", "cqrd", "dctcp oq")):
        axes[0].plot(found[scheme], places, "osv^D"[index], color=COLOURS[index], label=scheme)
    axes[0].set_yticks(places, list(settings), fontsize="x-small")
    axes[0].set_xscale("log")
    axes[0].set_xticks([200, 500, 1000, 2000, 5000], ["200", "500", "1,000", "2,000", "5,000"])
    axes[0].set_xticks([], minor=True)
    axes[0].set_xlabel("small flows' average FCT (µs)")
    axes[0].legend(frameon=False, fontsize="x-small")
    axes[0].grid(alpha=0.3, axis="x")
    cards, switches = ([float(row[-2 + i]) for row in rows] for i in (0, 1))
    axes[1].barh(places, cards, color=COLOURS[4], label="in cards")
    axes[1].barh(places, switches, left=cards, color=COLOURS[0], label="in switches")
    axes[1].set_yticks(places, [""] * len(places))
    axes[1].set_xlabel("packets lost under OQ")
    axes[1].legend(frameon=False, fontsize="x-small")
    figure.savefig(picture, metadata={"Software": None})
    head = [
        "hosts",
        "OQ, µs",
        "CQRD below OQ, %",
        "HCF",
        "CQ",
        "p99 below OQ's",
        "DCTCP below TCP, OQ",
    ]
    return table([*head, "lost in cards, OQ", "in switches"], rows)


def _lost(run: Result) -> tuple[int, int]:
    """Packets lost in hosts' cards, and in switches."""
    card = pl.col("port").str.starts_with("host")
    reasons = [name for name in run.counters.columns if name.startswith("drops_")]
    lost = run.counters.select("port", lost=pl.sum_horizontal(reasons))
    return int(lost.filter(card)["lost"].sum()), int(lost.filter(~card)["lost"].sum())


def memory(picture: Path) -> str:
    """Figure 14: CQRD by the switches' memory, at 2,000 flows."""
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "minimum RTO 5 ms": {"transport.rto_min": "5ms"},
        "windows of 64 packets": {"transport.receive_window": 64},
        "both": {"transport.receive_window": 64, "transport.rto_min": "5ms"},
    }
    figure, axes = panels("Figure 14: small flows under CQRD", 1)
    rows = []
    for index, (name, sets) in enumerate(settings.items()):
        line = []
        for run in runs(HERE / "fig14.toml", {"flows": 2000, "compare.scheme": ["cqrd"]} | sets):
            kb = _kilobytes(run.scenario["switch"]["memory"]) / 24
            fct = run.summary()["fct"]["small"]
            small = run.flows.filter(run.flows["size_bytes"] <= 100_000)
            line.append((kb, fct["mean_us"]))
            rows.append(
                [name, kb, fct["mean_us"], fct["p99_us"], small["timeouts"].sum(), *_lost(run)]
            )
        axes[0].plot(*zip(*line, strict=True), "o-", color=COLOURS[index], label=name)
    axes[0].set_xlabel("memory an output (KB)")
    axes[0].set_ylabel("average FCT (µs)")
    axes[0].set_ylim(bottom=0)
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["hosts", "KB an output", "average, µs", "p99", "small flows' timeouts", "lost in cards"]
    return table([*head, "in switches"], rows)


def victims(picture: Path) -> str:
    """Figure 8 at load 0.4: what random drop changes for small flows, at 3,000 flows."""
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "minimum RTO 1 ms": {"transport.rto_min": "1ms"},
        "minimum RTO 5 ms": {"transport.rto_min": "5ms"},
        "four times the memory": {"switch.memory": "20MB"},
        "cards with the switch's queue": {"host.nic": "switch"},
        "windows of 64 packets": {"transport.receive_window": 64},
    }
    common: dict[str, Any] = {
        "flows": 3000,
        "compare.scheme": ["cq", "cqrd"],
        "compare.load": [0.4],
        "compare.seed": [1, 2, 3, 4, 5, 6],
        "measure.queues": "off",
    }
    figure, axes = panels("Figure 8, load 0.4: CQRD's average below CQ's, by seed", 1)
    rows = []
    for place, (name, sets) in enumerate(settings.items()):
        mean: dict[str, list[float]] = {"cq": [], "cqrd": []}
        lost: dict[str, list[float]] = {"cq": [], "cqrd": []}
        waited: dict[str, list[float]] = {"cq": [], "cqrd": []}
        for run in runs(SCENARIOS / "cqrd-fig8.toml", common | sets):
            scheme = run.scenario["scheme"]["name"]
            small = run.flows.filter(run.flows["size_bytes"] <= 100_000)
            mean[scheme].append(run.summary()["fct"]["small"]["mean_us"])
            lost[scheme].append(100 * float((small["retransmissions"] > 0).mean() or 0))
            waited[scheme].append(100 * float((small["timeouts"] > 0).mean() or 0))
        below = [100 * (1 - b / a) for a, b in zip(mean["cq"], mean["cqrd"], strict=True)]
        rows.append(
            [name, sum(mean["cq"]) / 6, sum(below) / 6, f"{min(below):.0f} to {max(below):.0f}"]
        )
        rows[-1] += [sum(of[s]) / 6 for of in (lost, waited) for s in ("cq", "cqrd")]
        axes[0].plot(below, [place] * 6, "o", color=COLOURS[0], alpha=0.6)
    axes[0].axvspan(5, 7, color="grey", alpha=0.3)
    axes[0].axvline(0, color="grey", linewidth=0.8)
    axes[0].set_yticks(range(len(settings)), list(settings), fontsize="x-small")
    axes[0].set_xlabel("% below (grey: paper)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["setting", "CQ, µs", "CQRD below, %", "six seeds"]
    what = [f"{words}, {s}" for words in ("resend, %", "time out, %") for s in ("CQ", "CQRD")]
    return table([*head, *what], rows)


def _kilobytes(text: str) -> float:
    return float(text[:-2]) * (1000 if text.endswith("MB") else 1)


def testbed(picture: Path) -> str:
    """Figure 16: the two long flows' windows decide how long OQ's queue is."""
    figure, axes = panels("Figure 16: how full the long flows keep the switch", 2)
    rows = []
    found: dict[str, list[tuple[int, float]]] = {}
    for window in (4096, 360, 90, 43, 22, 11):
        sets = {
            "transport.receive_window": window,
            "measure.queues": ["switch:0"],
            "measure.series_every": "2ms",
        }
        small = {}
        for run in runs(HERE / "fig16.toml", sets):
            scheme = run.scenario["scheme"]["name"]
            small[scheme] = run.summary()["fct"]["small"]["mean_us"]
            found.setdefault(scheme, []).append((window, small[scheme]))
            if scheme == "oq":
                mean = float(run.summary()["bottleneck"]["mean_bytes"]) / 1000
                if window in (4096, 90, 11):
                    colour = COLOURS[(4096, 90, 11).index(window)]
                    queue(axes[0], run, 1000, color=colour, label=f"{window} packets")
        ours = small["cqrd-configured"]
        below = [100 * (1 - ours / small[scheme]) for scheme in ("oq", "cq")]
        rows.append([window, mean, small["oq"], small["cq"], ours, *below])
    axes[0].set_xlim(5_000, 10_000)
    axes[0].set_ylabel("OQ's queue (KB)")
    axes[0].legend(frameon=False, fontsize="small", title="window")
    for index, (scheme, line) in enumerate(found.items()):
        axes[1].plot(*zip(*line, strict=True), "o-", color=COLOURS[index], label=scheme)
    axes[1].set_xscale("log")
    axes[1].set_yscale("log")
    axes[1].set_xlabel("window of the long flows (packets)")
    axes[1].set_ylabel("small flows' average FCT (µs)")
    axes[1].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["window", "OQ's mean queue, KB", "small, OQ, µs", "CQ", "configured"]
    return table([*head, "configured below OQ, %", "below CQ, %"], rows)


if __name__ == "__main__":
    main(__file__, [toy, giants, windows, memory, victims, testbed])
