"""How busy the fabric's links are: a square a switch port."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import runs, style
from switchbed.plots.queue import MOST
from switchbed.plots.runs import Line
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 24
"""Of ports on an axis, and of switches a dozen."""


@dataclass(frozen=True)
class Grid:
    """Switches of a kind, which have their ports alike."""

    kind: str
    """What their names begin with: `leaf`."""
    ports: tuple[str, ...]
    """Where each leads: a name where all switches' port of that number leads there, else which of
    the hosts, or switches of a kind, that it has: `host #3`."""
    used: dict[str, list[float]]
    """Percent of the time that each port of each switch sent, the mean of the runs."""


def figure(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a line (its seeds averaged) and kind of switch, a row a switch, a column a port."""
    panels = [(line, grid) for line in drawn for grid in grids(line.runs)]
    if len(panels) > 2 * MOST:
        raise Mistake(f"{len(drawn)} lines are too many panels: choose by --only")
    if not panels:
        raise Mistake(f"{drawn[0].runs[0]}: has no switch ports")
    heights = [min(3.0, 0.7 + 0.15 * len(grid.used)) for _, grid in panels]
    top = max(value for _, grid in panels for row in grid.used.values() for value in row)
    made = style.figure(9, 0.6 + sum(height + 0.6 for height in heights), title)
    ratios = {"height_ratios": heights}
    rows = made.subplots(len(panels), 1, squeeze=False, gridspec_kw=ratios)[:, 0]
    for axes, (line, grid) in zip(rows, panels, strict=True):
        across = len(grid.ports)
        filled = [[*row, *[float("nan")] * (across - len(row))] for row in grid.used.values()]
        image = axes.imshow(filled, cmap="cividis", vmin=0, vmax=max(top, 1), aspect="auto")
        step = max(1, len(grid.used) // 12)
        axes.set_yticks(range(0, len(filled), step), list(grid.used)[::step], fontsize="small")
        step = -(-across // MOST_NAMES)
        names = [style.plain(name) for name in grid.ports[::step]]
        turned = 90 if sum(map(len, names)) > 90 else 0
        axes.set_xticks(range(0, across, step), names, fontsize="small", rotation=turned)
        used = [value for row in grid.used.values() for value in row]
        text = f"{line.label}, {grid.kind}: mean {sum(used) / len(used):.1f} %"
        axes.set_title(
            style.plain(f"{text}, busiest {max(used):.1f} %"), fontsize="small", loc="left"
        )
    rows[-1].set_xlabel("port, by what is at its other end")
    made.colorbar(image, ax=list(rows), label="utilisation (%)")
    return made


METRICS = ("utilisation.mean_pct", "utilisation.max_pct")
"""Over a setting: of all switch ports together, and of the busiest."""


def together(drawn: Sequence[Line], title: str) -> "Figure":
    """A panel a kind of switch, and a value of the lines' panels: a line a setting over the ports,
    from the busiest on, its seeds averaged."""
    found = [(line, grid) for line in drawn for grid in grids(line.runs)]
    panels = list(dict.fromkeys((line.panel, grid.kind) for line, grid in found))
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} panels are too many: at most {MOST}; choose by --only")
    if not panels:
        raise Mistake(f"{drawn[0].runs[0]}: has no switch ports")
    made = style.figure(6, 0.8 + 2.4 * len(panels), title)
    rows = made.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, (panel, kind) in zip(rows, panels, strict=True):
        for line, grid in found:
            if (line.panel, grid.kind) != (panel, kind):
                continue
            used = sorted((value for row in grid.used.values() for value in row), reverse=True)
            axes.plot(
                range(1, len(used) + 1),
                used,
                color=line.look.colour,
                linestyle=line.look.dashes,
                marker=line.look.marker,
                markersize=4,
                markevery=max(1, len(used) // 16),
                label=line.label,
            )
        where = f"{runs.named(*panel)}, " if panel else ""
        axes.set_title(style.plain(f"{where}{kind}"), fontsize="small", loc="left")
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
    rows[-1].set_xlabel("ports, the busiest first")
    made.supylabel("utilisation (%)", fontsize="medium")
    style.legend_below(made)
    return made


def grids(results: Sequence[Result]) -> list[Grid]:
    """The switches of runs on one network, in the order of the table."""
    found: dict[str, dict[str, list[tuple[str, float]]]] = {}
    for row in zip(*(_ports(run) for run in results), strict=True):
        switch, to, _ = row[0]
        kind = switch.rstrip("0123456789")
        ports = found.setdefault(kind, {}).setdefault(switch, [])
        ports.append((to, 100 * sum(used for _, _, used in row) / len(row)))
    return [
        Grid(
            kind,
            tuple(_names([[to for to, _ in ports] for ports in switches.values()])),
            {name: [used for _, used in ports] for name, ports in switches.items()},
        )
        for kind, switches in found.items()
    ]


def _names(ports: Sequence[Sequence[str]]) -> list[str]:
    """What each column is called, of switches' ports by where they lead."""
    longest = max(ports, key=len)
    seen: dict[str, int] = {}
    found = []
    for column, to in enumerate(longest):
        kind = to.rstrip("0123456789")
        place = seen[kind] = seen.get(kind, -1) + 1
        same = {row[column] for row in ports if column < len(row)} == {to}
        found.append(to if same else f"{kind} #{place}")
    return found


def _ports(run: Result) -> list[tuple[str, str, float]]:
    """Switch, what the port leads to, and how busy it was; by its number in results of before."""
    told = "to" if "to" in run.counters.columns else "port"
    names = run.counters.select("port", told=told, utilisation="utilisation").rows()
    return [
        (m[1], to.rpartition(":")[2], used)
        for name, to, used in names
        if (m := re.fullmatch(r"(\w+):\d+", name))
    ]
