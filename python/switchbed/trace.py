"""A run as a trace in Chrome's format, which Perfetto and chrome://tracing show: ranks' operations,
flows, queues as counters, marks, drops, pauses."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import files
from switchbed._native import Mistake
from switchbed.result import Result

if TYPE_CHECKING:
    import polars as pl

RANKS, FLOWS, QUEUES, PAUSES = 1, 2, 3, 4
PROCESSES = {RANKS: "ranks", FLOWS: "flows", QUEUES: "queues", PAUSES: "pauses"}
"""Groups of tracks by number: `pid` in the format."""
MOST = 1_000_000
US, NS = 1e6, 1e9
COUNTS = {"port_marked_packets": "marks", "port_dropped_packets": "drops"}
"""Columns of `series` that count packets of a port; results of before have no drops."""
LANES = 1000
"""A track has fewer; more slices at a time are drawn over each other."""
Event = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """The part of a run that is written: a window of time, and how dense counters are."""

    since_s: float = 0.0
    until_s: float = float("inf")
    every_s: float = 0.0
    """Of the samples of a queue within so long, the longest is written. 0: all."""
    most: int = MOST
    """Greatest number of events; a trace with more is refused."""

    def has(self, begin: float, end: float) -> bool:
        """Whether something between these times is seen in the window."""
        return begin <= self.until_s and end >= self.since_s


def write(run: Result, path: Path, choice: Choice) -> int:
    """Writes the trace and returns its number of events; nothing is written if they are too many.

    Raises:
        Mistake: There are too many events, or none.
    """
    count = 0
    with files.whole(path, "--out") as draft, draft.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        for event in events(run, choice):
            file.write(",\n" * (count > 0) + json.dumps(event, separators=(",", ":")))
            count += 1
            if count > choice.most:
                raise Mistake(
                    f"{run}: has more than {choice.most} events: choose by --from, --until and "
                    "--every, or allow more by --most"
                )
        file.write("\n]}\n")
        if count <= len(PROCESSES):
            raise Mistake(f"{run}: nothing happens in this window")
    return count


@dataclass
class _Tracks:
    """Tracks of a group by name. Slices of one track that overlap get lanes, since viewers draw
    nested slices alone."""

    pid: int
    ends: dict[str, list[float]] = field(default_factory=dict)
    """By name: when each lane's last slice ends."""
    named: set[int] = field(default_factory=set)
    """Numbers of lanes that have their names."""

    def _named(self, name: str, order: int, lane: int) -> Iterator[Event]:
        """The lane's name, once."""
        number = self._number(order, lane)
        if number not in self.named:
            self.named.add(number)
            shown = name if lane == 0 else f"{name} ({lane + 1})"
            of = {"ph": "M", "pid": self.pid, "tid": number}
            yield of | {"name": "thread_name", "args": {"name": shown}}

    @staticmethod
    def _number(order: int, lane: int) -> int:
        # Perfetto sorts tracks by their numbers, and shows none that is 0.
        return order * LANES + lane + 1

    def slice(
        self, name: str, order: int, event: Event, times_s: tuple[float, float]
    ) -> Iterator[Event]:
        """A slice in the first lane that is free."""
        begin, end = times_s
        ends = self.ends.setdefault(name, [])
        free = (nth for nth, last in enumerate(ends) if last <= begin)
        lane = min(next(free, len(ends)), LANES - 1)
        ends[lane : lane + 1] = [end]
        yield from self._named(name, order, lane)
        # Whole nanoseconds, viewers' unit: a slice that ends as the next begins does not overlap.
        since, until = (int(time * NS) for time in times_s)
        at = {"ph": "X", "pid": self.pid, "tid": self._number(order, lane)}
        yield event | at | {"ts": since / 1e3, "dur": (until - since) / 1e3}

    def instant(self, name: str, order: int, event: Event, time_s: float) -> Iterator[Event]:
        """A point in time in the first lane."""
        yield from self._named(name, order, 0)
        at = {"ph": "i", "s": "t", "pid": self.pid, "tid": self._number(order, 0)}
        yield event | at | {"ts": time_s * US}


def events(run: Result, choice: Choice) -> Iterator[Event]:
    """The trace's events: names of groups first."""
    for pid, name in PROCESSES.items():
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
    yield from _ranks(run.table("operations"), choice)
    yield from _flows(run.flows, choice)
    yield from _queues(run.series, choice)
    yield from _pauses(run.table("pause_tree"), choice)


