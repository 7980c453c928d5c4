"""CQRD's figures, as the paper draws them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed.papers.reproduce.rows import Row, Rows
from switchbed.plots import style
from switchbed.plots.style import IN_TURN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
from switchbed.papers.cqrd.measure import LARGE, MET, SMALL, STATISTICS, look
from switchbed.papers.reproduce.figures import beside

OVERALL = {
    SMALL: "small flows' average FCT (µs)",
    "small.p99_us": "small flows' 99th percentile (µs)",
    LARGE: "large flows' goodput (Mbps)",
}


def fig2(rows: Rows, title: str, file: Path) -> None:
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


def fig6(rows: Rows, title: str, file: Path) -> None:
    """The shares of flows that are giants and that met one, on the switch and in the tree."""
    figure, (axes,) = _panels(title, 1)
    places = {"cqrd-fig8": "switch", "cqrd-fig11": "tree"}
    for offset, (scenario, name) in zip((-0.2, 0.2), places.items(), strict=True):
        runs = rows.where({"scenario": scenario})
        heights = [_mean(runs, metric) for metric in ("giant_percent", "met_percent")]
        colour = style.BLUE if name == "switch" else style.ORANGE
        bars = axes.bar([offset, 1 + offset], heights, 0.4, color=colour, label=name)
        axes.bar_label(bars, fmt="%.1f", fontsize="small")
    axes.set_xticks([0, 1], ["are giants", "met a giant"])
    axes.set_ylabel("share of flows (%)")
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Software": None})


def loads(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average and 99th percentile and large flows' goodput over load, by scheme."""
    figure, panels = _panels(title, 3)
    for axes, (metric, label) in zip(panels, OVERALL.items(), strict=True):
        _lines(axes, rows, "load", metric)
        axes.set_xlabel("load")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
    panels[-1].legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})


def fig11(rows: Rows, title: str, file: Path) -> None:
    """The same, and figure 12 of the same runs."""
    loads(rows, title, file)
    _interfered(
        rows.where({"load": 0.1}),
        "Figure 12: flows that met a giant one, load 0.1, in the tree",
        beside(file, "fig12"),
    )


def fig9(rows: Rows, title: str, file: Path) -> None:
    """Flows that met a giant one on the switch."""
    _interfered(rows, title, file)


def _interfered(rows: Rows, title: str, file: Path) -> None:
    """FCT of small flows that met a giant one at an output and on a path, by percentile, and the
    goodput of large ones."""
    figure, panels = _panels(title, 3)
    schemes = rows.values("scheme")
    width = 0.8 / len(schemes)
    for index, scheme in enumerate(schemes):
        runs = rows.where({"scheme": scheme})
        offset = (index - (len(schemes) - 1) / 2) * width
        groups = [[f"{name}.small.{each}" for each in STATISTICS] for name in MET]
        groups.append(["met.large.goodput_mbps", "met.giant.goodput_mbps"])
        for axes, metrics in zip(panels, groups, strict=True):
            heights = [_mean(runs, metric) for metric in metrics]
            places = [place + offset for place in range(len(metrics))]
            axes.bar(places, heights, width, color=look(scheme, index).colour, label=scheme)
    names = ["average", "p50", "p95", "p99"]
    for axes, heading in zip(panels, ("at an output alone", "on their path"), strict=False):
        axes.set_title(heading, fontsize="small")
        axes.set_xticks(range(len(names)), names)
        axes.set_yscale("log")
        axes.set_ylabel("small flows' FCT (µs)")
    panels[-1].set_xticks([0, 1], ["over 100 KB", "over 1 MB"])
    panels[-1].set_ylabel("goodput (Mbps)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(file, metadata={"Software": None})


def fig14(rows: Rows, title: str, file: Path) -> None:
    """CQRD's small flows and large flows' goodput over memory, by load."""
    figure, panels = _panels(title, 3)
    for axes, (metric, label) in zip(panels, OVERALL.items(), strict=True):
        for index, load in enumerate(rows.values("load")):
            runs = rows.where({"load": load})
            memories = sorted(runs.values("switch.buffer"), key=_kb)
            heights = [_mean(runs.where({"switch.buffer": each}), metric) for each in memories]
            shape, colour = style.MARKERS[index], IN_TURN[index]
            xs = [_kb(each) for each in memories]
            axes.plot(xs, heights, marker=shape, color=colour, label=f"load {load}")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("memory an output (KB)")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    panels[-1].legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})


