"""What explains the claims of the E-ECN paper that do not hold; see README.md."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from switchbed import stats
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
from switchbed_papers.reproduce.rows import number

HERE = Path(__file__).parent
PACKET = 1000
EACH = "ACK a packet"
FOR_TWO = "ACK for two packets"
TWO_FLOWS = "ACK for two, two flows"


def bursts(picture: Path) -> str:
    """Figure 10: what the longest queue after a burst depends on."""
    common: dict[str, Any] = {
        "compare.scheme.params.t_i": ["10us"],
        "compare.scheme.params.t_a": ["0us", "500us", "1ms"],
        "compare.traffic.1.from": ["5-9"],
        "compare.transport.ack_every": [1],
        "measure.series_every": "10us",
        "host.jitter": "1us",
        "transport.ack_delay": "1ms",
    }
    fewer: dict[str, Any] = {"traffic.0.from": "0-1"}
    variations: dict[str, dict[str, Any]] = {
        EACH: {},
        "no jitter": {"host.jitter": "0us"},
        "bursts of two flows": {"compare.traffic.1.from": ["5-6"]},
        "base RTT 20 µs": {"topology.delay": "1us"},
        "base RTT 400 µs": {"topology.delay": "96us"},
        "two flows": fewer,
        "jitter 8 µs, a packet's time": {"host.jitter": "8us"},
        FOR_TWO: {"compare.transport.ack_every": [2]},
        TWO_FLOWS: {"compare.transport.ack_every": [2]} | fewer,
        "ACK for two, initial window 10": {
            "compare.transport.ack_every": [2],
            "transport.initial_window": 10,
        },
    }
    figure, axes = panels("E-ECN, T_a = 5 RTTs, T_i = 10 µs: the queue, and its maxima", 3)
    rows = []
    for name, sets in variations.items():
        row: list[object] = [name]
        for run in runs(HERE / "fig10.toml", common | sets):
            longest = (run.table("bursts")["max_bytes"] / PACKET).sort()
            settled = run.series.filter(run.series["time_s"] > 0.04)["bytes"] / PACKET
            row += [100 * number((longest <= 50).mean()), number(settled.mean())]
            if run.scenario["scheme"]["params"]["t_a"] != "500us":
                continue
            if name in (EACH, FOR_TWO):
                index = (EACH, FOR_TWO).index(name)
                queue(axes[index], run, PACKET, color=COLOURS[index])
                axes[index].set_xlim(600, 640)
                axes[index].axhline(50, color="grey", linewidth=0.8)
                axes[index].set_ylim(0, 75)
                axes[index].set_title(name, fontsize="small")
                axes[index].set_ylabel("queue (packets)")
            if name in (EACH, FOR_TWO, TWO_FLOWS):
                share = [(i + 1) / len(longest) for i in range(len(longest))]
                colour = COLOURS[(EACH, FOR_TWO, TWO_FLOWS).index(name)]
                axes[2].plot(longest, share, color=colour, label=name)
        rows.append(row)
    axes[2].axvline(50, color="grey", linewidth=0.8)
    axes[2].set_xlabel("longest queue after a burst (packets)")
    axes[2].legend(frameon=False, fontsize="x-small")
    figure.savefig(picture, metadata={"Software": None})
    head = [
        f"{what}, T_a {t_a}" for t_a in ("0", "5 RTTs", "10 RTTs") for what in ("below K", "mean")
    ]
    return table(["setting (% of maxima below K, mean queue in packets)", *head], rows)


def steady(picture: Path) -> str:
    """Figures 6 and 7: the steady queue by the hosts' jitter, the ACKs and the flows."""
    figure, axes = panels("E-ECN with five flows, T_i = 1 µs, T_a = 300 µs", 3)
    settings: dict[str, dict[str, Any]] = {
        "ACK a packet, jitter 100 ns": {"host.jitter": "100ns"},
        "ACK for two, jitter 100 ns": {"host.jitter": "100ns", "compare.transport.ack_every": [2]},
        "ACK a packet, jitter 1 µs": {"host.jitter": "1us"},
    }
    rows = []
    for index, (name, sets) in enumerate(settings.items()):
        common: dict[str, Any] = {"compare.transport.ack_every": [1], "transport.ack_delay": "1ms"}
        flows = {"compare.traffic.0.from": ["0-4", "0-19", "0-59"]}
        for run in runs(HERE / "fig7.toml", common | flows | sets):
            scheme, senders = run.scenario["scheme"]["name"], run.scenario["traffic"][0]["from"]
            settled = run.series.filter(run.series["time_s"] > 0.04)["bytes"] / PACKET
            utilisation = 100 * run.summary()["bottleneck"]["utilisation"]
            below = 100 * number((settled < 60).mean())
            count = int(senders.split("-")[1]) + 1
            figures = [below, number(settled.mean()), number(settled.max()), utilisation]
            rows.append([name, scheme, count, *figures])
            if scheme == "e-ecn" and senders == "0-4":
                queue(axes[index], run, PACKET, color=COLOURS[index])
                axes[index].set_xlim(60, 65)
                axes[index].set_ylim(0, 75)
                axes[index].axhline(60, color="grey", linewidth=0.8)
                axes[index].set_title(name, fontsize="small")
    axes[0].set_ylabel("queue (packets)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["hosts", "scheme", "flows", "% below K = 60", "mean", "maximum", "link, %"]
    return table(head, rows)


def predicted(picture: Path) -> str:
    """Figures 6 and 7: what algorithm 1 makes of the growth that it sees, and the maximum."""
    figure, axes = panels(
        "Figures 6 and 7: E-ECN's marks, and the longest queue, K = 60 packets", 2
    )
    counts = (5, 10, 20, 40, 60)
    schemes: dict[str, dict[str, Any]] = {
        "step": {"name": "per-queue"},
        "E-ECN, T_i = 1 µs": {"name": "e-ecn", "params": {"t_i": "1us"}},
        "E-ECN, T_i = 10 µs": {"name": "e-ecn", "params": {"t_i": "10us"}},
        "… T_i = 1 µs, T_a = 1 RTT": {"name": "e-ecn", "params": {"base_rtt": "33.3us"}},
        "… T_i = 1 µs, T_a = 10 RTTs": {"name": "e-ecn", "params": {"base_rtt": "333us"}},
    }
    sets = {
        "compare.scheme": [of | {"label": name} for name, of in schemes.items()],
        "compare.transport.ack_every": [1],
        "compare.traffic.0.from": [f"0-{count - 1}" for count in counts],
        "measure.changes": {"ports": ["switch:100"], "from": "60ms", "until": "75ms"},
        "host.jitter": "100ns",
    }
    longest: dict[str, list[float]] = {name: [] for name in schemes}
    rows: list[list[object]] = []
    for run in runs(HERE / "fig7.toml", sets):
        settled = run.series.filter(run.series["time_s"] > 0.04)["bytes"] / PACKET
        longest[run.label].append(number(settled.max()))
        count = counts[len(longest[run.label]) - 1]
        row: list[object] = [count, run.label, number(settled.mean()), number(settled.max())]
        if not run.label.startswith("E-ECN"):
            rows.append([*row, "", "", ""])
            continue
        window_s = 1e-6 if "= 1 " in run.label else 1e-5
        found = _predictions(run, window_s)
        none = 100 * number((found["ahead_pkt"] == 0).mean())
        some = found.filter(pl.col("ahead_pkt") != 0)["ahead_pkt"].abs().median()
        below = found.filter(pl.col("queue_pkt") < 60)["mark"].mean()
        rows.append([*row, none, number(some or 0), 100 * number(below or 0)])
        if count == 10:
            by_length = (
                found.group_by((pl.col("queue_pkt") / 2).floor() * 2)
                .agg(pl.col("mark").mean(), pl.len())
                .filter(pl.col("len") >= 50)
                .sort("queue_pkt")
            )
            xs, ys = by_length["queue_pkt"], 100 * by_length["mark"]
            colour = COLOURS[list(schemes).index(run.label)]
            axes[0].plot(xs, ys, "o-", markersize=3, color=colour, label=run.label)
    for colour, (name, line) in zip(COLOURS[:3], longest.items(), strict=False):
        axes[1].plot(counts, line, "o-", markersize=3, color=colour, label=name)
    beyond = [60 + count for count in counts]
    axes[1].plot(counts, beyond, "--", color="grey", label="K and a packet a flow")
    axes[0].set_xlabel("queue that an arrival finds, ten flows (packets)")
    axes[0].set_ylabel("arrivals marked (%)")
    axes[1].set_xlabel("flows")
    axes[1].set_ylabel("longest queue (packets)")
    for at in axes:
        at.legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["flows", "scheme", "mean queue", "maximum", "% of arrivals: rate 0"]
    ahead = "otherwise rate·T_a, packets, median size"
    return table([*head, ahead, "% marked below K"], rows)


def _predictions(run: Result, window_s: float) -> pl.DataFrame:
    """Algorithm 1 on each arrival of a trace: the queue that it finds, rate·T_a, and the mark."""
    changes = run.table("changes")
    since = at_last = rate = 0.0
    found: list[tuple[float, float, bool]] = []
    before: float | None = None
    for now, length in zip(changes["time_s"], changes["bytes"] / PACKET, strict=True):
        if before is not None and length > before:
            # Times are printed to the picosecond, but as doubles.
            if now - since >= window_s - 1e-12:
                rate = (before - at_last) / (now - since) if since else 0.0
                since, at_last = now, before
            ahead = rate * 300e-6
            found.append((before, ahead, before + ahead >= 60))
        before = length
    return pl.DataFrame(found, schema=["queue_pkt", "ahead_pkt", "mark"], orient="row")


def peaks(picture: Path) -> str:
    """Figure 11: the longest queues by the burst's flows and the ACKs, with each transport."""
    figure, axes = panels("Figure 11: the longest queue after a burst, E-ECN, K = 30 packets", 2)
    rows: list[list[object]] = []
    for transport in ("reno", "cubic", "dctcp"):
        for every in (1, 2):
            for flows in (5, 6, 7, 8, 10):
                sets = {
                    "compare.traffic.1.from": [f"5-{4 + flows}"],
                    "compare.transport.ack_every": [every],
                    "host.jitter": "1us",
                }
                mean, link, below = {}, {}, {}
                for run in runs(HERE / f"fig11-{transport}.toml", sets):
                    scheme = run.scenario["scheme"]["name"]
                    longest = (run.table("bursts")["max_bytes"] / PACKET).sort()
                    mean[scheme] = number(longest.mean())
                    below[scheme] = 100 * number((longest <= 30).mean())
                    link[scheme] = 100 * run.summary()["bottleneck"]["utilisation"]
                    if transport == "reno" and scheme == "e-ecn" and flows in (5, 8, 10):
                        share = [(i + 1) / len(longest) for i in range(len(longest))]
                        colour = COLOURS[(5, 8, 10).index(flows)]
                        axes[every - 1].plot(longest, share, color=colour, label=f"{flows} flows")
                ours = below.pop("e-ecn")
                row = [transport, every, flows, ours, max(below.values())]
                rows.append([*row, mean["per-queue"], mean["per-queue-dq"], mean["e-ecn"]])
                rows[-1].append(link["e-ecn"])
    for at, name in zip(axes, (EACH, FOR_TWO), strict=True):
        at.axvline(30, color="grey", linewidth=0.8)
        at.set_title(f"Reno, {name}", fontsize="small")
        at.set_xlabel("longest queue after a burst (packets)")
        at.legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["transport", "packets an ACK", "flows in a burst", "% below K, E-ECN"]
    means = [f"mean of the maxima, {scheme}" for scheme in ("step", "dequeue", "E-ECN")]
    return table([*head, "the best other scheme", *means, "link under E-ECN, %"], rows)


def slope(picture: Path) -> str:
    """Table 2: S-ECN by the slope and the window, which the paper does not give."""
    figure, axes = panels(
        "S-ECN, three flows and bursts of five at 1 Gbps, an ACK for two packets", 3
    )
    shown = (("1Gbps", "10us"), ("50Mbps", "100us"), ("50Mbps", "1ms"))
    settings = (*shown, ("1Gbps", "1ms"), ("50Mbps", "10us"), ("50Mbps", "500us"))
    rows = []
    for longs, every in (("0-4", 1), ("0-4", 2), ("0-2", 2)):
        for rate, window in settings:
            s_ecn = {"name": "s-ecn", "params": {"slope": rate, "t_i": window}}
            sets = {
                "compare.scheme": ["per-queue", s_ecn],
                "compare.traffic.1.from": ["5-9"],
                "compare.transport.ack_every": [every],
                "transport.ack_delay": "1ms",
                "traffic.0.from": longs,
                "host.jitter": "1us",
                "measure.series_every": "50us",
            }
            _, run = runs(HERE / "fig11-dctcp.toml", sets)
            longest = run.table("bursts")["max_bytes"] / PACKET
            settled = run.series.filter(run.series["time_s"] > 0.04)["bytes"] / PACKET
            low, high = (float(longest.quantile(q) or 0) for q in (0.05, 0.95))
            goodput = run.summary()["goodput_bps"] / 960e6
            flows = int(longs[-1]) + 1
            mean = number(settled.mean())
            rows.append([flows, every, rate, window, mean, f"{low:.0f} to {high:.0f}", goodput])
            if longs == "0-2" and (rate, window) in shown:
                index = shown.index((rate, window))
                queue(axes[index], run, PACKET, color=COLOURS[index])
                axes[index].set_xlim(600, 700)
                axes[index].set_title(f"slope {rate}, window {window}", fontsize="small")
    axes[0].set_ylabel("queue (packets)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["flows", "packets an ACK", "slope", "window", "mean queue", "5 to 95 % of maxima"]
    return table([*head, "goodput over a full link's"], rows)


def sooner(_: Path) -> str:
    """Figure 9 on the declared hosts, by what of them makes E-ECN converge sooner."""
    every, exact = "transport.ack_every=1", "topology.delay=21us"
    settings = {
        "as they are": (),
        "an ACK for each packet": (every,),
        "windows of 70 packets": ("transport.receive_window=70",),
        "both": (every, "transport.receive_window=70"),
        "LSO": ("host.lso=true",),
        "a card that never drops": ("host.nic=unlimited",),
        "an ACK for each packet, base RTT 100 µs": (every, exact),
        "… K = 30 packets": (every, exact, "scheme.params.threshold=30pkt"),
        "… K = 20 packets": (every, exact, "scheme.params.threshold=20pkt"),
        "… K = 30 packets, converged within 20 %": (
            every,
            exact,
            "scheme.params.threshold=30pkt",
            "measure.convergence.within=0.2",
        ),
        "… K = 30 packets, converged within 5 %": (
            every,
            exact,
            "scheme.params.threshold=30pkt",
            "measure.convergence.within=0.05",
        ),
        "base RTT 100 µs, LSO": (exact, "host.lso=true"),
    }
    return claims_by("eecn", "fig9", settings, seeds=20)


def sooner_by_threshold(_: Path) -> str:
    """Figure 9 by the threshold alone, with an ACK for each packet and a base RTT of 100 us."""
    settings = {
        f"K = {k} packets": (
            "transport.ack_every=1",
            "topology.delay=21us",
            f"scheme.params.threshold={k}pkt",
        )
        for k in (30, 33, 35, 40, 65)
    }
    return claims_by("eecn", "fig9", settings, seeds=40)


def stages(_: Path) -> str:
    """Figure 8 on the declared hosts, its first twelve seconds."""
    settings = {
        "as they are": (),
        "an ACK for each packet": ("transport.ack_every=1",),
        "LSO": ("host.lso=true",),
        "both": ("transport.ack_every=1", "host.lso=true"),
    }
    return claims_by("eecn", "fig8", settings, seeds=3)


def settled(_: Path) -> str:
    """Figures 2 and 4 to 7 on the declared hosts."""
    settings = {
        "as they are": (),
        "100 ns of jitter": ("host.jitter=100ns",),
        "1 µs of jitter": ("host.jitter=1us",),
        "an ACK for each packet": ("transport.ack_every=1",),
        "that and 100 ns of jitter": ("transport.ack_every=1", "host.jitter=100ns"),
    }
    return claims_by("eecn", "fig7", settings, seeds=3)


def by_flows(_: Path) -> str:
    """Figures 6 and 7 by the number of flows and the links, from the committed rows."""
    few = [{"traffic.0.from": f"0-{flows - 1}"} for flows in (5, 10, 15, 20)]
    everywhere = ("eecn.fig7.max", "eecn.fig7.avg", "eecn.fig7.util")
    alone = ("eecn.fig6.without", "eecn.fig6.range")

    def on(scenario: str, **more: Any) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        def reading(measure: Mapping[str, Any]) -> dict[str, Any]:
            return {**measure, **more, "where": {**measure["where"], "scenario": scenario}}

        return reading

    def of(flows: int, scenario: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        def reading(measure: Mapping[str, Any]) -> dict[str, Any]:
            place = {"scenario": scenario, "traffic.0.from": f"0-{flows - 1}"}
            return {**measure, "where": {**measure["where"], **place}}

        return reading

    readings = {
        "as they are": on("fig7"),
        "at 5 to 20 flows": on("fig7", at=few),
        "with T_i = 10 µs": on("fig7-window"),
        "with links of 1 µs": on("fig7-short"),
        "with links of 1 µs, at 5 to 20 flows": on("fig7-short", at=few),
    }
    by_number = {
        f"{words}at {flows} flows": of(flows, scenario)
        for scenario, words in (("fig7", ""), ("fig7-short", "with links of 1 µs, "))
        for flows in (5, 20, 60)
    }
    found = (claims_read("eecn", everywhere, readings), claims_read("eecn", alone, by_number))
    return "\n".join(found)


def afterwards(_: Path) -> str:
    """Figure 10 on the declared hosts, by what bursts begin with and how often ACKs come."""
    first, every = "transport.initial_window", "transport.ack_every=1"
    sets = (
        'compare.scheme.params.t_a=["0us", "500us", "1ms"]',
        'compare.scheme.params.t_i=["1us", "10us"]',
    )
    exact = (*sets, "topology.delay=21us")
    settings = {
        "as they are": sets,
        "initial windows of 2 packets": (*sets, f"{first}=2"),
        "base RTT 100 µs, initial windows of 5 packets": (*exact, f"{first}=5"),
        "base RTT 100 µs, initial windows of 7 packets": (*exact, f"{first}=7"),
        "an ACK for each packet": (*sets, every),
        "an ACK for each packet, base RTT 100 µs": (*exact, every),
        "an ACK for each packet, initial windows of 2 packets": (*sets, f"{first}=2", every),
    }
    return claims_by("eecn", "fig10", settings, seeds=24)


def longest(_: Path) -> str:
    """Figure 11 and table 2 on the declared hosts."""
    schemes = (
        '"per-queue"',
        '"per-queue-dq"',
        '{ name = "red", params = { kmin = "15pkt", kmax = "30pkt" } }',
        '{ name = "s-ecn", params = { slope = "50Mbps", t_i = "1ms" } }',
        '{ name = "e-ecn", params = { t_a = "500us", t_i = "10us" } }',
    )
    long = f"compare.scheme=[{', '.join(schemes)}]"
    exact, first = "topology.delay=21us", "transport.initial_window"
    settings = {
        "as they are": (),
        "an ACK for each packet": ("transport.ack_every=1",),
        "initial windows of 2 packets": (f"{first}=2",),
        "initial windows of 5 packets": (f"{first}=5",),
        "base RTT 100 µs": (exact,),
        "… initial windows of 4 packets": (exact, f"{first}=4"),
        "… initial windows of 5 packets": (exact, f"{first}=5"),
        "base RTT 120 µs, initial windows of 5 packets": ("topology.delay=26us", f"{first}=5"),
        "S-ECN over ten round trips, every packet from 50 Mbps": (long,),
        "… and three flows": (long, "traffic.0.from=0-2"),
        "… and base RTT 100 µs": (long, "traffic.0.from=0-2", exact),
    }
    return claims_by("eecn", "fig11", settings, seeds=12)


def on_others(_: Path) -> str:
    """Figure 12 and table 3 on all hosts, from the committed rows."""
    names = [f"eecn.{what}" for what in ("fig12.short", "fig12.long", "table3.dq", "table3.s-ecn")]
    judged = {"as it is judged": lambda measure: measure}
    return claims_read("eecn", names, judged, ("linux-6.x", "ideal"))


def timeouts(_: Path) -> str:
    """Figure 12's orders, with 1,000 flows, by what hosts do."""
    names = [f"eecn.fig12.{what}" for what in ("short", "long")]
    ten = ("transport.rto_initial=10ms", "transport.rto_min=10ms")
    one = ("transport.rto_initial=1ms", "transport.rto_min=1ms")
    two, long = "transport.initial_window=2", windows_of(4096)
    every, cut = "transport.ack_every=1", "transport.reduction=at-once"
    settings = {
        "as they are": (),
        "an ACK for each packet": (every,),
        "cuts at once": (cut,),
        "windows of 4,096 packets": long,
        "timeouts of 10 ms at least": ten,
        "… an ACK for each packet": (*ten, every),
        "… cuts at once": (*ten, cut),
        "… windows of 4,096 packets": (*ten, *long),
        "… initial windows of 4 packets": (*ten, "transport.initial_window=4"),
        "… of 2 packets": (*ten, two),
        "… of 2 packets, cuts at once": (*ten, two, cut),
        "timeouts of 1 ms at least": one,
        "timeouts of 1 ms at least, initial windows of 2 packets": (*one, two),
        "… and cuts at once": (*one, two, cut),
    }
    return claims_by("eecn", "fig12", settings, seeds=12, only=names)


def joining(picture: Path) -> str:
    """Figure 9: when a second flow has its share, over ten phases of the first one's sawtooth."""
    figure, axes = panels("Figure 9 under E-ECN: the second flow's rate, at three phases", 2)
    settings: dict[str, dict[str, Any]] = {
        "K = 50 packets": {},
        "K = 30 packets": {"scheme.params.threshold": "30pkt"},
        "K = 20 packets": {"scheme.params.threshold": "20pkt"},
        "within 20 % of the fair share": {"measure.convergence.within": 0.2},
        "within 30 % of the fair share": {"measure.convergence.within": 0.3},
        "T_a of 5 RTTs": {"scheme.params.base_rtt": "167us"},
        "T_i = 100 µs": {"scheme.params.t_i": "100us"},
        "an ACK for two packets": {"transport.ack_every": 2, "transport.ack_delay": "1ms"},
        "windows of 90 packets at most": {"transport.receive_window": 90},
        "the first flow without a limit": {"transport.receive_window": 4096},
    }
    shown = ("K = 50 packets", "K = 20 packets")
    phases = ("50ms", "50.7ms", "51.4ms")
    rows: list[list[object]] = []
    for name, sets in settings.items():
        took: dict[str, dict[int, list[float]]] = {"per-queue": {}, "e-ecn": {}}
        common = {"host.jitter": "1us", "compare.seed": [1, 2, 3, 4, 5]}
        for run in runs(HERE / "fig9.toml", common | sets):
            flows = run.table("convergence")
            after = flows.filter(flows["row"] == 1)["converged_after_s"][0]
            scheme = run.scenario["scheme"]["name"]
            ms = 400.0 if after is None else 1e3 * float(after)
            took[scheme].setdefault(run.seed, []).append(ms)
            phase = run.scenario["traffic"][1]["start"]
            if scheme == "e-ecn" and name in shown and run.seed == 1 and phase in phases:
                index = shown.index(name)
                rates = run.table("rates")
                second = rates.filter(rates["row"] == 1)
                colour = COLOURS[phases.index(phase)]
                axes[index].plot(
                    1e3 * second["time_s"], second["rate_bps"] / 1e6, color=colour, linewidth=0.8
                )
                axes[index].set_title(name, fontsize="small")
                axes[index].set_xlim(50, 200)
                axes[index].axhline(480, color="grey", linewidth=0.8)
                axes[index].set_xlabel("time (ms)")
        rows.append([name])
        for by_seed in took.values():
            values = [ms for of_seed in by_seed.values() for ms in of_seed]
            span = f"{min(values):.0f} to {max(values):.0f}"
            rows[-1] += [f"{sum(values) / len(values):.0f}", span]
        step, ours = ([sum(ms) for ms in by_seed.values()] for by_seed in took.values())
        found = stats.mean([100 * (1 - of / base) for of, base in zip(ours, step, strict=True)])
        rows[-1].append(f"{found.estimate:.0f} ({found.low:.0f} to {found.high:.0f})")
    axes[0].set_ylabel("rate (Mbps)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["step, ms (400: not at all)", "ten phases", "E-ECN, ms", "ten phases"]
    return table(["setting", *head, "E-ECN sooner, % (five seeds)"], rows)


def losses(picture: Path) -> str:
    """Table 3: where packets are lost, by what the paper leaves open."""
    old: dict[str, Any] = {"transport.ecn_acks": False, "transport.receive_window": 4096}
    settings: dict[str, dict[str, Any]] = {
        "windows of 6 MB, plain ACKs": old,
        "windows of 6 MB": {"transport.receive_window": 4096},
        "windows of 128 KiB": {},
        "… an ACK for two": {"transport.ack_every": 2, "transport.ack_delay": "1ms"},
        "… initial window 2": {"compare.transport.initial_window": [2]},
        "… and no answers at once": {
            "compare.transport.initial_window": [2],
            "traffic.1.rounds": 1,
        },
        "… initial window 2, 75 packets a port": {
            "compare.transport.initial_window": [2],
            "switch.buffer": "75pkt",
        },
    }
    common: dict[str, Any] = {
        "traffic.0.flows": 1000,
        "compare.transport.initial_window": [10],
    }
    figure, axes = panels("E-ECN, figure 12: packets lost, by where", 3, 3.6)
    schemes = ("per-queue", "per-queue-dq", "e-ecn", "s-ecn")
    rows = []
    for name, sets in settings.items():
        lost = {}
        for run in runs(HERE / "fig12.toml", common | sets):
            lost[run.scenario["scheme"]["name"]] = _places(run)
        ours = [lost["e-ecn"][place] for place in ("cards", "acks")]
        rows.append([name, *ours, *(lost[scheme]["switches"] for scheme in schemes)])
        index = list(settings).index(name)
        if index in (0, 2, 4):
            at = axes[index // 2]
            bottom = [0] * len(schemes)
            for place, colour in zip(("switches", "acks", "cards"), COLOURS, strict=False):
                heights = [lost[s][place] for s in schemes]
                at.bar(schemes, heights, bottom=bottom, color=colour, label=place)
                bottom = [b + h for b, h in zip(bottom, heights, strict=True)]
            at.set_title(name.replace("… ", "128 KiB, "), fontsize="small")
            at.set_ylim(0, 1.2 * max(bottom))
            at.tick_params(axis="x", labelsize="x-small")
    axes[0].set_ylabel("packets lost")
    axes[0].legend(frameon=False, fontsize="small", ncols=3, loc="upper left")
    figure.savefig(picture, metadata={"Software": None})
    head = ["packets lost", "E-ECN: in cards", "ACKs, not ECN-capable"]
    return table([*head, *(f"switches, {scheme}" for scheme in schemes)], rows)


def handshakes(picture: Path) -> str:
    """Figure 12: short flows where a lost SYN costs a second, and where it costs 10 ms."""
    figure, axes = panels("Figure 12: flows up to 100 KB that take longer", 2)
    settings: dict[str, dict[str, Any]] = {
        "first timeout 1 s (RFC 6298)": {},
        "first timeout 10 ms": {"transport.rto_initial": "10ms"},
    }
    schemes = ("s-ecn", "e-ecn", "per-queue-dq", "per-queue")
    common: dict[str, Any] = {
        "compare.transport.initial_window": [10],
        "compare.seed": [1, 2, 3, 4],
    }
    rows: list[list[object]] = []
    for index, (name, sets) in enumerate(settings.items()):
        fct: dict[str, list[pl.Series]] = {scheme: [] for scheme in schemes}
        for run in runs(HERE / "fig12.toml", common | sets):
            small = run.flows.filter(pl.col("size_bytes") <= 100_000)["fct_s"]
            fct[run.scenario["scheme"]["name"]].append(small)
        for colour, (scheme, by_seed) in zip(COLOURS, fct.items(), strict=False):
            every = pl.concat(by_seed).sort(descending=True)
            rank = [(i + 1) / len(every) for i in range(len(every))]
            axes[index].loglog(1e3 * every, rank, color=colour, label=scheme)
            means = [1e3 * number(of_seed.mean()) for of_seed in by_seed]
            late = 100 * number((every > 0.9).mean())
            span = f"{min(means):.1f} to {max(means):.1f}"
            median = 1e3 * number(every.median())
            rows.append([name, scheme, sum(means) / len(means), span, median, late])
        axes[index].set_title(name, fontsize="small")
        axes[index].set_xlabel("FCT (ms)")
    axes[0].set_ylabel("share of the flows")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Software": None})
    head = ["hosts", "scheme", "mean FCT, ms", "the seeds", "median, ms", "% over 0.9 s"]
    return table(head, rows)


def _places(run: Result) -> dict[str, int]:
    """Packets lost in hosts' cards, for not being ECN-capable, and in full switch ports."""
    card = pl.col("port").str.starts_with("host")
    ports = run.counters
    return {
        "cards": int(ports.filter(card)["drops_full"].sum()),
        "acks": int(ports["drops_not_ecn_capable"].sum()),
        "switches": int(ports.filter(~card)["drops_full"].sum()),
    }


if __name__ == "__main__":
    main(
        __file__,
        [
            sooner,
            sooner_by_threshold,
            stages,
            longest,
            settled,
            by_flows,
            afterwards,
            on_others,
            timeouts,
            bursts,
            steady,
            predicted,
            peaks,
            slope,
            joining,
            losses,
            handshakes,
        ],
    )
