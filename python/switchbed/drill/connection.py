"""One end of a connection: the model, and the state that a host keeps about it.

The model's halves know no resets, no window of the host's own and no time stamps. This file decides
which segments a host takes, as Linux does (`tcp_validate_incoming`, `tcp_data_queue`,
`tcp_v4_send_reset`).
"""

from dataclasses import dataclass, field, replace
from typing import Any

from switchbed import _native
from switchbed.drill import hosts, wire
from switchbed.drill.hosts import Agreed
from switchbed.drill.script import Segment, SkippedError
from switchbed.drill.sysctls import Settings

PS_PER_US = 10**6
PS_PER_MS = 10**9
MOST_TIMERS = 100_000
"""Timers that may expire while the script waits once."""
UNAGREED = Agreed(1460, True, False, False)
FIRST_WINDOW = 65535
"""The window of a SYN-ACK that does not say which."""
LEAST_MSS = 88
"""The least MSS that Linux takes (TCP_MIN_MSS)."""
USUAL_MSS = 536
TIME_WAIT = 60 * 10**12
LEAST_PATH_MTU = {False: 552, True: 1280}
"""The least path MTU that Linux believes, for IPv4 and IPv6 (`ip_rt_min_pmtu`)."""
STATES = {
    "established": 1,
    "syn-sent": 2,
    "syn-received": 3,
    "fin-wait-1": 4,
    "fin-wait-2": 5,
    "time-wait": 6,
    "closed": 7,
    "close-wait": 8,
    "last-ack": 9,
    "listening": 10,
    "closing": 11,
}
"""States by the numbers that `tcp_info` has."""
COUNTS = ("tcpi_segs_out", "tcpi_data_segs_out", "tcpi_bytes_sent", "tcpi_bytes_retrans")
COOKIES = {False: (536, 1300, 1440, 1460), True: (1220, 1420, 1440, 8940)}
"""Segment sizes that a SYN cookie can hold, for IPv4 and IPv6."""


@dataclass(frozen=True)
class TimeWait:
    """A port whose connection is in TIME-WAIT."""

    since: int
    recent: int | None
    """The peer's last time stamp, if the connection had any."""


def older(one: int, other: int) -> int:
    """How much older a time stamp or number is than another, around 32 bits."""
    return ((other - one + 2**31) & 0xFFFFFFFF) - 2**31


