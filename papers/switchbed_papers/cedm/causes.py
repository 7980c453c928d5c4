"""What explains the claims of the CEDM paper that do not hold; see README.md."""

from collections.abc import Callable, Mapping
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
)
from switchbed_papers.reproduce.rows import number

HERE = Path(__file__).parent
K_KB = 32
FULL_GBPS = 9.73
SCHEMES = ("per-queue", "cedm")
FOR_TWO: dict[str, Any] = {"transport.ack_every": 2, "transport.ack_delay": "1ms"}
NS_2: dict[str, Any] = {
    "transport.cut": "whole-packets",
    "transport.grow_on_repeated_ece": True,
    "transport.loss_halves": "window",
    "transport.grow_when_app_limited": True,
}
CARDS: dict[str, Any] = {"host.nic": "fifo", "host.nic_buffer": "20000pkt"}
LABELS = ("DCTCP, K = 65", "DCTCP, K = 10", "CEDM")
TWO_FLOWS: dict[str, Any] = {"host.jitter": "1us"}
TRACED: dict[str, Any] = {"measure.series_every": "4us"}


def lowest(picture: Path) -> str:
    """Figure 3: the lowest queue, by what is looked at and by what hosts do."""
    figure, axes = panels("Figure 3: the queue at 1 Gbps", 3)
    settings: dict[str, tuple[str, dict[str, Any]]] = {
        "DCTCP, jitter 1 µs": ("dctcp", {"host.jitter": "1us"}),
        "DCTCP, jitter 100 ns": ("dctcp", {"host.jitter": "100ns"}),
        "DCTCP, no jitter": ("dctcp", {}),
        "ECN*: the window is halved": ("ecn-star", {"host.jitter": "1us"}),
        "… an ACK for two packets": ("ecn-star", {"host.jitter": "1us"} | FOR_TWO),
        "… 24 µs more of delay": ("ecn-star", {"host.jitter": "1us", "host.delay": "12us"}),
        "Reno: what is in flight is halved": ("reno", {"host.jitter": "1us"}),
        "… an ACK for two, bursts after cuts": (
            "reno",
            {"host.jitter": "1us", "host.lso_after_cut": True} | FOR_TWO,
        ),
        "… 24 µs more of delay, no other change": (
            "reno",
            {"host.jitter": "1us", "host.delay": "12us"},
        ),
    }
    shown = {
        ("DCTCP, jitter 1 µs", False): (0, "DCTCP, LSO off"),
        ("DCTCP, jitter 1 µs", True): (1, "DCTCP, LSO on"),
        ("… an ACK for two, bursts after cuts", True): (2, "Reno, an ACK for two, LSO on"),
    }
    rows = []
    for name, (kind, sets) in settings.items():
        common = {
            "compare.transport.kind": [kind],
            "compare.host.lso": [False, True],
            "measure.series_every": "6us",
            "run.until": "400ms",
        }
        row: list[object] = [name]
        for run in runs("@cedm-fig3", common | sets):
            settled = run.series.filter(pl.col("time_s") >= 0.2)
            window = (pl.col("time_s") / 2e-3).floor()
            low = settled.group_by(window).agg(pl.col("bytes").min())["bytes"] / 1000
            row += [K_KB - number(low.median() or 0), K_KB - number(low.min() or 0)]
            place = shown.get((name, run.scenario["host"]["lso"]))
            if place is not None:
                index, title = place
                queue(axes[index], run, 1000, color=COLOURS[index])
                axes[index].axhline(K_KB, color="grey", linewidth=0.8)
                axes[index].set_xlim(300, 306)
                axes[index].set_ylim(0, 45)
                axes[index].set_title(title, fontsize="small")
        rows.append(row)
    axes[0].set_ylabel("queue (KB)")
    figure.savefig(picture, metadata={"Software": None})
    spans = ("in 2 ms, median", "in 200 ms")
    head = [f"LSO {lso}, {span}" for lso in ("off", "on") for span in spans]
    return table(["lowest queue, KB below K = 32", *head], rows)


