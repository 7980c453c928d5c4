"""What CEDM's claims need beyond the built-in measures."""

from switchbed.papers.reproduce.experiment import fct
from switchbed.papers.reproduce.measures import Points
from switchbed.papers.reproduce.rows import Figures, Rows, number
from switchbed.quantity import size
from switchbed.result import Result
from switchbed.theory import cedm

FIG3_K_BYTES = 32_000
LINE_BPS = 10e9


def queue(result: Result) -> Figures:
    """The summary's figures, how far the lowest queue after the warm-up is below the threshold (and
    that in a span of 2 ms, in the median), and a window of the series for drawing."""
    series = result.series
    settled = series.filter(series["time_s"] >= float(result.summary()["simulated_s"]) / 2)
    lowest = number(settled["bytes"].min())
    window = settled.head(400)
    by_2_ms = settled.group_by((settled["time_s"] / 2e-3).floor().alias("part")).agg(low="bytes")
    in_2_ms = number(by_2_ms["low"].list.min().median())
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


CD = 10e9 * 100e-6 / 8 / 1500
"""C·d of figure 4 in packets."""


def theory_ecn_star(rows: Rows) -> Points:
    """Corollary 2 at N = 2, β = 1/3: the least threshold, in packets."""
    return {"": {row.seed: cedm.threshold_ecnstar(2, 1 / 3, CD) for row in rows}}


def theory_dctcp(rows: Rows) -> Points:
    """Corollary 4 as printed."""
    return {"": {row.seed: cedm.threshold_dctcp(2, 1 / 3, CD, "paper") for row in rows}}
