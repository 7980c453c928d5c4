"""What explains the claims of the CQRD paper that do not hold; see README.md."""

import tempfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from switchbed import library, stats
from switchbed.result import Result
from switchbed_papers.reproduce.causes import (
    COLOURS,
    claims_by,
    claims_read,
    main,
    panels,
    queue,
    runs,
    table,
    windows_of,
)
from switchbed_papers.reproduce.claims import papers
from switchbed_papers.reproduce.rows import number

HERE = Path(__file__).parent
SCHEMES = ("oq", "hcf", "cq", "cqrd")
HOSTS: dict[str, dict[str, Any]] = {
    "windows of 4096 packets, 1,000 in the card": {},
    "a card of 50 packets": {"host.nic_buffer": "50pkt"},
    "a card that loses nothing": {"host.nic_buffer": "100000pkt"},
    "windows of 256": {"transport.receive_window": 256},
    "windows of 64": {"transport.receive_window": 64},
    "windows of 20, ns-2's default": {"transport.receive_window": 20},
    "cards with the switches' queue": {"host.nic": "switch"},
}
"""What the paper leaves open of hosts."""


def toy_on_hosts(_: Path) -> str:
    """Figure 2 on the declared hosts: what makes OQ's small flows wait so long."""
    settings = {
        "as they are": (),
        "timeouts of 5 ms at least": ("transport.rto_initial=5ms", "transport.rto_min=5ms"),
        "timeouts of 10 ms at least": ("transport.rto_initial=10ms", "transport.rto_min=10ms"),
        "timeouts of 20 ms at least": ("transport.rto_initial=20ms", "transport.rto_min=20ms"),
        "timeouts of 200 ms at least": ("transport.rto_initial=1s", "transport.rto_min=200ms"),
        "windows of 64 packets": ("transport.receive_window=64",),
        "packets of 1,500 bytes": ("transport.mss=1460B",),
        "twice the memory": ("switch.memory=576KB",),
        "four times the memory": ("switch.memory=1152KB",),
    }
    return claims_by("cqrd", "fig2", settings, seeds=12)


# What was tried of the declared hosts' settings.
TIMEOUTS = ("transport.rto_initial=5ms", "transport.rto_min=5ms")
WINDOWS = ("transport.receive_window=64",)
TRIED = {
    "as they are": (),
    "timeouts of 5 ms at least": TIMEOUTS,
    "windows of 64 packets": WINDOWS,
}


def met_on_hosts(_: Path) -> str:
    """Figure 9 on the declared hosts."""
    return claims_by("cqrd", "fig9", TRIED, seeds=12)


def by_load(_: Path) -> str:
    """Figures 8, 11 to 13 and 15 at each load alone, on all hosts, from the committed rows."""

    def at(load: float) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        def reading(measure: Mapping[str, Any]) -> dict[str, Any]:
            where = {**measure.get("where", {}), "load": load}
            return {**measure, "where": where, "at": "every"}

        return reading

    readings = {f"at load {load}": at(load) for load in (0.1, 0.4, 0.7)}
    claims = papers()["cqrd"].claims
    tables = []
    for figure in ("fig8", "fig11", "fig13", "fig15"):
        names = [
            claim.id
            for claim in claims.values()
            if claim.experiment == figure and claim.id not in ("cqrd.fig12.path", "cqrd.fig13.more")
        ]
        tables.append(claims_read("cqrd", names, readings, ("linux-6.x", "ideal")))
    # Of load 0.1 alone, as it is.
    path = {"at load 0.1": lambda measure: measure}
    tables.append(claims_read("cqrd", ["cqrd.fig12.path"], path, ("linux-6.x", "ideal")))
    return "\n".join(tables)


def memory_on_hosts(_: Path) -> str:
    """Figure 14 on the declared hosts."""
    return claims_by("cqrd", "fig14", {**TRIED, "both": (*TIMEOUTS, *WINDOWS)}, seeds=3)


def memory_by_timeout(_: Path) -> str:
    """Figure 14 with a packet a crosspoint, by the least timeout."""
    only = 'compare.switch.buffer=["36KB", "400KB"]'
    settings = {
        f"timeouts of {least} at least": (
            only,
            f"transport.rto_initial={least.replace(' ', '')}",
            f"transport.rto_min={least.replace(' ', '')}",
        )
        for least in ("200 us", "1 ms", "5 ms")
    }
    return claims_by("cqrd", "fig14", settings, seeds=8, only=["cqrd.fig14.sharp"])


