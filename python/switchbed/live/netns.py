"""Namespaces and processes of labs, and their removal however the lab ended.

A lab has a folder under `/run/switchbed/labs`. Before it makes anything else it writes down there
a random mark, which all that it makes bears from its first moment: namespaces as the alias of
their loopback, set before they get a name, and processes in their environment. So `clean` finds
all of it after a crash or `kill -9`, and touches nothing that somebody else made under the same
name. TAP interfaces need no cleaning: the kernel removes them with the process that holds them.
"""

import fcntl
import json
import os
import re
import secrets
import select
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from switchbed._native import Mistake
from switchbed.live import system
from switchbed.terminal import say

PREFIX = "sb-"
"""Every namespace of a lab begins so."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")
"""Pattern of a lab's name, which becomes part of paths and of namespaces' names."""
VARIABLE = "SWITCHBED_LAB"
"""In the environment of a lab's processes: its mark."""
END_S = 10.0
"""How long killed processes may take to be gone."""
NAMED = Path("/run/netns")
"""Where iproute2 keeps the names of namespaces."""
# The namespace has its mark before its name; iproute2 refuses a name in use.
MAKE = 'ip link set dev lo up alias "$1" && exec ip netns attach "$2" $$'


@dataclass(frozen=True)
class Lab:
    """Namespaces, processes and files of a lab."""

    name: str
    mark: str
    owner: int
    """The process that runs it."""
    owner_started: int
    """When that began, in clock ticks since boot: a number may be used again."""
    namespaces: list[str]

    @property
    def folder(self) -> Path:
        """Folder for files of a running lab."""
        return _folder() / self.name

    @property
    def socket(self) -> Path:
        """Control socket of the lab's switch."""
        return self.folder / "socket"

    @property
    def link(self) -> Path:
        """Where those who look for a switch find the socket."""
        return system.runtime_folder() / f"lab-{self.name}.sock"

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the lab's processes."""
        return os.environ | {VARIABLE: self.mark}

    def runs(self) -> bool:
        """Whether its owner is alive."""
        return _started(self.owner) == self.owner_started


@contextmanager
def lab(name: str, hosts: int) -> Iterator[Lab]:
    """A lab of so many hosts, with a namespace each; refuses a name in use. All of it is removed
    in the end."""
    pid = os.getpid()
    namespaces = _namespaces(name, hosts)
    made = Lab(name, secrets.token_hex(16), pid, _started(pid) or 0, namespaces)
    try:
        _begin(made)
        for netns in namespaces:
            _make(netns, made)
        yield made
    finally:
        try:
            _finish(made)
        # Ctrl-C during the removal: once more, to its end.
        except KeyboardInterrupt:
            _finish(made)
            raise


def check(name: str, what: str) -> None:
    """Refuses what is no name for a lab."""
    if not NAME.fullmatch(name):
        raise Mistake(
            f"{what} is {name!r}: it has 1 to 48 letters, digits, -, _ or . and begins with a "
            f"letter or digit: give another by --name"
        )


def check_free(name: str, hosts: int) -> None:
    """Refuses a name in use; a lab's that has ended is not."""
    old = _read(_folder() / name)
    if old is not None and old.runs():
        raise Mistake(
            f"lab {name} runs already (process {old.owner}): choose another --name, or end it"
        )
    for netns in _namespaces(name, hosts):
        # Left over by this lab: removed at its beginning.
        left = old and (_is_marked(netns, old.mark) or _is_unattached(netns))
        if os.path.lexists(NAMED / netns) and not left:
            raise Mistake(
                f"there is a network namespace {netns} already, which is not this lab's: "
                f"choose another --name, or: ip netns delete {netns}"
            )


def clean(*, all_labs: bool) -> tuple[list[str], list[str]]:
    """Removes what labs that have ended left, or all labs; names those removed and those
    that run and were kept."""
    removed: list[str] = []
    kept: list[str] = []
    # Labs beginning meanwhile would look like left ones.
    with _alone():
        for folder in sorted(_folder().iterdir()):
            found = _read(folder)
            if found is None:
                if not _remove_unbegun(folder):
                    say(f"switchbed: {folder}: is no lab's; left", err=True)
                continue
            if found.runs() and not all_labs:
                kept.append(found.name)
                continue
            # The owner first, or it would make new processes.
            _kill(found.owner, found.runs)
            _remove(found)
            removed.append(found.name)
    with suppress(OSError):
        _folder().parent.rmdir()
    return removed, kept


def _begin(lab: Lab) -> None:
    with _alone():
        check_free(lab.name, len(lab.namespaces))
        old = _read(lab.folder)
        if old is not None:
            _remove(old)
        elif not _remove_unbegun(lab.folder):
            raise Mistake(f"{lab.folder}: is no lab's: remove it, or choose another --name")
        # `lexists`: a dangling link is in the way as well.
        if os.path.lexists(lab.link):
            raise Mistake(f"{lab.link}: exists and is not this lab's: choose another --name")
        lab.folder.mkdir(mode=0o700)
        (lab.folder / "lab.json").write_text(json.dumps(asdict(lab)))
        lab.link.symlink_to(lab.socket)


