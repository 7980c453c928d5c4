"""Fills the disk under a sweep and under a run: with room for no page, for one, for two, … until it
has enough, and the same by files instead of pages. Each time it must say so in one line and exit
with 2; with room again the same command must end with the same store, and a result directory that
was to be replaced must be as it was. As root, or where user namespaces are allowed: the disk is a
tmpfs of a mount namespace. `make validate` runs it.

    python -m evidence.robustness.full_disk [EVERY]    every so many pages and files (1)
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from evidence.robustness.damage import COMPARE, SCENARIO
from evidence.robustness.in_process import Done, contents, switchbed

MODULE = "evidence.robustness.full_disk"
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
INSIDE = "SWITCHBED_FULL_DISK"


def possible() -> bool:
    """Whether this user may mount a file system of his own."""
    attempt = [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return subprocess.run(attempt, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _mount(options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", "disk"], check=True)


def _leave(pages: int | None, files: int | None) -> None:
    """So much room beside what is there, or as much as could ever be needed."""
    now = os.statvfs("disk")
    size = 64 << 20 if pages is None else (now.f_blocks - now.f_bfree + pages) * now.f_frsize
    inodes = 10_000 if files is None else now.f_files - now.f_ffree + files
    _mount(f"size={size},nr_inodes={inodes}")


def fill(
    prepare: Callable[[], None], work: Callable[[], Done], again: Callable[[], None], every: int
) -> int:
    """Does the work with ever more room, until there is enough. Returns how often there was not."""
    full = 0
    for by_files in (False, True):
        for number in range(1, 100_000, every):
            _leave(None, None)
            for path in Path("disk").iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            prepare()
            _leave(None, number) if by_files else _leave(number, None)
            done = work()
            _leave(None, None)
            what = f"room for {number} {'files' if by_files else 'pages'}"
            faults = done.faults()
            if done.code == 2 and "No space left on device; make room" not in done.err:
                faults.append("does not say that the disk is full")
            assert not faults, f"{what}: {faults}: {done.err}"
            assert done.code in (0, 2), f"{what}: exit code {done.code}"
            try:
                again()
            except AssertionError as error:
                raise AssertionError(f"{what}: {error}") from error
            if done.code == 0:
                break
            full += 1
    return full


def main(arguments: list[str]) -> int:
    """In a namespace of its own, all of it."""
    if INSIDE not in os.environ:
        if not possible():
            print("full_disk: skipped: needs root, or user namespaces, to mount a tmpfs")
            return 0
        words = [*NAMESPACE, sys.executable, "-m", MODULE, *arguments]
        return subprocess.run(words, env=os.environ | {INSIDE: "1"}, check=False).returncode
    every = int(arguments[0]) if arguments else 1
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)
        Path("disk").mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "disk"], check=True)
        try:
            swept, ran = _sweeps(every), _runs(every)
        finally:
            os.chdir("/")
            subprocess.run(["umount", f"{temporary}/disk"], check=True)
    print(
        f"{swept} sweeps and {ran} runs on a disk that was full: each said so in a line, no store "
        "or result was other than without"
    )
    return 0


def _sweeps(every: int) -> int:
    Path("all.toml").write_text(SCENARIO + COMPARE)
    words = ("sweep", "all.toml", "--jobs", "1")
    assert switchbed(*words, "--store", "whole").code == 0
    wanted = contents(Path("whole"))

    def again() -> None:
        done = switchbed(*words, "--store", "disk/store")
        assert done.code == 0, done.err
        assert contents(Path("disk/store")) == wanted, "the store is another one"
        assert not list(Path("disk/store/.drafts").iterdir()), "drafts are left"
        sql = "select count(*) as n, count(distinct run) as runs from runs"
        found = switchbed("query", sql, "--store", "disk/store", "--csv").out
        assert found == "n,runs\n4,4\n", found

    return fill(lambda: None, lambda: switchbed(*words, "--store", "disk/store"), again, every)


def _runs(every: int) -> int:
    """Results that replace others, and the same as JSON."""
    Path("one.toml").write_text(SCENARIO)
    words = ("run", "one.toml", "--json", "disk/out.json", "--out")
    assert switchbed("run", "one.toml", "--out", "old", "--seed", "7").code == 0
    assert switchbed("run", "one.toml", "--out", "new").code == 0
    old, new = contents(Path("old")), contents(Path("new"))

    def prepare() -> None:
        shutil.copytree("old", "disk/out")

    def again() -> None:
        assert contents(Path("disk/out")) in (old, new), "what is there is neither old nor new"
        assert {path.name for path in Path("disk").iterdir()} <= {"out", "out.json"}
        if Path("disk/out.json").exists():
            json.loads(Path("disk/out.json").read_text())
        done = switchbed(*words, "disk/out", "--force")
        assert done.code == 0, done.err
        assert contents(Path("disk/out")) == new

    return fill(prepare, lambda: switchbed(*words, "disk/out", "--force"), again, every)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
