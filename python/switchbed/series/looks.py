"""How a scheme looks: the same colour, marker and dashes in every figure. They differ in grey and
for readers who confuse red and green."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from switchbed import comparing, library
from switchbed.runner import Outcome


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
"""Colours for values that are no schemes, such as classes: neighbours differ in lightness too."""
IN_TURN = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
"""Colours for few lines on white, the strongest first."""
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
PLAIN = tuple(map(Style, COLOURS, MARKERS, DASHES * 2))
"""Looks for what is no scheme."""

PALETTE = {
    "black": BLACK,
    "orange": ORANGE,
    "sky": SKY,
    "green": GREEN,
    "blue": BLUE,
    "vermilion": VERMILION,
    "purple": PURPLE,
    "grey": GREY,
    "yellow": YELLOW,
}


def _read() -> dict[str, Style]:
    """Reads the styles of schemes."""
    with (library.DATA / "looks.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["scheme"]: Style(PALETTE[row["colour"]], row["marker"], row["dashes"])
            for row in csv.DictReader(file)
        }


STYLES = _read()
"""Schemes that papers compare with each other differ in colour; others in dashes at least."""
OTHERS = (Style(GREEN, "P", "-."), Style(PURPLE, "*", ":"), Style(SKY, "p", "-"))
"""Styles for names that are not in the list."""


def own(scheme: str) -> Style:
    """A scheme's style, which depends on its name alone."""
    return STYLES.get(scheme, OTHERS[sum(scheme.encode()) % len(OTHERS)])


def of(labels: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """The style of each (label, scheme): the scheme's own; further variants of a scheme have its
    colour with other markers and dashes. A scheme alone has other colours too, as have the labels
    of a scheme without looks of its own, which may be several classes. What has the colour of
    another one drawn before it takes a free one."""
    found: dict[str, Style] = {}
    count: dict[str, int] = {}
    pairs = list(labels)
    keys = {label: (scheme, "" if scheme in STYLES else label) for label, scheme in pairs}
    chosen = _apart(keys.values())
    for label, scheme in pairs:
        if label not in found:
            found[label] = variant(chosen[keys[label]], count.get(scheme, 0))
            count[scheme] = count.get(scheme, 0) + 1
    if len({scheme for _, scheme in pairs}) == 1:
        style = next(iter(chosen.values()))
        turns = [style.colour, *(colour for colour in IN_TURN if colour != style.colour)]
        for place, (label, look) in enumerate(found.items()):
            found[label] = replace(look, colour=turns[place % len(turns)])
    return found


def _apart(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Style]:
    """The style of each scheme, or label of it, in colours that differ while there are some."""
    wanted = {key: own(key[0]) for key in keys}
    free = [colour for colour in IN_TURN if colour not in {s.colour for s in wanted.values()}]
    found: dict[tuple[str, str], Style] = {}
    for key, style in wanted.items():
        taken = any(style.colour == other.colour for other in found.values())
        found[key] = replace(style, colour=free.pop(0)) if taken and free else style
    return found


def plain_looks(labels: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """Looks of what are no schemes: colours in turn, and again in other dashes."""
    names = dict.fromkeys(label for label, _ in labels)
    turns = {name: divmod(place, len(PLAIN)) for place, name in enumerate(names)}
    return {name: variant(PLAIN[which], turn) for name, (turn, which) in turns.items()}


def numbered(number: int) -> Style:
    """The look of a class, by its number: neighbours differ in colour, marker and dashes."""
    return Style(*(each[number % len(each)] for each in (COLOURS, MARKERS, DASHES)))


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
