"""Measures for CEDM's claims besides the built-in ones."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from switchbed.quantity import size
from switchbed.result import Result
from switchbed.theory import cedm
from switchbed_papers.reproduce.experiment import fct
from switchbed_papers.reproduce.measures import Points
from switchbed_papers.reproduce.rows import Figures, Rows, mean, number

if TYPE_CHECKING:
    import polars as pl

FIG3_K_BYTES = 32_000
LINE_BPS = 10e9
PACKET_BYTES = 1500
SPAN_S = 20e-3
SETTLED_S = 60e-3
"""Warm-up of figure 4, in seconds."""
ROUNDS_FROM_S, ROUND_S = 5e-3, 300e-6
"""Rounds over which lemmas 1 and 2 are compared: longer than a round-trip time with its queue."""
WAY_S = 24.384e-6
"""Propagation over one link of figure 4's scenario."""


def queue(result: Result) -> Figures:
    """The summary's figures, how far the lowest queue after the warm-up is below the threshold (and
    that in a span of 2 ms, in the median), and a window of the series for drawing."""
    series = result.series
    # Slow start is over by half of the run.
    half_s = float(result.summary()["simulated_s"]) / 2
    settled = series.filter(series["time_s"] >= half_s)
    lowest = number(settled["bytes"].min())
    window = settled.head(400)
    # The lowest queue of a long run falls with its length; the median over spans does not.
    in_2_ms = number(extremes(series, half_s, 2e-3)["least"].median())
    return fct(result) | {
        "lowest_kb": lowest / 1e3,
        "below_kb": (FIG3_K_BYTES - lowest) / 1e3,
        "below_2ms_kb": (FIG3_K_BYTES - in_2_ms) / 1e3,
        "time_ms": [round(1e3 * float(t), 4) for t in window["time_s"]],
        "queue_kb": [float(b) / 1e3 for b in window["bytes"]],
    }


def loss(result: Result) -> Figures:
    """The summary's figures and the goodput lost, in Gbps of what a full line
    carries."""
    transport = result.scenario["transport"]
    payload, header = (size(transport[key]) for key in ("mss", "header"))
    # A full line carries this much payload: headers are no loss.
    full = LINE_BPS * payload / (payload + header)
    lost = full - float(result.summary()["goodput_bps"])
    return fct(result) | {"loss_gbps": lost / 1e9}


def amplitude(result: Result) -> Figures:
    """The figures of `loss`, and the queue's amplitude in packets: its greatest length less its
    least, in the mean over spans of 20 ms, and the greatest and least themselves."""
    spans = extremes(result.series, SETTLED_S, SPAN_S)
    most, least = (mean(spans[end]) / PACKET_BYTES for end in ("most", "least"))
    found = {"max_pkt": most, "min_pkt": least, "amplitude_pkt": most - least}
    return loss(result) | found


def extremes(series: "pl.DataFrame", begin_s: float, span_s: float) -> "pl.DataFrame":
    """The greatest and least queue of each whole span from `begin_s` on. What is left at the end is
    no span: the sample at the end of a run would be one without an amplitude."""
    import polars as pl

    # A thousandth of a span more, since times in seconds are rounded down.
    spans = math.floor((number(series["time_s"].max()) - begin_s) / span_s + 1e-3)
    index = ((pl.col("time_s") - begin_s) / span_s).floor()
    of = series.with_columns(index.alias("span")).filter(pl.col("span").is_between(0, spans - 1))
    return of.group_by("span", maintain_order=True).agg(
        most=pl.col("bytes").max(), least=pl.col("bytes").min()
    )


