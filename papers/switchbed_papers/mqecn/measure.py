"""Measures for MQ-ECN's claims besides the built-in ones."""

from itertools import pairwise

from switchbed.result import Result
from switchbed_papers.reproduce.experiment import fct
from switchbed_papers.reproduce.measures import Points
from switchbed_papers.reproduce.rows import Figures, Rows, number

USUAL = "0.75, 1.2us"
SMALL_BYTES = 102_400
MICE_BYTES = 24_000


def fct_and_mice(result: Result) -> Figures:
    """The summary's figures, and how many in a hundred small flows are under 24 KB."""
    sizes = result.flows["size_bytes"]
    small = sizes.filter(sizes < SMALL_BYTES)
    return fct(result) | {"mice": 100 * number((small < MICE_BYTES).mean())}


QUEUES = "traffic.0.classes"
FLOWS = "traffic.1.flows_each"
BASE_US = 250.0
WEB_SEARCH = (
    # Packets and cumulative probability, as published with the MQ-ECN simulations.
    *((6, 0.0), (6, 0.15), (13, 0.2), (19, 0.3), (33, 0.4), (53, 0.53), (133, 0.6), (667, 0.7)),
    *((1333, 0.8), (3333, 0.9), (6667, 0.97), (20000, 1.0)),
)
PACKET_BYTES = 1460


def rtt(result: Result) -> Figures:
    """The summary's figures and the probes' round-trip times, for drawing."""
    found = result.probes["rtt_s"].drop_nulls().sort()
    at = [min(int(len(found) * i / 200), len(found) - 1) for i in range(201)]
    return fct(result) | {"rtt_us": [1e6 * float(found[i]) for i in at]}


def fig1_avg(rows: Rows) -> Points:
    """Average round-trip time with eight queues over one."""
    return {"": _over(_queues(rows, 8), _queues(rows, 1), "probe0.mean_us")}


def fig1_p99(rows: Rows) -> Points:
    """The same of the 99th percentile."""
    return {"": _over(_queues(rows, 8), _queues(rows, 1), "probe0.p99_us")}


def fig2_large(rows: Rows) -> Points:
    """At each load, what flows over 100 KB gain by 16 packets instead of 2, less what the others
    gain, each in all their times together, in percent of all flows' times with 2."""

    def total_us(runs: Rows, sizes: tuple[str, ...]) -> dict[int, float]:
        """By seed, the times of all flows of these sizes together."""
        found: dict[int, float] = {}
        for size in sizes:
            counts = runs.by_seed(f"{size}.n")
            for seed, mean_us in runs.by_seed(f"{size}.mean_us").items():
                found[seed] = found.get(seed, 0.0) + counts[seed] * mean_us
        return found

    found: Points = {}
    for load in rows.values("load"):
        runs = rows.where({"load": load})
        of, base = (runs.where({"scheme": f"{k} packets"}) for k in (16, 2))
        saved = {
            name: {seed: value - ours[seed] for seed, value in total_us(base, sizes).items()}
            for name, sizes in (("over", ("medium", "large")), ("up to", ("small",)))
            for ours in [total_us(of, sizes)]
        }
        all_us = total_us(base, ("all",))
        found[f"load {load}"] = {
            seed: 100 * (saved["over"][seed] - saved["up to"][seed]) / total
            for seed, total in all_us.items()
        }
    return found


def fig3_share_4(rows: Rows) -> Points:
    """Goodput of the service with four flows over that with one."""
    found = rows.where({FLOWS: 4})
    many, one = (found.by_seed(f"class{c}.goodput_bps") for c in (1, 0))
    return {"": {seed: value / one[seed] for seed, value in many.items()}}


def fig3_mbps_8(rows: Rows) -> Points:
    """Goodput of the service with eight flows, in Mbps."""
    found = rows.where({FLOWS: 8}).by_seed("class1.goodput_bps")
    return {"": {seed: value / 1e6 for seed, value in found.items()}}


JOINS_S = 0.5
"""When the second service begins, in fig6-join.toml."""


