"""The network namespaces of labs, and their removal whatever became of the lab.

What a lab makes is written down before it is made, in a file under `/run/switchbed/labs`; so
`clean` finds it after a crash or `kill -9`. TAP interfaces need no cleaning: the kernel removes
them with the process that holds them.
"""

import json
import os
import signal
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from switchbed._native import Mistake
from switchbed.live import system

PREFIX = "sb-"
"""Every namespace of a lab begins so."""


@dataclass
class Lab:
    """What a lab has made, or is about to make."""

    name: str
    owner: int
    """The process that runs it."""
    owner_started: int
    """When that began, in clock ticks since boot: a number may be used again."""
    namespaces: list[str] = field(default_factory=list)
    processes: list[tuple[int, int]] = field(default_factory=list)
    """Number and start of processes outside of the namespaces: the switch."""
    socket: str = ""

    @property
    def path(self) -> Path:
        """Its file."""
        return _folder() / f"{self.name}.json"

    def save(self) -> None:
        """Writes it down."""
        draft = self.path.with_suffix(".partial")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(self.path)

    def runs(self) -> bool:
        """Whether its owner is alive."""
        return _started(self.owner) == self.owner_started

    def remove(self) -> None:
        """Ends its processes, removes its namespaces, then its file. What is gone already
        is no error."""
        for number, begin in self.processes:
            if _started(number) == begin:
                _kill(number)
        present = system.namespaces()
        for netns in self.namespaces:
            if netns in present:
                for pid in system.run(["ip", "netns", "pids", netns]).split():
                    _kill(int(pid))
                system.ip("netns", "delete", netns)
        if self.socket:
            Path(self.socket).unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def begin(name: str, hosts: int, socket: Path) -> Lab:
    """Writes down a new lab of so many hosts; refuses a name in use."""
    (system.make_runtime_folder() / "labs").mkdir(exist_ok=True)
    old = _read(_folder() / f"{name}.json")
    if old is not None:
        if old.runs():
            raise Mistake(
                f"lab {name} runs already (process {old.owner}): choose another --name, or end it"
            )
        old.remove()
    pid = os.getpid()
    namespaces = [f"{PREFIX}{name}-h{i}" for i in range(hosts)]
    lab = Lab(name, pid, _started(pid) or 0, namespaces, socket=str(socket))
    lab.save()
    return lab


def started(pid: int) -> tuple[int, int]:
    """A process as a lab's file names it."""
    return pid, _started(pid) or 0


def clean(*, all_labs: bool) -> tuple[list[str], list[str]]:
    """Removes what labs that have ended left, or all labs; names those removed and those
    that run and were kept."""
    removed, kept = [], []
    for path in sorted(_folder().glob("*.json")):
        lab = _read(path)
        if lab is None:
            path.unlink(missing_ok=True)
            continue
        if lab.runs() and not all_labs:
            kept.append(lab.name)
            continue
        if lab.runs():
            _kill(lab.owner)
        lab.remove()
        removed.append(lab.name)
    return removed, kept


def _folder() -> Path:
    return system.runtime_folder() / "labs"


def _read(path: Path) -> Lab | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        found["processes"] = [tuple(process) for process in found["processes"]]
        return Lab(**found)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        print(f"switchbed: {path}: is no lab's file; ignored", file=sys.stderr)
        return None


def _started(pid: int) -> int | None:
    """When a process began; None if there is none (or only its shell: a zombie)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
