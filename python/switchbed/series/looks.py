"""How a scheme looks: the same colour, marker and dashes in every figure. They differ in grey and
for readers who confuse red and green."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from switchbed import comparing
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
"""Styles for names that are not in the list."""


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
