"""The pattern by this machine's kernel: two namespaces, and between them the live switch, whose
link has the delay and whose faults are the pattern's."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from evidence.hosts import ends, packets
from evidence.hosts.patterns import MTU_BYTES, REQUEST_BYTES, RTT_S, Pattern
from switchbed import _native, toml
from switchbed._native import Mistake
from switchbed.live import control, netns, system
from switchbed.live import hosts as lab_hosts

TRACING = Path("/sys/kernel/tracing")
PROBED = re.compile(
    r"\s(?P<at>\d+\.\d+): tcp_probe: .*src=(?P<src>[\d.]+):\d+ .*snd_cwnd=(?P<cwnd>\d+) "
    r"ssthresh=(?P<ssthresh>\d+)"
)
"""The trace point `tcp:tcp_probe`, hit at each packet that an established connection receives."""
NAME = "hosts"
MSS = MTU_BYTES - 52
"""Time stamps are on."""
SENDERS_FIRST, RECEIVERS_FIRST = 2, 1
"""Packets before the first that counts: SYN and the handshake's ACK, or the SYN's ACK and that of a
request; the SYN's ACK."""
LINE = "1Gbps"
FRAME_PART = MTU_BYTES / (MTU_BYTES + 14)
"""The part of a full frame that is its packet: rates are raised by it, so that a frame takes as
long as a simulated packet."""
END_S = 30.0
ATTEMPTS = 5
COUNTERS = (
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPLossProbeRecovery",
    "TCPSackRecovery",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPLostRetransmit",
    "TCPSpuriousRTOs",
    "TCPDSACKRecv",
    "TCPHystartTrainDetect",
    "TCPHystartTrainCwnd",
    "TCPHystartDelayDetect",
    "TCPHystartDelayCwnd",
    "DelayedACKs",
    "TCPAckCompressed",
)
"""What is read of the kernel's counters."""


@dataclass(frozen=True)
class Run:
    """One flow by the kernel."""

    trace: packets.Trace
    counters: dict[str, int]


@dataclass(frozen=True)
class Sample:
    """A packet that has come in, before it is looked at."""

    at: float
    """Of the monotonic clock."""
    source: str
    """The address of the socket's own end."""
    cwnd: int
    ssthresh: int


def run(pattern: Pattern, *settings: str) -> packets.Trace:
    """One flow, with these settings of both hosts: "net.ipv4.tcp_recovery=0"."""
    return counted(pattern, *settings).trace


def counted(pattern: Pattern, *settings: str) -> Run:
    """The same, and the kernel's counters."""
    lose = [SENDERS_FIRST + number for number in pattern.lose]
    found = _once(pattern, lose, settings)
    for _ in range(pattern.lose_again):
        found = _again(pattern, lose, found, settings)
    return found


def _again(pattern: Pattern, lose: list[int], before: Run, settings: Sequence[str]) -> Run:
    """Loses what was sent again, too. Runs differ by a packet: until one loses the right one."""
    for _ in range(ATTEMPTS):
        number = before.trace.again
        if number is None:
            raise ValueError(f"{pattern.name}: nothing was sent again")
        found = _once(pattern, [*lose, SENDERS_FIRST + number], settings)
        if found.trace.again == number:
            lose.append(SENDERS_FIRST + number)
            return found
        before = found
    raise ValueError(f"{pattern.name}: what is sent again is never the same packet")


