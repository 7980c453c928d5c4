"""Transports of a lab's hosts: what each flow's sockets have, and what a namespace has only once.

A flow has the transport of its `[[traffic]]` entry, else that of its hosts: `[transport]`, or their
`[[host]]` entry's. A socket has a congestion control of its own. All else is the namespace's, so
that the transports of one host must agree on it."""

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed._native import Mistake
from switchbed.live import dctcp, hosts
from switchbed.live.instructions import Source, hosts_of
from switchbed.live.scale import seconds, size_bytes

CONTROLS = {
    "bbr": ["bbr"],
    "cubic": ["cubic"],
    "dctcp": ["dctcp", dctcp.NAME],
    "ecn-star": ["reno"],
    "prague": ["prague"],
    "reno": ["reno"],
}
"""The kernel's congestion controls for a scenario's. ECN* is Reno's answer to marks."""
NEED_ECN = {"dctcp", dctcp.NAME, "prague"}
"""Congestion controls whose connections have ECN whatever `tcp_ecn` says (the kernel's flag
`TCP_CONG_NEEDS_ECN`)."""
OTHERWISE = "reno"
"""The congestion control in place of one that the kernel lacks."""
HEADER_WITH_TIMESTAMPS = 52
"""IPv4, TCP and the timestamps' option (RFC 7323), in bytes."""

Ends = tuple[int, int, int]
"""A flow's entry of `[[traffic]]`, its sender and its receiver."""


@dataclass(frozen=True)
class Written:
    """A transport with the key under which a file has it."""

    key: str
    transport: Mapping[str, Any]

    def of(self, name: str) -> str:
        """Return the key of one of its settings."""
        return f"{self.key}.{name}"

    @property
    def kind(self) -> str:
        """Kind of transport."""
        return str(self.transport["kind"])


