"""MQ-ECN's figures, as the paper draws them."""

from collections.abc import Mapping
from pathlib import Path

from switchbed.plots.style import BLUE, DASHES, IN_TURN, ORANGE, legend_below
from switchbed_papers.mqecn.measure import FLOWS, QUEUES, _queues
from switchbed_papers.reproduce.figures import bars, cumulative, fct_over_load, mean_and_reach
from switchbed_papers.reproduce.rows import Rows

PRINTED_MBPS = {"4": ((-0.2, 403), (0.2, 539)), "8": ((0.2, 688),)}
"""Figure 3's printed goodputs by the flows of service 2, each at its bar's place."""


def fig9(rows: Rows, title: str, file: Path) -> None:
    """Figure 9, and figure 10 beside it."""
    fct_over_load(rows.where({"switch.discipline": "dwrr"}), f"{title}: DWRR", file)
    wrr = file.with_name(f"{file.stem}--wrr{file.suffix}")
    fct_over_load(rows.where({"switch.discipline": "wrr"}), f"{title}: WRR", wrr)


def fig1(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the round-trip time by the number of busy queues."""
    counts = sorted({len(row.settings[QUEUES]) for row in rows})
    names = {count: f"{count} queue{'s' if count > 1 else ''}" for count in counts}
    groups = {name: _queues(rows, count) for count, name in names.items()}
    _rtt(groups, title, file, {"1 queue": 279, "8 queues": 1582})


def fig6(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the round-trip time by scheme."""
    schemes = rows.values("scheme")
    groups = {scheme: rows.where({"scheme": scheme}) for scheme in schemes}
    _rtt(groups, title, file, {"Standard": 651, "MQ-ECN": 441})


def _rtt(groups: dict[str, Rows], title: str, file: Path, printed_us: Mapping[str, float]) -> None:
    """CDFs, and the paper's averages of some groups in their colours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained", dpi=130)
    axes = figure.subplots()
    quantiles = {label: rows.rows[0].figures["rtt_us"] for label, rows in groups.items()}
    cumulative(axes, quantiles, zip(IN_TURN, DASHES, strict=False))
    for name, colour in zip(groups, IN_TURN, strict=False):
        if name in printed_us:
            label = f"the paper's average, {name}"
            axes.axvline(printed_us[name], color=colour, ls=(0, (1, 1.5)), lw=1.2, label=label)
    axes.set_xlabel("round-trip time (µs)")
    axes.set_ylabel("cumulative share")
    axes.set_xlim(left=0)
    axes.set_title(title, fontsize="medium")
    legend_below(figure, 3)
    figure.savefig(file, metadata={"Software": None})


def fig3(rows: Rows, title: str, file: Path) -> None:
    """Goodput of the two services by the flows of the second."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained", dpi=130)
    axes = figure.subplots()
    counts = rows.values(FLOWS)
    services = {"service 1, one flow": ORANGE, "service 2": BLUE}
    series = {}
    for index, (name, colour) in enumerate(services.items()):
        found = [rows.where({FLOWS: n}).by_seed(f"class{index}.goodput_bps") for n in counts]
        mbps = [mean_and_reach(bps / 1e6 for bps in by_seed.values()) for by_seed in found]
        series[name] = (colour, mbps)
    bars(axes, series, [str(count) for count in counts])
    for place, count in enumerate(map(str, counts)):
        for offset, value in PRINTED_MBPS.get(count, ()):
            label = "the paper" if count == "8" else None
            axes.plot([place + offset], [value], "D", color="black", mfc="white", label=label)
    axes.set_xlabel("flows of service 2")
    axes.set_ylabel("goodput (Mbps)")
    axes.legend(frameon=False)
    axes.set_title(title, fontsize="medium")
    figure.savefig(file, metadata={"Software": None})
