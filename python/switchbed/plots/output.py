"""Writing a figure: vector or pixels by the file's ending, the same bytes every time."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from switchbed import files
from switchbed._native import Mistake
from switchbed.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from switchbed.stats import Interval

METADATA: dict[str, dict[str, str | None]] = {
    "pdf": {"Creator": files.OURS, "CreationDate": None},
    "svg": {"Creator": files.OURS, "Date": None},
    "png": {"Software": files.OURS},
}
"""Without dates, and so that the next figure may replace it (`files.free`)."""


def check(path: Path) -> None:
    """Refuses what cannot be drawn or written, before anything is drawn."""
    if path.suffix[1:] not in METADATA:
        raise Mistake(
            f"--out {path}: has no format that can be drawn; end it with .pdf, .png or .svg"
        )
    if not path.parent.is_dir():
        raise Mistake(f"--out {path}: cannot be written: there is no directory {path.parent}")


COLUMNS = ("panel", "line", "x", "y", "low", "high", "seeds", "x_label", "y_label")
_SEEDS: "WeakKeyDictionary[Any, list[int]]" = WeakKeyDictionary()
"""Seeds behind each point of a line with intervals."""


def count(bars: "ErrorbarContainer", seeds: list[int]) -> None:
    """Keeps how many seeds are behind each of the points, for `data`."""
    _SEEDS[bars.lines[0]] = seeds


_BANDS: "WeakKeyDictionary[Any, list[Interval]]" = WeakKeyDictionary()
"""Intervals of each point of a line whose band shows them."""


def band(line: "Line2D", intervals: "list[Interval]") -> None:
    """Keeps the intervals of the points of a line, for `data`."""
    _BANDS[line] = intervals


def data(figure: "Figure", path: Path) -> None:
    """Writes what a figure shows as CSV: a row a point, with the ends of its interval and its
    seeds, if any, and the axes' labels, which have the units; of a map a row a cell, `line` being
    its row's name."""
    import csv

    # Panels beside or above each other share a label that only one of them shows.
    x_labels = [axes.get_xlabel() for axes in reversed(figure.axes)]
    y_labels = [figure.get_supylabel(), *(axes.get_ylabel() for axes in figure.axes)]
    x_label, y_label = (next(filter(None, of), "") for of in (x_labels, y_labels))

    with (
        files.whole(path, "--data") as draft,
        draft.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for axes in figure.axes:
            panel = axes.get_title("left") or axes.get_title()
            labels = (axes.get_xlabel() or x_label, axes.get_ylabel() or y_label)
            writer.writerows([panel, *row, *labels] for row in _rows(axes))


def _rows(axes: "Axes") -> "Iterator[tuple[Any, ...]]":
    """Name, x, y, low, high, seeds."""
    from matplotlib.container import ErrorbarContainer

    with_bars: set[Any] = set()
    names = _names(axes)
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None:
            line, _, bars = container.lines
            with_bars.add(line)
            ends = bars[0].get_segments() if bars else []
            counts = _SEEDS.get(line, [])
            for number, (x, y) in enumerate(_points(line)):
                low, high = ends[number][:, 1] if number < len(ends) else (y, y)
                bounds = (low, high) if low != high else ("", "")
                seeds = counts[number] if number < len(counts) else ""
                yield container.get_label(), names.get(x, x), y, *bounds, seeds
    for line in axes.get_lines():
        name = str(line.get_label())
        if line not in with_bars and not name.startswith("_"):
            known = _BANDS.get(line, [])
            for number, (x, y) in enumerate(_points(line)):
                of = known[number] if number < len(known) else None
                bounds = (of.low, of.high) if of else (None, None)
                yield name, x, y, *bounds, of.n if of else ""
    for image in axes.get_images():
        cells: Any = image.get_array()
        down = [label.get_text() for label in axes.get_yticklabels()]
        across = [label.get_text() for label in axes.get_xticklabels()]
        for row, values in enumerate(cells):
            for column, value in enumerate(values):
                name = down[row] if len(down) == len(cells) else str(row)
                x = across[column] if len(across) == len(values) else column
                yield name, x, value, "", "", ""


def _names(axes: "Axes") -> dict[float, str]:
    """The names along an x axis of what is no number, by their places."""
    from matplotlib.ticker import FuncFormatter

    # `set_xticks` with labels leaves a function; other formatters print numbers.
    if not isinstance(axes.xaxis.get_major_formatter(), FuncFormatter):
        return {}
    texts = (label.get_text() for label in axes.get_xticklabels())
    named = zip(axes.get_xticks(), texts, strict=True)
    return {place: name for place, name in named if not re.fullmatch(r"[-+.\de]*", name)}


def _points(line: Any) -> list[tuple[Any, Any]]:
    """A line's, as they were given."""
    xs, ys = line.get_data(orig=True)
    return list(zip(xs, ys, strict=True))


def logarithmic(figure: "Figure", axes_of: str) -> None:
    """Makes the axes named, of `x` and `y`, logarithmic in all panels that have lines."""
    for axes in figure.axes:
        if not axes.get_lines():
            continue
        if "x" in axes_of:
            ticks = axes.get_xticks()
            axes.set_xscale("log")
            if len(ticks) <= 8 and all(tick > 0 for tick in ticks):
                axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
                axes.minorticks_off()
        if "y" in axes_of:
            low, high = axes.get_ylim()
            lines = [line for line in axes.get_lines() if line.get_gid() != style.CUT]
            seen = [y for line in lines for _, y in _points(line) if y > 0]
            axes.set_yscale("log")
            # Intervals of few seeds reach to zero and below, where there is no place.
            low = max(low, 0.7 * min(seen, default=high))
            axes.set_ylim(low, high)
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("{x:g}" if high < 10 * low else "")
            style.cut(axes)


def save(figure: "Figure", path: Path) -> None:
    """Write the figure in the format of its suffix."""
    import matplotlib as mpl

    check(path)
    # Text in a PDF as text; what an SVG calls its parts does not change from run to run.
    with (
        mpl.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "switchbed"}),
        files.whole(path, "--out") as draft,
    ):
        figure.savefig(draft, metadata=METADATA[path.suffix[1:]])
