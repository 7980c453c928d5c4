"""The theory's figures, readable in grey: lines differ in dashes and are named where they end."""

import math
from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.theory import cedm, eecn, standard

PACKETS = 1500
COLOURS = (style.BLACK, style.BLUE, style.VERMILION, style.GREEN)


MOST_FLOWS = 100_000
"""Most points of a line."""


def eecn_fig4(bdp: float, thresholds: tuple[float, ...] = (20, 40, 65, 100)) -> Figure:
    """Figure 4 of the E-ECN paper: T_a,max against the number of flows, a line a threshold;
    faint: the paper's approximation. `bdp` in packets, which the paper does not give."""
    figure = Figure(figsize=(7, 4.5), layout="constrained", dpi=150)
    axes = figure.subplots()
    last = max(eecn.flows_max(bdp, form) for form in eecn.FORMS)
    if not 1 <= last <= MOST_FLOWS:
        few = "too few for the limit of a flow" if last < 1 else "limits of too many flows"
        raise Mistake(
            f"theory plot e-ecn: C·RTT is {bdp:.4g} packets, {few}: name others by --rate, --rtt "
            "or --packet"
        )
    flows = list(range(1, last + 1))
    for k, dashes, colour in zip(thresholds, style.DASHES, COLOURS, strict=False):
        for form in eecn.FORMS:
            found = [eecn.t_a_max(n, bdp, k, form) for n in flows]
            # Off where nothing is limited, and where 0 cannot be drawn.
            line = [y if y else math.nan for y in found]
            exact = form == "exact"
            axes.plot(
                flows,
                line,
                dashes,
                color=colour,
                alpha=1 if exact else 0.45,
                linewidth=1.6 if exact else 0.8,
                label=f"K = {k:g} packets" if exact else None,
            )
    axes.axhline(10, color="grey", linewidth=0.8)
    axes.text(flows[0], 10.5, "10 RTTs", color="dimgrey", fontsize="small")
    axes.axvline(bdp / eecn.POLE["exact"], color="grey", linewidth=0.8, linestyle=":")
    axes.text(
        bdp / eecn.POLE["exact"],
        0.02,
        "no limit beyond ",
        transform=axes.get_xaxis_transform(),
        ha="right",
        color="dimgrey",
        fontsize="small",
    )
    axes.set_yscale("log")
    axes.set_xlabel("flows N")
    axes.set_ylabel("T_a,max (RTTs)")
    axes.set_title(
        f"E-ECN's longest advance time, C·RTT = {bdp:.4g} packets\n"
        "strong: equations 7 and 8 solved exactly; faint: α ≈ √(2/λ)",
        fontsize="medium",
    )
    axes.grid(alpha=0.3, which="both")
    axes.legend(frameon=False, loc="upper center")
    return figure


def cedm_thresholds(bdp: float) -> Figure:
    """CEDM's corollaries 2 and 4: the lowest K at which a queue never empties, against N and
    against β. Lines end where a burst is no longer a share of the window."""
    figure = Figure(figsize=(9, 4.5), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2, sharey=True)
    flows = list(range(2, 31))
    _thresholds(left, [float(n) for n in flows], [(n, cedm.BETA) for n in flows], bdp)
    left.set_xlabel("flows N, at β = 1/3")
    left.set_ylabel("lowest K without idling (packets)")
    betas = [i / 100 for i in range(2, 61)]
    _thresholds(right, betas, [(2, beta) for beta in betas], bdp)
    right.set_xlabel("β, at N = 2")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(
        f"Thresholds for senders that batch, C·d = {bdp:.4g} packets", fontsize="medium"
    )
    return figure


def _thresholds(axes: Axes, xs: list[float], points: list[tuple[int, float]], cd: float) -> None:
    lines: list[tuple[str, Callable[[int, float], float], str, str]] = [
        ("ECN* (eq. 12)", lambda n, b: cedm.threshold_ecnstar(n, b, cd), "-", COLOURS[0]),
        ("DCTCP (eq. 23 corrected)", lambda n, b: cedm.threshold_dctcp(n, b, cd), "-", COLOURS[1]),
        (
            "DCTCP (eq. 23 as printed)",
            lambda n, b: cedm.threshold_dctcp(n, b, cd, "paper"),
            "--",
            COLOURS[2],
        ),
    ]
    for name, threshold, dashes, colour in lines:
        ys = [_where_it_holds(threshold(n, b), n, b, cd) for n, b in points]
        axes.plot(xs, ys, dashes, color=colour, label=name)
    for name, dashes in (("ecn*", ":"), ("dctcp", "-.")):
        label = f"{name.upper()} without batching (λ = {standard.LAMBDAS[name]:g})"
        axes.axhline(
            standard.LAMBDAS[name] * cd, color="grey", linewidth=1, linestyle=dashes, label=label
        )
    axes.set_yscale("log")
    axes.grid(alpha=0.3, which="both")


def _where_it_holds(k: float, n: int, beta: float, cd: float) -> float:
    try:
        cedm.batches_fit(n, beta, cd, k, cedm.LSO_BYTES / PACKETS)
    except Mistake:
        return math.nan
    return k


KINDS: dict[str, Callable[[float], Figure]] = {"e-ecn": eecn_fig4, "cedm": cedm_thresholds}
"""By the name that the command line gives."""
