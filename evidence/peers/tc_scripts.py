"""`make validate`: the scripts of `switchbed export tc` in a guest with Debian's kernel, which has
`ets`, `red`, `codel`, `pie`, `fq_codel` and `cake`. What tc shows there must make the same scenario
again, and the undo must leave nothing. Ends with 1 if not."""

import json
import re
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import switchbed as sb
from evidence.peers import guest
from switchbed import _native
from switchbed.tc import exporting, importing

MODULES = (
    *(f"net/sched/sch_{name}" for name in ("tbf", "ets", "prio", "red", "codel", "pie", "cake")),
    "net/sched/cls_flower",
)
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for each in /m/*.ko; do insmod $each 2>/dev/null; done
/sbin/ip link set lo up
script() {
  name=$1; shift  # busybox has a tc of its own
  sh -c 'tc() { /sbin/tc "$@"; }; script=$1; shift; . /$script.sh' sh $name "$@"
}
"""
BASE = """
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "5us"
[switch]
queues = 4
policy = "static"
buffer = "1200KB"
quantum = ["1500B", "1500B", "3000B", "6000B"]
{switch}
[scheme]
{scheme}
[transport]
kind = "dctcp"
[[traffic]]
kind = "poisson"
load = 0.5
flows = 10
sizes = "web-search"
"""
STEP = 'name = "per-queue"\nparams = { threshold = "65pkt" }'
RED = 'name = "red"\nparams = { kmin = "30KB", kmax = "90KB", pmax = 0.02, weight = 0.001953125 }'
CASES = {
    "step": ("", STEP),
    "strict": ("strict = 1", STEP),
    "prio": ("strict = 3", STEP),
    "pass": ('unmarkable = "pass"', STEP),
    "ramp": ("strict = 1", RED),
    "drops": ("", 'name = "none"'),
    "codel": ("", 'name = "codel"\nparams = { interval = "1ms", target = "50us", sqrt = "linux" }'),
    "fq-codel": (
        "",
        'name = "fq-codel"\n'
        'params = { interval = "1ms", target = "50us", quantum = "1500B", sqrt = "linux" }',
    ),
    "cobalt": ("", 'name = "cobalt"\nparams = { interval = "1ms" }'),
    "pie": ("", 'name = "pie"\nparams = { target = "15ms", t_update = "16ms" }'),
}
"""What is set of the switch, and the scheme."""
RATE = 9_950_000_000
ONE = {"fq-codel": ("unmarkable",)}
"""What is compared where one discipline is all that the port has."""
KEPT = ("queues", "strict", "quantum", "policy", "unmarkable", "classify")


def main() -> int:
    own = {name: _resolved(*case) for name, case in CASES.items()}
    files, init = {}, INIT
    with tempfile.TemporaryDirectory() as place:
        for name, scenario in own.items():
            lines, said = exporting.export(scenario, exporting.Choices("lo", RATE))
            assert not said.refusals, said.refusals
            path = Path(place) / f"{name}.sh"
            path.write_text(exporting.script(lines, name, exporting.Choices("lo")))
            files[path.name] = path
            init += (
                f"script {name} lo\n"
                f'echo "OUT {name} $(/sbin/tc -j -d qdisc show dev lo)"\n'
                f'script {name} lo undo; echo "UNDONE {name} $(/sbin/tc -j qdisc show dev lo)"\n'
            )
        printed = guest.run(MODULES, files, init)
    wrong = [line for name in CASES for line in _wrong(name, own[name], printed)]
    for line in wrong or [f"{len(CASES)} scripts set a device up, were read back, and undone"]:
        print(line)
    return bool(wrong)


def _resolved(switch: str, scheme: str) -> dict[str, Any]:
    return sb.Scenario(tomllib.loads(BASE.format(switch=switch, scheme=scheme))).resolved


def _wrong(name: str, own: dict[str, Any], printed: str) -> list[str]:
    shown, undone = (re.search(rf"{what} {name} (\[.*\])", printed) for what in ("OUT", "UNDONE"))
    if shown is None or undone is None:
        return [f"{name}: the guest did not get there: {printed[-500:]}"]
    wrong = []
    if [each["kind"] for each in json.loads(undone[1])] != ["noqueue"]:
        wrong.append(f"{name}: undone it has {undone[1]}")
    try:
        text, _ = importing.load(json.loads(shown[1]), name)
        found = sb.Scenario(tomllib.loads(text)).resolved
    except sb.Mistake as mistake:
        return [*wrong, f"{name}: {mistake}: {shown[1]}"]
    for key in ONE.get(name, KEPT):
        if key == "quantum" and own["switch"]["strict"] == own["switch"]["queues"] - 1:
            continue  # prio has none
        if found["switch"][key] != own["switch"][key]:
            wrong.append(f"{name}: {key} is {found['switch'][key]}, was {own['switch'][key]}")
    if found["scheme"]["name"] != own["scheme"]["name"]:
        wrong.append(f"{name}: scheme is {found['scheme']}")
    for key, value in own["scheme"]["params"].items():
        if not _alike(found["scheme"]["params"].get(key), value):
            wrong.append(f"{name}: {key} is {found['scheme']['params'].get(key)}, was {value}")
    return wrong


def _alike(found: Any, value: Any) -> bool:
    """Times come back in whole units of 1.024 us."""
    if isinstance(value, str) and value.endswith(("us", "ms")):
        ours, theirs = (_native.time_ps(str(each)) for each in (value, found))
        return bool(abs(ours - theirs) <= 2_048_000)
    return bool(found == value)


if __name__ == "__main__":
    sys.exit(main())
