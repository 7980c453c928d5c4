"""What the live tests share: a switch as a process, and hosts in namespaces of a test's own."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forked import HANGS_S

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


def inside(netns: str, program: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python program in a namespace."""
    words = ["ip", "netns", "exec", netns, sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.Popen([*words, *arguments], stdout=subprocess.PIPE, text=True)


def wait_for(happens: Callable[[], object]) -> None:
    end = time.monotonic() + HANGS_S
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


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
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        begin = time.monotonic()
        with inside(source, SEND, address) as client:
            out, _ = client.communicate(timeout=HANGS_S)
        server.kill()
    assert out == "y\n"
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
    """Three namespaces of this test's own."""
    names = [f"sbt{os.getpid()}{letter}" for letter in "abc"]
    for name in names:
        ip("netns", "add", name)
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
    with started(words, complaints):
        yield socket


@contextmanager
def started(words: list[str], expected: Callable[[str], bool] = nothing) -> Iterator[None]:
    """A command that runs a switch, while it runs; what it may complain of."""
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as switch:
        assert switch.stderr is not None
        line = switch.stderr.readline()
        assert " ports, " in line, line
        try:
            yield
        finally:
            switch.terminate()
            complaints = switch.stderr.read()
    assert switch.returncode == 0
    assert expected(complaints), complaints
