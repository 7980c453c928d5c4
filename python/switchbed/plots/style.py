"""Figures of one look: their size, text and legend. How lines look is `series.looks`'s."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import stats
from switchbed._native import Mistake
from switchbed.series.looks import *  # noqa: F403  papers' pictures have these looks
from switchbed.series.looks import Style
from switchbed.terminal import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy import float64
    from numpy.typing import NDArray

    from switchbed.result import Result

PAPER = Path(__file__).with_name("paper.mplstyle")
NARROW = 4.5
"""Inches within which panels stand below each other."""
INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
_size: ContextVar[tuple[float | None, float | None]] = ContextVar("size", default=(None, None))


def inches(text: str, option: str = "--width") -> float:
    """A length such as `3.3in`, `84mm`, `240pt`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(in|cm|mm|pt)", text)
    if found is None or not 0.5 <= (length := float(found[1]) * INCHES[found[2]]) <= 40:
        raise Mistake(f"{option} {text}: must be a length of 0.5 to 40 in, such as 3.3in or 84mm")
    return length


@contextmanager
def look(
    width: str | None = None, height: str | None = None, style: str | Path | None = None
) -> Iterator[None]:
    """Draw the figures in this context at a size, or in a style of matplotlib's.

    Args:
        width: Width such as `3.3in` or `84mm`, 0.5 to 40 in.
        height: Height, likewise. Default: in proportion.
        style: Name that matplotlib knows, or a file. Default: `paper.mplstyle` where a width is
            given.

    Raises:
        Mistake: A length is out of range, or there is no such style.

    Example:
        >>> with sb.look(width="3.3in"):
        ...     run.plot.fct().savefig("fct.pdf")
    """
    size = (
        None if width is None else inches(width),
        None if height is None else inches(height, "--height"),
    )
    chosen = PAPER if style is None and width is not None else style
    token = _size.set(size)
    try:
        if chosen is None:
            yield
            return
        from matplotlib import style as theirs

        try:
            context = theirs.context(str(chosen))
            context.__enter__()
        except (OSError, ValueError) as error:
            why = "matplotlib knows no such style, and it is no file of one"
            raise Mistake(f"--style {chosen}: {why}") from error
        try:
            yield
        finally:
            context.__exit__(None, None, None)
    finally:
        _size.reset(token)


def across(panels: int) -> int:
    """How many panels stand beside each other, of at most so many."""
    width, _ = _size.get()
    return 1 if width is not None and width < NARROW else panels


def figure(width: float, height: float, title: str, least: float = 0) -> "Figure":
    """An empty figure; sizes in inches, unless `look` gives others: then as much lower as it is
    narrower, but not under `least`."""
    from matplotlib.figure import Figure

    wide, high = _size.get()
    if wide is not None:
        width, height = wide, max(least, height * wide / width)
    height = high or height
    made = Figure(figsize=(width, height), layout="constrained", dpi=150)
    if title:
        made.suptitle(plain(title), fontsize="medium")
    return made


def over_time(
    panels: int, title: str, x: str, y: str, *, sharex: bool = True, sharey: bool = True
) -> "tuple[Figure, list[Axes]]":
    """A figure with panels below each other that share their axes."""
    # Of a narrow figure the legend and labels are as high as of a wide one.
    made = figure(9, 1.2 + 2 * panels, title, least=1.4 + panels)
    rows = list(made.subplots(panels, 1, sharex=sharex, sharey=sharey, squeeze=False)[:, 0])
    for axes in rows:
        axes.grid(alpha=0.3)
        axes.margins(x=0)
    rows[-1].set_xlabel(x)
    made.supylabel(y, fontsize="medium")
    return made, rows


MOST = 8
"""Greatest number of panels in one figure."""
MOST_IN_GRID = 16
"""Greatest number of panels in a grid."""


def fits(panels: int, most: int = MOST) -> None:
    """Refuses more panels than a figure has room for."""
    if panels > most:
        raise Mistake(f"{panels} panels are too many: at most {most}; choose by --only")


def line(
    axes: "Axes",
    xs: Sequence[float],
    ys: Iterable[float | None],
    look: Style,
    label: str,
    width: float | None = None,
    every: int = 0,
) -> "Line2D":
    """Draws a line, with a marker on one of `every` so many points, if any."""
    marked = {"marker": look.marker, "markersize": 4, "markevery": every} if every else {}
    drawn: dict[str, Any] = {"color": look.colour, "linestyle": look.dashes, **marked}
    (made,) = axes.plot(xs, gaps(ys), linewidth=width, label=label, **drawn)
    return made


