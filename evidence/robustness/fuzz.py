"""Runs the fuzz targets (fuzz/) and adds up what they executed: results.json is the ledger,
which docs/reliability.md shows.

    python -m evidence.robustness.fuzz [TARGET...] [--minutes N]    each target for so long (1)
    ... --goal        in turn, until each has executed what it should
    ... --minimise    the corpus and what it has grown by become the committed archive

Files begin with one for each scheme, policy of shared memory and congestion control that there is.
Built in release with the address sanitizer, coverage and checks of overflow; stable Rust does (by
RUSTC_BOOTSTRAP). It works at the lowest priority on one core. Inputs that lead anywhere new are
kept in results/fuzz; one that breaks something too, and its path is told.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evidence.kept import Kept
from switchbed import _native

ROOT = Path(__file__).resolve().parents[2]
GROWN = ROOT / "results" / "fuzz"
BUILD = ROOT / "target" / "fuzz"
ARCHIVES = ROOT / "fuzz" / "corpus"
"""Inputs that fuzzing begins with: `TARGET.tar.xz` has those of a target. Equal inputs make equal
bytes: files are sorted by name, without times or owners."""
UNPACKED = ROOT / "target" / "fuzz" / "corpus"
RESULTS = Kept(Path(__file__).parent, "fuzz")

TARGETS = {
    "frame": (98_000_000, 192, "any bytes as a frame: read, marked, told of in a message"),
    "port_ops": (
        2_000_000,
        74,
        "up to 12 operations on two ports under each scheme: the whole "
        "conformance suite, four runs an execution",
    ),
    "card": (10_000_000, 128, "frames through the card that obeys congestion messages"),
    "switch": (
        10_000_000,
        128,
        "frames through the live switch, which becomes any scheme and policy between",
    ),
    "scenario": (10_000_000, 800, "a scenario's or a live switch's file, and an override"),
}
"""How many executions are wanted (10⁸ of frames and a port together, 10⁷ of each other), the
longest input in bytes, and what an execution is."""

FLAGS = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Zsanitizer=address",
    "--cfg=fuzzing",
)
SANITIZER = {
    "ASAN_OPTIONS": "malloc_context_size=0:max_malloc_fill_size=0:quarantine_size_mb=4:"
    "detect_leaks=0:detect_stack_use_after_return=0"
}
"""A freed piece is kept aside for a while; who allocated it is not noted: safe Rust needs no more,
and it doubles the speed."""
FUZZER = (
    *("-entropic=0", "-reload=0", "-detect_leaks=0", "-verbosity=0", "-print_final_stats=1"),
    *("-timeout=120", "-rss_limit_mb=2048"),
    # How often code is reached, and shorter inputs that reach the same, take a third of the time.
    *("-use_counters=0", "-reduce_inputs=0"),
)
SLICE_S = 600
"""The ledger is written that often."""

Ledger = dict[str, dict[str, Any]]

SCENARIO = """[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "10us"
[switch]
buffer = "300KB"
pool = "1MB"
policy = "{policy}"
{switch}[transport]
kind = "{transport}"
[[traffic]]
kind = "long-lived"
from = "0-1"
to = 2
[run]
until = "1ms"
[scheme]
name = "{scheme}"
[scheme.params]
{params}"""
TRIMMING = """queues = 4
[switch.trimming]
size = "64B"
queues = [0, 1]
queue = 3
dscp = 3
host_dscp = 2
mode = "{mode}"
[[switch.queue]]
queue = 1
trim = false
"""
EXAMPLES = {"a size": "6KB", "a time": "200us", "a rate": "1Gbps", "a number from 0 to 1": "0.5"}


def seeds() -> dict[str, str]:
    """What files begin with, by name: one for each scheme with all of its parameters that go
    together, for each policy of shared memory, for each congestion control and for each way of
    trimming."""
    schema = json.loads(_native.schema())
    policies = json.loads(_native.policies())
    controls = schema["properties"]["transport"]["properties"]["kind"]["enum"]
    return {
        **{of["name"]: _of(of) for of in json.loads(_native.schemes()) if of["name"] != "python"},
        **{of["name"]: _scenario(policy=of["name"]) for of in policies},
        **{name: _scenario(transport=name) for name in controls},
        **{
            f"trimming-{mode}": _scenario(transport="nscc", switch=TRIMMING.format(mode=mode))
            for mode in ("switch", "htsim")
        },
    }


def _of(scheme: dict[str, Any]) -> str:
    """With what must be given, and then with each other parameter that leaves it a scenario."""
    params = ""
    for param in sorted(scheme["parameters"], key=lambda param: not param["required"]):
        value = param["default"] or EXAMPLES.get(param["takes"].partition(",")[0])
        if value is None:
            continue
        more = f"{params}{param['name']} = {_toml(value)}\n"
        before, after = (_scenario(scheme=scheme["name"], params=text) for text in (params, more))
        if len(after) <= TARGETS["scenario"][1] and (resolves(after) or not resolves(before)):
            params = more
    return _scenario(scheme=scheme["name"], params=params)


def _toml(value: str) -> str:
    try:
        json.loads(value)
    except json.JSONDecodeError:
        return json.dumps(value)
    return value


def _scenario(**parts: str) -> str:
    rest = {"policy": "shared", "transport": "dctcp", "scheme": "none", "switch": "", "params": ""}
    return SCENARIO.format(**rest | parts)


def resolves(text: str) -> bool:
    """Whether it is a scenario."""
    with contextlib.suppress(_native.Mistake):
        return bool(_native.plans_of("f.toml", text, "", [], False))
    return False


def built() -> Path:
    """The folder of the programs."""
    about = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^host: (.*)$", about, re.M)
    assert found, about
    # A target, even the host's: the flags are not for build scripts.
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target", found[1]]
    subprocess.run(
        [*command, "--manifest-path", str(ROOT / "fuzz" / "Cargo.toml")],
        env={
            **os.environ,
            "RUSTC_BOOTSTRAP": "1",
            "RUSTFLAGS": " ".join(FLAGS),
            # libFuzzer itself is not to be checked: it would take twice as long.
            "CXXFLAGS": "-fno-sanitize=all",
            "CARGO_TARGET_DIR": str(BUILD),
        },
        check=True,
    )
    return BUILD / found[1] / "release"


def run(programs: Path, target: str, seconds: int) -> tuple[int, float]:
    """Runs a target so long: executions, and processor seconds. Ends the program where it broke
    something."""
    grown, first = GROWN / target, GROWN / "seeds"
    grown.mkdir(parents=True, exist_ok=True)
    folders = [grown, unpack(target)]
    if target == "scenario":
        first.mkdir(exist_ok=True)
        for name, text in seeds().items():
            (first / name).write_text(text)
        folders.append(first)
    before = os.times()
    done = subprocess.run(
        [
            str(programs / target),
            *FUZZER,
            f"-max_len={TARGETS[target][1]}",
            f"-max_total_time={seconds}",
            f"-artifact_prefix={GROWN}/{target}-",
            *map(str, folders),
        ],
        cwd=ROOT,
        env={**os.environ, **SANITIZER},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    after = os.times()
    counted = re.search(r"stat::number_of_executed_units: (\d+)", done.stderr)
    if done.returncode or counted is None:
        sys.exit(f"{done.stderr}\n{target}: broken; the input is in {GROWN}")
    spent = after.children_user + after.children_system
    return int(counted[1]), spent - before.children_user - before.children_system


def read() -> Ledger:
    """The ledger as it is."""
    ledger: Ledger = RESULTS.read()
    return ledger


def add(ledger: Ledger, target: str, executions: int, spent: float) -> None:
    """Adds to what a target has executed."""
    entry = ledger.setdefault(target, {"executions": 0, "cpu_s": 0})
    entry["executions"] += executions
    entry["cpu_s"] = round(entry["cpu_s"] + spent)
    entry["date"] = time.strftime("%Y-%m-%d")


def minimise(programs: Path, target: str) -> None:
    """The fewest and shortest inputs that reach what all reach become the committed archive."""
    fresh = GROWN / f"{target}.minimised"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    GROWN.joinpath(target).mkdir(exist_ok=True)
    sources = [fresh, unpack(target), GROWN / target]
    limit = f"-max_len={TARGETS[target][1]}"
    subprocess.run(
        [str(programs / target), "-merge=1", "-use_counters=0", limit, *map(str, sources)],
        cwd=ROOT,
        env={**os.environ, **SANITIZER},
        capture_output=True,
        check=True,
    )
    pack(target, fresh)
    shutil.rmtree(fresh)


def rounds(
    targets: Sequence[str], ledger: Ledger, minutes: float | None
) -> Iterator[tuple[str, int]]:
    """Which target is to run next, and for how many seconds."""
    if minutes is not None:
        for target in targets:
            left = round(minutes * 60)
            while left > 0:
                yield target, min(left, SLICE_S)
                left -= SLICE_S
        return
    while wanting := [t for t in targets if missing(ledger, t) > 0]:
        for target in wanting:
            yield target, SLICE_S


def missing(ledger: Ledger, target: str) -> int:
    """Executions that a target has yet to do."""
    return TARGETS[target][0] - int(ledger.get(target, {}).get("executions", 0))


def write(ledger: Ledger) -> None:
    """Keeps the ledger."""
    RESULTS.write(ledger)


def render(ledger: Ledger) -> str:
    """The block of docs/reliability.md."""
    lines = [
        "| target | an execution is | executed | wanted | a second of a core | last |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for target, (wanted, _, what) in TARGETS.items():
        if target in ledger:
            count, spent = ledger[target]["executions"], ledger[target]["cpu_s"]
            rate = f"{count / spent:,.0f}" if spent else "-"
            last = ledger[target]["date"]
            lines.append(f"| `{target}` | {what} | {count:,} | {wanted:,} | {rate} | {last} |")
    return "\n".join(lines)


def main() -> int:
    """Runs the targets that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", choices=[*TARGETS, []])
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--goal", action="store_true")
    parser.add_argument("--minimise", action="store_true")
    asked = parser.parse_args()
    targets = asked.targets or list(TARGETS)
    programs = built()
    if asked.minimise:
        for target in targets:
            minimise(programs, target)
        return 0
    os.nice(15)
    ledger = read()
    for target, seconds in rounds(targets, ledger, None if asked.goal else asked.minutes):
        executions, spent = run(programs, target, seconds)
        ledger |= read()  # another sitting may have added to it
        add(ledger, target, executions, spent)
        write(ledger)
        print(f"{target}: {executions:,} executed, {spent:.0f} s of a core", flush=True)
    return 0


def archive(target: str) -> Path:
    """The target's archive."""
    return ARCHIVES / f"{target}.tar.xz"


def inputs(target: str) -> dict[str, bytes]:
    """The target's inputs by name."""
    found = {}
    with tarfile.open(archive(target)) as packed:
        for member in packed:
            content = packed.extractfile(member)
            if content is None or "/" in member.name:
                raise ValueError(f"{archive(target)}: {member.name}: must be a file at the top")
            found[member.name] = content.read()
    return found


def unpack(target: str) -> Path:
    """The folder with the target's inputs, and nothing else, for libFuzzer to read."""
    folder = UNPACKED / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if archive(target).exists():
        for name, content in inputs(target).items():
            (folder / name).write_bytes(content)
    return folder


def pack(target: str, folder: Path) -> None:
    """The files of the folder become the target's archive."""
    part = archive(target).with_suffix(".partial")
    with tarfile.open(part, "w:xz", format=tarfile.USTAR_FORMAT) as packed:
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            member = tarfile.TarInfo(file.name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    part.replace(archive(target))


if __name__ == "__main__":
    sys.exit(main())
