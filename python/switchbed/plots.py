"""Figures. A scheme has the same colour, marker and dashes in every one of them, which
differ in grey and for readers who confuse red and green."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import comparing, stats
from switchbed.runner import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Style:
    """How a scheme is drawn."""

    colour: str
    marker: str
    dashes: str


# Okabe and Ito's colours, ordered so that neighbours differ in lightness too.
STYLES = {
    "per-queue": Style("#000000", "o", "-"),
    "per-queue-min": Style("#E69F00", "s", "--"),
    "mq-ecn": Style("#0072B2", "^", "-"),
    "per-port": Style("#CC79A7", "D", "-."),
}
OTHERS = (
    Style("#009E73", "v", "--"),
    Style("#D55E00", "P", "-."),
    Style("#56B4E9", "X", ":"),
)

PANELS = {
    ("all", "mean_us"): "All flows, average",
    ("small", "mean_us"): "Small flows, average",
    ("small", "p99_us"): "Small flows, 99th percentile",
    ("large", "mean_us"): "Large flows, average",
}


def styles(outcomes: Sequence[Outcome]) -> dict[str, Style]:
    """The style of each label: its scheme's own, which depends on the scheme's name alone;
    further variants of a scheme in one figure get others, by their label."""
    found: dict[str, Style] = {}
    names = {label: run.scheme for run in outcomes if (label := comparing.label(run)) is not None}
    for label, name in names.items():
        own = STYLES.get(name)
        free = own is not None and own not in found.values()
        found[label] = own if own and free else OTHERS[sum(label.encode()) % len(OTHERS)]
    return found


def fct_over_load(outcomes: Sequence[Outcome], title: str, path: Path) -> None:
    """FCT of every scheme divided by the first one's against load, a panel a statistic:
    geometric mean over paired seeds, with bars for the confidence interval."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6.5), layout="constrained", dpi=150)
    ratios = comparing.ratios(outcomes)
    pairs = max(ratio.pairs for ratio in ratios)
    spread = (
        f"\ngeometric mean of {pairs} paired seeds, {100 * stats.LEVEL:g} % confidence intervals"
    )
    figure.suptitle(title + (spread if pairs > 1 else ""), fontsize="medium")
    base = ratios[0].to
    looks = styles(outcomes)
    for axes, (statistic, heading) in zip(figure.subplots(2, 2).flat, PANELS.items(), strict=True):
        axes.set_title(heading, fontsize="medium")
        _panel(axes, base, [r for r in ratios if (r.size_class, r.statistic) == statistic], looks)
        axes.set_ylabel(f"FCT relative to {base}")
        axes.set_xlabel("load (%)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(path, metadata={"Software": None})


def _panel(
    axes: "Axes", base: str, ratios: Sequence[comparing.Ratio], looks: dict[str, Style]
) -> None:
    loads = sorted({_load(ratio) for ratio in ratios})
    if not loads:
        axes.text(0.5, 0.5, "no such flows", ha="center", transform=axes.transAxes)
        return
    look = looks[base]
    axes.plot(loads, [1.0] * len(loads), color=look.colour, marker=look.marker, label=base)
    for scheme in dict.fromkeys(ratio.scheme for ratio in ratios):
        line = sorted((r for r in ratios if r.scheme == scheme), key=_load)
        look = looks[scheme]
        axes.errorbar(
            [_load(r) for r in line],
            [r.ratio for r in line],
            yerr=_bars(r.change.ratio for r in line),
            color=look.colour,
            marker=look.marker,
            linestyle=look.dashes,
            capsize=3,
            label=scheme,
        )
    axes.grid(alpha=0.3)
    axes.set_xticks(loads)


def _bars(intervals: Iterable[stats.Interval]) -> list[list[float]]:
    """How far each interval reaches below and above its estimate; nowhere without one."""
    known = [(i.estimate, i.low or i.estimate, i.high or i.estimate) for i in intervals]
    return [[e - low for e, low, _ in known], [high - e for e, _, high in known]]


def _load(ratio: comparing.Ratio) -> float:
    """Offered load in percent."""
    return 100 * next(float(v) for key, v in ratio.point if key.split(".")[-1] == "load")