class Stacks:
    """The transports and the host keys of each host of a scenario as resolved."""

    def __init__(self, file: Path, scenario: Mapping[str, Any]) -> None:
        self._file = file
        self._traffic: Sequence[Source] = scenario["traffic"]
        self.hosts = int(scenario["topology"]["hosts"])
        entries = scenario["host"]
        entries = entries if isinstance(entries, list) else [entries]
        many = len(entries) > 1
        base = Written("transport", scenario["transport"])
        self._host: list[Mapping[str, Any]] = [entries[0]] * self.hosts
        self._host_key = ["host.0" if many else "host"] * self.hosts
        self._own = [base] * self.hosts
        for nth, entry in enumerate(entries[1:], start=1):
            if "share" in entry:
                raise Mistake(
                    f"{file}: host.{nth}.share: a lab draws no hosts: name them in hosts alone"
                )
            for host in hosts_of(entry["hosts"], self.hosts):
                self._host[host] = entry
                self._host_key[host] = f"host.{nth}"
                self._own[host] = Written(f"host.{nth}.transport", entry["transport"])
        self._entries = list(self._written())

    def _written(self) -> Iterator[Written | None]:
        for nth, source in enumerate(self._traffic):
            key = f"traffic.{nth}" if len(self._traffic) > 1 else "traffic"
            own = source.get("transport")
            yield None if own is None else Written(f"{key}.transport", own)

    def host(self, host: int) -> Mapping[str, Any]:
        """Return the keys of `[host]` of a host."""
        return self._host[host]

    def of(self, entry: int, host: int) -> Written:
        """Return the transport of a host's end of an entry's flows."""
        return self._entries[entry] or self._own[host]

    def planned(self) -> list[Ends]:
        """List the ends of flows that entries of `[[traffic]]` name; a flow list's are in its
        file."""
        return [
            (nth, src, dst)
            for nth, source in enumerate(self._traffic)
            if source["kind"] != "probe" and _names_ends(source)
            for src in hosts_of(source["from"], self.hosts)
            for dst in hosts_of(source["to"], self.hosts)
            if src != dst
        ]

    def check(self, flows: Iterable[Ends]) -> None:
        """Refuses what the kernel cannot give: another transport than its TCP, and settings of one
        host that differ where a namespace has one."""
        self._check_delays()
        used = self._used(flows)
        listed = [
            self.of(nth, host)
            for nth, source in enumerate(self._traffic)
            if source["kind"] != "probe" and not _names_ends(source)
            for host in range(self.hosts)
        ]
        for written in [each for host in used for each in host] + listed:
            if written.kind not in CONTROLS:
                raise Mistake(
                    f"{self._file}: {written.of('kind')} is {written.kind!r}: a lab's hosts have "
                    f"the kernel's TCP: make it {', '.join(CONTROLS)}"
                )
        for written in [each for host in used for each in host]:
            if control(written.kind) in NEED_ECN and not written.transport["ecn"]:
                raise Mistake(
                    f"{self._file}: {written.of('ecn')} is false: the kernel's {written.kind} "
                    f"always has ECN: make it true"
                )
        for host in range(self.hosts):
            first: dict[str, tuple[Any, Written]] = {}
            for written in used[host]:
                for name, value in self._once(written).items():
                    other, at = first.setdefault(name, (value, written))
                    if other != value:
                        raise Mistake(
                            f"{self._file}: {written.of(name)}: host{host} has "
                            f"{_shown(at.transport[name])} by {at.of(name)} and "
                            f"{_shown(written.transport[name])} here, and a namespace has one: "
                            f"give both the same"
                        )

    def _check_delays(self) -> None:
        """Refuses delays that are drawn."""
        for key, host in zip(self._host_key, self._host, strict=True):
            if not isinstance(host["delay"], str):
                raise Mistake(
                    f'{self._file}: {key}.delay: a lab\'s hosts have one delay, such as "2us"'
                )

    def _used(self, flows: Iterable[Ends]) -> list[list[Written]]:
        """List each host's transports, each once, `[transport]`'s or its entry's first."""
        used: list[dict[str, Written]] = [{} for _ in range(self.hosts)]
        # Entries in order, so that a message names the first that differs.
        for entry, src, dst in sorted(set(flows)):
            for host in (src, dst):
                written = self.of(entry, host)
                used[host].setdefault(written.key, written)
        return [list(each.values()) for each in used]

    def _once(self, written: Written) -> dict[str, Any]:
        """Return the settings that a namespace has once, as the kernel has them."""
        transport = written.transport
        found = {
            "mss": size_bytes(transport["mss"]),
            "header": size_bytes(transport["header"]) >= HEADER_WITH_TIMESTAMPS,
            "initial_window": int(transport["initial_window"]),
            "receive_window": int(transport["receive_window"]),
            "initial_receive_window": size_bytes(transport["initial_receive_window"]),
            "rto_min": transport["rto_min"],
            "restart": transport["restart"] != "keep",
            "sack_blocks": transport["sack_blocks"] > 0,
            "ack_every": transport["ack_every"] == 1,
        }
        # Connections of these have ECN whatever the namespace says.
        if control(written.kind) not in NEED_ECN:
            found["ecn"] = bool(transport["ecn"])
        return found

    def tcp(self, host: int, flows: Iterable[Ends]) -> hosts.Tcp:
        """Return the settings of a host's namespace."""
        written = self._used(flows)[host] or [self._own[host]]
        controls = [control(each.kind) for each in written if each.kind in CONTROLS]
        once: dict[str, Any] = {}
        for each in written:
            once |= self._once(each)
        return hosts.Tcp(
            # Sockets that name none, iperf3's servers, must take SYNs that are ECN-capable.
            congestion_control=min(controls or [OTHERWISE], key=lambda of: of not in NEED_ECN),
            ecn=bool(once.get("ecn", True)),
            mtu=size_bytes(self._host[host]["mtu"]),
            initial_window=once["initial_window"],
            receive_window=once["receive_window"],
            initial_receive_window=once["initial_receive_window"] // once["mss"],
            mss=once["mss"],
            timestamps=once["header"],
            sack=once["sack_blocks"],
            ack_each=once["ack_every"],
            bursts=bool(self._host[host]["lso"]),
            rto_min_ms=round(seconds(once["rto_min"]) * 1000),
            restart_after_idle=once["restart"],
        )

    def kinds(self, flows: Iterable[Ends]) -> list[Written]:
        """List one transport of each kind that flows have, in the order of entries."""
        kinds: dict[str, Written] = {}
        for entry, src, dst in sorted(set(flows)):
            for host in (src, dst):
                written = self.of(entry, host)
                kinds.setdefault(written.kind, written)
        return list(kinds.values())


def control(kind: str) -> str:
    """Return the kernel's congestion control for a scenario's, or the one in its place."""
    known = dctcp.available()
    return next((name for name in CONTROLS.get(kind, []) if name in known), OTHERWISE)


def check_allowed(names: Iterable[str]) -> None:
    """Refuses congestion controls that the kernel does not let this process choose."""
    for name in names:
        with socket.socket() as stream:
            try:
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            except OSError as error:
                raise Mistake(
                    f"a lab's sockets cannot have the congestion control {name}: "
                    f"{(error.strerror or str(error)).lower()}: run it with CAP_NET_ADMIN, or add "
                    f"{name} to the sysctl net.ipv4.tcp_allowed_congestion_control"
                ) from None


def missing(written: Written) -> str | None:
    """Return a note on a congestion control that this kernel lacks."""
    names = CONTROLS[written.kind]
    if control(written.kind) in names:
        return None
    other = "Reno with ECN" if written.transport["ecn"] else "Reno"
    load = "; switchbed live dctcp load adds it" if dctcp.NAME in names else ""
    return f"this kernel has no {names[0]}: {other} instead{load}"


def _names_ends(source: Source) -> bool:
    return "from" in source and "to" in source


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