def _once(pattern: Pattern, lose: list[int], settings: Sequence[str]) -> Run:
    size = pattern.segments * MSS
    with ExitStack() as stack:
        lab = stack.enter_context(netns.lab(NAME, 2))
        interfaces = [f"sbe{lab.owner}h{host}" for host in range(2)]
        file = lab.folder / "switch.toml"
        captures = [lab.folder / f"h{host}.pcap" for host in range(2)]
        file.write_text(toml.document(_switch(pattern, lab, interfaces, captures, lose)))
        for namespace in lab.namespaces:
            # Before there is an interface: frames of IPv6's own would be counted among the packets.
            no_ipv6 = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"
            system.run(["ip", "netns", "exec", namespace, "sh", "-ec", no_ipv6])
        switch = stack.enter_context(_switch_runs(file, lab))
        for host, interface in enumerate(interfaces):
            _configure(pattern, lab.namespaces[host], interface, host, settings)
        probed = stack.enter_context(probe(f"switchbed-{lab.owner}"))
        words, done = ["receive", "send"], 1
        if pattern.answer:
            words, done = ["answer", "ask"], 0
        server = stack.enter_context(_end(lab, 1, words[0], size, REQUEST_BYTES, pattern.control))
        call = (words[1], lab_hosts.address(1), size, REQUEST_BYTES, pattern.control)
        client = stack.enter_context(_end(lab, 0, *call))
        _tell(client)
        _hear((client, server)[done], "done")
        # The last ACKs are on their way.
        time.sleep(2 * RTT_S)
        samples = probed.samples()
        counters = _counters(lab.namespaces)
        control.ask(lab.socket, "stop")
        switch.wait(timeout=END_S)
        ends_saw = [packets.read(capture.read_bytes()) for capture in captures]
    if pattern.answer:
        ends_saw = [packets.turned(seen) for seen in reversed(ends_saw)]
    found = packets.of(ends_saw[0], ends_saw[1], size, MSS, counters.get("TCPTimeouts", 0))
    windows = [] if pattern.answer else _windows(samples, ends_saw[0])
    return Run(replace(found, window=windows), counters)


def _windows(samples: list[Sample], seen: list[packets.Packet]) -> packets.Points:
    """The window's changes, by the capture's clock: the k-th sample is of the k-th ACK."""
    mine = [sample for sample in samples if sample.source == lab_hosts.address(0)]
    acks = [packet.at for packet in seen if not packet.out and not packet.syn]
    start = next(packet.at for packet in seen if packet.syn)
    if not mine or not acks:
        return []
    ahead = median(s.at - at for s, at in zip(mine, acks, strict=False))
    found: packets.Points = []
    for sample in mine:
        if not found or found[-1][1] != sample.cwnd:
            found.append((round((sample.at - ahead - start) * 1e3, 3), sample.cwnd))
    return found


def _switch(
    pattern: Pattern,
    lab: netns.Lab,
    interfaces: list[str],
    captures: list[Path],
    lose: list[int],
) -> dict[str, Any]:
    """The live switch's file."""
    acks = [RECEIVERS_FIRST + number for number in pattern.lose_acks]
    marks = [SENDERS_FIRST + number for number in pattern.mark]
    faults: list[dict[str, Any]] = [
        ({"lose": lose} if lose else {}) | ({"mark": marks} if marks else {}),
        {"lose": acks} if acks else {},
    ]
    rates = [LINE, LINE if pattern.own else frame_rate(pattern.rate)]
    if pattern.answer:
        faults.reverse()
        rates.reverse()
    ports = [
        {
            "name": interface,
            "netns": namespace,
            "address": f"{lab_hosts.address(host)}/16",
            "rate": rates[host],
            "pcap": str(captures[host]),
            **faults[host],
        }
        for host, (namespace, interface) in enumerate(zip(lab.namespaces, interfaces, strict=True))
    ]
    live = {
        "mtu": f"{MTU_BYTES}B",
        "fraction": 1.0,
        "delay": f"{RTT_S / 2:.6f}s",
        "learn": False,
        "realtime": True,
        "routes": [f"{lab_hosts.station(i)}={name}" for i, name in enumerate(interfaces)],
    }
    buffer = {"buffer": f"{pattern.buffer}pkt"}
    return {"live": live, "port": ports, "switch": buffer, "scheme": {"name": "none"}}


def frame_rate(rate: str) -> str:
    """The rate at which a frame takes as long as its packet at this one."""
    return f"{round(_native.rate_bps(rate) / FRAME_PART)}bps"


