"""One link by the kernel, by the live switch and simulated: three TCP flows over 20 Mbps and 20 ms
behind RED, FQ-CoDel and two bands by turns. Goodput, waits of data packets, and what a packet costs
the processor.

The kernel's link (`tbf`) and the live switch run in the same guest with Debian's kernel under qemu,
whose clock counts instructions: how busy the machine is does not show. Writes results.json,
of which docs/live.md has a table.

    python -m evidence.peers.beside [NAME…]    these anew, the others as they were
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import switchbed as sb
from evidence.kept import Kept
from evidence.peers import guest, simulators
from switchbed._native import Mistake

RESULTS = Kept(simulators.HERE, "beside")
ROOT = simulators.HERE.parents[1]
MODULES = (
    "drivers/net/veth",
    *(f"net/{name}" for name in ("llc/llc", "802/stp", "bridge/bridge")),
    *(f"net/sched/{name}" for name in ("sch_tbf", "sch_red", "sch_ets", "sch_netem", "cls_u32")),
)
RATE_BPS = 20_000_000
FRAME, HEADER = 1514, 66
TOS = (0, 0, 4)
"""Of the flows: the last one's DSCP is 1, and its queue the second where there are two."""
SECONDS, WARMUP = 15, 3
STAGGERS_MS = (80, 120)
"""A run each: flows begin so far apart."""
LOAD = 0.5
FRAMES = 5_000
NS_AN_INSTRUCTION = 2
"""Of the guest's clock: `-icount shift=1`."""
WAYS = ("kernel", "switch")


@dataclass(frozen=True)
class Row:
    """A discipline of the link, as each calls it. It has a guest, and the results, of its own."""

    name: str
    kernel: tuple[str, ...]
    """Words of `tc` in order; PORT is the interface."""
    switch: str
    """Words of `wires`."""
    scheme: dict[str, Any]
    quantum: tuple[str, ...] = ("1514B",)


_RED = (
    "red limit 400000 min 30000 max 90000 avpkt 1000 burst 50 probability 0.1 bandwidth 20mbit ecn"
)
_OUR_RED = {"kmin": "30000B", "kmax": "90000B", "pmax": 0.1, "weight": 0.03125}
_WIRES_RED = "scheme=red kmin=30000B kmax=90000B pmax=0.1 weight=0.03125"
_FILTER = "filter add dev right parent 2: protocol ip"
_CHILD = "qdisc add dev right parent"
ROWS = (
    Row(
        "RED",
        (f"{_CHILD} 1:1 handle 2: {_RED}",),
        _WIRES_RED,
        {"name": "red", "params": _OUR_RED},
    ),
    Row(
        "FQ-CoDel",
        (f"{_CHILD} 1:1 handle 2: fq_codel",),
        "scheme=fq-codel sqrt=linux",
        {"name": "fq-codel", "params": {"sqrt": "linux"}},
    ),
    Row(
        "ETS 1:1, RED in each band",
        (
            f"{_CHILD} 1:1 handle 2: ets bands 2 quanta 1514 1514",
            f"{_CHILD} 2:1 handle 3: {_RED}",
            f"{_CHILD} 2:2 handle 4: {_RED}",
            f"{_FILTER} prio 1 u32 match ip tos 0x04 0xfc flowid 2:2",
            f"{_FILTER} prio 2 u32 match u32 0 0 flowid 2:1",
        ),
        f"{_WIRES_RED} quantum=1514,1514",
        {"name": "red", "params": _OUR_RED},
        ("1514B", "1514B"),
    ),
)
INIT = f"""#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /run/netns
for pass in 1 2 3; do for m in /m/*.ko; do insmod $m 2>/dev/null; done; done
ip() {{ /sbin/ip "$@" || echo "FAILED ip $*"; }}
tc() {{ /sbin/tc -n mid "$@" || echo "FAILED tc $*"; }}
within() {{ space=$1; shift; nsenter --net=/run/netns/$space "$@"; }}
begin() {{
  for space in a mid b; do
    ip netns add $space
    within $space sh -c 'echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
      echo 1 > /proc/sys/net/ipv4/tcp_ecn'
  done
}}
line() {{
  if [ $1 = direct ]; then
    ip link add eth0 netns a address 02:00:00:00:00:01 type veth \
      peer name eth0 netns b address 02:00:00:00:00:02
  else
    ip link add left netns mid type veth peer name eth0 netns a address 02:00:00:00:00:01
    ip link add right netns mid type veth peer name eth0 netns b address 02:00:00:00:00:02
    ip -n mid link set left up promisc on
    ip -n mid link set right up promisc on
  fi
  ip -n a link set eth0 up gso_max_segs 1
  ip -n b link set eth0 up gso_max_segs 1
  ip -n a address add 10.0.0.1/24 dev eth0
  ip -n b address add 10.0.0.2/24 dev eth0
  ip -n a neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0
  ip -n b neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev eth0
  # Before the link: netem takes packets from their socket, whose small queue would see the link's.
  /sbin/tc -n a qdisc add dev eth0 root netem delay 20ms limit 100000
}}
bridge() {{
  ip -n mid link add br0 type bridge
  ip -n mid link set left master br0
  ip -n mid link set right master br0
  ip -n mid link set br0 up
  tc qdisc add dev right root handle 1: tbf rate {RATE_BPS} burst 3028 limit 100000000
}}
switch() {{
  mkfifo /input
  within mid /wires switch left right rate={RATE_BPS} buffer=400000 "$@" < /input &
  exec 9> /input
  sleep 1
}}
end() {{
  exec 9>&-
  wait
  rm -f /input
  for space in a mid b; do ip netns delete $space; done
  sleep 1
}}
"""

