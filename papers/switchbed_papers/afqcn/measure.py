"""What AF-QCN's claims need beyond the built-in measures."""

from itertools import pairwise
from typing import Any

from switchbed.result import Result
from switchbed_papers.reproduce.experiment import fct
from switchbed_papers.reproduce.measures import Points
from switchbed_papers.reproduce.rows import Figures, Rows, number

SETTLES_S = 0.5
"""Left out after each change of rates, caps or flows, and at the start."""
CHANGES_S = {"6": (2.0, 4.0), "7": (2.0, 4.0), "9": (2.0,), "11": (0.5,), "10": tuple(range(1, 8))}
BINS = ((1, 10), (10, 100), (100, 1000), (1000, 1e12))
"""Table 1's size bins in KB."""


def shares(result: Result) -> Figures:
    """The summary's figures, and each class's goodput over its max-min share in every interval
    away from changes: how many intervals are off by more than so much, and the means."""
    import polars as pl

    goodput = result.goodput
    changes = CHANGES_S.get(_figure(result), ())
    settled = goodput.filter(pl.col("time_s") > SETTLES_S)
    for change in changes:
        settled = settled.filter(~pl.col("time_s").is_between(change, change + SETTLES_S))
    active = settled.filter(pl.col("fair_bps") > 0)
    ratio = active["goodput_bps"] / active["fair_bps"]
    count = max(len(ratio), 1)
    found: Figures = {
        f"within_{percent}": 100 * float(((ratio - 1).abs() <= percent / 100).sum()) / count
        for percent in (10, 25, 50)
    }
    found |= {f"off_{percent}": 100 - found[f"within_{percent}"] for percent in (10, 25, 50)}
    found["worst_percent"] = _worst(active, changes)
    for name, values in active.group_by("class"):
        key = f"class{name[0]}"
        found[f"{key}.mean_gbps"] = number(values["goodput_bps"].mean()) / 1e9
        found[f"{key}.over_fair"] = number((values["goodput_bps"] / values["fair_bps"]).mean())
    series = result.series
    if len(series):
        found |= _queue(series, changes)
    thin = goodput.filter((pl.col("time_s") * 100).round() % 5 == 0)
    rows = thin.select("time_s", "class", "goodput_bps").rows()
    found["ratios"] = [round(number(ratio.quantile(i / 200)), 4) for i in range(201)]
    found["curve"] = [(round(float(t), 3), int(c), round(float(b) / 1e6)) for t, c, b in rows]
    return fct(result) | found


def _queue(series: Any, changes: tuple[float, ...]) -> Figures:
    """The queue's mean and its standard deviation in KB, both over the times between changes (the
    latter as the root of the mean variance), and every fiftieth millisecond for drawing."""
    spans = [
        series.filter(series["time_s"].is_between(begin + SETTLES_S, end))["bytes"]
        for begin, end in pairwise([0.0, *changes, 1e9])
    ]
    spans = [span for span in spans if len(span) > 1]
    if not spans:
        return {}
    length = sum(len(span) for span in spans)
    thin = series.filter((series["time_s"] * 100).round() % 5 == 0)
    return {
        "queue_kb": sum(number(span.sum()) for span in spans) / length / 1e3,
        "queue_sd_kb": (sum(len(s) * number(s.var()) for s in spans) / length) ** 0.5 / 1e3,
        "queue_curve": [
            (round(float(t), 3), round(float(b) / 1e3, 2))
            for t, b in thin.select("time_s", "bytes").rows()
        ],
    }


def _worst(active: Any, changes: tuple[float, ...]) -> float:
    """How far the mean of any class between two changes is off its share, in percent."""
    import polars as pl

    edges = [0.0, *changes, 1e9]
    worst = 0.0
    for begin, end in pairwise(edges):
        part = active.filter(pl.col("time_s").is_between(begin, end))
        if len(part):
            means = part.group_by("class").agg(pl.col("goodput_bps", "fair_bps").mean())
            off = (means["goodput_bps"] / means["fair_bps"] - 1).abs().max()
            worst = max(worst, 100 * float(off))
    return worst


def _figure(result: Result) -> str:
    """`6` of a title that names figure 6."""
    return str(result.scenario["title"]).partition("figure ")[2].partition(":")[0]


def bins(result: Result) -> Figures:
    """The summary's figures, the mean FCT of flows by table 1's bins, and the long flows'."""
    import polars as pl

    flows = result.flows.filter(pl.col("fct_s").is_not_null())
    found: Figures = {}
    for low, high in BINS:
        part = flows.filter(
            (pl.col("size_bytes") >= 1000 * low) & (pl.col("size_bytes") < 1000 * high)
        )
        found[f"from_{low}_kb.mean_us"] = 1e6 * number(part["fct_s"].mean() or 0)
        found[f"from_{low}_kb.n"] = len(part)
    goodput = result.goodput.filter(pl.col("time_s") > SETTLES_S).filter(pl.col("class") < 4)
    means = [number(v["goodput_bps"].mean()) for _, v in goodput.group_by("class")]
    found["long_spread_percent"] = 100 * (max(means) / min(means) - 1)
    thin = goodput.filter((pl.col("time_s") * 100).round() % 5 == 0)
    rows = thin.select("time_s", "class", "goodput_bps").rows()
    found["curve"] = [(round(float(t), 3), int(c), round(float(b) / 1e6)) for t, c, b in rows]
    return fct(result) | found


def table1(rows: Rows) -> Points:
    """How far AF-QCN's mean FCT is below QCN's in each bin, in percent."""
    ours, theirs = (rows.where({"scheme": scheme}) for scheme in ("af-qcn", "qcn"))
    found: Points = {}
    for low, high in BINS:
        metric = f"from_{low}_kb.mean_us"
        base = theirs.by_seed(metric)
        name = f"{low} KB and more" if high > 1e9 else f"{low} to {high} KB"
        found[name] = {
            s: 100 * (1 - v / base[s]) for s, v in ours.by_seed(metric).items() if base[s]
        }
    return found


def fig9_weights(rows: Rows) -> Points:
    """How far the mean of any class is off its weighted share, before the cap and after."""
    return {"": rows.where({"scheme": "af-qcn"}).by_seed("worst_percent")}


def fig10_starved(rows: Rows) -> Points:
    """What part of its max-min share, 2.5 Gbps on the wire, QCN leaves to the flow over three
    links, from half a second after the last flow has joined to the cap."""
    found = {}
    for row in rows.where({"scheme": "qcn"}):
        rates = [mbps for t, flow, mbps in row.figures["curve"] if flow == 0 and 5.5 < t <= 7.0]
        found[row.seed] = sum(rates) / len(rates) / (2500 * 0.96)
    return {"": found}


def fig11_source(rows: Rows) -> Points:
    """Goodput of the bursty source that offers 6 Gbps, in Gbps on the wire."""
    runs = rows.where({"scheme": "af-qcn", "traffic.3.rate": "6Gbps"})
    return {"": {s: v * 1000 / 960 for s, v in runs.by_seed("class3.mean_gbps").items()}}
