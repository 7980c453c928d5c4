"""The joint search: a paper's experiments at reduced scale over the whole grid of its open
settings. The point at which most claims come out together is the paper's joint set-up.

`search.json` keeps of each paper what every point gave of every claim, and the point chosen.
A claim comes out at a point if its estimate is within its tolerance: two or three seeds leave
intervals too wide for verdicts, which follow from runs at full scale (`verdict.py`). Tables show
which claims come out together, and on which open settings they depend.
"""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from switchbed import _native
from switchbed.runner import Meter
from switchbed.store import Store
from switchbed.terminal import say
from switchbed_papers import tree
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce import measures
from switchbed_papers.reproduce.claims import Claim, Experiment, Paper
from switchbed_papers.reproduce.experiment import Job
from switchbed_papers.reproduce.rows import NotRun, Rows
from switchbed_papers.reproduce.setup import CHOSEN, JOINT, Open, Point, searches


@dataclass(frozen=True)
class Tried:
    """One point of an experiment's grid."""

    at: Point
    claims: Mapping[str, float | None]
    """Value of each claim; none where nothing was measured."""


@dataclass(frozen=True)
class Searched:
    """An experiment over its grid."""

    experiment: str
    seeds: int
    core_s: float
    build: str
    points: tuple[Tried, ...]


@dataclass(frozen=True)
class Choice:
    """The joint set-up, and how far the evidence carries it."""

    point: Point
    out: int
    """Claims that come out there together."""
    claims: int
    """Number of claims that were counted."""
    points: int
    """Points of the whole grid."""
    ties: int
    """Other points at which as many come out."""
    near: int
    """Points at which one fewer comes out."""
    more: int = 0
    """Points at which more come out, because claims have changed since the choice."""


