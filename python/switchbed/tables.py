"""Tables of results as files."""

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from switchbed import files
from switchbed._native import Mistake, Results, Table, monitored_tables

if TYPE_CHECKING:
    import polars as pl

Format = Literal["parquet", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


ALWAYS = ("flows", "queues", "ports")
ASKED_FOR = ("series", "goodput", "probes")
"""Tables that are empty, and not written, unless the scenario asks for them."""
MONITORED = tuple(monitored_tables())
"""Names of the monitors' tables, which do not exist unless the scenario asks."""
NAMES = (*ALWAYS, *ASKED_FOR, *MONITORED)
TYPES = ("UInt64", "UInt32", "Float64", "Boolean", "String")
"""Types of columns, in Polars's words."""


def of(results: Results) -> dict[str, Table]:
    """A run's tables by name, empty ones too."""
    return {name: getattr(results, name) for name in (*ALWAYS, *ASKED_FOR)} | results.monitors


def write(table: Table, stem: Path, form: Format) -> None:
    """Writes `stem.form`. Parquet carries each column's unit and meaning in its Arrow field."""
    import polars as pl

    if form == "parquet":
        _write(stem, form, lambda file: pl.DataFrame(table).write_parquet(file, arrow_schema=table))
    else:
        _write_text(pl.DataFrame(table), stem, form)


def read(stem: Path, columns: Sequence[Mapping[str, str]]) -> "pl.DataFrame":
    """Reads `stem` in whichever format it is; `columns` are what `describe` said of it."""
    import polars as pl

    paths = [stem.with_name(f"{stem.name}.{form}") for form in FORMATS]
    path = next((path for path in paths if path.exists() or path.is_symlink()), paths[0])
    names = [column["name"] for column in columns]
    # Older manifests do not tell the types.
    types = {c["name"]: getattr(pl, c["type"]) for c in columns if c.get("type") in TYPES}
    frame = files.read_table(path, types)
    if frame.columns != names or any(frame.schema[name] != kind for name, kind in types.items()):
        raise Mistake(f"{path}: is damaged: its columns are not those that the manifest lists")
    return frame


def write_rows(rows: Sequence[dict[str, Any]], stem: Path, form: Format) -> None:
    """The same for rows made here; a column that is null in one may be a number in another."""
    import polars as pl

    frame = pl.from_dicts(rows, infer_schema_length=None)
    if form == "parquet":
        _write(stem, form, frame.write_parquet)
    else:
        _write_text(frame, stem, form)


def _write_text(frame: "pl.DataFrame", stem: Path, form: Literal["csv", "json"]) -> None:
    _write(stem, form, frame.write_csv if form == "csv" else frame.write_json)


def _write(stem: Path, form: Format, write: Callable[[io.BytesIO], None]) -> None:
    """By way of memory: of a disk that is full Polars may say only `transport error`."""
    content = io.BytesIO()
    write(content)
    stem.with_name(f"{stem.name}.{form}").write_bytes(content.getbuffer())


def describe(table: Table) -> list[dict[str, Any]]:
    """Name, unit, type and meaning of every column, for the manifest."""
    import polars as pl

    types = map(str, pl.DataFrame(table).dtypes)
    return [
        {"name": name, "unit": unit, "type": kind, "meaning": meaning}
        for (name, unit, meaning), kind in zip(table.columns, types, strict=True)
    ]
