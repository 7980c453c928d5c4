"""CQRD's figures, as the paper draws them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed.plots import style
from switchbed.plots.style import IN_TURN
from switchbed_papers.reproduce.rows import Row, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
from switchbed_papers.cqrd.measure import LARGE, MET, SMALL, STATISTICS, look
from switchbed_papers.reproduce.figures import beside, logarithmic, mean_and_reach, named

OVERALL = {
    SMALL: "small flows' average FCT (µs)",
    "small.p99_us": "small flows' 99th percentile (µs)",
    LARGE: "large flows' goodput (Mbps)",
}


def fig2(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average by scheme, and large flows'."""
    figure, panels = _panels(title, 2)
    schemes = rows.values("scheme")
    labels = {SMALL: OVERALL[SMALL], "large.mean_us": "large flows' average FCT (ms)"}
    for axes, (metric, label) in zip(panels, labels.items(), strict=True):
        for index, scheme in enumerate(schemes):
            runs, scale = rows.where({"scheme": scheme}), 1e-3 if "(ms)" in label else 1.0
            _bar(axes, index, runs, metric, look(scheme, index).colour, scale=scale)
        # An interval may reach below 0, a time does not.
        axes.set_ylim(bottom=0)
        axes.set_xticks(range(len(schemes)), map(named, schemes))
        axes.set_ylabel(label)
    figure.savefig(file, metadata={"Software": None})


def fig6(rows: Rows, title: str, file: Path) -> None:
    """The shares of flows that are giants and that met one, on the switch and in the tree."""
    figure, (axes,) = _panels(title, 1)
    places = {"cqrd-fig8": "switch", "cqrd-fig11": "tree"}
    for offset, (scenario, name) in zip((-0.2, 0.2), places.items(), strict=True):
        runs = rows.where({"scenario": scenario})
        colour = style.BLUE if name == "switch" else style.ORANGE
        for place, metric in enumerate(("giant_percent", "met_percent")):
            label = name if place == 0 else None
            height = _bar(axes, place + offset, runs, metric, colour, width=0.4, label=label)
            axes.text(place + offset, height + 3, f"{height:.1f}", fontsize="small", ha="center")
    axes.set_xticks([0, 1], ["are giants", "met a giant"])
    axes.set_ylabel("share of flows (%)")
    axes.set_ylim(0, 100)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(file, metadata={"Software": None})


def loads(rows: Rows, title: str, file: Path) -> None:
    """Small flows' average and 99th percentile and large flows' goodput over load, by scheme."""
    figure, panels = _panels(title, 3)
    for axes, (metric, label) in zip(panels, OVERALL.items(), strict=True):
        _lines(axes, rows, "load", metric)
        axes.set_xlabel("load")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
    style.legend_below(figure, 5)
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
            for place, metric in enumerate(metrics):
                label = named(scheme) if place == 0 else None
                colour = look(scheme, index).colour
                _bar(axes, place + offset, runs, metric, colour, width=width, label=label)
    names = ["average", "p50", "p95", "p99"]
    for axes, heading in zip(panels, ("at an output alone", "on their path"), strict=False):
        axes.set_title(heading, fontsize="small")
        axes.set_xticks(range(len(names)), names)
        logarithmic(axes)
        axes.set_ylabel("small flows' FCT (µs)")
    panels[-1].set_xticks([0, 1], ["over 100 KB", "over 1 MB"])
    panels[-1].set_ylabel("goodput (Mbps)")
    style.legend_below(figure)
    figure.savefig(file, metadata={"Software": None})


def fig14(rows: Rows, title: str, file: Path) -> None:
    """CQRD's small flows and large flows' goodput over memory, by load."""
    figure, panels = _panels(title, 3)
    for axes, (metric, label) in zip(panels, OVERALL.items(), strict=True):
        for index, load in enumerate(rows.values("load")):
            runs = rows.where({"load": load})
            memories = sorted(runs.values("switch.buffer"), key=_kb)
            points = {_kb(each): runs.where({"switch.buffer": each}) for each in memories}
            shown = style.Style(IN_TURN[index], style.MARKERS[index], style.DASHES[index])
            _line(axes, points, metric, shown, f"load {load}")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("memory an output (KB)")
        axes.set_ylabel(label)
    style.legend_below(figure)
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
            points = {names[0]: aggregation.where({"deploy.0.scheme": name})}
            points |= {
                tor: there.where({"deploy.1.fraction": part})
                for tor, part in zip(names[1:], fractions, strict=True)
            }
            _line(axes, points, metric, look(name, index), named(name))
        axes.margins(y=0.15)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("ToRs with it" if metric == LARGE else "")
        axes.set_title(f"load {load}" if metric == SMALL else "", fontsize="small")
    panels[0].set_ylabel(OVERALL[SMALL])
    panels[len(loads)].set_ylabel(OVERALL[LARGE])
    style.legend_below(figure)
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
        _bar(small, index, runs, SMALL, colour)
        for flow, offset in ((0, -0.2), (1, 0.2)):
            _bar(long, index + offset, runs, f"long{flow}.received_mb", colour, width=0.38)
    for axes in (small, long):
        axes.set_xticks(range(len(schemes)), map(named, schemes))
    small.set_ylabel(OVERALL[SMALL])
    long.set_ylabel("received from long flows 0 and 1 (MB)")
    figure.savefig(file, metadata={"Software": None})


def _panels(title: str, count: int, tall: int = 1) -> "tuple[Figure, Sequence[Axes]]":
    """Make a figure of `count` panels a row and `tall` rows."""
    from matplotlib.figure import Figure

    size = (1 + 3.5 * count, 0.7 + 2.8 * tall)
    figure = Figure(figsize=size, layout="constrained", dpi=130)
    figure.suptitle(f"{title} (means over seeds, 95 % intervals)", fontsize="medium")
    return figure, list(figure.subplots(tall, count, squeeze=False).flat)


def _lines(axes: "Axes", rows: Rows, key: str, metric: str) -> None:
    for index, scheme in enumerate(rows.values("scheme")):
        runs = rows.where({"scheme": scheme})
        points = {value: runs.where({key: value}) for value in sorted(runs.values(key))}
        _line(axes, points, metric, look(scheme, index), named(scheme))


def _line(
    axes: "Axes", points: Mapping[Any, Rows], metric: str, shown: style.Style, label: str
) -> None:
    """Means over seeds with 95 % intervals."""
    found = [mean_and_reach(runs.by_seed(metric).values()) for runs in points.values()]
    axes.errorbar(
        list(points),
        [mean for mean, _ in found],
        yerr=list(zip(*(reach for _, reach in found), strict=True)),
        linestyle=shown.dashes,
        marker=shown.marker,
        color=shown.colour,
        capsize=3,
        label=label,
    )
    axes.grid(alpha=0.3)


def _bar(
    axes: "Axes",
    place: float,
    runs: Rows,
    metric: str,
    colour: str,
    *,
    width: float = 0.6,
    scale: float = 1.0,
    label: str | None = None,
) -> float:
    """The mean over seeds with its 95 % interval; gives the mean."""
    mean, (low, high) = mean_and_reach(scale * v for v in runs.by_seed(metric).values())
    # Over black, too.
    bars: dict[str, Any] = {"capsize": 2, "ecolor": style.GREY, "color": colour, "label": label}
    axes.bar(place, mean, width, yerr=[[low], [high]], **bars)
    return mean


def _kb(text: str) -> float:
    return float(text.removesuffix("KB"))
