"""Kills a live lab again and again, at random moments of its life, and looks at what is left:
nothing of the lab, and everything of others. As root:

    python -m evidence.robustness.kill_labs [KILLS [SEED]]

That is, so many kills (20), with a seed for their moments.

It runs in network, process and mount namespaces of its own, with an empty `/run` that holds the
temporary folder too: there all that is can be compared. Half of the kills come while the lab makes
its namespaces and starts its switch, the others while the switch runs. SIGKILL, alone or to the
whole process group, is followed by `switchbed live lab clean`; after SIGINT and SIGTERM the lab
itself must leave nothing.

Others have namespaces, interfaces, processes and files with the lab's names. After every second
SIGKILL they also take a name of the dead lab for a namespace of theirs.
"""

import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MODULE = "evidence.robustness.kill_labs"
KILLS = 20
HOSTS = 3
NAME = "kills"
SCENARIO = f"""
[topology]
kind = "star"
hosts = {HOSTS}
rate = "100Mbps"
delay = "250us"
[switch]
buffer = "100pkt"
[scheme]
name = "none"
[[traffic]]
kind = "long-lived"
from = "0-1"
to = 2
[run]
until = "1s"
"""
SWITCHBED = [sys.executable, "-m", "switchbed"]
RUN = Path("/run")
NAMESPACES, TEMPORARY = RUN / "netns", RUN / "tmp"
SOCKET = RUN / "switchbed" / f"lab-{NAME}.sock"
INSIDE = "--inside"
HOW = [
    (signal.SIGTERM, False),
    (signal.SIGKILL, True),
    (signal.SIGKILL, False),
    (signal.SIGINT, True),
    (signal.SIGKILL, False),
]
"""The signals in turn, and whether they go to the lab's whole process group, as Ctrl-C does. An odd
number: each comes at both kinds of moments."""
World = dict[str, object]


def main(arguments: list[str]) -> int:
    """1 if anything was left or touched; 2 where it cannot run."""
    if INSIDE in arguments:
        return _kills(*(int(word) for word in arguments if word != INSIDE))
    if os.geteuid() != 0:
        print("kill_labs: labs need root", file=sys.stderr)
        return 2
    own = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return subprocess.call([*own, sys.executable, "-m", MODULE, INSIDE, *arguments])


def _kills(kills: int = KILLS, seed: int = 1) -> int:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(RUN)], check=True)
    TEMPORARY.mkdir()
    os.environ["TMPDIR"] = str(TEMPORARY)
    scenario = TEMPORARY / f"{NAME}.toml"
    scenario.write_text(SCENARIO)
    others = Others()
    before = _world()
    lab = _start(scenario)
    Moment(SOCKET, 0).wait(lab)
    begin = time.monotonic()
    ended = _end(lab)
    wrong = [] if ended == 0 else [f"undisturbed, it ended with {ended}"]
    wrong += _differences("undisturbed", before, _world())
    life = time.monotonic() - begin
    rng, dead, left = random.Random(seed), 0, 0
    for i in range(kills):
        how, group = HOW[i % len(HOW)]
        moment = _moment(i, kills, life, rng)
        lab = _start(scenario)
        moment.wait(lab)
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(lab.pid, how)
        ended = _end(lab)
        what = f"{i + 1}: {how.name}{' to all' if group else ''} {moment}: ended with {ended}"
        print(what, flush=True)
        if how == signal.SIGKILL:
            left += _world() != before
            expected = before | (others.take(f"sb-{NAME}-h0") if dead % 2 else {})
            dead += 1
            _clean()
            wrong += _differences(what, expected, _world())
            others.give_back()
        wrong += _differences(what, before, _world())
    others.go()
    _clean()
    wrong += [
        f"left in the end: {path}" for path in RUN.iterdir() if path not in (NAMESPACES, TEMPORARY)
    ]
    wrong = list(dict.fromkeys(wrong))
    for line in wrong:
        print(f"WRONG {line}")
    print(
        f"{kills} kills of a lab whose switch lives for {life:.1f} s: after {left} of {dead} "
        f"SIGKILLs there was something to clean; in the end {len(wrong)} left or touched"
    )
    return int(bool(wrong))


@dataclass(frozen=True)
class Moment:
    """When a kill comes."""

    path: Path
    """Once this is there,"""
    seconds: float
    """and so much later."""

    def __str__(self) -> str:
        return f"{self.seconds:.3f} s after {self.path.name}"

    def wait(self, lab: "subprocess.Popen[bytes]") -> None:
        """Waits for it, or for the lab's end."""
        while not self.path.exists() and lab.poll() is None:
            time.sleep(0.0005)
        with suppress(subprocess.TimeoutExpired):
            lab.wait(self.seconds)


