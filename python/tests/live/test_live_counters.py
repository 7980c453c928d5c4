"""A port's counters: frames received and frames lost before the switch (`overruns`) are together
what the interface itself has counted, whatever the frames are and whenever they come."""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from live_switch import (
    SWITCH,
    ended,
    holders,
    inside,
    ip,
    namespaces,
    ports_of,
    running,
    tap,
    veth,
)
from progress import wait_for

from switchbed.live import prometheus

__all__ = ["namespaces"]
pytestmark = pytest.mark.needs("namespaces", "ethtool")

BURST = """
    # Frames as fast as they go, which no one but the switch hears of, with these types in turn.
    import itertools, socket, sys
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((sys.argv[1], 0))
    addresses = bytes([2, 0, 0, 0, 0, 7, 2, 9, 9, 9, 9, 9])
    count, length = map(int, sys.argv[2:4])
    frames = [addresses + bytes.fromhex(kind) + bytes(length) for kind in sys.argv[4:]]
    for frame in itertools.islice(itertools.cycle(frames), count):
        try:
            raw.send(frame)
        except OSError:  # lost before the interface counted it, or counted as dropped
            pass
"""
UNTAGGED = ("0800", "86dd", "88b6")
"""Types that this host's protocols take, and one that none takes."""
TAGGED = ("8100a0070800", "8100a00788b6", "8100e00088b6", "88a8000581000007" + "0800")
"""Tags of a VLAN, of a priority alone, of a provider around a customer's. The kernel counts most of
them as dropped after the socket has had them."""
FITS = 400
"""So many frames fit any of the queues before the switch."""
TOO_MANY = 6000
"""So many fit none."""


class Ports:
    """A switch with a TAP and a veth, and what is counted at both."""

    def __init__(
        self, switchbed: Program, socket: Path, names: list[str], hosts: list[str]
    ) -> None:
        self._switchbed, self._socket = switchbed, socket
        self.tap, self.veth = names
        self.hosts = hosts
        self._switch = min(holders(socket))
        self._before = [0, 0]
        self._before = self._interfaces()

    def _interfaces(self) -> list[int]:
        """Frames that the interfaces have counted since the switch began: of the TAP those that its
        host has sent and those that found its queue full; of the veth those that have come."""
        words = ("-n", self.hosts[0], "-json", "-s", "link", "show", self.tap)
        (link,) = json.loads(ip(*words))
        sent = link["stats64"]["tx"]["packets"] + link["stats64"]["tx"]["dropped"]
        folder = Path("/sys/class/net", self.veth, "statistics")
        came = [int((folder / name).read_text()) for name in ("rx_packets", "rx_missed_errors")]
        now = (sent, sum(came))
        return [count - before for count, before in zip(now, self._before, strict=True)]

    def stats(self) -> dict[str, Any]:
        """The switch's statistics."""
        found: dict[str, Any] = json.loads(
            self._switchbed("live", "stats", "--json", "--socket", self._socket).stdout
        )
        return found

    def look(self) -> list[tuple[int, int, int]]:
        """Of each port: frames received, lost, and counted by the interface."""
        ports = ports_of(self._switchbed, self._socket)
        return [
            (port["received_packets"], port["overruns"], counted)
            for port, counted in zip(ports, self._interfaces(), strict=True)
        ]

    @contextmanager
    def growth(self) -> Iterator[list[tuple[int, int, int]]]:
        """By how much all of that grows meanwhile, once it adds up."""
        found: list[tuple[int, int, int]] = []
        before = wait_for(self.look, adds_up)
        yield found
        for port, first in zip(wait_for(self.look, adds_up), before, strict=True):
            received, lost, counted = (n - m for n, m in zip(port, first, strict=True))
            found.append((received, lost, counted))

    @contextmanager
    def held(self, *, held: bool = True) -> Iterator[None]:
        """The switch does not read: what comes fills the queues before it."""
        if held:
            os.kill(self._switch, signal.SIGSTOP)
        yield
        os.kill(self._switch, signal.SIGCONT)

    def burst(self, count: int, kinds: tuple[str, ...], length: int = 1480) -> None:
        """Both hosts send."""
        for host, name in zip(self.hosts, (self.tap, "eth0"), strict=True):
            with inside(host, BURST, name, str(count), str(length), *kinds) as sender:
                sender.output()

    def burst_from_here(self, count: int) -> None:
        """This host sends by the veth, away from the switch."""
        words = [
            sys.executable,
            "-c",
            textwrap.dedent(BURST),
            self.veth,
            str(count),
            "1480",
            "88b6",
        ]
        assert ended(words) == (0, "")


def adds_up(ports: Iterable[tuple[int, int, int]]) -> bool:
    return all(received + lost == counted for received, lost, counted in ports)


