"""Plays a script against one connection of the model.

Time is the model's: it passes when the script says so, or as far as the model's next timer while
the script waits for a segment. As in packetdrill a relative time counts from the end of the event
before, and a segment may be early or late by the tolerance.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from switchbed import _native
from switchbed.drill import calls, hosts, wire
from switchbed.drill.asserts import Asserts
from switchbed.drill.hosts import Agreed
from switchbed.drill.outcome import BadScriptError, DepartsError, SkippedError
from switchbed.drill.script import (
    Call,
    Clock,
    Code,
    Command,
    Event,
    Packet,
    Script,
    Segment,
    When,
    Word,
)
from switchbed.drill.sysctls import Settings

PS_PER_US = 10**6
PS_PER_MS = 10**9
PS_PER_S = 10**12
TOLERANCE_US = 4000
"""Packetdrill's `--tolerance_usecs`."""
UNAGREED = Agreed(1460, True, False, False)
BEGIN = 1 * PS_PER_S
"""The clock at a script's time 0."""
LOOKAHEAD = 10 * PS_PER_S
"""A segment that comes later than expected is waited for so long, to say when it comes."""
MOST_TIMERS = 100_000
"""Timers that may expire while the script waits once."""
SHIFT = 7
"""The window's shift, where no `tcp_rmem` gives another."""


