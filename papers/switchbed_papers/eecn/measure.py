"""Measures for E-ECN's claims besides the built-in ones."""

import statistics
from collections.abc import Sequence
from itertools import pairwise

from switchbed.result import Result
from switchbed.theory import eecn
from switchbed_papers.reproduce.experiment import fct
from switchbed_papers.reproduce.measures import Points
from switchbed_papers.reproduce.rows import Figures, Row, Rows, mean, number

PACKET_BYTES = 1000
THRESHOLD_PKT = 60
FLOWS = "traffic.0.from"
T_A, T_I = "scheme.params.t_a", "scheme.params.t_i"
FIG9_LEFT_MS = 393.0
"""Time from figure 9's latest start of a flow to the end of its runs."""
SHORT = ("s-ecn", "e-ecn", "per-queue-dq", "per-queue")
"""By the FCT of short flows, shortest first, as the paper has it."""


def steady(result: Result) -> Figures:
    """The summary's figures and what the samples of the queue say of its steady state."""
    series = result.series
    times = series["time_s"]
    # The warm-up, and as long again for the last flows to settle.
    packets = (series.filter(times >= 0.4 * number(times.max()))["bytes"] / PACKET_BYTES).sort()
    count = len(packets)
    return fct(result) | {
        "under_percent": 100 * float((packets < THRESHOLD_PKT).sum()) / count,
        "typical_percent": 100 * float(packets.is_between(40, 60).sum()) / count,
        "mean_pkt": mean(packets),
        "max_pkt": number(packets.max()),
        "utilisation": 100 * result.summary()["bottleneck"]["utilisation"],
        "cdf_pkt": [float(packets[min(count * i // 100, count - 1)]) for i in range(101)],
        "last_ms": [
            (round(1e6 * float(t)), round(float(b) / PACKET_BYTES, 1))
            for t, b in series.filter(times > number(times.max()) - 1e-3)
            .select("time_s", "bytes")
            .rows()
        ],
    }


def bursts(result: Result) -> Figures:
    """The summary's figures and the longest queue after each burst."""
    longest = (result.table("bursts")["max_bytes"] / PACKET_BYTES).sort().to_list()
    threshold = 30 if "11" in result.scenario["title"] else 50
    # At most K, kept as committed rows have it; claims count what is below (`_below`).
    under = sum(length <= threshold for length in longest)
    return fct(result) | {
        "bursts": len(longest),
        "under_percent": 100 * under / len(longest),
        "mean_max_pkt": sum(longest) / len(longest),
        "max_pkt": longest,
    }


def fabric(result: Result) -> Figures:
    """The summary's figures and the packets lost in switches: what overflows a sender's own card is
    no loss of the network's."""
    ports = result.counters
    switches = ports.filter(~ports["port"].str.starts_with("host"))
    lost = [column for column in ports.columns if column.startswith("drops_")]
    return fct(result) | {"lost": sum(int(switches[column].sum()) for column in lost)}


def shares(result: Result) -> Figures:
    """How far rates are off the fair share in each window away from a change, in percent."""
    rates = result.table("rates")
    # Flows come and go every 5 s; the windows of the 0.2 s after are left out.
    phase = rates["time_s"] % 5.0
    settled = rates.filter((phase > 0.2) & rates["fair_bps"].is_not_null())
    off = 100 * (settled["rate_bps"] / settled["fair_bps"] - 1)
    return fct(result) | {
        "off_percent": mean(off.abs()),
        "rates": [
            (float(t), int(row), float(rate) / 1e6)
            for t, row, rate in rates.select("time_s", "row", "rate_bps").rows()
        ],
    }


def joining(result: Result) -> Figures:
    """How long the second flow took to its fair share, in milliseconds, and both flows' rates."""
    found = result.table("convergence").filter(result.table("convergence")["row"] == 1)
    took = found["converged_after_s"][0]
    rates = result.table("rates").select("time_s", "row", "rate_bps").rows()
    return {
        "took_ms": None if took is None else 1e3 * float(took),
        "rates": [(round(1e3 * float(t)), int(r), round(float(bps) / 1e6)) for t, r, bps in rates],
    }


def fig2_mean(rows: Rows) -> Points:
    """The mean queue with 60 flows over that with 5, under step marking."""
    return {"": _over_flows(rows.where({"scheme": "per-queue"}), "0-59", "0-4", "mean_pkt")}


def fig2_max(rows: Rows) -> Points:
    """The maximum with 15 flows over that with 5, under step marking."""
    return {"": _over_flows(rows.where({"scheme": "per-queue"}), "0-14", "0-4", "max_pkt")}


def fig2_linear(rows: Rows) -> Points:
    """The maximum's growth from 10 to 15 flows over that from 5 to 10, under step marking."""
    runs = rows.where({"scheme": "per-queue"})
    few, some, many = (
        runs.where({FLOWS: flows}).by_seed("max_pkt") for flows in ("0-4", "0-9", "0-14")
    )
    grown = {seed: some[seed] - few[seed] for seed in few}
    return {"": {s: (many[s] - some[s]) / by for s, by in grown.items() if by > 0}}


def _over_flows(rows: Rows, of: str, base: str, metric: str) -> dict[int, float]:
    below = rows.where({FLOWS: base}).by_seed(metric)
    return {s: v / below[s] for s, v in rows.where({FLOWS: of}).by_seed(metric).items()}


def fig9_sooner(rows: Rows) -> Points:
    """How much sooner E-ECN converges, in percent, of the means over all phases. A run that does
    not converge counts with the time that every run has for it: its mean is a lower bound."""
    found: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        took_ms = row.figures["took_ms"]
        by_seed = found.setdefault(row.settings["scheme"], {})
        by_seed.setdefault(row.seed, []).append(
            FIG9_LEFT_MS if took_ms is None else min(took_ms, FIG9_LEFT_MS)
        )
    means = {s: {k: sum(v) / len(v) for k, v in of.items()} for s, of in found.items()}
    step, ours = means.get("per-queue", {}), means.get("e-ecn", {})
    return {"": {seed: 100 * (1 - v / step[seed]) for seed, v in ours.items() if seed in step}}


def fig9_unconverged(rows: Rows) -> Points:
    """Runs of E-ECN that do not converge, in percent of all phases."""
    return _unconverged(rows, "e-ecn")


def fig9_unconverged_step(rows: Rows) -> Points:
    """The same of step marking."""
    return _unconverged(rows, "per-queue")


def _unconverged(rows: Rows, scheme: str) -> Points:
    found: dict[int, list[bool]] = {}
    for row in rows.where({"scheme": scheme}):
        found.setdefault(row.seed, []).append(row.figures["took_ms"] is None)
    return {"": {seed: 100 * sum(of) / len(of) for seed, of in found.items()}}


def fig6_narrower(rows: Rows) -> Points:
    """How much narrower the queue's middle 98 % are with E-ECN than under step marking."""

    def width(row: Row) -> float:
        share: list[float] = row.figures["cdf_pkt"]
        return share[99] - share[1]

    step = rows.where({"scheme": "per-queue"}).by_seed(width)
    ours = rows.where({"scheme": "e-ecn"}).by_seed(width)
    return {"": {seed: 100 * (1 - v / step[seed]) for seed, v in ours.items()}}


def _below(rows: Rows, threshold_pkt: int) -> Points:
    """Maxima below a threshold, in percent of the bursts. A maximum of the threshold is not below:
    algorithm 1 marks from there on, and so calls it exceeded."""

    def share(row: Row) -> float:
        longest: list[float] = row.figures["max_pkt"]
        return 100 * sum(length < threshold_pkt for length in longest) / len(longest)

    return {"": rows.by_seed(share)}


def fig10_ta5(rows: Rows) -> Points:
    """Maxima below K at a T_a of 5 RTTs."""
    return _below(rows.where({T_A: "500us", T_I: "10us"}), 50)


def fig10_ta10(rows: Rows) -> Points:
    """Maxima below K at a T_a of 10 RTTs."""
    return _below(rows.where({T_A: "1ms", T_I: "10us"}), 50)


def fig11_reno(rows: Rows) -> Points:
    """Maxima below K with E-ECN and Reno."""
    return _below(rows.where({"scenario": "fig11-reno", "scheme": "e-ecn"}), 30)


def fig10_ta(rows: Rows) -> Points:
    """How far the mean of the maxima at 10 RTTs is below that at 5, at each T_i over 1 us."""
    found: Points = {}
    for t_i in rows.values(T_I):
        if t_i != "1us":
            runs = rows.where({T_I: t_i})
            found[f"T_i {t_i}"] = _lower(runs.where({T_A: "1ms"}), runs.where({T_A: "500us"}))
    return found


def fig10_ti(rows: Rows) -> Points:
    """How far the mean of the maxima at a T_i of 10 us is below that at 30 us."""
    return {
        f"T_a {t_a}": _lower(
            rows.where({T_A: t_a, T_I: "10us"}), rows.where({T_A: t_a, T_I: "30us"})
        )
        for t_a in ("500us", "1ms")
    }


def _lower(of: Rows, base: Rows) -> dict[int, float]:
    """How far the mean of the maxima is below another's, in percent, by seed."""
    above = base.by_seed("mean_max_pkt")
    return {s: 100 * (1 - v / above[s]) for s, v in of.by_seed("mean_max_pkt").items()}


def fig10_ti1(rows: Rows) -> Points:
    """With T_i of 1 µs: by how much the longest queue with the largest T_a is below that with the
    smallest one over 0, in percent: without any T_a there is no E-ECN."""
    runs = rows.where({T_I: "1us"})
    some, *_, much = [t_a for t_a in runs.values(T_A) if t_a != "0us"]
    return {"": _lower(runs.where({T_A: much}), runs.where({T_A: some}))}


def fig11_dq(rows: Rows) -> Points:
    """How far marking at dequeue has lower maxima than step marking, with DCTCP."""
    runs = rows.where({"scenario": "fig11-dctcp"})
    return {"": _lower(runs.where({"scheme": "per-queue-dq"}), runs.where({"scheme": "per-queue"}))}


def fig11_spread(rows: Rows) -> Points:
    """The standard deviation of S-ECN's maxima over that of step marking's, with DCTCP."""

    def spread(row: Row) -> float:
        longest: list[float] = row.figures["max_pkt"]
        return statistics.stdev(longest)

    runs = rows.where({"scenario": "fig11-dctcp"})
    step = runs.where({"scheme": "per-queue"}).by_seed(spread)
    wide = runs.where({"scheme": "s-ecn"}).by_seed(spread)
    return {"": {seed: v / step[seed] for seed, v in wide.items() if step[seed]}}


def fig11_order(rows: Rows) -> Points:
    """How far E-ECN's mean of the maxima is below each other scheme's, with Reno and CUBIC."""
    found: Points = {}
    for kind in ("reno", "cubic"):
        runs = rows.where({"scenario": f"fig11-{kind}"})
        ours = runs.where({"scheme": "e-ecn"})
        for scheme in runs.values("scheme"):
            if scheme != "e-ecn":
                found[f"{kind}, {scheme}"] = _lower(ours, runs.where({"scheme": scheme}))
    return found


def table2_mbps(rows: Rows) -> Points:
    """Step marking's throughput with DCTCP, in Mbps of payload."""
    runs = rows.where({"scenario": "fig11-dctcp", "scheme": "per-queue"})
    return {"": {seed: bps / 1e6 for seed, bps in runs.by_seed("goodput_bps").items()}}


def table2(rows: Rows) -> Points:
    """S-ECN's goodput over step marking's, with DCTCP."""
    return _over_step(rows, "dctcp", "s-ecn")


def table2_reno(rows: Rows) -> Points:
    """E-ECN's goodput over step marking's, with Reno."""
    return _over_step(rows, "reno", "e-ecn")


def table2_cubic(rows: Rows) -> Points:
    """Measure of table 2 with CUBIC."""
    return _over_step(rows, "cubic", "e-ecn")


def table2_dctcp(rows: Rows) -> Points:
    """Measure of table 2 with DCTCP."""
    return _over_step(rows, "dctcp", "e-ecn")


def _over_step(rows: Rows, kind: str, scheme: str) -> Points:
    runs = rows.where({"scenario": f"fig11-{kind}"})
    step = runs.where({"scheme": "per-queue"}).by_seed("goodput_bps")
    ours = runs.where({"scheme": scheme}).by_seed("goodput_bps")
    return {"": {seed: value / step[seed] for seed, value in ours.items()}}


def fig12_short(rows: Rows) -> Points:
    """How far each scheme's small flows are below the next one's in the paper's order."""
    found: Points = {}
    for less, more in pairwise(SHORT):
        above = rows.where({"scheme": more}).by_seed("small.mean_us")
        below = rows.where({"scheme": less}).by_seed("small.mean_us")
        found[f"{less} < {more}"] = {s: 100 * (1 - v / above[s]) for s, v in below.items()}
    return found


def fig12_long(rows: Rows) -> Points:
    """How far S-ECN's large flows are above each other scheme's."""
    worst = rows.where({"scheme": "s-ecn"}).by_seed("large.mean_us")
    found: Points = {}
    for scheme in SHORT[1:]:
        other = rows.where({"scheme": scheme}).by_seed("large.mean_us")
        found[scheme] = {seed: 100 * (v / other[seed] - 1) for seed, v in worst.items()}
    return found


def fig4_tenfold(rows: Rows) -> Points:
    """In how many of a hundred cases T_a,max, solved exactly, is over ten RTTs: 2 to 10 flows,
    a bandwidth-delay product of 83 packets (10 Gbps, 100 µs), K of 20, 40, 65 and 100; only where a
    limit follows."""
    return _tenfold(rows, (20, 40, 65, 100))


def fig4_tenfold_of_a_quarter(rows: Rows) -> Points:
    """The same with a quarter of each K."""
    return _tenfold(rows, (5, 10, 16.25, 25))


def _tenfold(rows: Rows, thresholds_pkt: Sequence[float]) -> Points:
    found = [eecn.t_a_max(n, 83.3, k) for k in thresholds_pkt for n in range(2, 11)]
    limits = [limit for limit in found if limit is not None]
    share = 100 * sum(limit > 10 for limit in limits) / len(limits)
    return {"": {row.seed: share for row in rows}}
