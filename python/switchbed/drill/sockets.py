"""A script's system calls, as far as they concern what is sent."""

from collections.abc import Callable
from dataclasses import dataclass

from switchbed.drill import calls, hosts
from switchbed.drill.connection import Connection, TimeWait
from switchbed.drill.script import BadScriptError, Call, DepartsError, SkippedError, Word
from switchbed.drill.sysctls import SENT_AGAIN, Settings

PS_PER_S = 10**12
PS_PER_MS = 10**9
BEGIN = 1 * PS_PER_S
"""The clock at a script's time 0."""
WAITS = ("EINPROGRESS", "EAGAIN", "EWOULDBLOCK")
"""Errors that say that a call would have to wait."""
WRITES = ("write", "send", "sendto", "sendmsg", "writev", "sendfile")
READS = ("read", "recv", "recvfrom", "recvmsg", "readv")


@dataclass
class Waiting:
    """A blocking call that is to end at a time."""

    line: int
    until: int
    expected: str
    """Result that the script expects."""
    got: Callable[[], str | None]
    """Result if the call ended now; none while it waits."""
    ended: bool = False


def seconds(at: int) -> str:
    """A time by the script's clock."""
    return f"{(at - BEGIN) / PS_PER_S:.6f} s"


class Sockets:
    """The sockets of a script, of which one has a connection."""

    conn: Connection
    settings: Settings
    tolerance: int
    """Time by which what happens may be early or late."""

    def __init__(self) -> None:
        self.listener: int | None = None
        self.stream: int | None = None
        self.open: set[int] = set()
        """Descriptors of TCP sockets."""
        self.left: set[int] = set()
        """Descriptors of earlier connections, whose segments nobody looks at any more."""
        self.ports: dict[int, TimeWait] = {}
        """Ports in TIME-WAIT."""
        self.waiting: list[Waiting] = []
        """Blocking calls that have not ended."""

    def call(self, line: int, call: Call) -> None:
        """Carries out a system call."""
        calls.refuse_flags(call, line)
        if self._descriptor(call) in self.left:
            self._leave(line, call)
            return
        if self._fails(line, call):
            return
        handler = getattr(self, f"_do_{call.name}", None)
        if call.name in WRITES:
            self._writes(line, call)
        elif call.name in READS:
            self._reads(line, call)
        elif handler:
            handler(line, call)
        elif call.name not in calls.NOTHING:
            raise SkippedError(line, f"the system call {call.name}")

    def settle(self, now: int) -> None:
        """Lets time pass up to `now` as far as blocking calls end meanwhile, and compares them."""
        for wait in sorted(self.waiting, key=lambda wait: wait.until):
            latest = wait.until + self.tolerance
            for at in (wait.until - self.tolerance - 1, latest):
                if self.conn.now < at < now:
                    self.conn.pass_to(at)
                    self.look(wait)
            if not wait.ended and latest < now:
                raise self._differs(wait, "it waits")
        self.waiting = [wait for wait in self.waiting if not wait.ended]

    def look(self, wait: Waiting) -> None:
        """Compares a blocking call, if it has ended."""
        got = wait.got()
        if wait.ended or got is None:
            return
        wait.ended = True
        if got != wait.expected or self.conn.now < wait.until - self.tolerance:
            raise self._differs(wait, f"{got} at {seconds(self.conn.now)}")

    @staticmethod
    def _differs(wait: Waiting, got: str) -> DepartsError:
        expected = f"{wait.expected} at {seconds(wait.until)}"
        return DepartsError(wait.line, "a call ends otherwise", expected, got)

    def finish(self) -> None:
        """The script is over: calls that block end."""
        last = max((wait.until for wait in self.waiting), default=0)
        self.settle(last + self.tolerance + 1)

    def fresh(self) -> None:
        """A socket without a connection, after the one before was closed."""
        raise NotImplementedError

    @staticmethod
    def _descriptor(call: Call) -> int | None:
        return calls.number(call.arguments[0]) if call.arguments else None

    def _leave(self, line: int, call: Call) -> None:
        """A call on a socket of a connection before."""
        if call.name not in ("close", "shutdown", *calls.NOTHING):
            raise SkippedError(line, "second connection")
        if call.name == "close":
            self.left.discard(self._descriptor(call) or 0)

    def _fails(self, line: int, call: Call) -> bool:
        """Whether the script expects an error, which is then compared."""
        if call.result != -1 or call.errno in WAITS:
            return False
        if call.name == "connect" and call.until is not None and self.conn.model is None:
            self._opens_later(line, call, call.errno or "-1")
            return False
        if call.name in READS and call.until is not None and self.conn.model is not None:
            self._reads_later(line, call, call.until, call.errno or "-1")
            return True
        got = self._error(call)
        if got is None:
            raise SkippedError(line, f"{call.name}'s error {call.errno or -1}")
        if got != (call.errno or got):
            raise DepartsError(line, f"{call.name} has another error", call.errno or "-1", got)
        return True

    def _opens_later(self, line: int, call: Call, expected: str) -> None:
        """A call waits until the connection is open or has failed."""
        conn = self.conn
        if call.until is not None:
            result = str(call.result)
            # Once it was open, a connection may be reset before the call ends.
            got = lambda: result if conn.last else conn.error  # noqa: E731
            self.waiting.append(Waiting(line, call.until, expected, got))

    def _error(self, call: Call) -> str | None:
        """The error of a call that sends or receives, if it has one that is known."""
        if call.name == "connect":
            return "EADDRNOTAVAIL" if self._port_in_use() else None
        if call.name not in (*WRITES, *READS):
            return None
        if self._descriptor(call) == self.listener:
            return "EPIPE" if call.name in WRITES else "ENOTCONN"
        if Word("NULL") in call.arguments[1:2]:
            return "EFAULT"
        conn = self.conn
        if conn.error is not None:
            # An error is told once; a reset after the peer's FIN is EPIPE at once.
            error, conn.error = conn.error, "EPIPE" if call.name in WRITES else None
            return error
        if call.name in WRITES and (conn.shut or conn.state == "dead"):
            return "EPIPE"
        return None

    def _do_socket(self, line: int, call: Call) -> None:
        words = calls.names(call.arguments)
        if not words & {"SOCK_STREAM"}:
            raise SkippedError(line, "sockets that are not TCP's")
        if words & {"IPPROTO_MPTCP", "IPPROTO_SCTP"}:
            raise SkippedError(line, "MPTCP" if "IPPROTO_MPTCP" in words else "SCTP")
        if self.conn.model is not None:
            # All that follows is about the new socket (packetdrill's socket_under_test).
            self.left |= self.open
            self.open.clear()
            self.fresh()
        if isinstance(call.result, int):
            self.open.add(call.result)

    def _do_ioctl(self, line: int, call: Call) -> None:
        size = call.arguments[2] if len(call.arguments) == 3 else None
        words = {name for part in call.arguments for name in calls.names(part)}
        if "SIOCINQ" in words and isinstance(size, tuple) and self.conn.model is not None:
            left = self.conn.model.received - self.conn.read
            if size != (left,):
                raise DepartsError(line, "the bytes to read differ", str(size[0]), str(left))

    def _do_listen(self, line: int, call: Call) -> None:
        if self.conn.state == "closed" and self.conn.model is None:
            self.conn.state, self.listener = "listening", self._descriptor(call)
            self.conn.listens = True
            self.conn.fast_open = self.settings.fast_open

    def _do_accept(self, line: int, call: Call) -> None:
        if call.result == -1:
            return
        if self.conn.accepted:
            raise SkippedError(line, "second connection")
        # A blocking call ends while later events take place: it may begin before the handshake.
        if self.conn.state not in ("open", "dead") and call.until is None:
            raise DepartsError(line, "accept would wait", "an open connection", self.conn.state)
        self.conn.accepted = True
        self._opens_later(line, call, str(call.result))
        if isinstance(call.result, int):
            self.stream = call.result
            self.open.add(call.result)

    _do_accept4 = _do_accept

    def _do_connect(self, line: int, call: Call) -> None:
        if self.conn.model is not None:
            if call.result == 0 and self.conn.state == "open":
                return
            raise SkippedError(line, "second connection")
        if self._port_in_use():
            expected = str(call.errno or call.result)
            raise DepartsError(line, "connect fails", expected, "EADDRNOTAVAIL")
        if self.conn.port in self.ports:
            self.conn.recent = self.ports.pop(self.conn.port).recent or 0
        self.stream = self._descriptor(call)
        if call.result == 0:
            self._opens_later(line, call, "0")
        self.conn.connect()

    def _port_in_use(self) -> bool:
        port = self.ports.get(self.conn.port) if self.conn.port is not None else None
        return port is not None and not self.conn.reuses(port)

    def _do_setsockopt(self, line: int, call: Call) -> None:
        if len(call.arguments) < 4:
            raise BadScriptError(line, "setsockopt has five arguments")
        option, value = call.arguments[2], call.arguments[3]
        name = option.name if isinstance(option, Word) else str(option)
        single = value[0] if isinstance(value, tuple) and value else value
        conn, amount = self.conn, calls.number(single)
        if name in calls.ABSENT:
            raise SkippedError(line, calls.ABSENT[name])
        if name == "TCP_NODELAY":
            conn.nodelay = bool(single)
        elif name == "TCP_CORK":
            conn.cork = bool(single)
        elif name == "TCP_MAXSEG":
            conn.clamp = amount
        elif name == "IP_LOCAL_PORT_RANGE" and amount is not None:
            # The low half is the first port, the high half the last.
            conn.port = amount & 0xFFFF if amount & 0xFFFF == amount >> 16 else None
        elif name == "TCP_USER_TIMEOUT" and amount is not None:
            conn.user_timeout = amount * PS_PER_MS if amount else None
        elif name in ("SO_RCVBUF", "SO_RCVBUFFORCE") and amount is not None:
            # Linux doubles what is asked for (sock_setsockopt).
            conn.buffer = 2 * amount
        elif name == "SO_RCVLOWAT" and amount is not None:
            conn.least = amount
        elif name == "SO_LINGER":
            fields = value if isinstance(value, dict) else {}
            conn.lingers = fields.get("onoff") != 1 or fields.get("linger") != 0
        elif name == "TCP_CONGESTION":
            # A socket's own goes before a route's.
            self.settings.of_route.discard("tcp_congestion_control")
            control = single.name if isinstance(single, Word) else single
            self.settings.run(f"sysctl tcp_congestion_control={control}", line)
            if conn.model is not None:
                conn.model.agree(hosts.SCENARIO, conn.keys(conn.agreed))
        elif name in calls.OWN and amount is not None:
            settings, taken = calls.OWN[name]
            if name == "TCP_SYNCNT" and amount in taken and amount > SENT_AGAIN:
                raise SkippedError(line, f"{name} {amount}")
            if amount in taken:
                conn.own |= dict.fromkeys(settings, amount)
            if conn.model is not None:
                conn.model.agree(hosts.SCENARIO, conn.keys(conn.agreed))
        elif name not in calls.WITHOUT_EFFECT:
            raise SkippedError(line, f"socket option {name}")
        if name in ("TCP_NODELAY", "TCP_CORK") and conn.model is not None:
            push = conn.nodelay and not (name == "TCP_CORK" and conn.cork)
            conn.model.delay(conn.nodelay, conn.cork, push, conn.now)
            conn.collect()

    def _writes(self, line: int, call: Call) -> None:
        size, conn = calls.number(call.result), self.conn
        if size is None:
            raise BadScriptError(line, f"{call.name} has no number of bytes as its result")
        if size <= 0:
            return
        if conn.model is None or conn.state not in ("open", "opening"):
            got = conn.error or ("EPIPE" if conn.state == "dead" else conn.state)
            raise DepartsError(line, f"{call.name} fails", f"{size} bytes", got)
        if conn.shut:
            raise DepartsError(line, f"{call.name} fails", f"{size} bytes", "EPIPE")
        asked = self._asked(call)
        if asked is not None and size > asked:
            raise BadScriptError(line, f"{call.name} of {asked} bytes cannot return {size}")
        flags = calls.flags(call)
        if "MSG_OOB" in flags:
            info = conn.model.info()
            conn.urgent = conn.model.sent_to + info["tcpi_notsent_bytes"] + size
            # Urgent data does not wait (tcp_nagle_test).
            conn.model.delay(True, False, True, conn.now)
        conn.model.write(size, "MSG_MORE" in flags, "MSG_EOR" in flags, conn.now)
        if "MSG_OOB" in flags:
            conn.model.delay(conn.nodelay, conn.cork, False, conn.now)
        conn.collect()

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
        size, conn = calls.number(call.result), self.conn
        if size is None or conn.model is None:
            return
        left = conn.model.received - conn.read
        asked = self._asked(call)
        there = left if asked is None else min(left, asked)
        if size == -1:
            if left > 0:
                raise DepartsError(line, f"{call.name} returns", "-1", str(there))
        elif call.until is not None:
            self._reads_later(line, call, call.until, str(size))
        elif size != there:
            raise DepartsError(line, f"{call.name} returns", str(size), str(there))
        if "MSG_PEEK" not in calls.flags(call):
            conn.read += max(0, size)

    def _reads_later(self, line: int, call: Call, until: int, expected: str) -> None:
        """A call waits for data, or for the peer's FIN."""
        conn, before, asked = self.conn, self.conn.read, self._asked(call)
        flags = calls.flags(call)
        # At least so much wakes the call up (sock_rcvlowat).
        least = max(1, asked or 1 if "MSG_WAITALL" in flags else conn.least)

        def got() -> str | None:
            left = conn.model.received - before
            if left >= least or (left > 0 and conn.peer_closed):
                return str(left if asked is None else min(left, asked))
            return "0" if conn.peer_closed else conn.error

        self.waiting.append(Waiting(line, until, expected, got))

    def _do_close(self, line: int, call: Call) -> None:
        descriptor, conn = self._descriptor(call), self.conn
        self.open.discard(-1 if descriptor is None else descriptor)
        if descriptor is not None and descriptor == self.listener:
            self.listener = None
            self._stop_listening()
        elif conn.model is None or conn.state not in ("open", "opening") or self.stream is None:
            return
        elif conn.active and conn.state == "opening":
            conn.state = "closed"
        elif conn.model.received > conn.read or not conn.lingers:
            conn.reset()
        else:
            self._ends()
            conn.deaf = conn.orphan = True

    def _stop_listening(self) -> None:
        """Closes the listening socket, with the connections that nobody has accepted."""
        conn = self.conn
        conn.listens = False
        if conn.accepted or conn.active:
            return
        if conn.state == "open":
            conn.reset()
        conn.state = "closed"

    def _ends(self) -> None:
        """The application sends no more."""
        conn = self.conn
        if not conn.shut:
            conn.shut, conn.closed_last = True, conn.peer_closed
            conn.model.close(conn.now)
            conn.collect()

    def _do_shutdown(self, line: int, call: Call) -> None:
        words = {name for part in call.arguments for name in calls.names(part)}
        if self.conn.model is None or self.conn.state not in ("open", "opening"):
            return
        if words & {"SHUT_WR", "SHUT_RDWR"}:
            self._ends()
        if words & {"SHUT_RD", "SHUT_RDWR"}:
            self.conn.deaf = True
