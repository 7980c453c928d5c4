"""`python -m evidence.bench.live [REPEATS [SECONDS]]`, as root: the live switch's forwarding beside
the kernel's bridge on the same veth pairs, in turn. TCP without and with the hosts' segmentation
offload (iperf3, one connection), and UDP frames of 64 bytes. The best of the repeats counts, as
another process can only slow one down. Prints JSON and writes results.json, of which
docs/live.md has a table.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evidence.kept import Kept
from switchbed.directory import machine
from switchbed.live import system

RESULTS = Kept(Path(__file__).parent, "live")
NUMBER = os.getpid()
HOSTS = (f"sbw{NUMBER}a", f"sbw{NUMBER}b")
BETWEEN = f"sbw{NUMBER}s"
"""Namespace of the switch, or of the bridge."""
ENDS = ("left", "right")
STATIONS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
WAYS = ("bridge", "switch")
WITHOUT, WITH, SMALL = "without offload", "with offload", "64 bytes"
KINDS = (WITHOUT, WITH, SMALL)
PROGRAM = "target/release/examples/wires"
GBPS = 1e9


TEXT = """\
The live switch without a limit, on one thread, beside the kernel's bridge on the same veth pairs,
in turn: the best of {repeats} runs of {seconds:g} s each. TCP is one connection (iperf3) between
namespaces; frames of 64 bytes are UDP of one sender.

| | bridge | switch | switch over bridge | processor time of the switch a packet |
| --- | --- | --- | --- | --- |
{rows}

`python -m evidence.bench.live`, {machine}, other processes on it, {date}. Without offload the
switch joins packets for the receiving host, and the bridge does not. In the last row the sender's
processor does the bridge's work; the switch has a processor of its own."""


def render(found: dict[str, Any]) -> str:
    """The block's text."""
    rows = []
    for row in found["rows"]:
        key, unit, by = (
            ("frames_per_s", "frames/s", 1) if row["kind"] == SMALL else ("gbps", "Gbps", 0)
        )
        cells = [
            f"{row[way][key]:,.0f} {unit}" if by else f"{row[way][key]:.2f} {unit}" for way in WAYS
        ]
        cells += [f"{row['ratio']:.2f}", f"{row['switch']['switch_us_per_frame']:.2f} µs"]
        rows.append(f"| {row['kind']} | {' | '.join(cells)} |")
    of = found["machine"]
    return TEXT.format(
        rows="\n".join(rows),
        repeats=found["repeats"],
        seconds=found["seconds"],
        machine=f"{of['processor']}, {of['cores']} cores, {of['system']}",
        date=found["date"],
    )


def within(netns: str, *words: str) -> list[str]:
    """A command in a namespace."""
    return ["ip", "netns", "exec", netns, *words]


@contextmanager
def network() -> Iterator[None]:
    """Two hosts, each on a veth whose other end is between them."""
    names = (*HOSTS, BETWEEN)
    try:
        for name in names:
            system.ip("netns", "add", name)
            settings = [f"net.ipv6.conf.{of}.disable_ipv6=1" for of in ("all", "default")]
            system.run(within(name, "sysctl", "-qw", *settings))
        for i, (host, end) in enumerate(zip(HOSTS, ENDS, strict=True)):
            peer = ("type", "veth", "peer", "name", "eth0", "netns", host)
            system.ip("link", "add", end, *peer, netns=BETWEEN)
            system.ip("link", "set", "dev", end, "up", netns=BETWEEN)
            lines = [
                f"link set dev eth0 address {STATIONS[i]} up",
                f"address add 10.1.1.{i + 1}/24 dev eth0",
                f"neighbour add 10.1.1.{2 - i} lladdr {STATIONS[1 - i]} dev eth0",
            ]
            system.ip_batch(lines, netns=host)
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def offload(state: str) -> None:
    """Sets the hosts' offloads, and receive offloads between them."""
    for host in HOSTS:
        words = [f"{word} {state}" for word in ("tx", "tso", "gso")]
        system.run(within(host, "ethtool", "-K", "eth0", *" ".join(words).split()))
    for end in ENDS:
        system.run(within(BETWEEN, "ethtool", "-K", end, "gro", "off"))


