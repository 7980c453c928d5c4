"""The commands of iproute2, and files of the system."""

import json
import os
import select
import shutil
import subprocess
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
"""Of programs that have another name."""


def run(
    command: Sequence[str], *, text: str | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Runs a command to its end; what it complains of becomes the message."""
    need(command[0])
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        complaint = " ".join((done.stderr or done.stdout).split())
        raise OSError(done.returncode, f"{' '.join(command)}: {complaint}")
    return done.stdout


def line_of(pipe: IO[str], most_s: float, whose: str) -> str:
    """The next line of a process that says one at a time; empty at its end."""
    if not select.select([pipe], [], [], most_s)[0]:
        raise OSError(0, f"{whose} has said nothing for {most_s:g} s")
    return pipe.readline()


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
    """What `ip -json` says."""
    text = ip("-json", "-details", *words, netns=netns).strip()
    found: list[dict[str, Any]] = json.loads(text) if text else []
    return [entry for entry in found if entry]


def namespaces() -> dict[str, int | None]:
    """Named network namespaces, and the numbers by which interfaces here refer to them."""
    return {entry["name"]: entry.get("id") for entry in ip_json("netns", "list")}


def runtime_folder() -> Path:
    """Where sockets and the state of labs are: gone after a reboot."""
    if os.geteuid() == 0:
        return Path("/run/switchbed")
    return Path(os.environ.get("XDG_RUNTIME_DIR", f"/tmp/switchbed-{os.getuid()}")) / "switchbed"


def make_runtime_folder() -> Path:
    """The same, made if it is missing; only its owner may write there."""
    folder = runtime_folder()
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise Mistake(f"{folder}: belongs to another user; name a socket elsewhere")
    return folder