def declared(_: Path) -> str:
    """Figure 3 on the declared hosts, by what of them brings its lowest queues to the paper's."""
    every, still = "transport.ack_every=1", "host.jitter=0ns"
    settings = {
        "as they are": (),
        "an ACK for each packet": (every,),
        "no jitter": (still,),
        "both": (every, still),
        "both, slow start by bytes": (every, still, "transport.slow_start=bytes"),
        "both, cuts at once": (every, still, "transport.reduction=at-once"),
    }
    return claims_by("cedm", "fig3", settings)


def interrupts(_: Path) -> str:
    """Figure 1 by how long interrupts wait at most."""
    waits = "compare.host.coalesce_time"
    settings = {
        "interrupts after 50 µs at most": (),
        "… 40 µs": (f'{waits}=["5us", "20us", "40us"]',),
        "… 20 µs": (f'{waits}=["5us", "20us"]',),
    }
    return claims_by("cedm", "fig1", settings)


def conditions(_: Path) -> str:
    """Table II by the link's rate, and with it what is out in 50, 300 and 800 µs."""
    windows = "compare.transport.receive_window"
    more = ("topology.rate=10Gbps", f'{windows}=["42pkt", "250pkt", "667pkt"]')
    settings = {
        "1 Gbps, as they are": (),
        "2.5 Gbps": ("topology.rate=2.5Gbps", f'{windows}=["10pkt", "62pkt", "167pkt"]'),
        "5 Gbps": ("topology.rate=5Gbps", f'{windows}=["21pkt", "125pkt", "333pkt"]'),
        "10 Gbps": more,
        "10 Gbps, no jitter": (*more, "host.jitter=0ns"),
    }
    return claims_by("cedm", "table2", settings)


def without_lso(_: Path) -> str:
    """Figure 11 at 60 % load without bursts, over many seeds."""
    names = [f"cedm.fig11.{what}" for what in ("small_p99", "large")]
    settings = {
        "no LSO": ("host.lso=false",),
        "no LSO, an ACK for each packet": ("host.lso=false", "transport.ack_every=1"),
    }
    return claims_by("cedm", "fig11", settings, seeds=44, only=names)


def lengths(_: Path) -> str:
    """Figure 11 at 60 % load, by how long bursts are."""
    names = [f"cedm.fig11.{what}" for what in ("small_p99", "large")]
    every = "transport.ack_every=1"
    small_queues = ("host.small_queues=true", "host.small_queue_limit=131072B")
    settings = {
        "no LSO": ("host.lso=false",),
        "an ACK for each packet": (every,),
        "an ACK for each packet, segments of 8 KB at most": (every, "host.lso_max=8KB"),
        "small queues of 128 KiB": small_queues,
        "small queues of 128 KiB, segments by rate": (*small_queues, "host.lso_autosize=rate"),
    }
    return claims_by("cedm", "fig11", settings, seeds=16, only=names)


def thresholds(_: Path) -> str:
    """Figure 4 on the declared hosts, by what of them costs goodput."""
    every, cut = "transport.ack_every=1", "transport.reduction=at-once"
    only = 'compare.scheme.params.threshold=["21.25KB", "34.35KB", "45KB", "60KB", "125KB"]'
    only = only.replace("]", ', "150KB", "187.5KB"]')
    settings = {
        "as they are": (only,),
        "an ACK for each packet": (only, every),
        "cuts at once": (only, cut),
        "both": (only, every, cut),
        "both, bursts that go on after cuts": (only, every, cut, "host.lso_after_cut=true"),
    }
    return claims_by("cedm", "fig4", settings)


