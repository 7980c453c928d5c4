"""What the tests share: scenario files, and the program in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Protocol

import hypothesis
import pytest
from forked import Forks
from needs import pytest_runtest_protocol, pytest_runtest_setup, pytest_sessionfinish

__all__ = ["pytest_runtest_protocol", "pytest_runtest_setup", "pytest_sessionfinish"]

for number, usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) == signal.SIG_IGN:
        # Begun in a shell's background, or by nohup: programs begun here would ignore it as well.
        signal.signal(number, usual)

WHOLE = "SWITCHBED_WHOLE" in os.environ
"""Whether tests of many inputs take all of them, as in `make validate`."""

hypothesis.settings.register_profile("unhurried", deadline=None, max_examples=200 if WHOLE else 40)
hypothesis.settings.load_profile("unhurried")

SINGLE = """
title = "Small flows among four hosts"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "5us"
[switch]
queues = 2
discipline = "dwrr"
buffer = "300KB"
[scheme]
name = "per-queue"
params = { threshold = "20pkt" }
[host]
profile = "switchbed-0.1"
[transport]
kind = "dctcp"
[[traffic]]
kind = "poisson"
load = 0.6
flows = 300
sizes = "30KB"
[measure]
series_every = "100us"
"""
MONITORED = (
    SINGLE
    + """
changes = { ports = ["switch:0"], until = "1ms", slope_over = "10us" }
bursts = { ports = ["switch:0"], apart = "50us" }
convergence = { port = "switch:0", window = "50us" }
underflow = ["switch:0"]
giant = "20KB"
"""
)
"""With every monitor: slow by design, so for few flows."""
SWEEP = (
    SINGLE
    + """
[compare]
scheme = ["per-queue", { name = "mq-ecn", label = "MQ-ECN" }]
load = [0.4, 0.8]
seed = [1, 2]
"""
)
SLOW = ("--set", "flows=100_000")
"""Makes a run last about a second."""

AT_ONCE_S = 60
"""What Ctrl-C may take, on a machine as slow as any, before it ends what would take minutes."""

Done = subprocess.CompletedProcess[str]


class Program(Protocol):
    """Runs `switchbed` with the arguments in the test's own directory."""

    def __call__(self, *arguments: str | Path, code: int = 0) -> Done: ...


@pytest.fixture
def command() -> list[str]:
    """How to start the program that belongs to the interpreter of the tests."""
    return [str(Path(sys.executable).with_name("switchbed"))]


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture
def switchbed(forks: Forks, tmp_path: Path) -> Program:
    def program(*arguments: str | Path, code: int = 0) -> Done:
        done = forks.run([str(word) for word in arguments], tmp_path)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    return program


@pytest.fixture
def single(tmp_path: Path) -> Path:
    """A scenario of one run."""
    path = tmp_path / "single.toml"
    path.write_text(SINGLE)
    return path


@pytest.fixture
def monitored(tmp_path: Path) -> Path:
    """The same with every table that there is."""
    path = tmp_path / "monitored.toml"
    path.write_text(MONITORED)
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """A scenario with `[compare]`."""
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


LONGEST = (
    "test_live_labs.py",
    "test_report.py",
    "test_ray.py",
    "test_documents.py",
    "tour.ipynb",
    "test_site.py",
)
"""Files that take longest, or wait longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first, so that of several workers none is left alone with one."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI the machine has everything, so a skipped test is a failed one."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