def _moment(i: int, kills: int, life: float, rng: random.Random) -> Moment:
    """Every second one as the lab begins; the others each within a part of its own of the life that
    its switch has."""
    if i % 2:
        namespace = NAMESPACES / f"sb-{NAME}-h{rng.randrange(HOSTS)}"
        return Moment(namespace, rng.choice((0.0, 0.01, 0.1, 1.0)) * rng.random())
    return Moment(SOCKET, (i + 2 * rng.random()) / (kills + kills % 2) * life)


def _start(scenario: Path) -> "subprocess.Popen[bytes]":
    words = [*SWITCHBED, "live", "lab", "run", str(scenario)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)


def _end(lab: "subprocess.Popen[bytes]") -> int:
    """Waits for it; what it leaves behind has this process as its parent, here."""
    ended = lab.wait()
    _reap()
    return ended


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _clean() -> None:
    subprocess.run([*SWITCHBED, "live", "lab", "clean"], check=True, capture_output=True)
    _reap()


class Others:
    """Who has nothing to do with the lab, but names that look like it."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._folders = [RUN / "switchbed" / "labs", TEMPORARY / "switchbed-lab-x"]
        for folder in self._folders:
            folder.mkdir(parents=True)
            (folder / f"{NAME}.json").write_text("a file")
        (RUN / "switchbed" / f"lab-{NAME}.txt").write_text("another")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(RUN / "switchbed" / f"{NAME}.sock"))
        self._socket.listen()
        # One more than the lab's.
        self._take(f"sb-{NAME}-h{HOSTS}")
        _ip("link", "add", f"sb-{NAME}", "type", "veth", "peer", "name", "sb1h0")
        self._taken: str | None = None

    def _take(self, name: str) -> World:
        _ip("netns", "add", name)
        _ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
        words = ["ip", "netns", "exec", name, "sleep", "1000"]
        self._processes[name] = process = subprocess.Popen(words)
        while (running := _command(process.pid)) != "sleep 1000":
            time.sleep(0.001)
        return _namespace(name) | {f"process {process.pid}": running}

    def take(self, name: str) -> World:
        """Takes this name of the lab's, whether it is in use or not; what is there then."""
        if (NAMESPACES / name).exists():
            _ip("netns", "delete", name)
        self._taken = name
        return self._take(name)

    def give_back(self) -> None:
        """Gives back the name that was taken."""
        if self._taken is not None:
            self._release(self._taken)
            self._taken = None

    def _release(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait()
        with suppress(subprocess.CalledProcessError):  # it was taken away
            _ip("netns", "delete", name)

    def go(self) -> None:
        """Takes everything away."""
        for name in list(self._processes):
            self._release(name)
        with suppress(subprocess.CalledProcessError):
            _ip("link", "delete", f"sb-{NAME}")
        self._socket.close()
        for path in (RUN / "switchbed").glob("*"):
            if not path.is_dir():
                path.unlink()
        for folder in self._folders:
            (folder / f"{NAME}.json").unlink(missing_ok=True)


def _world() -> World:
    """All that there is."""
    found: World = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and (command := _command(int(path.name))) is not None:
            found[f"process {path.name}"] = command
    for entry in json.loads(_ip("-json", "link")):
        found[f"interface {entry['ifname']}"] = entry["ifindex"]
    if NAMESPACES.exists():
        for path in NAMESPACES.iterdir():
            found |= _namespace(path.name)
    for path in RUN.rglob("*"):
        if NAMESPACES not in (path, path.parent):
            found[f"file {path}"] = _content(path)
    sockets = Path("/proc/net/unix").read_text().splitlines()
    return found | {f"socket {line.split()[7]}": 1 for line in sockets if "/" in line}


def _namespace(name: str) -> World:
    """What there is of it."""
    links = [entry["ifname"] for entry in json.loads(_ip("-n", name, "-json", "link"))]
    return {f"namespace {name}": ((NAMESPACES / name).stat().st_ino, links)}


def _content(path: Path) -> object:
    if path.is_symlink():
        return path.readlink()
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no plain file"


def _command(pid: int) -> str | None:
    """What a process runs; None if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ").strip() or None
    except OSError:
        return None


def _differences(when: str, expected: World, found: World) -> list[str]:
    return [
        f"{when}: {key}: {expected.get(key, 'nothing')} is now {found.get(key, 'nothing')}"
        for key in sorted(expected.keys() | found.keys())
        if expected.get(key) != found.get(key)
    ]


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
