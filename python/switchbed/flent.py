"""A run, or a lab's, as a data file of flent (version 4 of its format, https://flent.org): goodput
of endless flows and round-trip times of probes over time.

Series have the names that flent's own tests have, so that its plots of these tests draw the file.
"""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native, files
from switchbed._native import Mistake
from switchbed.live import measured
from switchbed.result import Result

if TYPE_CHECKING:
    import polars as pl

VERSION = 4
PING = "Ping (ms) ICMP"
SIDES = ("live", "simulated")
"""Parts of a lab's folder."""
RRUL = {0: "BE", 8: "BK", 40: "CS5", 46: "EF"}
"""Names of the classes of flent's test rrul, by DSCP."""

Values = list[float | None]


@dataclass(frozen=True)
class Source:
    """Tables that a data file is made of."""

    title: str
    scenario: dict[str, Any]
    made: datetime
    flows: "pl.DataFrame"
    goodput: "pl.DataFrame | None"
    """In the columns of `measured.GOODPUT`."""
    pings: "pl.DataFrame"
    """`time_s` and `rtt_s`."""


def read(folder: Path, side: str | None) -> Source:
    """Read a result directory, or a lab's folder of one run."""
    if not (folder / SIDES[0]).is_dir():
        if side is not None:
            raise Mistake(f"--of {side}: {folder} is no lab's: leave it out")
        run = Result.load(folder)
        if "rtt_s" in run.table("flow_series").columns:
            raise Mistake(
                f"{run}: has a row for each change of a flow, and flent's files have even times; "
                "run it with measure.flow_series.every"
            )
        pings, goodput = run.probes, measured.simulated_goodput(run)
        settings = [f"{key}={value}" for key, value in run.settings.items()] or [run.label]
        title = ", ".join([*settings, f"seed {run.seed}"])
        return Source(title, run.scenario, _made(folder), run.flows, goodput, pings)
    import polars as pl

    scenario = files.read_json(folder / "scenario.json")
    place = folder / (side or SIDES[0])
    flows, pings = (pl.read_parquet(place / f"{name}.parquet") for name in ("flows", "pings"))
    series = place / "goodput.parquet"
    goodput = pl.read_parquet(series) if series.exists() else None
    title = f"{scenario['scheme']['label']}, {place.name}"
    return Source(title, scenario, _made(folder), flows, goodput, pings)


def _made(folder: Path) -> datetime:
    """Return when a result was written, in whole seconds."""
    return datetime.fromtimestamp(int((folder / "summary.json").stat().st_mtime), UTC)


def write(source: Source, out: Path) -> None:
    """Writes the data file; one that ends in `.gz` is compressed."""
    text = json.dumps(data(source), indent=2, sort_keys=True) + "\n"
    raw = text.encode()
    with files.whole(out, "--out") as draft:
        # A time stamp of 0: the same run gives the same bytes.
        draft.write_bytes(gzip.compress(raw, mtime=0) if out.suffix == ".gz" else raw)


def data(source: Source) -> dict[str, Any]:
    """Return the content of the data file."""
    if source.goodput is None or source.goodput.is_empty():
        raise Mistake(
            f"{source.title}: has no goodput over time: it needs flows without an end, and "
            f'measure.flow_series, such as {{ every = "100ms" }}'
        )
    times = source.goodput["time_s"].unique().sort().to_list()
    # Times are the ends of intervals, so a lone one is as long as its interval.
    step = times[0] if len(times) == 1 else times[1] - times[0]
    named, test = _named(source)
    series = {name: _of(source.goodput, rows, times) for name, rows in named.items()}
    pings: list[tuple[float, float]] = []
    # The table of a run without probes has no columns.
    if not source.pings.is_empty():
        pings = source.pings.drop_nulls("rtt_s").sort("time_s").select("time_s", "rtt_s").rows()
    # flent's raw values have seconds since 1970, its x values seconds since the start.
    epoch = source.made.timestamp()
    raw = {
        name: [
            {"t": epoch + at, "val": value}
            for at, value in zip(times, values, strict=True)
            if value is not None
        ]
        for name, values in series.items()
    }
    meta: dict[str, Any] = {name: {"UNITS": "Mbits/s"} for name in series}
    results = dict(series)
    for way in ("download", "upload"):
        # flent's plots draw the sum and the mean of each direction, if they are there.
        own = [values for name, values in series.items() if name.startswith(f"TCP {way}")]
        if own:
            sums = [_sum(each) for each in zip(*own, strict=True)]
            means = [None if total is None else total / len(own) for total in sums]
            results |= {f"TCP {way} sum": sums, f"TCP {way} avg": means}
            meta |= {f"TCP {way} {name}": {"UNITS": "Mbits/s"} for name in ("sum", "avg")}
    if pings:
        raw[PING] = [{"t": epoch + at, "val": rtt * 1e3} for at, rtt in pings]
        results[PING] = _mean_by_step(pings, times, step)
        meta[PING] = {"UNITS": "ms"}
    length = round(times[-1])
    when = source.made.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    metadata = {
        "NAME": test,
        "TITLE": source.title,
        "TIME": when,
        "T0": when,
        "STEP_SIZE": step,
        "LENGTH": length,
        "TOTAL_LENGTH": length,
        "HOST": "switchbed",
        "HOSTS": ["switchbed"],
        "LOCAL_HOST": "switchbed",
        "IP_VERSION": 4,
        "FLENT_VERSION": f"switchbed {_native.__version__}",
        "TEST_PARAMETERS": {},
        "NOTE": source.scenario["title"],
        "SERIES_META": meta,
    }
    return {
        "version": VERSION,
        "metadata": metadata,
        "x_values": times,
        "results": results,
        "raw_values": raw,
    }


