"""Why a claim is not reproduced, and the class that it has for it.

| cause | shown by |
| --- | --- |
| contradicts itself | `causes.toml`: places of statements that no set-up satisfies together |
| open | the joint search: with what is left open, it does not come out at the joint set-up |
| unknown | neither |
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from switchbed._native import Mistake
from switchbed_papers.reproduce import places
from switchbed_papers.reproduce.claims import Claim
from switchbed_papers.reproduce.findings import Finding
from switchbed_papers.reproduce.search import Search
from switchbed_papers.reproduce.verdict import Target

Kind = Literal["contradicts itself", "open", "unknown"]
Class = Literal[
    "reproduced", "in direction", "contradicts itself", "open", "unknown", "not testable"
]
ROUNDING = 1e-9
CLASSES: tuple[Class, ...] = get_args(Class)
"""In the order of the page's first table."""


@dataclass(frozen=True)
class Cause:
    """Why one claim is not reproduced."""

    kind: Kind
    says: str = ""
    places: tuple[str, ...] = ()

    def in_words(self) -> str:
        """In a sentence or two."""
        at = f" ({'; '.join(self.places)})" if self.places else ""
        return f"{self.kind}{at}. {self.says}".strip()

    def as_json(self) -> dict[str, Any]:
        """Return the object that `list --json` writes."""
        return {key: value for key, value in asdict(self).items() if value}


def contradictions(folder: Path) -> dict[str, Cause]:
    """Return the contradictions of a paper, by claim."""
    file = folder / "causes.toml"
    try:
        text = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{file}: is no TOML: {error}") from error
    return {claim: _contradiction(file, claim, values) for claim, values in text.items()}


def _contradiction(file: Path, claim: str, values: Mapping[str, Any]) -> Cause:
    if values.keys() != {"places", "says"}:
        raise Mistake(f"{file}: {claim}: needs places and says and no more")
    for each in values["places"]:
        if places.parse(each) is None:
            raise Mistake(
                f"{file}: {claim}: {each!r} is not a place such as 'II-C.3 ‹In order to›'"
            )
    return Cause("contradicts itself", values["says"], tuple(values["places"]))


def cause(claim: Claim, found: Mapping[str, Cause], search: Search) -> Cause:
    """Why a claim that is not reproduced is not."""
    if claim.id in found:
        return found[claim.id]
    experiment = search.paper.experiments[claim.experiment]
    searched = search.searched.get(claim.experiment)
    if not experiment.setup.open or searched is None:
        return Cause("unknown", "" if searched else "The joint search has not run it.")
    if search.comes_out(claim.id, search.choice.point):
        return Cause("unknown", "It comes out at the joint set-up in the search's reduced scale.")
    out = [one.at for one in searched.points if search.comes_out(claim.id, one.at)]
    of = f"{len(out)} of {len(searched.points)} points of the grid"
    if not out:
        return Cause("open", f"It comes out at none of {len(searched.points)} points of the grid.")
    return Cause("open", f"It comes out at {of}, where fewer claims come out together.")


def classify(claim: Claim, finding: Finding, why: Cause | None) -> Class:
    """The class of a claim."""
    if claim.untestable:
        return "not testable"
    if finding.verdict == "holds":
        return "reproduced"
    if finding.verdict == "direction" and within_two(claim.target, finding.measured):
        return "in direction"
    return why.kind if why else "unknown"


def within_two(target: Target, measured: float | None) -> bool:
    """Whether an effect is at least half of the paper's and at most twice it."""
    if measured is None or target.null is None:
        return False
    ends = sorted(abs(end - target.null) for end in (target.low, target.high))
    effect = abs(measured - target.null)
    return ends[0] / 2 - ROUNDING <= effect <= 2 * ends[1] + ROUNDING
