"""Priority-based flow control between two live switches: an overload that loses nothing in a
lossless class, and loses without."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from live_switch import inside, ip, namespaces, ports_of, running, tap
from progress import wait_for

__all__ = ["namespaces"]
pytestmark = pytest.mark.needs("namespaces")

DATAGRAMS = 5000
SWITCH = """
[live]
rate = "100Mbps"
realtime = true
[switch]
queues = 2
pool = "{pool}"
[switch.pfc]
priorities = [1]
headroom = "{headroom}"
{pfc}
[scheme]
name = "none"
"""
SEND = """
    import socket, sys, time
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[2]) << 2)
        # Asks for the receiver's address: meanwhile the kernel keeps fewer than a burst.
        sender.sendto(b"", (sys.argv[1], 9))
        time.sleep(0.5)
        for i in range(int(sys.argv[3])):
            sender.sendto(i.to_bytes(4, "big") + bytes(1396), (sys.argv[1], 7000))
            # Over half of the card's 100 Mbps: its queue of 1000 frames loses nothing.
            if i % 100 == 99:
                time.sleep(0.02)
"""
TAKE = """
    import socket, sys
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        # SO_RCVBUFFORCE, which Python does not name.
        receiver.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)
        receiver.bind(("", 7000))
        receiver.settimeout(4)
        print("ready", flush=True)
        found = []
        try:
            while len(found) < int(sys.argv[1]):
                found.append(int.from_bytes(receiver.recv(2000)[:4], "big"))
        except TimeoutError:
            pass
        print(len(found), found == sorted(found), flush=True)
"""


@contextmanager
def pair(
    command: list[str], folder: Path, hosts: list[str]
) -> Iterator[tuple[list[Path], list[str]]]:
    """Two switches joined by a cable, of which the second's host has a fifth of the rate: their
    sockets, and the names of the cable's ends."""
    names = [f"f{os.getpid()}{letter}" for letter in "abcd"]
    ends = names[1:3]
    ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    try:
        for end in ends:
            quiet = f"net.ipv6.conf.{end}.disable_ipv6=1"
            subprocess.run(["sysctl", "-qw", quiet], check=True)
            ip("link", "set", "dev", end, "up", "promisc", "on")
        cable = '[[port]]\nname = "{}"\ndevice = "interface"\npfc = true\n'
        # The host does not obey, so the first switch has room for all that it sends, however fast.
        first = SWITCH.format(pool="64MB", headroom="400KB", pfc="") + tap(
            names[0], hosts[0], "10.0.0.1"
        )
        # The host's card is a line, so that its burst is one behind the other.
        first += 'host_rate = "100Mbps"\nrate = "100Mbps"\n' + cable.format(ends[0])
        # Beside busy cores a switch may obey 150 ms late: the headroom takes what comes meanwhile.
        second = SWITCH.format(pool="4700KB", headroom="2MB", pfc="") + cable.format(ends[1])
        second += tap(names[3], hosts[1], "10.0.0.2") + 'rate = "20Mbps"\n'
        folders = [folder / name for name in ("first", "second")]
        for each in folders:
            each.mkdir()
        with (
            running(command, folders[1], second) as of_second,
            running(command, folders[0], first) as of_first,
        ):
            yield [of_first, of_second], ends
    finally:
        ip("link", "delete", ends[0])


def passed(hosts: list[str], dscp: int) -> tuple[int, bool]:
    """Datagrams of a class that arrive, and whether they are in order."""
    with inside(hosts[1], TAKE, str(DATAGRAMS)) as receiver:
        receiver.wait_for("ready\n")
        with inside(hosts[0], SEND, "10.0.0.2", str(dscp), str(DATAGRAMS)) as sender:
            sender.output()
        said = receiver.output().split("\n")[1].split()
    return int(said[0]), said[1] == "True"


