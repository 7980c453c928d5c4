"""Instructions to the hosts of a lab: the flows that the simulation started, and probes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from switchbed._native import Mistake
from switchbed.live import hosts
from switchbed.live.scale import seconds, size_bytes

FIRST_PORT = 5201
"""iperf3's own; a server serves one flow."""
LAST_PORT = 65_535
Source = dict[str, Any]
"""Table `[[traffic]]` as resolved."""


def check(file: Path, traffic: Sequence[Source]) -> None:
    """Refuses traffic that a lab's hosts cannot send."""
    if any(source["kind"] == "long-lived" and source.get("stop") for source in traffic):
        raise Mistake(
            f"{file}: traffic: stop: a lab's long-lived flows send to the end: leave it out"
        )


Order = tuple[int, str, dict[str, Any]]
"""Receiving host, name of the instruction, and its content."""


def flow(
    row: dict[str, Any],
    traffic: Sequence[Source],
    controls: tuple[str, str],
    start: float,
    end: float,
) -> Order:
    """Make the instruction for a row of `flows` with its `place`, whose sender and receiver have
    these congestion controls. `start` is when the first flow begins."""
    size = row["size_bytes"]
    order = {
        "flow": row["place"],
        "size": None if size is None else int(size),
        "dscp": row["class"],
        "at": start + row["start_s"],
        "fresh": bool(row["handshake"]),
    }
    sends, takes = controls
    request = traffic[row["traffic"]].get("request")
    if request is not None and size is not None:
        asked = {"from": hosts.address(row["src"]), "request": size_bytes(request)}
        # The receiver of the data is who asks for it.
        return row["dst"], "ask", order | asked | {"control": takes, "other": sends}
    to = {"to": hosts.address(row["dst"]), "until": end}
    return row["src"], "send", order | to | {"control": sends, "other": takes}


def iperf3(
    row: dict[str, Any], nth: int, control: str, start: float, end: float
) -> Iterator[Order]:
    """Make the instructions of both ends for a row of `flows` without a size, by iperf3: the `nth`
    of them, from 0."""
    port = FIRST_PORT + nth
    if port > LAST_PORT:
        raise Mistake(
            f"--iperf3: flow {row['place']} would have port {port}: a lab has at most "
            f"{LAST_PORT - FIRST_PORT + 1} flows without a size"
        )
    order = {"flow": row["place"], "port": port, "at": start + row["start_s"]}
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
