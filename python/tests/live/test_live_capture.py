"""`live capture`: pcapng of a switch that runs, with each frame's decision as a comment."""

import json
import os
import re
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from live_switch import inside, namespaces, ports_of, process, running, tap
from progress import wait_for

__all__ = ["namespaces"]
pytestmark = pytest.mark.needs("namespaces")

SWITCH = """
[live]
rate = "50Mbps"
classes = ["46=1"]
[switch]
queues = 2
buffer = "30KB"
[switch.trimming]
size = "128B"
queues = [0]
queue = 1
dscp = 46
[scheme]
name = "per-queue"
params = { threshold = "9KB" }
"""
SEND = """
    import socket, sys
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for i in range(int(sys.argv[2])):
            # Every fourth is not ECN-capable.
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2 if i % 4 else 0)
            sender.sendto(bytes(1000 + i % 400), (sys.argv[1], 7000))
"""
"""Datagrams as fast as they go: the port marks, drops and trims."""


@contextmanager
def switch(
    command: list[str], folder: Path, hosts: list[str], *more: str
) -> Iterator[tuple[Path, list[str]]]:
    """A switch; the socket, and the names of the ports."""
    names = [f"c{os.getpid()}{letter}" for letter in "ab"]
    ports = "".join(
        tap(name, host, f"10.0.0.{i}")
        for i, (name, host) in enumerate(zip(names, hosts, strict=False), 1)
    )
    with running(command, folder, SWITCH + ports, *more) as socket:
        yield socket, names


def send(host: str, datagrams: int) -> None:
    with inside(host, SEND, "10.0.0.2", str(datagrams)) as sender:
        sender.output()


def settle(switchbed: Program, socket: Path) -> list[dict[str, Any]]:
    """The ports' statistics once nothing is queued."""

    def empty(ports: list[dict[str, Any]]) -> bool:
        return not any(queue["packets"] for port in ports for queue in port["queues"])

    return wait_for(lambda: ports_of(switchbed, socket), empty)


def comments(file: Path, *more: str) -> list[tuple[str, str, int]]:
    """Interface, comment and length of each frame, as tshark reads them."""
    fields = ("frame.interface_name", "frame.comment", "frame.len")
    words = ["tshark", "-r", str(file), *more, "-T", "fields"]
    words += [word for name in fields for word in ("-e", name)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in text.splitlines())
    return [(name, comment, int(length)) for name, comment, length in rows]


def counted(rows: list[tuple[str, str, int]], port: str) -> dict[str, int]:
    """Counters of a port as its statistics have them, from its frames' comments."""
    found = Counter[str]()
    for name, comment, _ in rows:
        if name != port:
            continue
        words = comment.split()
        given = dict(word.split("=") for word in words if "=" in word)
        if words[0] in ("received", "refused"):
            found["received_packets"] += 1
        elif words[0] == "dropped":
            found["drops_" + given["reason"].replace("-", "_")] += 1
        else:
            assert words[0] == "sent"
            assert re.fullmatch(r"[0-9]+\.[0-9]{3}us", given["delay"])
            found["sent_packets"] += 1
            found["marked_packets"] += "marked" in words
            found["tx_trim_packets"] += "trimmed-from" in given
    return dict(found)


