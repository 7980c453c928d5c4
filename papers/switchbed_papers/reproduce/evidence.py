"""The committed rows: a file an experiment, a row a run, from which claims, intervals and pictures
follow without running anything."""

import functools
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from switchbed_papers.reproduce.claims import Experiment, Paper
from switchbed_papers.reproduce.rows import Row, Rows
from switchbed_papers.reproduce.setup import JOINT


def file(paper: Paper, experiment: Experiment) -> Path:
    """Where an experiment's rows are."""
    return paper.folder / "rows" / f"{experiment.id}.parquet"


def read(paper: Paper, experiment: Experiment) -> dict[str, Rows]:
    """The committed rows by reading, the one that judges first; none where nothing has run.

    Rows of the joint set-up judge, with those of its other readings. Until they have run, rows of
    the first edition do, whose hosts `first` of the set-up names.
    """
    now, before = _both(paper, experiment)
    found = now if now[JOINT] else before
    return {name: Rows(rows) for name, rows in found.items() if rows}


def _both(
    paper: Paper, experiment: Experiment
) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    """The committed rows of today's set-up by reading, and those of the first edition by hosts."""
    setup = experiment.setup
    wanted = {name: setup.digest(name) for name in setup.readings}
    now: dict[str, list[Row]] = {name: [] for name in setup.readings}
    before: dict[str, list[Row]] = {setup.first: []}
    path = file(paper, experiment)
    for kept in _rows(path, path.stat().st_mtime_ns) if path.exists() else ():
        if not kept.setup:
            before.setdefault(kept.profile, []).append(kept)
        elif wanted.get(kept.profile) == kept.setup:
            now[kept.profile].append(kept)
    return now, before


def timed(paper: Paper, experiment: Experiment) -> Rows:
    """The committed rows whose times tell most of what runs take: those that judge where there are
    any, else all, under whatever set-up; of these the ones with processor times where there are
    any."""
    path = file(paper, experiment)
    if not path.exists():
        return Rows([])
    judging = next(iter(read(paper, experiment).values()), None)
    rows = _rows(path, path.stat().st_mtime_ns) if judging is None else tuple(judging)
    return Rows([row for row in rows if not row.passed] or rows)


@functools.lru_cache(maxsize=64)
def _rows(path: Path, changed_ns: int) -> tuple[Row, ...]:
    """All rows of a file as it was at a time: a page reads each file thrice."""
    import polars as pl

    del changed_ns
    rows = pl.read_parquet(path).iter_rows(named=True)
    return tuple(
        Row.of(row, settings=json.loads(row["settings"]), figures=json.loads(row["figures"]))
        for row in rows
    )


def is_first(rows: Rows) -> bool:
    """Whether rows are of the first edition, which had no joint set-up."""
    return any(not row.setup for row in rows)


def write(paper: Paper, experiment: Experiment, rows: Iterable[Row]) -> None:
    """Makes these the committed rows; those of this set-up's other readings stay."""
    import polars as pl

    new = list(rows)
    profiles = {row.profile for row in new}
    kept = [
        row
        for name, before in _both(paper, experiment)[0].items()
        if name not in profiles
        for row in before
    ]
    table = pl.DataFrame(
        {
            "profile": [row.profile for row in (*kept, *new)],
            "setup": [row.setup for row in (*kept, *new)],
            "scenario": [row.scenario for row in (*kept, *new)],
            "seed": [row.seed for row in (*kept, *new)],
            "scheme": [row.scheme for row in (*kept, *new)],
            "settings": [json.dumps(row.settings) for row in (*kept, *new)],
            "figures": [json.dumps(row.figures) for row in (*kept, *new)],
            "build": [row.build for row in (*kept, *new)],
            "core_s": [round(row.core_s, 3) for row in (*kept, *new)],
            "passed": [row.passed for row in (*kept, *new)],
        }
    )
    path = file(paper, experiment)
    path.parent.mkdir(exist_ok=True)
    # Rows that are there stay whole for who reads them meanwhile, and where this one fails.
    with tempfile.TemporaryDirectory(prefix=".rows.", dir=path.parent) as aside:
        part = Path(aside) / path.name
        table.write_parquet(part, compression="zstd", compression_level=19)
        part.replace(path)
