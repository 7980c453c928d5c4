"""`make validate`: one list of packets through queueing disciplines of Linux, of ns-3 and of ours.

Nothing answers what is dropped or marked, so that a discipline is all that differs. Linux's run in
a guest with Debian's kernel under qemu, whose clock counts instructions: how busy the machine is
does not show. Ours run in the live switch (`crates/live/examples/offered.rs`). Writes
results.json, from which docs/aqm-evidence.md is made, and ends with 1 if anything
is off by more than a tenth and not explained by an experiment.

    python -m evidence.peers.offered --ours    ours anew, beside what the others found before
"""

import argparse
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.kept import Kept
from evidence.peers import aqm_star, guest, simulators
from switchbed._native import Mistake

RESULTS = Kept(simulators.HERE, "offered")
ROOT = simulators.HERE.parents[1]
MODULES = (
    "drivers/net/veth",
    *(f"net/sched/sch_{name}" for name in ("tbf", "codel", "pie", "red")),
)
PHASES = ((2.0, 0.9), (3.0, 1.2), (1.0, 0.5))
"""Seconds and load of 10 Mbps: Poisson arrivals."""
SHARES = (60, 25, 10, 5)
"""Of four flows, in per cent."""
FRAME = 1514
TOLERANCE = 0.1
MOST = 0.003
"""And a difference of so many of the packets is none: of few marks one is many per cent."""


@dataclass(frozen=True)
class Row:
    """A discipline with its settings, everywhere. Packets are ECN-capable or not (`ect`)."""

    name: str
    ect: bool
    ours: tuple[str, ...]
    linux: str = ""
    ns3: tuple[str, ...] = ()
    list: str = ""
    """A list of its own."""
    why: str = ""
    """Of an experiment: what it changes."""
    beside: str = ""
    """Of an experiment: whom it is compared with."""


_CODEL = ("CoDel", "MaxSize=10000p", "MinBytes=1514")
_FQ = ("FqCoDel", "MaxSize=10240p")
_PIE = ("Pie", "MaxSize=10000p", "MeanPktSize=1514", "UseDerandomization=true")
_RED = [
    "Red",
    "MaxSize=1000000B",
    "MinTh=30000",
    "MaxTh=90000",
    "QW=0.03125",
    "LInterm=10",
    "Gentle=false",
    "LinkBandwidth=10Mbps",
    "MeanPktSize=1514",
    "Wait=false",
    "UseHardDrop=false",
]
_COBALT = ("Cobalt", "MaxSize=10000p")
_LINUX_RED = (
    "red limit 1000000 min 30000 max 90000 avpkt 1000 burst 50 probability 0.1 bandwidth 10mbit"
)
_OUR_RED = ["red", "kmin=30000B", "kmax=90000B", "pmax=0.1", "weight=0.03125", "buffer=1000000"]
_NOW = (
    "ns-3 counts the gap to the next mark from the mark, Linux and we from when it was due: "
    "`next_mark = now`"
)
_TIMER = (
    "Linux's timer of 15 ms fires after five jiffies, 20 ms at 250 Hz: 16 by rounding up, and one "
    "since a timer is never early: `t_update = 20ms`"
)
ROWS = (
    Row(
        "CoDel",
        False,
        ("codel", "ecn=false", "sqrt=linux"),
        "codel limit 10000 target 5ms interval 100ms",
        _CODEL,
    ),
    Row(
        "CoDel",
        True,
        ("codel", "sqrt=linux"),
        "codel limit 10000 target 5ms interval 100ms ecn",
        (*_CODEL, "UseEcn=true"),
    ),
    Row(
        "CoDel",
        True,
        ("codel", "sqrt=linux", "next_mark=now"),
        ns3=(*_CODEL, "UseEcn=true"),
        why=_NOW,
        beside="ns3",
    ),
    Row(
        "FQ-CoDel",
        False,
        ("fq-codel", "ecn=false", "sqrt=linux"),
        "fq_codel noecn",
        (*_FQ, "UseEcn=false"),
    ),
    Row("FQ-CoDel", True, ("fq-codel", "sqrt=linux"), "fq_codel", (*_FQ, "UseEcn=true")),
    Row(
        "FQ-CoDel",
        True,
        ("fq-codel", "sqrt=linux", "next_mark=now"),
        ns3=(*_FQ, "UseEcn=true"),
        why=_NOW,
        beside="ns3",
    ),
    Row("PIE", False, ("pie",), "pie limit 10000", _PIE),
    Row("PIE", True, ("pie",), "pie limit 10000 ecn"),
    Row("PIE", False, ("pie", "t_update=20ms"), "pie limit 10000", why=_TIMER, beside="linux"),
    Row("PIE", True, ("pie", "t_update=20ms"), "pie limit 10000 ecn", why=_TIMER, beside="linux"),
    Row(
        "PIE, not derandomized",
        True,
        ("pie", "derandomize=false"),
        ns3=(*_PIE[:-1], "UseEcn=true"),
    ),
    Row("RED", False, tuple(_OUR_RED), _LINUX_RED, tuple(_RED)),
    Row("RED", True, tuple(_OUR_RED), f"{_LINUX_RED} ecn", (*_RED, "UseEcn=true")),
    Row("COBALT", False, ("cobalt", "ecn=false"), ns3=_COBALT),
    Row("COBALT, in 3.7 s", True, ("cobalt",), ns3=(*_COBALT, "UseEcn=true"), list="fast"),
)
INIT = """#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for m in /m/*.ko; do insmod $m; done
/sbin/ip link add va0 type veth peer name vb0
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
/sbin/ip link set va0 up; /sbin/ip link set vb0 up; sleep 1
run() {
  list=$1; shift
  /sbin/tc qdisc del dev va0 root 2>/dev/null
  /sbin/tc qdisc add dev va0 root handle 1: tbf rate 10mbit burst 3028 limit 100000000
  /sbin/tc qdisc add dev va0 parent 1:1 handle 2: "$@"
  echo "OUT $(/offer /$list.txt va0 vb0)"
}
"""

