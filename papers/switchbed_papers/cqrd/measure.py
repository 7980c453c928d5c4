"""Measures for CQRD's claims besides the built-in ones."""

from switchbed import stats
from switchbed.plots.style import OTHERS, STYLES, Style
from switchbed.quantity import size
from switchbed.result import Result
from switchbed_papers.reproduce.experiment import fct
from switchbed_papers.reproduce.measures import Points
from switchbed_papers.reproduce.rows import Figures, Rows, mean

MET = ("output", "path")
OTHER = ("oq", "hcf", "cq")
STATISTICS = ("mean_us", "p50_us", "p95_us", "p99_us")
GIANT_BYTES = 1_000_000
SMALL_BYTES = 100_000
SMALL = "small.mean_us"
LARGE = "large.goodput_mbps"


def met(result: Result) -> Figures:
    """The summary's figures, those of flows by what they met of giant ones, and the shares."""
    found = fct(result)
    summary = result.summary()
    # Null without `measure.giant`, as in the experiments that do not ask.
    by_met = summary["fct_by_met"] or {}
    for name, classes in by_met.items():
        for size_class, values in classes.items():
            found |= {f"{name}.{size_class}.{key}": value for key, value in values.items()}
    if by_met:
        total = sum(classes["all"]["n"] for classes in by_met.values())
        found["met_percent"] = 100 * sum(by_met[name]["all"]["n"] for name in MET) / total
        giants = (result.flows["size_bytes"] > GIANT_BYTES).sum()
        found["giant_percent"] = 100 * float(giants) / len(result.flows)
        flows = result.flows.drop_nulls("fct_s")
        # Together: the summary has flows that met giants at the output and on the path apart.
        kept = flows["met"].is_in(MET) & (flows["size_bytes"] <= SMALL_BYTES)
        fcts_us = [1e6 * value for value in flows.filter(kept)["fct_s"]]
        if fcts_us:
            found["met.small.n"] = len(fcts_us)
            found["met.small.mean_us"] = sum(fcts_us) / len(fcts_us)
            found["met.small.p99_us"] = stats.percentile(fcts_us, 0.99)
    return found


def goodputs(result: Result) -> Figures:
    """The same, and goodputs as section 3.1 has them: a flow's size over its FCT, in the mean of
    large flows (over 100 KB) and of giant ones (over 1 MB), of all and of those that met another
    giant."""
    found = met(result)
    flows = result.flows.drop_nulls("fct_s")
    # Bytes over seconds, in Mbps.
    flows = flows.with_columns(mbps=8e-6 * flows["size_bytes"] / flows["fct_s"])
    chosen = {"": flows}
    if "met" in flows.columns:
        chosen["met."] = flows.filter(flows["met"].is_in(MET))
    for what, among in chosen.items():
        for name, least in (("large", SMALL_BYTES), ("giant", GIANT_BYTES)):
            over = among.filter(among["size_bytes"] > least)["mbps"]
            found[f"{what}{name}.goodput_mbps"] = mean(over) if len(over) else None
    return found


def toy(result: Result) -> Figures:
    """The same, and how evenly the two large flows share the output: Jain's index of their
    goodputs."""
    found = goodputs(result)
    flows = result.flows.drop_nulls("fct_s")
    giants = flows.filter(flows["size_bytes"] > GIANT_BYTES).select("size_bytes", "fct_s").rows()
    rates = [float(bytes_) / float(fct_s) for bytes_, fct_s in giants]
    squares = sum(rate * rate for rate in rates)
    return found | {"large.jain": sum(rates) ** 2 / (len(rates) * squares) if rates else None}


def longs(result: Result) -> Figures:
    """The summary's figures and what each long flow got to its receiver, in MB."""
    received = result.flows.filter(result.flows["size_bytes"].is_null())["received_bytes"]
    each = {f"long{i}.received_mb": value / 1e6 for i, value in enumerate(received)}
    return fct(result) | each | {"long.received_mb": float(received.sum()) / 1e6}


def fig9_lower(rows: Rows) -> Points:
    """How far CQRD's small flows that met a giant one are below the others', by statistic."""
    found: Points = {}
    runs = rows.where({"load": 0.1})
    for base in OTHER:
        for name in MET:
            for statistic in STATISTICS:
                found[f"{base}, {name}, {statistic}"] = _below(
                    runs, base, f"{name}.small.{statistic}"
                )
    return found


def fig12_path(rows: Rows) -> Points:
    """The same in the tree, of flows that met a giant one on their path."""
    runs = rows.where({"load": 0.1})
    return {
        f"{base}, {statistic}": _below(runs, base, f"path.small.{statistic}")
        for base in OTHER
        for statistic in STATISTICS
    }


def _below(runs: Rows, base: str, metric: str) -> dict[int, float]:
    """How far CQRD's figure is below another scheme's, in percent."""
    ours = runs.where({"scheme": "cqrd"}).by_seed(metric)
    theirs = runs.where({"scheme": base}).by_seed(metric)
    return {seed: 100 * (1 - v / theirs[seed]) for seed, v in ours.items() if seed in theirs}


