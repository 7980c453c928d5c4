"""How busy links were, over time by the tiers that they join, and how evenly they were used."""

from collections.abc import Sequence
from dataclasses import dataclass

from switchbed._native import Mistake
from switchbed.result import Result

TIME, USED = "time (ms)", "utilisation (%)"
"""Titles of the axes."""
RANKED = "links, the busiest first"


@dataclass(frozen=True)
class Tier:
    """Links from one tier to another, one way, over time, in percent of each interval."""

    name: str
    links: int
    times_ms: tuple[float, ...]
    mean: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]

    @property
    def fabric(self) -> bool:
        """Whether they join switches: hosts' links are idle or full one by one."""
        return "host" not in self.name.split("-")


@dataclass(frozen=True)
class Use:
    """How evenly links between two tiers were used, one way."""

    used: tuple[float, ...]
    """Percent of the time that links were sending, the busiest first: means over seeds by rank."""
    jain: float
    busiest_over_mean: float

    @property
    def described(self) -> str:
        """`Jain 0.85, busiest 1.6 times the mean`."""
        return f"Jain {self.jain:.2f}, busiest {self.busiest_over_mean:.2g} times the mean"


def over_time(run: Result, window_ms: tuple[float, float] | None = None) -> list[Tier]:
    """The tiers' links within the window, in the order of the table."""
    import polars as pl

    frame = run.table("link_series")
    if frame.is_empty():
        raise Mistake(f"{run}: has no series of links; run it with measure.link_series")
    if window_ms is not None:
        low, high = window_ms
        frame = frame.filter((pl.col("time_s") * 1e3).is_between(low, high))
        if frame.is_empty():
            raise Mistake(f"--window {low:g},{high:g}: holds no sample of {run}")
    used = 100 * pl.col("utilisation")
    found = frame.group_by("tiers", "time_s", maintain_order=True).agg(
        used.mean().alias("mean"), used.min().alias("least"), used.max().alias("most"), pl.len()
    )
    return [
        Tier(
            str(own["tiers"][0]),
            int(own["len"][0]),
            tuple(own["time_s"] * 1e3),
            tuple(own["mean"]),
            tuple(own["least"]),
            tuple(own["most"]),
        )
        for own in found.partition_by("tiers", maintain_order=True)
    ]


def uses(runs: Sequence[Result]) -> dict[str, Use]:
    """Use of links between switches, by the tiers that they join; runs differ in the seed."""
    found: dict[str, list[tuple[list[float], float, float]]] = {}
    for run in runs:
        # Summaries leave out what is empty.
        for tiers, own in run.summary().get("paths", {}).items():
            used = sorted(_used(run, tiers), reverse=True)
            found.setdefault(tiers, []).append((used, own["jain"], own["busiest_over_mean"]))
    return {tiers: _mean(seeds) for tiers, seeds in found.items()}


def _used(run: Result, tiers: str) -> list[float]:
    import polars as pl

    ports = run.counters
    if "tiers" not in ports.columns:
        raise Mistake(f"{run}: lacks the tiers of its ports, as older versions do; run it again")
    return [100 * used for used in ports.filter(pl.col("tiers") == tiers)["utilisation"]]


def _mean(seeds: Sequence[tuple[list[float], float, float]]) -> Use:
    count = len(seeds)
    ranks = zip(*(used for used, _, _ in seeds), strict=True)
    return Use(
        tuple(sum(rank) / count for rank in ranks),
        sum(jain for _, jain, _ in seeds) / count,
        sum(over for _, _, over in seeds) / count,
    )
