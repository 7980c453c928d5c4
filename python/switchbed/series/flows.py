"""Flows of one run over time, as their senders see them: window, round trip, rates."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from switchbed._native import Mistake
from switchbed.result import Result

if TYPE_CHECKING:
    import polars as pl

TIME = "time (ms)"
QUANTITIES = {
    "window": ("cwnd_packets", 1.0, "packets"),
    "threshold": ("ssthresh_packets", 1.0, "packets"),
    "rtt": ("srtt_s", 1e6, "µs"),
    "sample": ("rtt_s", 1e6, "µs"),
    "flight": ("in_flight_bytes", 1e-3, "KB"),
    "pacing": ("pacing_bps", 1e-9, "Gbps"),
    "rate": ("delivered_bps", 1e-9, "Gbps"),
    "alpha": ("alpha", 1.0, ""),
}
"""Column, factor and unit of each quantity that a plot may show."""
TITLES = {
    "window": "cwnd",
    "threshold": "slow-start threshold",
    "rtt": "smoothed RTT",
    "sample": "RTT sample",
    "flight": "in flight",
    "pacing": "pacing rate",
    "rate": "delivery rate",
    "alpha": "α",
}


@dataclass(frozen=True)
class Flow:
    """A flow's samples."""

    row: int
    name: str
    times_ms: tuple[float, ...]
    values: tuple[float | None, ...]


def axis(quantity: str) -> str:
    """The axis of a quantity: `smoothed RTT (µs)`."""
    unit = QUANTITIES[quantity][2]
    return f"{TITLES[quantity]} ({unit})" if unit else TITLES[quantity]


def rows(run: Result) -> list[int]:
    """The flows that were sampled, by their rows."""
    return [int(row) for row in _sampled(run)["row"].unique().sort()]


def of(
    run: Result, quantity: str, chosen: list[int], window_ms: tuple[float, float] | None = None
) -> list[Flow]:
    """The samples of these flows, within the window; a flow without values is left away."""
    import polars as pl

    column, factor, _ = QUANTITIES[quantity]
    frame = _sampled(run)
    if column not in frame.columns:
        raise Mistake(
            f"{run}: has no {TITLES[quantity]}s; run it with measure.flow_series without `every`"
        )
    if window_ms is not None:
        low, high = window_ms
        frame = frame.filter((pl.col("time_s") * 1e3).is_between(low, high))
        if frame.is_empty():
            raise Mistake(f"--window {low:g},{high:g}: holds no sample of {run}")
    found = []
    for row in chosen:
        own = frame.filter(pl.col("row") == row)
        if quantity == "sample":
            own = own.drop_nulls(column)
        if own[column].null_count() < len(own):
            values = tuple(own[column].cast(pl.Float64) * factor)
            found.append(Flow(row, _name(run, row), tuple(own["time_s"] * 1e3), values))
    return found


def _name(run: Result, row: int) -> str:
    """`flow 3, prague`: with the transport where a run has several."""
    import polars as pl

    if "transport" not in run.flows.columns:
        return f"flow {row}"
    transport = run.flows.filter(pl.col("row") == row)["transport"]
    return f"flow {row}, {transport[0]}" if len(transport) else f"flow {row}"


def _sampled(run: Result) -> "pl.DataFrame":
    table = run.table("flow_series")
    if table.is_empty():
        raise Mistake(f"{run}: has no samples of flows; run it with measure.flow_series")
    return table
