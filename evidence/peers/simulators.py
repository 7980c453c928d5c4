"""The other simulators, and ours beside them: what is there, building, running, and the
lists of flows that both read.

`make setup-peers` installs what `found` looks for; nothing here downloads.
"""

import json
import platform
import random
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from switchbed import _native
from switchbed._native import Mistake, __version__
from switchbed.directory import machine as _machine

HERE = Path(__file__).parent
WORK = HERE.parents[1] / "target" / "peers"
"""What is built and written on the way; `make clean` removes it."""
WHEEL = WORK / "wheel"
"""The virtual environment with ns-3's wheel from PyPI."""
MODULES = ("internet", "point-to-point", "traffic-control", "network", "stats", "core")
SPINES = 12
SEEDS = tuple(range(1, 21))
"""Our fabric runs with each: the spines of ACKs and the order of ties alone change."""
VERSION = __version__


@dataclass(frozen=True)
class Ns3:
    """An ns-3 that scenarios compile against."""

    version: str
    origin: str
    compile: tuple[str, ...]
    """Arguments of the compiler before the sources."""
    link: tuple[str, ...]
    """And after."""

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"ns-3.{self.version.removeprefix('3.')}"

    def build(self, source: str) -> Path:
        """Compiles `ns3/SOURCE.cc` if it changed, and returns the program."""
        program = WORK / f"{source}-{self.version}"
        sources = [HERE / "ns3" / f"{source}.cc", HERE / "ns3" / "common.h"]
        newest = max(path.stat().st_mtime for path in sources)
        if not program.exists() or program.stat().st_mtime < newest:
            WORK.mkdir(parents=True, exist_ok=True)
            print(f"compiling {source}.cc for {self.name}", flush=True)
            _checked([*self.compile, str(sources[0]), "-o", str(program), *self.link])
        return program

    @property
    def flags(self) -> str:
        """The compiler's options that matter for speed."""
        return " ".join(self.compile[:4])


def debian() -> Ns3 | None:
    """Debian's libns3-dev, where it and what it needs are installed."""
    if not (shutil.which("pkg-config") and shutil.which("g++")):
        return None
    modules = [f"ns3-{name}" for name in MODULES]
    asked = subprocess.run(
        ["pkg-config", "--cflags", "--libs", *modules], capture_output=True, text=True, check=False
    )
    if asked.returncode != 0:
        return None
    version = _checked(["pkg-config", "--modversion", "ns3-core"]).strip()
    link = tuple(shlex.split(asked.stdout))
    return Ns3(version, "Debian", ("g++", "-std=c++17", "-O3", "-DNDEBUG"), link)


def wheel() -> Ns3 | None:
    """The newest wheel on PyPI, where `make setup-peers` could install it."""
    cores = sorted(WHEEL.glob("lib/python3*/site-packages/ns3/lib64/libns3.*-core.so"))
    if not cores or not shutil.which("g++"):
        return None
    libraries = cores[-1].parent.resolve()
    version = cores[-1].name.removeprefix("libns").removesuffix("-core.so")
    link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
    link += [f"-lns{version}-{name}" for name in MODULES]
    include = f"-I{libraries.parent / 'include'}"
    return Ns3(version, "PyPI", ("g++", "-std=c++20", "-O3", "-DNDEBUG", include), tuple(link))


def needed() -> Ns3:
    """Debian's ns-3, or a message that says what is missing."""
    found = debian()
    if found is None:
        raise Mistake(
            "ns-3 is not there: needs g++, pkg-config, libns3-dev and libgsl-dev; "
            "`make setup-peers` (as root) installs them"
        )
    return found


def run(program: Path | str, *arguments: str) -> dict[str, Any]:
    """Runs a peer's scenario; it prints a line of JSON."""
    found: dict[str, Any] = json.loads(_checked([str(program), *arguments]))
    return found


@dataclass(frozen=True)
class Ours:
    """What a run of ours left."""

    summary: dict[str, Any]
    flows: pl.DataFrame


def ours(file: Path, sets: Sequence[str] = (), seed: int | None = None) -> Ours:
    """Runs a scenario of ours."""
    (plan,) = _native.plans(file, sets, seed)
    results = plan.run(_native.Progress())
    assert results is not None, "nobody cancels it"
    return Ours(json.loads(results.summary), pl.DataFrame(results.flows))


def flow_list(load: float, flows: int, seed: int) -> Path:
    """Writes the list of `flows` web-search flows at `load` and returns its file. Each has
    its spine drawn, so that its data takes the same path in all simulators."""
    found = ours(HERE / "flows.toml", [f"load={load}", f"flows={flows}"], seed).flows
    paths = random.Random(seed)
    WORK.mkdir(parents=True, exist_ok=True)
    file = WORK / f"flows-{load}-{flows}-{seed}.csv"
    lines = ["start_s,src,dst,size_bytes,path"]
    lines += [
        f"{start:.12f},{src},{dst},{size:.0f},{paths.randrange(SPINES)}"
        for start, src, dst, size in found.select("start_s", "src", "dst", "size_bytes").rows()
    ]
    file.write_text("\n".join(lines) + "\n")
    return file


def leaf_spine(flows: Path) -> Path:
    """Our leaf-spine scenario with the list in its place: beside it."""
    file = flows.with_suffix(".toml")
    text = (HERE / "leaf-spine.toml").read_text()
    file.write_text(text.replace('"flows.csv"', json.dumps(flows.name)))
    return file


CLASSES = {"all": (0.0, 1e18), "small": (0.0, 1e5), "medium": (1e5, 1e7), "large": (1e7, 1e18)}
"""Sizes over the first and up to the second, in bytes, as `measure.small` and `.large`."""


def fct_by_class(flows: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Number, mean and 99th percentile (the element at ⌊0.99·n⌋, as our summaries have it)
    of the completion times in `fct_s`, by size class."""
    found = {}
    for name, (over, to) in CLASSES.items():
        inside = (pl.col("size_bytes") > over) & (pl.col("size_bytes") <= to)
        times = flows.filter(inside)["fct_s"].drop_nulls().drop_nans().sort() * 1e6
        n = len(times)
        if n:
            found[name] = {
                "n": n,
                "mean_us": float(times.sum()) / n,
                "p99_us": float(times[n * 99 // 100]),
            }
    return found


def peer_fct(flows: Path, times: Path) -> dict[str, dict[str, float]]:
    """The same of a peer's file of rows and completion times."""
    sizes = pl.read_csv(flows).with_row_index("row").cast({"row": pl.Int64})
    return fct_by_class(sizes.join(pl.read_csv(times), on="row", how="left"))


@cache
def machine() -> dict[str, Any]:
    """The machine that the figures were measured on."""
    system = platform.freedesktop_os_release()["PRETTY_NAME"]
    return _machine() | {
        "system": system,
        "compiler": _checked(["g++", "--version"]).splitlines()[0],
    }


def _checked(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Mistake(f"{command[0]} failed with exit code {done.returncode}: {said}")
    return done.stdout
