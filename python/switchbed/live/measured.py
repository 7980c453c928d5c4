"""Measurements of a run, simulated or live, in one form; and a comparison of both."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed.live import agent
from switchbed.live.scale import seconds, size_bytes

if TYPE_CHECKING:
    import polars as pl

    from switchbed.live.lab import Setup
    from switchbed.result import Result

WINDOW_S = 0.1
"""The highest rate is that of a window of this length."""

ETHERNET_HEADER = 14


@dataclass(frozen=True)
class Measured:
    """Measurements of one run, live or simulated."""

    flows: "pl.DataFrame"
    """Flows, in the columns of a simulation's table `flows`."""
    series: "pl.DataFrame"
    """Samples of queues, in the columns of a simulation's table `series`."""
    pings: "pl.DataFrame"
    """`time_s` when it was sent, `class` and `rtt_s` of every probe that came back."""
    counters: dict[str, Any]
    """Marks, drops and whatever else was counted, since the warm-up."""
    stats: dict[str, Any] = field(default_factory=dict)
    """Live: the switch's last statistics."""
    goodput: "pl.DataFrame | None" = None
    """Endless flows over time, in the columns of `GOODPUT`."""
    peak_mbps: float | None = None
    """Live: the highest rate of full packets at a receiver over `WINDOW_S`."""


def gather(
    setup: "Setup",
    reports: list[dict[str, Any]],
    stats: dict[str, Any],
    counters: dict[str, int],
    series: Path,
    start: float,
    zero: float,
) -> Measured:
    """Collect the measurements of hosts and switch. `start` is when the flows began and `zero` when
    the switch did, by the clock that all share."""
    ports = {port["port"]: f"switch:{i}" for i, port in enumerate(stats["ports"])}
    peak = max((peak_bps(report["readings"]) for report in reports), default=0.0)
    return Measured(
        flows=_flows(setup, reports, start),
        series=_series(series, ports, start - zero),
        pings=_pings(reports, start),
        goodput=_goodput(setup, reports, start),
        counters=counters,
        peak_mbps=peak * ip_part(setup.scenario) / 1e6,
        stats=stats | {"ports": [p | {"port": ports[p["port"]]} for p in stats["ports"]]},
    )


def ip_part(scenario: dict[str, Any]) -> float:
    """The part of a full frame that is its packet."""
    host = scenario["host"]
    # The same of all: a lab's switch has one.
    mtu = size_bytes((host[0] if isinstance(host, list) else host)["mtu"])
    return mtu / (mtu + ETHERNET_HEADER)


KEPT = ("row", "src", "dst", "class", "traffic", "size_bytes", "start_s", "counted")
"""Columns of the simulation's flows that are the live ones' too."""
KEPT_IF_MANY = ("transport", "hosts")
"""Columns that only a run with several transports or kinds of hosts has."""


def _flows(setup: "Setup", reports: list[dict[str, Any]], start: float) -> "pl.DataFrame":
    """The simulation's flows with what came of them here."""
    import polars as pl

    warm = start + seconds(setup.scenario["measure"]["warmup"])
    begun = {flow["flow"]: flow for report in reports for flow in report["flows"]}
    ends: dict[int, float | None] = {place: flow["end"] for place, flow in begun.items()}
    if setup.scenario["measure"]["fct_end"] == "received":
        ends = {int(place): end for report in reports for place, end in report["ends"].items()}
    fct = {place: end - begun[place]["start"] for place, end in ends.items() if end is not None}
    received: dict[int, int] = {}
    for report in reports:
        for place, bins in report["received"].items():
            # Bins are of the monotonic clock, as `warm` is.
            inside = sum(n for at, n in bins if warm <= at * agent.BIN_S < start + setup.until_s)
            received[int(place)] = received.get(int(place), 0) + inside
    controls = {
        int(place): name for report in reports for place, name in report["controls"].items()
    }
    places = range(len(setup.flows))
    kept = [*KEPT, *(name for name in KEPT_IF_MANY if name in setup.flows.columns)]
    return setup.flows.select(kept).with_columns(
        pl.Series("fct_s", [fct.get(of) for of in places], dtype=pl.Float64),
        pl.Series("received_bytes", [received.get(of, 0) for of in places], dtype=pl.UInt64),
        pl.Series("congestion_control", [controls.get(of) for of in places], dtype=pl.Utf8),
    )


