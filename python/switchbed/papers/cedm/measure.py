"""What CEDM's claims need beyond the built-in measures."""

from pathlib import Path

from switchbed import stats
from switchbed.papers.reproduce.experiment import fct
from switchbed.papers.reproduce.measures import Points
from switchbed.papers.reproduce.rows import Figures, Rows, number
from switchbed.plots.style import BLUE, STYLES
from switchbed.quantity import size
from switchbed.result import Result
from switchbed.theory import cedm

FIG3_K_BYTES = 32_000
LINE_BPS = 10e9
GOODPUT = "goodput_bps"


def queue(result: Result) -> Figures:
    """The summary's figures, how far the lowest queue after the warm-up is below the threshold (and
    that in a span of 2 ms, in the median), and a window of the series for drawing."""
    series = result.series
    settled = series.filter(series["time_s"] >= float(result.summary()["simulated_s"]) / 2)
    lowest = number(settled["bytes"].min())
    window = settled.head(400)
    by_2_ms = settled.group_by((settled["time_s"] / 2e-3).floor().alias("part")).agg(low="bytes")
    in_2_ms = number(by_2_ms["low"].list.min().median())
    return fct(result) | {
        "lowest_kb": lowest / 1e3,
        "below_kb": (FIG3_K_BYTES - lowest) / 1e3,
        "below_2ms_kb": (FIG3_K_BYTES - in_2_ms) / 1e3,
        "time_ms": [round(1e3 * float(t), 4) for t in window["time_s"]],
        "queue_kb": [float(b) / 1e3 for b in window["bytes"]],
    }


def loss(result: Result) -> Figures:
    """The summary's figures and the goodput lost, in Gbps of what a full line
    carries."""
    transport = result.scenario["transport"]
    payload, header = (size(transport[key]) for key in ("mss", "header"))
    full = LINE_BPS * payload / (payload + header)
    lost = full - float(result.summary()["goodput_bps"])
    return fct(result) | {"loss_gbps": lost / 1e9}


CD = 10e9 * 100e-6 / 8 / 1500
"""C·d of figure 4 in packets."""


def theory_ecn_star(rows: Rows) -> Points:
    """Corollary 2 at N = 2, β = 1/3: the least threshold, in packets."""
    return {"": {row.seed: cedm.threshold_ecnstar(2, 1 / 3, CD) for row in rows}}


def theory_dctcp(rows: Rows) -> Points:
    """Corollary 4 as printed."""
    return {"": {row.seed: cedm.threshold_dctcp(2, 1 / 3, CD, "paper") for row in rows}}


def draw_fig3(rows: Rows, title: str, file: Path) -> None:
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


def draw_fig4(rows: Rows, title: str, file: Path) -> None:
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


def draw_fig10(rows: Rows, title: str, file: Path) -> None:
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
