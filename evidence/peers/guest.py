"""A guest with Debian's kernel under qemu: what a run of commands in it prints."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from evidence.peers import simulators
from switchbed._native import Mistake

KERNEL = simulators.WORK / "kernel"
"""What Debian's package of a kernel unpacks to; `make setup-peers` puts it there."""
APPLETS = (
    *("sh", "mount", "insmod", "poweroff", "echo", "sleep", "seq", "printf"),
    *("mkdir", "mkfifo", "nsenter", "rm"),
)


def kernel() -> Path:
    """The kernel's image."""
    found = sorted(KERNEL.glob("boot/vmlinuz-*"))
    if not found or not shutil.which("qemu-system-x86_64") or not shutil.which("busybox"):
        raise Mistake(
            "Linux's disciplines need qemu-system-x86, busybox-static and Debian's kernel in "
            f"{KERNEL}: `make setup-peers` (as root) installs them"
        )
    return found[-1]


def run(modules: Sequence[str], files: Mapping[str, Path], init: str, *machine: str) -> str:
    """What is printed by the shell script `init`, which has `ip` and `tc`, the modules in /m
    and the files in /; then the guest ends."""
    image = kernel()
    archive = _pack(image.name.removeprefix("vmlinuz-"), modules, files, init)
    done = subprocess.run(
        [
            *("qemu-system-x86_64", "-accel", "tcg", *machine, "-cpu", "max", "-m", "512"),
            *("-nographic", "-no-reboot", "-kernel", str(image), "-initrd", str(archive)),
            *("-append", "console=ttyS0 quiet panic=-1 mitigations=off"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _pack(version: str, modules: Sequence[str], files: Mapping[str, Path], init: str) -> Path:
    root = simulators.WORK / "guest"
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "sbin", "proc", "sys", "dev", "m"):
        (root / folder).mkdir(parents=True)
    shutil.copy(str(shutil.which("busybox")), root / "bin/busybox")
    for name in APPLETS:
        (root / "bin" / name).symlink_to("busybox")
    for name in ("tc", "ip"):
        program = Path(str(shutil.which(name)))
        shutil.copy(program, root / "sbin" / name)
        _libraries(program, root)
    for module in modules:
        (found,) = (KERNEL / "lib/modules" / version / "kernel").glob(f"{module}.ko")
        shutil.copy(found, root / "m")
    for name, source in files.items():
        shutil.copy(source, root / name)
        _libraries(source, root)
    (root / "init").write_text(f"{init}poweroff -f\n")
    (root / "init").chmod(0o755)
    archive = simulators.WORK / "guest.cpio"
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with archive.open("wb") as into:
        pack = ["busybox", "cpio", "-o", "-H", "newc"]
        subprocess.run(pack, cwd=root, input=names.encode(), stdout=into, check=True)
    return archive


def _libraries(program: Path, root: Path) -> None:
    """Copies the libraries of a program; a static one, or a list, has none."""
    needs = subprocess.run(["ldd", str(program)], check=False, capture_output=True, text=True)
    for library in re.findall(r"(/\S+) \(0x", needs.stdout):
        target = root / library.removeprefix("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