def lemmas(result: Result) -> Figures:
    """By how many packets the least and the greatest queue of a round are above what lemmas 1 and 2
    say of it, in the mean over rounds, and above the same with bursts half as large.

    A sender's window is the most that it has out, by the packets that it handed to its card and the
    ACKs that came back; its burst is the most that it handed over at once. ACKs of several packets
    cannot be counted so, and there is no figure then."""
    changes = result.table("changes").sort("time_s", maintain_order=True)
    ports = {name[0]: of for name, of in changes.group_by("port", maintain_order=True)}
    names = ("lemma1", "half1", "lemma2", "half2")
    # One ACK of two packets cannot be told from one of one by a queue's length.
    if int(result.scenario["transport"]["ack_every"]) != 1:
        return fct(result) | {f"{name}_pkt": None for name in names}
    senders = [_out(ports[f"host{i}"], ports[f"switch:{i}"]) for i in range(2)]
    # Moved back by the way from the hosts, so that it is seen beside what the senders had out.
    queue = ports["switch:2"].with_columns(time_s=ports["switch:2"]["time_s"] - WAY_S)
    found: dict[str, list[float]] = {name: [] for name in names}
    for index, most, least in extremes(queue, ROUNDS_FROM_S, ROUND_S).rows():
        here = [sender[index] for sender in senders if index in sender]
        # A round in which a sender was silent has no window of it.
        if len(here) < len(senders):
            continue
        windows, bursts = zip(*here, strict=True)
        for name, part in (("lemma", 1.0), ("half", 0.5)):
            sizes = [part * burst for burst in bursts]
            found[f"{name}1"].append(least / PACKET_BYTES - cedm.queue_min(windows, sizes, CD))
            found[f"{name}2"].append(most / PACKET_BYTES - cedm.queue_max(windows, sizes, CD))
    above = {f"{name}_pkt": mean(values) for name, values in found.items()}
    return fct(result) | above | {"rounds": len(found["lemma1"])}


def _out(card: "pl.DataFrame", back: "pl.DataFrame") -> dict[float, tuple[int, int]]:
    """A sender's window and burst in each round, from its card's queue and from that of the port
    towards it, which only ACKs cross."""
    sent = handed_over(card, PACKET_BYTES)
    # An ACK leaves the switch's port one way before the sender has it.
    acks = [(at + WAY_S, packets) for at, packets in handed_over(back).items()]
    out, seen = 0, 0
    found: dict[float, tuple[int, int]] = {}
    for at, burst in sent.items():
        out += burst
        # All ACKs that had come by then made room before this burst.
        while seen < len(acks) and acks[seen][0] <= at:
            out -= acks[seen][1]
            seen += 1
        index = math.floor((at - ROUNDS_FROM_S) / ROUND_S)
        window, largest = found.get(index, (0, 0))
        found[index] = (max(window, out), max(largest, burst))
    return found


def segments(result: Result) -> Figures:
    """The summary's figures; of what the sender handed to its card, the percentage of segments that
    are as large as there are, and of those that are not but at least LSO's share of the receive
    window; and data packets an ACK."""
    changes = result.table("changes").sort("time_s", maintain_order=True)
    sizes = {
        host: list(handed_over(changes.filter(changes["port"] == host)).values()) for host in HOSTS
    }
    found = fct(result)
    if acks := len(sizes["host1"]):
        found["packets_an_ack"] = sum(sizes["host0"]) / acks
    host, transport = result.scenario["host"], result.scenario["transport"]
    # The files of table 2 have the window in packets.
    window = int(str(transport["receive_window"]).removesuffix("pkt"))
    largest = size(host["lso_max"]) // size(transport["mss"])
    share = math.ceil(window * float(host["lso_beta"]))
    of_window = sum(share <= one < largest for one in sizes["host0"])
    of_size = sum(one >= largest for one in sizes["host0"])
    total = len(sizes["host0"])
    return found | {"by_window": 100 * of_window / total, "by_size": 100 * of_size / total}


def table2_near(rows: Rows) -> Points:
    """Segments that a share of the window let go, at the shortest round trip."""
    return {"": rows.where({"scenario": "table2"}).by_seed("by_window")}


def table2_far(rows: Rows) -> Points:
    """Segments that are as large as there are, at each of the others."""
    runs = rows.where({"scenario": "table2-far"})
    delays = runs.values("topology.delay")
    return {f"delay {d}": runs.where({"topology.delay": d}).by_seed("by_size") for d in delays}