HEAD = """# The AQMs beside Linux and ns-3

One list of packets through queueing disciplines of the kernel, of ns-3 and of ours: 6 s of Poisson
arrivals of four flows at 0.9, 1.2 and 0.5 of 10 Mbps. Nobody answers what is dropped or marked, so
that the discipline is all that differs. Linux's are its own, under `tbf`, in a guest with Debian's
kernel {kernel} whose clock counts instructions; ns-3 {ns3}'s are fed directly; ours are
ports of the live switch, in memory. `python -m evidence.peers.offered` runs all of it.

Each cell: the mean time on the way, packets dropped / marked, of 4,800.

| discipline | packets | ours | Linux | ns-3 |
| --- | --- | --- | --- | --- |"""
MIDDLE = """
A tenth is the most that means and signals (drops and marks) may differ by. What differs by more is
explained by an experiment that removes the difference:

| discipline | packets | what is changed | ours | theirs |
| --- | --- | --- | --- | --- |"""
FOOT = """
CoDel and FQ-CoDel run with `sqrt = "linux"` here, which both have. Debian's kernel has no `dualpi2`
(6.17 is the first that has), and its `cobalt` is inside of `cake`.

Two things of ns-3 {ns3}'s are kept out of the way instead of compared. Its COBALT has the time of
BLUE's last change in 32 bits of nanoseconds, so that after 4.29 s BLUE rises at each packet: where
BLUE has a say, the same packets come in 3.7 s instead of 6. Its PIE, derandomized, begins its sum
of p anew after a drop and not after a mark, so that once 8.5 is reached all are marked (60 of these
packets, ours marks 5): ECN-capable packets meet it as it is by default, not derandomized."""

Found = dict[str, Any]


def main() -> int:
    """Everything; returns the exit code."""
    parser = argparse.ArgumentParser(description="One list of packets in Linux, ns-3 and ours.")
    parser.add_argument("--ours", action="store_true", help="keep what the others found before")
    kept = parser.parse_args().ours
    simulators.WORK.mkdir(parents=True, exist_ok=True)
    _lists()
    before = RESULTS.read() or {"rows": []}
    ours = _ours()
    linux, ns3 = ([], []) if kept else (_linux(), _ns3())
    rows = []
    for i, row in enumerate(ROWS):
        old = before["rows"][i] if i < len(before["rows"]) else {}
        found = {"ours": ours[i]}
        for name, anew in (("linux", linux), ("ns3", ns3)):
            value = anew[i] if anew else old.get(name)
            if value is not None and getattr(row, name):
                found[name] = value
        rows.append(found)
    kernel = guest.kernel().name.removeprefix("vmlinuz-") if linux else before.get("kernel", "")
    ns = _program().version if ns3 else before.get("ns3", "")
    page: Found = {"kernel": kernel, "ns3": ns, "rows": rows}
    RESULTS.write(page)
    print(f"written: {RESULTS}")
    off = list(unexplained(rows))
    for line in off:
        print(f"disagrees: {line}", file=sys.stderr)
    return int(bool(off))


def _list(row: Row) -> str:
    return f"{row.list}{'ect' if row.ect else 'plain'}"


