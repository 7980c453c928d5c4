"""DCTCP senders on kernels without: `dctcp.bpf.c`, compiled here and handed to the kernel, which
runs it as BPF struct_ops under the name `sb_dctcp`. It stays until `unload` or a reboot."""

import platform
import tempfile
from pathlib import Path

from switchbed._native import Mistake
from switchbed.live import system

NAME = "sb_dctcp"
SOURCE = Path(__file__).with_name("dctcp.bpf.c")
TYPES = Path("/sys/kernel/btf/vmlinux")
PACKAGES = "clang libbpf-dev bpftool"


def available() -> list[str]:
    """The congestion controls that the kernel has."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def load() -> bool:
    """Compiles and registers it; False if it was there."""
    if NAME in available():
        return False
    if not TYPES.exists():
        raise Mistake(f"{TYPES} is missing: this kernel was built without CONFIG_DEBUG_INFO_BTF")
    with tempfile.TemporaryDirectory(prefix="switchbed-bpf-") as folder:
        compiled = Path(folder, "dctcp.o")
        # The headers of the machine's own architecture are asked for by name for BPF's.
        headers = f"/usr/include/{platform.machine()}-linux-gnu"
        flags = ["-O2", "-g", "-Wall", "-target", "bpf", "-I", headers]
        system.run(["clang", *flags, "-c", str(SOURCE), "-o", str(compiled)])
        system.run(["bpftool", "struct_ops", "register", str(compiled)])
    if NAME not in available():
        raise Mistake(f"the kernel took {NAME} and does not list it")
    return True


def unload() -> bool:
    """Removes it; False if it was not there. Connections that use it keep it to their end."""
    if NAME not in available():
        return False
    try:
        system.run(["bpftool", "struct_ops", "unregister", "name", NAME])
    except OSError:
        # One that was unloaded before may still be on its way out under the same name.
        if NAME in available():
            raise
    return True