def _series(path: Path, ports: dict[str, str], begin_s: float) -> "pl.DataFrame":
    import polars as pl

    found = pl.read_parquet(path)
    return found.with_columns(
        pl.col("time_s") - begin_s, pl.col("port").replace_strict(ports)
    ).filter(pl.col("time_s") >= 0)


def _pings(reports: list[dict[str, Any]], start: float) -> "pl.DataFrame":
    import polars as pl

    pings = (ping for report in reports for ping in report["pings"])
    found = [(sent - start, dscp, rtt) for dscp, sent, rtt in pings]
    return pl.DataFrame(found, schema=PINGS, orient="row").sort("time_s")


def _goodput(setup: "Setup", reports: list[dict[str, Any]], start: float) -> "pl.DataFrame | None":
    """Return the goodput of endless flows over time, as their receivers read it."""
    import polars as pl

    if setup.simulated.goodput is None:
        return None
    every = seconds(setup.scenario["measure"]["flow_series"]["every"])
    endless = setup.flows["size_bytes"].is_null().to_list()
    rows, traffic, starts = (setup.flows[name].to_list() for name in ("row", "traffic", "start_s"))
    last = int(setup.until_s / every)
    bins = {(place, nth): 0 for place, of in enumerate(endless) if of for nth in range(last)}
    for report in reports:
        for place, received in report["received"].items():
            for at, n in received if endless[int(place)] else ():
                key = int(place), math.floor((at * agent.BIN_S - start) / every)
                if key in bins:
                    bins[key] += n
    found = [
        ((nth + 1) * every, rows[place], traffic[place], n * 8 / every)
        for (place, nth), n in bins.items()
        if (nth + 1) * every > starts[place]
    ]
    return pl.DataFrame(found, schema=GOODPUT, orient="row")


def simulated_goodput(result: "Result") -> "pl.DataFrame | None":
    """Return the goodput of a simulation's endless flows over time, as it is acknowledged."""
    import polars as pl

    endless, samples = (
        result.flows.filter(pl.col("size_bytes").is_null()),
        result.table("flow_series"),
    )
    # Rows of two flow lists have the same numbers.
    if endless.is_empty() or samples.is_empty() or result.flows["row"].is_duplicated().any():
        return None
    samples = samples.join(endless.select("row", "traffic"), on="row").sort("row", "time_s")
    return samples.select("time_s", "row", "traffic", goodput_bps="delivered_bps")


BUCKET_NS = 1_200_000
"""Lateness that a port makes up for (`live.bucket`, which labs do not set)."""
PINGS: "dict[str, Any]" = {"time_s": float, "class": int, "rtt_s": float}
GOODPUT: "dict[str, Any]" = {"time_s": float, "row": int, "traffic": int, "goodput_bps": float}
"""`time_s` is an interval's end, `row` the flow's in the table `flows`."""


SINCE_WARMUP = {
    "timeouts": "TcpExtTCPTimeouts",
    "retransmissions": "TcpRetransSegs",
    "ce_received": "IpExtInCEPkts",
    "ece_delivered": "TcpExtTCPDeliveredCE",
}
"""The hosts' counters and the kernel's names for them."""


def count(
    reports: list[dict[str, Any]], stats: dict[str, Any], before: dict[str, int] | None = None
) -> dict[str, int]:
    """Return the counts of switch and hosts, less those taken `before`."""
    found = {
        name: sum(report["counters"].get(kernels, 0) for report in reports)
        for name, kernels in SINCE_WARMUP.items()
    }
    found["marks"] = sum(port["marked_packets"] for port in stats["ports"])
    for name in ("host_drops", "overruns"):
        found[name] = sum(port[name] for port in stats["ports"])
    found["drops"] = found["host_drops"] + found["overruns"]
    found["drops"] += sum(
        value
        for port in stats["ports"]
        for name, value in port.items()
        if name.startswith("drops_")
    )
    # The kernel's counters begin with the namespace: the warm-up's are taken away.
    return {name: n - (before[name] if before else 0) for name, n in found.items()}


def peak_bps(readings: Sequence[tuple[float, int, float]]) -> float:
    """The highest rate over any window of at least `WINDOW_S`, at a receiver: from before a
    reading to after a later one, so that a reader that was held up never sees too much."""
    peak, last = 0.0, 0
    for before, bytes_before, _ in readings:
        while last < len(readings) and readings[last][0] - before < WINDOW_S:
            last += 1
        if last == len(readings):
            break
        _, received, after = readings[last]
        # From before the first reading to after the last: a delayed reader makes the rate less,
        # never more.
        peak = max(peak, (received - bytes_before) * 8 / (after - before))
    return peak


