"""SQL over a store of sweeps, by DuckDB, which reads the store alone and writes nothing."""

import glob
import re
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import directory, signals, tables, terminal
from switchbed._native import SCHEMA_VERSION, Mistake
from switchbed.files import check
from switchbed.store import Store, sweeps

if TYPE_CHECKING:
    import duckdb
    import polars as pl


def query(path: Path, sql: str) -> "pl.DataFrame":
    """The rows that DuckDB finds. `runs` has a row a run of every sweep; `flows`, `queues`,
    `ports`, … are the runs' tables with the run's key in `run`."""
    # Half an import is an error of the library's, and a whole one takes half a second.
    signals.apart(_load, lambda: None)
    import duckdb

    Store(path, create=False)
    if not sweeps(path):
        raise Mistake(f"{path}: has no sweep's table; sweep again")
    for run in sorted(path.glob("runs/*")):
        _current(run)
    connection = duckdb.connect()
    return signals.apart(lambda: _rows(connection, path, sql), connection.interrupt)


def _load() -> None:
    import duckdb  # noqa: F401
    import polars as pl  # noqa: F401


def _rows(connection: "duckdb.DuckDBPyConnection", path: Path, sql: str) -> "pl.DataFrame":
    import duckdb
    import polars as pl

    try:
        # Views read files at once: made before the files are locked away.
        _views(connection, path)
        _shut(connection, path)
        _select(connection, sql)
        found = connection.sql(sql)
        if found is None:
            raise Mistake("query: it gives no rows; ask with select")
        _shown(found)
        return pl.DataFrame(found)
    except duckdb.Error as error:
        why = str(error).splitlines()[0] + _there(connection, sql, error)
        damaged = next((p for p in path.absolute().glob("*/*") if str(p) in why), None)
        if not isinstance(error, duckdb.DatabaseError):  # of a file's insides, without its name
            damaged = _unreadable(connection, path)
        advice = f"; remove {damaged} and sweep again" if damaged else ""
        raise Mistake(f"query: {why}{advice}") from error


VERSION = re.compile(r'"schema_version": *(-?\d+)')
HEAD = 1000
"""Characters within which a manifest says its version."""


def _current(run: Path) -> None:
    """Refuses a run whose tables this program would not read either."""
    path = run / directory.MANIFEST
    try:
        # A pipe would be waited for without an end.
        check(path)
        with path.open(encoding="utf-8") as file:
            said = VERSION.search(file.read(HEAD))
    except (OSError, UnicodeDecodeError):
        return  # said where its tables are read
    if said is not None and int(said[1]) != SCHEMA_VERSION:
        raise Mistake(
            f"{run}: is of schema_version {said[1]}, and this program reads {SCHEMA_VERSION}; "
            "remove it and sweep again"
        )


def _shut(connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
    """Leaves the query the store's files, and no way to any others or to the network."""
    # A file is asked for by a pattern (`_quoted`), and refused unless the pattern is inside too.
    places = {str(path.absolute()), glob.escape(str(path.absolute()))}
    inside = ", ".join("'{}/'".format(place.replace("'", "''")) for place in sorted(places))
    connection.execute(f"set allowed_directories = [{inside}]")
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "enable_external_access = false",
        # Locked last, or no other setting could follow.
        "lock_configuration = true",
    ):
        connection.execute(f"set {setting}")


