"""The other side of a live switch's control socket (`crates/live/src/control.rs`)."""

import json
import socket
from pathlib import Path
from typing import Any, Self

from switchbed._native import Mistake
from switchbed.live import system


class Client:
    """A connection to a switch that runs."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise Mistake(f"no switch answers at {path}: {error.strerror}") from error
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def ask(self, what: str, argument: object = None) -> Any:
        """The answer; what the switch refuses is a `Mistake`."""
        self._socket.sendall(json.dumps({what: argument}).encode() + b"\n")
        line = self._lines.readline()
        if not line:
            raise Mistake("the switch has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise Mistake(answer["error"])
        return answer["ok"]

    def stats(self) -> dict[str, Any]:
        """What the switch has done and how it is."""
        found: dict[str, Any] = self.ask("stats")
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
