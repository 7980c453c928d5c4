"""Flows over time, as their senders see them: a panel a quantity, a line a flow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.plots.style import MOST
from switchbed.series import flows
from switchbed.series.comparison import unit_of
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(
    drawn: Sequence[Line],
    quantities: Sequence[str],
    rows: Sequence[int],
    window_ms: tuple[float, float] | None,
    title: str,
) -> "Figure":
    """Of one run. Without `rows` its first flows, as many as have colours of their own."""
    found = [run for line in drawn for run in line.runs]
    if len(found) > 1:
        raise Mistake(f"{len(found)} runs are too many: give one, or --only scheme=NAME")
    sampled = flows.rows(found[0])
    if missing := [row for row in rows if row not in sampled]:
        few = ", ".join(map(str, sampled[:MOST]))
        raise Mistake(f"--flow {missing[0]}: was not sampled in {found[0]}; flows are {few}")
    chosen = list(rows) or sampled[:MOST]
    made, panels = style.over_time(len(quantities), title, flows.TIME, "", sharey=False)
    for axes, quantity in zip(panels, quantities, strict=True):
        shown = flows.of(found[0], quantity, chosen, window_ms)
        most = max((value for each in shown for value in each.values if value), default=0.0)
        title, size = unit_of(flows.axis(quantity), most)
        for each in shown:
            look = style.numbered(chosen.index(each.row))
            values = [None if value is None else value / size for value in each.values]
            style.line(axes, each.times_ms, values, look, each.name, 1)
        if not shown:
            axes.text(0.5, 0.5, "no such samples", ha="center", transform=axes.transAxes)
        axes.set_ylabel(title, fontsize="small")
        axes.set_ylim(bottom=0)
    style.legend_below(made, 6, style.of_seeds(found))
    return made