Found = dict[str, Any]


def main() -> int:
    """Runs and writes results: the exit code."""
    simulators.WORK.mkdir(parents=True, exist_ok=True)
    programs = _programs()
    named = [row for row in ROWS if not sys.argv[1:] or row.name in sys.argv[1:]]
    for row in named:
        said = guest.run(MODULES, programs, _script(row), "-icount", "shift=1,sleep=off")
        keep(row, said)
    print(render(RESULTS.read()))
    return 0


def keep(row: Row, said: str) -> None:
    """Writes what the guest printed of a row, beside the simulation, into the results."""
    outputs = iter([json.loads(line) for line in re.findall(r"OUT (\{.*\})", said)])
    failed = re.findall(r"FAILED .*", said)
    one: Found = {"kernel_version": guest.kernel().name.removeprefix("vmlinuz-")}
    try:
        one["direct_load"] = next(outputs)
        for way in WAYS:
            one[way] = [next(outputs) for _ in STAGGERS_MS]
            one[f"{way}_load"] = next(outputs)
    except StopIteration:
        raise Mistake(f"{row.name}: the guest ended early: {failed} {said[-2000:]}") from None
    if failed:
        raise Mistake(f"{row.name}: the guest: {failed}")
    one["simulated"] = [_simulated(row, ms) for ms in STAGGERS_MS]
    RESULTS.write(RESULTS.read() | {row.name: one})


def _programs() -> dict[str, Any]:
    words = ["cargo", "build", "--locked", "--quiet", "--release", "--example", "wires"]
    subprocess.run([*words, "--package", "switchbed-live"], cwd=ROOT, check=True)
    link = simulators.WORK / "link"
    source = str(simulators.HERE / "link.c")
    subprocess.run(["cc", "-O2", "-static", "-o", str(link), source], check=True)
    return {"link": link, "wires": ROOT / "target/release/examples/wires"}


def _script(row: Row) -> str:
    load = f"/link load {RATE_BPS / 8 / FRAME * LOAD:.3f} {FRAMES}\n"
    lines = [INIT, f"begin; line direct; sleep 1; {load}end\n"]
    for way in WAYS:
        # The live switch hands a packet over once its last bit has left, `tbf` with the first.
        bps = 0 if way == "kernel" else RATE_BPS
        flows = [
            f"/link flows {SECONDS} {WARMUP} {ms} {bps} {' '.join(map(str, TOS))}\n"
            for ms in STAGGERS_MS
        ]
        tc = "".join(f"tc {words}\n" for words in row.kernel)
        set_up = f"bridge\n{tc}" if way == "kernel" else f"switch {row.switch}\n"
        lines += [f"begin; line between\n{set_up}{run}end\n" for run in (*flows, load)]
    return "".join(lines)


