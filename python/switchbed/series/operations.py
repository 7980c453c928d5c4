"""Operations of collectives and schedules in one run: what ranks did, and what the time went to.
Bus bandwidth of collectives over their size, of runs that differ in seed and size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from switchbed import stats
from switchbed._native import Mistake
from switchbed.result import Result

if TYPE_CHECKING:
    import polars as pl

PARTS = ("calculation", "empty network", "queueing", "pause", "retransmission")
"""Parts of the time of a critical path."""


@dataclass(frozen=True)
class Step:
    """An operation on a critical path, from the end of the one before to its own."""

    rank: int
    operation: int
    kind: str
    peer: int | None
    row: int | None
    start_s: float
    end_s: float
    parts: dict[str, float]
    """Seconds by `PARTS`, which add up to its time."""
    places: tuple[tuple[str, int, float], ...] = ()
    """Ports and queues where its packets waited, the longest wait first, with their parts of the
    seconds of queueing and pause; without the table waits none is known."""


@dataclass(frozen=True)
class Path:
    """Operations each of which waited for the one before, up to the last of a repetition."""

    traffic: int
    repetition: int
    steps: tuple[Step, ...]

    @property
    def took_s(self) -> float:
        """From the beginning of the first step to the end of the last."""
        return self.steps[-1].end_s - self.steps[0].start_s

    @property
    def shares(self) -> dict[str, float]:
        """The fraction of the time by part."""
        sums = {part: sum(step.parts[part] for step in self.steps) for part in PARTS}
        whole = sum(sums.values()) or 1.0
        return {part: found / whole for part, found in sums.items()}

    @property
    def places(self) -> list[tuple[str, int, float]]:
        """The fraction of the time that messages waited by port and queue, the largest first."""
        sums: dict[tuple[str, int], float] = {}
        for step in self.steps:
            for port, queue, seconds in step.places:
                sums[port, queue] = sums.get((port, queue), 0.0) + seconds
        whole = sum(sum(step.parts.values()) for step in self.steps) or 1.0
        found = [(port, queue, seconds / whole) for (port, queue), seconds in sums.items()]
        return sorted(found, key=lambda place: (-place[2], place[:2]))

    def slowest(self, most: int = 5) -> list[Step]:
        """The messages that took the longest beyond an empty network."""
        late = [step for step in self.steps if step.row is not None and beyond(step) > 0]
        return sorted(late, key=lambda step: (-beyond(step), step.end_s))[:most]


def beyond(step: Step) -> float:
    """The time of a step that an empty network would not have taken."""
    return step.parts["queueing"] + step.parts["pause"] + step.parts["retransmission"]


def frame(run: Result) -> "pl.DataFrame":
    """The table operations; refused where the run has none."""
    found = run.table("operations")
    if found.is_empty():
        raise Mistake(f"{run}: has no operations; run it with measure.operations = true")
    return found


def critical(run: Result, traffic: int | None = None, repetition: int | None = None) -> Path:
    """The critical path of a repetition: the last one, of the first entry, unless others are asked
    for. A message's time beyond an empty network is pause where ports on its way were held, else
    retransmission where its sender waited for a timer, else queueing. Queueing and pause are dealt
    to ports and queues as packets waited there (measure.waits)."""
    import polars as pl

    found = frame(run)
    traffic = int(found["traffic"].min()) if traffic is None else traffic  # type: ignore[arg-type]
    own = found.filter(pl.col("traffic") == traffic)
    if own.is_empty():
        has = ", ".join(map(str, found["traffic"].unique().sort()))
        raise Mistake(f"traffic {traffic}: has no operations in {run}; there is {has}")
    last = int(own["repetition"].max())  # type: ignore[arg-type]
    repetition = last if repetition is None else repetition
    own = own.filter(pl.col("repetition") == repetition)
    if own.is_empty():
        raise Mistake(f"repetition {repetition}: is none of {run}; the last is {last}")
    rows = {(row["rank"], row["operation"]): row for row in own.iter_rows(named=True)}
    sends = {int(row["row"]): row for row in rows.values() if row["kind"] == "send"}
    flows = {
        row["row"]: row
        for row in run.flows.filter(pl.col("traffic") == traffic).iter_rows(named=True)
    }
    places = _Places(run, {row["rank"]: row["host"] for row in rows.values()})
    at: dict[str, Any] | None = max(rows.values(), key=lambda row: (row["end_s"], row["rank"]))
    steps: list[Step] = []
    while at is not None:
        before = _before(at, rows, sends)
        if at["kind"] == "receive" and before is not None and before["kind"] == "send":
            # The message, from its sending to its arrival.
            steps.append(places.of(_step(at, before["start_s"], flows)))
            after = before["after"]
            at = None if after is None else rows.get((before["rank"], int(after)))
            continue
        steps.append(places.of(_step(at, at["start_s"], flows)))
        at = before
    return Path(traffic, repetition, tuple(reversed(steps)))


class _Places:
    """Where messages waited, by the table waits."""

    def __init__(self, run: Result, hosts: dict[int, int]) -> None:
        self._waits = run.table("waits")
        self._hosts = hosts

    def of(self, step: Step) -> Step:
        """The step with its places. Packets between its hosts that came within its time count as
        its own."""
        import polars as pl

        late = step.parts["queueing"] + step.parts["pause"]
        if self._waits.is_empty() or step.peer is None or late <= 0:
            return step
        ends = (step.peer, step.rank) if step.kind == "receive" else (step.rank, step.peer)
        src, dst = (self._hosts.get(rank) for rank in ends)
        within = (pl.col("end_s") > step.start_s) & (pl.col("start_s") < step.end_s)
        own = self._waits.filter((pl.col("src") == src) & (pl.col("dst") == dst) & within)
        sums = own.group_by("port", "queue").agg(pl.col("waited_s").sum())
        whole = float(sums["waited_s"].sum())
        found = [
            (row["port"], int(row["queue"]), late * row["waited_s"] / whole)
            for row in sums.iter_rows(named=True)
        ]
        ordered = sorted(found, key=lambda place: (-place[2], place[:2]))
        return replace(step, places=tuple(ordered))


def _before(
    row: dict[str, Any], rows: dict[tuple[int, int], dict[str, Any]], sends: dict[int, Any]
) -> dict[str, Any] | None:
    """The operation that one waited for last: one of its rank, or the send of its message."""
    if row["after"] is not None:
        return rows.get((row["rank"], int(row["after"])))
    if row["kind"] == "receive" and row["row"] is not None:
        return sends.get(int(row["row"]))
    return None


def _step(row: dict[str, Any], start_s: float, flows: dict[int, Any]) -> Step:
    took = row["end_s"] - start_s
    parts = dict.fromkeys(PARTS, 0.0)
    number = None if row["row"] is None else int(row["row"])
    if row["kind"] == "calculate":
        parts["calculation"] = took
    elif (
        took > 0
        and number is not None
        and (flow := flows.get(number)) is not None
        and flow["slowdown"] is not None
    ):
        ideal = flow["fct_s"] / flow["slowdown"]
        if row["kind"] == "receive":
            # Without the way back of the last ACK, which an arrival does not wait for.
            ideal = min(ideal, took)
        late = max(0.0, took - ideal)
        waited = min(late, flow["waited_s"] or 0.0)
        part = "pause" if flow["waited_for"] == "pause" else "retransmission"
        parts[part] = waited if flow["waited_for"] else 0.0
        parts["queueing"] = late - parts[part]
        parts["empty network"] = took - late
    else:
        parts["empty network"] = took
    peer = None if row["peer"] is None else int(row["peer"])
    return Step(
        row["rank"], row["operation"], row["kind"], peer, number, start_s, row["end_s"], parts
    )


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
    # No seed is faster than an empty network, and so no interval is.
    within = stats.Range(0.0, max(ideal for _, ideal in values))
    reached = stats.mean([value for value, _ in values], within=within)
    return Point(size, reached, sum(ideal for _, ideal in values) / len(values))