@pytest.mark.needs("tshark")
def test_each_frame_has_its_decision_and_they_add_up_to_the_counters(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    out, results = tmp_path / "all.pcapng", tmp_path / "results"
    with switch(command, tmp_path, namespaces, "--out", str(results)) as (socket, names):
        words = [*command, "live", "capture", "--socket", str(socket), "--out", str(out)]
        capture = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert capture.stderr is not None
        assert "Ctrl-C ends it" in capture.stderr.readline()
        send(namespaces[0], 3000)
        settle(switchbed, socket)
    # The switch has ended, and so has the capture: both have seen the same frames.
    said = capture.communicate(timeout=60)[1]
    assert capture.returncode == 0
    rows = comments(out)
    assert said == f"switchbed: {len(rows)} packets to {out}\n"
    ports = json.loads((results / "stats.json").read_text())["ports"]
    for port in ports:
        found = counted(rows, port["port"])
        kinds = ("received_packets", "sent_packets", "marked_packets", "tx_trim_packets")
        drops = [name for name in port if name.startswith("drops_")]
        assert {key: found.get(key, 0) for key in (*kinds, *drops)} == {
            key: port[key] for key in (*kinds, *drops)
        }
    # All kinds of decisions were met.
    receiver = ports[1]
    for key in ("marked_packets", "tx_trim_packets", "drops_not_ecn_capable"):
        assert receiver[key] > 20, receiver
    # CE is on the frames that say so, and trimmed ones have the size that was asked for.
    shown = f'frame.interface_name == "{names[1]}"'
    marked = comments(out, "-Y", f"{shown} && ip.dsfield.ecn == 3 && frame.comment")
    assert sum("marked" in comment for _, comment, _ in marked) == receiver["marked_packets"]
    assert {length for _, comment, length in rows if "trimmed-from" in comment} == {128}
    # Wireshark computes the checksums anew, and finds those of cut frames right.
    checked = ("-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE")
    good = " && ".join(f'{of}.checksum.status == "Good"' for of in ("ip", "udp"))
    right = comments(out, *checked, "-Y", f"{shown} && {good}")
    trimmed = sum("trimmed-from" in comment for _, comment, _ in right)
    assert trimmed == receiver["tx_trim_packets"]
    info = subprocess.run(["capinfos", str(out)], capture_output=True, text=True, check=True)
    assert "pcapng" in info.stdout


@pytest.mark.needs("tshark")
def test_a_pipe_a_count_and_a_snaplen(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    with switch(command, tmp_path, namespaces) as (socket, names):
        base = [*command, "live", "capture", "--socket", str(socket), "--port", names[1]]
        more = ["--direction", "out", "--count", "5", "--snaplen", "60", "--out", "-"]
        with subprocess.Popen(
            [*base, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as capture:
            assert capture.stderr is not None
            assert b"Ctrl-C ends it" in capture.stderr.readline()
            read = subprocess.Popen(
                ["tshark", "-r", "-", "-T", "fields", "-e", "frame.cap_len", "-e", "frame.comment"],
                stdin=capture.stdout,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            send(namespaces[0], 100)
            lines = read.communicate(timeout=60)[0].splitlines()
            assert capture.wait(timeout=60) == 0
        assert len(lines) == 5
        assert all(line.startswith(("60\tsent", "60\tdropped", "42\tsent")) for line in lines)
        # A duration ends it, too: nothing is sent here.
        out = tmp_path / "quiet.pcapng"
        done = switchbed(
            *("live", "capture", "--socket", socket, "--duration", "0.3", "--port", names[0]),
            *("--out", out),
        )
        assert f"0 packets to {out}" in done.stderr
        assert comments(out) == []


def test_what_is_refused(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    out = tmp_path / "mine"
    out.write_text("precious")
    with switch(command, tmp_path, namespaces) as (socket, names):
        words = ("live", "capture", "--socket", socket, "--duration", "0.2", "--out")
        assert "give --force" in switchbed(*words, out, code=2).stderr
        unknown = switchbed(*words, tmp_path / "new", "--port", "nowhere", code=2).stderr
        assert f"nowhere names no port: there are {', '.join(names)}" in unknown
        assert not (tmp_path / "new").exists()
        # A switch that is not there costs no file.
        gone = (*words[:3], tmp_path / "no.sock", *words[4:], out, "--force")
        assert "no switch answers" in switchbed(*gone, code=2).stderr
        assert out.read_text() == "precious"
        switchbed(*words, out, "--force")
        assert out.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
        assert switchbed(*words, tmp_path / "free").stderr.count("\n") == 2
        assert (tmp_path / "free").stat().st_mode & 0o777 == 0o600


HOLD = """
import subprocess, sys, time
with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as capture:
    sys.stdin.readline()
    rest = capture.stdout.read()
    print(len(rest), capture.wait(), flush=True)
"""
"""A reader that does not read until a line comes."""


def test_a_reader_that_sleeps_delays_nobody_and_hears_of_it(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    results = tmp_path / "results"
    with switch(command, tmp_path, namespaces, "--out", str(results)) as (socket, _):
        words = [*command, "live", "capture", "--socket", str(socket)]
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, *words, "--out", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as reader:
            assert reader.stderr is not None
            assert "Ctrl-C ends it" in reader.stderr.readline()
            for _ in range(6):
                send(namespaces[0], 4000)
            settle(switchbed, socket)
            # Others' captures go on.
            quick = ("--duration", "0.1", "--out", tmp_path / "x")
            switchbed("live", "capture", "--socket", socket, *quick)
            switchbed("live", "stop", "--socket", socket)
            lines, said = reader.communicate("go\n", timeout=60)
            wait_for(socket.exists, lambda there: not there)
        assert lines.split()[1] == "0"
    ports = json.loads((results / "stats.json").read_text())["ports"]
    packets, missed = map(int, re.findall(r"(\d+) (?:packets|were)", said))
    passed = sum(
        port[key]
        for port in ports
        for key in port
        if key in ("received_packets", "sent_packets") or key.startswith("drops_")
    )
    assert packets + missed == passed
    assert missed > 0
    assert sum(port["host_drops"] + port["device_errors"] for port in ports) == 0


def test_ctrl_c_leaves_a_whole_file(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    out = tmp_path / "all.pcapng"
    with switch(command, tmp_path, namespaces) as (socket, _):
        words = [*command, "live", "capture", "--socket", str(socket), "--out", str(out)]
        with process(words) as capture:
            capture.wait_for("Ctrl-C ends it\n")
            send(namespaces[0], 2000)
            # While frames still come.
            capture.process.send_signal(signal.SIGINT)
            said = capture.output()
        settle(switchbed, socket)
    found = re.search(r"(\d+) packets to", said)
    assert found is not None
    assert "did not say" not in said
    assert _packets(out.read_bytes()) == int(found[1]) > 1000


def _packets(file: bytes) -> int:
    """Packets of a pcapng file, which must end with a block's end."""
    at = packets = 0
    while at < len(file):
        kind, length = struct.unpack_from("<II", file, at)
        assert struct.unpack_from("<I", file, at + length - 4) == (length,)
        packets += kind == 6
        at += length
    assert at == len(file)
    return packets
