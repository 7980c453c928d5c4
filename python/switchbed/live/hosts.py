"""The hosts of a lab: a namespace each, and in it the agent that sends and measures."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from switchbed.live import agent, system

NETWORK = "10.77"


def address(host: int) -> str:
    """A host's address; all are in one /16."""
    return f"{NETWORK}.{host // 250}.{host % 250 + 1}"


def station(host: int) -> str:
    """A host's Ethernet address."""
    return f"02:5b:00:00:{host >> 8:02x}:{host & 255:02x}"


def make(namespaces: Sequence[str]) -> None:
    """Makes the namespaces, with their loopback up."""
    system.ip_batch(f"netns add {netns}" for netns in namespaces)
    for netns in namespaces:
        system.ip("link", "set", "dev", "lo", "up", netns=netns)


def sysctls(namespaces: Sequence[str], values: dict[str, str]) -> None:
    """Sets the same in every namespace."""
    lines = "".join(
        f"echo {value} > /proc/sys/{key.replace('.', '/')}\n" for key, value in values.items()
    )
    for netns in namespaces:
        system.run(["ip", "netns", "exec", netns, "sh", "-e"], text=lines)


def neighbours(namespaces: Sequence[str], interfaces: Sequence[str]) -> None:
    """Tells every host where the others are: no ARP among the measured frames."""
    for host, (netns, interface) in enumerate(zip(namespaces, interfaces, strict=True)):
        lines = [
            f"neighbour replace {address(other)} lladdr {station(other)} dev {interface} "
            f"nud permanent"
            for other in range(len(namespaces))
            if other != host
        ]
        system.ip_batch(lines, netns=netns)


class Agent:
    """The agent of one host."""

    def __init__(self, netns: str) -> None:
        command = ["ip", "netns", "exec", netns, sys.executable, "-S", str(Path(agent.__file__))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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

    def report(self) -> dict[str, Any]:
        """What it has measured."""
        self.order("report", None)
        found: dict[str, Any] = json.loads(self._line())
        return found

    def _line(self) -> str:
        pipe = self._process.stdout
        line = pipe.readline() if pipe is not None else ""
        if not line:
            raise OSError(0, "a host of the lab has ended")
        return line

    def end(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
