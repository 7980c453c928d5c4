"""The live switch on real interfaces for a time: a TAP and a veth, frames both ways at a rate that
leaves the machine to others, a part of them with VLAN tags, the scheme changed every minute. Every
frame that its interfaces have counted must be in its counters, every frame that it sent must
arrive, a capture must have or miss as many as the ports counted, and its memory must stay under
64 MB. As root:

    python -m evidence.robustness.live_soak [SECONDS [FRAMES_A_SECOND]]

The figure on docs/reliability.md is for 3600 s at 20000 frames a second.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from switchbed.live import control, system

MOST_MEMORY = 64 << 20
ASKED_EVERY_S = 5.0
SET_EVERY_S = 60.0
SCHEMES = (
    ("scheme=per-queue", "scheme.params.threshold=30KB"),
    ("scheme=mq-ecn", "scheme.params.threshold=30KB"),
    ("scheme=red", "scheme.params.kmax=60KB"),
    ("scheme=none",),
)
HOSTS = tuple(f"sbsoak{os.getpid()}{host}" for host in "ab")
PORTS = tuple(f"sbs{os.getpid()}{port}" for port in "ab")
SWITCH = f"""
[live]
rate = "60Mbps"
[switch]
queues = 2
buffer = "200KB"
[scheme]
name = "none"
[[port]]
name = "{PORTS[0]}"
netns = "{HOSTS[0]}"
[[port]]
name = "{PORTS[1]}"
device = "interface"
"""
SEND = """
import os, random, socket, sys, time
interface, rate, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
mine, to = bytes.fromhex(sys.argv[4]), bytes.fromhex(sys.argv[5])
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((interface, 0))
draw = random.Random(1)
frames = []
for i in range(1000):
    length = draw.choice((30, 500, 1480))
    words = [0x4500 + draw.randrange(256), 20 + length, i, 0, 0x4011, 0, 0xa00, 1, 0xa00, 2]
    total = sum(words)
    words[5] = 0xffff - (total + (total >> 16)) % 0x10000
    packet = b"".join(word.to_bytes(2, "big") for word in words) + draw.randbytes(length)
    noise = draw.randbytes(draw.randrange(2, 1400))
    tag = (b"", b"", b"\\x81\\x00\\xa0\\x07", b"\\x88\\xa8\\x00\\x05\\x81\\x00\\x00\\x07")[i % 4]
    frames.append(to + mine + (tag + b"\\x08\\x00" + packet if i % 20 else noise))
sent, begin = 0, time.monotonic()
while (now := time.monotonic() - begin) < seconds:
    for _ in range(min(int(now * rate) - sent, 200)):
        try:
            raw.send(frames[sent % 1000])
        except OSError:
            pass  # lost before the interface counted it, or counted as dropped
        sent += 1
    time.sleep(0.002)
print(sent)
"""


@contextmanager
def switch(folder: Path) -> Iterator[tuple[int, Path]]:
    """The switch between its two hosts: its process and its socket."""
    socket, file = folder / "soak.sock", folder / "soak.toml"
    file.write_text(SWITCH)
    try:
        for host in HOSTS:
            system.ip("netns", "add", host)
            system.run(["ip", "netns", "exec", host, "sysctl", "-qw", *NO_IPV6])
        veth = ("type", "veth", "peer", "name", "eth0", "netns", HOSTS[1])
        system.ip("link", "add", PORTS[1], *veth)
        inside = ["ip", "netns", "exec", HOSTS[1]]
        system.run([*inside, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off"])
        system.run(["ethtool", "-K", PORTS[1], "gro", "off"])
        system.run(["sysctl", "-qw", f"net.ipv6.conf.{PORTS[1]}.disable_ipv6=1"])
        system.ip("link", "set", "dev", "eth0", "up", netns=HOSTS[1])
        system.ip("link", "set", "dev", PORTS[1], "up")
        words = [sys.executable, "-m", "switchbed", "live", "run", str(file)]
        with subprocess.Popen(
            [*words, "--socket", str(socket)], stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            line = process.stderr.readline()
            if " ports, " not in line:
                raise SystemExit(line)
            try:
                yield process.pid, socket
            finally:
                process.terminate()
    finally:
        for host in HOSTS:
            subprocess.run(["ip", "netns", "delete", host], capture_output=True, check=False)


NO_IPV6 = ("net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")


def send(host: str, interface: str, rate: float, seconds: float, way: int) -> Any:
    """A sender in a namespace, of few rights to the processor."""
    stations = [f"02000000000{n}" for n in ((1, 2) if way == 0 else (2, 1))]
    words = ["nice", "-n", "10", "ip", "netns", "exec", host, sys.executable, "-c", SEND]
    told = [interface, str(rate), str(seconds), *stations]
    return subprocess.Popen([*words, *told], stdout=subprocess.PIPE, text=True)


def memory(pid: int, what: str) -> int:
    """Of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:"))


