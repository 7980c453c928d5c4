"""Runs the cells, as sweeps that go on where they were stopped, and keeps a small table of each."""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from switchbed import stats
from switchbed._native import Mistake
from switchbed.result import Result
from switchbed.sweeps.sweep import sweep
from switchbed_papers.fabrics.cells import FOLDER, INCAST, Cell

RESULTS = FOLDER / "results.csv"
"""Committed results of all cells."""

COLUMNS = pl.Schema(
    {
        "label": pl.String,
        "scheme": pl.String,
        "seed": pl.Int64,
        "small_flows": pl.Int64,
        "small_mean_us": pl.Float64,
        "small_p99_us": pl.Float64,
        "large_flows": pl.Int64,
        "large_mean_us": pl.Float64,
        "all_mean_us": pl.Float64,
        "incast_p99_us": pl.Float64,
        "marks": pl.Int64,
        "drops": pl.Int64,
        "timeouts": pl.Int64,
    }
)
"""Columns of a table of results. Times are in microseconds."""


def run(
    cells: Iterable[Cell], store: Path, seeds: int, jobs: int | None, flows: int | None = None
) -> dict[Cell, pl.DataFrame]:
    """Each cell's table, a row a run. Seed by seed through all cells, so that a part of the
    seeds is a whole experiment."""
    chosen = list(cells)
    found = {}
    for so_many in range(1, seeds + 1):
        for cell in chosen:
            scenario = cell.scenario(flows)
            swept = sweep(scenario, store, name=cell.name, seeds=so_many, jobs=jobs)
            for entry in swept.failures:
                raise Mistake(f"{cell.name}, {entry.settings['scheme']}: {entry.message}")
            if so_many == seeds:
                found[cell] = pl.DataFrame([row(result) for result in swept.results()])
    return found


def row(result: Result) -> dict[str, Any]:
    """Return the figures that are kept of a run. Times are in microseconds."""
    summary = result.summary()
    fct = summary["fct"]
    return {
        "label": result.settings.get("switch.policy", result.label),
        "scheme": result.outcome.scheme,
        "seed": summary["seed"],
        "small_flows": fct["small"]["n"],
        "small_mean_us": fct["small"]["mean_us"],
        "small_p99_us": fct["small"]["p99_us"],
        "large_flows": fct["large"]["n"],
        "large_mean_us": fct["large"]["mean_us"],
        "all_mean_us": fct["all"]["mean_us"],
        "incast_p99_us": _incast_p99(result),
        "marks": summary["marks"],
        "drops": summary["drops"],
        "timeouts": summary["timeouts"],
    }


def _incast_p99(result: Result) -> float | None:
    """Of the flows of the incast, which are told by receiver and size."""
    sources = result.scenario["traffic"]
    if len(sources) <= INCAST:
        return None
    incast = sources[INCAST]
    size = float(incast["sizes"]["mean"].removesuffix("B"))
    of_it = (pl.col("dst") == incast["to"]) & (pl.col("size_bytes") == size)
    times = result.flows.filter(of_it)["fct_s"]
    return 1e6 * stats.percentile(times.to_list(), 0.99)


def write(cell: Cell, table: pl.DataFrame) -> None:
    """Makes it the cell's committed table."""
    # A column without a value has no type until it is given one.
    mine = table.cast(COLUMNS).select(pl.lit(cell.name).alias("cell"), *COLUMNS)
    others = kept().filter(pl.col("cell") != cell.name)
    every = pl.concat([others, mine]).sort("cell", maintain_order=True)
    every.write_csv(RESULTS, float_precision=1)
    kept.cache_clear()


def committed(cell: Cell) -> pl.DataFrame | None:
    """Return the committed results of a cell."""
    of_it = kept().filter(pl.col("cell") == cell.name).drop("cell")
    return None if of_it.is_empty() else of_it


@functools.cache
def kept() -> pl.DataFrame:
    """Results of all cells."""
    schema = pl.Schema([("cell", pl.String()), *COLUMNS.items()])
    return pl.read_csv(RESULTS, schema=schema) if RESULTS.exists() else pl.DataFrame(schema=schema)
