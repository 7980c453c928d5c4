"""E-ECN's figures, as the paper draws them."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed.plots import style
from switchbed.plots.style import IN_TURN
from switchbed_papers.eecn.measure import FLOWS, SHORT, THRESHOLD_PKT
from switchbed_papers.reproduce.figures import beside, mean_and_reach
from switchbed_papers.reproduce.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def fig7(rows: Rows, title: str, file: Path) -> None:
    """Mean and maximum against the number of flows, and, in its own file, figure 2 of the same
    runs."""
    for name, heading, schemes in (
        (file, title, ("per-queue", "e-ecn")),
        (beside(file, "fig2"), "Figure 2: the queue under step marking", ("per-queue",)),
    ):
        figure, (axes,) = _panels(heading, [""])
        for scheme in schemes:
            _over_flows(axes, rows, scheme)
        axes.axhline(THRESHOLD_PKT, color="grey", linestyle=":", label="K")
        axes.legend(frameon=False, fontsize="small")
        _save(figure, name)


def fig6(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the queue, and, in its own file, its last millisecond (figure 5)."""
    figure, (axes,) = _panels(title, [""])
    over_time, (line_axes,) = _panels("Figure 5: the queue over time", [""])
    for scheme in ("per-queue", "e-ecn"):
        found = rows.where({"scheme": scheme}).rows[0].figures
        look = style.own(scheme)
        share = [i / 100 for i in range(101)]
        axes.plot(found["cdf_pkt"], share, look.dashes, color=look.colour, label=scheme)
        points = found["last_ms"]
        line = [((us - points[0][0]) / 1e3, packets) for us, packets in points]
        line_axes.plot(*zip(*line, strict=True), label=scheme, color=look.colour)
    axes.axvline(THRESHOLD_PKT, color="grey", linestyle=":", label="K")
    axes.set_xlabel("queue (packets)")
    axes.set_ylabel("share of samples")
    line_axes.axhline(THRESHOLD_PKT, color="grey", linestyle=":", label="K")
    line_axes.set_ylim(bottom=0)
    line_axes.set_xlabel("time (ms)")
    line_axes.set_ylabel("queue (packets)")
    for each, name in ((figure, file), (over_time, beside(file, "fig5"))):
        style.legend_below(each)
        _save(each, name)


def _over_flows(axes: "Axes", rows: Rows, scheme: str) -> None:
    """A scheme's maximum, and hollow its mean, against the number of flows: the mean of all seeds,
    and their least and greatest."""
    runs = rows.where({"scheme": scheme})
    look = style.own(scheme)
    for metric, dashes in (("max_pkt", "-"), ("mean_pkt", "--")):
        of: dict[int, list[float]] = {}
        for row in runs:
            flows = int(str(row.settings[FLOWS]).split("-")[1]) + 1
            of.setdefault(flows, []).append(row.figures[metric])
        xs = sorted(of)
        ys = [sum(of[x]) / len(of[x]) for x in xs]
        bars = [[y - min(of[x]) for x, y in zip(xs, ys, strict=True)]]
        bars += [[max(of[x]) - y for x, y in zip(xs, ys, strict=True)]]
        label = f"{scheme}, {'maximum' if metric == 'max_pkt' else 'mean'}"
        axes.errorbar(
            xs,
            ys,
            yerr=bars,
            linestyle=dashes,
            marker=look.marker,
            color=look.colour,
            markerfacecolor=look.colour if metric == "max_pkt" else "white",
            capsize=2,
            label=label,
        )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("flows")
    axes.set_ylabel("queue (packets)")


def fig8(rows: Rows, title: str, file: Path) -> None:
    """Each flow's rate over time, in means of a second: those of 50 ms, of which the claim is,
    hide each other."""
    figure, (axes,) = _panels(f"{title}, means of 1 s", [""])
    found = rows.rows[0].figures["rates"]
    for flow in sorted({row for _, row, _ in found}):
        seconds: dict[int, list[float]] = {}
        for t, row, rate in found:
            if row == flow:
                seconds.setdefault(math.ceil(round(t, 3)), []).append(rate)
        line = [(end - 0.5, sum(rates) / len(rates)) for end, rates in seconds.items()]
        axes.plot(*zip(*line, strict=True), ".-", color=IN_TURN[flow], label=f"flow {flow + 1}")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("rate (Mbps)")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize="small", loc="upper center")
    _save(figure, file)