def _by_start(frame: "pl.DataFrame") -> Iterator[dict[str, Any]]:
    if not frame.is_empty():
        yield from frame.sort("start_s", maintain_order=True).iter_rows(named=True)


def _ranks(frame: "pl.DataFrame", choice: Choice) -> Iterator[Event]:
    """Calculations and sends as slices, arrivals as instants; a track a rank of an entry."""
    tracks = _Tracks(RANKS)
    if frame.is_empty():
        return
    keys = frame.select("traffic", "rank").unique().sort("traffic", "rank").rows()
    several = keys[0][0] != keys[-1][0]
    orders = {key: nth for nth, key in enumerate(keys)}
    for row in _by_start(frame):
        if not choice.has(row["start_s"], row["end_s"]):
            continue
        peer = "" if row["peer"] is None else int(row["peer"])
        name = {"send": f"send to {peer}", "receive": f"receive from {peer}"}
        event = {
            "cat": f"traffic {row['traffic']}",
            "name": name.get(row["kind"], row["kind"]),
            "args": {key: row[key] for key in ("operation", "repetition", "row", "after")},
        }
        track = f"traffic {row['traffic']} " * several + f"rank {row['rank']}"
        order = orders[row["traffic"], row["rank"]]
        if row["kind"] == "receive":
            # An instant: a message's arrival has no length of its own.
            yield from tracks.instant(track, order, event, row["end_s"])
        else:
            yield from tracks.slice(track, order, event, (row["start_s"], row["end_s"]))


def _flows(frame: "pl.DataFrame", choice: Choice) -> Iterator[Event]:
    """Flows as slices, a track a sending host."""
    tracks = _Tracks(FLOWS)
    for row in _by_start(frame):
        # A flow without an end has no slice that could be closed.
        if row["fct_s"] is None:
            continue
        end = row["start_s"] + row["fct_s"]
        if not choice.has(row["start_s"], end):
            continue
        keys = ("row", "size_bytes", "slowdown", "timeouts", "retransmissions", "ecn_cuts")
        event = {
            "cat": f"class {row['class']}",
            "name": f"{row['src']} to {row['dst']}",
            "args": {key: row[key] for key in keys},
        }
        yield from tracks.slice(f"host {row['src']}", row["src"], event, (row["start_s"], end))


def _queues(frame: "pl.DataFrame", choice: Choice) -> Iterator[Event]:
    """A counter a queue with its length and threshold, and two a port with its marks and drops."""
    import polars as pl

    if frame.is_empty():
        return
    frame = frame.filter(
        pl.col("time_s") >= choice.since_s,
        pl.col("time_s") <= choice.until_s,
    )
    if choice.every_s:
        cell = (pl.col("time_s") / choice.every_s).floor()
        frame = frame.group_by(cell.alias("cell"), "port", "queue", maintain_order=True).agg(
            pl.col("time_s").first(),
            pl.col("bytes").max(),
            pl.col("threshold_bytes").last(),
            *(pl.col(name).max() for name in COUNTS if name in frame.columns),
        )
    counts = {name: what for name, what in COUNTS.items() if name in frame.columns}
    told: dict[tuple[str, str], int] = {}
    for row in frame.iter_rows(named=True):
        port, ts = row["port"], row["time_s"] * US
        lengths = {"bytes": row["bytes"]}
        if row["threshold_bytes"] is not None:
            lengths["threshold"] = row["threshold_bytes"]
        yield _counter(f"{port} queue {row['queue']}", ts, lengths)
        # Every queue's row has its port's counts, which are written once per change.
        for name, what in counts.items():
            if told.get((port, what)) != row[name]:
                told[port, what] = row[name]
                yield _counter(f"{port} {what}", ts, {"packets": row[name]})


def _counter(name: str, ts: float, values: Mapping[str, Any]) -> Event:
    return {"ph": "C", "pid": QUEUES, "tid": 0, "name": name, "ts": ts, "args": dict(values)}


def _pauses(frame: "pl.DataFrame", choice: Choice) -> Iterator[Event]:
    """The times for which ports were held, a track a port."""
    tracks = _Tracks(PAUSES)
    order: dict[str, int] = {}
    for row in _by_start(frame):
        if not choice.has(row["start_s"], row["end_s"]):
            continue
        event = {
            "cat": "pause",
            "name": f"class {row['class']} held",
            "args": {key: row[key] for key in ("pause", "cause", "root")},
        }
        place = order.setdefault(row["port"], len(order))
        yield from tracks.slice(row["port"], place, event, (row["start_s"], row["end_s"]))
