"""`switchbed live react`: a sending host that obeys the messages of a live switch."""

import json
import os
import re
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from live_lab import shows
from live_switch import ended, inside, ip, may_be_punctual, namespaces, running, started, tap
from progress import wait_for

__all__ = ["namespaces"]
pytestmark = pytest.mark.needs("namespaces")

# Large frames, so that a busy machine keeps up.
SWITCH = """
[live]
rate = "{rate}"
mtu = "9KB"
realtime = {realtime}
[switch]
queues = 1
classify = "single"
discipline = "fifo"
buffer = "600KB"
[scheme]
name = "af-qcn"
[scheme.params]
q_eq = "60KB"
weights = [1, 2, 3, 4]
active_threshold = "1KB"
t_s = "{t_s}"
alpha = 0.5
"""


@dataclass(frozen=True)
class Line:
    """A line of 200 Mbps, a fiftieth of what the standard's settings are for, or a slower one: its
    rates scaled and its times stretched."""

    scale: float

    def rate(self, mbps: float) -> str:
        return f"{mbps * self.scale}Mbps"

    def time(self, ms: float) -> str:
        return f"{ms / self.scale}ms"

    @property
    def switch(self) -> str:
        """The settings of a live switch for AF-QCN."""
        realtime = may_be_punctual()
        return SWITCH.format(rate=self.rate(200), t_s=self.time(5), realtime=realtime)

    @property
    def reaction(self) -> Iterator[str]:
        """The settings of a card."""
        yield f"timer_cycle={self.time(75)}"
        yield f"active_increase={self.rate(1)}"
        yield f"hyper_increase={self.rate(5)}"
        yield f"min_rate={self.rate(0.5)}"


SEND = """
    # Four UDP flows, one a class, of 110 Mbps each at a gap of 2 ms.
    import socket, sys, time
    streams = []
    for dscp in range(4):
        stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        stream.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
        stream.bind(("", 6000 + dscp))
        streams.append(stream)
    due, data = time.monotonic(), bytes(8958)
    while True:
        for stream in streams * 3:
            stream.sendto(data, (sys.argv[1], 7000))
        due += float(sys.argv[2])
        time.sleep(max(due - time.monotonic(), 0))
"""
TAKE = """
    # The bytes of each flow in four seconds, or longer times, from the first frame on.
    import json, socket, sys, time
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    sink.bind(("", 7000))
    print("ready", flush=True)
    seconds, begin = [], None
    while True:
        data, (_, port) = sink.recvfrom(1 << 14)
        begin = begin or time.monotonic()
        second = int((time.monotonic() - begin) / float(sys.argv[1]))
        if second >= 4:
            break
        while len(seconds) <= second:
            seconds.append([0] * 4)
        seconds[second][port - 6000] += len(data)
    print(json.dumps(seconds))
"""


def card(command: list[str], netns: str, name: str, line: Line) -> list[str]:
    """The sending host's card on an interface: twice as fast as the switch's line, or nothing would
    be congested."""
    settings = [
        *(f"reaction.{each}" for each in line.reaction),
        f"live.realtime={may_be_punctual()}",
    ]
    sets = [word for setting in settings for word in ("--set", setting)]
    words = ["live", "react", name, "--host", "sb0", "--address", "10.0.0.1/24"]
    return [
        *("ip", "netns", "exec", netns, *command, *words, "--rate", line.rate(400)),
        *("--socket", f"/run/switchbed-react-{os.getpid()}.sock", *sets),
    ]


def mend(words: list[str]) -> None:
    """Does what the refusals of a command say, one after the other, until it is not refused."""
    said = ""
    while True:
        before, (code, said) = said, ended([*words, "--seconds", "0.1"])
        if code == 0:
            return
        assert code == 2, said
        assert said != before, "it was refused for the same reason again"
        netns = words[3]
        mending = re.findall(r"(?:ip|ethtool) .*$", said.rstrip().rpartition(": ")[2])
        assert len(mending) == 1, said
        subprocess.run(["ip", "netns", "exec", netns, *mending[0].split()], check=True)


