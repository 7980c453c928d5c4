"""Measures for AF-QCN's claims besides the built-in ones."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from switchbed.result import Result
from switchbed_papers.reproduce.experiment import fct
from switchbed_papers.reproduce.measures import Points
from switchbed_papers.reproduce.rows import Figures, Rows, mean, number

SETTLES_S = 0.5
"""Left out after each change of rates, caps or flows, and at the start."""
CHANGES_S = {"6": (2.0, 4.0), "7": (2.0, 4.0), "9": (2.0,), "11": (0.5,), "10": tuple(range(1, 8))}
WITHIN, LASTS_S = 0.25, 0.05
"""A flow has converged when it is this near its share, as a part of it, for so long."""
BINS = ((1, 10), (10, 100), (100, 1000), (1000, 1e12))
"""Table 1's size bins in KB."""
PRINTED_QCN = (2.346, 2.610, 5.037, 33.14)
"""Table 1's mean FCT with QCN in each bin, printed in microseconds, read in milliseconds."""
SHORT_UNTIL_S = 5.0
"""Until then short flows arrive in every run of table 1."""
INACTIVE = 0.64
"""20 KB in 1 ms, under which a flow is inactive, over figure 8's fair share of 250 Mbps."""
WIRE = 1000 / 960
"""Bytes on the wire of a packet over its payload."""


def shares(result: Result) -> Figures:
    """The summary's figures, and each class's goodput over its max-min share in every interval
    away from changes: how many intervals are off by more than so much, and the means."""
    import polars as pl

    fine = result.goodput
    goodput = _tens(fine)
    changes = CHANGES_S.get(_figure(result), ())
    settled = goodput.filter(pl.col("time_s") > SETTLES_S)
    for change in changes:
        # Half a second after each change rates are still on their way to the new shares.
        settled = settled.filter(~pl.col("time_s").is_between(change, change + SETTLES_S))
    # A class without flows under way has no share to be off from.
    active = settled.filter(pl.col("fair_bps") > 0)
    ratio = active["goodput_bps"] / active["fair_bps"]
    count = max(len(ratio), 1)
    found: Figures = {
        f"within_{percent}": 100 * float(((ratio - 1).abs() <= percent / 100).sum()) / count
        for percent in (10, 25, 50)
    }
    found |= {f"off_{percent}": 100 - found[f"within_{percent}"] for percent in (10, 25, 50)}
    found["worst_percent"] = _worst(active, changes)
    found |= _fine(fine, changes)
    for name, values in active.group_by("class", maintain_order=True):
        key = f"class{name[0]}"
        found[f"{key}.mean_gbps"] = mean(values["goodput_bps"]) / 1e9
        found[f"{key}.over_fair"] = mean(values["goodput_bps"] / values["fair_bps"])
    series = result.series
    if len(series):
        found |= _queue(series, changes)
    # Every fiftieth millisecond: enough for a picture, and few enough to commit.
    thin = goodput.filter((pl.col("time_s") * 100).round() % 5 == 0)
    rows = thin.select("time_s", "class", "goodput_bps").rows()
    # Quantiles in place of samples: the distribution of figure 8 in 201 numbers.
    found["ratios"] = [round(number(ratio.quantile(i / 200)), 4) for i in range(201)]
    found["curve"] = [(round(float(t), 3), int(c), round(float(b) / 1e6)) for t, c, b in rows]
    return fct(result) | found


def _tens(goodput: Any) -> Any:
    """Samples of 10 ms, which figures 6 to 11 show, from finer ones."""
    import polars as pl

    # A sample's time is the end of its interval, so one at 20 ms belongs to the bin that ends
    # there.
    end = ((goodput["time_s"] * 100 - 1e-6).ceil() / 100).alias("time_s")
    rates = pl.col("goodput_bps", "fair_bps").mean()
    by = goodput.with_columns(end).group_by("time_s", "class", maintain_order=True)
    return by.agg(rates).select("time_s", "class", "goodput_bps", "fair_bps")


