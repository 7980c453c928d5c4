"""What CQRD's claims need beyond the built-in measures."""

from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import stats
from switchbed.plots import OTHERS, STYLES, Style
from switchbed.reproduce.experiment import fct
from switchbed.reproduce.measures import Points
from switchbed.reproduce.rows import Figures, Row, Rows
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MET = ("output", "path")
STATISTICS = ("mean_us", "p50_us", "p95_us", "p99_us")
GIANT_BYTES = 1_000_000
SMALL_BYTES = 100_000
SMALL = "small.mean_us"


def met(result: Result) -> Figures:
    """The summary's figures, those of flows by what they met of giant ones, and the shares."""
    found = fct(result)
    summary = result.summary()
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
        kept = flows["met"].is_in(MET) & (flows["size_bytes"] <= SMALL_BYTES)
        fcts_us = [1e6 * value for value in flows.filter(kept)["fct_s"]]
        if fcts_us:
            found["met.small.n"] = len(fcts_us)
            found["met.small.mean_us"] = sum(fcts_us) / len(fcts_us)
            found["met.small.p99_us"] = stats.percentile(fcts_us, 0.99)
    return found


def fig9_lower(rows: Rows) -> Points:
    """How far CQRD's small flows that met a giant one are below OQ's and HCF's, by statistic."""
    found: Points = {}
    runs = rows.where({"load": 0.1})
    for base in ("oq", "hcf"):
        for name in MET:
            for statistic in STATISTICS:
                metric = f"{name}.small.{statistic}"
                ours = runs.where({"scheme": "cqrd"}).by_seed(metric)
                theirs = runs.where({"scheme": base}).by_seed(metric)
                found[f"{base}, {name}, {statistic}"] = {
                    seed: 100 * (1 - v / theirs[seed]) for seed, v in ours.items() if seed in theirs
                }
    return found


def fig9_large(rows: Rows) -> Points:
    """How far the goodput of CQRD's large flows that met a giant one is below HCF's: mean size
    is the same, so it is the ratio of the mean times."""
    runs = rows.where({"load": 0.1})
    ours = runs.where({"scheme": "cqrd"}).by_seed("output.large.mean_us")
    theirs = runs.where({"scheme": "hcf"}).by_seed("output.large.mean_us")
    return {"": {s: 100 * (1 - theirs[s] / v) for s, v in ours.items() if s in theirs}}


def fig6_more(rows: Rows) -> Points:
    """The share of flows that met a giant one, in the tree less in the switch."""
    tree = rows.where({"scenario": "cqrd-fig11", "scheme": "cqrd", "load": 0.1})
    switch = rows.where({"scenario": "cqrd-fig8", "scheme": "cqrd", "load": 0.1})
    below = switch.by_seed("met_percent")
    return {"": {s: v - below[s] for s, v in tree.by_seed("met_percent").items()}}


def fig14_flat(rows: Rows) -> Points:
    """CQRD's small average with 120 and 200 KB an output over that with 400."""
    return _memory(rows, ("2.88MB", "4.8MB"))


def fig14_sharp(rows: Rows) -> Points:
    """And with 40 KB."""
    return _memory(rows, ("0.96MB",))


def _memory(rows: Rows, memories: tuple[str, ...]) -> Points:
    runs = rows.where({"scheme": "cqrd"})
    most = runs.where({"switch.memory": "9.6MB"}).by_seed("small.mean_us")
    return {
        memory: {
            seed: value / most[seed]
            for seed, value in runs.where({"switch.memory": memory})
            .by_seed("small.mean_us")
            .items()
        }
        for memory in memories
    }


def fig15_tcp(rows: Rows) -> Points:
    """Small flows' average under OQ with DCTCP over that with TCP."""
    tcp = rows.where({"scenario": "fig15-tcp"}).by_seed("small.mean_us")
    dctcp = rows.where({"scenario": "fig15", "scheme": "oq", "transport.g": 0.00625})
    return {"": {s: v / tcp[s] for s, v in dctcp.by_seed("small.mean_us").items()}}


def look(scheme: str, index: int) -> Style:
    """How a scheme is drawn."""
    return STYLES.get(scheme) or OTHERS[index % len(OTHERS)]


