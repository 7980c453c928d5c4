"""The two ends of a flow between namespaces: one sends so many bytes, one takes them in. A program
of its own; it says a line when it is ready or done, and lives until its input closes, so that no
FIN is among the packets.

    ends.py receive BYTES REQUEST CONTROL
    ends.py send ADDRESS BYTES REQUEST CONTROL
    ends.py answer BYTES REQUEST CONTROL      sends BYTES once REQUEST bytes have come
    ends.py ask ADDRESS BYTES REQUEST CONTROL
"""

import contextlib
import os
import socket
import sys

PORT = 5001
PRIORITY = 5
"""Real-time, below the switch."""


def main() -> None:
    """The command is in the arguments."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    word, (size, request), control = sys.argv[1], map(int, sys.argv[-3:-1]), sys.argv[-1]
    data = bytes(size)
    # Of the socket, as a namespace may have only what is allowed to everyone.
    option = (socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    if word in ("receive", "answer"):
        listener = socket.create_server(("", PORT))
        listener.setsockopt(*option)
        _say("ready")
        stream, _ = listener.accept()
        if word == "receive":
            _take(stream, size)
        else:
            _take(stream, request)
            stream.sendall(data)
    else:
        _say("ready")
        sys.stdin.readline()
        stream = socket.socket()
        stream.setsockopt(*option)
        stream.connect((sys.argv[2], PORT))
        if word == "send":
            stream.sendall(data)
        else:
            stream.sendall(bytes(request))
            _take(stream, size)
    _say("done")
    sys.stdin.read()


def _take(stream: socket.socket, left: int) -> None:
    while left > 0 and (part := stream.recv(1 << 20)):
        left -= len(part)


def _say(word: str) -> None:
    print(word, flush=True)


if __name__ == "__main__":
    main()
