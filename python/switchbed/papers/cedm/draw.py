"""CEDM's figures, as the paper draws them."""

from pathlib import Path

from switchbed import stats
from switchbed.papers.cedm.measure import FIG3_K_BYTES
from switchbed.papers.reproduce.rows import Rows
from switchbed.plots.style import BLUE, STYLES

GOODPUT = "goodput_bps"


def fig3(rows: Rows, title: str, file: Path) -> None:
    """The queue over time, without and with LSO."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    kinds, offloads = ("ecn-star", "dctcp"), (False, True)
    for axes, (kind, lso) in zip(
        figure.subplots(2, 2, sharey=True).flat,
        [(kind, lso) for kind in kinds for lso in offloads],
        strict=True,
    ):
        run = rows.where({"transport.kind": kind, "host.lso": lso}).rows[0].figures
        axes.plot(run["time_ms"], run["queue_kb"], color=BLUE, linewidth=0.8)
        axes.axhline(FIG3_K_BYTES / 1e3, color="black", linestyle="--", linewidth=0.8)
        axes.set_title(f"{kind}, LSO {'on' if lso else 'off'}", fontsize="small")
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("queue (KB)")
        axes.set_ylim(bottom=0)
    figure.savefig(file, metadata={"Software": None})


def fig4(rows: Rows, title: str, file: Path) -> None:
    """Goodput over the threshold, without and with LSO."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.5), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    for axes, kind in zip(figure.subplots(1, 2), ("ecn-star", "dctcp"), strict=True):
        for lso, style in ((False, "o--"), (True, "s-")):
            runs = rows.where({"transport.kind": kind, "host.lso": lso})
            seed = runs.rows[0].seed
            line = sorted(
                (
                    _kb(str(row.settings["scheme.params.threshold"])),
                    row.figures["goodput_bps"] / 1e9,
                )
                for row in runs
                if row.seed == seed
            )
            axes.plot(*zip(*line, strict=True), style, label=f"LSO {'on' if lso else 'off'}")
        axes.set_title(kind, fontsize="small")
        axes.set_xlabel("threshold (KB)")
        axes.set_ylabel("goodput (Gbps)")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(file, metadata={"Software": None})


def fig10(rows: Rows, title: str, file: Path) -> None:
    """Goodput over the threshold by scheme, a panel a transport."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.5), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    for axes, kind in zip(figure.subplots(1, 2), ("ecn-star", "dctcp"), strict=True):
        runs = rows.where({"transport.kind": kind})
        for scheme, name in (("per-queue", "step"), ("cedm", "CEDM")):
            labels = [label for label in runs.values("scheme") if label.startswith(f"{name}, ")]
            by_label = [runs.where({"scheme": label}).by_seed(GOODPUT) for label in labels]
            found = [stats.mean([v / 1e9 for v in seeds.values()]) for seeds in by_label]
            means = [each.estimate for each in found]
            off = [[e.estimate - (e.low or e.estimate) for e in found]]
            off += [[(e.high or e.estimate) - e.estimate for e in found]]
            look = STYLES[scheme]
            axes.errorbar(
                [_kb(label.removeprefix(f"{name}, ").replace(" ", "")) for label in labels],
                means,
                yerr=off,
                color=look.colour,
                marker=look.marker,
                linestyle=look.dashes,
                capsize=3,
                label=name,
            )
        axes.set_title(kind, fontsize="small")
        axes.set_xlabel("threshold K or K1 (KB)")
        axes.set_ylabel("goodput (Gbps)")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(file, metadata={"Software": None})


def _kb(text: str) -> float:
    return float(text.removesuffix("KB"))
