"""Experiments on why a claim does not hold: `variations.toml` of a paper says what each varies,
`variations.json` has the tables that it gave.

    python -m switchbed_papers.reproduce.variations PAPER [NAME …] [--commit]

runs them again (or those named) and prints their tables; `--commit` makes them the committed ones.
A table is one of two kinds:

- `figures` and `settings`: the claims of these experiments (`only`: of these) on the judging hosts,
  with each list of `--set` on top of the quick scale (`full`: the full one);
- `claims` and `readings`: claims measured otherwise from the committed rows, also those of
  `profiles`: `set` replaces keys of a claim's measure, `where` adds conditions, `swapped` exchanges
  `of` and `base`, `instead` is another measure.
"""

import argparse
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from switchbed import files
from switchbed._native import Mistake
from switchbed.meter import meter
from switchbed.store import Store
from switchbed.terminal import page
from switchbed_papers.reproduce import evidence
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.claims import Claim, Paper, Scale, papers
from switchbed_papers.reproduce.measures import measure
from switchbed_papers.reproduce.verdict import Measured, judge

CORNER = "hosts that judge"
"""How a table of claims begins: its rows are settings or readings of these hosts."""
STORE = Path("switchbed-store")


@dataclass(frozen=True)
class Table:
    """A table: cells as text, the first column's are the names of the rows."""

    head: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """For a page."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def column(self, claim: str) -> dict[str, str]:
        """What a table of claims has of one, by setting."""
        name = f"`{claim}`"
        if not self.head[0].startswith(CORNER) or name not in self.head:
            return {}
        at = self.head.index(name)
        return {row[0]: row[at] for row in self.rows if not row[0].startswith("**")}


@dataclass(frozen=True)
class Settings:
    """Experiments run with some settings changed."""

    figures: tuple[str, ...]
    settings: Mapping[str, Sequence[str]]
    seeds: int | None = None
    full: bool = False
    only: tuple[str, ...] = ()

    def tables(self, paper: Paper, store: Store) -> list[Table]:
        """A table an experiment. What has run is not run again."""
        return [self._of(paper, figure, store) for figure in self.figures]

    def _of(self, paper: Paper, figure: str, store: Store) -> Table:
        experiment = paper.experiments[figure]
        claims = [
            claim
            for claim in paper.claims.values()
            if claim.experiment == figure and (not self.only or claim.id in self.only)
        ]
        common = (experiment.full if self.full else experiment.quick).sets
        rows = []
        with meter() as shown:
            for name, sets in self.settings.items():
                scale = Scale((*common, *sets), self.seeds or experiment.full.seeds, "")
                needed = experiments.jobs(paper, experiment, scale, 1)
                experiments.run(paper, experiment, needed, store, shown)
                ran = experiments.rows(needed, store)
                rows.append([name, *(_cell(claim, measure(paper, claim, ran)) for claim in claims)])
        return _beside(f"{CORNER}, and", claims, rows)


@dataclass(frozen=True)
class Readings:
    """Committed rows measured otherwise than the claims are judged."""

    claims: tuple[str, ...]
    readings: Mapping[str, Mapping[str, Any]]
    profiles: tuple[str, ...] = ()

    def tables(self, paper: Paper, _: Store) -> list[Table]:
        """One table: a row a reading on the judging hosts, then on each other profile."""
        claims = [paper.claims[name] for name in self.claims]
        committed = [evidence.read(paper, paper.experiments[claim.experiment]) for claim in claims]
        rows = []
        for profile in ("", *self.profiles):
            for name, reading in self.readings.items():
                row = [f"{name} on {profile}" if profile else name]
                for claim, by_profile in zip(claims, committed, strict=True):
                    read = replace(claim, measure={**read_as(claim.measure, reading), "also": ()})
                    of = by_profile[profile] if profile else next(iter(by_profile.values()))
                    row.append(_cell(claim, measure(paper, read, of)))
                rows.append(row)
        return [_beside(f"{CORNER}, read", claims, rows)]


@dataclass(frozen=True)
class Variation:
    """One experiment."""

    name: str
    says: str
    tables: tuple[Settings | Readings, ...]
    """None where only what it gave is kept."""


def read_as(asked: Mapping[str, Any], reading: Mapping[str, Any]) -> Mapping[str, Any]:
    """A claim's measure, read otherwise."""
    if "instead" in reading:
        return dict(reading["instead"])
    found = {**asked, **reading.get("set", {})}
    if reading.get("swapped"):
        found |= {"of": asked["base"], "base": asked["of"]}
    if "where" in reading:
        found["where"] = {**asked.get("where", {}), **reading["where"]}
    return found


