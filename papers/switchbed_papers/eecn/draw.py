"""E-ECN's figures, as the paper draws them, with the paper's names and values."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed.plots import style
from switchbed.plots.style import IN_TURN
from switchbed_papers.eecn.measure import FLOWS, SHORT, T_A, T_I, THRESHOLD_PKT
from switchbed_papers.reproduce.figures import beside, mean_and_reach
from switchbed_papers.reproduce.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "per-queue": "DCTCP",
    "per-queue-dq": "DCTCP+dq",
    "e-ecn": "E-ECN",
    "s-ecn": "S-ECN",
    "red": "RED",
}
"""Schemes as the paper calls them with DCTCP."""
STARRED = {**NAMES, "per-queue": "ECN*", "per-queue-dq": "ECN*+dq"}
"""As it calls them with Reno and CUBIC."""
LOST = {"e-ecn": 1.0, "s-ecn": 0.8, "per-queue": 1.76, "per-queue-dq": 1.41}
"""Table III."""
PRINTED: dict[str, Any] = {"color": "black", "mfc": "white", "ms": 7, "zorder": 5}
"""How a value of the paper is drawn: a white diamond."""


def fig7(rows: Rows, title: str, file: Path) -> None:
    """Mean and maximum against the number of flows."""
    figure, (axes,) = _panels(f"{title}\n(mean of the seeds; bars: least and greatest)", [""])
    figure.set_figwidth(7)
    for scheme in ("per-queue", "e-ecn"):
        _over_flows(axes, rows, scheme)
    axes.axhline(THRESHOLD_PKT, color="grey", linestyle=":", label="K")
    _save(figure, file)


def fig6(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the queue, and, in its own file, its last millisecond (figure 5)."""
    figure, (axes,) = _panels(title, [""])
    over_time, (line_axes,) = _panels("Figure 5: the queue over time, one run", [""])
    for scheme in ("per-queue", "e-ecn"):
        found = rows.where({"scheme": scheme}).rows[0].figures
        look = style.own(scheme)
        name = _without(scheme)
        share = [i / 100 for i in range(101)]
        axes.plot(found["cdf_pkt"], share, look.dashes, color=look.colour, label=name)
        points = found["last_ms"]
        line = [((us - points[0][0]) / 1e3, packets) for us, packets in points]
        line_axes.plot(*zip(*line, strict=True), label=name, color=look.colour)
    for value, name in ((0.986, "the paper, E-ECN"), (0.8, "the paper, DCTCP")):
        mark = "D" if value > 0.9 else "s"
        axes.plot([THRESHOLD_PKT], [value], mark, label=f"{name}: {100 * value:g} %", **PRINTED)
    axes.axvline(THRESHOLD_PKT, color="grey", linestyle=":", label="K")
    axes.set_xlabel("queue (packets)")
    axes.set_ylabel("share of samples")
    line_axes.axhspan(
        40, THRESHOLD_PKT, color=style.BLUE, alpha=0.1, label="the paper, E-ECN: 40 to 60"
    )
    line_axes.axhline(THRESHOLD_PKT, color="grey", linestyle=":", label="K")
    line_axes.set_ylim(bottom=0)
    line_axes.set_xlabel("time (ms)")
    line_axes.set_ylabel("queue (packets)")
    _save(figure, file)
    _save(over_time, beside(file, "fig5"))


def _without(scheme: str) -> str:
    return "DCTCP with E-ECN" if scheme == "e-ecn" else "DCTCP without E-ECN"


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
        axes.errorbar(
            xs,
            ys,
            yerr=bars,
            linestyle=dashes,
            marker=look.marker,
            color=look.colour,
            markerfacecolor=look.colour if metric == "max_pkt" else "white",
            capsize=2,
            label=f"{_without(scheme)}, {'maximum' if metric == 'max_pkt' else 'mean'}",
        )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("flows")
    axes.set_ylabel("queue (packets)")


