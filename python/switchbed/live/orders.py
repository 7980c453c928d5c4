"""What the hosts of a lab are told: the flows that the simulation started, and probes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from switchbed._native import Mistake
from switchbed.live import hosts
from switchbed.live.scale import seconds, size_bytes

ENDS = ("poisson", "log-normal", "request-response", "incast", "on-off", "list")
"""Kinds of traffic whose flows have a size."""
Source = dict[str, Any]
"""A resolved `[[traffic]]`."""


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
    requests = {source["request"] for source in sized if "request" in source}
    if len(requests) > 1:
        sizes = ", ".join(sorted(requests))
        raise Mistake(f"{file}: traffic: request: a lab's requests have one size, not {sizes}")


def flow(
    row: dict[str, Any], scenario: dict[str, Any], start: float, end: float
) -> tuple[int, str, dict[str, Any]]:
    """The host that is told of a row of `flows`, the order's name, and the order. `start` is
    when the first flow begins."""
    size = row["size_bytes"]
    order = {
        "flow": row["row"],
        "size": None if size is None else int(size),
        "dscp": row["class"],
        "at": start + row["start_s"],
        "fresh": bool(row["handshake"]),
    }
    request = _request(scenario["traffic"]) if size is not None else None
    if request is not None:
        asked = {"from": hosts.address(row["src"]), "request": size_bytes(request)}
        return row["dst"], "ask", order | asked
    return row["src"], "send", order | {"to": hosts.address(row["dst"]), "until": end}


def _request(traffic: Sequence[Source]) -> str | None:
    return next((s["request"] for s in traffic if s["kind"] == "request-response"), None)


def ping(probe: Source, start: float, end: float) -> dict[str, Any]:
    """The order to a host that a `probe` is from."""
    (to,) = hosts_of(probe["to"], 0)
    classes = probe.get("classes", [probe.get("class", 0)])
    return {
        "to": hosts.address(to),
        "dscp": classes[0],
        "every": seconds(probe["every"]),
        "from": start + seconds(probe.get("start", "0ps")),
        "until": end,
    }


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