@dataclass
class Player:
    """A script's run."""

    script: Script
    profile: hosts.Profile
    settings: Settings
    sets: tuple[str, ...] = ()
    """Keys of the host that the user sets, as `transport.rto_min=5ms`."""
    tolerance: int = TOLERANCE_US * PS_PER_US
    now: int = BEGIN
    model: Any = None
    state: str = "closed"
    """closed, listening, opening (a SYN is out or has come), open or dead (reset)."""
    active: bool = False
    queue: list[wire.Sent] = field(default_factory=list)
    agreed: Agreed = UNAGREED
    offered: Agreed = UNAGREED
    """Options of this host's SYN or SYN-ACK."""
    scaled: bool = True
    shift: int = 0
    """Shift of the peer's window."""
    clamp: int | None = None
    """The socket's own `TCP_MAXSEG`."""
    remote: int = 0
    """The peer's initial sequence number."""
    local: int | None = None
    """Initial sequence number of this host, once the script has named it."""
    opened: int = 0
    accepted: bool = False
    sockets: set[int] = field(default_factory=set)
    nodelay: bool = False
    cork: bool = False
    read: int = 0
    peer_closed: bool = False
    closed_last: bool = False
    """The application closed after the peer had."""
    stamps: dict[int, int] = field(default_factory=dict)
    """When a time stamp that the script names was sent."""
    asserts: Asserts = field(default_factory=Asserts)
    sent_to: int = 0
    edge: int = 0
    """The peer takes the stream up to here."""
    busy: int = 0
    rwnd_limited: int = 0
    last: dict[str, int] = field(default_factory=dict)
    """When data or an ACK was sent or came last, by `tcp_info`'s names."""

    def play(self) -> None:
        """Plays the script to its end.

        Raises:
            BadScriptError: The script is wrong.
            SkippedError: The script asks for what the model has not.
            DepartsError: The model does something else."""
        self._options()
        for line, text in self.script.commands:
            self.settings.run(text, line)
        # A later command may ask for what there is not: that is known before anything departs.
        rehearsal = replace(self.settings, ignored=[])
        for event in self.script.events:
            if isinstance(event.what, Command):
                rehearsal.run(event.what.text, event.line)
        if not self.script.events:
            raise BadScriptError(1, "a script has one event at least")
        for event in self.script.events:
            self._event(event)

    def _options(self) -> None:
        for name, value in self.script.options.items():
            if name == "tolerance_usecs":
                self.tolerance = self._number(name, value) * PS_PER_US
            elif name == "mtu":
                headers = hosts.HEADERS + 20 * (self.script.options.get("ip_version") == "ipv6")
                # 88 is the least MSS that Linux takes (TCP_MIN_MSS).
                self.clamp = max(88, self._number(name, value) - headers)
            elif name == "ip_version" and value not in ("ipv4", "ipv6", "ipv4-mapped-ipv6"):
                raise SkippedError(1, f"IP version {value}")

    @staticmethod
    def _number(name: str, value: str) -> int:
        if not value.isdecimal() or not value.isascii() or len(value) > 9:
            raise BadScriptError(1, f"--{name} is {value!r}: a whole number is needed")
        return int(value)

    def _event(self, event: Event) -> None:
        line, what = event.line, event.what
        first, last = self._times(event.when)
        if isinstance(what, Packet) and not what.inbound:
            self._expect(line, event.when, first, last, what.segment)
            return
        self._pass_to(first)
        match what:
            case Packet(segment=segment):
                self._inject(line, segment)
            case Call():
                self._call(line, what)
            case Command(text=text):
                self.settings.run(text, line)
            case Code(text=text):
                self.asserts.run(text, line, self.info())

    def _times(self, when: When) -> tuple[int, int]:
        # A relative time counts from where the event before has left the clock.
        base = BEGIN if when.clock is Clock.START else self.now
        return base + when.first, base + when.last

    # Time

    def _pass_to(self, until: int) -> None:
        """Lets time pass, with all that is due meanwhile."""
        for _ in range(MOST_TIMERS):
            due = self.model.next_timer() if self._runs() else None
            if due is None or due > until:
                break
            self._account(max(self.now, due))
            self.now = max(self.now, due)
            self.model.on_timer(self.now)
            self._collect()
        self._account(max(self.now, until))
        self.now = max(self.now, until)

    def _runs(self) -> bool:
        """Whether the connection's timers run."""
        return self.model is not None and self.state not in ("dead", "closed")

    def _account(self, until: int) -> None:
        """Counts how long data waits, and waits for the peer's window (`tcp_chrono_start`)."""
        if not self._runs() or self.state != "open":
            return
        info = self.model.info()
        waiting, mss = info["tcpi_notsent_bytes"], info["tcpi_snd_mss"]
        if waiting or info["tcpi_unacked"]:
            self.busy += until - self.now
        # Not even the next segment fits into what the peer takes.
        if waiting and self.sent_to + min(waiting, mss) > self.edge:
            self.rwnd_limited += until - self.now

    def _collect(self) -> None:
        """Takes what the model has sent."""
        for sent in self.model.departures():
            self.queue.append(self._sent(*sent))

    def _sent(
        self,
        kind: str,
        at: int,
        offset: int,
        length: int,
        fin: bool,
        ack: int,
        flags: str,
        sacks: list[tuple[int, int]],
        ecn: int,
        again: bool,
    ) -> wire.Sent:
        syn = kind == "syn"
        # A SYN takes the first number; a probe repeats the byte before the next.
        start = (self.local or 0) + offset + (not syn) - (kind == "probe")
        letters = ("S" if syn else "") + ("F" if fin else "")
        letters += ("E" if "E" in flags else "") + ("W" if "W" in flags else "")
        # Only the first SYN of the side that connects acknowledges nothing.
        acks = not (syn and self.active)
        stamped = (0, 0) if (self.offered if syn else self.agreed).stamps else None
        segment = Segment(
            letters + ("." if acks else ""),
            start,
            length,
            self.remote + 1 + ack if acks else None,
            ecn=wire.CODEPOINTS[ecn],
            mss=self.offered.mss if syn else None,
            wscale=0 if syn and self.scaled else None,
            sack_ok=syn and self.offered.sack,
            stamp=stamped,
            sacks=tuple((self.remote + 1 + a, self.remote + 1 + b) for a, b in sacks),
        )
        if kind == "data":
            self.sent_to = max(self.sent_to, offset + length + fin)
            self.last["tcpi_last_data_sent"] = at
        return wire.Sent(at, segment, syn, kind == "data")

    # Segments

    def _expect(self, line: int, when: When, first: int, last: int, expected: Segment) -> None:
        latest = last + self.tolerance
        any_time = when.clock is Clock.ANY
        if self.model is None:
            raise DepartsError(line, "nothing is sent", str(expected), "no connection")
        if "R" in expected.flags and not any("R" in sent.segment.flags for sent in self.queue):
            raise SkippedError(line, "resets")
        # Beyond the latest time, so that a segment that is late is shown with its own time.
        self._wait(latest + LOOKAHEAD)
        if not self.queue:
            raise DepartsError(
                line, "nothing is sent", str(expected), "no segment, and no timer runs"
            )
        parts = [self.queue.pop(0)]
        if parts[0].data and "S" not in expected.flags:
            self._gather(parts, expected)
        if parts[0].syn:
            # The script's first SYN names the sequence numbers.
            self.local = expected.start if self.local is None else self.local
            whole = replace(parts[0].segment, start=self.local)
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
        self.now = max(self.now, parts[-1].at)

    def _gather(self, parts: list[wire.Sent], expected: Segment) -> None:
        """Joins segments until they are as long as is expected."""
        length = parts[0].segment.length
        wants_fin = "F" in expected.flags
        while length < expected.length or (wants_fin and "F" not in parts[-1].segment.flags):
            if not self.queue or not wire.follows(parts, self.queue[0], self.tolerance):
                return
            if length + self.queue[0].segment.length > expected.length:
                return
            parts.append(self.queue.pop(0))
            length += parts[-1].segment.length

    def _wait(self, until: int) -> None:
        """Lets time pass until something has been sent."""
        for _ in range(MOST_TIMERS):
            if self.queue:
                return
            due = self.model.next_timer() if self._runs() else None
            if due is None or due > until:
                return
            self._account(max(self.now, due))
            self.now = max(self.now, due)
            self.model.on_timer(self.now)
            self._collect()

    @staticmethod
    def _clock(first: int, last: int) -> str:
        text = f"{(first - BEGIN) / PS_PER_S:.6f} s"
        return text if last == first else f"{text} to {(last - BEGIN) / PS_PER_S:.6f} s"

    def _inject(self, line: int, segment: Segment) -> None:
        flags = segment.flags
        if self.state == "closed" and self.model is not None and "R" not in flags:
            # Of a connection that is over, a host knows nothing any more (RFC 9293, section 3.5.2).
            reset = Segment("R", segment.ack or 0, 0, ecn="noecn")
            self.queue.append(wire.Sent(self.now, reset, False, False))
        elif self.state in ("dead", "closed") and self.model is not None:
            return
        elif "R" in flags:
            self.state = "dead"
        elif "S" in flags:
            self._handshake(line, segment)
        elif self.state == "opening" and not self.active:
            self._answered(line, segment)
        elif self.state == "open":
            # A segment without the ACK flag is dropped (RFC 9293, section 3.10.7.4).
            if "." in flags:
                self._arrive(segment)
        else:
            raise SkippedError(line, "a segment for a closed socket")

    def _echo(self, segment: Segment) -> int | None:
        return self.stamps.get(segment.stamp[1]) if segment.stamp else None

    def _keys(self, agreed: Agreed) -> list[tuple[str, str]]:
        return hosts.overrides(self.profile, self.settings, agreed, self.sets)

    def _own_mss(self) -> int:
        return min(self.clamp or 1460, 1460)

    def _handshake(self, line: int, segment: Segment) -> None:
        if segment.length:
            raise SkippedError(line, "data on a SYN")
        settings, active = self.settings, self.active
        answer = "." in segment.flags
        if answer != (active and self.state == "opening"):
            if self.state == "open" or (not answer and self.state == "opening"):
                raise SkippedError(line, "a SYN on a connection that is open")
            raise SkippedError(line, "simultaneous opens" if active else "a SYN without a listener")
        if not answer and self.state != "listening":
            raise SkippedError(line, "a SYN without a listener")
        self.remote = segment.start
        stamps = segment.stamp is not None and settings.timestamps
        scaled = segment.wscale is not None and settings.window_scaling
        ecn = set("EW") <= set(segment.flags) and settings.ecn > 0
        if answer:
            ecn = "E" in segment.flags and settings.ecn == 1 and "W" not in segment.flags
        mss = min(segment.mss if segment.mss is not None else 536, self._own_mss())
        if mss < 88:
            raise SkippedError(line, f"segments of {mss} bytes")
        if stamps:
            mss -= hosts.STAMPS
        self.agreed = Agreed(mss, segment.sack_ok and settings.sack, stamps, ecn)
        self.shift, self.scaled = min(segment.wscale or 0, 14) if scaled else 0, scaled
        keys = self._keys(self.agreed)
        window = self.edge = segment.window or 0
        if answer:
            self.model.agree(hosts.SCENARIO, keys)
            letters = "E" if ecn else ""
            self.model.connected(window, letters, self._echo(segment), self.now)
            self.state = "open"
        else:
            self.offered = Agreed(self._own_mss(), self.agreed.sack, stamps, ecn)
            self.model = _native.Drill(hosts.SCENARIO, keys)
            self.model.accept(ecn, self.now)
            self.state = "opening"
        self._collect()

    def _answered(self, line: int, segment: Segment) -> None:
        """The answer to the SYN-ACK."""
        if "." not in segment.flags or segment.ack != (self.local or 0) + 1:
            raise SkippedError(line, "a handshake that fails")
        window = self.edge = (segment.window or 0) << self.shift
        self.model.accepted(window, self.agreed.ecn, self._echo(segment), self.now)
        self.model.delay(self.nodelay, self.cork, False, self.now)
        self.state = "open"
        if segment.length or "F" in segment.flags:
            self._arrive(segment)

    def _arrive(self, segment: Segment) -> None:
        fin = "F" in segment.flags
        self.peer_closed |= fin
        if segment.length:
            self.last["tcpi_last_data_recv"] = self.now
        if "." in segment.flags:
            self.last["tcpi_last_ack_recv"] = self.now
        letters = "".join(letter for letter in "EW" if letter in segment.flags)
        base = (self.local or 0) + 1
        ack = segment.ack - base if "." in segment.flags and segment.ack is not None else None
        if ack is not None and ack < 0:
            ack = None
        if ack is not None:
            self.edge = ack + ((segment.window or 0) << self.shift)
        offset = segment.start - self.remote - 1
        length = segment.length + fin
        if offset < 0:
            offset, length = 0, max(0, length + offset)
        sacks = [(a - base, b - base) for a, b in segment.sacks if a >= base and b > a]
        self.model.arrive(
            offset,
            length,
            fin,
            ack,
            (segment.window or 0) << self.shift,
            sacks,
            letters,
            segment.ecn == "ce",
            self._echo(segment),
            self.now,
        )
        self._collect()
        # The last ACK of a connection that the peer closed first ends it.
        if self.closed_last and ack is not None and ack >= self.model.info()["tcpi_bytes_acked"]:
            over = not self.model.info()["tcpi_unacked"] and not self.model.next_timer()
            self.state = "closed" if over else self.state

    # System calls

    def _call(self, line: int, call: Call) -> None:
        calls.refuse_flags(call, line)
        self._errors(line, call)
        handler = getattr(self, f"_do_{call.name}", None)
        if call.name in calls.NOTHING:
            if call.name == "listen":
                self._listens(line)
        elif call.name in ("write", "send", "sendto", "sendmsg", "writev", "sendfile"):
            self._writes(line, call)
        elif call.name in ("read", "recv", "recvfrom", "recvmsg", "readv"):
            self._reads(line, call)
        elif handler:
            handler(line, call)
        else:
            raise SkippedError(line, f"the system call {call.name}")

    @staticmethod
    def _errors(line: int, call: Call) -> None:
        if call.result == -1 and call.errno not in ("EINPROGRESS", "EAGAIN", "EWOULDBLOCK"):
            raise SkippedError(line, f"{call.name}'s error {call.errno or -1}")

    def _do_socket(self, line: int, call: Call) -> None:
        words = calls.names(call.arguments)
        if not words & {"SOCK_STREAM"}:
            raise SkippedError(line, "sockets that are not TCP's")
        if words & {"IPPROTO_MPTCP", "IPPROTO_SCTP"}:
            raise SkippedError(line, "MPTCP" if "IPPROTO_MPTCP" in words else "SCTP")
        if self.model is not None:
            raise SkippedError(line, "a second connection")
        if isinstance(call.result, int):
            self.sockets.add(call.result)

    def _do_ioctl(self, line: int, call: Call) -> None:
        size = call.arguments[2] if len(call.arguments) == 3 else None
        words = {name for part in call.arguments for name in calls.names(part)}
        if "SIOCINQ" in words and isinstance(size, tuple) and self.model is not None:
            left = self.model.received - self.read
            if size != (left,):
                raise DepartsError(line, "the bytes to read differ", str(size[0]), str(left))

    def _listens(self, line: int) -> None:
        if self.state == "closed":
            self.state = "listening"

    def _do_accept(self, line: int, call: Call) -> None:
        if call.result == -1:
            return
        if self.accepted:
            raise SkippedError(line, "a second connection")
        # A blocking call ends while later events take place: it may begin before the handshake.
        if self.state not in ("open", "dead") and call.until is None:
            raise DepartsError(line, "accept would wait", "an open connection", self.state)
        self.accepted = True
        if isinstance(call.result, int):
            self.sockets.add(call.result)

    _do_accept4 = _do_accept

    def _do_connect(self, line: int, call: Call) -> None:
        if self.model is not None:
            if call.result == 0 and self.state == "open":
                return
            raise SkippedError(line, "a second connection")
        settings = self.settings
        self.active, self.state = True, "opening"
        ecn = settings.ecn == 1 or settings.control == "dctcp"
        mss = self._own_mss()
        self.offered = Agreed(mss, settings.sack, settings.timestamps, ecn)
        self.scaled = settings.window_scaling
        agreed = Agreed(mss - hosts.STAMPS * settings.timestamps, settings.sack, False, ecn)
        keys = self._keys(agreed)
        self.model = _native.Drill(hosts.SCENARIO, keys)
        self.model.delay(self.nodelay, self.cork, False, self.now)
        self.model.connect(self.now)
        self._collect()

    def _do_setsockopt(self, line: int, call: Call) -> None:
        if len(call.arguments) < 4:
            raise BadScriptError(line, "setsockopt has five arguments")
        option, value = call.arguments[2], call.arguments[3]
        name = option.name if isinstance(option, Word) else str(option)
        single = value[0] if isinstance(value, tuple) and value else value
        if name in calls.ABSENT:
            raise SkippedError(line, calls.ABSENT[name])
        if name == "TCP_NODELAY":
            self.nodelay = bool(single)
        elif name == "TCP_CORK":
            self.cork = bool(single)
        elif name == "TCP_MAXSEG":
            self.clamp = calls.number(single)
        elif name == "TCP_CONGESTION":
            # A socket's own goes before a route's.
            self.settings.of_route.discard("tcp_congestion_control")
            self.settings.run(f"sysctl tcp_congestion_control={single}", line)
            if self.model is not None:
                self.model.agree(hosts.SCENARIO, self._keys(self.agreed))
        elif name not in calls.WITHOUT_EFFECT:
            raise SkippedError(line, f"socket option {name}")
        if name in ("TCP_NODELAY", "TCP_CORK") and self.model is not None:
            push = self.nodelay and not (name == "TCP_CORK" and self.cork)
            self.model.delay(self.nodelay, self.cork, push, self.now)
            self._collect()

    def _writes(self, line: int, call: Call) -> None:
        size = calls.number(call.result)
        if size is None:
            raise BadScriptError(line, f"{call.name} has no number of bytes as its result")
        if size <= 0:
            return
        if self.model is None or self.state not in ("open", "opening"):
            raise DepartsError(line, f"{call.name} fails", f"{size} bytes", self.state)
        asked = self._asked(call)
        if asked is not None and size > asked:
            raise BadScriptError(line, f"{call.name} of {asked} bytes cannot return {size}")
        more = "MSG_MORE" in {name for part in call.arguments for name in calls.names(part)}
        self.model.write(size, more, self.now)
        self._collect()

    @staticmethod
    def _asked(call: Call) -> int | None:
        """Bytes that a call writes or reads."""
        if call.name in ("writev", "readv") and len(call.arguments) > 1:
            return calls.vectors(call.arguments[1])
        if call.name in ("sendmsg", "recvmsg") and len(call.arguments) > 1:
            header = call.arguments[1]
            return calls.vectors(header.get("msg_iov", ())) if isinstance(header, dict) else None
        place = calls.WRITES.get(call.name, calls.READS.get(call.name))
        if place is None or len(call.arguments) <= place:
            return None
        return calls.number(call.arguments[place])

    def _reads(self, line: int, call: Call) -> None:
        size = calls.number(call.result)
        if size is None or self.model is None:
            return
        left = self.model.received - self.read
        asked = self._asked(call)
        there = left if asked is None else min(left, asked)
        if size == -1:
            if left > 0:
                raise DepartsError(line, f"{call.name} returns", "-1", str(there))
        elif call.until is None and size != there:
            raise DepartsError(line, f"{call.name} returns", str(size), str(there))
        self.read += max(0, size)

    def _do_close(self, line: int, call: Call) -> None:
        descriptor = calls.number(call.arguments[0]) if call.arguments else None
        self.sockets.discard(descriptor or -1)
        listener = not self.active and self.accepted and descriptor == min(self.sockets | {1 << 30})
        if self.model is None or listener or self.state not in ("open", "opening"):
            return
        if not self.active and not self.accepted:
            return
        if self.model.received > self.read:
            raise SkippedError(line, "the reset of a connection that has unread data")
        if self.active and self.state == "opening":
            self.state = "closed"
            return
        self.closed_last = self.peer_closed
        self.model.close(self.now)
        self._collect()

    def _do_shutdown(self, line: int, call: Call) -> None:
        words = {name for part in call.arguments for name in calls.names(part)}
        if self.model is not None and words & {"SHUT_WR", "SHUT_RDWR"}:
            self.model.close(self.now)
            self._collect()

    # tcp_info

    def info(self) -> dict[str, int]:
        """`tcp_info`'s fields."""
        if self.model is None:
            return {}
        info: dict[str, int] = dict(self.model.info())
        info["tcpi_options"] = (
            self.agreed.stamps + 2 * self.agreed.sack + 4 * self.scaled + 8 * self.agreed.ecn
        )
        info["tcpi_snd_wscale"] = self.shift
        info["tcpi_bytes_received"] = self.model.received
        info["tcpi_pmtu"] = 1500
        info["tcpi_busy_time"] = self.busy // PS_PER_US
        info["tcpi_rwnd_limited"] = self.rwnd_limited // PS_PER_US
        for name, at in self.last.items():
            info[name] = (self.now - at) // PS_PER_MS
        info["tcpi_advmss"] = self._own_mss() - hosts.STAMPS * self.agreed.stamps
        return info
