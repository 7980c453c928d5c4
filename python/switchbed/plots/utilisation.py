"""How busy the fabric's links are: a square a switch port."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.series import runs
from switchbed.series.maps import PORT, UTILISATION, Grid, grids
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 24
"""Most names of ports on an axis; of switches a dozen."""


def figure(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a line (its seeds averaged) and kind of switch, a row a switch, a column a port."""
    panels = _grids(drawn)
    if len(panels) > 2 * style.MOST:
        raise Mistake(f"{len(drawn)} lines are too many panels: choose by --only")
    heights = [min(3.0, 0.7 + 0.15 * len(grid.used)) for _, grid in panels]
    top = max(grid.by_use[0] for _, grid in panels)
    made = style.figure(9, 0.6 + sum(height + 0.6 for height in heights), title)
    ratios = {"height_ratios": heights}
    rows = made.subplots(len(panels), 1, squeeze=False, gridspec_kw=ratios)[:, 0]
    for axes, (line, grid) in zip(rows, panels, strict=True):
        across = len(grid.ports)
        filled = [style.gaps(row) for row in grid.rows]
        image = axes.imshow(filled, cmap="cividis", vmin=0, vmax=max(top, 1), aspect="auto")
        step = max(1, len(grid.used) // 12)
        axes.set_yticks(range(0, len(filled), step), list(grid.used)[::step], fontsize="small")
        step = -(-across // MOST_NAMES)
        names = [style.plain(name) for name in grid.ports[::step]]
        turned = 90 if sum(map(len, names)) > 90 else 0
        axes.set_xticks(range(0, across, step), names, fontsize="small", rotation=turned)
        text = f"{line.label}, {grid.kind}: {grid.described}"
        axes.set_title(style.plain(text), fontsize="small", loc="left")
    rows[-1].set_xlabel(PORT)
    made.colorbar(image, ax=list(rows), label=UTILISATION)
    style.footnote(made, style.averaged(len(line.runs) for line in drawn))
    return made


def together(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a kind of switch, and a value of the lines' panels: a line a setting over the ports,
    from the busiest on, its seeds averaged."""
    found = _grids(drawn)
    panels = list(dict.fromkeys((line.panel, grid.kind) for line, grid in found))
    style.fits(len(panels))
    made = style.figure(6, 0.8 + 2.4 * len(panels), title)
    rows = made.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, (panel, kind) in zip(rows, panels, strict=True):
        for line, grid in found:
            if (line.panel, grid.kind) == (panel, kind):
                used = grid.by_use
                ports, every = range(1, len(used) + 1), max(1, len(used) // 16)
                style.line(axes, ports, used, line.look, line.label, every=every)
        where = f"{runs.named(*panel)}, " if panel else ""
        axes.set_title(style.plain(f"{where}{kind}"), fontsize="small", loc="left")
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
    rows[-1].set_xlabel("ports, the busiest first")
    made.supylabel(UTILISATION, fontsize="medium")
    style.legend_below(made, note=style.averaged(len(line.runs) for line in drawn))
    return made


def _grids(drawn: Sequence[Line]) -> list[tuple[Line, Grid]]:
    found = [(line, grid) for line in drawn for grid in grids(line.runs)]
    if not found:
        raise Mistake(f"{drawn[0].runs[0]}: has no switch ports")
    return found
