"""A host of a lab: runs inside a network namespace, told what to do by lines of JSON on its
standard input. When that closes it ends, so that no host outlives its lab.

It is a program of its own (`python agent.py reno cubic`, the congestion controls of its sockets)
and imports nothing of the package: a lab starts many. Times are the monotonic clock's, which all
namespaces share.

| line | does |
| --- | --- |
| `{"send": {"flow", "to", "size", "dscp", "at", "until", "fresh", "control", "other"}}` | one \
flow to a host; size null: until then; in the order of `at`; `control` is the congestion control \
of this end, `other` that of the other end |
| `{"ask": {"flow", "from", "size", "dscp", "request", "at", "fresh", "control", "other"}}` | a \
request of so many bytes, which a host answers with a flow; in the order of `at` with the others |
| `{"ping": {"to", "dscp", "size", "every", "from", "until"}}` | echo requests, ECN-capable |
| `{"iperf3": {"flow", "to", "port", "dscp", "control", "at", "until"}}` | a flow by iperf3 |
| `{"iperf3-server": {"flow", "port", "at"}}` | the other end of it |
| `{"watch": {"interface", "every", "until"}}` | reads the interface's counter of received bytes |
| `{"counters": null}` | writes the namespace's counters as one line, and how many flows are yet \
to end |
| `{"report": null}` | writes all results as one line |
"""

import contextlib
import json
import math
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any

PORT = 5001
"""Port of the first congestion control, which the others' follow."""
HEADER = struct.Struct("!QQIB")
"""A flow's or request's first bytes: the flow's size and number; of a request its own size, else
nothing, and the DSCP of the answer."""
ENDLESS = 2**64 - 1
CHUNK = bytes(64 << 10)
CONTROL_BYTES = 16
"""Longest name of a congestion control (`TCP_CA_NAME_MAX`)."""
INTERVAL_S = 0.1
"""Shortest interval that iperf3 reports."""
LAST_WORDS_S = 4.0
"""How long iperf3 may go on after the end, and its ends tell each other what they counted."""
BIN_S = 0.01
"""Received bytes are counted in bins of this length."""
PRIORITY = 5
"""Real-time, below the switch: a busy machine would hold up requests and answers."""
LATE_S = 0.3
"""How long an echo is waited for once no more are sent."""


class Received:
    """Bytes of flows that have arrived, and the congestion controls of those that were sent."""

    def __init__(self) -> None:
        self.controls: dict[int, str] = {}
        """The congestion control of each flow's sender, as its socket has it."""
        self.bins: dict[int, dict[int, int]] = {}
        """Bytes of each flow by bin of the monotonic clock."""
        self.ends: dict[int, float] = {}
        """When each flow's last byte was here."""

    def take(self, stream: socket.socket, size: int, flow: int, before: int = 0) -> None:
        """Takes a flow in, of which some bytes came before."""
        buffer = memoryview(bytearray(len(CHUNK)))
        bins = self.bins.setdefault(flow, {})
        _count(bins, before)
        left = size - before
        while left > 0:
            n = stream.recv_into(buffer, min(left, len(buffer)))
            if n == 0:
                raise ConnectionError
            left -= n
            _count(bins, n)
        self.ends[flow] = time.monotonic()


def _count(bins: dict[int, int], n: int) -> None:
    now = int(time.monotonic() / BIN_S)
    bins[now] = bins.get(now, 0) + n


class Server:
    """Takes flows in, and answers the end of each with a byte; answers requests with flows. It has
    a port for each congestion control: a connection has that of the socket that listens."""

    def __init__(self, received: Received, ports: dict[str, int]) -> None:
        self._received = received
        for control, port in ports.items():
            listener = socket.create_server(("", port), backlog=1024)
            _set_control(listener, control)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            stream, _ = listener.accept()
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream: socket.socket) -> None:
        # The answer's single byte must not wait for more (Nagle).
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with stream:
            try:
                # A connection carries one flow after another: each begins with a header.
                while header := _exactly(stream, HEADER.size):
                    size, flow, request, dscp = HEADER.unpack(header)
                    if request:
                        _exactly(stream, request - HEADER.size)
                        _set_dscp(stream, dscp)
                        self._received.controls[flow] = _control_of(stream)
                        _send(stream, size)
                    else:
                        self._received.take(stream, size, flow, HEADER.size)
                        # The byte tells the sender that all of its bytes were read: the flow's end.
                        stream.sendall(b"\0")
            except OSError:
                return