def joining(result: Result) -> Figures:
    """The summary's figures, and how long after it has begun the second service has its half, give
    or take a tenth, in the first of five milliseconds in a row."""
    goodput = result.goodput.filter(result.goodput["time_s"] > JOINS_S + 1e-9)
    by_time: dict[float, dict[int, float]] = {}
    for time_s, service, bps in goodput.select("time_s", "class", "goodput_bps").rows():
        by_time.setdefault(time_s, {})[service] = bps
    in_a_row, took_ms = 0, None
    for time_s, rates in sorted(by_time.items()):
        total = sum(rates.values())
        in_a_row = in_a_row + 1 if total and abs(2 * rates.get(1, 0.0) / total - 1) < 0.1 else 0
        if in_a_row == 5:
            took_ms = 1e3 * (time_s - JOINS_S) - 4
            break
    return fct(result) | {"took_ms": took_ms}


def fig6_share(rows: Rows) -> Points:
    """Goodput of the service with four flows over that with one, with each scheme."""
    found: Points = {}
    for scheme in rows.values("scheme"):
        runs = rows.where({"scheme": scheme})
        many, one = (runs.by_seed(f"class{c}.goodput_bps") for c in (1, 0))
        found[scheme] = {seed: value / one[seed] for seed, value in many.items()}
    return found


def fig6_sum(rows: Rows) -> Points:
    """Goodput of both services in Mbps, with each scheme."""
    return {
        scheme: {
            seed: value / 1e6
            for seed, value in rows.where({"scheme": scheme}).by_seed("goodput_bps").items()
        }
        for scheme in rows.values("scheme")
    }


def fig6_qdelay(rows: Rows) -> Points:
    """How far MQ-ECN's queueing delay is below the standard threshold's, in percent."""
    of, base = (
        rows.where({"scheme": scheme}).by_seed("probe0.mean_us")
        for scheme in ("MQ-ECN", "Standard")
    )
    return {"": {s: 100 * (1 - (v - BASE_US) / (base[s] - BASE_US)) for s, v in of.items()}}


def utilisation_and_bytes(result: Result) -> Figures:
    """The bottleneck's utilisation in percent, and web search's bytes under 10 MB by its
    table."""
    found: Figures = {"utilisation": 100 * result.summary()["bottleneck"]["utilisation"]}
    return found | {"websearch_bytes_under_10mb": 100 * _bytes_under(10e6)}


def _bytes_under(limit_bytes: float) -> float:
    """Share of web search's bytes that are in flows under a limit: exact, from its table."""
    limit = limit_bytes / PACKET_BYTES
    under = total = 0.0
    for (low, p), (high, q) in pairwise(WEB_SEARCH):
        total += (q - p) * (low + high) / 2
        top = min(high, limit)
        if top > low:
            share = (q - p) * (top - low) / (high - low)
            under += share * (low + top) / 2
        elif low == high < limit:
            under += (q - p) * low
    return under / total


def _queues(rows: Rows, count: int) -> Rows:
    return Rows([row for row in rows if len(row.settings[QUEUES]) == count])


def _over(of: Rows, base: Rows, metric: str) -> dict[int, float]:
    below = base.by_seed(metric)
    return {seed: value / below[seed] for seed, value in of.by_seed(metric).items()}


def fig13_overall(rows: Rows) -> Points:
    """All flows' average FCT of the other settings above the usual one's, in percent."""
    return _against_usual(rows, "all.mean_us")


def fig13_small(rows: Rows) -> Points:
    """The same of small flows."""
    return _against_usual(rows, "small.mean_us")


def _against_usual(rows: Rows, metric: str) -> Points:
    found: Points = {}
    for load in rows.values("load"):
        usual = rows.where({"scheme": USUAL, "load": load}).by_seed(metric)
        for scheme in rows.values("scheme"):
            if scheme != USUAL:
                of = rows.where({"scheme": scheme, "load": load}).by_seed(metric)
                found[f"({scheme}) at load {load}"] = {
                    seed: 100 * (value / usual[seed] - 1) for seed, value in of.items()
                }
    return found
