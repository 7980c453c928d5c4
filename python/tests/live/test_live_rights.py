"""What is left to a live switch that runs: its open devices, and nothing else of root's."""

import json
import os
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from live_switch import SWITCH, ended, holders, ip, namespaces, process, running, tap, transfer
from progress import wait_for

__all__ = ["namespaces"]
pytestmark = pytest.mark.needs("namespaces")

ATTEMPTS = """
    import ctypes, mmap, os, pathlib, signal, socket, subprocess, sys, threading
    from switchbed import _native
    kept = open(sys.argv[1], "w")
    said = _native.confine()
    def fails(what, attempt):
        try:
            attempt()
        except OSError:
            return
        print("succeeded:", what)
    fails("root's files", lambda: pathlib.Path(sys.argv[2]).read_text())
    fails("new files in root's folders", lambda: pathlib.Path(sys.argv[2] + "2").write_text(""))
    fails("files removed from root's folders", lambda: os.unlink(sys.argv[1]))
    fails("a socket", lambda: socket.socket())
    fails("a packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
    fails("a program", lambda: subprocess.run(["/bin/true"]))
    fails("a process", os.fork)
    fails("a signal", lambda: os.kill(os.getppid(), 0))
    fails("root again", lambda: os.setuid(0))
    code = mmap.PROT_READ | mmap.PROT_EXEC
    fails("memory to execute", lambda: mmap.mmap(-1, 4096, prot=code))
    kept.write("what was open stays open")
    kept.close()
    thread = threading.Thread(target=lambda: print("a thread runs"))
    thread.start()
    thread.join()
    print(said)
"""


def test_nothing_of_roots_is_left_but_what_is_open(tmp_path: Path) -> None:
    kept, secret = tmp_path / "kept", tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    words = [sys.executable, "-c", textwrap.dedent(ATTEMPTS), str(kept), str(secret)]
    code, said = ended(words)
    assert (code, said.splitlines()) == (0, ["a thread runs", "as nobody, system calls filtered"])
    assert kept.read_text() == "what was open stays open"


REMOVES = """
    import mmap, os, pathlib, signal, socket, subprocess, sys
    from switchbed import _native
    socket_, secret = map(pathlib.Path, sys.argv[1:])
    attempts = {
        "files": lambda: open(secret),
        "new files": lambda: open(str(secret) + "2", "w"),
        "a socket": socket.socket,
        "a program": lambda: os.execv("/bin/true", ["true"]),
        "a process": os.fork,
        "a signal": lambda: os.kill(os.getppid(), 0),
        "another owner": lambda: os.chown(secret, 1, 1),
        "another user": lambda: os.setuid(1),
        "memory to execute": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC),
    }
    ends, number = os.pipe()
    _native.confine_remover()
    succeeded = []
    for what, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        succeeded.append(what)
    os.close(number)
    os.read(ends, 1)
    if not succeeded and socket_.stat():
        socket_.unlink()
    os._exit(len(succeeded))
"""


def test_nothing_is_left_to_the_socket_s_remover_but_to_remove(tmp_path: Path) -> None:
    socket, secret = tmp_path / "socket", tmp_path / "secret"
    for path in (socket, secret):
        path.write_text("root's")
    words = [sys.executable, "-c", textwrap.dedent(REMOVES), str(socket), str(secret)]
    assert ended(words) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


EARLY = """
    import os, signal, sys
    from switchbed import _native, cli
    number, confine = int(sys.argv.pop()), _native.confine
    def told_to_end():
        os.kill(os.getpid(), number)
        return confine()
    _native.confine = told_to_end
    cli.main()
"""


def told_early(
    folder: Path, number: signal.Signals, *before: str, seconds: str = "60"
) -> dict[str, Any]:
    """What a switch has counted that had this signal before it began."""
    names = [f"e{os.getpid()}{letter}" for letter in "ab"]
    ports = "".join(f'[[port]]\nname = "{name}"\n' for name in names)
    (folder / "sw.toml").write_text(SWITCH + ports)
    words = ["live", "run", "sw.toml", "--socket", "sw.sock", "--out", "out", "--seconds", seconds]
    program = [*before, sys.executable, "-c", textwrap.dedent(EARLY), *words, str(int(number))]
    code, said = ended(program, folder)
    assert code == 0, said
    assert not (folder / "sw.sock").exists()
    stats: dict[str, Any] = json.loads((folder / "out" / "stats.json").read_text())
    return stats


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_first_frame_ends_it_in_order_too(
    tmp_path: Path, number: signal.Signals
) -> None:
    assert told_early(tmp_path, number)["time_s"] < 30


def test_a_switch_goes_on_that_is_to_ignore_the_end_of_a_terminal(tmp_path: Path) -> None:
    assert told_early(tmp_path, signal.SIGHUP, "nohup", seconds="0.7")["time_s"] > 0.6


def test_a_switch_without_roots_rights_does_all_its_work(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    pcap, out = tmp_path / "a.pcap", tmp_path / "out"
    tmp_path.chmod(0o700)
    # A label that must be shown otherwise: what that takes cannot be read any more.
    text = SWITCH.replace("[switch]", 'series_every = "5ms"\n[switch]')
    text = text.replace('name = "none"', 'name = "none"\nlabel = "\\u001b[1m"')
    text += tap(f"n{os.getpid()}a", namespaces[0], "10.0.0.1") + f'pcap = "{pcap}"\n'
    text += tap(f"n{os.getpid()}b", namespaces[1], "10.0.0.2")
    with running(command, tmp_path, text, "--out", str(out)) as socket:
        switch, remover = sorted(holders(socket))
        confined = {"NoNewPrivs": {"1"}, "Seccomp": {"2"}}
        assert status(switch) == {"Uid": {"65534"}} | confined
        # It waits for the other's end with nothing else open.
        wait_for(
            lambda: [path.name for path in Path(f"/proc/{remover}/fd").iterdir()],
            lambda names: len(names) == 1,
        )
        wait_for(lambda: status(remover), lambda seen: seen == {"Uid": {"0"}} | confined)
        transfer(namespaces[0], namespaces[1], "10.0.0.2")
        switchbed(
            "live", "set", "scheme=per-queue", "scheme.params.threshold=9KB", "--socket", socket
        )
        assert '"per-queue"' in switchbed("live", "show", "--socket", socket).stdout
    assert not socket.exists()
    assert pcap.stat().st_size > 2_000_000
    assert {path.name for path in out.iterdir()} == {"live.json", "stats.json", "series.parquet"}


def status(pid: int) -> dict[str, set[str]]:
    """Of every thread of a process."""
    found: dict[str, set[str]] = {}
    for path in Path(f"/proc/{pid}/task").glob("*/status"):
        fields = dict(line.split(":", 1) for line in path.read_text().splitlines())
        for name in ("Uid", "NoNewPrivs", "Seccomp"):
            found.setdefault(name, set()).update(fields[name].split())
    return found


def test_a_killed_switch_leaves_no_socket(
    tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    file, socket = tmp_path / "sw.toml", tmp_path / "sw.sock"
    names = [f"k{os.getpid()}{letter}" for letter in "ab"]
    file.write_text(SWITCH + "".join(f'[[port]]\nname = "{name}"\n' for name in names))
    words = [*command, "live", "run", str(file), "--socket", str(socket)]
    with process(words) as switch:
        switch.wait_for(" ports, ")
        assert socket.exists()
        switch.process.kill()
    wait_for(socket.exists, lambda left: not left)
    assert names[0] not in ip("link", "show")
