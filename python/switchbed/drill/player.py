"""Plays a script against one connection of the model.

Time is the model's: it passes when the script says so, or as far as the model's next timer while
the script waits for a segment. As in packetdrill a relative time counts from the end of the event
before, and a segment may be early or late by the tolerance.
"""

from dataclasses import replace

from switchbed.drill import hosts, wire
from switchbed.drill.asserts import Asserts
from switchbed.drill.connection import PS_PER_US, UNAGREED, Connection, TimeWait
from switchbed.drill.script import (
    BadScriptError,
    Call,
    Clock,
    Code,
    Command,
    DepartsError,
    Event,
    Packet,
    Script,
    Segment,
    SkippedError,
    TooBig,
    When,
)
from switchbed.drill.sockets import BEGIN, PS_PER_S, Sockets, seconds
from switchbed.drill.sysctls import Settings

__all__ = ["UNAGREED", "Player"]

TOLERANCE_US = 4000
"""Packetdrill's `--tolerance_usecs`."""
LOOKAHEAD = 10 * PS_PER_S
"""A segment that comes later than expected is waited for so long, to say when it comes."""


class Player(Sockets):
    """A script's run; `sets` are the user's keys of the host, as `transport.rto_min=5ms`."""

    def __init__(
        self,
        script: Script,
        profile: hosts.Profile,
        settings: Settings,
        sets: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self.script, self.profile, self.settings, self.sets = script, profile, settings, sets
        self.tolerance = TOLERANCE_US * PS_PER_US
        self.asserts = Asserts()
        self.stamps: dict[int, int] = {}
        self.conn = Connection(profile, settings, sets, BEGIN, self.stamps)
        self.control: str | None = None

    @property
    def now(self) -> int:
        """The clock."""
        return self.conn.now

    def fresh(self) -> None:
        """A socket without a connection, after the one before was closed."""
        old = self.conn
        if old.port is not None and old.waits_since is not None:
            recent = old.recent if old.agreed.stamps else None
            self.ports[old.port] = TimeWait(old.waits_since, recent)
        self.stamps.clear()
        self.listener = self.stream = None
        self.settings.control = self.control or self.settings.control
        self.conn = Connection(self.profile, self.settings, self.sets, self.now, self.stamps)

    def play(self) -> None:
        """Plays the script to its end.

        Raises:
            BadScriptError: The script is wrong.
            SkippedError: The script asks for what the model has not.
            DepartsError: The model does something else."""
        self._options()
        for line, text in self.script.commands:
            self.settings.run(text, line)
        self.control = self.settings.control
        # A later command may ask for what there is not: that is known before anything departs.
        rehearsal = replace(self.settings, ignored=[])
        for event in self.script.events:
            if isinstance(event.what, Command):
                rehearsal.run(event.what.text, event.line)
        if not self.script.events:
            raise BadScriptError(1, "a script has one event at least")
        for event in self.script.events:
            self._event(event)
        self.finish()

    def _options(self) -> None:
        for name, value in self.script.options.items():
            if name == "tolerance_usecs":
                self.tolerance = self._number(name, value) * PS_PER_US
            elif name == "mtu":
                self.settings.mtu = self._number(name, value)
            elif name == "mss":
                self.settings.tun_mss = self._number(name, value)
            elif name == "ip_version":
                if value not in ("ipv4", "ipv6", "ipv4-mapped-ipv6"):
                    raise SkippedError(1, f"IP version {value}")
                self.settings.ipv6 = value == "ipv6"
        if self.settings.ipv6 and "mtu" not in self.script.options:
            # With its larger header the kernel's runner of these scripts has the same segments.
            self.settings.mtu += hosts.HEADERS // 2

    @staticmethod
    def _number(name: str, value: str) -> int:
        if not value.isdecimal() or not value.isascii() or len(value) > 9:
            raise BadScriptError(1, f"--{name} is {value!r}: a whole number is needed")
        return int(value)

    def _event(self, event: Event) -> None:
        line, what = event.line, event.what
        base, (first, last) = self._base(event.when), self._times(event.when)
        if isinstance(what, Packet) and not what.inbound:
            self._expect(line, event.when, first, last, what.segment)
            return
        self.settle(first)
        self.conn.pass_to(first)
        match what:
            case Packet(segment=segment):
                self.conn.inject(line, segment)
            case TooBig(mtu=mtu, start=start):
                self.conn.too_big(mtu, start)
            case Call(until=None):
                self.call(line, what)
            case Call(until=int(until)):
                self.call(line, replace(what, until=base + until))
            case Command(text=text):
                self.settings.run(text, line)
            case Code(text=text):
                self.asserts.run(text, line, self.conn.info())
        for wait in self.waiting:
            self.look(wait)

    def _base(self, when: When) -> int:
        # A relative time counts from where the event before has left the clock.
        return BEGIN if when.clock is Clock.START else self.now

    def _times(self, when: When) -> tuple[int, int]:
        return self._base(when) + when.first, self._base(when) + when.last

    def _expect(self, line: int, when: When, first: int, last: int, expected: Segment) -> None:
        latest, conn = last + self.tolerance, self.conn
        any_time = when.clock is Clock.ANY
        if conn.model is None and not conn.queue:
            raise DepartsError(line, "nothing is sent", str(expected), "no connection")
        # Beyond the latest time, so that a segment that is late is shown with its own time.
        conn.wait(latest + LOOKAHEAD)
        if not conn.queue:
            raise DepartsError(
                line, "nothing is sent", str(expected), "no segment, and no timer runs"
            )
        parts = [conn.queue.pop(0)]
        if parts[0].data and "S" not in expected.flags:
            self._gather(parts, expected)
        if parts[0].syn:
            # The script's first SYN names the sequence numbers.
            conn.local = expected.start if conn.local is None else conn.local
            whole = replace(parts[0].segment, start=conn.local)
        else:
            whole = wire.joined(parts)
        at = parts[0].at
        wire.compare(line, expected, whole, parts[0].syn)
        if not any_time and not first - self.tolerance <= at <= latest:
            raise DepartsError(
                line,
                "the time differs",
                f"{expected} at {self._clock(first, last)}",
                f"{whole} at {self._clock(at, at)}",
            )
        if expected.stamp is not None:
            self.stamps[expected.stamp[0]] = at
        conn.offers(expected)
        conn.now = max(self.now, parts[-1].at)

    def _gather(self, parts: list[wire.Sent], expected: Segment) -> None:
        """Joins segments until they are as long as is expected."""
        length, queue = parts[0].segment.length, self.conn.queue
        wants_fin = "F" in expected.flags
        while length < expected.length or (wants_fin and "F" not in parts[-1].segment.flags):
            if not queue or not wire.follows(parts, queue[0], self.tolerance):
                return
            if length + queue[0].segment.length > expected.length:
                return
            parts.append(queue.pop(0))
            length += parts[-1].segment.length

    @staticmethod
    def _clock(first: int, last: int) -> str:
        return seconds(first) if last == first else f"{seconds(first)} to {seconds(last)}"
