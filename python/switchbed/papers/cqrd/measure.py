"""What CQRD's claims need beyond the built-in measures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import stats
from switchbed.papers.reproduce.experiment import fct
from switchbed.papers.reproduce.measures import Points
from switchbed.papers.reproduce.rows import Figures, Row, Rows, number
from switchbed.plots import style
from switchbed.plots.style import OTHERS, STYLES, Style
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def goodputs(result: Result) -> Figures:
    """The same, and goodputs as section 3.1 has them: a flow's size over its FCT, in the mean of
    large flows (over 100 KB) and of giant ones (over 1 MB), of all and of those that met another
    giant."""
    found = met(result)
    flows = result.flows.drop_nulls("fct_s")
    flows = flows.with_columns(mbps=8e-6 * flows["size_bytes"] / flows["fct_s"])
    chosen = {"": flows, "met.": flows.filter(flows["met"].is_in(MET))}
    for what, among in chosen.items():
        for name, least in (("large", SMALL_BYTES), ("giant", GIANT_BYTES)):
            over = among.filter(among["size_bytes"] > least)["mbps"]
            found[f"{what}{name}.goodput_mbps"] = number(over.mean()) if len(over) else None
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
    found: Points = {}
    for load in rows.values("load"):
        runs = rows.where({"load": load})
        most = runs.where({"switch.memory": "9.6MB"}).by_seed(SMALL)
        for memory in memories:
            ours = runs.where({"switch.memory": memory}).by_seed(SMALL)
            found[f"load {load}, {memory}"] = {s: value / most[s] for s, value in ours.items()}
    return found


def fig15_tcp(rows: Rows) -> Points:
    """Small flows' average under OQ with DCTCP over that with TCP."""
    tcp = rows.where({"scenario": "fig15-tcp"})
    dctcp = rows.where({"scenario": "fig15", "scheme": "oq", "transport.g": 0.00625})
    found: Points = {}
    for load in rows.values("load"):
        base = tcp.where({"load": load}).by_seed(SMALL)
        ours = dctcp.where({"load": load}).by_seed(SMALL)
        found[f"load {load}"] = {s: value / base[s] for s, value in ours.items()}
    return found


def look(scheme: str, index: int) -> Style:
    """How a scheme is drawn."""
    return STYLES.get(scheme) or OTHERS[index % len(OTHERS)]


def draw_fig2(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average by scheme."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained", dpi=130)
    axes = figure.subplots()
    schemes = rows.values("scheme")
    heights = [_mean(rows.where({"scheme": scheme}), "small.mean_us") for scheme in schemes]
    axes.bar(range(len(schemes)), heights, 0.6, color=style.BLUE)
    axes.set_xticks(range(len(schemes)), schemes)
    axes.set_yscale("log")
    axes.set_ylabel("small flows' average FCT (µs)")
    axes.set_title(title, fontsize="medium")
    figure.savefig(file, metadata={"Software": None})


def draw_loads(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average and 99th percentile over load, by scheme."""
    figure, panels = _panels(title, 2)
    for axes, metric in zip(panels, (SMALL, "small.p99_us"), strict=True):
        _lines(axes, rows, "load", metric)
        axes.set_xlabel("load")
        axes.set_ylabel(f"small flows, {'average' if metric == SMALL else '99th percentile'} (µs)")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})


def draw_fig14(rows: Rows, title: str, file: Path) -> None:
    """CQRD's average and 99th percentile of small flows over memory, by load."""
    by_kb = Rows(
        [
            Row(row.settings | {"KB": _kb(row.settings["switch.memory"])}, row.seed, row.figures)
            for row in rows
        ]
    )
    figure, panels = _panels(title, 2)
    for axes, metric in zip(panels, (SMALL, "small.p99_us"), strict=True):
        for index, load in enumerate(by_kb.values("load")):
            runs = by_kb.where({"load": load})
            sizes = sorted(runs.values("KB"))
            heights = [_mean(runs.where({"KB": size}), metric) for size in sizes]
            style = OTHERS[index]
            axes.plot(sizes, heights, marker=style.marker, color=style.colour, label=f"load {load}")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("memory an output (KB)")
        axes.set_ylabel(f"small flows, {'average' if metric == SMALL else '99th percentile'} (µs)")
        axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})


def draw_fig13(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average by where another scheme than OQ stands, a panel a load."""
    places = {"aggregation": None, "half of\nthe ToRs": 0.5, "all ToRs": 1}
    loads = rows.values("load")
    figure, panels = _panels(title, len(loads))
    for axes, load in zip(panels, loads, strict=True):
        runs = rows.where({"load": load})
        aggregation = runs.where({"scenario": "fig13-aggregation"})
        tors = runs.where({"scenario": "fig13"})
        for index, name in enumerate(tors.values("deploy.1.scheme")):
            heights = [
                _mean(
                    aggregation.where({"deploy.0.scheme": name})
                    if part is None
                    else tors.where({"deploy.1.scheme": name, "deploy.1.fraction": part}),
                    SMALL,
                )
                for part in places.values()
            ]
            style = look(name, index)
            axes.plot(
                list(places),
                heights,
                style.dashes,
                marker=style.marker,
                color=style.colour,
                label=name,
            )
        axes.set_ylim(bottom=0)
        axes.set_title(f"load {load}", fontsize="small")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("small flows' average FCT (µs)")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})


def draw_fig15(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average and 99th percentile with DCTCP over load, g as printed, and under OQ
    with TCP."""
    dctcp = rows.where({"scenario": "fig15", "transport.g": 0.00625})
    tcp = [
        Row(row.settings | {"scheme": "oq, TCP"}, row.seed, row.figures)
        for row in rows.where({"scenario": "fig15-tcp"})
    ]
    draw_loads(Rows([*dctcp, *tcp]), title, file)


def _panels(title: str, count: int) -> "tuple[Figure, Sequence[Axes]]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1 + 3.5 * count, 3.5), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    return figure, list(figure.subplots(1, count, squeeze=False).flat)


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