CUT = "cut"
"""Name of the triangles at intervals that leave the axis."""


def cut(axes: "Axes") -> bool:
    """Puts a triangle where an interval leaves the axis, in place of those that were there before;
    returns whether any does."""
    for old in [line for line in axes.get_lines() if line.get_gid() == CUT]:
        old.remove()
    bottom, top = axes.get_ylim()
    found = False
    for line, _, bars in (of for of in axes.containers if of.__class__.__name__ == BARS):
        for (x, low), (_, high) in (ends for of in bars for ends in of.get_segments()):
            for left, edge, marker in ((low < bottom, bottom, "v"), (high > top, top, "^")):
                if left:
                    found = True
                    drawn: dict[str, Any] = {"color": line.get_color(), "marker": marker}
                    drawn |= {"transform": line.get_transform(), "clip_on": False, "gid": CUT}
                    axes.plot([x], [edge], linestyle="none", markersize=5, label="_cut", **drawn)
    return found


BARS = "ErrorbarContainer"
"""Type of a curve with intervals, which is not imported before a figure is drawn."""


def gaps(values: Iterable[float | None]) -> "NDArray[float64]":
    """Values as they are drawn: not where there is none."""
    import numpy as np

    return np.array(list(values), dtype=float)


def plain(text: str) -> str:
    """A text of others as matplotlib draws it as it is: it takes what stands in $ for formulas."""
    return "\n".join(map(clean, text.split("\n"))).replace("$", r"\$")


ROW = 0.24
"""Height of a legend's row in inches."""
LETTER = 0.07
"""Width of a letter of a note in inches."""


def counted(seeds: Iterable[int]) -> str:
    """Numbers of seeds behind a figure's points: `5 seeds`, `3 to 5 seeds`."""
    known = set(seeds) or {1}
    low, high = min(known), max(known)
    return stats.seeds(high) if low == high else f"{low} to {stats.seeds(high)}"


def means(
    seeds: Iterable[int],
    mean: str = "mean",
    drawn: str = "bars",
    *,
    hollow: bool = False,
    cut: bool = False,
) -> str:
    """A note on estimates: `mean of 5 seeds; bars: 95 % interval`, which does not break there."""
    known = list(seeds)
    if max(known, default=1) == 1:
        return "one seed, so no intervals"
    note = f"{mean} of {counted(known)}; {drawn}: {100 * stats.LEVEL:g}\xa0% interval"
    note += "; triangles at the edge: it goes on" if cut else ""
    return note + (f"; hollow: {stats.FEW} for one" if hollow else "")


def averaged(seeds: Iterable[int]) -> str:
    """A note on means without intervals: `mean of 5 seeds`."""
    known = list(seeds)
    return f"mean of {counted(known)}" if max(known, default=1) > 1 else "one seed"


def of_seeds(runs: Iterable["Result"]) -> str:
    """A note on figures of single runs: `seed 1`."""
    seeds = sorted({run.seed for run in runs})
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def _wrapped(note: str, made: "Figure") -> str:
    return "\n".join(textwrap.wrap(note, max(20, int(made.get_figwidth() / LETTER))))


def footnote(made: "Figure", note: str) -> None:
    """A note below a figure without a legend of its own."""
    made.supxlabel(plain(_wrapped(note, made)), fontsize="small")


def legend_below(made: "Figure", columns: int = 4, note: str = "") -> None:
    """One legend for all panels, as wide as the figure at most, under the note."""
    found: dict[str, Any] = {}
    for axes in made.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        # Inches of the line with its gaps, and of a letter.
        widest = 0.65 + 0.085 * max(len(plain(label)) for label in found)
        wide = made.get_figwidth()
        columns = max(1, min(columns, round(wide / 1.6), int(wide / widest)))
        # A long legend takes its height from below, and not from the panels.
        rows = -(-len(found) // columns)
        note = _wrapped(note, made)
        rows += note.count("\n") + 1 if note else 0
        if _size.get()[1] is None:
            made.set_figheight(made.get_figheight() + ROW * max(0, rows - 2))
        made.legend(
            list(found.values()),
            list(map(plain, found)),
            loc="outside lower center",
            ncols=min(columns, len(found)),
            frameon=False,
            title=plain(note) or None,
            title_fontsize="small",
        )
