"""A port's queues over time in one run, with the thresholds in force and the marks given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from switchbed import library, quantity
from switchbed._native import Mistake
from switchbed.result import Result
from switchbed.series.runs import Line

if TYPE_CHECKING:
    import polars as pl

TIME, LENGTH = "time (ms)", "queue (KB)"
"""Titles of the axes."""
TOGETHER = "all together"
RAMPS = {"kmin": "kmax", "k1": "k2", "ecn_threshold": "", "threshold": "kmax"}
"""Parameters that a series has as threshold, the first that a scheme knows, with the upper one."""


@dataclass(frozen=True)
class Length:
    """How long a queue, or all queues of a port together, was at each sample."""

    name: str
    kb: tuple[float, ...]
    threshold_kb: tuple[float | None, ...]
    """In force at the sample, whosever length it is compared with."""
    parameter: str = "threshold"
    """Name that the scheme has for it."""
    upper: str = ""
    """Name of the scheme's second threshold, where a ramp ends, if it has one."""
    ratio: float = 1.0
    """The second threshold over the first."""

    def longest(self, each: int) -> list[float]:
        """The longest of each so many samples."""
        return [max(self.kb[i : i + each]) for i in range(0, len(self.kb), each)]


@dataclass(frozen=True)
class Port:
    """Samples of a port's queues."""

    name: str
    times_ms: tuple[float, ...]
    queues: dict[int, Length]
    """Lengths by queue number."""
    together: Length
    marked: tuple[int, ...]
    """Packets that left with the port's mark since the sample before."""
    threshold_of: str
    """Length that the scheme compares with its threshold: that of the `queue`, the `port` or the
    `pool`."""

    @property
    def used(self) -> list[int]:
        """The queues that ever held a packet."""
        return [number for number, queue in self.queues.items() if any(queue.kb)]

    def steps(self, length: Length, most: int) -> list[tuple[float, float]]:
        """Where a threshold changes, with its first and last sample; of more than `most`, some."""
        pairs = zip(self.times_ms, length.threshold_kb, strict=True)
        known = [(time, kb) for time, kb in pairs if kb is not None]
        ends = (0, len(known) - 1)
        found = [p for i, p in enumerate(known) if i in ends or p[1] != known[i - 1][1]]
        return found[:: max(1, -(-len(found) // most))]

    def ticks(self, each: int = 1) -> list[tuple[float, int]]:
        """When packets with the port's mark had left since the tick before, and how many; of so
        many samples together."""
        counts = [sum(self.marked[i : i + each]) for i in range(0, len(self.marked), each)]
        found = zip(self.times_ms[::each], counts, strict=True)
        return [(time, count) for time, count in found if count]


def busiest(run: Result) -> str:
    """The sampled port that held most on average."""
    import polars as pl

    by_port = _sampled(run).group_by("port").agg(pl.col("bytes").mean()).sort("bytes", "port")
    return str(by_port["port"][-1])


def of_port(
    line: Line, run: Result, port: str, window_ms: tuple[float, float] | None = None
) -> Port:
    """The port in a run of the line, within the window."""
    import polars as pl

    found = _sampled(run).filter(pl.col("port") == port)
    if found.is_empty():
        ports = ", ".join(run.series["port"].unique().sort())
        raise Mistake(f"--port {port}: is not in the series of {run}, which has {ports}")
    if window_ms is not None:
        low, high = window_ms
        found = found.filter((pl.col("time_s") * 1e3).is_between(low, high))
        if found.is_empty():
            raise Mistake(f"--window {low:g},{high:g}: holds no sample of {run}")
    sums = found.group_by("time_s", maintain_order=True).agg(
        pl.col("bytes").sum(),
        pl.col("threshold_bytes").first(),
        pl.col("port_marked_packets").first(),
    )
    schemes = _schemes(run.scenario, port)
    each = {int(one["queue"][0]): one for one in found.partition_by("queue", maintain_order=True)}
    return Port(
        port,
        tuple(sums["time_s"] * 1e3),
        {n: _length(f"queue {n}", one, schemes[n % len(schemes)]) for n, one in each.items()},
        _length(TOGETHER, sums, schemes[0]),
        tuple(sums["port_marked_packets"].diff().fill_null(0)),
        library.definition(schemes[0]["name"])["compared"],
    )


def _sampled(run: Result) -> "pl.DataFrame":
    if run.series.is_empty():
        raise Mistake(f"{run}: has no series; run it with measure.series_every")
    return run.series


def _schemes(scenario: Mapping[str, Any], port: str) -> list[dict[str, Any]]:
    """The scheme of each of the port's queues, or one for all."""
    switch = port.rpartition(":")[0]
    own = [it.get("scheme") for it in scenario.get("deploy", ()) if switch in it["switches"]]
    scheme = next((it for it in own if it), scenario["scheme"])
    return scheme.get("queues") or [scheme]


def _length(name: str, frame: "pl.DataFrame", scheme: Mapping[str, Any]) -> Length:
    params = scheme.get("params", {})
    parameter = next((key for key in RAMPS if key in params), "threshold")
    upper, ratio = RAMPS[parameter], 1.0
    if upper not in params:
        upper = ""
    elif (begin := quantity.size(params[parameter])) > 0:
        ratio = quantity.size(params[upper]) / begin
    if ratio <= 1:
        upper = ""
    lengths, thresholds = frame["bytes"] / 1e3, frame["threshold_bytes"] / 1e3
    return Length(name, tuple(lengths), tuple(thresholds), parameter, upper, ratio)
