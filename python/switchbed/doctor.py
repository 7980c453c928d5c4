"""`switchbed doctor`: what this machine has of what parts of the program need."""

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from switchbed import options, terminal, threads
from switchbed._native import __build__, __version__

NET_ADMIN, NET_RAW = 12, 13
"""Numbers of the capabilities (capabilities(7))."""
PROGRAMS = (
    ("live run, live lab", "ip", "apt-get install iproute2"),
    ("live lab", "setpriv", "apt-get install util-linux"),
    ("live lab --iperf3", "iperf3", "apt-get install iperf3"),
    ("DCTCP in live lab", "clang", "apt-get install clang libbpf-dev"),
    ("DCTCP in live lab", "bpftool", "apt-get install bpftool"),
    ("sweep --engine slurm", "sbatch", "apt-get install slurm-client"),
    ("packet traces, to look at", "tshark", "apt-get install tshark"),
    ("build", "cargo", "Rust 1.95 or later, from rustup"),
)
"""Commands that need a program, the program, and where to get it."""
FILES = (
    ("live run with TAP ports", Path("/dev/net/tun"), "load the kernel module tun"),
    ("DCTCP in live lab", Path("/sys/kernel/btf/vmlinux"), "a kernel with CONFIG_DEBUG_INFO_BTF"),
    ("DCTCP in live lab", Path("/usr/include/bpf/bpf_helpers.h"), "apt-get install libbpf-dev"),
)
PACKAGES = (
    ("reproduce, fabrics", "switchbed_papers", "the wheel switchbed-papers"),
    ("sweep --engine ray", "ray", "pip install 'ray>=2.44'"),
    ("sweep --engine slurm", "submitit", "pip install 'submitit>=1.5'"),
    ("notebooks", "IPython", "pip install ipython"),
    ("build", "maturin", "pip install 'maturin>=1.16,<2'"),
)
"""Commands that need a Python package, the package, and where to get it."""


@dataclass(frozen=True)
class Finding:
    """One thing that a part of the program needs."""

    needed_for: str
    what: str
    found: bool
    detail: str
    """Version or place of what was found; otherwise how to get it."""


def version() -> dict[str, object]:
    """Return what identifies this installation."""
    return {
        "version": __version__,
        "build": __build__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "package": str(Path(__file__).parent),
    }


def named() -> str:
    """The version as a line."""
    return f"switchbed {__version__} (build {__build__})"


def findings() -> list[Finding]:
    """Look for everything."""
    return [*_machine(), *_programs(), *_files(), *_rights(), *_packages()]


def _machine() -> Iterator[Finding]:
    yield Finding("runs", "cores", True, str(threads.cores()))
    total = _memory_bytes()
    if total is not None:
        yield Finding("runs", "memory", True, f"{total / 1e9:.3g} GB")
    linux = sys.platform == "linux"
    yield Finding("live", "Linux", linux, platform.release() if linux else "run it on Linux")


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _programs() -> Iterator[Finding]:
    for needed_for, name, how in PROGRAMS:
        place = shutil.which(name)
        yield Finding(needed_for, name, place is not None, place or how)


def _files() -> Iterator[Finding]:
    for needed_for, path, how in FILES:
        there = path.exists()
        yield Finding(needed_for, str(path), there, "" if there else how)


def _rights() -> Iterator[Finding]:
    held = _capabilities()
    for needed_for, name, bit in (
        ("live run, live lab", "CAP_NET_ADMIN", NET_ADMIN),
        ("live run on interfaces", "CAP_NET_RAW", NET_RAW),
    ):
        has = bool(held >> bit & 1)
        yield Finding(needed_for, name, has, "" if has else "run it as root")


def _capabilities() -> int:
    """The effective capabilities of this process, as a set of bits (proc(5))."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)


def _packages() -> Iterator[Finding]:
    for needed_for, name, how in PACKAGES:
        there = importlib.util.find_spec(name) is not None
        yield Finding(needed_for, name, there, _version_of(name) if there else how)


def _version_of(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package.replace("_", "-"))
    except metadata.PackageNotFoundError:
        return ""


@click.command()
@options.JSON
def doctor(json_to: str | None) -> None:
    """Say what this machine has of what live switches, labs, clusters and notebooks need, and how
    to get the rest. Runs, sweeps, tables, plots and reports need nothing else."""
    found = findings()
    if json_to is not None:
        options.write_json(version() | {"findings": [asdict(each) for each in found]}, json_to)
        return
    terminal.say(f"{named()}, Python {platform.python_version()}, {platform.platform()}")
    wide = [max(len(getattr(each, column)) for each in found) for column in ("needed_for", "what")]
    for each in found:
        has = "yes" if each.found else "no "
        line = f"{has}  {each.needed_for:{wide[0]}}  {each.what:{wide[1]}}  {each.detail}"
        terminal.say(line.rstrip())
