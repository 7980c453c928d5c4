"""How busy the fabric's links are: a square a switch port."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.plots.queue import MOST
from switchbed.plots.runs import Line
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a line (its seeds averaged), a row a switch, a column a port."""
    if len(drawn) > MOST:
        raise Mistake(f"{len(drawn)} lines are too many panels: give at most {MOST}")
    grids = [grid(line.runs) for line in drawn]
    if not all(grids):
        raise Mistake(f"{drawn[grids.index({})].runs[0]}: has no switch ports")
    switches = list(grids[0])
    ports = max(len(row) for of in grids for row in of.values())
    height = min(3.0, 0.7 + 0.15 * len(switches))
    top = max(value for of in grids for row in of.values() for value in row)
    made = style.figure(9, 1.2 + height * len(drawn), title)
    rows = made.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
    for axes, line, of in zip(rows, drawn, grids, strict=True):
        filled = [[*row, *[float("nan")] * (ports - len(row))] for row in of.values()]
        image = axes.imshow(filled, cmap="cividis", vmin=0, vmax=max(top, 1), aspect="auto")
        step = max(1, len(switches) // 12)
        axes.set_yticks(range(0, len(switches), step), list(of)[::step], fontsize="small")
        used = [value for row in of.values() for value in row]
        text = f"{line.label}: mean {sum(used) / len(used):.1f} %, busiest {max(used):.1f} %"
        axes.set_title(style.plain(text), fontsize="small", loc="left")
    rows[-1].set_xlabel("port")
    made.colorbar(image, ax=list(rows), label="utilisation (%)")
    return made


def grid(runs: Sequence[Result]) -> dict[str, list[float]]:
    """Percent of the time that each port of each switch sent, in the order of the table; the mean
    of the runs."""
    found: dict[str, list[float]] = {}
    for row in zip(*(_ports(run) for run in runs), strict=True):
        switch = row[0][0]
        found.setdefault(switch, []).append(100 * sum(used for _, used in row) / len(row))
    return found


def _ports(run: Result) -> list[tuple[str, float]]:
    names = run.counters.select("port", "utilisation").rows()
    return [(m[1], used) for name, used in names if (m := re.fullmatch(r"(\w+):\d+", name))]