def _simulated(row: Row, stagger_ms: int) -> Found:
    flows = [
        {
            "kind": "long-lived",
            "from": i,
            "to": len(TOS),
            "classes": [tos >> 2],
            "start": f"{i * stagger_ms}ms",
        }
        for i, tos in enumerate(TOS)
    ]
    made = sb.Scenario(
        {
            "title": f"{row.name} beside the kernel's",
            "topology": {
                "kind": "dumbbell",
                "left": len(TOS),
                "right": 1,
                "rate": "10Gbps",
                "delay": "1us",
                "bottleneck_rate": f"{RATE_BPS}bps",
                "bottleneck_delay": "10ms",
            },
            "switch": {
                "queues": len(row.quantum),
                "classify": "class" if len(row.quantum) > 1 else "single",
                "quantum": list(row.quantum),
                "buffer": "400KB",
            },
            "scheme": row.scheme,
            "host": {"mtu": f"{FRAME}B", "lso": False, "merge_packets": 1},
            "transport": {"kind": "cubic", "header": f"{HEADER}B", "ecn": True},
            "traffic": flows,
            "measure": {
                "warmup": f"{WARMUP}s",
                "waits": {"ports": ["left:0"], "every": "1us"},
            },
            "run": {"until": f"{SECONDS}s", "seed": stagger_ms},
        }
    )
    result = made.run()
    summary = result.summary()
    goodput = [of["goodput_bps"] / 1e6 for of in summary["classes"]]
    waits = result.table("waits")
    return {"goodput_mbps": goodput, **_waits(waits["packets"], waits["waited_s"])}


def _waits(packets: Iterable[int], waited_s: Iterable[float]) -> dict[str, float]:
    """Mean and percentiles of waits, of which some may be of several packets that came at once."""
    pairs = zip(packets, waited_s, strict=True)
    each = sorted(ms for n, s in pairs for ms in [s / n * 1e3] * n)
    at = {f"p{p}_ms": each[len(each) * p // 100] for p in (50, 90, 99)}
    return {"mean_ms": sum(each) / len(each), **at}


TEXT = """\
Three CUBIC flows with ECN, one of them of another DSCP, over {mbps:g} Mbps and 20 ms: the kernel's
`tbf` with its AQM, the live switch, both in one guest with Debian's kernel {kernel}, and the
simulation. {seconds} s without the first {warmup}; least to most of {runs} runs, whose flows begin
{staggers} ms apart. A wait is a data packet's in the queue. The last column is what bridge and AQM,
or the live switch with reading and writing, add to the instructions of the two hosts, for frames
of {frame} bytes at half of the rate.

| | | goodput, Mbps | second class | wait: median, ms | 90 % | 99 % | instructions a packet |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

`python -m evidence.peers.beside`, as root after `make setup-peers`. The guest's clock counts
instructions, so how busy the machine is does not show."""


def render(found: Found) -> str:
    """The block's text."""
    there = {row.name: found[row.name] for row in ROWS if row.name in found}
    rows = []
    for name, row in there.items():
        for way in (*WAYS, "simulated"):
            runs = row[way]
            shares = [100 * run["goodput_mbps"][-1] / sum(run["goodput_mbps"]) for run in runs]
            cost = "–"
            if way in WAYS:
                of, direct = row[f"{way}_load"], row["direct_load"]
                more_s = of["busy_s"] / of["frames"] - direct["busy_s"] / direct["frames"]
                cost = f"{more_s * 1e9 / NS_AN_INSTRUCTION:,.0f}"
            cells = [
                name,
                way,
                _range([sum(run["goodput_mbps"]) for run in runs], 2),
                f"{_range(shares, 0)} %",
                *(_range([run[key] for run in runs], 1) for key in ("p50_ms", "p90_ms", "p99_ms")),
                cost,
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return TEXT.format(
        mbps=RATE_BPS / 1e6,
        kernel=" and ".join(dict.fromkeys(row["kernel_version"] for row in there.values())),
        seconds=SECONDS,
        warmup=WARMUP,
        runs=len(STAGGERS_MS),
        staggers=" and ".join(map(str, STAGGERS_MS)),
        frame=FRAME,
        rows="\n".join(rows),
    )


def _range(values: list[float], digits: int) -> str:
    ends = [f"{of(values):.{digits}f}" for of in (min, max)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


if __name__ == "__main__":
    sys.exit(main())