HOSTS = ("host0", "host1")


def handed_over(changes: "pl.DataFrame", least_bytes: int = 1) -> dict[float, int]:
    """How many packets came at each instant at which some did, by the port's queue over time."""
    rows = zip(changes["time_s"], changes["bytes"], strict=True)
    counts: dict[float, int] = {}
    for (_, before), (at, after) in pairwise(rows):
        # Less growth than `least_bytes` is an ACK's, or a departure.
        if after >= before + least_bytes:
            counts[at] = counts.get(at, 0) + 1
    return counts


THRESHOLD = "scheme.params.threshold"
CD = 10e9 * 100e-6 / 8 / 1500
"""C·d of figure 4 in packets."""


def theory_ecn_star(rows: Rows) -> Points:
    """Corollary 2 at N = 2, β = 1/3: the least threshold, in packets."""
    return {"": {row.seed: cedm.threshold_ecnstar(2, 1 / 3, CD) for row in rows}}


def theory_dctcp(rows: Rows) -> Points:
    """Corollary 4 as the paper prints it."""
    return {"": {row.seed: cedm.threshold_dctcp(2, 1 / 3, CD, "paper") for row in rows}}


def lemma1(rows: Rows, name: str = "lemma1") -> Points:
    """The least queue above lemma 1's, in packets, with each transport."""
    runs = rows.where({"host.lso": True})
    kinds = runs.values("transport.kind")
    return {kind: runs.where({"transport.kind": kind}).by_seed(f"{name}_pkt") for kind in kinds}


def lemma1_of_half_bursts(rows: Rows) -> Points:
    """The same with half of the bursts in the lemma."""
    return lemma1(rows, "half1")


def lemma2(rows: Rows) -> Points:
    """The greatest queue above lemma 2's."""
    return lemma1(rows, "lemma2")


def lemma2_of_half_bursts(rows: Rows) -> Points:
    """The same with half of the bursts in the lemma."""
    return lemma1(rows, "half2")


def corollary1(rows: Rows, beta: float = 1 / 3) -> Points:
    """The simulated amplitude with ECN* in corollary 1's interval, where by corollary 2 the queue
    does not empty: 0 is its lower end, 1 its upper one."""
    least = cedm.threshold_ecnstar(2, 1 / 3, CD)
    return _inside(rows, "ecn-star", least, lambda k: cedm.amplitude_ecnstar(2, beta, CD, k))


def corollary1_of_smaller_bursts(rows: Rows) -> Points:
    """The same with bursts of a tenth of a window in the corollary."""
    return corollary1(rows, 1 / 10)


def corollary3(rows: Rows, beta: float = 1 / 3) -> Points:
    """The simulated amplitude with DCTCP in the interval of corollary 3 as printed, where by
    corollary 4 the queue does not empty."""
    least = cedm.threshold_dctcp(2, 1 / 3, CD, "paper")
    return _inside(rows, "dctcp", least, lambda k: cedm.amplitude_dctcp(2, beta, CD, k, "paper"))


def corollary3_of_larger_bursts(rows: Rows) -> Points:
    """The same with bursts of two thirds of a window in the corollary."""
    return corollary3(rows, 2 / 3)


def _inside(rows: Rows, kind: str, least: float, bounds: Callable[[float], cedm.Bounds]) -> Points:
    """Amplitudes in an interval at thresholds from `least` packets on: lemma 1 has queues below 0
    where the simulated one is empty."""
    found: Points = {}
    runs = rows.where({"transport.kind": kind, "host.lso": True})
    for threshold in runs.values(THRESHOLD):
        pkt = size(threshold) / PACKET_BYTES
        # A threshold that is the corollary's own may differ from it in the last digit.
        if pkt < least - 1e-9:
            continue
        ends = bounds(pkt)
        measured = runs.where({THRESHOLD: threshold}).by_seed("amplitude_pkt")
        found[threshold] = {
            seed: (pkt - ends.low) / (ends.high - ends.low) for seed, pkt in measured.items()
        }
    return found
