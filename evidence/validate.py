"""Runs what takes longer than `make test` may, and prints what was covered and when it last passed.

    python -m evidence.validate [STEP …]    all steps, or those named
    python -m evidence.validate --list      the steps, with the date of their last pass

Each step is a command. One that fails does not stop the others; the exit code is then 1. The ledger
of passes is target/validate.json.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEDGER = ROOT / "target/validate.json"


@dataclass(frozen=True)
class Step:
    """A command and what it covers."""

    name: str
    covers: str
    words: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    as_root: bool = False


def _python(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *words)


def _cargo_test(*words: str) -> tuple[str, ...]:
    return ("cargo", "test", "--locked", "--quiet", *words)


STEPS = (
    Step(
        "long",
        "tests marked `long`, Python's properties on 200 random cases, every device",
        _python("pytest", "-m", "long or hypothesis or whole"),
        {"SWITCHBED_WHOLE": "1"},
    ),
    Step(
        "reproducible",
        "two builds of the wheel from nothing, the same bytes",
        _python("evidence.robustness.wheels", "--twice"),
    ),
    Step("notebook", "the tour", _python("pytest", "--nbmake", "docs/tour.ipynb")),
    Step(
        "promises",
        "every scheme on 256 random sequences",
        _cargo_test("--package", "switchbed-qdisc", "promises"),
        {"PROPTEST_CASES": "256"},
    ),
    Step(
        "properties",
        "the other properties on 1,500 random cases, every key in every network",
        _cargo_test("--workspace", "--", "--skip", "promises"),
        {"PROPTEST_CASES": "1500", "SWITCHBED_WHOLE": "1"},
    ),
    Step(
        "threads",
        "same bytes on any threads and shards",
        _cargo_test("--package", "switchbed-sim", "observers"),
        {"SWITCHBED_WHOLE": "1"},
    ),
    Step("programs", "tests without programs", _python("evidence.robustness.without_programs")),
    Step(
        "mutants",
        "5,000 changed scenarios checked, 500 run",
        _python("evidence.robustness.mutants", "--check", "5000", "--run", "500"),
    ),
    Step(
        "memory",
        "memory by transport beside its forecast, 1,000 to 100,000 flows",
        _python("evidence.bench.connections", "1000", "10000", "100000"),
    ),
    Step(
        "relations",
        "relations between runs on 5,000 combinations of all that is listed",
        _python("evidence.robustness.metamorphic"),
    ),
    Step(
        "foreign",
        "20,000 changed SONiC and tc files, 10,000 command lines",
        _python("evidence.robustness.mutants_foreign"),
    ),
    Step(
        "texts",
        "10,000 changed networks, schedules, lists and sizes",
        _python("evidence.robustness.mutants_texts"),
    ),
    Step(
        "fuzz",
        "a minute of each fuzz target",
        _python("evidence.robustness.fuzz", "--minutes", "1"),
    ),
    Step(
        "broken",
        "claims of schemes broken on purpose",
        _python("evidence.robustness.claims", "broken"),
    ),
    Step(
        "seeds", "cheap experiments on other seeds", _python("evidence.robustness.claims", "seeds")
    ),
    Step(
        "offered", "AQMs beside Linux and ns-3, packet by packet", _python("evidence.peers.offered")
    ),
    Step("aqm-star", "AQMs under TCP beside ns-3", _python("evidence.peers.aqm_star")),
    Step(
        "beside",
        "One link by the kernel, the live switch and simulated",
        _python("evidence.peers.beside"),
    ),
    Step("tc", "tc scripts in a guest, read back", _python("evidence.peers.tc_scripts")),
    Step("ns3", "scenarios beside ns-3", _python("evidence.peers.ns3_scenarios")),
    Step("hosts", "one flow under losses beside kernel, ns-3, ns-2", _python("evidence.hosts")),
    Step(
        "frames",
        "ten million hostile frames, half of them through a switch that trims",
        _python("evidence.robustness.live_frames", "10000000"),
    ),
    Step(
        "soak",
        "ten million frames on interfaces, tagged ones among them: counters equal the kernel's",
        _python("evidence.robustness.live_soak", "600", "20000"),
        as_root=True,
    ),
    Step("damage", "damaged results", _python("evidence.robustness.damage")),
    Step("disk", "full disks", _python("evidence.robustness.full_disk", "5")),
    Step("wheels", "the release away from the tree", _python("evidence.robustness.wheels")),
    Step("kills", "killed sweeps", _python("evidence.robustness.sweeps", "40")),
    Step("writers", "sweeps by two processes", _python("evidence.robustness.sweeps", "--writers")),
    Step("labs", "killed labs", _python("evidence.robustness.kill_labs"), as_root=True),
)


def main(names: list[str]) -> int:
    """Runs the steps named, or all; 1 if any failed or could not run."""
    ledger: dict[str, dict[str, str | float]] = (
        json.loads(LEDGER.read_text()) if LEDGER.exists() else {}
    )
    steps = [step for step in STEPS if not names or step.name in names]
    outcome: dict[str, str] = {}
    for step in steps:
        if step.as_root and os.geteuid() != 0:
            outcome[step.name] = "needs root"
            continue
        print(f"== {step.name}: {step.covers}", flush=True)
        begun = time.monotonic()
        environment = {**os.environ, **step.environment}
        code = subprocess.run(step.words, cwd=ROOT, env=environment, check=False).returncode
        outcome[step.name] = "passed" if code == 0 else f"failed ({code})"
        if code == 0:
            now = datetime.now(UTC).isoformat(timespec="minutes")
            ledger[step.name] = {"passed": now, "seconds": round(time.monotonic() - begun)}
            LEDGER.parent.mkdir(exist_ok=True)
            LEDGER.write_text(json.dumps(ledger, indent=1) + "\n")
    show(ledger, outcome)
    return int(any(said != "passed" for said in outcome.values()))


def show(ledger: dict[str, dict[str, str | float]], outcome: dict[str, str]) -> None:
    """Prints every step with its outcome in this run and its last pass."""
    print(f"{'step':10} {'this run':12} {'last passed':23} {'seconds':>7}  covers")
    for step in STEPS:
        last = ledger.get(step.name, {"passed": "never", "seconds": ""})
        said = outcome.get(step.name, "not run")
        print(f"{step.name:10} {said:12} {last['passed']:23} {last['seconds']:>7}  {step.covers}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", choices=[[], *(step.name for step in STEPS)])
    parser.add_argument("--list", action="store_true")
    wanted = parser.parse_args()
    if wanted.list:
        show(json.loads(LEDGER.read_text()) if LEDGER.exists() else {}, {})
        sys.exit(0)
    sys.exit(main(wanted.steps))
