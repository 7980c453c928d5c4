"""What labs leave, and what they leave alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Program
from live_lab import FOR_A_WHILE, LAB, STEP, bulk, queues_of
from live_switch import ended, ip, process
from progress import wait_for

from evidence.robustness import kill_labs

needs_namespaces = pytest.mark.needs("namespaces")


def lab_file(folder: Path, name: str) -> Path:
    file = folder / f"{name}.toml"
    text = LAB.format(
        hosts=3,
        queues=queues_of((1500,)),
        memory='buffer = "200pkt"',
        scheme=STEP,
        transport='kind = "ecn-star"',
        traffic=bulk("0-1", 2, 0),
        measure=FOR_A_WHILE,
    )
    file.write_text(text)
    return file


@pytest.mark.long
@needs_namespaces
def test_a_killed_lab_leaves_nothing_and_others_keep_theirs() -> None:
    root = Path(__file__).parents[3]
    code, said = ended([sys.executable, "-m", kill_labs.MODULE, "3"], root)
    assert code == 0, said
    assert "in the end 0 left or touched" in said


@pytest.mark.needs("namespaces", "iperf3")
def test_a_lab_that_runs_is_kept_and_its_iperf3_ends_with_it(
    switchbed: Program, tmp_path: Path, command: list[str]
) -> None:
    name = f"t{os.getpid()}"
    file = str(lab_file(tmp_path, name))
    # Longer than anything here takes, and little to simulate.
    sets = ("topology.rate=5Mbps", "measure.series_every=1s", "run.until=300s")
    words = [*command, "live", "lab", "run", file, "--iperf3"]
    words += [word for each in sets for word in ("--set", each)]
    with process(words) as lab:
        # Until its hosts are at work: with a server each for iperf3's two flows.
        wait_for(
            lambda: (inside(f"sb-{name}-h2"), *lab.look()),
            lambda seen: len(seen[0]) >= 3,
            moves=lab.worked,
        )
        processes = [pid for host in range(3) for pid in inside(f"sb-{name}-h{host}")]
        assert {privileges(pid) for pid in processes} == {"NoNewPrivs:\t1"}
        refused = switchbed("live", "lab", file, code=2)
        assert "runs already" in refused.stderr
        assert f"kept lab {name}" in switchbed("live", "lab", "clean").stdout
        switchbed("live", "show", "--socket", f"/run/switchbed/lab-{name}.sock")
        lab.process.kill()
        assert lab.wait() == -signal.SIGKILL
    assert f"removed lab {name}" in switchbed("live", "lab", "clean").stdout
    wait_for(
        lambda: [pid for pid in processes if Path("/proc", pid).exists()], lambda left: not left
    )


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The name of a lab, one of whose namespaces somebody else has made, and of that."""
    name = f"f{os.getpid()}"
    netns = f"sb-{name}-h1"
    ip("netns", "add", netns)
    with subprocess.Popen(["ip", "netns", "exec", netns, "sleep", "100"]) as process:
        wait_for(lambda: inside(netns))
        yield name, netns
        assert process.poll() is None, "a process of somebody else was killed"
        process.kill()
    ip("netns", "delete", netns)


@needs_namespaces
def test_a_namespace_of_somebody_else_is_refused_and_left_alone(
    switchbed: Program, tmp_path: Path, foreign: tuple[str, str]
) -> None:
    name, netns = foreign
    refused = switchbed("live", "lab", lab_file(tmp_path, name), code=2)
    assert refused.stderr == (
        f"switchbed: there is a network namespace {netns} already, which is not this lab's: "
        f"choose another --name, or: ip netns delete {netns}\n"
    )
    assert name not in switchbed("live", "lab", "clean").stdout
    assert inside(netns)
    assert f"sb-{name}-h0" not in ip("netns", "list")


@pytest.mark.parametrize("name", ["a b;c", "../..", "", "a\nnetns add b", "-h", "x" * 49])
def test_a_name_that_is_none_is_refused(switchbed: Program, tmp_path: Path, name: str) -> None:
    refused = switchbed("live", "lab", lab_file(tmp_path, "lab"), "--name", name, code=2)
    assert f"--name is {name!r}: it has 1 to 48 letters" in refused.stderr


def test_a_lab_without_its_programs_says_whose_they_are(switchbed: Program, tmp_path: Path) -> None:
    refused = switchbed("live", "lab", lab_file(tmp_path, "lab"), code=2)
    assert refused.stderr == "switchbed: ip is missing: apt-get install iproute2\n"


def privileges(pid: str) -> str:
    """Whether a process may gain any, as proc(5) has it."""
    lines = Path("/proc", pid, "status").read_text().splitlines()
    return next(line for line in lines if line.startswith("NoNewPrivs"))


def inside(netns: str) -> list[str]:
    found = subprocess.run(
        ["ip", "netns", "pids", netns], capture_output=True, text=True, check=False
    )
    return found.stdout.split()