@contextmanager
def forwarding(way: str) -> Iterator[dict[str, Any]]:
    """The bridge, or the switch, whose statistics are in the dictionary afterwards."""
    found: dict[str, Any] = {}
    if way == "bridge":
        system.ip("link", "add", "br0", "type", "bridge", netns=BETWEEN)
        lines = [f"link set dev {end} master br0" for end in ENDS]
        system.ip_batch([*lines, "link set dev br0 up"], netns=BETWEEN)
        try:
            yield found
        finally:
            system.ip("link", "delete", "br0", netns=BETWEEN)
        return
    for end in ENDS:
        system.ip("link", "set", "dev", end, "promisc", "on", netns=BETWEEN)
    words = within(BETWEEN, PROGRAM, "switch", *ENDS)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        begin = processor_s(process.pid)
        try:
            yield found
        finally:
            found["processor_s"] = processor_s(process.pid) - begin
            process.stdin.close()
            found |= json.loads(process.stdout.read() or "{}")
    for end in ENDS:
        system.ip("link", "set", "dev", end, "promisc", "off", netns=BETWEEN)


def processor_s(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def arrived() -> int:
    """Frames that the second host has had."""
    (link,) = system.ip_json("-s", "link", "show", "eth0", netns=HOSTS[1])
    return int(link["stats64"]["rx"]["packets"])


def tcp(seconds: float) -> dict[str, float]:
    """A connection's goodput."""
    server = within(HOSTS[1], "iperf3", "--server", "--one-off")
    with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as process:
        listening = within(HOSTS[1], "ss", "-Hltn", "sport = :5201")
        while not system.run(listening):
            time.sleep(0.02)
        client = ("iperf3", "--client", "10.1.1.2", "--time", str(round(seconds)), "--json")
        try:
            # A connection that cannot be made must end too.
            words = ["timeout", str(round(seconds) + 5), *client]
            done = json.loads(system.run(within(HOSTS[0], *words)))
        except OSError:
            return {"gbps": 0.0}
        finally:
            process.kill()
    end = done["end"]
    used = end["cpu_utilization_percent"]
    return {
        "gbps": end["sum_received"]["bits_per_second"] / GBPS,
        "retransmits": end["sum_sent"]["retransmits"],
        "hosts_processor_s": (used["host_total"] + used["remote_total"]) / 100 * seconds,
    }


def small(seconds: float) -> dict[str, float]:
    """Frames of 64 bytes as fast as a process sends them."""
    before = arrived()
    words = ["send", "eth0", *STATIONS, "64", str(seconds)]
    sent = json.loads(system.run(within(HOSTS[0], PROGRAM, *words)))
    # The last frames are still under way.
    last = -1
    while (now := arrived()) != last:
        last = now
        time.sleep(0.05)
    frames = last - before
    return {
        "frames_per_s": frames / sent["seconds"],
        "offered_per_s": sent["sent"] / sent["seconds"],
    }


def once(kind: str, way: str, seconds: float) -> dict[str, Any]:
    """One measurement."""
    offload("on" if kind == WITH else "off")
    with forwarding(way) as found:
        measured: dict[str, Any] = small(seconds) if kind == SMALL else tcp(seconds)
    if found:
        ports = found["ports"]
        received = sum(port["received_packets"] for port in ports)
        measured["switch_frames"] = received
        measured["switch_us_per_frame"] = found["processor_s"] * 1e6 / max(1, received)
        measured["overruns"] = sum(port["overruns"] for port in ports)
        measured["errors"] = sum(port["device_errors"] for port in ports)
    return measured


def measure(repeats: int, seconds: float) -> list[dict[str, Any]]:
    """A row for each kind of traffic: the best of both ways, and their ratio."""
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    with network():
        for _ in range(repeats):
            for kind in KINDS:
                for way in WAYS:
                    runs.setdefault((kind, way), []).append(once(kind, way, seconds))
    rows = []
    for kind in KINDS:
        key = "frames_per_s" if kind == SMALL else "gbps"
        best = {way: max(runs[kind, way], key=lambda run: run[key]) for way in WAYS}
        ratio = best["switch"][key] / best["bridge"][key]
        rows.append({"kind": kind, **best, "ratio": ratio})
    return rows


def main() -> int:
    """Measures and writes: the exit code."""
    if os.geteuid() != 0:
        print("live: needs root: skipped", file=sys.stderr)
        return 0
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    words = ["cargo", "build", "--locked", "--quiet", "--release", "--example", "wires"]
    subprocess.run([*words, "--package", "switchbed-live"], check=True)
    found = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "repeats": repeats,
        "seconds": seconds,
        "rows": measure(repeats, seconds),
    }
    RESULTS.write(found)
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
