"""The two ends of a flow between namespaces: one sends so many bytes, one takes them in. A program
of its own; it says a line when it is ready or done, and lives until its input closes, so that no
FIN is among the packets.

    ends.py receive BYTES
    ends.py send ADDRESS BYTES CONTROL
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
    if sys.argv[1] == "receive":
        listener = socket.create_server(("", PORT))
        _say("ready")
        stream, _ = listener.accept()
        left = int(sys.argv[2])
        while left > 0 and (part := stream.recv(1 << 20)):
            left -= len(part)
    else:
        data = bytes(int(sys.argv[3]))
        _say("ready")
        sys.stdin.readline()
        stream = socket.socket()
        # Of the socket, as a namespace may have only what is allowed to everyone.
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[4].encode())
        stream.connect((sys.argv[2], PORT))
        stream.sendall(data)
    _say("done")
    sys.stdin.read()


def _say(word: str) -> None:
    print(word, flush=True)


if __name__ == "__main__":
    main()
