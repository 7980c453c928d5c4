"""Why a claim does not hold, as a paper's `causes.toml` has it: claim by claim, and each entry with
what shows it among what is committed (a test checks that it does).

| kind | what shows it |
| --- | --- |
| setting | `table` and `row`: an experiment of `causes/` on the judged hosts where it holds |
| hosts | `profile`: other hosts on which it holds, from the committed rows |
| printed | the reason, with its arithmetic, why the paper cannot be right as printed |
| open | `table`: what was tried, in no row of which it holds |
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from switchbed._native import Mistake

Kind = Literal["setting", "hosts", "printed", "open"]


@dataclass(frozen=True)
class Cause:
    """Why one claim does not hold."""

    claim: str
    kind: Kind
    says: str
    table: str | None = None
    """A file of `causes/`, without its ending."""
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
        of = f" (`causes/{self.table}.md`)" if self.table else ""
        return f"`{self.claim}`: {found}{self.says}{of}"

    def as_json(self) -> dict[str, Any]:
        """For `list --json`, whose entries name the claim themselves."""
        return {key: value for key, value in asdict(self).items() if key != "claim" and value}


def causes(folder: Path) -> dict[str, Cause]:
    """A paper's, by claim."""
    file = folder / "causes.toml"
    if not file.exists():
        return {}
    text = tomllib.loads(file.read_text(encoding="utf-8"))
    return {claim: _cause(file, claim, values) for claim, values in text.items()}


def cells(file: Path, claim: str) -> dict[str, str]:
    """What a file's tables have of a claim, by setting."""
    found = {}
    column = None
    for line in file.read_text(encoding="utf-8").splitlines():
        row = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            column = None
        elif row[0].startswith("hosts that judge"):
            column = row.index(f"`{claim}`") if f"`{claim}`" in row else None
        elif column is not None and not row[0].startswith(("---", "**")):
            found[row[0]] = row[column]
    return found


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
        there = cells(file.parent / "causes" / f"{values['table']}.md", claim)
        if values["row"] not in there:
            raise Mistake(f"{file}: {claim}: {values['table']}.md has no row {values['row']!r}")
        shows = there[values["row"]].removesuffix(", holds")
    return Cause(claim, shows=shows, **values)  # type: ignore[arg-type]
