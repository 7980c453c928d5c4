"""Hosts that leave segments and checksums to their cards, behind a veth and a TAP: packets for the
switch, whole for each other, and counted to the frame."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from live_switch import SWITCH, inside, ip, namespaces, running, tap, transfer
from progress import wait_for

__all__ = ["namespaces"]
pytestmark = pytest.mark.needs("namespaces", "ethtool")

FAST = SWITCH.replace("200Mbps", "2Gbps")
HOSTILE = """
    # Frames with an offload header that lies, in every way: lengths, places, sizes, kinds, tags.
    import random, socket, struct, sys
    SOL_PACKET, PACKET_VNET_HDR = 263, 15
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    raw.bind((sys.argv[1], 0))
    draw = random.Random(int(sys.argv[2]))
    addresses = bytes([2, 0, 0, 0, 0, 7, 2, 9, 9, 9, 9, 9])
    taken = 0
    for nth in range(int(sys.argv[3])):
        v6, tcp = draw.random() < 0.5, draw.random() < 0.5
        size = draw.choice((0, 1, 8, 100, 1400, 20_000, 60_000))
        tags = draw.choice((b"", b"", b"\\x81\\0\\0\\7", b"\\x88\\xa8\\0\\5\\x81\\0\\0\\7"))
        proto = 6 if tcp else 17
        length = (20 if tcp else 8) + size
        said = draw.choice((length, length, length - 1, 0, 65535))
        if v6:
            head = struct.pack("!IHBB16s16s", 6 << 28, said & 65535, proto, 9, bytes(16), bytes(16))
        else:
            head = struct.pack("!BBHHHBBH4s4s", 0x45, 2, (said + 20) & 65535, nth & 65535,
                draw.choice((0, 0x4000, 0x2000)), 9, proto, 0, bytes(4), bytes(4))
        if tcp:
            layer = struct.pack("!HHIIBBHHH", 5, 6, nth, 0, draw.choice((0x50, 0x50, 0xf0)),
                draw.choice((0x10, 0x98, 0x02)), 500, 0, 0)
        else:
            layer = struct.pack("!HHHH", 5, 6, said & 65535, 0)
        kind = b"\\x86\\xdd" if v6 else b"\\x08\\0"
        frame = addresses + tags + kind + head + layer + bytes(size)
        place = 14 + len(tags) + len(head)
        header = struct.pack("=BBHHHH", draw.choice((1, 1, 1, 0, 255)),
            draw.choice((5 if not tcp else 4 if v6 else 1, 0, 1, 4, 5, 0x81)),
            draw.choice((place + len(layer), 0, 65535)),
            draw.choice((0, 1, 7, 100, 1448, 65535)),
            draw.choice((place, place, place, 0, 65535, len(frame) - 1)),
            draw.choice((16 if tcp else 6, 16, 0, 65535)))
        try:
            raw.send(header + frame)
            taken += 1
        except OSError:
            pass  # the kernel refuses it
    print(taken)
"""


class Between:
    """A switch between a TAP's host and a veth's, both with offloads."""

    def __init__(
        self, switchbed: Program, socket: Path, names: list[str], hosts: list[str]
    ) -> None:
        self._switchbed, self._socket = switchbed, socket
        self.names, self.hosts = names, hosts
        self._before = self._interfaces()

    def stats(self) -> dict[str, Any]:
        """The switch's statistics."""
        words = ("live", "stats", "--json", "--socket", self._socket)
        found: dict[str, Any] = json.loads(self._switchbed(*words).stdout)
        return found

    def _interfaces(self) -> list[int]:
        """Frames that the interfaces have had: from the hosts, and for them."""
        (first,) = json.loads(ip("-n", self.hosts[0], "-json", "-s", "link", "show", self.names[0]))
        (other,) = json.loads(ip("-json", "-s", "link", "show", self.names[1]))
        tx, rx = first["stats64"]["tx"], first["stats64"]["rx"]
        counted = [tx["packets"] + tx["dropped"], rx["packets"]]
        return [*counted, other["stats64"]["rx"]["packets"], other["stats64"]["tx"]["packets"]]

    def counted(self) -> tuple[list[int], list[int]]:
        """The same by the switch, and by the interfaces since it began."""
        found = []
        for port in self.stats()["ports"]:
            found += [port["received_frames"] + port["overruns"], port["sent_frames"]]
        now = self._interfaces()
        return found, [count - first for count, first in zip(now, self._before, strict=True)]


