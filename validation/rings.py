"""What mapped rings or AF_XDP would save the live switch: the processor time of a frame that is
read from one veth and sent by another, by each way that Linux has (`validation/rings.c`). As root:

    .venv/bin/python validation/rings.py [ROUNDS] [SECONDS]

The ways take turns; the median of each, and the least, as other work mostly adds.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAYS = {
    "mmsg": "`recvmmsg`, `send`: the switch's own",
    "sendmmsg": "`recvmmsg`, `sendmmsg`",
    "v3": "mapped ring (`TPACKET_V3`), `send`",
    "v3tx": "mapped rings in and out",
    "xdp": "`AF_XDP` (copied), in and out",
}
SIZES = (1514, 64)
IN, OUT = (f"sbr{os.getpid()}{way}" for way in ("in", "out"))
HOSTS = tuple(f"sbring{os.getpid()}{host}" for host in "ab")


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    return done.stdout


@contextmanager
def interfaces() -> Iterator[None]:
    """Two veths, each with a namespace behind it."""
    try:
        for name, host in zip((IN, OUT), HOSTS, strict=True):
            run("ip", "netns", "add", host)
            run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", host)
            inside = ("ip", "netns", "exec", host)
            run(*inside, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            run(*inside, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off")
            run(*inside, "ip", "link", "set", "dev", "eth0", "up")
            run("ethtool", "-K", name, "gro", "off")
            run("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            run("ip", "link", "set", "dev", name, "up")
        yield
    finally:
        for host in HOSTS:
            subprocess.run(["ip", "netns", "delete", host], capture_output=True, check=False)


def measured(program: Path, rounds: int, seconds: float) -> dict[tuple[str, int], list[float]]:
    """Microseconds a frame in each round, for each way and size."""
    found: dict[tuple[str, int], list[float]] = {(way, n): [] for way in WAYS for n in SIZES}
    for _ in range(rounds):
        for (way, size), times in found.items():
            send = ["ip", "netns", "exec", HOSTS[0], program, "send", "eth0", size, seconds + 1]
            with subprocess.Popen([str(word) for word in send], stdout=subprocess.DEVNULL):
                told = json.loads(run(program, "forward", way, IN, OUT, seconds))
            times.append(told["used_s"] / told["frames"] * 1e6)
    return found


def main() -> None:
    """Measures and prints the page's table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    with tempfile.TemporaryDirectory() as folder, interfaces():
        program = Path(folder, "rings")
        run("cc", "-O2", "-o", program, Path(__file__).with_name("rings.c"))
        found = measured(program, rounds, seconds)
    print("| | frames of 1514 bytes | of 64 bytes |\n| --- | --- | --- |")
    for way, name in WAYS.items():
        times = (found[way, size] for size in SIZES)
        cells = (f"{statistics.median(each):.2f} µs ({min(each):.2f})" for each in times)
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