def fig8(rows: Rows, title: str, file: Path) -> None:
    """Each flow's rate over time, in means of a second: those of 50 ms, of which the claim is,
    hide each other. Of all seeds the fairest run and the least fair one."""
    runs = sorted(rows, key=lambda row: row.figures["off_percent"])
    chosen = [runs[0], runs[-1]]
    heads = [f"fairest run, seed {runs[0].seed}", f"least fair run, seed {runs[-1].seed}"]
    figure, panels = _panels(f"{title}, means of 1 s", heads)
    for axes, row in zip(panels, chosen, strict=True):
        found = row.figures["rates"]
        for flow in sorted({flow for _, flow, _ in found}):
            seconds: dict[int, list[float]] = {}
            for t, of, rate in found:
                if of == flow:
                    seconds.setdefault(math.ceil(round(t, 3)), []).append(rate)
            line = [(end - 0.5, sum(rates) / len(rates)) for end, rates in seconds.items()]
            axes.plot(*zip(*line, strict=True), ".-", color=IN_TURN[flow], label=f"flow {flow + 1}")
        # A flow more every 5 s to the fifth, which stops at 30 s, and then a flow less.
        for stage in range(10):
            share = 948 / (min(stage, 9 - stage) + 1)
            span, name = (5 * stage, 5 * stage + 5), "fair share"
            axes.plot(span, (share, share), ls=(0, (1, 1.5)), color="black", label=name)
        axes.set_xlabel("time (s)")
        axes.set_ylim(0, 1000)
    panels[0].set_ylabel("rate (Mbps)")
    _save(figure, file)