def fig9(rows: Rows, title: str, file: Path) -> None:
    """Both flows' rates about the second one's start, without and with E-ECN."""
    schemes = ("per-queue", "e-ecn")
    figure, panels = _panels(title, schemes)
    for axes, scheme in zip(panels, schemes, strict=True):
        row = rows.where({"scheme": scheme}).rows[0]
        for flow in (0, 1):
            line = [(t, mbps) for t, r, mbps in row.figures["rates"] if r == flow and t <= 250]
            axes.plot(*zip(*line, strict=True), color=IN_TURN[flow], label=f"flow {flow + 1}")
        axes.axhline(474, color="grey", linestyle=":", label="fair share")
        axes.set_xlabel("time (ms)")
    panels[0].set_ylabel("rate (Mbps)")
    style.legend_below(figure)
    _save(figure, file)


def fig10(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the longest queue after a burst, a panel a T_i, a line a T_a."""
    times = ["1us", "10us", "30us"]
    figure, panels = _panels(title, [f"T_i = {t_i}" for t_i in times])
    for axes, t_i in zip(panels, times, strict=True):
        runs = rows.where({"scheme.params.t_i": t_i})
        for index, t_a in enumerate(runs.values("scheme.params.t_a")):
            of = runs.where({"scheme.params.t_a": t_a})
            _maxima(axes, of, f"T_a = {t_a}", IN_TURN[index], style.DASHES[index % 4])
        axes.axvline(50, color="grey", linewidth=0.8, label="K")
    panels[0].set_ylabel("share of bursts")
    style.legend_below(figure, 7)
    _save(figure, file)


def fig11(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the longest queue after a burst, a panel a transport, a line a scheme."""
    scenarios = rows.values("scenario")
    figure, panels = _panels(title, [scenario[6:] for scenario in scenarios])
    for axes, scenario in zip(panels, scenarios, strict=True):
        runs = rows.where({"scenario": scenario})
        for scheme in runs.values("scheme"):
            look = style.own(scheme)
            _maxima(axes, runs.where({"scheme": scheme}), scheme, look.colour, look.dashes)
        # Named once, last in the legend: not every panel has every scheme.
        name = "K" if scenario == scenarios[-1] else None
        axes.axvline(30, color="grey", linewidth=0.8, label=name)
    panels[0].set_ylabel("share of bursts")
    style.legend_below(figure, 6)
    _save(figure, file)


def fig12(rows: Rows, title: str, file: Path) -> None:
    """Mean FCT of short, medium and long flows by scheme, with 95 % intervals of the mean over
    seeds."""
    classes = ("small", "medium", "large")
    figure, panels = _panels(title, [f"{name} flows" for name in classes])
    for axes, name in zip(panels, classes, strict=True):
        for place, scheme in enumerate(SHORT):
            found = rows.where({"scheme": scheme}).by_seed(f"{name}.mean_us")
            mean, (low, high) = mean_and_reach(us / 1e3 for us in found.values())
            bars: dict[str, Any] = {
                "capsize": 3,
                "ecolor": style.GREY,
                "color": style.own(scheme).colour,
            }
            axes.bar(place, mean, 0.6, yerr=[[low], [high]], **bars)
        axes.set_xticks(range(len(SHORT)), SHORT, rotation=20)
    panels[0].set_ylabel("average FCT (ms)")
    _save(figure, file)


def _maxima(axes: "Axes", runs: Rows, label: str, colour: str, dashes: str) -> None:
    """The CDF of the longest queues of some runs."""
    longest = sorted(length for row in runs for length in row.figures["max_pkt"])
    share = [(i + 1) / len(longest) for i in range(len(longest))]
    axes.plot(longest, share, dashes, color=colour, label=label)
    axes.set_xlabel("longest queue (packets)")


def _panels(title: str, headings: Iterable[str]) -> tuple["Figure", Sequence["Axes"]]:
    from matplotlib.figure import Figure

    headings = list(headings)
    figure = Figure(figsize=(2 + 3.7 * len(headings), 3.6), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    panels = list(figure.subplots(1, len(headings), squeeze=False)[0])
    for axes, heading in zip(panels, headings, strict=True):
        axes.set_title(heading, fontsize="small")
        axes.grid(alpha=0.3)
    return figure, panels


def _save(figure: "Figure", file: Path) -> None:
    figure.savefig(file, metadata={"Software": None})
