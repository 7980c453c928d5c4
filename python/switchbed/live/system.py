"""The commands of iproute2, and files of the system."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from switchbed._native import Mistake

PACKAGES = {
    "ip": "iproute2",
    "clang": "clang libbpf-dev",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
"""Packages of programs that have another name."""
STALLED_S = 10.0
"""How long a process that is waited for may do nothing at all."""
MOST_S = 60.0
"""How long it is waited for, on a machine as slow as any."""
LOOKS_EVERY_S = 0.5


def run(
    command: Sequence[str], *, text: str | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Runs a command to its end; what it complains of becomes the message."""
    need(command[0])
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        # One line, as messages are.
        complaint = " ".join((done.stderr or done.stdout).split())
        raise OSError(done.returncode, f"{' '.join(command)}: {complaint}")
    return done.stdout


def line_of(process: "subprocess.Popen[str]", pipe: IO[str], whose: str) -> str:
    """The next line of a process that says one at a time; empty at its end."""
    _wait_for(pipe.fileno(), process.pid, whose)
    return pipe.readline()


def end_of(process: "subprocess.Popen[str]", whose: str) -> None:
    """Waits until it has ended."""
    descriptor = os.pidfd_open(process.pid)
    try:
        _wait_for(descriptor, process.pid, whose)
    finally:
        os.close(descriptor)
    process.wait()


def _wait_for(descriptor: int, pid: int, whose: str) -> None:
    """Until it can be read. A process that is starved does a little, and one that hangs nothing."""
    begin = since = time.monotonic()
    worked = -1
    # Looks at the process in between: waiting in `readline` could last for ever.
    while not select.select([descriptor], [], [], LOOKS_EVERY_S)[0]:
        now, before = time.monotonic(), worked
        worked = _worked(pid)
        if worked != before:
            since = now
        if now - since > STALLED_S or now - begin > MOST_S:
            raise OSError(
                0,
                f"{whose} has not answered or ended in {now - begin:.1f} s, and has done nothing "
                f"in the last {now - since:.1f} s",
            )


def _worked(pid: int) -> int:
    """Ticks of processor time that a process has had (proc(5))."""
    # Behind the name, which may have blanks; fields 14 and 15 are user and system time.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def need(program: str) -> None:
    """Refuses to go on without it."""
    if shutil.which(program) is None:
        raise Mistake(f"{program} is missing: apt-get install {PACKAGES.get(program, program)}")


def ip(*words: str, netns: str | None = None) -> str:
    """`ip`, in a namespace if one is named."""
    return run(["ip", *(["-n", netns] if netns else []), *words])


def ip_batch(lines: Iterable[str], *, netns: str | None = None) -> None:
    """Many `ip` commands by one process; the first that fails ends it."""
    text = "".join(f"{line}\n" for line in lines)
    run(["ip", *(["-n", netns] if netns else []), "-batch", "-"], text=text)


def ip_json(*words: str, netns: str | None = None) -> list[dict[str, Any]]:
    """Return the output of `ip -json`."""
    text = ip("-json", "-details", *words, netns=netns).strip()
    found: list[dict[str, Any]] = json.loads(text) if text else []
    # `ip` prints `{}` for interfaces that a filter leaves out.
    return [entry for entry in found if entry]


def namespaces() -> dict[str, int | None]:
    """Named network namespaces, and the numbers by which interfaces here refer to them."""
    return {entry["name"]: entry.get("id") for entry in ip_json("netns", "list")}


def runtime_folder() -> Path:
    """Where sockets and the state of labs are: gone after a reboot."""
    if os.geteuid() == 0:
        return Path("/run/switchbed")
    own = Path(tempfile.gettempdir(), f"switchbed-{os.getuid()}")
    return Path(os.environ.get("XDG_RUNTIME_DIR", own)) / "switchbed"


def make_runtime_folder() -> Path:
    """Make the runtime folder if it is missing. Only its owner may write there."""
    folder = runtime_folder()
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    # A folder in /tmp may have been made by somebody else.
    if folder.stat().st_uid != os.geteuid():
        raise Mistake(f"{folder}: belongs to another user; name a socket elsewhere")
    return folder
