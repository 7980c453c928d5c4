"""What the live tests share: a switch as a process, and hosts in namespaces of a test's own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from conftest import Program
from progress import wait_for, worked

SWITCH = """
[live]
rate = "200Mbps"
[switch]
buffer = "100pkt"
[scheme]
name = "none"
"""


def tap(name: str, netns: str, address: str) -> str:
    return f'[[port]]\nname = "{name}"\nnetns = "{netns}"\naddress = "{address}/24"\n'


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout


class Running:
    """A process, and what it has said so far: the file that it writes to."""

    def __init__(self, process: "subprocess.Popen[bytes]", said: IO[bytes]) -> None:
        self.process = process
        self._said = said

    def said(self) -> str:
        """All of it."""
        return os.pread(self._said.fileno(), 1 << 24, 0).decode()

    def look(self) -> tuple[str, int | None]:
        """What it has said, and its exit code once it has ended."""
        code = self.process.poll()
        return self.said(), code

    def wait_for(self, what: str) -> str:
        """Until it has said this; all that it has said."""

        def happens(seen: tuple[str, int | None]) -> bool:
            said, code = seen
            assert code is None or what in said, f"it ended with {code} and had said {said!r}"
            return what in said

        return wait_for(self.look, happens, moves=self.worked)[0]

    def wait(self) -> int:
        """Until it ends: its exit code."""
        _, code = wait_for(self.look, lambda seen: seen[1] is not None, moves=self.worked)
        assert code is not None
        return code

    def output(self) -> str:
        """What it has said when it has ended in order."""
        code = self.wait()
        assert code == 0, f"it ended with {code} and had said {self.said()!r}"
        return self.said()

    def worked(self) -> int:
        """The processor time that it has had."""
        return worked(self.process.pid)


@contextmanager
def process(words: Sequence[str], folder: Path | None = None) -> Iterator[Running]:
    """A process; it is killed if it has not ended. What it says on standard output and error is
    kept together."""
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT, cwd=folder) as started,
    ):
        try:
            yield Running(started, said)
        finally:
            started.kill()


def ended(words: Sequence[str], folder: Path | None = None) -> tuple[int, str]:
    """Runs a process to its end: its exit code, and what it has said."""
    with process(words, folder) as running:
        return running.wait(), running.said()


def inside(netns: str, program: str, *arguments: str) -> AbstractContextManager[Running]:
    """A Python program in a namespace."""
    words = ["ip", "netns", "exec", netns, sys.executable, "-c", textwrap.dedent(program)]
    return process([*words, *arguments])


def without_ipv6(netns: str) -> None:
    """Keeps a namespace's interfaces, later ones too, from multicasting by themselves."""
    quiet = ["ip", "netns", "exec", netns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]
    subprocess.run(quiet, check=True)


def veth(name: str, netns: str) -> str:
    """A port of the switch and its host's `eth0`, which says nothing by itself."""
    ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", netns)
    without_ipv6(netns)
    off = ["ip", "netns", "exec", netns, "ethtool", "-K", "eth0", "tx", "off", "tso", "off"]
    subprocess.run([*off, "gso", "off"], check=True, capture_output=True)
    subprocess.run(["ethtool", "-K", name, "gro", "off"], check=True)
    ip("-n", netns, "link", "set", "dev", "eth0", "up")
    ip("link", "set", "dev", name, "up")
    return f'[[port]]\nname = "{name}"\ndevice = "interface"\n'


def ports_of(switchbed: Program, socket: Path) -> list[dict[str, Any]]:
    """The statistics of a switch's ports."""
    found = json.loads(switchbed("live", "stats", "--json", "--socket", socket).stdout)
    ports: list[dict[str, Any]] = found["ports"]
    return ports


SEND = """
    import socket, sys
    with socket.create_connection((sys.argv[1], 7000)) as stream:
        stream.sendall(bytes(2_000_000))
        stream.shutdown(socket.SHUT_WR)
        print(stream.recv(1).decode())
"""
TAKE = """
    import socket
    with socket.create_server(("", 7000)) as server:
        print("ready", flush=True)
        stream, _ = server.accept()
        while stream.recv(1 << 16):
            pass
        stream.sendall(b"y")
"""


def transfer(source: str, destination: str, address: str) -> float:
    """Seconds that two megabytes of TCP take."""
    with inside(destination, TAKE) as server:
        server.wait_for("ready\n")
        begin = time.monotonic()
        with inside(source, SEND, address) as client:
            assert client.output() == "y\n"
    return time.monotonic() - begin


def holders(socket: Path) -> list[int]:
    """The processes that were started with this socket."""
    numbers = [int(found.name) for found in Path("/proc").iterdir() if found.name.isdigit()]
    return [n for n in numbers if n != os.getpid() and str(socket).encode() in _command_line(n)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""  # it has ended meanwhile


@pytest.fixture
def namespaces() -> Generator[list[str]]:
    """Three namespaces of this test's own, whose interfaces say nothing by themselves."""
    names = [f"sbt{os.getpid()}{letter}" for letter in "abc"]
    for name in names:
        ip("netns", "add", name)
        without_ipv6(name)
    yield names
    for name in names:
        for pid in ip("netns", "pids", name).split():
            os.kill(int(pid), signal.SIGKILL)
        ip("netns", "delete", name)


def may_be_punctual() -> str:
    """Whether a switch may have real-time priority here, as TOML has it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return "false"
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return "true"


def nothing(complaints: str) -> bool:
    """Whether a switch has complained of nothing."""
    return not complaints


@contextmanager
def running(
    command: list[str],
    folder: Path,
    text: str,
    *more: str,
    complaints: Callable[[str], bool] = nothing,
) -> Iterator[Path]:
    """A switch; its control socket."""
    file, socket = folder / "sw.toml", folder / "sw.sock"
    file.write_text(text)
    words = [*command, "live", "run", str(file), "--socket", str(socket), *more]
    with started(words, complaints, ends=lambda: not socket.exists()):
        yield socket


@contextmanager
def started(
    words: list[str],
    expected: Callable[[str], bool] = nothing,
    ends: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """A command that runs a switch, while it runs; what it may complain of, and whether it is about
    to end by itself."""
    with process(words) as switch:
        first, _, _ = switch.wait_for("\n").partition("\n")
        assert " ports, " in first, first
        try:
            yield
        finally:
            # A signal that finds it at its end would give its code.
            if not ends():
                switch.process.terminate()
            code = switch.wait()
        complaints = switch.said().removeprefix(f"{first}\n")
        assert (code, expected(complaints)) == (0, True), (code, complaints)
