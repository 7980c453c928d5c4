"""Tables of results as files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from switchbed._native import Results, Table

if TYPE_CHECKING:
    import polars as pl

Format = Literal["parquet", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


ALWAYS = ("flows", "queues", "ports")
ASKED_FOR = ("series", "goodput", "probes")
"""Tables that are empty, and not written, unless the scenario asks for them."""
MONITORED = ("changes", "bursts", "convergence", "rates")
"""Those of monitors, which are not even empty unless the scenario asks."""
NAMES = (*ALWAYS, *ASKED_FOR, *MONITORED)


def of(results: Results) -> dict[str, Table]:
    """A run's tables by name, empty ones too."""
    return {name: getattr(results, name) for name in (*ALWAYS, *ASKED_FOR)} | results.monitors


def write(table: Table, stem: Path, form: Format) -> None:
    """Writes `stem.form`. Parquet carries each column's unit and meaning in its Arrow field."""
    import polars as pl

    path = stem.with_name(f"{stem.name}.{form}")
    if form == "parquet":
        pl.DataFrame(table).write_parquet(path, arrow_schema=table)
    else:
        _write_text(pl.DataFrame(table), path, form)


def read(stem: Path) -> "pl.DataFrame | None":
    """Reads `stem` in whichever format it is; `None` if it is not there."""
    import polars as pl

    readers: dict[Format, Callable[[Path], pl.DataFrame]] = {
        "parquet": pl.read_parquet,
        "csv": pl.read_csv,
        "json": pl.read_json,
    }
    for form, read_form in readers.items():
        path = stem.with_name(f"{stem.name}.{form}")
        if path.exists():
            return read_form(path)
    return None


def write_rows(rows: Sequence[dict[str, Any]], stem: Path, form: Format) -> None:
    """The same for rows made here; a column that is null in one may be a number in another."""
    import polars as pl

    frame = pl.from_dicts(rows, infer_schema_length=None)
    path = stem.with_name(f"{stem.name}.{form}")
    if form == "parquet":
        frame.write_parquet(path)
    else:
        _write_text(frame, path, form)


def _write_text(frame: "pl.DataFrame", path: Path, form: Literal["csv", "json"]) -> None:
    if form == "csv":
        frame.write_csv(path)
    else:
        frame.write_json(path)


def describe(table: Table) -> list[dict[str, Any]]:
    """Name, unit and meaning of every column, for the manifest."""
    return [{"name": n, "unit": u, "meaning": m} for n, u, m in table.columns]
