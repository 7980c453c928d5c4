"""How a scheme looks: the same colour, marker and dashes in every figure. They differ in grey and
for readers who confuse red and green."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import comparing
from switchbed._native import Mistake
from switchbed.runner import Outcome
from switchbed.terminal import clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Style:
    """How a scheme is drawn."""

    colour: str
    marker: str
    dashes: str


# Okabe and Ito's colours.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
YELLOW = "#F0E442"

COLOURS = (BLACK, ORANGE, BLUE, GREEN, VERMILION, SKY, PURPLE, GREY)
"""For what is no scheme, such as classes: neighbours differ in lightness too."""
IN_TURN = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
"""The same for few lines on white, the strongest first."""
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
PLAIN = tuple(map(Style, COLOURS, MARKERS, DASHES * 2))
"""Looks for what is no scheme."""

STYLES = {
    "none": Style(GREY, "x", ":"),
    "per-queue": Style(BLACK, "o", "-"),
    "per-queue-min": Style(ORANGE, "s", "--"),
    "per-port": Style(PURPLE, "D", "-."),
    "per-pool": Style(VERMILION, "d", ":"),
    "mq-ecn": Style(BLUE, "^", "-"),
    "red": Style(VERMILION, "P", "-."),
    "per-queue-dq": Style(SKY, "X", "-."),
    "cedm": Style(PURPLE, "h", "--"),
    "e-ecn": Style(GREEN, "v", "-"),
    "s-ecn": Style(ORANGE, "<", ":"),
    "tcn": Style(VERMILION, "s", ":"),
    "codel": Style(BLUE, "*", "--"),
    "fq-codel": Style(SKY, "*", "-"),
    "cobalt": Style(ORANGE, "*", "-."),
    "dualpi2": Style(GREEN, "P", ":"),
    "pmsb": Style(GREY, "d", "-."),
    "pie": Style(GREEN, "D", "--"),
    "ecn-sharp": Style(PURPLE, "d", "-"),
    "qcn": Style(BLACK, "H", "--"),
    "afd": Style(ORANGE, "v", ":"),
    "af-qcn": Style(BLUE, "P", "-"),
    "oq": Style(BLACK, "D", "-."),
    "hcf": Style(ORANGE, "X", "--"),
    "cq": Style(GREEN, "^", ":"),
    "cqrd": Style(VERMILION, "p", "-"),
    "cqrd-configured": Style(SKY, "o", "--"),
}
"""Schemes that papers compare with each other differ in colour; others in dashes at least."""
OTHERS = (Style(GREEN, "P", "-."), Style(PURPLE, "*", ":"), Style(SKY, "p", "-"))
"""For names that are not here."""


def own(scheme: str) -> Style:
    """A scheme's style, which depends on its name alone."""
    return STYLES.get(scheme, OTHERS[sum(scheme.encode()) % len(OTHERS)])


def of(labels: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """The style of each (label, scheme): the scheme's own; further variants of a scheme have its
    colour with other markers and dashes."""
    found: dict[str, Style] = {}
    count: dict[str, int] = {}
    for label, scheme in labels:
        if label not in found:
            found[label] = variant(own(scheme), count.get(scheme, 0))
            count[scheme] = count.get(scheme, 0) + 1
    return found


def plain_looks(labels: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """Looks of what are no schemes; of more than there are, the schemes' own."""
    every = list(labels)
    names = list(dict.fromkeys(label for label, _ in every))
    return of(every) if len(names) > len(PLAIN) else dict(zip(names, PLAIN, strict=False))


def variant(style: Style, number: int) -> Style:
    """The style's colour with other marker and dashes; number 0 is itself."""
    if number == 0:
        return style
    markers = [marker for marker in MARKERS if marker != style.marker]
    dashes = DASHES[(DASHES.index(style.dashes) + number) % len(DASHES)]
    return replace(style, marker=markers[(number - 1) % len(markers)], dashes=dashes)


def styles(outcomes: Sequence[Outcome]) -> dict[str, Style]:
    """The style of each label of a comparison."""
    named = ((comparing.label(run), run.scheme) for run in outcomes)
    return of((label, scheme) for label, scheme in named if label is not None)


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
    """Figures drawn within are so wide and high, such as `3.3in`, in a style of matplotlib's: a
    name that it knows or a file; `paper.mplstyle` where a width is given and no style."""
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


def figure(width: float, height: float, title: str) -> "Figure":
    """An empty figure; sizes in inches, unless `look` gives others."""
    from matplotlib.figure import Figure

    wide, high = _size.get()
    if wide is not None:
        width, height = wide, height * wide / width
    height = high or height
    made = Figure(figsize=(width, height), layout="constrained", dpi=150)
    if title:
        made.suptitle(plain(title), fontsize="medium")
    return made


def plain(text: str) -> str:
    """A text of others as matplotlib draws it as it is: it takes what stands in $ for formulas."""
    return "\n".join(map(clean, text.split("\n"))).replace("$", r"\$")


def legend_below(made: "Figure", columns: int = 4) -> None:
    """One legend for all panels."""
    columns = max(1, min(columns, round(made.get_figwidth() / 1.6)))
    found: dict[str, Any] = {}
    for axes in made.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        made.legend(
            list(found.values()),
            list(map(plain, found)),
            loc="outside lower center",
            ncols=min(columns, len(found)),
            frameon=False,
        )


def clock(last_s: float) -> tuple[float, str]:
    """What to multiply seconds by for an axis of time that ends there, and the unit."""
    return (1.0, "s") if last_s >= 1 else (1e3, "ms")