def testbed_on_hosts(_: Path) -> str:
    """Figure 16 on the declared hosts, by how long their windows are."""
    windows = (11, 16, 22, 43, 60, 62, 63, 64, 65, 66, 72, 90)
    settings = {f"windows of {n} packets": (f"transport.receive_window={n}",) for n in windows}
    return claims_by("cqrd", "fig16", {"as they are": (), **settings}, seeds=12)


def dctcp_on_hosts(_: Path) -> str:
    """Figure 15 at load 0.4 on the declared hosts, by how long their windows are
    and by the threshold, a part of the memory."""
    names = [f"cqrd.fig15.{what}" for what in ("cq", "tcp")]
    load, plain = "compare.load=[0.4]", "transport.ecn_acks=false"
    long, threshold = (load, *windows_of(4096)), "scheme.params.ecn_threshold"
    settings = {
        "as they are": (load,),
        "ACKs not ECN-capable": (load, plain),
        "windows of 64 packets": (load, *windows_of(64)),
        "windows of 256 packets": (load, *windows_of(256)),
        "windows of 4,096 packets": long,
        "… and ACKs not ECN-capable": (*long, plain),
        "… and cards that only queue": (*long, plain, "host.nic=fifo"),
        "… and cards that lose nothing": (*long, plain, "host.nic=unlimited"),
        "windows of 4,096 packets, timeouts of 5 ms at least": (*long, *TIMEOUTS),
        "windows of 4,096 packets, a threshold of 0.1": (*long, f"{threshold}=0.1"),
        "a threshold of 0.02": (load, f"{threshold}=0.02"),
        "a threshold of 0.01": (load, f"{threshold}=0.01"),
    }
    return claims_by("cqrd", "fig15", settings, seeds=12, only=names)


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


def hcf(picture: Path) -> str:
    """Figure 2: what small flows wait for under HCF, by when they start."""
    figure, axes = panels("Figure 2 under HCF", 2)
    rows: list[list[Any]] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    for rto_min in ("200us", "1ms"):
        found: dict[str, list[list[Any]]] = {"hcf": [], "cq": []}
        for step in range(20):
            start_ms = 4 + 0.1 * step
            sets: dict[str, Any] = {
                "compare.scheme": ["hcf", "cq"],
                "compare.transport.rto_initial": [rto_min],
                "transport.rto_min": rto_min,
                "run.until": "60ms",
                "measure.series_every": "10us",
            }
            for run in _toy_from(start_ms, sets):
                scheme = run.scenario["scheme"]["name"]
                small = run.flows.filter(run.flows["size_bytes"] < 100_000)
                mean = 1e6 * number(small["fct_s"].mean() or 0)
                lines.setdefault(f"{scheme}, {rto_min}", []).append((start_ms, mean))
                counts = (small[name].sum() for name in ("retransmissions", "timeouts"))
                found[scheme].append([mean, *counts])
                if scheme == "hcf" and rto_min == "200us" and step == 10:
                    queue(axes[0], run, 1000, color=COLOURS[0])
        for scheme, values in found.items():
            means, lost, waited = ([row[index] for row in values] for index in range(3))
            mean, low, high = sum(means) / 20, min(means), max(means)
            rows.append([rto_min, scheme, mean, f"{low:.0f} to {high:,.0f}"])
            rows[-1] += [sum(lost) / 100, sum(waited) / 100]
    axes[0].set_xlim(4.5, 6.5)
    axes[0].axvline(5, color="grey", linewidth=0.8, linestyle=":")
    axes[0].set_ylabel("queue (KB), small flows at 5 ms")
    for index, (name, line) in enumerate(lines.items()):
        axes[1].plot(*zip(*line, strict=True), "o-", color=COLOURS[index], label=name)
    axes[1].axhline(1000, color="grey", linewidth=0.8, label="paper's HCF")
    axes[1].set_yscale("log")
    axes[1].set_xlabel("start of the small flows (ms)")
    axes[1].set_ylabel("small flows' average FCT (µs)")
    axes[1].legend(frameon=False, fontsize="x-small", title="minimum RTO", title_fontsize="x-small")
    figure.savefig(picture, metadata={"Software": None})
    head = [
        "minimum RTO",
        "scheme",
        "small, µs",
        "over 20 starts",
        "resent a flow",
        "timeouts a flow",
    ]
    return table(head, rows)