def load(paper: Paper) -> dict[str, Variation]:
    """A paper's experiments by name, as its file has them; none without a file."""
    file = paper.folder / "variations.toml"
    if not file.exists():
        return {}
    try:
        text = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{file}: is no TOML: {error}") from error
    return {name: _variation(paper, file, name, values) for name, values in text.items()}


def results(folder: Path) -> dict[str, list[Table]]:
    """The committed tables of a paper's folder, by experiment; none without a file."""
    file = folder / "variations.json"
    if not file.exists():
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    return {name: [Table(**each) for each in tables] for name, tables in found.items()}


def written(found: Mapping[str, Sequence[Table]]) -> str:
    """The text of `variations.json`: a line a row."""

    def line(cells: Sequence[str]) -> str:
        return json.dumps(cells, ensure_ascii=False)

    def table(of: Table) -> str:
        rows = ",\n".join(f"   {line(row)}" for row in of.rows)
        return f'  {{"head": {line(of.head)}, "rows": [\n{rows}\n  ]}}'

    def tables(of: Sequence[Table]) -> str:
        return ",\n".join(map(table, of))

    each = (f" {json.dumps(name)}: [\n{tables(of)}\n ]" for name, of in found.items())
    return "{\n" + ",\n".join(each) + "\n}\n"


def text(paper: Paper, names: Sequence[str] = ()) -> str:
    """The committed tables as Markdown, of all experiments or those named."""
    known, found = load(paper), results(paper.folder)
    return "\n".join(
        f"### {paper.name}: {name}\n\n{known[name].says}\n\n"
        + "\n".join(table.markdown() for table in found[name])
        for name in names or known
    )


def _variation(paper: Paper, file: Path, name: str, values: Mapping[str, Any]) -> Variation:
    if not isinstance(values.get("says"), str) or values.keys() - {"says", "tables"}:
        raise Mistake(f"{file}: {name}: needs says, and takes tables besides")
    return Variation(
        name,
        values["says"],
        tuple(
            _table(paper, f"{file}: {name}.tables.{index}", each)
            for index, each in enumerate(values.get("tables", ()))
        ),
    )


def _table(paper: Paper, at: str, values: Mapping[str, Any]) -> Settings | Readings:
    kind: type[Settings | Readings] = Settings if "figures" in values else Readings
    needed = {"figures", "settings"} if kind is Settings else {"claims", "readings"}
    known = set(kind.__dataclass_fields__)
    if not needed <= values.keys() <= known:
        raise Mistake(f"{at}: needs {' and '.join(sorted(needed))}; takes {', '.join(known)}")
    for key, among in (("figures", paper.experiments), ("claims", paper.claims)):
        for each in values.get(key, ()):
            if each not in among:
                raise Mistake(f"{at}.{key}: {paper.name} has no {each!r}")
    lists = {key: tuple(each) for key, each in values.items() if isinstance(each, list)}
    given: dict[str, Any] = {**values, **lists}
    return kind(**given)


def _beside(corner: str, claims: Sequence[Claim], rows: list[list[str]]) -> Table:
    """What was measured, under what the paper says."""
    head = [corner, *(f"`{claim.id}`" for claim in claims)]
    return Table(head, [["**the paper**", *(claim.paper for claim in claims)], *rows])


def _cell(claim: Claim, found: Measured) -> str:
    """The number, its interval and the verdict."""
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f" ({found.low:.4g} to {found.high:.4g})"
    number = f"{found.estimate:.4g}{interval} {claim.unit}".strip()
    return f"{number}, {judge(claim.target, found)}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="variations", description="Runs experiments on causes.")
    known = papers()
    parser.add_argument("paper", choices=known)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--commit", action="store_true")
    asked = parser.parse_args()
    paper = known[asked.paper]
    all_ = load(paper)
    for name in asked.names:
        if name not in all_ or not all_[name].tables:
            can = ", ".join(name for name, each in all_.items() if each.tables)
            parser.error(f"{name}: no experiment that can be run; there is {can}")
    found = results(paper.folder)
    for each in all_.values():
        if each.tables and each.name in (asked.names or all_):
            tables = [t for kind in each.tables for t in kind.tables(paper, Store(STORE))]
            page("\n".join([each.name, "", *(table.markdown() for table in tables)]))
            found[each.name] = tables
            if asked.commit:
                ordered = {name: found[name] for name in all_ if name in found}
                with files.whole(paper.folder / "variations.json") as path:
                    path.write_text(written(ordered), encoding="utf-8")


if __name__ == "__main__":
    main()