@pytest.mark.needs("ethtool")
def test_a_card_limits_each_flow_that_the_switch_is_congested_by(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    """By counters alone: it takes as long as a busy machine takes."""
    a, b, _ = namespaces
    name, receiver, line = f"l{os.getpid()}a", f"l{os.getpid()}b", Line(0.25)
    ports = f'[[port]]\nname = "{name}"\nnetns = "{a}"\n' + tap(receiver, b, "10.0.0.2")

    def counted(socket: Path | str) -> dict[str, Any]:
        said = switchbed("live", "stats", "--json", "--socket", socket).stdout
        found: dict[str, Any] = json.loads(said)
        return found

    def look() -> tuple[int, int, int]:
        """Messages, limiters, and frames that found no room before a limiter."""
        cards = counted(f"/run/switchbed-react-{os.getpid()}.sock")["ports"]
        limiters, lost = (sum(port[key] for port in cards) for key in ("limiters", "host_drops"))
        return counted(socket)["notified"], limiters, lost

    def limited(seen: tuple[int, int, int]) -> bool:
        messages, limiters, lost = seen
        assert limiters <= 4, "more limiters than flows"
        return messages > 50 and limiters == 4 and lost > 50

    with running(command, tmp_path, line.switch + ports) as socket:
        words = card(command, a, name, line)
        mend(words)
        with started(words), inside(b, TAKE, "1000") as sink:
            sink.wait_for("ready\n")
            with inside(a, SEND, "10.0.0.2", str(0.002 / line.scale)):
                wait_for(look, limited)


# Shares are those of rates over seconds: it must have the machine for itself.
@pytest.mark.long
@pytest.mark.needs("ethtool")
def test_af_qcn_shares_a_live_port_by_weights(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    a, b, _ = namespaces
    name, receiver = f"r{os.getpid()}a", f"r{os.getpid()}b"
    ports = f'[[port]]\nname = "{name}"\nnetns = "{a}"\n' + tap(receiver, b, "10.0.0.2")

    def happens(scale: float) -> tuple[bool, object]:
        line = Line(scale)
        with running(command, tmp_path, line.switch + ports) as socket:
            words = card(command, a, name, line)
            mend(words)
            with started(words):
                seconds = transfer(a, b, scale)
            stats = json.loads(switchbed("live", "stats", "--json", "--socket", socket).stdout)
        # The first second is theirs to find their rates in.
        shares = [[flow / max(sum(second), 1) for flow in second] for second in seconds[1:]]
        median = [statistics.median(flow) for flow in zip(*shares, strict=True)]
        rate_mbps = statistics.median(sum(second) * 8e-6 * scale for second in seconds[1:])
        weighted = [share / weight for weight, share in enumerate(median, start=1)]
        notified, queue = stats["notified"], stats["ports"][1]["mean_bytes"]
        # Simulated: 0.097 to 0.122, 199 Mbps.
        fits = all(0.07 < share < 0.13 for share in weighted) and rate_mbps > 140 * scale
        fits = fits and notified > 50 and queue < 150_000
        return fits, (median, rate_mbps, notified, queue)

    shows(happens)


def transfer(a: str, b: str, scale: float) -> list[list[int]]:
    """Bytes of each flow in each of four seconds, longer at a smaller scale."""
    with inside(b, TAKE, str(1 / scale)) as sink:
        sink.wait_for("ready\n")
        with inside(a, SEND, "10.0.0.2", str(0.002 / scale)):
            out = sink.output()
    found: list[list[int]] = json.loads(out.removeprefix("ready\n"))
    return found


def test_what_would_speak_beside_the_card_is_refused(
    switchbed: Program, namespaces: list[str], command: list[str]
) -> None:
    a, _, _ = namespaces
    assert (
        "no interface nowhere"
        in switchbed("live", "react", "nowhere", "--rate", "1Gbps", code=2).stderr
    )
    ip("-n", a, "link", "add", "eth0", "mtu", "1400", "type", "veth", "peer", "name", "eth1")
    ip("-n", a, "address", "add", "10.0.0.1/24", "dev", "eth0")
    assert "ip link set dev eth0 arp off" in ended(card(command, a, "eth0", Line(1)))[1]
    ip("-n", a, "link", "set", "dev", "eth0", "arp", "off")
    assert "ip -4 address flush dev eth0" in ended(card(command, a, "eth0", Line(1)))[1]