def saved(_: Path) -> str:
    """Figure 10 on the declared hosts, by what decides how much CEDM saves."""
    every, cut = "transport.ack_every=1", "transport.reduction=at-once"
    still, shorter = "host.jitter=0ns", "host.lso_max=24KB"
    settings = {
        "as they are": (),
        "an ACK for each packet": (every,),
        "cuts at once": (cut,),
        "both": (every, cut),
        "both, bursts that go on after cuts": (every, cut, "host.lso_after_cut=true"),
        "both, no jitter": (every, cut, still),
        "both, segments of 32 KB at most": (every, cut, "host.lso_max=32KB"),
        "both, segments of 24 KB at most": (every, cut, shorter),
        "… and no jitter": (every, cut, shorter, still),
    }
    return claims_by("cedm", "fig10", settings)


def by_load(_: Path) -> str:
    """Figure 11 at each load alone, on all hosts, from the committed rows."""

    def at(load: float) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        return lambda measure: {**measure, "at": {"load": load}}

    names = [f"cedm.fig11.{what}" for what in ("small_avg", "small_p99", "large", "large_k10")]
    nine = {f"at load {tenths / 10}": at(tenths / 10) for tenths in range(1, 10)}
    three = {f"at load {load}": at(load) for load in (0.2, 0.6, 0.8)}
    others = ("linux-3.18", "linux-6.x")
    return claims_read("cedm", names, nine) + "\n" + claims_read("cedm", names, three, others)


def cuts(picture: Path) -> str:
    """Figure 10 with DCTCP: goodput lost, with bursts that end or go on after a cut."""
    figure, axes = panels("Figure 10: CEDM with DCTCP, K1 = 21 KB and K2 = 58 KB", 3)
    as_it_is, smaller = "as it is", "segments of 24 KB at most"
    settings: dict[str, dict[str, Any]] = {
        as_it_is: {},
        "no jitter": {"host.jitter": "0us"},
        "ns-2's TCP": NS_2,
        "g = 1/4": {"transport.g": 0.25},
        "g = 1/64": {"transport.g": 1 / 64},
        "an ACK for two packets": FOR_TWO,
        "ACKs for up to five": {"host.merge_packets": 5},
        "hosts' cards mark": {"host.nic": "switch"},
        "the second flow 1 ms later": {"traffic.0.stagger": "1ms"},
        "segments of 28 KB at most": {"host.lso_max": "28KB"},
        "segments of 26 KB at most": {"host.lso_max": "26KB"},
        smaller: {"host.lso_max": "24KB"},
        "… no jitter": {"host.lso_max": "24KB", "host.jitter": "0us"},
        "segments of 16 KB at most": {"host.lso_max": "16KB"},
        "β = 0.32": {"host.lso_beta": 0.32},
        "β = 0.3": {"host.lso_beta": 0.3},
        "w_s = 0.01": {"w_s": 0.01},
        "w_s = 0.5": {"w_s": 0.5},
        "w_s = 1": {"w_s": 1.0},
        "K2 = 30 KB": {"k2": "30KB"},
        "K2 = 120 KB": {"k2": "120KB"},
    }
    # What each panel shows: a setting, whether bursts go on after a cut, and where it stands.
    shown = {(as_it_is, False): 0, (smaller, False): 1, (as_it_is, True): 2}
    rows = []
    for name, sets in settings.items():
        ours = {key: value for key, value in sets.items() if "." not in key}
        others = {key: value for key, value in sets.items() if "." in key}
        schemes = {"compare.scheme": ["per-queue", {"name": "cedm", "params": ours}]}
        lost: dict[tuple[str, bool], float] = {}
        common = TWO_FLOWS | TRACED | {"run.until": "260ms"}
        for run in runs("@cedm-fig10-dctcp", common | schemes | others):
            after = run.scenario["host"]["lso_after_cut"]
            scheme = run.scenario["scheme"]["name"]
            lost[scheme, after] = _lost_gbps(run)
            index = shown.get((name, after))
            if index is None or scheme != "cedm":
                continue
            queue(axes[index], run, 1000, color=COLOURS[index])
            axes[index].axhline(21.25, color="grey", linewidth=0.8)
            axes[index].set_xlim(150, 154)
            axes[index].set_ylim(0, 90)
            words = "go on" if after else "end"
            words = f"bursts {words} after a cut" + (f", {name}" if name == smaller else "")
            axes[index].set_title(words, fontsize="small")
        rows.append([name, *(lost[s, a] for a in (False, True) for s in SCHEMES)])
    axes[0].set_ylabel("queue (KB)")
    figure.savefig(picture, metadata={"Software": None})
    head = [f"{s}, bursts {w}" for w in ("end", "go on") for s in ("step", "CEDM")]
    return table(["Gbps lost (paper: step 1.391, CEDM 0.210)", *head], rows)


