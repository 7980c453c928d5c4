"""The kernel's own word on its windows: the trace point `tcp:tcp_probe`, hit at each packet that an
established connection receives."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from switchbed._native import Mistake

TRACING = Path("/sys/kernel/tracing")
LINE = re.compile(
    r"\s(?P<at>\d+\.\d+): tcp_probe: .*src=(?P<src>[\d.]+):\d+ .*snd_cwnd=(?P<cwnd>\d+) "
    r"ssthresh=(?P<ssthresh>\d+)"
)


@dataclass(frozen=True)
class Sample:
    """A packet that has come in, before it is looked at."""

    at: float
    """Of the monotonic clock."""
    source: str
    """The address of the socket's own end."""
    cwnd: int
    ssthresh: int


class Probe:
    """Samples of all connections of the machine."""

    def __init__(self, instance: Path) -> None:
        self._instance = instance

    def samples(self) -> list[Sample]:
        """What there was so far, in order."""
        lines = (self._instance / "trace").read_text().splitlines()
        return [
            Sample(float(hit["at"]), hit["src"], int(hit["cwnd"]), int(hit["ssthresh"]))
            for hit in map(LINE.search, lines)
            if hit
        ]


@contextmanager
def probe(name: str) -> Iterator[Probe]:
    """Samples from now on, in a buffer of our own."""
    instance = TRACING / "instances" / name
    if not instance.parent.exists():
        raise Mistake(f"no trace points: mount -t tracefs nodev {TRACING}, as root")
    instance.mkdir()
    try:
        (instance / "trace_clock").write_text("mono")
        (instance / "events/tcp/tcp_probe/enable").write_text("1")
        yield Probe(instance)
    finally:
        (instance / "events/tcp/tcp_probe/enable").write_text("0")
        instance.rmdir()
