"""The committed rows: a file a paper, a row a run of an experiment. Claims, intervals and pictures
follow from them without running anything."""

import functools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed_papers.reproduce.claims import Experiment, Paper
from switchbed_papers.reproduce.rows import Row, Rows
from switchbed_papers.reproduce.setup import JOINT

if TYPE_CHECKING:
    import polars as pl


def file(paper: Paper) -> Path:
    """Where the rows of a paper's experiments are."""
    return paper.folder / "rows.parquet"


def kept(paper: Paper, experiment: Experiment) -> tuple[Row, ...]:
    """All committed rows of an experiment, under whatever set-up."""
    path = file(paper)
    return _rows(path, experiment.id, path.stat().st_mtime_ns) if path.exists() else ()


def read(paper: Paper, experiment: Experiment) -> dict[str, Rows]:
    """The committed rows of today's set-up by reading, the joint one's first, which judge; none
    until these have run."""
    found = _by_reading(paper, experiment)
    return {name: Rows(rows) for name, rows in found.items() if rows} if found[JOINT] else {}


def _by_reading(paper: Paper, experiment: Experiment) -> dict[str, list[Row]]:
    wanted = {name: experiment.setup.digest(name) for name in experiment.setup.readings}
    found: dict[str, list[Row]] = {name: [] for name in wanted}
    for row in kept(paper, experiment):
        if wanted.get(row.profile) == row.setup:
            found[row.profile].append(row)
    return found


def timed(paper: Paper, experiment: Experiment) -> Rows:
    """The committed rows whose times tell most of what runs take: those that judge where there are
    any, else all, under whatever set-up; of these the ones with processor times where there are
    any."""
    judging = next(iter(read(paper, experiment).values()), None)
    rows = kept(paper, experiment) if judging is None else tuple(judging)
    return Rows([row for row in rows if not row.passed] or rows)


@functools.lru_cache(maxsize=64)
def _rows(path: Path, experiment: str, changed_ns: int) -> tuple[Row, ...]:
    """An experiment's rows in a file as it was at a time: a page reads each thrice."""
    import polars as pl

    del changed_ns
    found = pl.scan_parquet(path).filter(pl.col("experiment") == experiment).drop("experiment")
    return tuple(
        Row.of(row, settings=json.loads(row["settings"]), figures=json.loads(row["figures"]))
        for row in found.collect().iter_rows(named=True)
    )


def write(paper: Paper, experiment: Experiment, rows: Iterable[Row]) -> None:
    """Makes these the experiment's committed rows; those of this set-up's other readings stay, and
    so do other experiments'."""
    import polars as pl

    new = list(rows)
    profiles = {row.profile for row in new}
    path = file(paper)
    with (
        _alone(path.parent),
        tempfile.TemporaryDirectory(prefix=".rows.", dir=path.parent) as scratch,
    ):
        others = [
            row
            for name, before in _by_reading(paper, experiment).items()
            if name not in profiles
            for row in before
        ]
        table = _table(experiment, [*others, *new])
        if path.exists():
            stay = pl.read_parquet(path).filter(pl.col("experiment") != experiment.id)
            table = pl.concat([stay, table]).sort("experiment", maintain_order=True)
        # Rows that are there stay whole for who reads them meanwhile, and where this one fails.
        part = Path(scratch) / path.name
        table.write_parquet(part, compression="zstd", compression_level=19)
        part.replace(path)


def _table(experiment: Experiment, rows: list[Row]) -> "pl.DataFrame":
    """The columns of an experiment's rows."""
    import polars as pl

    return pl.DataFrame(
        {
            "experiment": [experiment.id] * len(rows),
            "profile": [row.profile for row in rows],
            "setup": [row.setup for row in rows],
            "scenario": [row.scenario for row in rows],
            "seed": [row.seed for row in rows],
            "scheme": [row.scheme for row in rows],
            "settings": [json.dumps(row.settings) for row in rows],
            "figures": [json.dumps(row.figures) for row in rows],
            "build": [row.build for row in rows],
            "core_s": [round(row.core_s, 3) for row in rows],
            "passed": [row.passed for row in rows],
        }
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lets one process at a time write rows of a paper: each takes over what the others wrote."""
    try:
        import fcntl
    except ImportError:  # Windows: of two that write at once the later one's rows stay
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