def _toy_from(start_ms: float, sets: dict[str, Any]) -> list[Result]:
    """Figure 2 with small flows that start then."""
    with tempfile.TemporaryDirectory() as folder:
        flows = Path(folder) / "flows.csv"
        text = (HERE / "cqrd-fig2.csv").read_text()
        flows.write_text(text.replace("\n0.005,", f"\n{start_ms / 1e3:.6f},"))
        return runs(HERE / "fig2.toml", sets | {"traffic.0.file": str(flows)})


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
    tree = {"flows": 4000, "measure.queues": "off"}
    in_the_tree: dict[str, dict[str, Any]] = {
        "tree, 4,000 flows": tree | {"compare.load": [0.1, 0.4, 0.7]},
        "tree, windows of 64 packets": tree | {"transport.receive_window": 64},
        "tree, windows of 20 packets": tree | {"transport.receive_window": 20},
    }
    figure, axes = panels("Figure 6: flows that meet a giant one", 1)
    rows: list[list[Any]] = []
    lines: dict[str, list[tuple[float, float]]] = {"switch": [], "tree": []}
    for name, sets in (variations | in_the_tree).items():
        place = "tree" if name in in_the_tree else "switch"
        file = "cqrd-fig11.toml" if place == "tree" else "cqrd-fig8.toml"
        for run in runs(library.SCENARIOS / file, common | sets):
            load = run.scenario["traffic"][0]["load"]
            met = 100 * float((run.flows["met"] != "nothing").sum()) / len(run.flows)
            giant = run.flows.filter(run.flows["size_bytes"] > 1_000_000)
            outputs = 24 if place == "switch" else 480
            under_way = float(giant["fct_s"].sum()) / outputs / float(run.summary()["simulated_s"])
            rows.append([name, load, 100 * len(giant) / len(run.flows), under_way, met])
            if name in ("as it is", "tree, 4,000 flows"):
                lines[place].append((load, met))
    for index, (place, line) in enumerate(lines.items()):
        axes[0].plot(
            *zip(*line, strict=True), "os"[index] + "-", color=COLOURS[2 * index], label=place
        )
    axes[0].plot([0, 1], [0, 100], ":", color="grey", label="switch: share of time in use")
    axes[0].axhline(80, color=COLOURS[1], linewidth=0.8, label="paper")
    axes[0].set_xlabel("load")
    axes[0].set_ylabel("flows (%)")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    return table(["setting", "load", "giants, %", "under way at an output", "flows met, %"], rows)


def windows(picture: Path) -> str:
    """Figures 11 to 13: where small flows wait, at 3,000 flows and, some, at 20,000."""
    loads = (0.1, 0.4, 0.7)
    figure, axes = panels("Figure 11: small flows' average by windows and cards", 4, 3.6)
    rows: list[list[Any]] = []
    places = range(len(HOSTS))
    for load, at in zip(loads, axes, strict=False):
        found = []
        for name in HOSTS:
            row, small = _tree(load, 3000, name)
            rows.append(row)
            found.append(small)
        for index, scheme in enumerate(SCHEMES):
            means = [small[scheme][0] for small in found]
            at.plot(means, places, "osv^"[index], color=COLOURS[index], label=scheme)
        at.set_yticks(places, list(HOSTS) if load == 0.1 else [""] * len(HOSTS), fontsize="x-small")
        at.set_xscale("log")
        at.set_xticks([200, 500, 1000, 2000, 5000], ["200", "500", "1,000", "2,000", "5,000"])
        at.set_xticks([], minor=True)
        at.set_xlabel(f"average FCT (µs), load {load}")
        at.grid(alpha=0.3, axis="x")
    axes[0].legend(frameon=False, fontsize="x-small")
    cards, switches = ([float(row[i]) for row in rows[: len(HOSTS)]] for i in (-2, -1))
    axes[3].barh(places, cards, color=COLOURS[4], label="in cards")
    axes[3].barh(places, switches, left=cards, color=COLOURS[0], label="in switches")
    axes[3].set_yticks(places, [""] * len(places))
    axes[3].set_xlabel("packets lost under OQ, load 0.1")
    axes[3].legend(frameon=False, fontsize="x-small")
    figure.savefig(picture, metadata={"Software": None})
    as_it_is, card, no_losses, w256, w64, *_ = HOSTS
    for load, names in ((0.1, (as_it_is, card, no_losses)), (0.4, (as_it_is, card, w256, w64))):
        rows += [_tree(load, 20_000, name)[0] for name in names]
    head = ["load", "flows", "hosts", "OQ, µs", "CQRD below OQ, %", "HCF", "CQ", "p99 below OQ's"]
    head += ["met a giant: below OQ", "HCF", "p99 below OQ's", "HCF's"]
    return table([*head, "lost in cards, OQ", "in switches"], rows)