def _set_control(stream: socket.socket, control: str) -> None:
    # With CAP_NET_ADMIN also one that `tcp_allowed_congestion_control` leaves out.
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())


def _control_of(stream: socket.socket) -> str:
    found = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONTROL_BYTES)
    return found.split(b"\0")[0].decode()


def _set_dscp(stream: socket.socket, dscp: int) -> None:
    # TCP keeps the ECN bits to itself.
    stream.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)


def _send(stream: socket.socket, size: int) -> None:
    for begin in range(0, size, len(CHUNK)):
        stream.sendall(CHUNK[: size - begin])


def _exactly(stream: socket.socket, n: int) -> bytes:
    """n bytes, or none if the other side has closed."""
    found = b""
    while len(found) < n:
        part = stream.recv(n - len(found))
        if not part:
            return b""
        found += part
    return found


Pool = tuple[str, int | None, str, str]
"""Connections that can replace each other: address, DSCP (`None`: any), and both congestion
controls, this end's first."""


class Client:
    """Sends flows, and asks for them."""

    def __init__(self, received: Received, ports: dict[str, int]) -> None:
        self.flows: list[dict[str, Any]] = []
        self._ports = ports
        self.left = 0
        """Flows that were ordered and have not ended."""
        self._received = received
        self._idle: dict[Pool, list[tuple[int, socket.socket]]] = {}
        """With their numbers: the oldest is used first, as in the simulator."""
        self._numbers = count()
        self._instructions: SimpleQueue[tuple[str, dict[str, Any]]] = SimpleQueue()
        self._lock = threading.Lock()

    def order(self, name: str, order: dict[str, Any]) -> None:
        """One flow more, after those that were ordered before."""
        with self._lock:
            self.left += 1
        self._instructions.put((name, order))

    def run(self) -> None:
        """Starts each flow at its time, on a thread of its own."""
        works = {"send": self._send, "ask": self._ask}
        while True:
            name, order = self._instructions.get()
            _sleep_until(order["at"])
            threading.Thread(target=self._try, args=(works[name], order), daemon=True).start()

    def _try(
        self,
        work: "Callable[[dict[str, Any], dict[str, Any]], None]",
        order: dict[str, Any],
    ) -> None:
        result = {"flow": order["flow"], "start": time.monotonic(), "end": None}
        self.flows.append(result)
        try:
            work(order, result)
        except OSError as error:
            result["error"] = str(error)
        with self._lock:
            self.left -= 1

    def _send(self, order: dict[str, Any], result: dict[str, Any]) -> None:
        """One flow, on a connection that is idle or a new one."""
        key = (order["to"], order["dscp"], order["control"], order["other"])
        number, stream = self._connection(key, order["dscp"], fresh=order["fresh"])
        self._received.controls[order["flow"]] = _control_of(stream)
        size = order["size"]
        # 2^64 - 1 stands for no end: the server reads on until the sender closes.
        stream.sendall(HEADER.pack(ENDLESS if size is None else size, order["flow"], 0, 0))
        if size is None:
            _send_until(stream, order["until"])
            return
        # The header is the flow's first bytes.
        _send(stream, size - HEADER.size)
        if stream.recv(1):
            result["end"] = time.monotonic()
            self._rest(key, number, stream)

    def _ask(self, order: dict[str, Any], result: dict[str, Any]) -> None:
        """One request, on any connection to that host that is idle or on a new one, and its
        answer."""
        # Answers have their own DSCP, set by the server: one pool serves all classes.
        key = (order["from"], None, order["control"], order["other"])
        number, stream = self._connection(key, order["dscp"], fresh=order["fresh"])
        # A request carries a header, which is its least.
        request = max(order["request"], HEADER.size)
        header = HEADER.pack(order["size"], order["flow"], request, order["dscp"])
        stream.sendall(header.ljust(request, b"\0"))
        self._received.take(stream, order["size"], order["flow"])
        result["end"] = self._received.ends[order["flow"]]
        self._rest(key, number, stream)

    def _connection(self, key: Pool, dscp: int, *, fresh: bool) -> tuple[int, socket.socket]:
        with self._lock:
            idle = self._idle.get(key)
            if idle and not fresh:
                # The lowest number first: connections go by age, as the simulator's pool does.
                number, stream = heappop(idle)
                _set_dscp(stream, dscp)
                return number, stream
        stream = socket.socket()
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _set_dscp(stream, dscp)
        number = next(self._numbers)
        host, _, control, other = key
        _set_control(stream, control)
        # Outside of the lock: a handshake may take an RTO.
        stream.connect((host, self._ports[other]))
        return number, stream

    def _rest(self, key: Pool, number: int, stream: socket.socket) -> None:
        with self._lock:
            heappush(self._idle.setdefault(key, []), (number, stream))