def _select(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    """Refuses everything that does more than read: `copy … to` could replace the store's files."""
    import duckdb

    # By the connection that is shut: to parse `import database` DuckDB reads its files.
    for statement in connection.extract_statements(sql):
        if statement.type != duckdb.StatementType.SELECT:
            kind = statement.type.name.lower()
            raise Mistake(f"query: is {kind.upper()}; ask with select, which changes nothing")


PLAIN = (
    *("boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "uhugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "float", "double", "decimal"),
    *("varchar", "enum", "uuid", "date", "time", "time with time zone"),
    *("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone"),
)
"""DuckDB's types that tables, JSON and CSV hold."""
NESTED = ("list", "array", "struct")
"""More types, which tables and JSON hold."""


def _shown(found: "duckdb.DuckDBPyRelation") -> None:
    """Refuses columns that no table holds, and two of one name."""
    for name, kind in zip(found.columns, found.types, strict=True):
        if found.columns.count(name) > 1:
            raise Mistake(f"query: two columns are named {name}: name one otherwise by `as`")
        if not _holds(kind):
            raise Mistake(
                f"query: the column {name} is {kind}, which no table holds; ask for it as text, "
                "by ::varchar"
            )


def _holds(kind: "duckdb.sqltypes.DuckDBPyType") -> bool:
    if kind.id not in NESTED:
        return kind.id in PLAIN
    # An array's size is listed with its child.
    children = [child for _, child in kind.children if not isinstance(child, int | list)]
    return all(map(_holds, children))


def as_csv(found: "pl.DataFrame") -> str:
    """The rows as CSV, which has neither lists nor structures."""
    nested = next((name for name, kind in found.schema.items() if kind.is_nested()), None)
    if nested is not None:
        raise Mistake(f"--csv: the column {nested} is a list or a structure: --json holds it")
    parts = (part.write_csv(include_header=False) for part in found.iter_slices(ROWS))
    return "".join([found.clear().write_csv(), *parts])


def as_json(found: "pl.DataFrame") -> str:
    """The rows as JSON, and the end of its line."""
    parts = (terminal.clean_json(part.write_json())[1:-1] for part in found.iter_slices(ROWS))
    return f"[{','.join(parts)}]\n"


ROWS = 100_000
"""Rows that Polars writes at a time: it looks for no signals meanwhile."""


def _there(connection: "duckdb.DuckDBPyConnection", sql: str, error: Exception) -> str:
    """The tables that there are, or the columns of those that the query names, where it names
    another."""
    views = [str(name) for (name,) in connection.execute("show tables").fetchall()]
    if "Table with name" in str(error):
        return f"; tables are {', '.join(views)}"
    if "column" not in str(error).lower():
        return ""
    named = [view for view in views if re.search(rf"\b{view}\b", sql, re.IGNORECASE)]
    columns = {
        view: [str(row[0]) for row in connection.execute(f"describe {view}").fetchall()]
        for view in named
    }
    return "".join(f"; columns of {view} are {', '.join(has)}" for view, has in columns.items())


def _views(connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
    _view(connection, "runs", sweeps(path), "*", "union_by_name = true")
    for name in tables.NAMES:
        columns = "parse_path(filename)[-2] as run, * exclude (filename)"
        found = sorted(path.glob(f"runs/*/{name}.parquet"))
        _view(connection, name, found, columns, "filename = true")


def _view(
    connection: "duckdb.DuckDBPyConnection",
    name: str,
    files: list[Path],
    columns: str,
    option: str,
) -> None:
    if files:
        listed = ", ".join(map(_quoted, files))
        connection.execute(
            f"create view {name} as select {columns} "
            f"from read_parquet([{listed}], hive_partitioning = false, {option})"
        )


def _quoted(path: Path) -> str:
    """DuckDB takes every path for a pattern, and waits for a pipe's other end."""
    check(path)
    return "'" + glob.escape(str(path.absolute())).replace("'", "''") + "'"


def _unreadable(connection: "duckdb.DuckDBPyConnection", path: Path) -> Path | None:
    """The sweep or the run that has a table which cannot be read to its end."""
    import duckdb

    for file in (*sweeps(path), *path.glob("runs/*/*.parquet")):
        try:
            connection.execute(f"select sum(hash(columns(*))) from read_parquet({_quoted(file)})")
        except duckdb.Error:
            return file if file.parent.name == "sweeps" else file.parent
    return None
