"""AF-QCN's figures, as the paper draws them."""

from pathlib import Path

from switchbed.plots import style
from switchbed.plots.style import IN_TURN
from switchbed_papers.afqcn.measure import BINS
from switchbed_papers.reproduce.figures import logarithmic, mean_and_reach
from switchbed_papers.reproduce.rows import Rows


def rates(rows: Rows, title: str, file: Path) -> None:
    """Rates over time and, where it was looked at, the queue below; a column for each scheme and
    case."""
    from matplotlib.figure import Figure

    points = rows.points(())
    runs = [rows.where(point).rows[-1].figures for point in points]
    tall = 2 if all("queue_curve" in run for run in runs) else 1
    figure = Figure(figsize=(1 + 3.5 * len(runs), 1 + 2.5 * tall), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    panels = figure.subplots(tall, len(runs), sharex=True, sharey="row", squeeze=False)
    for column, (point, run) in enumerate(zip(points, runs, strict=True)):
        rates = panels[0][column]
        flows = sorted({c for _, c, _ in run["curve"]})
        for flow in flows:
            line = [(t, mbps / 1e3) for t, c, mbps in run["curve"] if c == flow]
            name = f"flow {flow + 1}"
            rates.plot(*zip(*line, strict=True), lw=0.9, color=IN_TURN[flow], label=name)
        rates.set_title(", ".join(str(value) for value in point.values()), fontsize="small")
        if tall == 2:
            for port, line in enumerate(_ports(run["queue_curve"])):
                ink = str(0.37 * port)  # a grey
                panels[1][column].plot(*zip(*line, strict=True), color=ink, lw=0.9)
                if _ports(run["queue_curve"])[1:]:
                    panels[1][column].lines[-1].set_label(f"link {port + 1}")
        panels[-1][column].set_xlabel("time (s)")
        for row in panels:
            row[column].grid(alpha=0.3)
    panels[0][0].set_ylabel("payload (Gbps)")
    if tall == 2:
        panels[1][0].set_ylabel("queue (KB)")
    style.legend_below(figure, 9)
    figure.savefig(file, metadata={"Software": None})


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

    figure = Figure(figsize=(6, 4), layout="constrained", dpi=130)
    axes = figure.subplots()
    axes.set_title(title, fontsize="medium")
    for scheme in rows.values("scheme"):
        found = [row.figures["ratios"] for row in rows.where({"scheme": scheme})]
        middle = [sum(each) / len(found) for each in zip(*found, strict=True)]
        look = style.own(scheme)
        axes.plot(
            middle, [i / 200 for i in range(201)], look.dashes, color=look.colour, label=scheme
        )
    for share in (0.75, 1.25):
        axes.axvline(share, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xlim(0, 2.5)
    axes.set_xlabel("rate over fair share")
    axes.set_ylabel("share of samples (10 ms)")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Software": None})


def table1(rows: Rows, title: str, file: Path) -> None:
    """Rates of the long flows under each scheme, and the mean FCT of each size's flows."""
    from matplotlib.figure import Figure

    schemes = ("qcn", "af-qcn")
    figure = Figure(figsize=(12, 3.6), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    *panels, bars = figure.subplots(1, 3)
    for axes, scheme in zip(panels, schemes, strict=True):
        run = rows.where({"scheme": scheme}).rows[0].figures
        for flow in sorted({c for _, c, _ in run["curve"]}):
            line = [(t, mbps / 1e3) for t, c, mbps in run["curve"] if c == flow]
            ink, name = IN_TURN[flow], f"flow {flow + 1}"
            axes.plot(*zip(*line, strict=True), lw=0.9, color=ink, label=name)
        axes.set_title(scheme, fontsize="small")
        axes.set_xlabel("time (s)")
        axes.set_ylabel("long flows' payload (Gbps)")
        axes.set_ylim(0, 4)
        axes.grid(alpha=0.3)
    panels[-1].legend(frameon=False, fontsize="small", ncols=2)
    names = [f"{low} to\n{high}" if high < 1e9 else f"over\n{low}" for low, high in BINS]
    for offset, scheme in zip((-0.2, 0.2), schemes, strict=True):
        found = rows.where({"scheme": scheme}).rows
        by_bin = [[row.figures[f"from_{low}_kb.mean_us"] / 1e3 for row in found] for low, _ in BINS]
        means = [mean_and_reach(each) for each in by_bin]
        heights = [mean for mean, _ in means]
        reach = list(zip(*(reach for _, reach in means), strict=True))
        places = [place + offset for place in range(len(BINS))]
        shown = {"color": style.own(scheme).colour, "ecolor": style.GREY, "label": scheme}
        bars.bar(places, heights, 0.4, yerr=reach, capsize=2, **shown)
    logarithmic(bars)
    bars.set_xticks(range(len(BINS)), names)
    bars.set_xlabel("size (KB)")
    bars.set_ylabel("average FCT (ms)")
    bars.legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})
