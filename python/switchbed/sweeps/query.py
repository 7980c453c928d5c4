"""SQL over a store of sweeps, by DuckDB."""

from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import tables
from switchbed._native import Mistake
from switchbed.sweeps.archive import Archive

if TYPE_CHECKING:
    import duckdb
    import polars as pl


def query(path: Path, sql: str) -> "pl.DataFrame":
    """The rows that DuckDB finds. `runs` has a row a run of every sweep; `flows`, `queues`,
    `ports`, … are the runs' tables with the run's key in `run`."""
    import duckdb
    import polars as pl

    Archive(path, create=False)
    with duckdb.connect() as connection:
        _views(connection, path)
        try:
            found = connection.sql(sql)
        except duckdb.Error as error:
            raise Mistake(f"query: {str(error).splitlines()[0]}") from error
        if found is None:
            raise Mistake("query: it gives no rows; ask with select")
        return pl.DataFrame(found)


def _views(connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
    if any(path.glob("sweeps/*.parquet")):
        runs = _quoted(path / "sweeps/*.parquet")
        connection.execute(
            f"create view runs as select * from read_parquet({runs}, union_by_name = true)"
        )
    for name in tables.NAMES:
        if any(path.glob(f"runs/*/{name}.parquet")):
            files = _quoted(path / f"runs/*/{name}.parquet")
            connection.execute(
                f"create view {name} as select parse_path(filename)[-2] as run, "
                f"* exclude (filename) from read_parquet({files}, filename = true)"
            )


def _quoted(path: Path) -> str:
    return "'" + str(path.absolute()).replace("'", "''") + "'"