@contextmanager
def between(
    switchbed: Program, folder: Path, hosts: list[str], command: list[str], pcap: Path
) -> Iterator[Between]:
    names = [f"w{os.getpid()}{letter}" for letter in "ab"]
    ip("link", "add", names[1], "type", "veth", "peer", "name", "eth0", "netns", hosts[1])
    try:
        ip("-n", hosts[1], "address", "add", "10.0.0.2/24", "dev", "eth0")
        ip("-n", hosts[1], "link", "set", "dev", "eth0", "up")
        # The switch's end says nothing by itself.
        quiet = f"net.ipv6.conf.{names[1]}.disable_ipv6=1"
        subprocess.run(["sysctl", "-qw", quiet], check=True)
        ip("link", "set", "dev", names[1], "up")
        text = FAST + tap(names[0], hosts[0], "10.0.0.1") + f'pcap = "{pcap}"\n'
        text += f'[[port]]\nname = "{names[1]}"\ndevice = "interface"\n'
        with running(command, folder, text) as socket:
            yield Between(switchbed, socket, names, hosts)
    finally:
        ip("link", "delete", names[1])


def agrees(counted: tuple[list[int], list[int]]) -> bool:
    return counted[0] == counted[1]


def damaged(netns: str) -> list[int]:
    """Segments of TCP and datagrams of UDP that a namespace's hosts found damaged."""
    words = ["ip", "netns", "exec", netns, "cat", "/proc/net/snmp"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    pairs = [line.split() for line in lines if line.startswith(("Tcp:", "Udp:"))]
    tables = [
        dict(zip(names, of, strict=True)) for names, of in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    return [int(table["InCsumErrors"]) for table in tables]


@pytest.mark.needs("tshark")
def test_hosts_with_offloads_need_none_switched_off(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    a, b = namespaces[:2]
    pcap = tmp_path / "a.pcap"
    with between(switchbed, tmp_path, [a, b], command, pcap) as switch:
        transfer(a, b, "10.0.0.2")
        transfer(b, a, "10.0.0.1")
        wait_for(switch.counted, agrees)
        assert damaged(a) == damaged(b) == [0, 0]
        for port in switch.stats()["ports"]:
            # Two megabytes are over 1300 packets.
            assert port["received_packets"] > 1300
            assert port["received_frames"] < port["received_packets"] / 2
            assert port["sent_frames"] < port["sent_packets"]
            assert port["bad_offloads"] == 0
    # The port saw packets as they are on a wire, with right checksums.
    assert shown(pcap, "frame.len > 1514") == []
    wrong = "ip.checksum.status == 0 || tcp.checksum.status == 0"
    assert shown(pcap, wrong) == []
    assert len(shown(pcap, "tcp.checksum.status == 1 && ip.checksum.status == 1")) > 2600


def shown(pcap: Path, of: str) -> list[str]:
    """Frames of a trace that fit a filter, checksums checked."""
    checks = [word for layer in ("ip", "tcp") for word in ("-o", f"{layer}.check_checksum:TRUE")]
    words = ["tshark", "-r", str(pcap), *checks, "-Y", of, "-T", "fields", "-e", "frame.number"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_offload_headers_that_lie_do_no_harm(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str], seed: int
) -> None:
    a, b = namespaces[:2]
    pcap = tmp_path / "a.pcap"
    with between(switchbed, tmp_path, [a, b], command, pcap) as switch:
        for host, name in ((a, switch.names[0]), (b, "eth0")):
            with inside(host, HOSTILE, name, str(seed), "2000") as sender:
                # The kernel lets some of them through.
                assert int(sender.output()) > 100
        wait_for(switch.counted, agrees)
        transfer(a, b, "10.0.0.2")
        transfer(b, a, "10.0.0.1")
        wait_for(switch.counted, agrees)
        stats = switch.stats()
        assert not any(port["device_errors"] or port["gone"] for port in stats["ports"])
