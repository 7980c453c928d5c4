"""Instructions to the hosts of a lab: the flows that the simulation started, and probes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from switchbed._native import Mistake
from switchbed.live import hosts
from switchbed.live.scale import seconds, size_bytes

ENDS = ("poisson", "log-normal", "request-response", "incast", "on-off", "list")
"""Kinds of traffic whose flows have a size."""
FIRST_PORT = 5201
"""iperf3's own; a server serves one flow."""
Source = dict[str, Any]
"""Table `[[traffic]]` as resolved."""


def check(file: Path, traffic: Sequence[Source]) -> None:
    """Refuses traffic of which a lab cannot tell what was asked for: a flow does not say which
    source it is of."""
    sized = [source for source in traffic if source["kind"] in ENDS]
    kinds = {source["kind"] for source in sized}
    if "request-response" in kinds and len(kinds) > 1:
        others = ", ".join(sorted(kinds - {"request-response"}))
        raise Mistake(
            f"{file}: traffic: a lab has request-response or {others}, not both: leave one out"
        )
    if any(source["kind"] == "long-lived" and source.get("stop") for source in traffic):
        raise Mistake(
            f"{file}: traffic: stop: a lab's long-lived flows send to the end: leave it out"
        )
    requests = {source["request"] for source in sized if "request" in source}
    if len(requests) > 1:
        sizes = ", ".join(sorted(requests))
        raise Mistake(f"{file}: traffic: request: a lab's requests have one size, not {sizes}")


Order = tuple[int, str, dict[str, Any]]
"""Receiving host, name of the instruction, and its content."""


def flow(row: dict[str, Any], traffic: Sequence[Source], start: float, end: float) -> Order:
    """Make the instruction for a row of `flows`. `start` is when the first flow begins."""
    size = row["size_bytes"]
    order = {
        "flow": row["row"],
        "size": None if size is None else int(size),
        "dscp": row["class"],
        "at": start + row["start_s"],
        "fresh": bool(row["handshake"]),
    }
    request = _request(traffic) if size is not None else None
    if request is not None:
        asked = {"from": hosts.address(row["src"]), "request": size_bytes(request)}
        # The receiver of the data is who asks for it.
        return row["dst"], "ask", order | asked
    return row["src"], "send", order | {"to": hosts.address(row["dst"]), "until": end}


def _request(traffic: Sequence[Source]) -> str | None:
    return next((s["request"] for s in traffic if s["kind"] == "request-response"), None)


def iperf3(row: dict[str, Any], control: str, start: float, end: float) -> Iterator[Order]:
    """Make the instructions of both ends for a row of `flows` without a size, by iperf3."""
    order = {"flow": row["row"], "port": FIRST_PORT + row["row"], "at": start + row["start_s"]}
    yield row["dst"], "iperf3-server", order
    to = {"to": hosts.address(row["dst"]), "dscp": row["class"], "until": end}
    yield row["src"], "iperf3", order | to | {"control": control}


def pings(probe: Source, count: int, start: float, end: float) -> Iterator[Order]:
    """Make the instructions for a `probe` of `count` hosts, one for each sender and class."""
    (to,) = hosts_of(probe["to"], count)
    stop = probe.get("stop")
    for host in hosts_of(probe["from"], count):
        for dscp in probe.get("classes") or [probe.get("class", 0)]:
            order = {
                "to": hosts.address(to),
                "dscp": dscp,
                "size": size_bytes(probe["size"]),
                "every": seconds(probe["every"]),
                "from": start + seconds(probe.get("start", "0ps")),
                "until": end if stop is None else min(end, start + seconds(stop)),
            }
            yield host, "ping", order


def hosts_of(written: object, count: int) -> list[int]:
    """Hosts as a resolved scenario writes them: 3, "0-7", [0, 2], "all"."""
    match written:
        case int():
            return [written]
        case "all":
            return list(range(count))
        case str():
            first, _, last = written.partition("-")
            return list(range(int(first), int(last or first) + 1))
        case list():
            return [host for each in written for host in hosts_of(each, count)]
    raise TypeError(written)
