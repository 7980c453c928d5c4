"""The live switch as a process: what it refuses, forwards and survives."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from live_switch import SWITCH, holders, inside, ip, namespaces, running, tap, transfer, veth

__all__ = ["namespaces"]
needs_namespaces = pytest.mark.needs("namespaces")


def test_mistakes_in_a_file_are_one_line(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SWITCH + '[[port]]\nname = "a"\n')
    done = switchbed("live", "check", "one.toml", code=2)
    assert "at least two" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "no such" in switchbed("live", "check", "none.toml", code=2).stderr.lower()
    assert (
        "no switch answers"
        in switchbed("live", "stats", "--socket", tmp_path / "no.sock", code=2).stderr
    )
    leaf_spine = Path(__file__).parents[3] / "scenarios" / "mqecn-fig9.toml"
    assert '"star"' in switchbed("live", "lab", leaf_spine, code=2).stderr


def test_the_keys_are_printed(switchbed: Program) -> None:
    assert "`[[port]]`" in switchbed("live", "keys").stdout


@pytest.mark.needs("namespaces", "ethtool")
def test_what_would_break_it_is_refused_with_what_mends_it(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    a, b, _ = namespaces
    name, other = f"v{os.getpid()}a", f"v{os.getpid()}b"
    file = tmp_path / "veth.toml"

    def refusal(text: str) -> str:
        file.write_text(SWITCH + text)
        return switchbed("live", "run", file, "--seconds", "1", code=2).stderr

    assert "ip netns add nowhere" in refusal(
        tap("x1", a, "10.0.0.1") + tap("x2", "nowhere", "10.0.0.2")
    )
    port = '[[port]]\nname = "{}"\ndevice = "interface"\noffload = false\n'
    ports = port.format(name) + port.format(other)
    assert "there is no such interface" in refusal(ports)
    for each, netns, address in ((name, a, "10.0.0.1"), (other, b, "10.0.0.2")):
        veth = ("type", "veth", "peer", "name", "eth0", "netns", netns)
        ip("link", "add", each, "mtu", "1400", *veth)
        ip("-n", netns, "address", "add", f"{address}/24", "dev", "eth0")
        ip("-n", netns, "link", "set", "dev", "eth0", "up", "mtu", "1400")
    try:
        # Each refusal names the command; all done, they lead to a switch that forwards.
        said = refusal(ports).splitlines()
        for needed, line in zip(("up", "mtu 1500", "mtu 1500", "off") * 2, said, strict=True):
            mending = line.rpartition(": ")[2]
            assert needed in mending, line
            subprocess.run(mending.split(), check=True, capture_output=True)
        with running(command, tmp_path, SWITCH + ports):
            transfer(a, b, "10.0.0.2")
    finally:
        for each in (name, other):
            ip("link", "delete", each)


@needs_namespaces
def test_a_switch_that_runs_is_asked_and_set(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    a, b, _ = namespaces
    text = SWITCH.replace("[switch]", 'series_every = "5ms"\n[switch]')
    text += tap(f"a{os.getpid()}", a, "10.0.0.1") + tap(f"b{os.getpid()}", b, "10.0.0.2")
    out = tmp_path / "out"
    with running(command, tmp_path, text, "--out", str(out)) as socket:
        assert socket.stat().st_mode & 0o777 == 0o600
        switchbed("live", "set", "live.rate=20Mbps", "--socket", socket)
        # 0.8 s at that rate, a tenth at the rate of its file.
        assert transfer(a, b, "10.0.0.2") > 0.7
        shown = json.loads(switchbed("live", "show", "--socket", socket).stdout)
        assert shown["port"][0]["rate"] == "20Mbps"
        refused = switchbed("live", "set", "live.mtu=900B", "--socket", socket, code=2)
        assert "cannot change" in refused.stderr
        lines = switchbed(
            "live", "stats", "--json", "--every", "0.05", "--count", "2", "--socket", socket
        )
        first, second = map(json.loads, lines.stdout.splitlines())
        assert first["ports"][1]["sent_bytes"] > 2_000_000
        assert second["time_s"] > first["time_s"]
        assert _undocumented(first) == set()
        text = switchbed("live", "stats", "--prometheus", "--socket", socket).stdout
        assert f'switchbed_sent_packets_total{{port="a{os.getpid()}"}}' in text
        assert _rights(socket) == {
            (f"Cap{kind}", 0) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")
        }
    import polars as pl

    series = pl.read_parquet(out / "series.parquet")
    assert series.columns[:4] == ["time_s", "port", "queue", "bytes"]
    assert series.filter(pl.col("bytes") > 10_000).height > 0
    assert json.loads((out / "stats.json").read_text())["ports"][1]["drops_full"] >= 0


def _undocumented(stats: dict[str, Any]) -> set[str]:
    """Fields that the page does not name."""
    page = (Path(__file__).parents[3] / "docs" / "live.md").read_text()
    port = stats["ports"][0]
    names = {*stats, *stats["refused"], *stats["wakes"], *port, *port["queues"][0]}
    return {name for name in names if f"`{name}`" not in page and not name.startswith("drops_")}


@needs_namespaces
def test_two_capabilities_are_enough_and_are_given_up(
    tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    names = [f"q{os.getpid()}{letter}" for letter in "ab"]
    # Root without any other right, as of a service with a bounding set.
    words = ["setpriv", "--bounding-set", "-all,+net_admin,+net_raw", *command]
    ports = "".join(f'[[port]]\nname = "{name}"\n' for name in names)
    with running(words, tmp_path, SWITCH + ports) as socket:
        # Only what was not its own to empty is left: the bounding set, of which nothing follows.
        allowed = 1 << 12 | 1 << 13
        assert _rights(socket) == NO_RIGHTS | {("CapBnd", allowed)}
        for i, (name, netns) in enumerate(zip(names, namespaces, strict=False)):
            ip("link", "set", "dev", name, "netns", netns)
            ip("-n", netns, "address", "add", f"10.0.0.{i + 1}/24", "dev", name)
            ip("-n", netns, "link", "set", "dev", name, "up")
        transfer(namespaces[0], namespaces[1], "10.0.0.2")


NO_RIGHTS = {(f"Cap{kind}", 0) for kind in ("Inh", "Prm", "Eff", "Amb")}


def _rights(socket: Path) -> set[tuple[str, int]]:
    """The capabilities of every thread of the switch with this socket, by set."""
    found = set()
    for pid in holders(socket):
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            lines = (line.split() for line in status.read_text().splitlines())
            found |= {(w[0].rstrip(":"), int(w[1], 16)) for w in lines if w[0].startswith("Cap")}
    return found


FLOOD = """
    import itertools, os, random, socket, sys, time
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((sys.argv[1], 0))
    to, mine = bytes.fromhex(sys.argv[2]), bytes([2, 9, 9, 9, 9, 9])
    draw = random.Random(1)
    small = to + mine + b"\\x08\\x00" + b"\\x45" + bytes(45)
    kinds = [bytes.fromhex(kind) for kind in ("0800", "86dd", "8100", "88a8", "0806", "88e5")]
    end = time.monotonic() + 2
    sent = 0
    while time.monotonic() < end or sent < 20_000:
        for _ in range(50):
            frame = small
            if sent % 4 == 0:
                body = draw.randbytes(draw.randrange(1, 1500))
                source = bytes([2]) + draw.randbytes(5)
                frame = draw.choice([to, b"\\xff" * 6]) + source + draw.choice(kinds) + body
            try:
                raw.send(frame)
            except OSError:
                pass
            sent += 1
    print(sent)