def _tree(
    load: float, flows: int, hosts: str
) -> tuple[list[object], dict[str, tuple[float, float]]]:
    """A row of `windows`, and each scheme's average and percentile."""
    small: dict[str, tuple[float, float]] = {}
    met: dict[str, tuple[float, float]] = {}
    lost: dict[str, tuple[int, int]] = {}
    sets = {"flows": flows, "compare.load": [load]} | HOSTS[hosts]
    for run in runs("@cqrd-fig11", sets):
        scheme = run.scenario["scheme"]["name"]
        found = run.flows.filter(run.flows["size_bytes"] <= 100_000)
        small[scheme] = _mean_and_p99_us(found)
        met[scheme] = _mean_and_p99_us(found.filter(found["met"] != "nothing"))
        lost[scheme] = _lost(run)
    row: list[object] = [load, f"{flows:,}", hosts, small["oq"][0]]
    row += [*_below(small, 0), _below(small, 1)[0], *_below(met, 0)[:2], *_below(met, 1)[:2]]
    return [*row, *lost["oq"]], small


def _mean_and_p99_us(flows: pl.DataFrame) -> tuple[float, float]:
    fcts_us = [1e6 * value for value in flows["fct_s"]]
    return sum(fcts_us) / len(fcts_us), stats.percentile(fcts_us, 0.99)


