"""MQ-ECN's figures, as the paper draws them."""

from pathlib import Path

from switchbed.papers.mqecn.measure import FLOWS, QUEUES, _queues
from switchbed.papers.reproduce.figures import fct_over_load
from switchbed.papers.reproduce.rows import Rows
from switchbed.plots.style import BLUE, ORANGE


def fig9(rows: Rows, title: str, file: Path) -> None:
    """Figure 9, and figure 10 beside it."""
    fct_over_load(rows.where({"switch.discipline": "dwrr"}), f"{title}: DWRR", file)
    wrr = file.with_name(f"{file.stem}--wrr{file.suffix}")
    fct_over_load(rows.where({"switch.discipline": "wrr"}), f"{title}: WRR", wrr)


def fig1(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the round-trip time by the number of busy queues."""
    counts = sorted({len(row.settings[QUEUES]) for row in rows})
    _rtt({f"{count} queues": _queues(rows, count) for count in counts}, title, file)


def fig6(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the round-trip time by scheme."""
    schemes = rows.values("scheme")
    _rtt({scheme: rows.where({"scheme": scheme}) for scheme in schemes}, title, file)


def _rtt(groups: dict[str, Rows], title: str, file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained", dpi=130)
    axes = figure.subplots()
    styles = ("-", "--", "-.", ":")
    for (label, rows), style in zip(groups.items(), styles, strict=False):
        found = rows.rows[0].figures["rtt_us"]
        axes.plot(found, [i / (len(found) - 1) for i in range(len(found))], style, label=label)
    axes.set_xlabel("round-trip time (µs)")
    axes.set_ylabel("cumulative share")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    axes.set_title(title, fontsize="medium")
    figure.savefig(file, metadata={"Software": None})


def fig3(rows: Rows, title: str, file: Path) -> None:
    """Goodput of the two services by the flows of the second."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained", dpi=130)
    axes = figure.subplots()
    counts = rows.values(FLOWS)
    for index, (name, colour) in enumerate((("service 1, one flow", ORANGE), ("service 2", BLUE))):
        heights = [
            rows.where({FLOWS: count}).rows[0].figures[f"class{index}.goodput_bps"] / 1e6
            for count in counts
        ]
        places = [place + 0.4 * index - 0.2 for place in range(len(counts))]
        axes.bar(places, heights, 0.38, color=colour, label=name)
    axes.set_xticks(range(len(counts)), [f"{count} flows" for count in counts])
    axes.set_ylabel("goodput (Mbps)")
    axes.legend(frameon=False)
    axes.set_title(title, fontsize="medium")
    figure.savefig(file, metadata={"Software": None})