def fig9(rows: Rows, title: str, file: Path) -> None:
    """Both flows' rates from the second one's start to the end, without and with E-ECN: of each a
    run whose time to the fair share is the median one."""
    schemes = ("per-queue", "e-ecn")
    figure, panels = _panels(f"{title}; the run of median time", [_without(s) for s in schemes])
    for axes, scheme in zip(panels, schemes, strict=True):
        runs = sorted(
            rows.where({"scheme": scheme}),
            key=lambda row: math.inf if row.figures["took_ms"] is None else row.figures["took_ms"],
        )
        row = runs[len(runs) // 2]
        for flow in (0, 1):
            line = [(t, mbps) for t, r, mbps in row.figures["rates"] if r == flow]
            axes.plot(*zip(*line, strict=True), color=IN_TURN[flow], label=f"flow {flow + 1}")
        axes.axhline(474, color="black", linestyle=":", label="fair share")
        axes.set_xlabel("time (ms)")
    panels[0].set_ylabel("rate (Mbps)")
    _save(figure, file)


def fig10(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the longest queue after a burst, a panel a T_i, a line a T_a."""
    times = ["1us", "10us", "30us"]
    figure, panels = _panels(title, [f"T_i = {t_i.removesuffix('us')} µs" for t_i in times])
    for axes, t_i in zip(panels, times, strict=True):
        runs = rows.where({T_I: t_i})
        for index, t_a in enumerate(runs.values(T_A)):
            of = runs.where({T_A: t_a})
            name = f"T_a = {_us(t_a) / 100:g} RTTs"
            _maxima(axes, of, name, IN_TURN[index], style.DASHES[index % 4])
        axes.axvline(50, color="grey", linewidth=0.8, label="K")
    for value, mark, name in ((0.45, "D", "5 RTTs"), (0.76, "s", "10 RTTs")):
        label = f"the paper, {name}: {100 * value:g} %"
        panels[1].plot([50], [value], mark, label=label, **PRINTED)
    panels[0].set_ylabel("share of bursts")
    _save(figure, file)


def _us(text: str) -> float:
    return 1000 * float(text[:-2]) if text.endswith("ms") else float(text[:-2])


def fig11(rows: Rows, title: str, file: Path) -> None:
    """CDFs of the longest queue after a burst, a panel a transport, a line a scheme, and the
    throughput of each (table II)."""
    scenarios = rows.values("scenario")
    heads = {"reno": "Reno", "cubic": "CUBIC", "dctcp": "DCTCP"}
    headings = [heads[scenario[6:]] for scenario in scenarios]
    figure, panels = _panels(title, [*headings, "Table II"])
    for axes, scenario in zip(panels, scenarios, strict=False):
        runs = rows.where({"scenario": scenario})
        names = NAMES if scenario.endswith("dctcp") else STARRED
        for scheme in runs.values("scheme"):
            look = style.own(scheme)
            label = "ECN*+dq, DCTCP+dq" if scheme == "per-queue-dq" else names[scheme]
            label = "ECN*, DCTCP" if scheme == "per-queue" else label
            _maxima(axes, runs.where({"scheme": scheme}), label, look.colour, look.dashes)
        axes.axvline(30, color="grey", linewidth=0.8, label="K")
    panels[0].plot([30], [0.75], "D", label="the paper, E-ECN: about 75 %", **PRINTED)
    panels[0].set_ylabel("share of bursts")
    axes = panels[-1]
    for place, scenario in enumerate(scenarios):
        runs = rows.where({"scenario": scenario})
        schemes = runs.values("scheme")
        for index, scheme in enumerate(schemes):
            x = place + 0.18 * (index - (len(schemes) - 1) / 2)
            values = runs.where({"scheme": scheme}).by_seed("goodput_bps").values()
            mean, (low, high) = mean_and_reach(bps / 1e6 for bps in values)
            look = style.own(scheme)
            axes.errorbar([x], [mean], [[low], [high]], marker=look.marker, color=look.colour)
    axes.axhline(971, color="black", ls=":", lw=0.9, label="Table II: 971, S-ECN 835 Mbps")
    axes.axhline(835, color="black", ls=":", lw=0.9)
    axes.set_xticks(range(len(headings)), headings)
    axes.set_ylabel("throughput (Mbps)")
    _save(figure, file)


def fig12(rows: Rows, title: str, file: Path) -> None:
    """Mean FCT of short, medium and long flows by scheme, and lost packets over E-ECN's, with 95 %
    intervals over seeds."""
    classes = {"small": "short", "medium": "medium", "large": "long"}
    headings = [f"{name} flows" for name in classes.values()]
    figure, panels = _panels(f"{title} (95 % intervals over seeds)", [*headings, "Table III"])
    names = [NAMES[scheme].replace("DCTCP+dq", "dq") for scheme in SHORT]
    base = rows.where({"scheme": "e-ecn"}).by_seed("lost")
    for axes, kind in zip(panels, [*classes, "lost"], strict=True):
        for place, scheme in enumerate(SHORT):
            runs = rows.where({"scheme": scheme})
            if kind == "lost":
                found = {s: v / base[s] for s, v in runs.by_seed("lost").items()}
            else:
                found = {s: us / 1e3 for s, us in runs.by_seed(f"{kind}.mean_us").items()}
            mean, (low, high) = mean_and_reach(found.values())
            bars: dict[str, Any] = {
                "capsize": 3,
                "ecolor": style.GREY,
                "color": style.own(scheme).colour,
            }
            axes.bar(place, mean, 0.6, yerr=[[low], [high]], **bars)
            if kind == "lost":
                name = "the paper (figure 12's values are drawn only)" if place == 0 else None
                axes.plot([place], [LOST[scheme]], "D", label=name, **PRINTED)
        axes.set_xticks(range(len(SHORT)), names, rotation=20)
    panels[0].set_ylabel("average FCT (ms)")
    panels[-1].set_ylabel("packets lost over E-ECN's")
    _save(figure, file)


def _maxima(axes: "Axes", runs: Rows, label: str, colour: str, dashes: str) -> None:
    """The CDF of the longest queues of some runs."""
    longest = sorted(length for row in runs for length in row.figures["max_pkt"])
    share = [(i + 1) / len(longest) for i in range(len(longest))]
    axes.plot(longest, share, dashes, color=colour, label=label)
    axes.set_xlabel("maximum queue (packets)")


def _panels(title: str, headings: Iterable[str]) -> tuple["Figure", Sequence["Axes"]]:
    from matplotlib.figure import Figure

    headings = list(headings)
    figure = Figure(figsize=(2 + 3.4 * len(headings), 4.2), layout="constrained", dpi=130)
    figure.suptitle(title, fontsize="medium")
    panels = list(figure.subplots(1, len(headings), squeeze=False)[0])
    for axes, heading in zip(panels, headings, strict=True):
        axes.set_title(heading, fontsize="small")
        axes.grid(alpha=0.3)
    return figure, panels


def _save(figure: "Figure", file: Path) -> None:
    """Every picture has its legend below, where it hides no data."""
    style.legend_below(figure, 7)
    figure.savefig(file, metadata={"Software": None})
