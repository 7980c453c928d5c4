"""Why a claim does not hold, as a paper's `causes.toml` has it: claim by claim, and each entry with
what shows it among what is committed (a test checks that it does).

| kind | what shows it |
| --- | --- |
| setting | `table` and `row`: a variation on the judged hosts where it holds |
| hosts | `profile`: other hosts on which it holds, from the committed rows |
| printed | the reason, with its arithmetic, why the paper cannot be right as printed |
| open | `table`: what was tried, in no row of which it holds |
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from switchbed._native import Mistake
from switchbed_papers.reproduce import variations
from switchbed_papers.reproduce.variations import Table

Kind = Literal["setting", "hosts", "printed", "open"]


@dataclass(frozen=True)
class Cause:
    """Why one claim does not hold."""

    claim: str
    kind: Kind
    says: str
    table: str | None = None
    """An experiment of `variations.toml`."""
    row: str | None = None
    """A setting of it."""
    profile: str | None = None
    shows: str = ""
    """What that row of the table has of the claim: the number, its interval and its verdict."""

    def in_words(self) -> str:
        """In a sentence."""
        found = {
            "setting": f"holds with *{self.row}*: {self.shows}. ",
            "hosts": f"holds on `{self.profile}`. ",
            "printed": "not as printed. ",
            "open": "nothing that was tried makes it hold. ",
        }[self.kind]
        paper, _, _ = self.claim.partition(".")
        of = f" ({table_link(paper, self.table)})" if self.table else ""
        return f"`{self.claim}`: {found}{self.says}{of}"

    def as_json(self) -> dict[str, Any]:
        """For `list --json`, whose entries name the claim themselves."""
        return {key: value for key, value in asdict(self).items() if key != "claim" and value}


def table_link(paper: str, table: str) -> str:
    """A link from the page of reproductions to an experiment's tables."""
    return f"[{table}](reproductions-causes.md#{paper}-{table})"


def causes(folder: Path) -> dict[str, Cause]:
    """A paper's, by claim."""
    file = folder / "causes.toml"
    if not file.exists():
        return {}
    text = tomllib.loads(file.read_text(encoding="utf-8"))
    return {claim: _cause(file, claim, values) for claim, values in text.items()}


def cells(tables: Iterable[Table], claim: str) -> dict[str, str]:
    """What an experiment's tables have of a claim, by setting."""
    return {row: cell for table in tables for row, cell in table.column(claim).items()}


def holds(cell: str) -> bool:
    """Whether a cell of such a table says so."""
    return cell.endswith(", holds")


# What each kind needs besides what it says.
NEEDS: Mapping[str, set[str]] = {
    "setting": {"table", "row"},
    "hosts": {"profile"},
    "printed": set(),
    "open": {"table"},
}


def _cause(file: Path, claim: str, values: Mapping[str, str]) -> Cause:
    kind = values.get("kind", "")
    if kind not in get_args(Kind):
        raise Mistake(f"{file}: {claim}: kind is one of {', '.join(get_args(Kind))}")
    wanted = {"kind", "says"} | NEEDS[kind]
    allowed = wanted | {"table"}
    if not wanted <= values.keys() <= allowed:
        raise Mistake(f"{file}: {claim}: needs {', '.join(sorted(wanted))} and no more")
    shows = ""
    if kind == "setting":
        there = cells(variations.results(file.parent).get(values["table"], ()), claim)
        if values["row"] not in there:
            table = f"{values['table']} in variations.json"
            raise Mistake(f"{file}: {claim}: {table} has no row {values['row']!r}")
        shows = there[values["row"]].removesuffix(", holds")
    return Cause(claim, shows=shows, **values)  # type: ignore[arg-type]
