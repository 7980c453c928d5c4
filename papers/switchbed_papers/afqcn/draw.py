"""AF-QCN's figures, as the paper draws them, with the fair shares."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed.plots import style
from switchbed.plots.style import IN_TURN
from switchbed_papers.afqcn.measure import BINS, SHORT_UNTIL_S, WIRE
from switchbed_papers.reproduce.figures import logarithmic, mean_and_reach
from switchbed_papers.reproduce.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"qcn": "QCN", "af-qcn": "AF-QCN"}
"""Schemes as the paper calls them."""
BURSTY = {"11": 3}
"""Figures with a Bursty Flow, and which one it is."""
TABLE_I = {"qcn": (2.346, 2.610, 5.037, 33.14), "af-qcn": (1.586, 1.732, 2.932, 17.14)}
"""Printed FCT, read in milliseconds."""
PARKING = ({0, 1, 2}, {0, 1}, {1, 2}, {0}, {1}, {2})
"""Links of figure 10's flows."""
Spans = Sequence[tuple[float, float, Sequence[float]]]
"""Fair shares in Gbps on the wire by flow, from one time to another."""


def rates(rows: Rows, title: str, file: Path) -> None:
    """Rates over time, with the fair shares dotted, and, where it was looked at, the queue below; a
    column for each scheme and case."""
    from matplotlib.figure import Figure

    number = re.findall(r"\d+", title)[0]
    points = rows.points(())
    runs = [rows.where(point).rows[-1].figures for point in points]
    tall = 2 if all("queue_curve" in run for run in runs) else 1
    figure = Figure(figsize=(1 + 3.7 * len(runs), 1.2 + 2.6 * tall), layout="constrained", dpi=130)
    figure.suptitle(f"{title}; a sample of 10 ms every 50 ms", fontsize="medium")
    panels = figure.subplots(tall, len(runs), sharex=True, sharey="row", squeeze=False)
    for column, (point, run) in enumerate(zip(points, runs, strict=True)):
        axes = panels[0][column]
        for flow in sorted({c for _, c, _ in run["curve"]}):
            line = [(t, WIRE * mbps / 1e3) for t, c, mbps in run["curve"] if c == flow]
            name = "Bursty Flow" if BURSTY.get(number) == flow else f"flow {flow + 1}"
            axes.plot(*zip(*line, strict=True), lw=0.9, color=IN_TURN[flow], label=name)
        _shares(axes, fair(number, point))
        axes.set_title(
            ", ".join(_named(number, key, v) for key, v in point.items()), fontsize="small"
        )
        if number in ("6", "7"):
            logarithmic(axes)
            axes.set_ylim(0.08, 10)
        if tall == 2:
            for port, curve in enumerate(_ports(run["queue_curve"])):
                ink = str(0.37 * port)  # a grey
                panels[1][column].plot(*zip(*curve, strict=True), color=ink, lw=0.9)
                if _ports(run["queue_curve"])[1:]:
                    panels[1][column].lines[-1].set_label(f"link {port + 1}")
        panels[-1][column].set_xlabel("time (s)")
        for row in panels:
            row[column].grid(alpha=0.3)
    panels[0][0].set_ylabel("rate on the wire (Gbps)")
    if tall == 2:
        panels[1][0].set_ylabel("queue (KB)")
    style.legend_below(figure, 9)
    figure.savefig(file, metadata={"Software": None})


def _named(number: str, key: str, value: object) -> str:
    """A column's heading."""
    if key == "traffic.3.rate":
        return f"Bursty Flow offers {str(value).replace('Gbps', ' Gbps')}"
    if number == "13":
        weights, _, threshold = str(value).partition(", ")
        more = f", active threshold {threshold}" if threshold else ""
        return f"AF-QCN, weights {weights}{more}"
    return NAMES.get(str(value), str(value))


def fair(number: str, point: Mapping[str, object]) -> Spans:
    """The fair shares of a figure's flows."""
    scheme = str(point.get("scheme"))
    if number in ("6", "7"):
        return [(0, 2, [2.5]), (2, 4, [0.25]), (4, 6, [2.5])]
    if number == "9":
        # QCN knows neither weights nor caps.
        weighted: Spans = [(0, 2, [4, 3, 2, 1]), (2, 4, [1, 4.5, 3, 1.5])]
        return weighted if scheme == "af-qcn" else [(0, 4, [2.5])]
    if number == "10":
        return [(s, s + 1, max_min(min(s + 1, 6), 1.0 if s >= 7 else 10.0)) for s in range(9)]
    if number == "11":
        # The Bursty Flow offers 1 Gbps of payload.
        rest = (10 - WIRE) / 3
        after = [rest] * 3 + [WIRE] if point["traffic.3.rate"] == "1Gbps" else [2.5]
        return [(0, 0.5, [10 / 3]), (0.5, 2, after)]
    if number == "13":
        equal = scheme == "1:1:1:1"
        return [(0, 6, [0.2375] if equal else [0.095, 0.19, 0.285, 0.38])]
    return []


def max_min(flows: int, cap: float) -> list[float]:
    """Max-min shares of the first flows of the parking lot, of which the first one has a cap."""
    shares: dict[int, float] = {}
    left = [10.0, 10.0, 10.0]
    while len(shares) < flows:
        waiting = [flow for flow in range(flows) if flow not in shares]
        # Each link's equal part of what is left; the least one is final for its flows.
        parts = {
            link: left[link] / sum(link in PARKING[flow] for flow in waiting)
            for link in range(3)
            if any(link in PARKING[flow] for flow in waiting)
        }
        tightest = min(parts, key=lambda link: parts[link])
        done = {flow: parts[tightest] for flow in waiting if tightest in PARKING[flow]}
        if 0 in waiting and cap < parts[tightest]:
            done = {0: cap}
        for flow, share in done.items():
            shares[flow] = share
            for link in PARKING[flow]:
                left[link] -= share
    return [shares[flow] for flow in range(flows)]