@pytest.fixture
def ports(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> Iterator[Ports]:
    hosts = namespaces[:2]
    names = [f"o{os.getpid()}{letter}" for letter in "ab"]
    try:
        text = SWITCH + tap(names[0], hosts[0], "10.0.0.1") + veth(names[1], hosts[1])
        with running(command, tmp_path, text) as socket:
            yield Ports(switchbed, socket, names, hosts)
    finally:
        ip("link", "delete", names[1])


def test_frames_lost_before_the_switch_are_counted_once(ports: Ports) -> None:
    for kinds in (UNTAGGED, TAGGED, UNTAGGED + TAGGED):
        with ports.growth() as growth, ports.held():
            ports.burst(TOO_MANY, kinds)
            # What this host sends is not lost by the switch, though its socket is full.
            ports.burst_from_here(100)
        for received, lost, counted in growth:
            assert counted > TOO_MANY / 2, kinds
            assert lost > 1000, kinds
            assert received > 500, kinds


def test_frames_longer_than_a_slot_of_the_ring_are_counted_too(ports: Ports) -> None:
    """Frames of 5000 bytes are read by a call, and of 40,000 not whole: both are over the MTU."""
    ip("link", "set", "dev", ports.veth, "mtu", "60000")
    ip("-n", ports.hosts[1], "link", "set", "dev", "eth0", "mtu", "60000")
    with ports.growth() as growth:
        for length in (5000, 40_000, 100):
            ports.burst(20, ("88b6",), length)
    received, lost, counted = growth[1]
    assert (received, lost, counted) == (60, 0, 60)
    assert ports.stats()["refused"]["oversized"] == 40


def test_an_interface_that_was_down_goes_on(ports: Ports) -> None:
    ip("link", "set", "dev", ports.veth, "down")
    wait_for(lambda: ports.stats()["ports"][1]["device_errors"], lambda errors: errors > 0)
    assert not ports.stats()["ports"][1]["gone"]
    ip("link", "set", "dev", ports.veth, "up")
    with ports.growth() as growth:
        ports.burst(FITS, UNTAGGED)
    received, lost, counted = growth[1]
    assert (received, lost) == (counted, 0)
    assert counted > FITS / 2


def test_metrics_name_their_meaning_and_agree_with_the_interfaces(
    switchbed: Program, ports: Ports
) -> None:
    with ports.growth():
        ports.burst(FITS, UNTAGGED)
    stats = ports.stats()
    text = prometheus.text(stats)
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert names - set(prometheus.HELP) == set()
    assert [name for name in names if name.endswith(("_s", "_ns", "_us"))] == []
    if shutil.which("promtool"):
        said = subprocess.run(
            ["promtool", "check", "metrics"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (said.returncode, said.stderr + said.stdout) == (0, "")
    for port in stats["ports"]:
        for key in ("sent_packets", "sent_bytes", "marked_packets"):
            assert sum(queue[key] for queue in port["queues"]) == port[key]
        drops = sum(port[key] for key in port if key.startswith("drops_"))
        assert sum(queue["dropped_packets"] for queue in port["queues"]) == drops
        for queue in port["queues"]:
            assert sum(queue["waits"]) == sum(queue["lengths"]) == queue["sent_packets"]
            reasons = sum(queue[key] for key in queue if key.startswith("drops_"))
            assert reasons == queue["dropped_packets"]
        # ARP and the like have no DSCP.
        assert sum(of["sent_packets"] for of in port["dscps"]) <= port["sent_packets"]
    assert all(port["sent_packets"] > 0 for port in stats["ports"])


@pytest.mark.long
def test_frames_that_had_room_are_not_lost(ports: Ports) -> None:
    for kinds, held in itertools.product((UNTAGGED, TAGGED), (False, True)):
        with ports.growth() as growth, ports.held(held=held):
            ports.burst(FITS, kinds)
            ports.burst_from_here(FITS)
        for received, lost, counted in growth:
            assert (received, lost) == (counted, 0), (kinds, held)
            assert counted > FITS / 2


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_counters_agree_after_every_burst(ports: Ports, seed: int) -> None:
    draw = random.Random(seed)
    counts: list[Callable[[], int]] = [lambda: FITS, lambda: draw.randrange(1, TOO_MANY)]
    for _ in range(5):
        count, held = draw.choice(counts)(), draw.random() < 0.5
        kinds = tuple(draw.sample(UNTAGGED + TAGGED, draw.randrange(1, 4)))
        with ports.growth() as growth, ports.held(held=held):
            ports.burst(count, kinds)
            if draw.random() < 0.5:
                ports.burst_from_here(draw.randrange(1, 500))
        for _, lost, counted in growth:
            assert 0 < counted <= count
            assert lost >= 0
            assert count > FITS or lost == 0, (count, kinds, held)