def counted() -> list[int]:
    """Frames that the ports' interfaces have had from their hosts: of the TAP also those that found
    its queue full."""
    (tap,) = system.ip_json("-s", "link", "show", PORTS[0], netns=HOSTS[0])
    (veth,) = system.ip_json("-s", "link", "show", PORTS[1])
    sent, came = tap["stats64"]["tx"], veth["stats64"]["rx"]
    return [sent["packets"] + sent["dropped"], came["packets"]]


def arrived(host: str, interface: str) -> int:
    """Frames that an interface has had from the switch."""
    (link,) = system.ip_json("-s", "link", "show", interface, netns=host)
    return int(link["stats64"]["rx"]["packets"])


@contextmanager
def capture(socket: Path) -> Iterator[Any]:
    """A capture of all ports that keeps nothing."""
    words = [sys.executable, "-m", "switchbed", "live", "capture", "--socket", str(socket)]
    with subprocess.Popen(
        [*words, "--snaplen", "64", "--out", "-"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        yield process


def captured(process: Any) -> list[int]:
    """Frames that a capture had and missed, once it is told to end."""
    # One that runs in the background may ignore SIGINT.
    process.send_signal(signal.SIGTERM)
    said = process.communicate()[1]
    found = re.search(r"(\d+) packets to", said), re.search(r"(\d+) were not", said)
    return [int(each[1]) if each else 0 for each in found]


def passed(stats: dict[str, Any]) -> int:
    """Frames that came in, left and were dropped, all ports together."""
    names = ("received_packets", "sent_packets")
    ports = (port.items() for port in stats["ports"])
    return sum(n for of in ports for name, n in of if name in names or name.startswith("drops_"))


def soak(seconds: float, rate: float) -> tuple[dict[str, Any], list[str]]:
    """What was counted, and what is wrong with it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        switch(Path(folder)) as (pid, socket),
        capture(socket) as capturing,
    ):
        ends = ((HOSTS[0], PORTS[0]), (HOSTS[1], "eth0"))
        senders = [send(*end, rate / 2, seconds, way) for way, end in enumerate(ends)]
        begin = time.monotonic()
        sets, first = 0, 0
        while any(sender.poll() is None for sender in senders):
            time.sleep(min(ASKED_EVERY_S, seconds / 4))
            control.stats(socket)
            if time.monotonic() - begin > sets * min(SET_EVERY_S, seconds / 4):
                control.ask(socket, "set", SCHEMES[sets % len(SCHEMES)])
                sets += 1
            first = first or memory(pid, "VmRSS")
        sent = [int(sender.communicate()[0]) for sender in senders]
        time.sleep(1)  # what is queued leaves
        had = captured(capturing)
        stats = control.stats(socket)
        got = [arrived(*end) for end in ends]
        found = {
            "seconds": round(time.monotonic() - begin),
            "sent_by_hosts": sent,
            "counted": counted(),
            "received": [port["received_frames"] for port in stats["ports"]],
            "overruns": [port["overruns"] for port in stats["ports"]],
            "sent": [port["sent_frames"] for port in stats["ports"]],
            "arrived": got,
            "passed": passed(stats),
            "captured": had,
            "marked": sum(port["marked_packets"] for port in stats["ports"]),
            "scheme_changes": sets,
            "memory_at_first": first,
            "memory_at_most": memory(pid, "VmHWM"),
        }
    return found, wrong(found)


def wrong(found: dict[str, Any]) -> list[str]:
    """What does not add up."""
    both = zip(found["received"], found["overruns"], strict=True)
    complaints = []
    if [received + lost for received, lost in both] != found["counted"]:
        complaints.append("frames that the interfaces have counted are in no counter")
    if found["sent"] != found["arrived"]:
        complaints.append("frames that the switch sent did not arrive")
    if sum(found["captured"]) != found["passed"]:
        complaints.append("the capture has not had or missed what the ports counted")
    if found["memory_at_most"] > MOST_MEMORY:
        complaints.append(f"memory is over {MOST_MEMORY} bytes")
    return complaints


def main() -> int:
    """Runs it and judges: the exit code."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    rate = float(sys.argv[2]) if len(sys.argv) > 2 else 20_000.0
    if os.geteuid() != 0:
        print("live_soak: needs root: skipped", file=sys.stderr)
        return 0
    found, complaints = soak(seconds, rate)
    print(json.dumps(found))
    for complaint in complaints:
        print(f"live_soak: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
