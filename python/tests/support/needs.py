"""What a test needs of the machine: it says so by `@pytest.mark.needs("tshark")`, and is skipped
with that word where it is missing.

A test sees none of `PROGRAMS` that it has not named: one that would fail for want of a program
fails everywhere, and is not found out by the first machine without it."""

import functools
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

PROGRAMS = {
    "bpftool": "bpftool",
    "bridge": "iproute2",
    "chromium": "chromium",
    "clang": "clang",
    "ethtool": "ethtool",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "ss": "iproute2",
    "tc": "iproute2",
    "tshark": "tshark",
    "valgrind": "valgrind",
}
"""What a machine may lack, and its package."""
FILES = {
    "BTF": Path("/sys/kernel/btf/vmlinux"),
    "libbpf-dev": Path("/usr/include/bpf/bpf_helpers.h"),
}
"""Likewise: the kernel's types, and a package's header."""
PACKAGES = {
    "dask": "cluster",
    "joblib": "cluster",
    "nbmake": "docs",
    "pandas": "peers",
    "plotly": "peers",
    "ray": "cluster",
    "scipy": "peers",
    "sphinx": "docs",
    "submitit": "cluster",
}
"""Python packages that `make setup` leaves out, and the dependency group of each."""
WITHOUT = "SWITCHBED_WITHOUT_PACKAGES"
"""A variable of the environment under which tests see none of `PACKAGES`."""
LABS = "namespaces"
"""What a lab needs: hosts, their interfaces, and `ip` to make them."""

_links = tempfile.TemporaryDirectory(prefix="switchbed-path-")
_path = os.environ["PATH"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around the test's fixtures, too."""
    os.environ["PATH"] = with_only(_named(item))
    try:
        return (yield)
    finally:
        os.environ["PATH"] = _path


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    named = _named(item)
    if missing := [need for need in named if _is_missing(need)]:
        packages = [need for need in missing if need in PACKAGES]
        how = "make setup-all" if packages == missing else "make setup-system"
        pytest.skip(f"needs {', '.join(missing)}: {how}")
    if LABS in named and (why := _no_labs()):
        pytest.skip(why)


def pytest_sessionfinish() -> None:
    _links.cleanup()


def with_only(programs: Iterable[str]) -> str:
    """A PATH without `PROGRAMS` but these."""
    return os.pathsep.join([*(_alone(name) for name in programs if name in PROGRAMS), *_others()])


def _named(item: pytest.Item) -> list[str]:
    named = {need for mark in item.iter_markers("needs") for need in mark.args}
    unknown = named - {*PROGRAMS, *FILES, *PACKAGES, LABS}
    assert not unknown, f"{item.nodeid} needs {unknown}: {Path(__file__).name} knows none"
    return sorted(named | {"ip"} if LABS in named else named)


def _is_missing(need: str) -> bool:
    if need in FILES:
        return not FILES[need].exists()
    if need in PACKAGES:
        return WITHOUT in os.environ or importlib.util.find_spec(need) is None
    return need in PROGRAMS and shutil.which(need) is None


@functools.cache
def _alone(program: str) -> str:
    """A directory with this program, or with nothing."""
    links = Path(_links.name, program)
    links.mkdir()
    if place := shutil.which(program, path=_path):
        # No link: Debian's valgrind looks for its other half beside its own name.
        script = links / program
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(place)} "$@"\n')
        script.chmod(0o755)
    return str(links)


@functools.cache
def _others() -> list[str]:
    """The directories of PATH; for one that has any of `PROGRAMS`, links to the rest of it."""
    found: dict[Path, str] = {}
    for place in map(Path, _path.split(os.pathsep)):
        if place.resolve() in found or not place.is_dir():
            continue
        found[place.resolve()] = str(place)
        if any((place / program).exists() for program in PROGRAMS):
            links = Path(_links.name, f"{len(found)}")
            links.mkdir()
            for file in place.iterdir():
                if file.name not in PROGRAMS:
                    (links / file.name).symlink_to(file)
            found[place.resolve()] = str(links)
    return list(found.values())


@functools.cache
def _no_labs() -> str | None:
    """Why no lab can run here."""
    if sys.platform != "linux":
        return "the live switch needs Linux"
    if os.geteuid() != 0:
        return "labs need root"
    name = f"sbp{os.getpid()}"
    for what, make, remove in (
        ("network namespaces", ("netns", "add", name), ("netns", "delete", name)),
        (
            "TAP interfaces",
            ("tuntap", "add", "mode", "tap", "name", name),
            ("link", "delete", name),
        ),
    ):
        made = subprocess.run(["ip", *make], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            return f"{what} are not allowed: {made.stderr.strip()}"
        subprocess.run(["ip", *remove], check=True)
    return None


def skipped(tree: Path) -> dict[str, list[str]]:
    """Test files with tests that this machine cannot run, by what it lacks."""
    missing: dict[str, list[str]] = {}
    for file in sorted(tree.glob("*/tests/**/test_*.py")):
        marks = "".join(_MARK.findall(file.read_text()))
        for need in sorted(set(re.findall(r'"([\w-]+)"', marks))):
            why = _no_labs() if need == LABS else need if _is_missing(need) else None
            if why is not None:
                missing.setdefault(why, []).append(file.name)
    return missing


_MARK = re.compile(r"mark\.needs\(([^)]*)\)")


def main() -> None:
    """Prints what this machine lacks and which tests that skips; nothing if it has all."""
    for need, files in skipped(Path(__file__).parents[3]).items():
        how = {True: " (make setup-all)", False: " (make setup-system)"}
        named = {*PACKAGES, *PROGRAMS, *FILES}
        lacks = f"no {need}{how[need in PACKAGES]}" if need in named else need
        print(f"{lacks}: skips tests of {', '.join(files)}")


if __name__ == "__main__":
    main()