def _lists() -> None:
    draw = random.Random(1)
    end = at = 0.0
    packets = []
    for seconds, load in PHASES:
        end += seconds * 1e6
        while at < end:
            at += draw.expovariate(1) * FRAME * 8 / 10 / load
            packets.append((at, draw.choices((1, 2, 3, 4), SHARES)[0]))
    for name, ecn, scale in (("ect", 2, 1.0), ("plain", 0, 1.0), ("fastect", 2, 0.62)):
        lines = (f"{int(at * scale)} {flow} {FRAME} {ecn}\n" for at, flow in packets)
        _file(name).write_text("".join(lines))


def _file(name: str) -> Path:
    return simulators.WORK / f"offered-{name}.txt"


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _ours() -> list[Found]:
    build = ["cargo", "build", "--quiet", "--locked", "--example", "offered"]
    subprocess.run([*build, "--package", "switchbed-live"], cwd=ROOT, check=True)
    program = ROOT / "target" / "debug" / "examples" / "offered"
    return [json.loads(_run(str(program), str(_file(_list(row))), *row.ours)) for row in ROWS]


def _program() -> simulators.Ns3:
    found = simulators.wheel() or simulators.debian()
    if found is None:
        raise Mistake("ns-3 is not there: `make setup-peers` (as root) installs it")
    return found


def _ns3() -> list[Found | None]:
    program = str(_program().build("offered"))

    def of(row: Row) -> Found | None:
        return json.loads(_run(program, str(_file(_list(row))), *row.ns3)) if row.ns3 else None

    return [of(row) for row in ROWS]


def _linux() -> list[Found | None]:
    wanted = [row for row in ROWS if row.linux]
    source, offer = str(simulators.HERE / "offer.c"), simulators.WORK / "offer"
    subprocess.run(["cc", "-O2", "-static", "-o", str(offer), source], check=True)
    files = {"offer": offer} | {f"{name}.txt": _file(name) for name in ("ect", "plain")}
    runs = "".join(f"run {_list(row)} {row.linux}\n" for row in wanted)
    said = guest.run(MODULES, files, f"{INIT}{runs}", "-icount", "shift=1,sleep=off")
    found = [json.loads(line) for line in re.findall(r"OUT (\{.*\})", said)]
    if len(found) != len(wanted):
        raise Mistake(f"the guest ended after {len(found)} of {len(wanted)} runs: {said[-500:]}")
    by_row = dict(zip(map(id, wanted), found, strict=True))
    return [by_row.get(id(row)) for row in ROWS]


def signals(found: Found) -> int:
    """Packets dropped or marked."""
    return int(found["offered"] - found["received"] + found["marked"])


def _off(ours: Found, theirs: Found) -> bool:
    delay = abs(ours["mean_ms"] / theirs["mean_ms"] - 1)
    apart = abs(signals(ours) - signals(theirs))
    few = apart <= MOST * theirs["offered"]
    return delay > TOLERANCE or (not few and apart > TOLERANCE * signals(theirs))


def unexplained(rows: list[Found]) -> Iterable[str]:
    for row, found in zip(ROWS, rows, strict=True):
        for name in ("linux", "ns3"):
            if name not in found or not _off(found["ours"], found[name]):
                continue
            tried = any(
                other.beside == name
                and (other.name, other.ect) == (row.name, row.ect)
                and not _off(more["ours"], more[name])
                for other, more in zip(ROWS, rows, strict=True)
                if name in more
            )
            if row.beside or not tried:
                yield f"{row.name}, {_list(row)}: {found['ours']} and {name} {found[name]}"


def _cell(found: Found | None) -> str:
    if found is None:
        return "–"
    dropped = found["offered"] - found["received"]
    return f"{found['mean_ms']:.1f} ms, {dropped} / {found['marked']}"


def write_page(site: Path) -> None:
    """Writes docs/aqm-evidence.md."""
    found = RESULTS.read()
    (site / "aqm-evidence.md").write_text(page_of(found), encoding="utf-8")


def page_of(found: Found) -> str:
    lines = HEAD.format(kernel=found["kernel"], ns3=found["ns3"]).splitlines()
    pairs = list(zip(ROWS, found["rows"], strict=True))
    for row, one in pairs:
        if not row.why:
            peers_ = " | ".join(_cell(one.get(name)) for name in ("linux", "ns3"))
            packets = "ECN-capable" if row.ect else "not ECN-capable"
            lines.append(f"| {row.name} | {packets} | {_cell(one['ours'])} | {peers_} |")
    lines += MIDDLE.splitlines()
    for row, one in pairs:
        if row.why:
            packets = "ECN-capable" if row.ect else "not ECN-capable"
            theirs = one.get(row.beside)
            lines.append(
                f"| {row.name} | {packets} | {row.why} | {_cell(one['ours'])} | {_cell(theirs)} |"
            )
    foot = FOOT.format(ns3=found["ns3"]).splitlines()
    return "\n".join([*lines, *foot, *aqm_star.section(), ""])


if __name__ == "__main__":
    sys.exit(main())
