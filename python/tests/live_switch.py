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


def wait_for(happens: Callable[[], object], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


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


@contextmanager
def running(command: list[str], folder: Path, text: str, *more: str) -> Iterator[Path]:
    """A switch; its control socket."""
    file, socket = folder / "sw.toml", folder / "sw.sock"
    file.write_text(text)
    words = [*command, "live", "run", str(file), "--socket", str(socket), *more]
    with started(words):
        yield socket


@contextmanager
def started(words: list[str]) -> Iterator[None]:
    """A command that runs a switch, while it runs."""
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as switch:
        assert switch.stderr is not None
        line = switch.stderr.readline()
        assert " ports, " in line, line
        try:
            yield
        finally:
            switch.terminate()
            complaints = switch.stderr.read()
    assert (switch.returncode, complaints) == (0, "")