def draw_fig2(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average by scheme, for both first timeouts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained", dpi=130)
    axes = figure.subplots()
    schemes, timeouts = rows.values("scheme"), rows.values("transport.rto_initial")
    for index, timeout in enumerate(timeouts):
        heights = [
            _mean(rows.where({"scheme": s, "transport.rto_initial": timeout}), "small.mean_us")
            for s in schemes
        ]
        places = [place + 0.4 * index - 0.2 for place in range(len(schemes))]
        axes.bar(places, heights, 0.38, color=("#0072B2", "#E69F00")[index], label=timeout)
    axes.set_xticks(range(len(schemes)), schemes)
    axes.set_yscale("log")
    axes.set_ylabel("small flows' average FCT (µs)")
    axes.legend(frameon=False, title="first RTO")
    axes.set_title(title, fontsize="medium")
    figure.savefig(file, metadata={"Software": None})


def draw_loads(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average and 99th percentile over load, by scheme."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    for axes, metric in zip(figure.subplots(1, 2), ("small.mean_us", "small.p99_us"), strict=True):
        _lines(axes, rows, "load", metric)
        axes.set_xlabel("load")
        axes.set_ylabel(f"small flows, {'average' if 'mean' in metric else '99th percentile'} (µs)")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})


def draw_fig14(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average over memory, by scheme."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained", dpi=130)
    axes = figure.subplots()
    with_kb = Rows(
        [
            Row(row.settings | {"KB": _kb(row.settings["switch.memory"])}, row.seed, row.figures)
            for row in rows
        ]
    )
    _lines(axes, with_kb, "KB", "small.mean_us")
    axes.set_xlabel("memory an output (KB)")
    axes.set_ylabel("small flows' average FCT (µs)")
    axes.legend(frameon=False)
    axes.set_title(title, fontsize="medium")
    figure.savefig(file, metadata={"Software": None})


def draw_fig13(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average by where another scheme than OQ stands."""
    aggregation = rows.where({"scenario": "fig13-aggregation"})
    tors = rows.where({"scenario": "fig13"})
    fractions = {"half of the ToRs": 0.5, "all ToRs": 1}
    heights = {
        name: [
            _mean(aggregation.where({"deploy.0.scheme": name}), SMALL),
            *(
                _mean(tors.where({"deploy.1.scheme": name, "deploy.1.fraction": part}), SMALL)
                for part in fractions.values()
            ),
        ]
        for name in tors.values("deploy.1.scheme")
    }
    _bars(heights, ["aggregation", *fractions], title, file)


def draw_fig15(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average with DCTCP by g, and under OQ with TCP."""
    dctcp = rows.where({"scenario": "fig15"})
    gains = dctcp.values("transport.g")
    heights = {
        name: [_mean(dctcp.where({"scheme": name, "transport.g": g}), SMALL) for g in gains]
        for name in dctcp.values("scheme")
    }
    heights["oq, TCP"] = [_mean(rows.where({"scenario": "fig15-tcp"}), SMALL)] * len(gains)
    _bars(heights, [f"g = {g}" for g in gains], title, file)


def _bars(heights: dict[str, list[float]], groups: list[str], title: str, file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.5), layout="constrained", dpi=130)
    axes = figure.subplots()
    width = 0.8 / len(heights)
    for index, (name, values) in enumerate(heights.items()):
        places = [place + (index - (len(heights) - 1) / 2) * width for place in range(len(groups))]
        axes.bar(places, values, 0.95 * width, color=look(name, index).colour, label=name)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel("small flows' average FCT (µs)")
    axes.grid(alpha=0.3, axis="y")
    figure.legend(loc="outside right center", frameon=False)
    axes.set_title(title, fontsize="medium")
    figure.savefig(file, metadata={"Software": None})


def _lines(axes: "Axes", rows: Rows, key: str, metric: str) -> None:
    for index, scheme in enumerate(rows.values("scheme")):
        values = sorted(rows.where({"scheme": scheme}).values(key))
        heights = [_mean(rows.where({"scheme": scheme, key: value}), metric) for value in values]
        style = look(scheme, index)
        axes.plot(
            values, heights, style.dashes, marker=style.marker, color=style.colour, label=scheme
        )
    axes.set_yscale("log")
    axes.grid(alpha=0.3, which="both")


def _mean(rows: Rows, metric: str) -> float:
    values = list(rows.by_seed(metric).values())
    return sum(values) / len(values)


def _kb(text: str) -> float:
    return 1e3 * float(text.removesuffix("MB")) / 24