def fig13(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average above and large flows' goodput below, by where another scheme than OQ
    stands, a column a load."""
    loads = rows.values("load")
    figure, panels = _panels(title, len(loads), 2)
    tors = rows.where({"scenario": "fig13"})
    fractions = sorted(tors.values("deploy.1.fraction"))
    names = ["agg.", *(f"{round(24 * part)}" for part in fractions)]
    for place, axes in enumerate(panels):
        load = loads[place % len(loads)]
        metric = SMALL if place < len(loads) else LARGE
        aggregation = rows.where({"scenario": "fig13-aggregation", "load": load})
        for index, name in enumerate(tors.values("deploy.1.scheme")):
            there = tors.where({"deploy.1.scheme": name, "load": load})
            heights = [_mean(aggregation.where({"deploy.0.scheme": name}), metric)]
            heights += [_mean(there.where({"deploy.1.fraction": x}), metric) for x in fractions]
            shown = look(name, index)
            axes.plot(
                names,
                heights,
                shown.dashes,
                marker=shown.marker,
                color=shown.colour,
                label=name,
            )
        axes.set_ylim(bottom=0)
        axes.set_xlabel("ToRs with it" if metric == LARGE else "")
        axes.set_title(f"load {load}" if metric == SMALL else "", fontsize="small")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(OVERALL[SMALL])
    panels[len(loads)].set_ylabel(OVERALL[LARGE])
    panels[-1].legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})


def fig15(rows: Rows, title: str, file: Path) -> None:
    """As figure 11 with DCTCP, g as printed, and under OQ with TCP."""
    dctcp = rows.where({"scenario": "fig15", "transport.g": 0.00625})
    tcp = [
        Row(row.settings | {"scheme": "oq, TCP"}, row.seed, row.figures)
        for row in rows.where({"scenario": "fig15-tcp"})
    ]
    loads(Rows([*dctcp, *tcp]), title, file)


def fig16(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average and what each of the two long flows got."""
    figure, (small, long) = _panels(title, 2)
    schemes = rows.values("scheme")
    for index, scheme in enumerate(schemes):
        runs = rows.where({"scheme": scheme})
        colour = look(scheme, index).colour
        small.bar(index, _mean(runs, SMALL), 0.6, color=colour)
        both = [_mean(runs, f"long{flow}.received_mb") for flow in (0, 1)]
        long.bar([index - 0.2, index + 0.2], both, 0.38, color=colour)
    for axes in (small, long):
        axes.set_xticks(range(len(schemes)), schemes)
    small.set_ylabel(OVERALL[SMALL])
    long.set_ylabel("received from long flows 0 and 1 (MB)")
    figure.savefig(file, metadata={"Software": None})


def _panels(title: str, count: int, tall: int = 1) -> "tuple[Figure, Sequence[Axes]]":
    """So many panels beside each other, and so many rows of them."""
    from matplotlib.figure import Figure

    size = (1 + 3.5 * count, 0.7 + 2.8 * tall)
    figure = Figure(figsize=size, layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    return figure, list(figure.subplots(tall, count, squeeze=False).flat)


def _lines(axes: "Axes", rows: Rows, key: str, metric: str) -> None:
    for index, scheme in enumerate(rows.values("scheme")):
        values = sorted(rows.where({"scheme": scheme}).values(key))
        heights = [_mean(rows.where({"scheme": scheme, key: value}), metric) for value in values]
        shown = look(scheme, index)
        axes.plot(
            values, heights, shown.dashes, marker=shown.marker, color=shown.colour, label=scheme
        )
    axes.grid(alpha=0.3)


def _mean(rows: Rows, metric: str) -> float:
    values = list(rows.by_seed(metric).values())
    return sum(values) / len(values)


def _kb(text: str) -> float:
    return float(text.removesuffix("KB"))