def _shares(axes: "Axes", spans: Spans) -> None:
    """Fair shares as dotted lines: black for all flows alike, else in the flows' colours."""
    for begin, end, shares in spans:
        alike = len({round(share, 6) for share in shares}) == 1
        for flow, share in enumerate(shares[:1] if alike else shares):
            axes.plot(
                (begin, end),
                (share, share),
                ls=(0, (1, 1.5)),
                lw=1.6,
                color="black" if alike else IN_TURN[flow],
                label="fair share" if alike else "fair share, in the flow's colour",
                zorder=3,
            )


def _ports(curve: list[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """The queues of each port that was looked at: at each time they stand in their order."""
    by_time: dict[float, list[float]] = {}
    for t, kb in curve:
        by_time.setdefault(t, []).append(kb)
    return [
        [(t, queues[port]) for t, queues in by_time.items()]
        for port in range(max(map(len, by_time.values())))
    ]


def fig8(rows: Rows, title: str, file: Path) -> None:
    """How many samples have at most so much of their fair share, by scheme."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.4), layout="constrained", dpi=130)
    axes = figure.subplots()
    axes.set_title(title, fontsize="medium")
    printed = {"qcn": "the paper: under 55 %", "af-qcn": "the paper: almost 99 %"}
    for scheme in rows.values("scheme"):
        runs = rows.where({"scheme": scheme})
        found = [row.figures["ratios"] for row in runs]
        middle = [sum(each) / len(found) for each in zip(*found, strict=True)]
        look = style.own(scheme)
        within = sum(runs.by_seed("within_25").values()) / len(found)
        label = f"{NAMES[scheme]}, {within:.0f} % within 25 % ({printed[scheme]})"
        axes.plot(
            middle, [i / 200 for i in range(201)], look.dashes, color=look.colour, label=label
        )
    for share, name in ((0.75, "25 % off the fair share"), (1.25, None)):
        axes.axvline(share, color="grey", linewidth=0.8, linestyle=":", label=name)
    axes.axvline(
        0.64, color="black", linewidth=0.8, linestyle="--", label="under it: inactive flows"
    )
    axes.set_xlim(0, 2.5)
    axes.set_xlabel("rate over fair share")
    axes.set_ylabel("share of samples of 10 ms")
    axes.grid(alpha=0.3)
    figure.legend(frameon=False, loc="outside lower center", fontsize="small")
    figure.savefig(file, metadata={"Software": None})


def table1(rows: Rows, title: str, file: Path) -> None:
    """Rates of the long flows under each scheme, and the mean FCT of each size's flows."""
    from matplotlib.figure import Figure

    schemes = ("qcn", "af-qcn")
    figure = Figure(figsize=(12, 4), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    *panels, bars = figure.subplots(1, 3)
    for axes, scheme in zip(panels, schemes, strict=True):
        run = rows.where({"scheme": scheme}).rows[0].figures
        for flow in sorted({c for _, c, _ in run["curve"]}):
            line = [(t, WIRE * mbps / 1e3) for t, c, mbps in run["curve"] if c == flow]
            ink, name = IN_TURN[flow], f"flow {flow + 1}"
            axes.plot(*zip(*line, strict=True), lw=0.9, color=ink, label=name)
        _shares(axes, [(0, SHORT_UNTIL_S, [2.25])])
        axes.axvspan(SHORT_UNTIL_S, 8, color=style.GREY, alpha=0.15, lw=0, label="not judged")
        axes.set_title(f"{NAMES[scheme]}: long flows", fontsize="small")
        axes.set_xlabel("time (s); short flows end before 6 s", fontsize="small")
        axes.set_ylabel("rate on the wire (Gbps)")
        axes.set_ylim(0, 4)
        axes.grid(alpha=0.3)
    names = [f"{low} to\n{high}" if high < 1e9 else f"over\n{low}" for low, high in BINS]
    for offset, scheme in zip((-0.2, 0.2), schemes, strict=True):
        found = rows.where({"scheme": scheme}).rows
        by_bin = [[row.figures[f"from_{low}_kb.mean_us"] / 1e3 for row in found] for low, _ in BINS]
        means = [mean_and_reach(each) for each in by_bin]
        heights = [mean for mean, _ in means]
        reach = list(zip(*(reach for _, reach in means), strict=True))
        places = [place + offset for place in range(len(BINS))]
        shown = {"color": style.own(scheme).colour, "ecolor": style.GREY, "label": NAMES[scheme]}
        bars.bar(places, heights, 0.4, yerr=reach, capsize=2, **shown)
        printed = "Table I, read in ms" if scheme == "af-qcn" else None
        bars.plot(places, TABLE_I[scheme], "D", color="black", mfc="white", ms=5, label=printed)
    logarithmic(bars)
    bars.set_title("short flows: mean over seeds, 95 % interval", fontsize="small")
    bars.set_xticks(range(len(BINS)), names)
    bars.set_xlabel("size (KB)")
    bars.set_ylabel("average FCT (ms)")
    style.legend_below(figure, 9)
    figure.savefig(file, metadata={"Software": None})