"""


@needs_namespaces
def test_floods_and_malformed_frames_do_no_harm(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    names = [f"{letter}{os.getpid()}" for letter in "abc"]
    ports = "".join(
        tap(name, netns, f"10.0.0.{i + 1}")
        for i, (name, netns) in enumerate(zip(names, namespaces, strict=True))
    )
    with running(command, tmp_path, SWITCH + ports) as socket:
        (link,) = json.loads(ip("-json", "-n", namespaces[1], "link", "show", names[1]))
        to = link["address"].replace(":", "")
        # From c to b, while a and b hold a conversation in the other direction.
        with inside(namespaces[2], FLOOD, names[2], to) as flood:
            transfer(namespaces[1], namespaces[0], "10.0.0.1")
            assert int(flood.output()) > 1000
        stats = json.loads(switchbed("live", "stats", "--json", "--socket", socket).stdout)
        assert stats["ports"][2]["received_packets"] > 1000
        transfer(namespaces[0], namespaces[1], "10.0.0.2")


TAKE_FRAMES = """
    # Frames as they were on the wire, each a line of hexadecimal digits, until the last.
    import socket, struct, sys
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    raw.bind((sys.argv[1], 3))
    raw.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
    print("ready", flush=True)
    while True:
        frame, told, _, _ = raw.recvmsg(4000, 100)
        status, _, _, _, _, tci, protocol = struct.unpack("IIIHHHH", told[0][2])
        if frame[6:12] != bytes([2, 9, 9, 9, 9, 9]):
            continue
        if status & 0x10:
            frame = frame[:12] + struct.pack("!HH", protocol, tci) + frame[12:]
        print(frame.hex(), flush=True)
        if frame[12:14] == b"\\x88\\xb6":
            break