@dataclass(frozen=True)
class Search:
    """Results on a paper's grid."""

    paper: Paper
    searched: Mapping[str, Searched]
    kept: Point | None = None
    """The point that was chosen, whose rows are committed; none before a choice."""

    @cached_property
    def open(self) -> tuple[Open, ...]:
        """The paper's open settings, those of experiments that were not searched too."""
        found = {
            each.name: each
            for experiment in self.paper.experiments.values()
            for each in experiment.setup.open
        }
        return tuple(found.values())

    @cached_property
    def claims(self) -> tuple[str, ...]:
        """The claims that were measured at some point."""
        # All points of an experiment have the same claims.
        of = (one.points[0].claims for one in self.searched.values())
        return tuple(claim for claims in of for claim in claims)

    @property
    def later(self) -> list[str]:
        """Claims of searched experiments that came after the search."""
        known = set(self.claims)
        return [
            claim.id
            for claim in self.paper.claims.values()
            if claim.experiment in self.searched and claim.id not in known
        ]

    @cached_property
    def _at(self) -> dict[str, dict[tuple[tuple[str, str], ...], Tried]]:
        return {
            name: {tuple(sorted(one.at.items())): one for one in each.points}
            for name, each in self.searched.items()
        }

    @property
    def missing(self) -> list[str]:
        """Experiments with open settings that have not been searched."""
        known = self.paper.experiments
        return [name for name, of in known.items() if of.setup.open and name not in self.searched]

    def measured(self, claim: str, point: Point) -> float | None:
        """Value of a claim at a point of the whole grid."""
        experiment = self.paper.claims[claim].experiment
        own = {one.name for one in self.paper.experiments[experiment].setup.open}
        # An experiment was run only over the settings that concern it.
        at = tuple(sorted((name, value) for name, value in point.items() if name in own))
        found = self._at[experiment].get(at)
        return found.claims.get(claim) if found else None

    def comes_out(self, claim: str, point: Point) -> bool:
        """Whether it is within its tolerance there."""
        value = self.measured(claim, point)
        return value is not None and self.paper.claims[claim].target.within(value)

    def out(self, point: Point) -> frozenset[str]:
        """The claims that come out at a point together."""
        return frozenset(claim for claim in self.claims if self.comes_out(claim, point))

    def points(self) -> Iterator[dict[str, str]]:
        """The whole grid. Settings of no searched experiment stay literal."""
        concerned = {
            each.name for name in self.searched for each in self.paper.experiments[name].setup.open
        }
        values = [
            # A setting that no search has varied would multiply the grid for nothing.
            list(each.grid) if each.name in concerned else [each.literal]
            for each in self.open
        ]
        for chosen in itertools.product(*values):
            yield {each.name: value for each, value in zip(self.open, chosen, strict=True)}

    @cached_property
    def _outs(self) -> list[tuple[dict[str, str], frozenset[str]]]:
        """Every point with what comes out there: a page asks for them claim by claim."""
        return [(point, self.out(point)) for point in self.points()]

    def together(self, claim: str) -> int:
        """The most claims that come out at a point where this one does."""
        return max((len(out) for _, out in self._outs if claim in out), default=0)

    def literal(self) -> dict[str, str]:
        """The point of the paper's letter."""
        return {each.name: each.literal for each in self.open}

    @cached_property
    def choice(self) -> Choice:
        """The joint set-up: the one that was chosen; else most claims together, then the fewest
        settings that are not literal, then the order of the grid."""
        literal = self.literal()
        scores = [(len(out), point) for point, out in self._outs]
        most = max(score for score, _ in scores)

        def off(point: Point) -> int:
            return sum(point[name] != value for name, value in literal.items())

        # `min` takes the first of equals, which is the order of the grid.
        best = self.kept or min((point for score, point in scores if score == most), key=off)
        out = len(self.out(best))
        return Choice(
            point=best,
            out=out,
            claims=len(self.claims),
            points=len(scores),
            ties=sum(score == out for score, _ in scores) - 1,
            near=sum(score == out - 1 for score, _ in scores),
            more=sum(score > out for score, _ in scores),
        )

    def along(self, claim: str) -> dict[tuple[str, str], float | None]:
        """Values of a claim where one open setting of its experiment is changed at a time, the
        others being as the joint set-up has them: by setting and value."""
        experiment = self.paper.experiments[self.paper.claims[claim].experiment]
        at = self.choice.point
        return {
            (each.name, value): self.measured(claim, {**at, each.name: value})
            for each in experiment.setup.open
            for value in each.grid
        }

    def apart(self) -> list[dict[str, str]]:
        """The joint set-up, the literal one, and the fewest further points (found greedily) at one
        of which each claim comes out that comes out anywhere: where these are many, claims pull
        apart."""
        rows = [dict(self.choice.point)]
        # The two may be one point.
        if self.literal() != rows[0]:
            rows.append(self.literal())
        left = set(self.claims).difference(*map(self.out, rows))
        points = list(self.points())
        while left:
            best = max(
                points, key=lambda point: (len(left & self.out(point)), len(self.out(point)))
            )
            # The claims that are left come out nowhere.
            if not left & self.out(best):
                break
            rows.append(best)
            left -= self.out(best)
        return rows


def grid(experiment: Experiment) -> list[dict[str, str]]:
    """The points that concern an experiment."""
    names = [each.name for each in experiment.setup.open]
    values = itertools.product(*(each.grid for each in experiment.setup.open))
    return [dict(zip(names, point, strict=True)) for point in values]


def jobs(paper: Paper, experiment: Experiment) -> list[tuple[dict[str, str], list[Job]]]:
    """The runs of an experiment at each point of its grid."""
    return [
        (at, experiments.jobs(paper, experiment, experiment.search, 1, JOINT, at))
        for at in grid(experiment)
    ]


def run(paper: Paper, experiment: Experiment, store: Store, progress_bar: Meter) -> Searched:
    """Runs an experiment over its grid; what has run is not run again."""
    by_point = jobs(paper, experiment)
    needed = [job for _, of in by_point for job in of]
    experiments.run(paper, experiment, needed, store, progress_bar)
    claims = [
        # The search needs the claim's own value alone.
        replace(each, measure={**each.measure, "also": ()})
        for each in paper.claims.values()
        if each.experiment == experiment.id
    ]
    points = []
    for at, of in by_point:
        rows = experiments.rows(of, store)
        found = {each.id: _estimate(paper, each, rows) for each in claims}
        # JSON has no infinity: a value that is none is null.
        points.append(Tried(at, {k: v if math.isfinite(v) else None for k, v in found.items()}))
    core_s = sum(row.core_s for row in experiments.rows(needed, store))
    seeds = experiment.search.seeds
    return Searched(experiment.id, seeds, round(core_s, 1), _native.__build__, tuple(points))


