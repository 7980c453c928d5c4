"""AF-QCN's figures, as the paper draws them."""

from pathlib import Path

from switchbed.papers.afqcn.measure import BINS
from switchbed.papers.reproduce.rows import Rows
from switchbed.plots import style


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
            rates.plot(*zip(*line, strict=True), linewidth=0.9, label=f"{flow + 1}")
        rates.set_title(", ".join(str(value) for value in point.values()), fontsize="small")
        if tall == 2:
            panels[1][column].plot(*zip(*run["queue_curve"], strict=True), "k", linewidth=0.9)
        panels[-1][column].set_xlabel("time (s)")
        for row in panels:
            row[column].grid(alpha=0.3)
    panels[0][0].set_ylabel("payload (Gbps)")
    if tall == 2:
        panels[1][0].set_ylabel("queue (KB)")
    if len(flows) <= 6:
        panels[0][0].legend(frameon=False, fontsize="small", title="flow")
    figure.savefig(file, metadata={"Software": None})


def fig8(rows: Rows, title: str, file: Path) -> None:
    """How many samples have at most so much of their fair share, by scheme."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained", dpi=130)
    axes = figure.subplots()
    axes.set_title(title, fontsize="medium")
    for scheme, line in zip(rows.values("scheme"), ("-", "--"), strict=True):
        found = [row.figures["ratios"] for row in rows.where({"scheme": scheme})]
        middle = [sum(each) / len(found) for each in zip(*found, strict=True)]
        axes.plot(middle, [i / 200 for i in range(201)], line, label=scheme)
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
            axes.plot(*zip(*line, strict=True), linewidth=0.9, label=f"{flow + 1}")
        axes.set_title(scheme, fontsize="small")
        axes.set_xlabel("time (s)")
        axes.set_ylabel("long flows' payload (Gbps)")
        axes.set_ylim(0, 4)
        axes.grid(alpha=0.3)
    panels[-1].legend(frameon=False, fontsize="small", title="flow", ncols=4)
    names = [f"{low} to {high}" if high < 1e9 else f"over {low}" for low, high in BINS]
    for offset, scheme in zip((-0.2, 0.2), schemes, strict=True):
        found = rows.where({"scheme": scheme}).rows
        means = [[row.figures[f"from_{low}_kb.mean_us"] for row in found] for low, _ in BINS]
        heights = [sum(each) / len(each) / 1e3 for each in means]
        low = [height - min(each) / 1e3 for height, each in zip(heights, means, strict=True)]
        high = [max(each) / 1e3 - height for height, each in zip(heights, means, strict=True)]
        places = [place + offset for place in range(len(BINS))]
        colour = style.own(scheme).colour
        bars.bar(places, heights, 0.4, yerr=[low, high], capsize=2, color=colour, label=scheme)
    bars.set_yscale("log")
    bars.set_xticks(range(len(BINS)), names)
    bars.set_xlabel("size (KB)")
    bars.set_ylabel("average FCT (ms)")
    bars.legend(frameon=False, fontsize="small")
    figure.savefig(file, metadata={"Software": None})
