"""Small flows' tail against large flows' average: a picture a condition, a panel a fabric and
workload."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed.plots import style
from switchbed.stats import Interval
from switchbed_papers.fabrics.cells import Cell
from switchbed_papers.fabrics.front import LARGE, SMALL, Standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN, HEIGHT_IN = 5.8, 4.6
"""Width and height of a panel, in inches."""
NAME_PT = 6.5
Point = tuple[float, float]
Box = tuple[float, float, float, float]


def draw(found: Mapping[Cell, Standing], title: str, file: Path) -> None:
    """Draws the cells of a condition."""
    columns = min(2, len(found))
    rows = -(-len(found) // columns)
    made = style.figure(WIDTH_IN * columns, HEIGHT_IN * rows + 1, title)
    panels = made.subplots(rows, columns, squeeze=False).flat
    for axes, (cell, standing) in zip(panels, found.items(), strict=False):
        axes.set_title(cell.where, fontsize="medium")
        _panel(axes, standing)
    for axes in list(panels)[len(found) :]:
        axes.remove()
    style.legend_below(made, columns=7)
    made.savefig(file, metadata={"Software": None})


def _panel(axes: "Axes", standing: Standing) -> None:
    base = standing.labels[0]
    looks = style.of(standing.schemes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    points = {}
    for label in standing.labels:
        x, y = (standing.against(label, base, column).ratio for column in (LARGE, SMALL))
        points[label] = (x.estimate, y.estimate)
        front, kept = label in standing.front, label in standing.unbeaten
        axes.errorbar(
            [x.estimate],
            [y.estimate],
            xerr=_reach(x) if kept else None,
            yerr=_reach(y) if kept else None,
            color=looks[label].colour,
            marker=looks[label].marker,
            markerfacecolor=looks[label].colour if kept else "white",
            markerfacecoloralt="white",
            fillstyle="full" if front or not kept else "left",
            markersize=7 if front else 6 if kept else 4,
            linestyle="none",
            elinewidth=0.7 if front else 0.3,
            zorder=3 if front else 2,
            label=label,
        )
    _zoom(axes, points.values())
    steps = [points[label] for label in standing.front]
    axes.step(*zip(*steps, strict=True), where="post", color=style.BLACK, linewidth=1, zorder=2.5)
    named = [*standing.front, *(label for label in points if label not in standing.front)]
    for label, offset in _places(axes, points, named).items():
        axes.annotate(
            label,
            points[label],
            offset,
            textcoords="offset points",
            fontsize=NAME_PT,
            color=style.BLACK if label in standing.front else style.GREY,
            zorder=4,
        )
    _scales(axes)
    large, small = (standing.mean(base, column) / 1000 for column in (LARGE, SMALL))
    axes.set_xlabel(f"large flows' average FCT over {base}'s {large:.3g} ms", fontsize="small")
    axes.set_ylabel(f"small flows' p99 over {base}'s {small:.3g} ms", fontsize="small")


def _reach(found: Interval) -> list[list[float]] | None:
    """How far its error bar goes to either side."""
    if found.low is None or found.high is None:
        return None
    return [[found.estimate - found.low], [found.high - found.estimate]]


def _zoom(axes: "Axes", points: Iterable[Point]) -> None:
    """The points and a margin; bars may leave the panel."""
    xs, ys = zip(*points, strict=True)
    for ends, values in ((axes.set_xlim, xs), (axes.set_ylim, ys)):
        margin = 1.02 * (max(values) / min(values)) ** 0.08
        ends(min(values) / margin, max(values) * margin)


def _places(axes: "Axes", points: Mapping[str, Point], named: Iterable[str]) -> dict[str, Point]:
    """Offsets of names from their points, each where it covers least of what is there."""

    def at(point: Point) -> Point:
        inside = axes.transScale.transform(point)
        (left, low), (right, high) = axes.transScale.transform(
            list(zip(axes.get_xlim(), axes.get_ylim(), strict=True))
        )
        return (
            (inside[0] - left) / (right - left) * WIDTH_IN * 60,
            (inside[1] - low) / (high - low) * HEIGHT_IN * 60,
        )

    panel = (0.0, 0.0, WIDTH_IN * 60, HEIGHT_IN * 60)
    taken: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in map(at, points.values())]
    found: dict[str, Point] = {}
    for label in named:
        x, y = at(points[label])
        wide = 0.62 * NAME_PT * len(label)
        offsets: list[Point] = [(5, -2), (-5 - wide, -2), (-wide / 2, 6), (-wide / 2, -11)]
        offsets += [(5, 6), (5, -11), (-5 - wide, 6), (-5 - wide, -11), (9, 13), (9, -18)]
        boxes = {(dx, dy): (x + dx, y + dy, x + dx + wide, y + dy + NAME_PT) for dx, dy in offsets}

        def cost(offset: Point, boxes: dict[Point, Box] = boxes) -> float:
            box = boxes[offset]
            outside = _shared(box, box) - _shared(box, panel)
            return outside + sum(_shared(box, other) for other in taken)

        found[label] = min(boxes, key=cost)
        taken.append(boxes[found[label]])
    return found


def _shared(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0) * max(high, 0)


def _scales(axes: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 1.2, 1.5, 2, 3, 5, 7)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
