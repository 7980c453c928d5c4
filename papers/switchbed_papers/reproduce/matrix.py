"""Results of a joint search as tables: which claims come out together, and on which open settings
they depend."""

from collections.abc import Iterator, Mapping, Sequence

from switchbed_papers.reproduce.search import Search

OUT, NOT, NONE = "✓", "·", "–"


def line(cells: Sequence[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def head(cells: Sequence[str]) -> str:
    """The first two lines of one."""
    return f"{line(cells)}\n{line(['---'] * len(cells))}"


def tables(of: Search) -> Iterator[str]:
    """How much the joint set-up rests on, and what pulls apart."""
    if not of.searched:
        yield "The joint search has not run: open settings have their literal values.\n"
        return
    choice = of.choice
    yield (
        f"{len(of.open)} settings have a grid, and its {choice.points} points were tried on "
        f"{choice.claims} claims. At the joint set-up {choice.out} claims come out together. "
        f"{choice.ties} other points have as many, {choice.near} have one fewer. Verdicts "
        "below are of runs at full scale and need intervals: not all that comes out is "
        "reproduced.\n"
    )
    if choice.more:
        yield (
            f"At {choice.more} points more claims come out than at the joint set-up: claims have "
            "changed since it was chosen. `switchbed reproduce search` chooses anew; rows would "
            "have to follow.\n"
        )
    if of.later:
        later = ", ".join(map(_code, of.later))
        yield f"Came after the search, and are not counted: {later}.\n"
    if of.missing:
        yield f"Not searched yet: {', '.join(of.missing)}.\n"
    differing = [claim for claim in of.claims if depends(of, claim)]
    for heading, out in (("everywhere", True), ("nowhere", False)):
        same = [
            _code(claim)
            for claim in of.claims
            if claim not in differing and of.comes_out(claim, choice.point) == out
        ]
        if same:
            yield f"Come out {heading}, and stand in neither table: {', '.join(same)}.\n"
    if not differing:
        return
    yield from _settings(of, differing)
    yield from _points(of, differing)


def depends(of: Search, claim: str) -> bool:
    """Whether it comes out at some points of its grid and not at others."""
    points = of.searched[of.paper.claims[claim].experiment].points
    return len({of.comes_out(claim, point.at) for point in points}) > 1


def _settings(of: Search, claims: Sequence[str]) -> Iterator[str]:
    yield "<details><summary>Settings × claims: one open setting changed at a time</summary>\n"
    along = {claim: of.along(claim) for claim in claims}
    everywhere = len({tuple(found) for found in along.values()}) == 1
    none = "" if everywhere else f", {NONE} is not concerned"
    yield (
        "The other settings are as in the joint set-up, whose values are bold. "
        f"{OUT} comes out, {NOT} does not{none}.\n"
    )
    yield head(["setting", "value", *map(_code, claims)])
    for setting in of.open:
        for value in setting.grid:
            key = (setting.name, value)
            if not any(key in found for found in along.values()):
                continue
            at = {**of.choice.point, setting.name: value}
            marks = [_mark(of, claim, at) if key in along[claim] else NONE for claim in claims]
            shown = f"**{value}**" if of.choice.point[setting.name] == value else value
            yield line([setting.name.replace("_", " "), shown, *marks])
    yield "\n</details>\n"


def _points(of: Search, claims: Sequence[str]) -> Iterator[str]:
    yield "<details><summary>Points × claims: which points bring out what</summary>\n"
    yield (
        "The joint set-up, the literal one, and further points, until every claim that comes out "
        "at any point does so in a row. Many rows mean that claims pull apart. The last column "
        "counts all claims, those that come out everywhere too.\n"
    )
    yield head(["point", *map(_code, claims), "in all"])
    for index, point in enumerate(of.apart()):
        marks = [_mark(of, claim, point) for claim in claims]
        name = "joint" if index == 0 else _named(of, point)
        yield line([name, *marks, str(len(of.out(point)))])
    yield "\n</details>\n"


def _code(claim: str) -> str:
    return f"`{claim.partition('.')[2]}`"


def _mark(of: Search, claim: str, point: Mapping[str, str]) -> str:
    return OUT if of.comes_out(claim, point) else NOT


def _named(of: Search, point: Mapping[str, str]) -> str:
    """A point by what differs from the joint one."""
    joint = of.choice.point
    if point == of.literal():
        return "literal"
    return "; ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in point.items() if joint[name] != value
    )


def of_claim(of: Search, claim: str) -> list[str]:
    """A claim's values along each open setting, for the terminal."""
    if claim not in of.claims:
        return []
    experiment = of.paper.claims[claim].experiment
    points = of.searched[experiment].points
    out = sum(of.comes_out(claim, point.at) for point in points)
    found = [
        f"search: comes out at {out} of {len(points)} points of its grid; one setting changed:"
    ]
    for (name, value), measured in of.along(claim).items():
        joint = " (joint)" if of.choice.point[name] == value else ""
        mark = OUT if of.comes_out(claim, {**of.choice.point, name: value}) else NOT
        number = "nothing" if measured is None else f"{measured:.4g}"
        found.append(f"  {mark} {name.replace('_', ' ')} {value}{joint}: {number}")
    return found
