"""BBR's own figures of this network namespace's TCP connections while a lab runs: how long cycles
of PROBE_BW take, and when PROBE_RTT comes. The kernel is asked by inet_diag, as `ss -i` does.

    ip netns exec sb-bbr-pair-h0 .venv/bin/python -m evidence.peers.bbr_info 26
"""

import socket
import statistics
import struct
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

NETLINK_INET_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
REQUEST_DUMP = 0x301
ENDS = (2, 3)
"""NLMSG_ERROR and NLMSG_DONE."""
ESTABLISHED = 1 << 1
VEGAS_OR_BBR = 1 << 2
BBR_INFO = 16
MESSAGE, CONNECTION = 16, 72
"""Bytes of a netlink header, and of inet_diag_msg."""
EVERY_S = 0.002
WARMUP_S = 2.0
UNIT, PROBES = 256, 320
"""Gains of 1 and of 5/4."""
LONGEST_CYCLE_S = 0.6
"""PROBE_RTT lies in a longer one."""


class Sample(NamedTuple):
    """State of a connection: pacing and window gain in 1/256."""

    at: float
    pacing_gain: int
    cwnd_gain: int


def samples(seconds: float) -> Iterator[Sample]:
    """Ask the kernel for so long; of the namespace's connections those that have a bandwidth."""
    ids = struct.pack(">HH", 0, 0) + bytes(36) + b"\xff" * 8
    head = struct.pack("<BBBBI", socket.AF_INET, socket.IPPROTO_TCP, VEGAS_OR_BBR, 0, ESTABLISHED)
    body = head + ids
    request = struct.pack("<IHHII", MESSAGE + len(body), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0)
    end = time.monotonic() + seconds
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_INET_DIAG) as asked:
        while time.monotonic() < end:
            asked.send(request + body)
            more = True
            while more:
                answer, at, more = asked.recv(65_536), time.monotonic(), True
                offset = 0
                while offset < len(answer):
                    length, kind = struct.unpack_from("<IH", answer, offset)
                    if kind in ENDS:
                        more = False
                        break
                    found = _info(answer[offset + MESSAGE + CONNECTION : offset + length])
                    if found is not None and found[0] + (found[1] << 32) > 0:
                        yield Sample(at, found[3], found[4])
                    offset += length + -length % 4
            time.sleep(EVERY_S)


def _info(attributes: bytes) -> tuple[int, ...] | None:
    """Find `tcp_bbr_info` among attributes: bandwidth in two halves, RTT, both gains."""
    offset = 0
    while offset + 4 <= len(attributes):
        length, kind = struct.unpack_from("<HH", attributes, offset)
        if kind == BBR_INFO:
            return struct.unpack_from("<IIIII", attributes, offset + 4)
        offset += max(length + -length % 4, 4)
    return None


def summed_up(found: list[Sample]) -> list[str]:
    """Say how long cycles take, and when PROBE_RTT comes; times run from the first sample."""
    start = found[0].at
    pairs = list(pairwise(found))
    probes = [
        after.at - start
        for before, after in pairs
        if after.pacing_gain == PROBES != before.pacing_gain and after.at - start > WARMUP_S
    ]
    gaps = [after - before for before, after in pairwise(probes)]
    cycles = [gap for gap in gaps if gap < LONGEST_CYCLE_S]
    lines = [f"{len(cycles)} cycles, median {1000 * statistics.median(cycles):.0f} ms"]
    drained = [each.at - start for each in found if each[1:] == (UNIT, UNIT)]
    runs: list[list[float]] = []
    for at in drained:
        if not runs or at - runs[-1][1] > 1:
            runs.append([at, at])
        runs[-1][1] = at
    lines += [f"PROBE_RTT at {a:.2f} s for {1000 * (b - a):.0f} ms" for a, b in runs]
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(summed_up(list(samples(float(sys.argv[1]))))) + "\n")
