"""A packetdrill script as it was read, options, commands and events in their order, and how it may
end."""

from dataclasses import dataclass, field
from enum import Enum


class Clock(Enum):
    """Reference of an event's time."""

    START = "start"
    BEFORE = "before"
    """The event before."""
    ANY = "any"


@dataclass(frozen=True)
class When:
    """An event's time in picoseconds, or the range that it may lie in."""

    clock: Clock
    first: int = 0
    last: int = 0
    """The same as `first` where there is no range."""


@dataclass(frozen=True)
class Segment:
    """A TCP segment."""

    flags: str
    """Letters of `SFRPEWUA.`, sorted as the script has them."""
    start: int
    length: int
    ack: int | None = None
    window: int | None = None
    ecn: str | None = None
    """`noecn`, `ect0`, `ect1`, `ect01` or `ce`."""
    mss: int | None = None
    wscale: int | None = None
    sack_ok: bool = False
    stamp: tuple[int, int] | None = None
    """The time stamp's value and echo."""
    sacks: tuple[tuple[int, int], ...] = ()
    any_options: bool = False
    """Options are not compared (`<...>`)."""
    urgent: int | None = None
    """The urgent pointer."""
    fast_open: bool = False
    """Whether a cookie of Fast Open is asked for or given."""

    def __str__(self) -> str:
        text = f"{self.flags or '-'} {self.start}:{self.start + self.length}({self.length})"
        if self.ecn:
            text = f"[{self.ecn}] {text}"
        if self.ack is not None:
            text += f" ack {self.ack}"
        if self.window is not None:
            text += f" win {self.window}"
        if self.urgent is not None:
            text += f" urg {self.urgent}"
        return text + (f" <{self.options()}>" if self.options() else "")

    def options(self) -> str:
        """The options without padding."""
        if self.any_options:
            return "..."
        parts = []
        if self.mss is not None:
            parts.append(f"mss {self.mss}")
        if self.sack_ok:
            parts.append("sackOK")
        if self.stamp is not None:
            parts.append(f"TS val {self.stamp[0]} ecr {self.stamp[1]}")
        if self.wscale is not None:
            parts.append(f"wscale {self.wscale}")
        if self.sacks:
            parts.append("sack " + " ".join(f"{start}:{end}" for start, end in self.sacks))
        return ",".join(parts)


@dataclass(frozen=True)
class Packet:
    """A segment that arrives, or one that is to be sent."""

    segment: Segment
    inbound: bool


@dataclass(frozen=True)
class TooBig:
    """ICMP's message that a segment was too big for a link with this MTU."""

    mtu: int
    start: int
    """Sequence number of the segment."""


@dataclass(frozen=True)
class Word:
    """A name in a system call's arguments."""

    name: str


@dataclass(frozen=True)
class Anything:
    """`...`."""


Value = int | str | Word | Anything | tuple["Value", ...] | dict[str, "Value"]
"""Number, string, name, `...`, list or structure."""


@dataclass(frozen=True)
class Call:
    """A system call with the result that it is to have."""

    name: str
    arguments: tuple[Value, ...]
    result: Value
    errno: str | None
    until: int | None
    """The time in picoseconds at which a blocking call is to end, by the clock of its event."""


@dataclass(frozen=True)
class Command:
    """A shell command; none is ever run."""

    text: str


@dataclass(frozen=True)
class Code:
    """Assertions about `tcp_info`."""

    text: str


@dataclass(frozen=True)
class Event:
    """Something that happens, at a line of the script."""

    line: int
    when: When
    what: Packet | TooBig | Call | Command | Code


@dataclass
class Script:
    """A whole script."""

    options: dict[str, str] = field(default_factory=dict)
    commands: list[tuple[int, str]] = field(default_factory=list)
    """Commands before the first event, with their lines."""
    cleanup: list[tuple[int, str]] = field(default_factory=list)
    """Commands behind the last event, which change nothing that is played."""
    events: list[Event] = field(default_factory=list)


class BadScriptError(Exception):
    """The script is wrong; `line` is the script's."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class SkippedError(Exception):
    """The script asks for something that the model has not."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


class DepartsError(Exception):
    """The model does something else than the script expects."""

    def __init__(self, line: int, problem: str, expected: str = "", got: str = "") -> None:
        super().__init__(problem)
        self.line = line
        self.expected = expected
        self.got = got
