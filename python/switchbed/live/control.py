"""The other side of a live switch's control socket (`crates/live/src/control.rs`)."""

import json
import socket
from pathlib import Path
from typing import Any

from switchbed._native import Mistake
from switchbed.live import system
from switchbed.terminal import say

ANSWER_S = 10.0
"""How long a switch may take to answer: it is stopped, or starved, if it takes longer."""
PIECE = 1 << 16


def ask(path: Path, what: str, argument: object = None) -> Any:
    """Return the answer of the switch at this socket. A refusal raises `Mistake`; its remarks go to
    the terminal. Each request has a connection of its own, since the switch disconnects silent
    clients."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        return _asked(stream, path, what, argument)


def begin(path: Path, what: str, argument: object = None) -> socket.socket:
    """Return the connection on which the switch has said yes and sends more."""
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _asked(stream, path, what, argument)
    except BaseException:
        stream.close()
        raise
    return stream


def _asked(stream: socket.socket, path: Path, what: str, argument: object) -> Any:
    stream.settimeout(ANSWER_S)
    line = bytearray()
    try:
        stream.connect(str(path))
        stream.sendall(json.dumps({what: argument}).encode() + b"\n")
        # To the end of the line and no further: what follows is not of the answer.
        while not line.endswith(b"\n"):
            ahead = stream.recv(PIECE, socket.MSG_PEEK)
            if not ahead:
                raise Mistake("the switch has ended")
            line += stream.recv(ahead.find(b"\n") + 1 or len(ahead))
    except OSError as error:
        raise Mistake(f"no switch answers at {path}: {error.strerror or error}") from error
    answer = json.loads(line)
    if "error" in answer:
        raise Mistake(answer["error"])
    for note in answer.get("notes", ()):
        say(f"switchbed: {note}", err=True)
    return answer["ok"]


def stats(path: Path) -> dict[str, Any]:
    """Return the counters and state of the switch."""
    found: dict[str, Any] = ask(path, "stats")
    return found


def find(path: Path | None) -> Path:
    """The socket that was named, or that of the only switch there is."""
    if path is not None:
        return path
    folder = system.runtime_folder()
    found = sorted(folder.glob("*.sock"))
    match found:
        case [one]:
            return one
        case []:
            raise Mistake(f"no switch runs: there is no socket in {folder}")
        case _:
            raise Mistake(f"several switches run: name one of {', '.join(map(str, found))}")