def fig11_narrower(rows: Rows) -> Points:
    """How far CQRD is below OQ and HCF at load 0.7, less how far at 0.4, in points."""
    found: Points = {}
    for base in ("oq", "hcf"):
        heavy, extreme = (_below(rows.where({"load": load}), base, SMALL) for load in (0.4, 0.7))
        # Seed by seed, since both loads have flows of the same sizes.
        found[base] = {seed: v - heavy[seed] for seed, v in extreme.items() if seed in heavy}
    return found


def fig11_best(rows: Rows) -> Points:
    """How far CQRD's average is below each other scheme's at load 0.7."""
    runs = rows.where({"load": 0.7})
    return {base: _below(runs, base, SMALL) for base in OTHER}


def fig6_more(rows: Rows) -> Points:
    """The share of flows that met a giant one, in the tree less in the switch."""
    tree = rows.where({"scenario": "cqrd-fig11", "scheme": "cqrd", "load": 0.1})
    switch = rows.where({"scenario": "cqrd-fig8", "scheme": "cqrd", "load": 0.1})
    below = switch.by_seed("met_percent")
    return {"": {s: v - below[s] for s, v in tree.by_seed("met_percent").items()}}


def fig13_more(rows: Rows) -> Points:
    """By how many points CQRD is further below CQ in all ToRs than in one cluster."""
    found: Points = {}
    for load in rows.values("load"):
        below = {}
        runs = rows.where({"scenario": "fig13", "load": load})
        fractions = runs.values("deploy.1.fraction")
        # One cluster of switches, and all of them.
        few, every = min(fractions), max(fractions)
        for fraction in (few, every):
            here = runs.where({"deploy.1.fraction": fraction})
            cq = here.where({"deploy.1.scheme": "cq"}).by_seed(SMALL)
            ours = here.where({"deploy.1.scheme": "cqrd"}).by_seed(SMALL)
            below[fraction] = {seed: 100 * (1 - us / cq[seed]) for seed, us in ours.items()}
        found[f"load {load}"] = {s: v - below[few][s] for s, v in below[every].items()}
    return found


def fig14_flat(rows: Rows) -> Points:
    """CQRD's small average with 120 and 200 KB an output over that with 400."""
    return _memory(rows, ("120KB", "200KB"), SMALL)


def fig14_goodput(rows: Rows) -> Points:
    """Goodput of large flows in figure 14."""
    return _memory(rows, ("120KB", "200KB"), LARGE)


def fig14_sharp(rows: Rows) -> Points:
    """The small average with a packet a crosspoint."""
    return _memory(rows, (min(rows.values("switch.buffer"), key=size),), SMALL)


def fig14_moderate(rows: Rows) -> Points:
    """And with 60 and 90 KB at the least load."""
    return _memory(rows.where({"load": 0.1}), ("60KB", "90KB"), SMALL)


def _memory(rows: Rows, memories: tuple[str, ...], metric: str) -> Points:
    found: Points = {}
    for load in rows.values("load"):
        runs = rows.where({"load": load})
        # Every memory is compared with 400 KB an output.
        most = runs.where({"switch.buffer": "400KB"}).by_seed(metric)
        for memory in memories:
            ours = runs.where({"switch.buffer": memory}).by_seed(metric)
            found[f"load {load}, {memory}"] = {s: value / most[s] for s, value in ours.items()}
    return found


def fig15_tcp(rows: Rows) -> Points:
    """Small flows' average under OQ with DCTCP over that with TCP."""
    tcp = rows.where({"scenario": "fig15-tcp"})
    # The gain that the paper's text gives; other values are other readings.
    dctcp = rows.where({"scenario": "fig15", "scheme": "oq", "transport.g": 0.00625})
    found: Points = {}
    for load in rows.values("load"):
        base = tcp.where({"load": load}).by_seed(SMALL)
        ours = dctcp.where({"load": load}).by_seed(SMALL)
        found[f"load {load}"] = {s: value / base[s] for s, value in ours.items()}
    return found


def fig15_goodput(rows: Rows) -> Points:
    """How far large flows' goodput under OQ with TCP is above that with DCTCP, in percent."""
    tcp = rows.where({"scenario": "fig15-tcp"})
    dctcp = rows.where({"scenario": "fig15", "scheme": "oq", "transport.g": 0.00625})
    found: Points = {}
    for load in rows.values("load"):
        base = dctcp.where({"load": load}).by_seed(LARGE)
        ours = tcp.where({"load": load}).by_seed(LARGE)
        found[f"load {load}"] = {s: 100 * (value / base[s] - 1) for s, value in ours.items()}
    return found


def look(scheme: str, index: int) -> Style:
    """How a scheme is drawn."""
    return STYLES.get(scheme) or OTHERS[index % len(OTHERS)]