"""
SEND_FRAMES = """
    import socket, sys, time
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((sys.argv[1], 0))
    for frame in sys.argv[2:]:
        raw.send(bytes.fromhex(frame))
"""


def frames() -> list[bytes]:
    """Frames of every shape, none of them ECN-capable; the last has a type of its own."""
    head = bytes([2, 0, 0, 0, 0, 7]) + bytes([2, 9, 9, 9, 9, 9])
    ipv4 = bytes.fromhex("450005dc 00010000 40116f0d 0a000001 0a000002") + bytes(1480)
    fragment = bytes.fromhex("4500003c 00012010 40110000 0a000001 0a000002") + bytes(40)
    cut = bytes.fromhex("450005dc 00010000 4011")
    contradicting = bytes.fromhex("4f000014 00010000 40110000 0a000001 0a000002") + bytes(40)
    hop_by_hop = bytes.fromhex("1100 0104 00000000")
    ipv6 = bytes.fromhex("60000000 0030 0040") + bytes(31) + b"\x01" + hop_by_hop + bytes(40)
    bodies = {
        "0800": [ipv4, fragment, cut, contradicting],
        "86dd": [ipv6, ipv6[:30]],
        # Tags: of a VLAN with a priority, of a priority alone, of a provider around a customer's.
        "8100a007": [b"\x08\x00" + ipv4, b"\x86\xdd" + ipv6],
        "8100e000": [b"\x08\x00" + cut],
        "88a80005": [bytes.fromhex("81000007 0800") + ipv4[:100]],
        "88b6": [b"the last"],
    }
    return [
        head + bytes.fromhex(kind) + body for kind, several in bodies.items() for body in several
    ]


@pytest.mark.needs("namespaces", "ethtool")
def test_frames_of_every_shape_cross_existing_interfaces_untouched(
    tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    names = [f"w{os.getpid()}{letter}" for letter in "ab"]
    try:
        ports = "".join(veth(*each) for each in zip(names, namespaces, strict=False))
        sent = [frame.hex() for frame in frames()]
        with (
            running(command, tmp_path, SWITCH + ports),
            inside(namespaces[1], TAKE_FRAMES, "eth0") as sink,
        ):
            sink.wait_for("ready\n")
            with inside(namespaces[0], SEND_FRAMES, "eth0", *sent) as source:
                source.output()
            assert sink.output().split() == ["ready", *sent]
    finally:
        for name in names:
            subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)
