"""Goodput over time in one run: each class, its share of the total, and the fair share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.result import Result
from switchbed.series.queues import TOGETHER

if TYPE_CHECKING:
    import polars as pl

GOODPUT, SHARE = "goodput (Gbps)", "share of goodput (%)"
"""Titles of the axes."""


@dataclass(frozen=True)
class Clock:
    """The unit of an axis of time."""

    scale: float
    """A second in this unit."""
    unit: str

    @classmethod
    def of(cls, results: Sequence[Result]) -> "Clock":
        """Of the goodput of these runs: seconds from one on, else milliseconds."""
        last = max((float(run.goodput["time_s"][-1]) for run in results), default=0.0)
        return cls(1.0, "s") if last >= 1 else cls(1e3, "ms")

    @property
    def title(self) -> str:
        """Title of the y axis."""
        return f"time ({self.unit})"


@dataclass(frozen=True)
class Received:
    """Goodput of a class, or of all classes together, in each interval."""

    name: str
    gbps: tuple[float, ...]
    fair_gbps: tuple[float, ...]
    """Max-min fair; empty where its flows do not send all the time."""


@dataclass(frozen=True)
class Goodput:
    """A run's goodput."""

    times: tuple[float, ...]
    """On the clock that was asked for."""
    classes: dict[int, Received]
    """By number."""
    share_pct: dict[int, tuple[float | None, ...]]
    """Share of the goodput of all classes, by class; `None` in an interval in which nothing
    arrived."""
    together: Received

    @property
    def mean_gbps(self) -> float:
        """Return the mean goodput of all classes together."""
        return sum(self.together.gbps) / len(self.together.gbps)


def goodput(run: Result, clock: Clock) -> Goodput:
    """The run's, which must have been measured."""
    import polars as pl

    total = pl.col("goodput_bps").sum().over("time_s")
    share = pl.when(total > 0).then(100 * pl.col("goodput_bps") / total).alias("share")
    frame = run.goodput.with_columns(share)
    sums = frame.group_by("time_s", maintain_order=True).agg(
        pl.col("goodput_bps", "fair_bps").sum()
    )
    each = {int(one["class"][0]): one for one in frame.partition_by("class", maintain_order=True)}
    return Goodput(
        tuple(sums["time_s"] * clock.scale),
        {number: _received(f"class {number}", one) for number, one in each.items()},
        {number: tuple(one["share"]) for number, one in each.items()},
        _received(TOGETHER, sums),
    )


def _received(name: str, frame: "pl.DataFrame") -> Received:
    fair = tuple(frame["fair_bps"] / 1e9)
    return Received(name, tuple(frame["goodput_bps"] / 1e9), fair if any(fair) else ())


def classes(results: Sequence[Result]) -> list[int]:
    """Return the classes that received anything over time, in any run."""
    for run in results:
        if run.goodput.is_empty():
            raise Mistake(f"{run}: has no goodput over time; run it with measure.goodput_every")
    return sorted({int(number) for run in results for number in run.goodput["class"].unique()})


def metrics(results: Sequence[Result]) -> tuple[str, ...]:
    """Return the metric of each class's share, for a curve over a setting."""
    return tuple(f"share[class={number}].mean_pct" for number in classes(results))