@contextmanager
def _switch_runs(file: Path, lab: netns.Lab) -> Iterator["subprocess.Popen[str]"]:
    words = ["live", "run", str(file), "--socket", str(lab.socket)]
    process = subprocess.Popen(
        [sys.executable, "-m", "switchbed", *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=lab.environment,
    )
    try:
        said = process.stderr.readline() if process.stderr else ""
        if " ports, " not in said:
            raise OSError(0, said.strip() or "the switch did not start")
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()


def _configure(
    pattern: Pattern, namespace: str, interface: str, host: int, settings: Sequence[str]
) -> None:
    """The host as the kernel has it by default, but for what the pattern says; no ARP among the
    packets, and nothing kept from earlier connections."""
    values = {
        "net/ipv4/tcp_ecn": int(pattern.ecn),
        "net/ipv4/tcp_no_metrics_save": 1,
    }
    text = "".join(f"echo '{value}' > /proc/sys/{key}\n" for key, value in values.items())
    for setting in settings:
        key, _, value = setting.partition("=")
        text += f"echo '{value}' > /proc/sys/{key.replace('.', '/')}\n"
    system.run(["ip", "netns", "exec", namespace, "sh", "-e"], text=text)
    other = 1 - host
    lines = [
        f"link set dev {interface} address {lab_hosts.station(host)}",
        f"neighbour replace {lab_hosts.address(other)} lladdr {lab_hosts.station(other)} "
        f"dev {interface} nud permanent",
    ]
    if not pattern.offload:
        lines.append(f"link set dev {interface} gso_max_segs 1")
    system.ip_batch(lines, netns=namespace)
    if pattern.own and host == 0:
        rate = f"{round(_native.rate_bps(pattern.rate) / FRAME_PART)}bit"
        words = f"qdisc replace dev {interface} root tbf rate {rate} burst 1600 limit 1500000"
        system.run(["tc", "-n", namespace, *words.split()])


@contextmanager
def _end(lab: netns.Lab, host: int, *words: str | int) -> Iterator["subprocess.Popen[str]"]:
    """A program in a host's namespace, that has said that it is ready."""
    command = ["ip", "netns", "exec", lab.namespaces[host], sys.executable, "-S", ends.__file__]
    process = subprocess.Popen(
        [*command, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=lab.environment,
    )
    try:
        _hear(process, "ready")
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()


def _hear(process: "subprocess.Popen[str]", word: str) -> None:
    said = process.stdout.readline().strip() if process.stdout else ""
    if said != word:
        raise OSError(0, f"a host said {said!r}, not {word}")


def _tell(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def _counters(namespaces: list[str]) -> dict[str, int]:
    """Those that are not 0, of both hosts together."""
    found: dict[str, int] = {}
    for namespace in namespaces:
        text = system.run(["ip", "netns", "exec", namespace, "cat", "/proc/net/netstat"])
        rows = [line.split()[1:] for line in text.splitlines() if line.startswith("TcpExt:")]
        for name, value in zip(*rows, strict=True):
            if name in COUNTERS and int(value):
                found[name] = found.get(name, 0) + int(value)
    return found


def version() -> str:
    """The kernel's: 6.18 of 6.18.44-something."""
    hit = re.match(r"\d+\.\d+", os.uname().release)
    return hit.group() if hit else os.uname().release


class Probe:
    """Samples of all connections of the machine."""

    def __init__(self, instance: Path) -> None:
        self._instance = instance

    def samples(self) -> list[Sample]:
        """All values so far, in order."""
        lines = (self._instance / "trace").read_text().splitlines()
        return [
            Sample(float(hit["at"]), hit["src"], int(hit["cwnd"]), int(hit["ssthresh"]))
            for hit in map(PROBED.search, lines)
            if hit
        ]


@contextmanager
def probe(name: str) -> Iterator[Probe]:
    """Samples from now on, in a buffer of our own."""
    instance = TRACING / "instances" / name
    if not instance.parent.exists():
        raise Mistake(f"no trace points: mount -t tracefs nodev {TRACING}, as root")
    instance.mkdir()
    try:
        (instance / "trace_clock").write_text("mono")
        (instance / "events/tcp/tcp_probe/enable").write_text("1")
        yield Probe(instance)
    finally:
        (instance / "events/tcp/tcp_probe/enable").write_text("0")
        instance.rmdir()