@pytest.mark.needs("tshark")
def test_an_overload_loses_nothing_in_the_lossless_class(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    out = tmp_path / "pauses.pcapng"
    with pair(command, tmp_path, namespaces) as (sockets, ends):
        words = ("live", "capture", "--socket", sockets[0], "--port", ends[0], "--direction", "in")
        capture = subprocess.Popen(
            [*command, *map(str, words), "--snaplen", "64", "--out", str(out)],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert capture.stderr is not None
        capture.stderr.readline()
        found, _ = passed(namespaces, dscp=1)
        capture.terminate()
        capture.communicate(timeout=60)
        first, second = (ports_of(switchbed, socket) for socket in sockets)
        # Lost frames of the sender's card would be none of the switches'.
        assert [first[0]["host_drops"], second[0]["overruns"]] == [0, 0]
        assert found == DATAGRAMS, json.dumps([first, second])
        assert drops(first) == drops(second) == 0
        asked = wait_for(lambda: ports_of(switchbed, sockets[1])[0], calm)["tx_pfc_frames"]
        heard = wait_for(
            lambda: ports_of(switchbed, sockets[0])[1]["rx_pfc_frames"], lambda n: n == asked
        )
        assert heard > 1
        assert first[1]["queues"][1]["paused_s"] > 0.1
        assert second[0]["groups"][0]["lost_packets"] == 0
        text = switchbed("live", "stats", "--prometheus", "--socket", sockets[1]).stdout
        assert f'switchbed_tx_pfc_frames_total{{port="{ends[1]}"}} {asked}' in text
        assert f'switchbed_group_paused{{port="{ends[1]}",class="1"}} 0' in text
    # Wireshark reads the frames as what they are.
    names = ("macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c1", "frame.comment")
    fields = [word for name in names for word in ("-e", name)]
    shown = ["tshark", "-r", str(out), "-Y", "eth.type == 0x8808", "-T", "fields", *fields]
    text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t") for line in text.splitlines()]
    assert len(lines) == heard
    for opcode, classes, quanta, comment in lines:
        assert (int(opcode, 16), int(classes, 16)) == (0x0101, 1 << 1)
        assert quanta in ("0", "65535")
        assert comment == f"pfc class1={quanta}"


def calm(port: dict[str, Any]) -> bool:
    return not any(group["paused"] for group in port["groups"])


def drops(ports: list[dict[str, Any]]) -> int:
    return sum(value for port in ports for name, value in port.items() if name.startswith("drops_"))


def test_the_same_overload_loses_without(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    # Class 0 is not lossless.
    with pair(command, tmp_path, namespaces) as (sockets, _):
        found, _ = passed(namespaces, dscp=0)
        first, second = (ports_of(switchbed, socket) for socket in sockets)
        assert drops(first) == 0
        assert drops(second) > 100
        assert found + drops(second) == DATAGRAMS
        assert second[0]["tx_pfc_frames"] == 0


STORM = """
    import socket, sys, time
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as card:
        card.bind((sys.argv[1], 0))
        mac = bytes.fromhex("0180c2000001 020000000909 8808 0101".replace(" ", ""))
        frames = [
            mac + bytes.fromhex("00ff") + b"\\xff" * 16 + bytes(26),
            mac + bytes.fromhex("ff02") + b"\\xff" * 16 + bytes(26),
            mac + bytes(2),
        ]
        end = time.monotonic() + float(sys.argv[2])
        sent = 0
        while time.monotonic() < end:
            for frame in frames:
                card.send(frame)
                sent += 1
        print(sent)
"""


def test_a_storm_of_a_hostile_peer_is_bounded(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    names = [f"g{os.getpid()}{letter}" for letter in "ab"]
    ip("link", "add", names[1], "type", "veth", "peer", "name", "eth0", "netns", namespaces[1])
    try:
        ip("-n", namespaces[1], "address", "add", "10.0.0.2/24", "dev", "eth0")
        ip("-n", namespaces[1], "link", "set", "dev", "eth0", "up")
        quiet = f"net.ipv6.conf.{names[1]}.disable_ipv6=1"
        subprocess.run(["sysctl", "-qw", quiet], check=True)
        ip("link", "set", "dev", names[1], "up", "promisc", "on")
        watch = 'watchdog = "drop"\ndetection_time = "200ms"'
        text = SWITCH.format(pool="4MB", headroom="400KB", pfc=watch) + tap(
            names[0], namespaces[0], "10.0.0.1"
        )
        text += f'[[port]]\nname = "{names[1]}"\ndevice = "interface"\npfc = true\n'
        with running(command, tmp_path, text) as socket:
            with inside(namespaces[1], STORM, "eth0", "3") as storm:
                wait_for(lambda: ports_of(switchbed, socket)[1]["rx_pfc_frames"], lambda n: n > 0)
                # The lossless class is held, then dropped; the other passes.
                for dscp in (1, 0):
                    with inside(namespaces[0], SEND, "10.0.0.2", str(dscp), "300") as sender:
                        sender.output()
                sent = int(storm.output())
            port = wait_for(
                lambda: ports_of(switchbed, socket)[1],
                lambda port: (
                    port["rx_pfc_frames"] + port["bad_pfc_frames"] + port["overruns"] >= sent
                ),
            )
            assert port["bad_pfc_frames"] > sent / 4
            assert port["queues"][1]["storms"] == 1
            assert port["queues"][1]["storm_drops"] > 0
            assert port["sent_packets"] >= 300
            assert json.loads(switchbed("live", "show", "--socket", socket).stdout)["port"][1][
                "pfc"
            ]
    finally:
        ip("link", "delete", names[1])