def _send_until(stream: socket.socket, until: float) -> None:
    # A full buffer must not hold the flow beyond its end.
    stream.settimeout(0.1)
    while time.monotonic() < until:
        try:
            stream.send(CHUNK)
        except TimeoutError:
            continue
    # Data queued behind a full link would otherwise outlive the run.
    # A linger of 0: `close` sends a RST and drops the queue.
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


class Iperf3:
    """Flows of iperf3, a process an end."""

    def __init__(self, received: Received) -> None:
        self._received = received
        self._threads: list[threading.Thread] = []
        self.errors: list[str] = []

    def start(self, name: str, order: dict[str, Any]) -> None:
        """Starts an end on a thread of its own."""
        work = {"iperf3": self._send, "iperf3-server": self._serve}[name]
        thread = threading.Thread(target=work, args=(order,), daemon=True)
        thread.start()
        self._threads.append(thread)

    def wait(self) -> None:
        """Until all have ended, or for as long as the last words of one may take."""
        until = time.monotonic() + LAST_WORDS_S
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0))

    def _send(self, order: dict[str, Any]) -> None:
        _sleep_until(order["at"])
        # Whole seconds are all it takes.
        lasts = math.ceil(max(order["until"] - time.monotonic(), 1))
        tos = order["dscp"] << 2
        # ECN goes by the namespace's congestion control; the flow has the same.
        words = f"-c {order['to']} -p {order['port']} -S {tos} -C {order['control']} -t {lasts}"
        self._run([*words.split(), "-i", "0"])

    def _serve(self, order: dict[str, Any]) -> None:
        # `-1`: one test, then it ends.
        found = self._run(["-s", "-1", "-p", str(order["port"]), "-i", str(INTERVAL_S)])
        bins = self._received.bins.setdefault(order["flow"], {})
        for interval in found.get("intervals", []):
            # Spread evenly over the bins of the interval.
            took = interval["sum"]
            first, last = (int((order["at"] + took[end]) / BIN_S) for end in ("start", "end"))
            for at in range(first, last):
                bins[at] = bins.get(at, 0) + round(took["bytes"] / (last - first))

    def _run(self, words: list[str]) -> dict[str, Any]:
        command = ["iperf3", "-J", *words]
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        try:
            found: dict[str, Any] = json.loads(ran.stdout)
        except ValueError:
            found = {"error": ran.stderr.strip() or f"ended with {ran.returncode}"}
        if "error" in found:
            self.errors.append(found["error"])
        return found


class Prober:
    """Echo requests by a raw socket: the kernel answers, so nothing but the network is late.
    They are ECN-capable, as marking would drop them otherwise."""

    def __init__(self) -> None:
        self.replies: list[tuple[int, float, float]] = []
        """DSCP, when it was sent, round-trip time."""

    def ping(self, order: dict[str, Any]) -> None:
        """Echo requests at an interval until a time."""
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        # The ECN field is the lowest two bits: 10 is ECT(0).
        raw.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, order["dscp"] << 2 | 0b10)
        # Replies of all raw sockets come to each: the identifier tells whose they are.
        identifier = threading.get_native_id() & 0xFFFF
        sent: dict[int, float] = {}
        due, number = order["from"], 0
        _sleep_until(due)
        while (now := time.monotonic()) < order["until"] + LATE_S:
            if now >= due and now < order["until"]:
                sent[number] = now
                raw.sendto(_echo(identifier, number, order["size"]), (order["to"], 0))
                # 16 bits in an echo's header.
                number, due = (number + 1) & 0xFFFF, due + order["every"]
                continue
            left = due - now if due < order["until"] else order["until"] + LATE_S - now
            if select.select([raw], [], [], max(left, 0))[0]:
                packet, now = raw.recv(2048), time.monotonic()
                # The reply begins with its IP header of 20 bytes.
                kind, _, _, identity, seq = struct.unpack_from("!BBHHH", packet, 20)
                if (kind, identity) == (0, identifier) and seq in sent:
                    begin = sent.pop(seq)
                    self.replies.append((order["dscp"], begin, now - begin))