def _make(netns: str, lab: Lab) -> None:
    words = ["unshare", "--net", "sh", "-ec", MAKE, "sh", lab.mark, netns]
    try:
        system.run(words, environment=lab.environment)
    except OSError as error:
        complaint = str(error.strerror).removeprefix(" ".join(words) + ": ")
        raise Mistake(f"the network namespace {netns} cannot be made: {complaint}") from error


def _finish(lab: Lab) -> None:
    """Removes it, if it was begun."""
    with _alone():
        # Another lab may have the name by now.
        if _read(lab.folder) == lab:
            _remove(lab)


def _remove(lab: Lab) -> None:
    """Ends its processes, and removes its namespaces, then its files. What is gone already is no
    error."""
    # Processes before namespaces: these last as long as a process is in them.
    _end_processes(lab.mark)
    for netns in lab.namespaces:
        if _is_marked(netns, lab.mark):
            system.ip("netns", "delete", netns)
        elif _is_unattached(netns):
            (NAMED / netns).unlink()
    if lab.link.is_symlink() and lab.link.readlink() == lab.socket:
        lab.link.unlink()
    # The file that says that the folder is a lab's goes last.
    for path in lab.folder.iterdir():
        if path.name != "lab.json":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(True)
    shutil.rmtree(lab.folder)


def _is_marked(netns: str, mark: str) -> bool:
    if not (NAMED / netns).exists():
        return False
    try:
        (loopback,) = system.ip_json("link", "show", "dev", "lo", netns=netns)
    except OSError:
        return False  # no namespace
    return loopback.get("ifalias") == mark


def _is_unattached(netns: str) -> bool:
    """Whether it is what `ip netns attach` leaves that is killed before it attaches: an empty file
    that nobody may read, and no namespace."""
    try:
        found = (NAMED / netns).lstat()
    except FileNotFoundError:
        return False
    return found.st_mode == stat.S_IFREG and found.st_size == 0


def _remove_unbegun(folder: Path) -> bool:
    """Removes the folder of a lab that was killed before it had made anything; whether there is
    nothing any more."""
    if not os.path.lexists(folder):
        return True
    if folder.is_symlink() or not folder.is_dir():
        return False
    left = list(folder.iterdir())
    if any(path.name != "lab.json" or path.lstat().st_size > 0 for path in left):
        return False
    shutil.rmtree(folder)
    return True


def _namespaces(name: str, hosts: int) -> list[str]:
    return [f"{PREFIX}{name}-h{i}" for i in range(hosts)]


def _folder() -> Path:
    return system.runtime_folder() / "labs"


@contextmanager
def _alone() -> Iterator[None]:
    """While no other process begins or removes a lab. A folder of none is removed."""
    folder = _folder()
    while True:
        system.make_runtime_folder()
        try:
            folder.mkdir(exist_ok=True)
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue  # removed meanwhile, as below
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # The folder may have been removed and made anew between opening and locking.
            if not (folder.exists() and os.path.samestat(os.fstat(lock), folder.stat())):
                continue
            try:
                yield
            finally:
                with suppress(OSError):
                    folder.rmdir()
            return
        finally:
            os.close(lock)


def _read(folder: Path) -> Lab | None:
    try:
        return Lab(**json.loads((folder / "lab.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _end_processes(mark: str) -> None:
    """Kills all that bear the mark, until none is seen twice: a process that is just being started
    bears nothing for a moment."""
    wanted = f"{VARIABLE}={mark}".encode()

    def ours(pid: int) -> bool:
        try:
            return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False

    until, clear = time.monotonic() + END_S, 0
    while clear < 2:
        found = [pid for pid in _processes() if ours(pid)]
        for pid in found:
            _kill(pid, partial(ours, pid))
        clear = 0 if found else clear + 1
        if found and time.monotonic() > until:
            raise OSError(0, f"process {found[0]} of a lab does not end")
        time.sleep(0.01)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _started(pid: int) -> int | None:
    """When a process began; None if there is none (or only its shell: a zombie)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # Fields are counted behind the name, which may have blanks and parentheses (proc(5)).
    fields = text.rpartition(")")[2].split()
    # Field 22, starttime, is the 20th behind the name.
    return None if fields[0] == "Z" else int(fields[19])


def _kill(pid: int, is_it: Callable[[], bool]) -> None:
    """Kills a process if it is the one that is meant, and not a later one of its number. It has
    ended then, or takes long."""
    try:
        # A descriptor of the process: its number cannot pass to another one meanwhile.
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if is_it():
            signal.pidfd_send_signal(process, signal.SIGKILL)
            select.select([process], [], [], END_S)
    except ProcessLookupError:
        return
    finally:
        os.close(process)