@dataclass
class Connection:
    """A socket's connection; offsets count from the first byte of a stream."""

    profile: hosts.Profile
    settings: Settings
    sets: tuple[str, ...]
    now: int
    stamps: dict[int, int]
    """When a time stamp that the script names was sent."""
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
    port: int | None = None
    """The port that the application insists on."""
    waits_since: int | None = None
    """When the connection entered TIME-WAIT."""
    clamp: int | None = None
    """The socket's own `TCP_MAXSEG`."""
    own: dict[str, Any] = field(default_factory=dict)
    """The socket's own settings."""
    fast_open: bool = False
    line: int = 1
    """Line of the segment that has come."""
    listens: bool = False
    """A socket listens for connections."""
    remote: int = 0
    """The peer's initial sequence number."""
    local: int | None = None
    """Initial sequence number of this host, once the script has named it."""
    accepted: bool = False
    error: str | None = None
    """Error of the next call: the connection was reset or has given up."""
    nodelay: bool = False
    cork: bool = False
    lingers: bool = True
    """False: closing resets the connection (`SO_LINGER` of 0 s)."""
    user_timeout: int | None = None
    stalled: int | None = None
    """When data was first sent again without an answer."""
    urgent: int = 0
    """End of this host's urgent data."""
    read: int = 0
    least: int = 1
    """Bytes that end a call that waits for data (`SO_RCVLOWAT`)."""
    peer_closed: bool = False
    sent_fin: bool = False
    shut: bool = False
    """The application sends no more."""
    closed_last: bool = False
    """The application closed after the peer had."""
    deaf: bool = False
    """The application receives no more."""
    orphan: bool = False
    """The application has closed its socket."""
    recent: int = 0
    """The peer's time stamp to echo (TS.Recent)."""
    acked_to: int = 0
    """The peer's stream is acknowledged up to here."""
    room: int | None = None
    """The window ends here, unless the script leaves it open."""
    most_room: int | None = None
    """The furthest end of the window so far, if it is known."""
    window_open: bool = False
    """The script has left a window open, with no buffer that bounds it."""
    own_shift: int = 0
    buffer: int | None = None
    """The receive buffer that the application has set."""
    answered: int | None = None
    """When an ACK last went out for a segment that was not taken."""
    rcv_mss: int = USUAL_MSS
    last_length: int = 0
    sent_to: int = 0
    edge: int = 0
    """The peer takes the stream up to here."""
    widest: int = 0
    """The widest window that the peer has offered."""
    busy: int = 0
    rwnd_limited: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    """Segments and bytes sent, by `tcp_info`'s names."""
    last: dict[str, int] = field(default_factory=dict)
    """When data or an ACK was sent or came last, by `tcp_info`'s names."""

    # Time

    def pass_to(self, until: int) -> None:
        """Lets time pass, with all that is due meanwhile."""
        for _ in range(MOST_TIMERS):
            if not self._next_timer(until):
                break
        self._account(max(self.now, until))
        self.now = max(self.now, until)

    def wait(self, until: int) -> None:
        """Lets time pass until something has been sent."""
        for _ in range(MOST_TIMERS):
            if self.queue or not self._next_timer(until):
                return

    def _next_timer(self, until: int) -> bool:
        """Lets the next timer expire, if one does until then."""
        if not self.runs():
            return False
        gives_up = None
        if self.user_timeout is not None and self.stalled is not None:
            gives_up = self.stalled + self.user_timeout
        timers = [at for at in (self.model.next_timer(), gives_up) if at is not None]
        due = min(timers, default=until + 1)
        if due > until:
            return False
        self._account(max(self.now, due))
        self.now = max(self.now, due)
        if due == gives_up:
            self.state, self.error = "dead", "ETIMEDOUT"
            return True
        self.model.on_timer(self.now)
        self.collect()
        if self.model.failed:
            forgotten = self.state == "opening" and not self.active
            self.state, self.error = ("closed", None) if forgotten else ("dead", "ETIMEDOUT")
        return True

    def runs(self) -> bool:
        """Whether the connection's timers run."""
        return self.model is not None and self.state in ("opening", "open")

    def _account(self, until: int) -> None:
        """Counts how long data waits, and waits for the peer's window (`tcp_chrono_start`)."""
        if not self.runs() or self.state != "open":
            return
        info = self.model.info()
        waiting, mss = info["tcpi_notsent_bytes"], info["tcpi_snd_mss"]
        if waiting or info["tcpi_unacked"]:
            self.busy += until - self.now
        # Not even the next segment fits into what the peer takes.
        if waiting and self.sent_to + min(waiting, mss) > self.edge:
            self.rwnd_limited += until - self.now

    # Segments of the model

    def collect(self) -> None:
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
        # A SYN takes the first number; a probe repeats the byte before the next. As in tcpdump the
        # numbers of a SYN are absolute, and others count from it.
        start = (self.local or 0) if syn else offset + 1 - (kind == "probe")
        letters = ("S" if syn else "") + ("F" if fin else "")
        letters += ("E" if "E" in flags else "") + ("W" if "W" in flags else "")
        # Only the first SYN of the side that connects acknowledges nothing.
        acks = not (syn and self.active)
        stamped = (self.offered if syn else self.agreed).stamps
        urgent = self.urgent - offset if kind == "data" and offset < self.urgent else None
        segment = Segment(
            letters + ("U" if urgent else "") + ("." if acks else ""),
            start,
            length,
            (self.remote * syn + 1 + ack) % 2**32 if acks else None,
            ecn=wire.CODEPOINTS[ecn],
            mss=self.offered.mss if syn else None,
            wscale=0 if syn and self.scaled else None,
            sack_ok=syn and self.offered.sack,
            stamp=(0, self.recent) if stamped else None,
            sacks=tuple((1 + a, 1 + b) for a, b in sacks),
            urgent=urgent,
        )
        # A SYN-ACK is sent before there is a socket that counts (tcp_make_synack).
        self.counts["tcpi_segs_out"] += not (syn and acks)
        self.counts["tcpi_data_segs_out"] += length > 0
        self.counts["tcpi_bytes_sent"] += length
        self.counts["tcpi_bytes_retrans"] += length * again
        if kind == "data":
            self.sent_to = max(self.sent_to, offset + length + fin)
            self.sent_fin |= fin
            self.last["tcpi_last_data_sent"] = at
            if again and self.stalled is None:
                self.stalled = at
        if not syn:
            self.acked_to = max(self.acked_to, ack)
        return wire.Sent(at, segment, syn, kind == "data")

    def offers(self, segment: Segment) -> None:
        """Takes the host's window from what the script expects: the model's buffer has no end."""
        if "." not in segment.flags or "R" in segment.flags:
            return
        if "S" in segment.flags:
            self.own_shift = segment.wscale or 0
            if segment.window is not None:
                self.room = self.most_room = segment.window
            return
        acked = (segment.ack or 0) - 1
        self.room = None if segment.window is None else acked + (segment.window << self.own_shift)
        end = self.room
        if end is None and self.buffer is not None:
            # No window is wider than the buffer.
            end = acked + self.buffer
        if end is None:
            self.window_open = True
        else:
            self.most_room = max(self.most_room or 0, end)

    def reset(self, error: str | None = None) -> None:
        """Resets the connection: an RST tells the peer (`tcp_send_active_reset`)."""
        ack = 1 + self.model.expects
        stamp = (0, self.recent) if self.agreed.stamps else None
        start = 1 + self.model.sent_to
        self._put(Segment("R.", start, 0, ack, ecn="noecn", stamp=stamp))
        self.state, self.error = "closed", error

    def _refuse(self, segment: Segment) -> None:
        """Answers a segment that belongs to no connection (RFC 9293, section 3.10.7.1)."""
        if "R" in segment.flags:
            return
        if "." in segment.flags:
            answer = Segment("R", self._ack(segment) + 1, 0, ecn="noecn")
        else:
            # The peer's first segment names the numbers that others count from.
            known = self.model is not None or "S" not in segment.flags
            start = self._start(segment) + 1 if known else 0
            taken = segment.length + ("S" in segment.flags) + ("F" in segment.flags)
            answer = Segment("R.", 0, 0, start + taken, ecn="noecn")
        self._put(answer)

    def _start(self, segment: Segment) -> int:
        """Offset of a segment in the peer's stream; a SYN's is of the byte behind it."""
        return older(self.remote if "S" in segment.flags else 0, segment.start) - 1

    def _ack(self, segment: Segment) -> int:
        """The offset in this host's stream that a segment acknowledges."""
        first = (self.local or 0) if "S" in segment.flags else 0
        return older(first, segment.ack or 0) - 1

    def _put(self, segment: Segment) -> None:
        self.queue.append(wire.Sent(self.now, segment, False, False))

    def _answer(self, *, limited: bool = True) -> None:
        """Sends an ACK for a segment that is not taken; `limited`: not too often."""
        if limited and self._too_often():
            return
        self.model.answer(self.now)
        self.collect()

    def _too_often(self) -> bool:
        """Whether the last answer to what is not taken was just now (`tcp_oow_rate_limited`)."""
        apart = self.settings.invalid_ratelimit_ms * PS_PER_MS
        if self.answered is not None and self.now - self.answered < apart:
            return True
        self.answered = self.now
        return False

    # Segments of the peer

    def inject(self, line: int, segment: Segment) -> None:
        """A segment arrives."""
        self.line, flags = line, segment.flags
        if self.state == "closed" and self.listens and not self.accepted:
            # The connection was given up before it was open: the socket listens on.
            self.model, self.state = None, "listening"
            self.answered = self.room = self.most_room = None
            self.acked_to = self.recent = 0
        if self.state in ("closed", "dead") and self.model is not None:
            self._refuse(segment)
        elif "R" in flags:
            self._take_reset(segment)
        elif self.state == "open":
            self._take(segment)
        elif "S" in flags:
            self._handshake(line, segment)
        elif self.state == "opening" and not self.active:
            self._opened(segment)
        elif self.state in ("listening", "opening"):
            # Only an ACK, of another number than the SYN's, is answered.
            if "." in flags and (self.state == "listening" or not self._acks_syn(segment)):
                self._refuse(segment)
        else:
            raise SkippedError(line, "a segment for a closed socket")

    def _acks_syn(self, segment: Segment) -> bool:
        return self._ack(segment) == 0

    def _take_reset(self, segment: Segment) -> None:
        if self.model is None:
            return
        if self.active and self.state == "opening":
            if "." in segment.flags and self._acks_syn(segment):
                self.state, self.error = "dead", "ECONNREFUSED"
            return
        at, expects = self._start(segment), self.model.expects
        last = expects - 1 if self.peer_closed else expects
        limit = self.acked_to + FIRST_WINDOW if self.most_room is None else self.most_room
        if at in (expects, last):
            # A connection that was never accepted leaves its socket listening.
            waits = self.state == "opening"
            self.state = "closed" if waits else "dead"
            self.error = "EPIPE" if self.peer_closed else None if waits else "ECONNRESET"
        elif expects < at <= max(limit, expects):
            self._answer()

    def own_mss(self) -> int:
        """The MSS that this host offers."""
        mss = self._mss_of(self.settings.mtu)
        return max(LEAST_MSS, min(mss, self.clamp or mss))

    def _mss_of(self, mtu: int) -> int:
        return mtu - hosts.HEADERS - 20 * self.settings.ipv6

    def _path_mtu(self) -> int:
        return min(self.settings.mtu, self.settings.path_mtu or self.settings.mtu)

    def too_big(self, mtu: int, start: int) -> None:
        """A segment was too big for the path: smaller ones go out from now on (`tcp_v4_err`)."""
        offset = start - 1
        mtu = max(mtu, LEAST_PATH_MTU[self.settings.ipv6])
        if not self.runs() or mtu >= self._path_mtu():
            return
        if not self.model.info()["tcpi_bytes_acked"] <= offset < self.model.sent_to:
            return
        self.settings.path_mtu = mtu
        mss = self._mss_of(mtu) - hosts.STAMPS * self.agreed.stamps
        if mss < self.agreed.mss:
            self.agreed = replace(self.agreed, mss=mss)
            self.model.shrink(hosts.SCENARIO, self.keys(self.agreed), self.now)
            self.collect()

    def keys(self, agreed: Agreed) -> list[tuple[str, str]]:
        """The keys of the model's host."""
        return hosts.overrides(self.profile, self._settings(), agreed, self.sets)

    def _settings(self) -> Settings:
        """The host's settings with the socket's own in their place."""
        return replace(self.settings, **self.own)

    def _echo(self, segment: Segment) -> int | None:
        return self.stamps.get(segment.stamp[1]) if segment.stamp else None

    def reuses(self, port: TimeWait) -> bool:
        """Whether a port in TIME-WAIT may be used again (`tcp_twsk_unique`)."""
        settings, age = self.settings, self.now - port.since
        if age >= TIME_WAIT:
            return True
        late = age > settings.tw_reuse_delay_ms * PS_PER_MS
        return settings.tw_reuse == 1 and port.recent is not None and late

    def connect(self) -> None:
        """The application connects."""
        settings = self.settings
        self.active, self.state = True, "opening"
        ecn = settings.ecn == 1 or settings.control == "dctcp"
        mss = self.own_mss()
        self.offered = Agreed(mss, settings.sack, settings.timestamps, ecn)
        self.scaled = settings.window_scaling
        agreed = Agreed(mss - hosts.STAMPS * settings.timestamps, settings.sack, False, ecn)
        self.model = _native.Drill(hosts.SCENARIO, self.keys(agreed))
        self.model.delay(self.nodelay, self.cork, False, self.now)
        self.model.connect(self.now)
        self.collect()

    def _handshake(self, line: int, segment: Segment) -> None:
        settings, active = self.settings, self.active
        if segment.fast_open and (self.fast_open or self.state != "listening"):
            raise SkippedError(line, "Fast Open")
        answer = "." in segment.flags
        if answer and not active:
            self._refuse(segment)
            return
        if active and not answer:
            raise SkippedError(line, "simultaneous opens")
        if not active and self.state == "opening":
            # The same SYN again is answered again, if not too often (`tcp_check_req`).
            if segment.start != self.remote:
                raise SkippedError(line, "second connection")
            if not self._too_often():
                self.model.repeat(self.now)
                self.collect()
            return
        if not active and self.state != "listening":
            raise SkippedError(line, "a SYN without a listener")
        if answer and not self._acks_syn(segment):
            self._refuse(segment)
            return
        self.remote = segment.start
        stamps = segment.stamp is not None and settings.timestamps
        scaled = segment.wscale is not None and settings.window_scaling
        sack = segment.sack_ok and settings.sack
        ecn = set("EW") <= set(segment.flags) and settings.ecn > 0
        if answer:
            ecn = "E" in segment.flags and settings.ecn == 1 and "W" not in segment.flags
        peer = segment.mss if segment.mss is not None else USUAL_MSS
        if not answer and settings.syncookies == 2:
            # A cookie has two bits of the MSS; the other options are in the time stamp.
            sizes = COOKIES[settings.ipv6]
            peer = max([size for size in sizes if size <= peer], default=sizes[0])
            scaled, sack = scaled and stamps, sack and stamps
        mss = min(peer, self.own_mss(), self._mss_of(self._path_mtu()))
        if mss < LEAST_MSS:
            raise SkippedError(line, f"segments of {mss} bytes")
        if stamps and segment.stamp:
            mss -= hosts.STAMPS
            self.recent = segment.stamp[0]
        self.agreed = Agreed(mss, sack, stamps, ecn)
        self.shift, self.scaled = min(segment.wscale or 0, 14) if scaled else 0, scaled
        keys = self.keys(self.agreed)
        window = self.edge = self.widest = segment.window or 0
        if answer:
            self.model.agree(hosts.SCENARIO, keys)
            letters = "E" if ecn else ""
            self.model.connected(window, letters, self._echo(segment), self.now)
            self._begin()
        else:
            self.offered = Agreed(self.own_mss(), sack, stamps, ecn)
            self.model = _native.Drill(hosts.SCENARIO, keys)
            self.model.accept(ecn, self._settings().synack_retries, self.now)
            self.state = "opening"
        self.collect()

    def _opened(self, segment: Segment) -> None:
        """The answer to the SYN-ACK."""
        if "." not in segment.flags:
            return
        if not self._acks_syn(segment):
            self._refuse(segment)
            return
        window = self.edge = (segment.window or 0) << self.shift
        self.widest = max(self.widest, window)
        self.model.accepted(window, self.agreed.ecn, self._echo(segment), self.now)
        self.model.delay(self.nodelay, self.cork, False, self.now)
        self._begin()
        self._note_stamp(segment)
        if segment.length or "F" in segment.flags:
            self._arrive(segment)

    def _begin(self) -> None:
        """The connection is open."""
        self.state, self.answered = "open", None
        # tcp_initialize_rcv_mss
        self.rcv_mss = max(LEAST_MSS, min(self.agreed.mss, USUAL_MSS))
        for name in ("tcpi_last_data_sent", "tcpi_last_data_recv", "tcpi_last_ack_recv"):
            self.last.setdefault(name, self.now)

    def _note_stamp(self, segment: Segment) -> None:
        """Notes the stamp to echo: never that of a segment beyond what was acknowledged."""
        if segment.stamp and self.agreed.stamps:
            fresh = older(self.recent, segment.stamp[0]) >= 0
            if fresh and self._start(segment) <= self.acked_to:
                self.recent = segment.stamp[0]

    def _take(self, segment: Segment) -> None:
        """A segment arrives on the open connection (`tcp_validate_incoming`, `tcp_ack`)."""
        flags = segment.flags
        start = self._start(segment)
        length = segment.length + ("F" in flags) + ("S" in flags)
        end, expects = start + length, self.model.expects
        old = segment.stamp and self.agreed.stamps and older(segment.stamp[0], self.recent) > 1
        ack = None if segment.ack is None else self._ack(segment)
        una = self.model.info()["tcpi_bytes_acked"]
        state = self.tcp_state()
        halved = state == "fin-wait-2" and self.orphan and end <= expects
        if state == "time-wait" or halved:
            return self._take_waiting(segment, bool(old), start == expects and not length)
        if old:
            # RFC 7323, section 5.3 (PAWS), in which Linux lets repeated ACKs pass.
            if length or "S" in flags:
                return self._answer(limited=not segment.length)
            if start != expects or ack != una:
                return None
        if end < self.acked_to and not segment.length:
            return self._answer()
        if self._beyond(start, end, "F" in flags):
            return self._answer(limited=not segment.length)
        if "S" in flags:
            return self._answer()
        # A segment without the ACK flag is dropped (RFC 9293, section 3.10.7.4).
        if "." not in flags:
            return None
        # RFC 5961, section 5.2: an ACK of what was never sent, or of long ago.
        if ack is not None and not una - min(self.widest, una) <= ack <= self.model.sent_to:
            return self._answer()
        self._note_stamp(segment)
        self._arrive(segment)
        return None

    def _take_waiting(self, segment: Segment, old: bool, bare: bool) -> None:
        """A segment arrives in TIME-WAIT, when no SACK is known any more
        (`tcp_timewait_state_process`); `bare`: in order and without payload."""
        flags = segment.flags
        if "S" in flags and "." not in flags and self.listens:
            raise SkippedError(self.line, "SYNs in TIME-WAIT")
        if bare and not old:
            return
        if (segment.length or "F" in flags) or not self._too_often():
            stamp = (0, self.recent) if self.agreed.stamps else None
            ack = 1 + self.model.expects
            self._put(Segment(".", 1 + self.model.sent_to, 0, ack, ecn="noecn", stamp=stamp))

    def _beyond(self, start: int, end: int, fin: bool) -> bool:
        """Whether a segment ends beyond the window (`tcp_sequence`)."""
        if self.most_room is None or self.window_open:
            return False
        limit = max(self.most_room, self.model.expects)
        if end - fin <= limit:
            return False
        # A segment that begins within it is taken while nothing waits to be read.
        waits: bool = self.model.received > self.read
        return start > limit or waits

    def _arrive(self, segment: Segment) -> None:
        fin = "F" in segment.flags
        ack = None if segment.ack is None else self._ack(segment)
        if ack is not None and ack < 0:
            ack = None
        window = (segment.window or 0) << self.shift
        self.widest = max(self.widest, window)
        if ack is not None:
            self.edge = ack + window
            if ack > self.model.info()["tcpi_bytes_acked"]:
                self.stalled = None
        self.last["tcpi_last_ack_recv"] = self.now
        offset = self._start(segment)
        length, end = segment.length + fin, offset + segment.length + fin
        if offset < 0:
            offset, length = 0, max(0, length + offset)
        # After the application's close nobody takes data (tcp_rcv_state_process).
        aborts = self.shut and self.deaf and segment.length > 0 and end - fin > self.model.expects
        taken = 0 if aborts else self._room_for(offset, length, fin)
        if segment.length and not aborts:
            self.last["tcpi_last_data_recv"] = self.now
            self._measure(segment)
        self.model.arrive(
            offset,
            taken,
            fin and taken == length,
            ack,
            window,
            [(a - 1, b - 1) for a, b in segment.sacks if a >= 1 and b > a],
            "".join(letter for letter in "EW" if letter in segment.flags),
            segment.ecn == "ce",
            self._echo(segment),
            self.room is not None and self.room <= self.model.expects,
            self.now,
        )
        if aborts:
            self._refuse(segment)
            self.state = "closed"
        elif taken < length:
            self.model.answer(self.now)
        self.collect()
        self.peer_closed |= fin and self.model.expects >= end
        if self.waits_since is None and self.tcp_state() == "time-wait":
            self.waits_since = self.now
        # The last ACK of a connection that the peer closed first ends it.
        if self.closed_last and ack is not None:
            info = self.model.info()
            over = ack >= info["tcpi_bytes_acked"] and not info["tcpi_unacked"]
            if over and not self.model.next_timer():
                self.state = "closed"

    def _room_for(self, offset: int, length: int, fin: bool) -> int:
        """Bytes of a segment that are taken: all, the part that is here already, or none
        (`tcp_data_queue`)."""
        expects: int = self.model.expects
        if not length or offset + length <= expects or (fin and length == 1 and offset == expects):
            return length
        unread = self.model.received - self.read
        room = self.room
        if room is None and self.buffer is not None:
            # No window is wider than the buffer.
            room = self.acked_to + self.buffer
        full = self.buffer is not None and unread > self.buffer
        if offset > expects:
            return 0 if room is not None and offset >= room else length
        if full or (room is not None and room <= expects):
            return max(0, expects - offset)
        return length

    def _measure(self, segment: Segment) -> None:
        """Estimates the peer's segments (`tcp_measure_rcv_mss`)."""
        length = min(segment.length, self.settings.tun_mss or segment.length)
        whole = self.own_mss() - hosts.STAMPS * self.agreed.stamps
        repeated, self.last_length = length == self.last_length, 0
        if length >= self.rcv_mss:
            self.rcv_mss = min(length, whole)
        elif length >= USUAL_MSS or (length >= LEAST_MSS and "P" not in segment.flags):
            self.last_length = length
            if repeated:
                self.rcv_mss = length

    # tcp_info

    def tcp_state(self) -> str:
        """The connection's state by RFC 9293."""
        if self.state == "opening":
            return "syn-sent" if self.active else "syn-received"
        if self.state != "open":
            return "closed" if self.state == "dead" else self.state
        done = self.sent_fin and self.model.info()["tcpi_bytes_acked"] >= self.sent_to
        if not self.shut:
            return "close-wait" if self.peer_closed else "established"
        if self.peer_closed:
            if self.closed_last:
                return "last-ack"
            return "time-wait" if done else "closing"
        return "fin-wait-2" if done else "fin-wait-1"

    def info(self) -> dict[str, int]:
        """`tcp_info`'s fields."""
        if self.model is None:
            # Of a socket without a connection tcp_get_info tells little more.
            return {"tcpi_state": STATES[self.tcp_state()]}
        info: dict[str, int] = dict(self.model.info()) | self.counts
        if self.active and self.state != "opening":
            # An active open counts its SYN (tcp_snd_una_update), a passive one does not.
            info["tcpi_bytes_acked"] += 1
        info["tcpi_state"] = STATES[self.tcp_state()]
        info["tcpi_options"] = (
            self.agreed.stamps + 2 * self.agreed.sack + 4 * self.scaled + 8 * self.agreed.ecn
        )
        info["tcpi_snd_wscale"] = self.shift
        info["tcpi_bytes_received"] = self.model.expects
        info["tcpi_rcv_mss"] = self.rcv_mss
        info["tcpi_pmtu"] = self._path_mtu()
        info["tcpi_busy_time"] = self.busy // PS_PER_US
        info["tcpi_rwnd_limited"] = self.rwnd_limited // PS_PER_US
        for name, at in self.last.items():
            info[name] = (self.now - at) // PS_PER_MS
        info["tcpi_advmss"] = self.own_mss() - hosts.STAMPS * self.agreed.stamps
        return info