def halving(picture: Path) -> str:
    """Figure 10 with ECN*: goodput lost, seed by seed and by what hosts do."""
    figure, axes = panels("Figure 10: the queue with ECN*, K1 = 125 KB", 2)
    as_it_is = "as it is"
    settings: dict[str, dict[str, Any]] = {
        as_it_is: {},
        "no jitter": {"host.jitter": "0us"},
        "jitter of 10 µs": {"host.jitter": "10us"},
        "ns-2's TCP": NS_2,
        "Reno: what is in flight is halved": {"transport.kind": "reno"},
        "an ACK for two packets": FOR_TWO,
        "ACKs for up to five": {"host.merge_packets": 5},
        "the second flow 1 ms later": {"traffic.0.stagger": "1ms"},
        "segments of 48 KB at most": {"host.lso_max": "48KB"},
        "segments of 32 KB at most": {"host.lso_max": "32KB"},
        "β = 1/4": {"host.lso_beta": 0.25},
    }
    rows: list[list[object]] = []
    for name, sets in settings.items():
        lost: dict[str, list[float]] = {scheme: [] for scheme in SCHEMES}
        several = {
            "compare.host.lso_after_cut": [False],
            "compare.seed": list(range(1, 13)) if name == as_it_is else [1, 2, 3],
        }
        traced = TRACED if name == as_it_is else {}
        file = library.SCENARIOS / "cedm-fig10-ecn-star.toml"
        for run in runs(file, TWO_FLOWS | several | traced | sets):
            scheme = run.scenario["scheme"]["name"]
            lost[scheme].append(_lost_gbps(run))
            if traced and len(lost[scheme]) == 1:
                index = SCHEMES.index(scheme)
                queue(axes[index], run, 1000, color=COLOURS[index])
                axes[index].axhline(125, color="grey", linewidth=0.8)
                axes[index].set_xlim(150, 180)
                axes[index].set_ylim(0, 150)
                axes[index].set_title(scheme, fontsize="small")
        ratios = [of / base for base, of in zip(*lost.values(), strict=True)]
        span = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append([name, len(ratios), *(sum(v) / len(v) for v in lost.values()), span])
    axes[0].set_ylabel("queue (KB)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["seeds", "step", "CEDM", "CEDM over step (0.60), the seeds"]
    return table(["Gbps lost (paper: step 0.127, CEDM 0.076)", *head], rows)


def _lost_gbps(run: Result) -> float:
    return FULL_GBPS - float(run.summary()["goodput_bps"]) / 1e9


def fabric(picture: Path) -> str:
    """Figure 11 at 60 % load, smaller: what CEDM gives small flows and takes from large ones."""
    figure, (axes,) = panels("Figure 11: FCT against K = 65 packets, by the number of flows", 1)
    settings: dict[str, dict[str, Any]] = {
        "500 flows": {"traffic.0.flows": 500},
        "1,000 flows": {"traffic.0.flows": 1000},
        "2,000 flows": {},
        "… LSO off": {"host.lso": False},
        "… segments of 16 KB at most": {"host.lso_max": "16KB"},
        "… bursts go on after cuts": {"host.lso_after_cut": True},
        "… cards only queue": CARDS,
        "… a connection a flow": {"traffic.0.connections": "fresh"},
        "… an ACK for two packets": FOR_TWO,
    }
    metrics = ("small.mean_us", "small.p99_us", "large.mean_us")
    drawn: dict[str, list[tuple[int, float]]] = {metric: [] for metric in metrics}
    rows: list[list[object]] = []
    for name, sets in settings.items():
        fct: dict[str, dict[str, list[float]]] = {}
        common = {"traffic.0.flows": 2000, "compare.load": [0.6], "compare.seed": [1, 2]}
        for run in runs(HERE / "fig11.toml", common | sets):
            found = run.summary()["fct"]
            for metric in metrics:
                size_class, statistic = metric.split(".")
                by_scheme = fct.setdefault(metric, {}).setdefault(run.label, [])
                by_scheme.append(float(found[size_class][statistic]))
        base, low, ours = ([each[label] for each in fct.values()] for label in LABELS)
        above = [
            100 * (stats.paired(a, b).ratio.estimate - 1) for a, b in zip(ours, base, strict=True)
        ]
        low_large = 100 * (stats.paired(low[2], base[2]).ratio.estimate - 1)
        rows.append([name, *above, low_large])
        if not name.startswith("…"):
            count = int(name.split()[0].replace(",", ""))
            for metric, value in zip(metrics, above, strict=True):
                drawn[metric].append((count, value))
    for colour, (metric, line) in zip(COLOURS, drawn.items(), strict=False):
        axes.plot(*zip(*line, strict=True), "o-", color=colour, label=f"CEDM, {metric}")
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("flows in a run")
    axes.set_ylabel("above K = 65 packets (%)")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["CEDM: small flows' mean", "their 99th percentile", "large flows' mean"]
    return table(["% above K = 65 packets", *head, "K = 10: large flows' mean"], rows)


def alone(picture: Path) -> str:
    """Figure 11: a flow with the network to itself, by where its packets may be marked."""
    figure, axes = panels("Figure 11: the queue in the sending host's card, one flow alone", 3)
    schemes: dict[str, dict[str, Any]] = {
        "K = 65 packets": {"name": "per-queue", "params": {"threshold": "65pkt"}},
        "K = 10 packets": {"name": "per-queue", "params": {"threshold": "10pkt"}},
        "CEDM, 10 and 30 packets": {"name": "cedm", "params": {"k1": "10pkt", "k2": "30pkt"}},
        "CEDM, 10 and 65 packets": {"name": "cedm", "params": {"k1": "10pkt", "k2": "65pkt"}},
        "CEDM, w_s = 0.5": {"name": "cedm", "params": {"k1": "10pkt", "k2": "30pkt", "w_s": 0.5}},
    }
    cards: dict[str, dict[str, Any]] = {
        "mark as switches do": {"host.nic": "switch"},
        "only queue": {},
    }
    rows = []
    for words, card in cards.items():
        sets = {
            "compare.scheme": [of | {"label": name} for name, of in schemes.items()],
            "compare.host.lso_after_cut": [False],
            "traffic.0.from": "0",
            "topology.delay": "20.7us",
            "transport.receive_window": 1256,
            "measure.queues": ["host0"],
            "measure.series_every": "4us",
            "run.until": "260ms",
        }
        found = runs("@cedm-fig10-dctcp", sets | card)
        for index, (name, run) in enumerate(zip(schemes, found, strict=True)):
            summary = run.summary()
            mean = number(run.series["bytes"].mean() or 0) / 1500
            rows.append([words, name, summary["goodput_bps"] / 1e9, mean, summary["marks"]])
            if card and index < len(axes):
                queue(axes[index], run, 1500, color=COLOURS[index])
                axes[index].set_xlim(150, 154)
                axes[index].set_title(name, fontsize="small")
    axes[0].set_ylabel("queue (packets)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["cards", "scheme", "goodput, Gbps", "mean queue in the card, packets", "marks"]
    return table(head, rows)


if __name__ == "__main__":
    main(
        __file__,
        [
            interrupts,
            conditions,
            lowest,
            declared,
            thresholds,
            saved,
            by_load,
            without_lso,
            lengths,
            cuts,
            halving,
            fabric,
            alone,
        ],
    )