ECHO_HEADERS = 28
"""IPv4's and ICMP's, in bytes."""


def _echo(identifier: int, number: int, size: int) -> bytes:
    """An echo request (RFC 792) with its checksum, a packet of `size` bytes; the payload is
    zero."""
    # The type and code, 8 and 0, are the first word.
    words = (0x0800, identifier, number)
    total = sum(words)
    # One fold is enough: three words carry at most 2.
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!BBHHH", 8, 0, ~total & 0xFFFF, identifier, number) + bytes(
        max(size - ECHO_HEADERS, 0)
    )


class Watcher:
    """Reads an interface's counter of received bytes."""

    def __init__(self) -> None:
        self.readings: list[tuple[float, int, float]] = []
        """The time before a reading, the bytes, the time after it."""

    def watch(self, order: dict[str, Any]) -> None:
        """Reads it at an interval until a time."""
        path = Path("/sys/class/net", order["interface"], "statistics/rx_bytes")
        with path.open(encoding="ascii") as counter:
            while (before := time.monotonic()) < order["until"]:
                # From the start again: sysfs makes the text anew at each read from 0.
                counter.seek(0)
                received = int(counter.read())
                self.readings.append((before, received, time.monotonic()))
                time.sleep(order["every"])


def _to_the_end(work: Callable[[dict[str, Any]], None], order: dict[str, Any]) -> None:
    """The interface may go before the order ends."""
    with contextlib.suppress(OSError):
        work(order)


def _sleep_until(when: float) -> None:
    left = when - time.monotonic()
    if left > 0:
        time.sleep(left)


def _counters() -> dict[str, int]:
    """The namespace's own: TCP's and IP's, as `nstat` names them."""
    found: dict[str, int] = {}
    # Both files have lines in pairs: names, then values.
    for path in ("/proc/net/netstat", "/proc/net/snmp"):
        with Path(path).open(encoding="ascii") as lines:
            rows = [line.split() for line in lines]
        for names, values in zip(rows[::2], rows[1::2], strict=True):
            group = names[0].rstrip(":")
            found |= {
                f"{group}{name}": int(value)
                for name, value in zip(names[1:], values[1:], strict=True)
            }
    return found


def main() -> None:
    """Obeys until the input closes."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    received, prober, watcher = Received(), Prober(), Watcher()
    # Every host has the same list.
    ports = {control: PORT + nth for nth, control in enumerate(sys.argv[1:])}
    client = Client(received, ports)
    iperf3 = Iperf3(received)
    Server(received, ports)
    threading.Thread(target=client.run, daemon=True).start()
    others = {"ping": prober.ping, "watch": watcher.watch}
    print(json.dumps({"ready": os.getpid()}), flush=True)
    for line in sys.stdin:
        ((name, order),) = json.loads(line).items()
        if name == "report":
            iperf3.wait()
            report = {
                "flows": client.flows,
                "received": {
                    flow: sorted(bins.items()) for flow, bins in list(received.bins.items())
                },
                "ends": dict(received.ends),
                "controls": dict(received.controls),
                "errors": iperf3.errors,
                "pings": prober.replies,
                "readings": watcher.readings,
                "counters": _counters(),
            }
            print(json.dumps(report), flush=True)
        elif name == "counters":
            print(json.dumps({"counters": _counters(), "left": client.left}), flush=True)
        elif name in ("send", "ask"):
            client.order(name, order)
        elif name.startswith("iperf3"):
            iperf3.start(name, order)
        else:
            threading.Thread(target=_to_the_end, args=(others[name], order), daemon=True).start()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        # `_exit` without flushing: the pipe is gone.
        os._exit(0)  # its lab was killed
