"""How busy links were, over time by tiers and by link."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.series import links, runs
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BANDS = "line: mean of the links; band: least used to busiest"


def over_time(drawn: Sequence[Line], window_ms: tuple[float, float] | None, title: str) -> "Figure":
    """A panel a run: a line a pair of tiers, the mean of its links, with a band from the least used
    to the busiest between switches."""
    panels = [(line, run) for line in drawn for run in line.runs]
    style.fits(len(panels))
    made, rows = style.over_time(len(panels), title, links.TIME, links.USED)
    # A pair of tiers looks alike in all panels.
    looks: dict[str, style.Style] = {}
    for axes, (line, run) in zip(rows, panels, strict=True):
        for tier in links.over_time(run, window_ms):
            look = looks.setdefault(tier.name, style.numbered(len(looks)))
            _line(axes, tier, look, tier.name)
        seed = f", seed {run.seed}" if len(line.runs) > 1 else ""
        axes.set_title(style.plain(f"{line.label}{seed}"), fontsize="small", loc="left")
    rows[0].set_ylim(0, 102)
    style.legend_below(made, 6, f"{style.of_seeds(run for _, run in panels)}; {BANDS}")
    return made


def together(drawn: Sequence[Line], window_ms: tuple[float, float] | None, title: str) -> "Figure":
    """A panel a pair of tiers, and a value of the lines' panels: a line a setting, of each the
    first seed."""
    found = [(line, tier) for line in drawn for tier in links.over_time(line.runs[0], window_ms)]
    panels = list(dict.fromkeys((line.panel, tier.name) for line, tier in found))
    style.fits(len(panels))
    made, rows = style.over_time(len(panels), title, links.TIME, links.USED)
    for axes, (panel, name) in zip(rows, panels, strict=True):
        for line, tier in found:
            if (line.panel, tier.name) == (panel, name):
                _line(axes, tier, line.look, line.label)
        axes.set_title(style.plain(f"{_where(panel)}{name}"), fontsize="small", loc="left")
    rows[0].set_ylim(0, 102)
    style.legend_below(made, 6, f"{style.of_seeds(line.runs[0] for line in drawn)}; {BANDS}")
    return made


def by_link(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a pair of tiers of switches, and a value of the lines' panels: a line a setting over
    the links, the busiest first, with Jain's index and the busiest over the mean."""
    found = [(line, *use) for line in drawn for use in links.uses(line.runs).items()]
    if not found:
        run = drawn[0].runs[0]
        raise Mistake(f"{run}: has no tiers of switches with more than one link between them")
    panels = list(dict.fromkeys((line.panel, name) for line, name, _ in found))
    style.fits(len(panels))
    made = style.figure(7, 0.8 + 2.2 * len(panels), title)
    rows = made.subplots(len(panels), 1, sharey=True, squeeze=False)[:, 0]
    for axes, (panel, name) in zip(rows, panels, strict=True):
        for line, tiers, use in found:
            if (line.panel, tiers) == (panel, name):
                ranks, every = range(1, len(use.used) + 1), max(1, len(use.used) // 16)
                label = style.plain(f"{line.label}: {use.described}")
                style.line(axes, ranks, use.used, line.look, label, every=every)
        axes.set_title(style.plain(f"{_where(panel)}{name}"), fontsize="small", loc="left")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small", frameon=False, loc="best")
    rows[0].set_ylim(bottom=0)
    rows[-1].set_xlabel(links.RANKED)
    made.supylabel(links.USED, fontsize="medium")
    style.footnote(made, style.averaged(len(line.runs) for line in drawn))
    return made


def _where(panel: tuple[str, str] | None) -> str:
    return f"{runs.named(*panel)}, " if panel else ""


def _line(axes: "Axes", tier: links.Tier, look: style.Style, label: str) -> None:
    style.line(axes, tier.times_ms, tier.mean, look, label, 1.2)
    if tier.links > 1 and tier.fabric:
        axes.fill_between(
            tier.times_ms, tier.least, tier.most, color=look.colour, alpha=0.12, linewidth=0
        )
