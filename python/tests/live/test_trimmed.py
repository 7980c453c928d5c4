"""The receiver that prints trimmed datagrams, over the loopback interface."""

import runpy
import socket
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[3] / "examples/trimmed.py"


@pytest.mark.parametrize("six", [False, True])
def test_a_datagram_with_the_dscp_is_a_trimmed_one(six: bool) -> None:
    tool = runpy.run_path(str(TOOL))
    with tool["bound"](0, six=six) as receiver:
        port = receiver.getsockname()[1]
        family = socket.AF_INET6 if six else socket.AF_INET
        level, name = (
            (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if six else (socket.IPPROTO_IP, socket.IP_TOS)
        )
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            for dscp, size in ((46, 22), (0, 1_000)):
                sender.setsockopt(level, name, dscp << 2 | 2)
                sender.sendto(bytes(size), ("::1" if six else "127.0.0.1", port))
        heard = tool["datagrams"](receiver)
        lines = [tool["line"](next(heard), 46) for _ in range(2)]
    assert lines[0].endswith(": 22 bytes, DSCP 46, ECN 2: trimmed")
    assert lines[1].endswith(": 1000 bytes, DSCP 0, ECN 2: whole")


def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    tool = runpy.run_path(str(TOOL))
    assert tool["main"](["one", "46"]) == 2
    assert "usage" in capsys.readouterr().err
