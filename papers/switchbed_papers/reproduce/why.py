"""Why a claim is not reproduced, and the class that it has for it.

| cause | shown by |
| --- | --- |
| contradicts itself | `claims.toml`: places of statements that no set-up satisfies together |
| open | the joint search: the claim comes out at some points of the grid, not at the joint set-up |
| unknown | neither: no open setting that was tried gives the claim, or more seeds are needed |
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

Kind = Literal["contradicts itself", "open", "unknown"]
Class = Literal[
    "reproduced", "in direction", "contradicts itself", "open", "unknown", "not testable"
]
CLASSES: tuple[Class, ...] = get_args(Class)
COLUMNS = (
    "reproduced",
    "in direction",
    "not reproduced: contradicts itself",
    "not reproduced: open",
    "not reproduced: unknown",
    "undecided",
    "not testable",
)
"""Of the page's first table, in order: `in_words` of all claims."""


@dataclass(frozen=True)
class Cause:
    """Why one claim is not reproduced."""

    kind: Kind
    says: str = ""
    places: tuple[str, ...] = ()

    def in_words(self) -> str:
        """In a sentence or two."""
        at = f" ({'; '.join(self.places)})" if self.places else ""
        return f"Cause: {self.kind}{at}. {self.says}".strip()

    def as_json(self) -> dict[str, Any]:
        """Return the object that `list --json` writes."""
        return {key: value for key, value in asdict(self).items() if value}


def contradictions(folder: Path) -> dict[str, Cause]:
    """Return the contradictions of a paper, by claim."""
    file = folder / "claims.toml"
    try:
        text = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{file}: is no TOML: {error}") from error
    found = text.get("contradiction", {})
    return {claim: _contradiction(file, claim, values) for claim, values in found.items()}


def _contradiction(file: Path, claim: str, values: Mapping[str, Any]) -> Cause:
    if values.keys() != {"places", "says"}:
        raise Mistake(f"{file}: {claim}: needs places and says and no more")
    for each in values["places"]:
        if places.parse(each) is None:
            raise Mistake(
                f"{file}: {claim}: {each!r} is not a place such as 'II-C.3 ‹In order to›'"
            )
    return Cause("contradicts itself", values["says"], tuple(values["places"]))


def cause(claim: Claim, verdict: str, found: Mapping[str, Cause], search: Search) -> Cause:
    """Why a claim that is not reproduced is not."""
    if verdict == "undecided":
        return Cause("unknown", "More seeds are needed.")
    if claim.id in found:
        return found[claim.id]
    if not search.paper.experiments[claim.experiment].setup.open:
        return Cause("unknown", "No setting of this figure has a grid.")
    if claim.id not in search.claims:
        return Cause("unknown", "The joint search has not measured it.")
    if search.comes_out(claim.id, search.choice.point):
        return Cause("unknown", "It comes out at the joint set-up at the search's reduced scale.")
    points = search.searched[claim.experiment].points
    out = [one.at for one in points if search.comes_out(claim.id, one.at)]
    if not out:
        return Cause("unknown", f"It comes out at none of {len(points)} points of the grid.")
    most, joint = search.together(claim.id), search.choice.out
    tied = "at most" if most < joint else "as many as" if most == joint else "even"
    return Cause(
        "open",
        f"It comes out at {len(out)} of {len(points)} points of the grid, where {tied} {most} "
        f"claims come out together; at the joint set-up {joint} do.",
    )


def classify(claim: Claim, verdict: str, why: Cause | None) -> Class:
    """The class of a claim."""
    if claim.untestable:
        return "not testable"
    if verdict == "reproduced":
        return "reproduced"
    if verdict == "in direction":
        return "in direction"
    return why.kind if why else "unknown"


def in_words(finding: Finding) -> str:
    """The verdict, and of a claim that is not reproduced the class: one of `COLUMNS`."""
    if finding.class_ in ("reproduced", "in direction", "not testable"):
        return finding.class_
    return (
        finding.verdict if finding.verdict == "undecided" else f"not reproduced: {finding.class_}"
    )