def _below(found: dict[str, tuple[float, float]], index: int) -> list[int]:
    """How far CQRD is below OQ, HCF and CQ, in percent."""
    ours = found["cqrd"][index]
    return [round(100 * (1 - ours / found[scheme][index])) for scheme in ("oq", "hcf", "cq")]


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
    loads = (0.1, 0.4, 0.7)
    figure, axes = panels("Figure 14: small flows under CQRD", len(loads), 3.0)
    rows = []
    for index, (name, sets) in enumerate(settings.items()):
        for at, load in zip(axes, loads, strict=True):
            line = []
            for run in runs(HERE / "fig14.toml", {"flows": 2000, "compare.load": [load]} | sets):
                kb = _kilobytes(run.scenario["switch"]["memory"]) / 24
                fct = run.summary()["fct"]["small"]
                small = run.flows.filter(run.flows["size_bytes"] <= 100_000)
                line.append((kb, fct["mean_us"]))
                rows.append([name, load, kb, fct["mean_us"], fct["p99_us"]])
                rows[-1] += [small["timeouts"].sum(), *_lost(run)]
            at.plot(*zip(*line, strict=True), "o-", color=COLOURS[index], label=name)
            at.set_title(f"load {load}", fontsize="small")
            at.set_xlabel("memory an output (KB)")
    for at in axes:
        at.set_ylim(bottom=0)
    axes[0].set_ylabel("average FCT (µs)")
    axes[0].legend(frameon=False, fontsize="x-small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["hosts", "load", "KB an output", "average, µs", "p99", "small flows' timeouts"]
    return table([*head, "lost in cards", "in switches"], rows)


def victims(picture: Path) -> str:
    """Figure 8: what random drop changes for small flows, at 3,000 flows and eight seeds."""
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "minimum RTO 1 ms": {"transport.rto_min": "1ms"},
        "minimum RTO 5 ms": {"transport.rto_min": "5ms"},
        "four times the memory": {"switch.memory": "20MB"},
        "cards with the switch's queue": {"host.nic": "switch"},
        "windows of 64 packets": {"transport.receive_window": 64},
        "windows of 64, RTO 5 ms": {"transport.receive_window": 64, "transport.rto_min": "5ms"},
    }
    loads = (0.1, 0.4, 0.7)
    common: dict[str, Any] = {
        "flows": 3000,
        "compare.scheme": ["cq", "cqrd"],
        "compare.seed": list(range(1, 9)),
        "measure.queues": "off",
    }
    figure, axes = panels("Figure 8: CQRD's average below CQ's, by seed", len(loads), 3.0)
    rows = []
    for place, (name, sets) in enumerate(settings.items()):
        for at, load in zip(axes, loads, strict=True):
            found: dict[str, list[list[float]]] = {"cq": [], "cqrd": []}
            for run in runs("@cqrd-fig8", common | {"compare.load": [load]} | sets):
                small = run.flows.filter(run.flows["size_bytes"] <= 100_000)
                parts = [(small[count] > 0).mean() for count in ("retransmissions", "timeouts")]
                values = [*_mean_and_p99_us(small), *(100 * number(part or 0) for part in parts)]
                found[run.scenario["scheme"]["name"]].append(values)
            cq, cqrd = found["cq"], found["cqrd"]
            below = [
                [100 * (1 - b[index] / a[index]) for a, b in zip(cq, cqrd, strict=True)]
                for index in (0, 1)
            ]
            rows.append([name, load, sum(a[0] for a in cq) / 8, *map(_interval, below)])
            rows[-1] += [sum(v[index] for v in of) / 8 for index in (2, 3) for of in (cq, cqrd)]
            at.plot(below[0], [place] * 8, "o", color=COLOURS[0], alpha=0.6)
    for at, load in zip(axes, loads, strict=True):
        at.axvspan(5, 7, color="grey", alpha=0.3)
        at.axvline(0, color="grey", linewidth=0.8)
        names = list(settings) if load == loads[0] else [""] * len(settings)
        at.set_yticks(range(len(settings)), names, fontsize="x-small")
        at.set_title(f"load {load}", fontsize="small")
        at.set_xlabel("% below (grey: paper)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["setting", "load", "CQ, µs", "CQRD below, %", "p99 below, %"]
    what = [f"{words}, {s}" for words in ("resend, %", "time out, %") for s in ("CQ", "CQRD")]
    return table([*head, *what], rows)


def goodput(picture: Path) -> str:
    """Figures 8 and 9: large flows' goodput by size, CQRD's over OQ's and HCF's, eight seeds."""
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "windows of 64 packets": {"transport.receive_window": 64},
        "windows of 20 packets": {"transport.receive_window": 20},
        "minimum RTO 5 ms": {"transport.rto_min": "5ms"},
        "cards with the switch's queue": {"host.nic": "switch"},
        "shorter tail": {"traffic.0.sizes": "cqrd-assumed-short-tail"},
    }
    edges_mb = (0.1, 0.3, 1, 10, 1000)
    groups = [f"{low:g} to {high:g} MB" for low, high in pairwise(edges_mb)]
    groups[-1] = "over 10 MB"
    loads = (0.1, 0.7)
    figure, axes = panels("Goodput under CQRD over OQ's, by size", len(loads))
    rows: list[list[Any]] = []
    for index, (name, sets) in enumerate(settings.items()):
        for at, load in zip(axes, loads, strict=True):
            common: dict[str, Any] = {
                "flows": 3000,
                "compare.scheme": ["oq", "hcf", "cqrd"],
                "compare.load": [load],
                "compare.seed": list(range(1, 9)),
                "measure.queues": "off",
            }
            found: dict[str, list[list[float]]] = {}
            for run in runs("@cqrd-fig8", common | sets):
                flows = run.flows.drop_nulls("fct_s")
                flows = flows.with_columns(rate=flows["size_bytes"] / flows["fct_s"])
                large = flows.filter(flows["size_bytes"] > 100_000)
                parts = [
                    large.filter(large["size_bytes"].is_between(1e6 * low, 1e6 * high))
                    for low, high in pairwise(edges_mb)
                ]
                met = large.filter(large["met"] != "nothing")
                values = [number(part["rate"].mean() or 0) for part in (*parts, large, met)]
                found.setdefault(run.scenario["scheme"]["name"], []).append(values)
            mean = {s: [sum(v) / 8 for v in zip(*of, strict=True)] for s, of in found.items()}
            over = {
                s: [
                    100 * (b / a - 1) if a else 0
                    for a, b in zip(mean[s], mean["cqrd"], strict=True)
                ]
                for s in ("oq", "hcf")
            }
            rows.append([name, load, *(f"{value:+.1f}" for value in over["oq"])])
            rows[-1] += [f"{value:+.1f}" for value in over["hcf"][-2:]]
            if index < 4:
                at.plot(groups, over["oq"][:4], "o-", color=COLOURS[index], label=name)
            at.axhline(0, color="grey", linewidth=0.8)
            at.tick_params(axis="x", labelsize="x-small")
            at.set_title(f"load {load}", fontsize="small")
    axes[0].set_ylabel("CQRD above OQ (%)")
    axes[0].legend(frameon=False, fontsize="x-small")
    figure.savefig(picture, metadata={"Software": None})
    head = [f"{group}, over OQ's, %" for group in groups]
    return table(
        ["setting", "load", *head, "all large", "those that met a giant", "all, over HCF's", "met"],
        rows,
    )