def _fine(goodput: Any, changes: tuple[float, ...]) -> Figures:
    """Of samples as they are: the share within a quarter of the fair one once flows have settled,
    and after each change how long it takes until all flows are within it for 50 ms; where they
    never are, all the time until the next change."""
    import polars as pl

    times = goodput["time_s"].unique().sort()
    # Samples of 10 ms are too coarse for 50 ms of convergence.
    if len(times) < 2 or number(times[1] - times[0]) > 5e-3:
        return {}
    off = (pl.col("goodput_bps") / pl.col("fair_bps") - 1).abs()
    fair = goodput.filter(pl.col("fair_bps") > 0)
    worst = fair.group_by("time_s", maintain_order=True).agg(off.max().alias("off")).sort("time_s")
    after = fair.filter(pl.col("time_s") > SETTLES_S)
    for change in changes:
        after = after.filter(~pl.col("time_s").is_between(change, change + SETTLES_S))
    within = number(after.select((off <= WITHIN).mean()).item())
    found: Figures = {"fine_within_25": 100 * within}
    for begin, end in pairwise([*changes, number(times.max())]):
        # A nanosecond more than the change: times in seconds are rounded.
        part = worst.filter((pl.col("time_s") > begin + 1e-9) & (pl.col("time_s") <= end + 1e-9))
        found[f"converged_{begin:g}_ms"] = 1e3 * _converged(part.rows(), begin, end)
    return found


def _converged(worst: Sequence[tuple[float, float]], begin: float, end: float) -> float:
    """Seconds from a change to the first of 50 ms of samples that are all within a quarter."""
    since = None
    for time, off in worst:
        if off > WITHIN:
            since = None
        elif since is None:
            since = time
        if since is not None and time - since >= LASTS_S - 1e-9:
            return since - begin
    return end - begin


def _queue(series: Any, changes: tuple[float, ...]) -> Figures:
    """The queue's mean and its standard deviation in KB, both over the times between changes (the
    latter as the root of the mean variance), and every fiftieth millisecond for drawing."""
    spans = [
        # Variance is taken within spans: a queue that follows a change of rates does not count as
        # noise.
        series.filter(series["time_s"].is_between(begin + SETTLES_S, end))["bytes"]
        # Each span begins half a second late; 1e9 s stands for the end of any run.
        for begin, end in pairwise([0.0, *changes, 1e9])
    ]
    spans = [span for span in spans if len(span) > 1]
    if not spans:
        return {}
    length = sum(len(span) for span in spans)
    thin = series.filter((series["time_s"] * 100).round() % 5 == 0)
    return {
        "queue_kb": sum(len(span) * mean(span) for span in spans) / length / 1e3,
        "queue_sd_kb": (sum(map(_variance, spans)) / length) ** 0.5 / 1e3,
        "queue_curve": [
            (round(float(t), 3), round(float(b) / 1e3, 2))
            for t, b in thin.select("time_s", "bytes").rows()
        ],
    }


def _variance(lengths: Any) -> float:
    """The sample variance, times the number of samples."""
    middle = mean(lengths)
    squares = math.fsum((float(each) - middle) ** 2 for each in lengths)
    return len(lengths) / (len(lengths) - 1) * squares


def _worst(active: Any, changes: tuple[float, ...]) -> float:
    """How far the mean of any class between two changes is off its share, in percent."""
    import polars as pl

    edges = [0.0, *changes, 1e9]
    worst = 0.0
    for begin, end in pairwise(edges):
        part = active.filter(pl.col("time_s").is_between(begin, end))
        for _, values in part.group_by("class", maintain_order=True):
            off = abs(mean(values["goodput_bps"]) / mean(values["fair_bps"]) - 1)
            worst = max(worst, 100 * off)
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
        found[f"from_{low}_kb.mean_us"] = 1e6 * mean(part["fct_s"]) if len(part) else 0.0
        found[f"from_{low}_kb.n"] = len(part)
    # Classes 0 to 3 are the four long flows.
    goodput = result.goodput.filter(pl.col("time_s") > SETTLES_S).filter(pl.col("class") < 4)
    by_class = goodput.group_by("class", maintain_order=True)
    means = [mean(values["goodput_bps"]) for _, values in by_class]
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
        # The last bin's bound is a number beyond every flow.
        name = f"{low} KB and more" if high > 1e9 else f"{low} to {high} KB"
        found[name] = {
            s: 100 * (1 - v / base[s]) for s, v in ours.by_seed(metric).items() if base[s]
        }
    return found


