"""The hosts of a lab: a namespace each, and in it the agent that sends and measures."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed.live import agent, system

NETWORK = "10.77"


def address(host: int) -> str:
    """A host's address; all are in one /16."""
    # From .1, as .0 of a /24 and .255 are often special.
    return f"{NETWORK}.{host // 250}.{host % 250 + 1}"


def station(host: int) -> str:
    """Return the MAC address of a host."""
    # 02: locally administered, unicast.
    return f"02:5b:00:00:{host >> 8:02x}:{host & 255:02x}"


@dataclass(frozen=True)
class Tcp:
    """Settings of TCP in a host's namespace."""

    congestion_control: str
    """Congestion control of sockets that choose none."""
    ecn: bool
    mtu: int
    initial_window: int
    receive_window: int
    """Receive window in packets of 1500 bytes."""
    initial_receive_window: int
    """Receive window at the start, in packets. If it is less than `receive_window`, the kernel
    tunes its buffer."""
    mss: int
    timestamps: bool
    sack: bool
    ack_each: bool
    """Each packet is acknowledged; else as Linux delays ACKs."""
    bursts: bool
    """TCP hands down segments of many packets, as with segmentation offload."""
    rto_min_ms: int
    restart_after_idle: bool
    """A connection that was idle for a timeout begins with its initial window again."""


def configure(namespaces: Sequence[str], interfaces: Sequence[str], each: Sequence[Tcp]) -> None:
    """Sets every host's addresses, neighbours (no ARP among the measured frames) and TCP."""
    for host, (netns, interface, tcp) in enumerate(zip(namespaces, interfaces, each, strict=True)):
        system.run(["ip", "netns", "exec", netns, "sh", "-e"], text=_sysctls(tcp))
        route = f"route replace {NETWORK}.0.0/16 dev {interface} initcwnd {tcp.initial_window} "
        route += f"initrwnd {tcp.initial_receive_window} window {tcp.receive_window * tcp.mss}"
        if tcp.ack_each:
            route += " quickack 1"
        if tcp.rto_min_ms < LINUX_RTO_MIN_MS:
            # The kernel's timers are no finer than a tick.
            route += f" rto_min {max(tcp.rto_min_ms, TICK_MS)}ms"
        others = [other for other in range(len(namespaces)) if other != host]
        lines = [f"link set dev {interface} address {station(host)}", route]
        lines += [
            f"neighbour replace {address(other)} lladdr {station(other)} dev {interface} "
            f"nud permanent"
            for other in others
        ]
        # GSO of one segment: TCP hands down packets as the simulator's hosts send them.
        if not tcp.bursts:
            lines.append(f"link set dev {interface} gso_max_segs 1")
        system.ip_batch(lines, netns=netns)


LINUX_RTO_MIN_MS = 200
MEMORY = 1.52
"""Memory of a packet of 1500 bytes at the receiver, over its payload. The kernel limits a sender to
the window that is left, and ignores the route's."""
LINUX_RMEM = 131072
"""A receiver's memory at first, where it tunes itself: tcp_rmem's default."""
TICK_MS = 4


def _sysctls(tcp: Tcp) -> str:
    window = tcp.receive_window * tcp.mss
    # And one more, as the kernel rounds down.
    received = round((window + tcp.mss) * MEMORY)
    tuned = tcp.initial_receive_window < tcp.receive_window
    at_first = min(LINUX_RMEM, received) if tuned else received
    values = {
        "net/ipv4/tcp_ecn": int(tcp.ecn),
        # Else a destination's last ssthresh would begin the next connection.
        "net/ipv4/tcp_no_metrics_save": 1,
        "net/ipv4/tcp_slow_start_after_idle": int(tcp.restart_after_idle),
        "net/ipv4/tcp_timestamps": int(tcp.timestamps),
        "net/ipv4/tcp_sack": int(tcp.sack),
        "net/ipv4/tcp_rmem": f"4096 {at_first} {received}",
        "net/ipv4/tcp_wmem": f"4096 16384 {4 * window}",
        # Router solicitations and MLD would be measured as traffic.
        "net/ipv6/conf/all/disable_ipv6": 1,
    }
    lines = [f"echo '{value}' > /proc/sys/{key}" for key, value in values.items()]
    # Sockets choose theirs. A namespace is refused a default that `tcp_allowed_congestion_control`
    # of the machine leaves out, as CUBIC often is.
    default = "/proc/sys/net/ipv4/tcp_congestion_control"
    lines.append(f"echo '{tcp.congestion_control}' > {default} || true")
    return "\n".join([*lines, ""])


class Agent:
    """The agent of one host."""

    def __init__(self, netns: str, environment: Mapping[str, str], controls: Sequence[str]) -> None:
        # `setpriv`: what it starts can gain no rights.
        command = ["ip", "netns", "exec", netns, "setpriv", "--no-new-privs"]
        command += [sys.executable, "-S", str(Path(agent.__file__)), *controls]
        # In a session of its own: Ctrl-C ends the lab, which ends its hosts.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment,
        )

    def wait_ready(self) -> None:
        """Waits until it can take flows in."""
        self._line()

    def order(self, name: str, argument: object) -> None:
        """Tells it what to do."""
        pipe = self._process.stdin
        if pipe is None or self._process.poll() is not None:
            raise OSError(0, "a host of the lab has ended")
        pipe.write(json.dumps({name: argument}) + "\n")
        pipe.flush()

    def report(self, what: str = "report") -> dict[str, Any]:
        """Return the measurements so far, or only the `counters`."""
        self.order(what, None)
        found: dict[str, Any] = json.loads(self._line())
        return found

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = system.line_of(self._process, self._process.stdout, "a host of the lab")
        if not line:
            raise OSError(0, "a host of the lab has ended")
        return line

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