def _of(goodput: "pl.DataFrame", rows: Sequence[int], times: Sequence[float]) -> Values:
    """Return the goodput of flows together at each time, in Mbps; none before they start."""
    import polars as pl

    own = goodput.filter(pl.col("row").is_in(list(rows)))
    total = own.group_by("time_s").agg(pl.col("goodput_bps").sum())
    found = dict(zip(total["time_s"], total["goodput_bps"], strict=True))
    return [found[at] / 1e6 if at in found else None for at in times]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _named(source: Source) -> tuple[dict[str, list[int]], str]:
    """Name the series of endless flows with their rows, and the test of flent's that has them."""
    import polars as pl

    # Flows that were not sampled (measure.flow_series.rows) are no part of sums and means.
    sampled = [] if source.goodput is None else source.goodput["row"].unique().to_list()
    endless = pl.col("size_bytes").is_null() & pl.col("row").is_in(sampled)
    flows = source.flows.filter(endless).sort("row")
    ends = flows.select("src", "dst", "row", "class").rows()
    client = _client([(src, dst) for src, dst, _, _ in ends], source.scenario)
    ways: dict[str, list[tuple[int, int]]] = {"download": [], "upload": []}
    for src, _, row, of in ends:
        ways["upload" if src == client else "download"].append((row, of))
    if all(sorted(of for _, of in own) == sorted(RRUL) for own in ways.values()):
        rrul = {f"TCP {way} {RRUL[of]}": [row] for way, own in ways.items() for row, of in own}
        return rrul, "rrul"
    test = {(True, False): "tcp_ndown", (False, True): "tcp_nup"}
    both = "rrul_be_nflows"
    name = test.get((bool(ways["download"]), bool(ways["upload"])), both)
    # The test rrul_be_nflows has the class in the names of its series, the other two have not.
    middle = " BE" if name == both else ""
    found = {
        f"TCP {way}{middle}::{nth}": [row]
        for way, own in ways.items()
        for nth, (row, _) in enumerate(own, start=1)
    }
    return found, name


def _client(ends: Sequence[tuple[int, int]], scenario: dict[str, Any]) -> int | None:
    """Return the host at an end of every flow; of two, the one that probes. `None`: every flow is a
    download."""
    common = set.intersection(*(set(each) for each in ends))
    # Both ends are common where all flows join the same two hosts.
    if len(common) > 1:
        probing = {
            source["from"] for source in scenario["traffic"] if source["kind"] == "probe"
        } & common
        common = probing or {ends[0][1]}
    return min(common, default=None)


def _mean_by_step(
    pings: Sequence[tuple[float, float]], times: Sequence[float], step: float
) -> Values:
    """Return the mean round-trip time of the probes sent in each interval, in ms."""
    found: list[list[float]] = [[] for _ in times]
    begin = times[0] - step
    for at, rtt in pings:
        # Probes before the first interval or after the last are left out.
        nth = int((at - begin) / step)
        if 0 <= nth < len(found):
            found[nth].append(rtt * 1e3)
    return [sum(each) / len(each) if each else None for each in found]
