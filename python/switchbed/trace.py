"""A run as a trace in Chrome's format, which Perfetto and chrome://tracing show: ranks' operations,
flows, queues as counters, marks, pauses."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
US = 1e6
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
        # Anything that overlaps the window counts, slices that begin before it too.
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
            # JSON allows no comma behind the last element, so each event but the first has one
            # before it.
            file.write(",\n" * (count > 0) + json.dumps(event, separators=(",", ":")))
            count += 1
            # Counted while writing: the number is known only once tables were filtered and thinned.
            if count > choice.most:
                raise Mistake(
                    f"{run}: has more than {choice.most} events: choose by --from, --until and "
                    "--every, or allow more by --most"
                )
        file.write("\n]}\n")
        # The names of the groups are events too.
        if count <= len(PROCESSES):
            raise Mistake(f"{run}: nothing happens in this window")
    return count


def events(run: Result, choice: Choice) -> Iterator[Event]:
    """The trace's events: names of groups first."""
    for pid, name in PROCESSES.items():
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
    yield from _ranks(run.table("operations"), choice)
    yield from _flows(run.flows, choice)
    yield from _queues(run.series, choice)
    yield from _pauses(run.table("pause_tree"), choice)


def _ranks(frame: "pl.DataFrame", choice: Choice) -> Iterator[Event]:
    """Calculations and sends as slices that may overlap, arrivals as instants; a track a rank."""
    for nth, row in enumerate(frame.iter_rows(named=True)):
        if not choice.has(row["start_s"], row["end_s"]):
            continue
        peer = "" if row["peer"] is None else int(row["peer"])
        name = {"send": f"send to {peer}", "receive": f"receive from {peer}"}
        of = {
            "pid": RANKS,
            "tid": row["rank"],
            "cat": f"traffic {row['traffic']}",
            "name": name.get(row["kind"], row["kind"]),
        }
        told = {key: row[key] for key in ("operation", "repetition", "row", "after")}
        if row["kind"] == "receive":
            # An instant: a message's arrival has no length of its own.
            yield of | {"ph": "i", "s": "t", "ts": row["end_s"] * US, "args": told}
        else:
            yield from _slice(of, f"o{nth}", (row["start_s"], row["end_s"]), told)


def _flows(frame: "pl.DataFrame", choice: Choice) -> Iterator[Event]:
    """Flows as slices, a track a sending host."""
    for nth, row in enumerate(frame.iter_rows(named=True)):
        # A flow without an end has no slice that could be closed.
        if row["fct_s"] is None:
            continue
        end = row["start_s"] + row["fct_s"]
        if not choice.has(row["start_s"], end):
            continue
        of = {
            "pid": FLOWS,
            "tid": row["src"],
            "cat": f"class {row['class']}",
            "name": f"{row['src']} to {row['dst']}",
        }
        keys = ("row", "size_bytes", "slowdown", "timeouts", "retransmissions", "ecn_cuts")
        told = {key: row[key] for key in keys}
        yield from _slice(of, f"f{nth}", (row["start_s"], end), told)


def _slice(
    of: Event, number: str, times_s: tuple[float, float], told: Mapping[str, Any]
) -> Iterator[Event]:
    """The two ends of a slice beside others of its track."""
    begin, end = times_s
    # Asynchronous slices, as complete ones ("X") of a track must nest and flows overlap.
    yield of | {"ph": "b", "id": number, "ts": begin * US, "args": dict(told)}
    yield of | {"ph": "e", "id": number, "ts": end * US}


def _queues(frame: "pl.DataFrame", choice: Choice) -> Iterator[Event]:
    """A counter a queue with its length and its threshold, and one a port with its marks."""
    import polars as pl

    if frame.is_empty():
        return
    frame = frame.filter(
        pl.col("time_s") >= choice.since_s,
        pl.col("time_s") <= choice.until_s,
    )
    if choice.every_s:
        # Bins are aligned with time 0, so all queues are thinned at the same times.
        cell = (pl.col("time_s") / choice.every_s).floor()
        frame = frame.group_by(cell.alias("cell"), "port", "queue", maintain_order=True).agg(
            pl.col("time_s").first(),
            pl.col("bytes").max(),
            pl.col("threshold_bytes").last(),
            pl.col("port_marked_packets").max(),
        )
    marked: dict[str, int] = {}
    for row in frame.iter_rows(named=True):
        port, ts = row["port"], row["time_s"] * US
        lengths = {"bytes": row["bytes"]}
        if row["threshold_bytes"] is not None:
            lengths["threshold"] = row["threshold_bytes"]
        yield _counter(f"{port} queue {row['queue']}", ts, lengths)
        # Every queue's row has its port's count, which is written once per change.
        if marked.get(port) != (marks := row["port_marked_packets"]):
            marked[port] = marks
            yield _counter(f"{port} marks", ts, {"packets": marks})


def _counter(name: str, ts: float, values: Mapping[str, Any]) -> Event:
    return {"ph": "C", "pid": QUEUES, "tid": 0, "name": name, "ts": ts, "args": dict(values)}


def _pauses(frame: "pl.DataFrame", choice: Choice) -> Iterator[Event]:
    """The times for which ports were held, a track a port."""
    tracks: dict[str, int] = {}
    for row in frame.iter_rows(named=True):
        if not choice.has(row["start_s"], row["end_s"]):
            continue
        known = row["port"] in tracks
        # Tracks are numbers in the format; the first pause of a port gives it the next one and a
        # name.
        track = tracks.setdefault(row["port"], len(tracks))
        if not known:
            yield {
                "ph": "M",
                "pid": PAUSES,
                "tid": track,
                "name": "thread_name",
                "args": {"name": row["port"]},
            }
        of = {"pid": PAUSES, "tid": track, "cat": "pause", "name": f"class {row['class']} held"}
        told = {key: row[key] for key in ("pause", "cause", "root")}
        yield from _slice(of, f"p{row['pause']}", (row["start_s"], row["end_s"]), told)