def beside(settings: dict[str, Any], setup: "Setup", live: Measured) -> dict[str, Any]:
    """Return the summary of live and simulated run."""
    return {
        "settings": settings,
        "title": setup.scenario["title"],
        "scheme": setup.scenario["scheme"]["label"],
        "rate": setup.scenario["topology"]["rate"],
        "hosts": setup.hosts,
        "congestion_control": setup.congestion_control,
        "notes": [
            *setup.notes,
            *_unfinished(setup, live),
            *_silent(live),
            *_lost(live.counters),
            *_late(live.stats["wakes"]),
        ],
        "simulated": summary(setup, setup.simulated),
        "live": summary(setup, live) | {"peak_mbps": live.peak_mbps, "wakes": live.stats["wakes"]},
    }


def _unfinished(setup: "Setup", live: Measured) -> Iterator[str]:
    """Why flows did not finish."""
    import polars as pl

    ends = live.flows.filter(pl.col("counted") & pl.col("size_bytes").is_not_null())
    left = ends.filter(pl.col("fct_s").is_null())
    if left.is_empty():
        return
    late = left.filter(pl.col("start_s") >= setup.until_s)
    unheard = left.filter(pl.col("start_s") < setup.until_s, pl.col("received_bytes") == 0)
    part = left.filter(pl.col("received_bytes") > 0)
    # All bytes there, and no byte back: the sender waits for its last ACK.
    whole = part.filter(pl.col("received_bytes") >= pl.col("size_bytes"))
    short = len(part) - len(whole)
    reasons = {
        "were to start after that": len(late),
        "had no byte at the receiver (not connected, or the first packets lost)": len(unheard),
        "had a part of their bytes there, and waited for the others or for room": short,
        "had all bytes there, and waited for the last ACK": len(whole),
    }
    why = "; ".join(f"{n} {reason}" for reason, n in reasons.items() if n)
    waits = f"{live.counters['timeouts']} timeouts, {live.counters['retransmissions']} segments"
    yield (
        f"live: {len(left)} of {len(ends)} flows did not finish in {setup.until_s:.3g} s: {why}; "
        f"all flows: {waits} sent again"
    )


def _silent(live: Measured) -> Iterator[str]:
    """Which flows without an end never got through."""
    import polars as pl

    endless = live.flows.filter(pl.col("size_bytes").is_null(), pl.col("counted"))
    silent = endless.filter(pl.col("received_bytes") == 0)
    if silent.is_empty():
        return
    by = {}
    if "transport" in silent.columns:
        by = dict(silent["transport"].value_counts(sort=True).iter_rows())
    who = f" ({', '.join(f'{n} of {name}' for name, n in by.items())})" if by else ""
    ports = live.stats.get("ports", ())
    refused = sum(port.get("drops_not_ecn_capable", 0) for port in ports)
    why = (
        f"; the switch dropped {refused} packets that are not ECN-capable, as SYNs are not "
        '(switch.unmarkable = "pass" lets them go on)'
    )
    yield (
        f"live: {len(silent)} of {len(endless)} flows without an end{who} had no byte at the "
        f"receiver: not connected, or the first packets lost{why if refused else ''}"
    )


def _lost(counters: Mapping[str, int]) -> Iterator[str]:
    """Which losses are no queue's of the switch."""
    cards, before = counters["host_drops"], counters["overruns"]
    if cards or before:
        yield (
            f"live: of {counters['drops']} drops {cards} are the hosts' cards' (their queues, or "
            f"faults that the file asks for) and {before} came before the switch read them, which "
            "was too slow"
        )


def _late(wakes: Mapping[str, int]) -> Iterator[str]:
    """Which wake-ups of the switch cost its ports their rate."""
    if wakes["max_late_ns"] > BUCKET_NS:
        yield (
            f"live: the switch woke up to {wakes['max_late_ns'] / 1e6:.1f} ms late (99 % of "
            f"{wakes['count']} times at most {wakes['p99_late_ns'] / 1e3:.0f} us): ports make up "
            f"for {BUCKET_NS / 1e6:g} ms, and what is later is lost to their rate"
        )


