"""Throughput of each class over time, as shares of all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.plots.style import MOST
from switchbed.series import runs, shares
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a run, with a line a class; what all classes received is above it in words."""
    panels = [(line, run) for line in drawn for run in line.runs]
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} runs are too many panels: give at most {MOST}")
    shares.classes([run for _, run in panels])
    clock = shares.Clock.of([run for _, run in panels])
    made, rows = style.over_time(len(panels), title, clock.title, shares.SHARE, sharey=False)
    for axes, (line, run) in zip(rows, panels, strict=True):
        found = shares.goodput(run, clock)
        for number, share in found.share_pct.items():
            look, name = style.numbered(number), found.classes[number].name
            every = max(1, len(found.times) // 8)
            style.line(axes, found.times, share, look, name, every=every)
        seed = f", seed {run.seed}" if len(line.runs) > 1 else ""
        title = f"{style.plain(line.label)}{seed}: {found.mean_gbps:.3g} Gbps in all"
        axes.set_title(title, fontsize="small", loc="left")
        axes.set_ylim(0, 101)
    style.legend_below(made, 8, style.of_seeds(run for _, run in panels))
    return made


def together(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a class, and a value of the lines' panels: a line a setting, of each the first
    seed."""
    first = [line.runs[0] for line in drawn]
    over = list(dict.fromkeys(line.panel for line in drawn))
    panels = [(panel, number) for panel in over for number in shares.classes(first)]
    style.fits(len(panels))
    clock = shares.Clock.of(first)
    found = [(line, shares.goodput(line.runs[0], clock)) for line in drawn]
    made, rows = style.over_time(len(panels), title, clock.title, shares.SHARE, sharey=False)
    for axes, (panel, number) in zip(rows, panels, strict=True):
        for line, goodput in found:
            if line.panel == panel and (share := goodput.share_pct.get(number)):
                style.line(axes, goodput.times, share, line.look, line.label, 1.2)
        where = f"{runs.named(*panel)}, " if panel else ""
        axes.set_title(style.plain(f"{where}class {number}"), fontsize="small", loc="left")
        axes.set_ylim(0, 101)
    style.legend_below(made, note=style.of_seeds(first))
    return made