def _estimate(paper: Paper, claim: Claim, rows: Rows) -> float:
    """A claim's value; none where the search leaves out what it is about."""
    try:
        return measures.measure(paper, claim, rows).estimate
    except NotRun:
        return math.nan


def read(paper: Paper) -> Search:
    """Committed results of a paper's search. Experiments whose grid has changed since are left out,
    and so are claims that are gone or have moved to another experiment."""
    kept = searches(paper.folder).get(paper.folder.name)
    if kept is None:
        return Search(paper, {})
    found = {}
    for name, of in kept["experiments"].items():
        experiment = paper.experiments.get(name)
        if experiment is None:
            continue
        claims = {each.id for each in paper.claims.values() if each.experiment == name}
        points = tuple(
            Tried(at, {claim: value for claim, value in given.items() if claim in claims})
            for at, given in of.pop("points")
        )
        # Results of another grid would name points that are not tried now.
        if [point.at for point in points] == grid(experiment):
            found[name] = Searched(name, points=points, **of)
    chosen = kept["joint"]
    opened = {each.name: each.grid for e in paper.experiments.values() for each in e.setup.open}
    known = chosen.keys() == opened.keys() and all(
        chosen[name] in of for name, of in opened.items()
    )
    return Search(paper, found, chosen if found and known else None)


def write(search: Search) -> None:
    """Keeps a search beside those of other papers."""
    folder = search.paper.folder
    of = {
        name: {
            "seeds": one.seeds,
            "core_s": one.core_s,
            "build": one.build,
            "points": [[point.at, _rounded(point.claims)] for point in one.points],
        }
        for name, one in sorted(search.searched.items())
    }
    kept = {**searches(folder), folder.name: {"joint": search.choice.point, "experiments": of}}
    text = ",\n".join(f"{_line(name)}: {_text(each)}" for name, each in sorted(kept.items()))
    file = folder.with_name(CHOSEN)
    part = file.with_name(f"{CHOSEN}.part")
    part.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    part.replace(file)


def _text(kept: Mapping[str, Any]) -> str:
    """A paper's search: a line a point."""
    parts = []
    for name, of in kept["experiments"].items():
        head = _line({key: value for key, value in of.items() if key != "points"})[:-1]
        points = ",\n".join(f"   {_line(point)}" for point in of["points"])
        parts.append(f'  {_line(name)}: {head}, "points": [\n{points}\n  ]}}')
    experiments = ",\n".join(parts)
    return f'{{\n "joint": {_line(kept["joint"])},\n "experiments": {{\n{experiments}\n }}\n}}'


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def keep(search: Search) -> None:
    """Keeps a search in the source tree and says where; an installed package stays as it is."""
    if tree.PROJECT.is_file():
        write(search)
        say(f"written to {search.paper.folder.with_name(CHOSEN)}", err=True)
    else:
        say("not kept: only the source tree has the committed results", err=True)


def _rounded(claims: Mapping[str, float | None]) -> dict[str, float | None]:
    # Four digits keep the committed file from changing with the last bits.
    return {name: None if of is None else float(f"{of:.4g}") for name, of in claims.items()}


def summary(search: Search) -> str:
    """Format the findings in lines."""
    of = search.choice
    missing = search.missing
    lines = [
        f"{search.paper.name}: {of.out} of {of.claims} claims come out together at the joint "
        f"set-up; {len(search.open)} settings open, {of.points} points, {of.ties} as good, "
        f"{of.near} with one claim fewer",
        *(f"  {name}: {value}" for name, value in of.point.items()),
    ]
    if missing:
        lines.append(f"  not searched: {', '.join(missing)}")
    return "\n".join(lines)


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