def summary(setup: "Setup", found: Measured) -> dict[str, Any]:
    """The headline figures, the same of a simulation and a live run."""
    import polars as pl

    measure = setup.scenario["measure"]
    warmup_s = seconds(measure["warmup"])
    counted = found.flows.filter(pl.col("counted"))
    end_s = _end_s(setup, found)
    span_s = end_s - warmup_s
    goodput = found.flows.group_by("class").agg(pl.col("received_bytes").sum()).sort("class")
    limits = (size_bytes(measure["small"]), size_bytes(measure["large"]))
    return {
        "goodput_mbps": {
            str(row["class"]): row["received_bytes"] * 8e-6 / span_s
            for row in goodput.iter_rows(named=True)
        },
        "fct": _fct(counted, *limits),
        **_by_transport(found.flows, span_s, limits),
        "rtt": _rtt(found.pings.filter(pl.col("time_s") >= warmup_s)),
        "bottleneck": _bottleneck(
            found.series.filter(pl.col("time_s").is_between(warmup_s, end_s))
        ),
        **found.counters,
    }


def _by_transport(
    flows: "pl.DataFrame", span_s: float, limits: tuple[int, int]
) -> dict[str, dict[str, Any]]:
    """Return goodput, share of it, and FCTs of each transport where there are several."""
    if "transport" not in flows.columns:
        return {}
    total = int(flows["received_bytes"].sum())
    found = {}
    for (name,), own in flows.group_by("transport", maintain_order=True):
        received = int(own["received_bytes"].sum())
        found[str(name)] = {
            "goodput_mbps": received * 8e-6 / span_s,
            "share": received / total if total else None,
            "fct": _fct(own.filter("counted"), *limits),
        }
    return {"by_transport": found}


def _end_s(setup: "Setup", found: Measured) -> float:
    """When it ended, or its last flow did."""
    if setup.scenario["run"].get("until"):
        return setup.until_s
    # The last flow to end, in time, not the last to begin.
    last: Any = (found.flows["start_s"] + found.flows["fct_s"]).max()
    return float(last) if last is not None else setup.until_s


def _fct(flows: "pl.DataFrame", small: int, large: int) -> dict[str, Any]:
    import polars as pl

    size = pl.col("size_bytes")
    classes = {
        "all": pl.lit(True),
        "small": size <= small,
        "medium": (size > small) & (size <= large),
        "large": size > large,
    }
    found = {}
    for name, chosen in classes.items():
        sized = flows.filter(chosen & size.is_not_null())
        fct = sized["fct_s"].drop_nulls()
        found[name] = {
            "n": len(sized),
            "finished": len(fct),
            "mean_us": _us(fct.mean()),
            "p50_us": _us(fct.quantile(0.5)),
            "p99_us": _us(fct.quantile(0.99)),
        }
    return found


def _rtt(pings: "pl.DataFrame") -> dict[str, Any]:
    rtt = pings["rtt_s"]
    return {
        "n": len(rtt),
        "mean_us": _us(rtt.mean()),
        "p50_us": _us(rtt.quantile(0.5)),
        "p99_us": _us(rtt.quantile(0.99)),
    }


def _us(value: Any) -> float | None:
    return None if value is None else float(value) * 1e6


def _bottleneck(series: "pl.DataFrame") -> dict[str, Any] | None:
    """The port whose queues were longest on average, all queues together."""
    import polars as pl

    if series.is_empty():
        return None
    totals = series.group_by("port", "time_s").agg(pl.col("bytes").sum())
    ports = totals.group_by("port").agg(
        pl.col("bytes").mean().alias("mean_bytes"),
        pl.col("bytes").quantile(0.99).alias("p99_bytes"),
        pl.col("bytes").max().alias("max_bytes"),
    )
    # Ties by name.
    row = ports.sort("mean_bytes", "port", descending=[True, False]).row(0, named=True)
    queues = series.filter(pl.col("port") == row["port"]).group_by("queue")
    each = queues.agg(pl.col("bytes").mean()).sort("queue")
    return row | {"queue_mean_bytes": each["bytes"].to_list()}


def write(folder: Path, found: dict[str, Any], setup: "Setup", live: Measured) -> None:
    """Writes the summary, and the tables of both."""
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps(found, indent=2) + "\n")
    (folder / "scenario.json").write_text(json.dumps(setup.scenario, indent=2) + "\n")
    (folder / "stats.json").write_text(json.dumps(live.stats, indent=2) + "\n")
    for name, result in (("simulated", setup.simulated), ("live", live)):
        (folder / name).mkdir()
        result.flows.write_parquet(folder / name / "flows.parquet")
        result.series.write_parquet(folder / name / "series.parquet")
        result.pings.write_parquet(folder / name / "pings.parquet")
        if result.goodput is not None:
            result.goodput.write_parquet(folder / name / "goodput.parquet")
