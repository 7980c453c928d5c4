"""Print UDP datagrams, and which a switch has trimmed: `python trimmed.py PORT DSCP [COUNT]`.

A switch gives cut packets a DSCP of their own (`switch.trimming.dscp`): the socket reports it.
"""

import socket
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple


class Datagram(NamedTuple):
    """A datagram that has come."""

    sender: str
    """Address and port."""
    payload: bytes
    dscp: int
    ecn: int


def bound(port: int, *, six: bool = False) -> socket.socket:
    """Return a socket that hears of each datagram's traffic class; port 0: any."""
    family = socket.AF_INET6 if six else socket.AF_INET
    receiver = socket.socket(family, socket.SOCK_DGRAM)
    level, name = (
        (socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS)
        if six
        else (socket.IPPROTO_IP, socket.IP_RECVTOS)
    )
    receiver.setsockopt(level, name, 1)
    receiver.bind(("::" if six else "0.0.0.0", port))
    return receiver


def datagrams(receiver: socket.socket) -> Iterator[Datagram]:
    """Yield what comes, without an end."""
    while True:
        payload, ancillary, _, sender = receiver.recvmsg(65_536, 256)
        fields = 0
        for level, kind, data in ancillary:
            if (level, kind) == (socket.IPPROTO_IP, socket.IP_TOS):
                fields = data[0]
            elif (level, kind) == (socket.IPPROTO_IPV6, socket.IPV6_TCLASS):
                (fields,) = struct.unpack("i", data)
        yield Datagram(f"{sender[0]}:{sender[1]}", payload, fields >> 2, fields & 3)


def line(datagram: Datagram, dscp: int) -> str:
    """Return the line that is printed for a datagram."""
    fate = "trimmed" if datagram.dscp == dscp else "whole"
    told = f"{datagram.sender}: {len(datagram.payload)} bytes, DSCP {datagram.dscp}"
    return f"{told}, ECN {datagram.ecn}: {fate}"


def main(arguments: list[str]) -> int:
    """Print datagrams until COUNT have come."""
    if not 2 <= len(arguments) <= 3 or not all(each.isdecimal() for each in arguments):
        sys.stderr.write("usage: python trimmed.py PORT DSCP [COUNT]\n")
        return 2
    port, dscp, *count = map(int, arguments)
    with bound(port) as receiver:
        for number, datagram in enumerate(datagrams(receiver), 1):
            sys.stdout.write(line(datagram, dscp) + "\n")
            sys.stdout.flush()
            if count and number == count[0]:
                break
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
