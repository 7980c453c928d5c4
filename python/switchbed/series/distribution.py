"""Distributions of FCT or slowdown by size class, of runs together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from switchbed import comparing, measured
from switchbed.result import Result
from switchbed.series.runs import Line

if TYPE_CHECKING:
    import polars as pl

Value = Literal["fct", "slowdown"]
VALUES: tuple[Value, ...] = get_args(Value)
SHARE = "share of flows"
"""Title of the y axis."""
FCT = "FCT (ms)"
CLASSES = ("all", "small", "medium", "large")
BELOW, TAIL = 200, 60
"""Points of a thinned distribution below and above its 99th percentile."""


def title(value: Value, drawn: Sequence[Line]) -> str:
    """Title of the x axis, with its unit."""
    return FCT if value == "fct" else comparing.slowdown(drawn[0].runs[0].over)


@dataclass(frozen=True)
class Distribution:
    """The share of flows that finished within each of the values."""

    values: tuple[float, ...]
    """Rising, one a flow, or some of them."""
    shares: tuple[float, ...]

    @property
    def complement(self) -> "Distribution":
        """The share that took longer; without the slowest flow, of which no share did."""
        return Distribution(self.values[:-1], tuple(1 - share for share in self.shares[:-1]))

    @property
    def thinned(self) -> "Distribution":
        """All points, or of many some that lie closer in the tail."""
        n = len(self.values)
        if n <= BELOW + TAIL:
            return self
        shares = [0.99 * i / BELOW for i in range(BELOW)]
        shares += [0.99 + 0.01 * i / TAIL for i in range(TAIL + 1)]
        places = sorted({max(0, math.ceil(share * n) - 1) for share in shares})
        return Distribution(
            tuple(self.values[i] for i in places), tuple(self.shares[i] for i in places)
        )


def distributions(results: Sequence[Result], value: Value) -> dict[str, Distribution]:
    """By size class, and of `all`; without classes of which no flow that counts has finished."""
    import polars as pl

    flows = pl.concat([_classified(run) for run in results]).select("size_class", value)
    found = {}
    for name in CLASSES:
        some = flows if name == "all" else flows.filter(pl.col("size_class") == name)
        if n := len(some):
            shares = tuple((i + 1) / n for i in range(n))
            found[name] = Distribution(tuple(some[value].sort()), shares)
    return found


def sized(results: Sequence[Result]) -> "pl.DataFrame":
    """Sizes and slowdowns of flows that count and have finished."""
    import polars as pl

    return pl.concat([_finished(run).select("size_bytes", "slowdown") for run in results])


def _finished(run: Result) -> "pl.DataFrame":
    import polars as pl

    return measured.counted(run).filter(pl.col("fct_s").is_not_null())


def _classified(run: Result) -> "pl.DataFrame":
    """FCT in ms, slowdown and size class of each."""
    import polars as pl

    small, large = (run.size_bytes("measure", name) for name in ("small", "large"))
    size = pl.col("size_bytes")
    return _finished(run).select(
        (pl.col("fct_s") * 1e3).alias("fct"),
        "slowdown",
        pl.when(size <= small)
        .then(pl.lit("small"))
        .when(size <= large)
        .then(pl.lit("medium"))
        .otherwise(pl.lit("large"))
        .alias("size_class"),
    )
