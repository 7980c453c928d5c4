"""`switchbed live capture`: pcapng of a switch that runs, each frame with its port's decision as a
comment (`crates/live/src/capture.rs`).

The switch writes the blocks; whole ones alone go to the file, so that it is valid however the
capture ends."""

import os
import select
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import SHUT_WR, socket

from switchbed import files, signals
from switchbed._native import Mistake
from switchbed.live import control
from switchbed.options import STDOUT
from switchbed.terminal import say

STATISTICS, PACKET = 5, 6
"""Types of pcapng's blocks with an interface's statistics and with a packet."""
IF_DROP = 5
"""The option of statistics with the packets that were not captured."""
TURN_S = 0.1
"""A signal and the duration's end are noticed this soon."""
LAST_S = 5.0
"""How long the switch's last blocks, and whoever reads them, are waited for."""
AHEAD = 1 << 20
"""Bytes that wait for whoever reads; after that the switch counts what it cannot hand over."""


@dataclass(frozen=True)
class Request:
    """The command line of `switchbed live capture`."""

    out: str
    ports: tuple[str, ...] = ()
    direction: str | None = None
    count: int | None = None
    duration_s: float | None = None
    snaplen: int | None = None


def run(request: Request, switch: Path | None) -> None:
    """Captures until the count, the duration, a signal, or the end of the switch or of whoever
    reads."""
    if request.out == STDOUT and sys.stdout.isatty():
        raise Mistake("--out -: is a terminal; name a file, or add | wireshark -k -i -")
    asked = {
        "ports": request.ports,
        "way": request.direction,
        "snaplen": request.snaplen,
        "count": request.count,
    }
    path = control.find(switch)
    with closing(control.begin(path, "capture", asked)) as stream, _opened(request.out) as out:
        pump = _Pump(stream, out)
        where = "standard output" if request.out == STDOUT else request.out
        ports = ", ".join(request.ports) or "all ports"
        say(f"switchbed: capturing {ports} to {where}; Ctrl-C ends it", err=True)
        with files.writing(f"--out {where}"):
            try:
                _capture(pump, request.duration_s)
            except BrokenPipeError:
                pump.gone = True
        _report(pump, where)


def _capture(pump: "_Pump", duration_s: float | None) -> None:
    end = None if duration_s is None else time.monotonic() + duration_s
    try:
        while not pump.ended() and (end is None or time.monotonic() < end):
            # A signal between two turns leaves whole blocks.
            with signals.held():
                pump.turn(TURN_S if end is None else min(TURN_S, max(0, end - time.monotonic())))
    except KeyboardInterrupt:
        # The ordinary end of a capture that has no other.
        pass
    with signals.held():
        pump.stop()
        last = time.monotonic() + LAST_S
        while not pump.ended() and time.monotonic() < last:
            pump.turn(TURN_S)


def _report(pump: "_Pump", where: str) -> None:
    text = f"switchbed: {pump.packets} packets to {where}"
    if pump.missed:
        text += (
            f"; {pump.missed} were not captured, as the buffer was full: "
            "give --snaplen, --port or --direction"
        )
    if not pump.statistics and not pump.gone:
        text += "; the switch did not say how many it could not copy"
    say(text, err=True)


@contextmanager
def _opened(to: str) -> Iterator[int]:
    """The descriptor to write to. The place was found free (`options.output`)."""
    if to == STDOUT:
        yield sys.stdout.fileno()
        return
    replaces = os.O_TRUNC if files.forced() or not _is_regular(Path(to)) else os.O_EXCL
    with files.writing(f"--out {to}"):
        out = os.open(to, os.O_WRONLY | os.O_CREAT | replaces, 0o600)
    try:
        yield out
    finally:
        os.close(out)


def _is_regular(path: Path) -> bool:
    return not path.exists() or path.is_file()


@dataclass
class _Pump:
    """Blocks on their way from the switch to the output."""

    stream: socket
    out: int
    packets: int = 0
    missed: int = 0
    statistics: int = 0
    gone: bool = False
    """The reader has gone."""
    _over: bool = False
    _rest: bytearray = field(default_factory=bytearray)
    """The beginning of a block."""
    _whole: bytearray = field(default_factory=bytearray)
    """Whole blocks that were not written yet."""

    def __post_init__(self) -> None:
        self.stream.setblocking(False)
        # A pipe that can be written to takes so much without waiting.
        mode = os.fstat(self.out).st_mode
        self._piece = AHEAD if stat.S_ISREG(mode) else select.PIPE_BUF

    def ended(self) -> bool:
        """Whether all has come and was written."""
        return self._over and not self._whole

    def stop(self) -> None:
        """Tells the switch to end the capture; it still sends what it has."""
        if not self._over:
            self.stream.shutdown(SHUT_WR)

    def turn(self, timeout_s: float) -> None:
        """Reads and writes once, as far as either is possible in this time."""
        reads = [self.stream] if not self._over and len(self._whole) < AHEAD else []
        writes = [self.out] if self._whole else []
        readable, writable, _ = select.select(reads, writes, [], timeout_s)
        if readable:
            self._read()
        if writable:
            written = os.write(self.out, self._whole[: self._piece])
            del self._whole[:written]

    def _read(self) -> None:
        try:
            found = self.stream.recv(AHEAD)
        except ConnectionError:
            found = b""
        self._over = not found
        self._rest += found
        at = 0
        while at + 8 <= len(self._rest):
            kind, length = struct.unpack_from("<II", self._rest, at)
            if at + length > len(self._rest):
                break
            self.packets += kind == PACKET
            if kind == STATISTICS:
                self.statistics += 1
                self.missed += _missed(self._rest[at : at + length])
            at += length
        self._whole += self._rest[:at]
        del self._rest[:at]


def _missed(block: bytearray) -> int:
    """The packets that were not captured, of a block with statistics."""
    # Behind type, length, interface and time.
    at = 20
    while at + 4 <= len(block) - 4:
        kind, length = struct.unpack_from("<HH", block, at)
        if kind == IF_DROP:
            return int(struct.unpack_from("<Q", block, at + 4)[0])
        at += 4 + length + -length % 4
    return 0