def table1_trend(rows: Rows) -> Points:
    """By how many points the gain in the largest bin is above that in the smallest."""
    gains = list(table1(rows).values())
    return {"": {s: v - gains[0][s] for s, v in gains[-1].items() if s in gains[0]}}


def table1_over(rows: Rows) -> Points:
    """QCN's mean FCT in milliseconds over the number that Table I prints, in each bin."""
    found: Points = {}
    runs = rows.where({"scheme": "qcn"})
    for (low, _), printed in zip(BINS, PRINTED_QCN, strict=True):
        means = runs.by_seed(f"from_{low}_kb.mean_us")
        found[f"{low} KB and more"] = {s: v / 1e3 / printed for s, v in means.items() if v}
    return found


def fig12_spread(rows: Rows) -> Points:
    """How far AF-QCN's largest mean rate of a long flow is above its smallest, in percent, while
    short flows come: the last ones have arrived before 6 s, and runs go on to 8 s."""
    found = {}
    for row in rows.where({"scheme": "af-qcn"}):
        rates: dict[int, list[float]] = {}
        for time, flow, mbps in row.figures["curve"]:
            if SETTLES_S < time <= SHORT_UNTIL_S:
                rates.setdefault(flow, []).append(mbps)
        means = [sum(of) / len(of) for of in rates.values()]
        found[row.seed] = 100 * (max(means) / min(means) - 1)
    return {"": found}


def fig8_inactive(rows: Rows) -> Points:
    """Samples under the rate at which a flow counts as inactive, in percent, from quantiles."""
    found = {}
    for row in rows:
        ratios = row.figures["ratios"]
        found[row.seed] = 100 * sum(each < INACTIVE for each in ratios) / len(ratios)
    return {"": found}


def fig11_each(rows: Rows) -> Points:
    """Each static flow's goodput over its share under AF-QCN, at either offered load."""
    found: Points = {}
    runs = rows.where({"scheme": "af-qcn"})
    for rate in runs.values("traffic.3.rate"):
        at = runs.where({"traffic.3.rate": rate})
        for flow in range(3):
            found[f"flow {flow + 1}, {rate} offered"] = at.by_seed(f"class{flow}.over_fair")
    return found


def fig9_weights(rows: Rows) -> Points:
    """How far the mean of any class is off its weighted share, before the cap and after."""
    return {"": rows.where({"scheme": "af-qcn"}).by_seed("worst_percent")}


def fig10_starved(rows: Rows) -> Points:
    """Part of its max-min share that QCN leaves to the flow over three links, which is 2.5 Gbps on
    the wire. Measured from half a second after the last flow has joined to the cap."""
    found = {}
    for row in rows.where({"scheme": "qcn"}):
        rates = [mbps for t, flow, mbps in row.figures["curve"] if flow == 0 and 5.5 < t <= 7.0]
        found[row.seed] = sum(rates) / len(rates) / (2500 / WIRE)
    return {"": found}


def fig11_source(rows: Rows) -> Points:
    """Goodput of the bursty source that offers 6 Gbps, in Gbps on the wire."""
    runs = rows.where({"scheme": "af-qcn", "traffic.3.rate": "6Gbps"})
    return {"": {s: v * WIRE for s, v in runs.by_seed("class3.mean_gbps").items()}}
