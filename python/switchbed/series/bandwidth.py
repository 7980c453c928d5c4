"""Bus bandwidth of collectives over their size, of runs that differ in seed and size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from switchbed import stats
from switchbed.result import Result


@dataclass(frozen=True)
class Point:
    """A size, in bytes as nccl-tests counts them, and what was reached."""

    bytes: int
    gbps: stats.Interval
    ideal_gbps: float


@dataclass(frozen=True)
class Curve:
    """An operation by an algorithm: all-reduce, ring."""

    name: str
    points: tuple[Point, ...]


def size_key(results: Sequence[Result]) -> str | None:
    """The setting that is a collective's size, where sizes are compared."""
    keys = {key for run in results for key in run.settings if key.split(".")[-1] == "bytes"}
    return next(iter(sorted(keys)), None)


def curves(runs: Iterable[Result], traffic: int | None = None) -> list[Curve]:
    """A curve for each operation and algorithm, of the entry `traffic` or of all."""
    found: dict[str, dict[int, list[tuple[float, float]]]] = {}
    for run in runs:
        for job in run.summary().get("jobs", ()):
            if job["busbw_bps"] is None or traffic not in (None, job["traffic"]):
                continue
            name = f"{job['operation']}, {job['algorithm']}"
            ideal = job["busbw_bps"] * job["slowdown"]
            at = found.setdefault(name, {}).setdefault(job["bytes"], [])
            at.append((job["busbw_bps"] / 1e9, ideal / 1e9))
    return [
        Curve(name, tuple(_point(size, values) for size, values in sorted(sizes.items())))
        for name, sizes in found.items()
    ]


def _point(size: int, values: list[tuple[float, float]]) -> Point:
    reached = stats.mean([value for value, _ in values], within=stats.POSITIVE)
    return Point(size, reached, sum(ideal for _, ideal in values) / len(values))