def _interval(values: list[float]) -> str:
    """The mean with its 95 % interval."""
    found = stats.mean(values)
    return f"{found.estimate:.1f} ({found.low:.1f} to {found.high:.1f})"


def dctcp(picture: Path) -> str:
    """Figure 15: DCTCP against TCP under OQ, and CQRD against CQ, at 3,000 flows and four seeds."""
    settings = {
        **{name: sets for name, sets in HOSTS.items() if name != "windows of 256"},
        "minimum RTO 5 ms": {"transport.rto_min": "5ms"},
        "g = 0.0625": {"compare.transport.g": [0.0625]},
        "ACKs are ECN-capable": {"transport.ecn_acks": True},
        "cards as switches, ECN-capable ACKs": {"host.nic": "switch", "transport.ecn_acks": True},
        "… and a minimum RTO of 5 ms": {
            "host.nic": "switch",
            "transport.ecn_acks": True,
            "transport.rto_min": "5ms",
        },
    }
    loads = (0.1, 0.7)
    figure, axes = panels("Figure 15", 2, 3.6)
    rows: list[list[Any]] = []
    for place, (name, sets) in enumerate(settings.items()):
        for index, load in enumerate(loads):
            common: dict[str, Any] = {
                "flows": 3000,
                "compare.load": [load],
                "compare.seed": [1, 2, 3, 4],
            }
            ours = common | {
                "compare.scheme": ["oq", "cq", "cqrd"],
                "compare.transport.g": [0.00625],
            }
            found: dict[str, list[tuple[float, float]]] = {}
            lost: dict[str, list[tuple[int, int]]] = {}
            plain = {key: value for key, value in sets.items() if key.partition(".")[0] == "host"}
            plain |= {k: v for k, v in sets.items() if k.endswith(("window", "rto_min"))}
            for run in [
                *runs(HERE / "fig15.toml", ours | sets),
                *runs(HERE / "fig15-tcp.toml", common | plain),
            ]:
                kind = run.scenario["transport"]["kind"]
                scheme = "tcp" if kind == "reno" else run.scenario["scheme"]["name"]
                flows = run.flows.filter(run.flows["size_bytes"] <= 100_000)
                found.setdefault(scheme, []).append(_mean_and_p99_us(flows))
                lost.setdefault(scheme, []).append(_lost(run))
            pairs = (("tcp", "oq", 0), ("cq", "cqrd", 0), ("cq", "cqrd", 1), ("oq", "cqrd", 0))
            below = [
                [100 * (1 - b[i] / a[i]) for a, b in zip(found[x], found[y], strict=True)]
                for x, y, i in pairs
            ]
            losses = [sum(part) / 4 for part in zip(*lost["oq"], strict=True)]
            oq = sum(a[0] for a in found["oq"]) / 4
            rows.append([name, load, oq, *map(_interval, below), *losses])
            for panel, values in zip(axes, below, strict=False):
                height = place + 0.3 * index - 0.15
                label = f"load {load}" if place == 0 else None
                panel.plot(values, [height] * 4, "os"[index], color=COLOURS[index], label=label)
    axes[0].set_yticks(range(len(settings)), list(settings), fontsize="x-small")
    axes[1].set_yticks(range(len(settings)), [""] * len(settings))
    axes[0].set_xlabel("OQ: DCTCP below TCP, %")
    axes[1].set_xlabel("DCTCP: CQRD below CQ, % (grey: paper)")
    axes[1].axvspan(5, 10, color="grey", alpha=0.3)
    for panel in axes:
        panel.axvline(0, color="grey", linewidth=0.8)
    axes[0].legend(frameon=False, fontsize="x-small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["setting", "load", "OQ with DCTCP, µs", "DCTCP below TCP, %"]
    head += ["CQRD below CQ, %", "p99 below CQ's, %", "CQRD below OQ, %"]
    return table([*head, "lost in cards, OQ", "in switches"], rows)


def _kilobytes(text: str) -> float:
    return float(text[:-2]) * (1000 if text.endswith("MB") else 1)


def testbed(picture: Path) -> str:
    """Figure 16: the two long flows' windows decide how long OQ's queue is."""
    figure, axes = panels("Figure 16: how full the long flows keep the switch", 2)
    settings: dict[str, dict[str, Any]] = {
        f"windows of {window}": {"transport.receive_window": window}
        for window in (4096, 360, 90, 43, 22, 11)
    }
    others = {"kmin": ("0.25", "0.75"), "pmax": ("0.02", "1"), "weight": ("0.0002", "0.02")}
    for key, values in others.items():
        for value in values:
            red = {"name": "cqrd-configured", "params": {key: float(value)}}
            settings[f"RED's {key} {value}"] = {"compare.scheme": ["oq", "cq", red]}
    settings["random drop itself"] = {"compare.scheme": ["oq", "cq", "cqrd"]}
    settings["minimum RTO 200 µs"] = {"transport.rto_min": "200us"}
    settings["minimum RTO 200 ms"] = {"transport.rto_min": "200ms"}
    rows: list[list[Any]] = []
    found: dict[str, list[tuple[int, float]]] = {}
    for name, sets in settings.items():
        watched = {"measure.queues": ["switch:0"], "measure.series_every": "2ms"}
        window = sets.get("transport.receive_window")
        small: dict[str, float] = {}
        beside: dict[str, float] = {}
        away: dict[str, float] = {}
        for run in runs(HERE / "fig16.toml", watched | sets):
            scheme = run.scenario["scheme"]["name"]
            flows = run.flows.filter(run.flows["size_bytes"] == 10_000).drop_nulls("fct_s")
            small[scheme] = run.summary()["fct"]["small"]["mean_us"]
            beside[scheme] = 1e6 * number(flows.filter(flows["src"] <= 2)["fct_s"].mean() or 0)
            away[scheme] = 1e6 * number(flows.filter(flows["src"] > 2)["fct_s"].mean() or 0)
            if window:
                found.setdefault(scheme, []).append((window, small[scheme]))
            if scheme == "oq":
                mean = float(run.summary()["bottleneck"]["mean_bytes"]) / 1000
                if window in (4096, 90, 11):
                    colour = COLOURS[(4096, 90, 11).index(window)]
                    queue(axes[0], run, 1000, color=colour, label=f"{window} packets")
        ours = list(small)[-1]
        below = [100 * (1 - small[ours] / small[scheme]) for scheme in ("oq", "cq")]
        rows.append([name, mean, small["oq"], small["cq"], small[ours], *below])
        rows[-1] += [beside["cq"], beside[ours], away["cq"], away[ours]]
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
    head = ["setting", "OQ's mean queue, KB", "small, OQ, µs", "CQ", "configured"]
    head += ["configured below OQ, %", "below CQ, %", "from hosts with a long flow: CQ, µs"]
    return table([*head, "configured", "from others: CQ", "configured"], rows)


if __name__ == "__main__":
    main(
        __file__,
        [
            toy,
            toy_on_hosts,
            met_on_hosts,
            by_load,
            memory_on_hosts,
            memory_by_timeout,
            testbed_on_hosts,
            dctcp_on_hosts,
            hcf,
            giants,
            windows,
            memory,
            victims,
            goodput,
            dctcp,
            testbed,
        ],
    )
