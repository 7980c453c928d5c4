"""What CEDM's claims need beyond the built-in measures."""

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
"""Figure 4's warm-up."""


def queue(result: Result) -> Figures:
    """The summary's figures, how far the lowest queue after the warm-up is below the threshold (and
    that in a span of 2 ms, in the median), and a window of the series for drawing."""
    import polars as pl

    series = result.series
    settled = series.filter(series["time_s"] >= float(result.summary()["simulated_s"]) / 2)
    lowest = number(settled["bytes"].min())
    window = settled.head(400)
    part = (settled["time_s"] / 2e-3).floor().alias("part")
    by_2_ms = settled.group_by(part, maintain_order=True).agg(low=pl.col("bytes").min())
    in_2_ms = number(by_2_ms["low"].median())
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
    full = LINE_BPS * payload / (payload + header)
    lost = full - float(result.summary()["goodput_bps"])
    return fct(result) | {"loss_gbps": lost / 1e9}


def amplitude(result: Result) -> Figures:
    """The figures of `loss`, and the queue's amplitude in packets: its greatest length less its
    least, in the mean over spans of 20 ms, and the greatest and least themselves."""
    import polars as pl

    series = result.series.filter(result.series["time_s"] >= SETTLED_S)
    span = (pl.col("time_s") / SPAN_S).floor()
    by_span = series.group_by(span, maintain_order=True).agg(
        most=pl.col("bytes").max(), least=pl.col("bytes").min()
    )
    most, least = (mean(by_span[end]) / PACKET_BYTES for end in ("most", "least"))
    found = {"max_pkt": most, "min_pkt": least, "amplitude_pkt": most - least}
    return loss(result) | found


def segments(result: Result) -> Figures:
    """The summary's figures; of what the sender handed to its card, the percentage of segments that
    are as large as there are, and of those that are not but at least LSO's share of the receive
    window; and data packets an ACK."""
    changes = result.table("changes").sort("time_s", maintain_order=True)
    sizes = {host: handed_over(changes.filter(changes["port"] == host)) for host in HOSTS}
    found = fct(result)
    if acks := len(sizes["host1"]):
        found["packets_an_ack"] = sum(sizes["host0"]) / acks
    host, transport = result.scenario["host"], result.scenario["transport"]
    window = int(str(transport["receive_window"]).removesuffix("pkt"))
    largest = size(host["lso_max"]) // size(transport["mss"])
    share = math.ceil(window * float(host["lso_beta"]))
    of_window = sum(share <= one < largest for one in sizes["host0"])
    of_size = sum(one >= largest for one in sizes["host0"])
    total = len(sizes["host0"])
    return found | {"by_window": 100 * of_window / total, "by_size": 100 * of_size / total}


WINDOW = "transport.receive_window"


def table2_near(rows: Rows) -> Points:
    """Segments that a share of the window let go, at the shortest round trip."""
    return {"": rows.where({WINDOW: rows.values(WINDOW)[0]}).by_seed("by_window")}


def table2_far(rows: Rows) -> Points:
    """Segments that are as large as there are, at each of the others."""
    windows = rows.values(WINDOW)[1:]
    return {str(window): rows.where({WINDOW: window}).by_seed("by_size") for window in windows}


HOSTS = ("host0", "host1")


def handed_over(changes: "pl.DataFrame") -> list[int]:
    """How many packets came at each instant at which some did, by the port's queue over time."""
    rows = zip(changes["time_s"], changes["bytes"], strict=True)
    counts: dict[float, int] = {}
    for (_, before), (at, after) in pairwise(rows):
        if after > before:
            counts[at] = counts.get(at, 0) + 1
    return list(counts.values())


THRESHOLD = "scheme.params.threshold"
CD = 10e9 * 100e-6 / 8 / 1500
"""C·d of figure 4 in packets."""


def theory_ecn_star(rows: Rows) -> Points:
    """Corollary 2 at N = 2, β = 1/3: the least threshold, in packets."""
    return {"": {row.seed: cedm.threshold_ecnstar(2, 1 / 3, CD) for row in rows}}


def theory_dctcp(rows: Rows) -> Points:
    """Corollary 4 as printed."""
    return {"": {row.seed: cedm.threshold_dctcp(2, 1 / 3, CD, "paper") for row in rows}}


def corollary1(rows: Rows) -> Points:
    """The simulated amplitude with ECN* in corollary 1's interval: 0 is its lower end, 1 its upper
    one."""
    return _inside(rows, "ecn-star", lambda k: cedm.amplitude_ecnstar(2, 1 / 3, CD, k))


def corollary1_of_larger_bursts(rows: Rows) -> Points:
    """The same with bursts of two thirds of a window in the corollary."""
    return _inside(rows, "ecn-star", lambda k: cedm.amplitude_ecnstar(2, 2 / 3, CD, k))


def corollary3(rows: Rows) -> Points:
    """The simulated amplitude with DCTCP in the interval of corollary 3 as printed."""
    return _inside(rows, "dctcp", lambda k: cedm.amplitude_dctcp(2, 1 / 3, CD, k, "paper"))


def corollary3_of_larger_bursts(rows: Rows) -> Points:
    """The same with bursts of two thirds of a window in the corollary."""
    return _inside(rows, "dctcp", lambda k: cedm.amplitude_dctcp(2, 2 / 3, CD, k, "paper"))


def _inside(rows: Rows, kind: str, bounds: Callable[[float], cedm.Bounds]) -> Points:
    found: Points = {}
    runs = rows.where({"transport.kind": kind, "host.lso": True})
    for threshold in runs.values(THRESHOLD):
        ends = bounds(size(threshold) / PACKET_BYTES)
        measured = runs.where({THRESHOLD: threshold}).by_seed("amplitude_pkt")
        found[threshold] = {
            seed: (pkt - ends.low) / (ends.high - ends.low) for seed, pkt in measured.items()
        }
    return found
