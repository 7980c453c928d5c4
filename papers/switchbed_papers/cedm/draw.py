"""CEDM's figures, as the paper draws them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed.plots.style import BLUE, STYLES, VERMILION, Style
from switchbed_papers.cedm.measure import FIG3_K_BYTES
from switchbed_papers.reproduce.figures import mean_and_reach, named
from switchbed_papers.reproduce.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GOODPUT = "goodput_bps"
THRESHOLD = "scheme.params.threshold"
COALESCE = "host.coalesce_time"
FULL_GBPS = 10 * 1460 / 1500
PRINTED_LOSS = {"ecn-star": (125, (0.127, 0.076)), "dctcp": (21.25, (1.391, 0.210))}
"""Printed losses in Gbps at a threshold in KB: step marking's with LSO, and CEDM's."""


def fig1(rows: Rows, title: str, file: Path) -> None:
    """Data packets an ACK over how long interrupts wait."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.2), layout="constrained", dpi=130)
    axes = figure.subplots()
    axes.set_title(title, fontsize="medium")
    times = rows.values(COALESCE)
    found = [
        mean_and_reach(rows.where({COALESCE: t}).by_seed("packets_an_ack").values()) for t in times
    ]
    axes.errorbar(
        [float(str(t).removesuffix("us")) for t in times],
        [mean for mean, _ in found],
        list(zip(*(reach for _, reach in found), strict=True)),
        color=BLUE,
        marker="o",
        capsize=2,
    )
    axes.axhline(5, color="black", ls="--", lw=0.8, label="the paper: usually fewer")
    axes.set_xlabel("an interrupt waits for (µs)")
    axes.set_ylabel("data packets an ACK")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(file, metadata={"Software": None})


def fig3(rows: Rows, title: str, file: Path) -> None:
    """The queue over time, without and with LSO."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    kinds, offloads = ("ecn-star", "dctcp"), (False, True)
    panels = list(figure.subplots(2, 2, sharey=True).flat)
    shown = [(kind, lso) for kind in kinds for lso in offloads]
    for axes, (kind, lso) in zip(panels, shown, strict=True):
        run = rows.where({"transport.kind": kind, "host.lso": lso}).rows[0].figures
        axes.plot(run["time_ms"], run["queue_kb"], color=BLUE, linewidth=0.8)
        axes.axhline(FIG3_K_BYTES / 1e3, color="black", ls="--", lw=0.8, label="threshold")
        axes.set_title(f"{named(kind)}, LSO {'on' if lso else 'off'}", fontsize="small")
        axes.set_xlabel("time (ms)")
    for axes in panels[::2]:
        axes.set_ylabel("queue (KB)")
    panels[0].set_ylim(bottom=0)
    panels[0].legend(frameon=False, fontsize="small", loc="lower right")
    figure.savefig(file, metadata={"Software": None})


def fig4(rows: Rows, title: str, file: Path) -> None:
    """Goodput over the threshold, without and with LSO."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.5), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    for axes, kind in zip(figure.subplots(1, 2), ("ecn-star", "dctcp"), strict=True):
        _printed(axes, kind, ("LSO on",))
        for lso, look in ((False, Style(BLUE, "o", "--")), (True, Style(VERMILION, "s", "-"))):
            runs = rows.where({"transport.kind": kind, "host.lso": lso})
            by_threshold = {
                _kb(threshold): runs.where({THRESHOLD: threshold}).by_seed(GOODPUT)
                for threshold in runs.values(THRESHOLD)
            }
            _goodput(axes, by_threshold, look, f"LSO {'on' if lso else 'off'}")
        axes.set_title(named(kind), fontsize="small")
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
        _printed(axes, kind, ("step", "CEDM"))
        for scheme, name in (("per-queue", "step"), ("cedm", "CEDM")):
            labels = [label for label in runs.values("scheme") if label.startswith(f"{name}, ")]
            by_threshold = {
                _kb(label.removeprefix(f"{name}, ").replace(" ", "")): runs.where(
                    {"scheme": label}
                ).by_seed(GOODPUT)
                for label in labels
            }
            _goodput(axes, by_threshold, STYLES[scheme], name)
        axes.set_title(named(kind), fontsize="small")
        axes.set_xlabel("threshold K or K1 (KB)")
        axes.set_ylabel("goodput (Gbps)")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(file, metadata={"Software": None})


def _printed(axes: "Axes", kind: str, names: Sequence[str]) -> None:
    """The goodput that the paper's printed losses leave, at the threshold for which they are."""
    at_kb, losses = PRINTED_LOSS[kind]
    marks = zip(names, losses, "Ds", strict=False)
    for name, loss, mark in marks:
        label = f"the paper, {name}"
        axes.plot([at_kb], [FULL_GBPS - loss], mark, color="black", mfc="white", label=label)


def _goodput(
    axes: "Axes", by_threshold: Mapping[float, Mapping[int, float]], look: Style, label: str
) -> None:
    """Means over seeds with 95 % intervals."""
    found = {
        kb: mean_and_reach(bps / 1e9 for bps in seeds.values())
        for kb, seeds in sorted(by_threshold.items())
    }
    axes.errorbar(
        list(found),
        [mean for mean, _ in found.values()],
        yerr=list(zip(*(reach for _, reach in found.values()), strict=True)),
        color=look.colour,
        marker=look.marker,
        linestyle=look.dashes,
        capsize=3,
        label=label,
    )


def _kb(text: str) -> float:
    return float(text.removesuffix("KB"))
