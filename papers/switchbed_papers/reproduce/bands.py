"""A picture a figure: the paper's value or band of each claim, and what was measured of it."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed.plots import style
from switchbed_papers.reproduce.claims import Claim
from switchbed_papers.reproduce.findings import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HIGH_IN, TOP_IN = 0.46, 0.75
"""Inches of a claim, and of title and legend."""
MARGIN = 0.12
"""Room at either side of what is drawn, as a part of it."""


def draw(title: str, shown: Sequence[tuple[Claim, Finding]], file: Path) -> None:
    """Draws a row a claim: the paper's band (darker) with its tolerance (lighter), "no effect" as a
    dashed line, the measured value with its interval. A bound that the paper does not print is
    ours, and green."""
    from matplotlib.figure import Figure

    height = TOP_IN + HIGH_IN * len(shown)
    figure = Figure(figsize=(7.5, height), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axes, (claim, finding) in zip(panels, shown, strict=True):
        _row(axes, claim, finding)
    handles = {
        label: h
        for axes in panels
        for h, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize="small",
    )
    figure.savefig(file, metadata={"Software": None})


def limits(claim: Claim, finding: Finding) -> tuple[float, float]:
    """The least and the greatest value that a claim's row has room for."""
    target = claim.target
    ends = [target.low, target.high, target.low - target.tolerance, target.high + target.tolerance]
    shown = (finding.measured, finding.low, finding.high, finding.least, finding.most)
    ends += [end for end in shown if end is not None]
    ends += [] if target.null is None else [target.null]
    known = [end for end in ends if math.isfinite(end)]
    low, high = min(known), max(known)
    room = MARGIN * (high - low or abs(high) or 1.0)
    # A bound's band goes on to the end of the row.
    wider = 2 * room
    left = low - (wider if math.isinf(target.low) else room)
    right = high + (wider if math.isinf(target.high) else room)
    # Times, distances and shares are not negative, and no share of samples is over 100 %.
    if low >= 0:
        left = max(left, -room / 4)
    if claim.unit.startswith("% of samples"):
        right = min(right, 100 + room / 4)
    return left, right


def _row(axes: "Axes", claim: Claim, finding: Finding) -> None:
    target = claim.target
    left, right = limits(claim, finding)
    ink = style.BLUE if claim.prints else style.GREEN
    whose = "printed in the paper" if claim.prints else "our bound for its words"
    low, high = max(target.low, left), min(target.high, right)
    axes.axvspan(
        max(low - target.tolerance, left),
        min(high + target.tolerance, right),
        color=ink,
        alpha=0.15,
        lw=0,
        label="tolerance" if target.tolerance else None,
    )
    if high > low:
        axes.axvspan(low, high, color=ink, alpha=0.45, lw=0, label=whose)
    else:
        axes.axvline(low, color=ink, lw=2.5, alpha=0.7, label=whose)
    if target.null is not None:
        axes.axvline(target.null, color=style.GREY, ls="--", lw=0.9, label="no effect")
    if finding.measured is not None:
        if finding.least is not None and finding.most is not None:
            ends = (finding.least, finding.most)
            axes.plot(ends, (0, 0), color=style.GREY, lw=0.8, label="intervals of all points")
        if finding.low is not None and finding.high is not None:
            ends = (finding.low, finding.high)
            axes.plot(ends, (0, 0), color="black", lw=1.6, label="95 % interval")
        axes.plot(
            [finding.measured], [0], "o", color="black", ms=5, label="measured", clip_on=False
        )
    axes.set_xlim(left, right)
    axes.set_ylim(-1, 1)
    axes.set_yticks([])
    axes.tick_params(axis="x", labelsize=6, length=2, pad=1)
    name = claim.id.partition(".")[2]
    unit = f"  [{claim.unit}]" if claim.unit else ""
    axes.set_ylabel(f"{name}{unit}", rotation=0, ha="right", va="center", fontsize="small")
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)


def of(
    claims: Mapping[str, Claim], found: Mapping[str, Finding], experiment: str
) -> list[tuple[Claim, Finding]]:
    """The claims of a figure that have been measured."""
    chosen = (claim for claim in claims.values() if claim.experiment == experiment)
    return [(claim, found[claim.id]) for claim in chosen if found[claim.id].measured is not None]
