"""An interface's offloads, by ethtool's ioctl: no program is needed to ask.

As a program (`python ethtool.py IFACE`) it prints them as JSON; so they are asked in another
network namespace. It imports nothing of the package.
"""

import ctypes
import fcntl
import json
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
TX_CHECKSUM, TSO, GSO, GRO, FLAGS = 0x16, 0x1E, 0x23, 0x2B, 0x25
FLAG_LRO = 1 << 15


def offloads(interface: str) -> dict[str, bool]:
    """Which of `tx`, `tso`, `gso`, `gro` and `lro` are on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:

        def value(command: int) -> int:
            # `struct ethtool_value`: command and data.
            answer = ctypes.create_string_buffer(struct.pack("=II", command, 0))
            # `struct ifreq`: 16 bytes of name, then a pointer; 40 bytes in all.
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(answer))
            try:
                fcntl.ioctl(asked, SIOCETHTOOL, request.ljust(40, b"\0"))
            except OSError:
                return 0  # a device that has no such thing
            return int(struct.unpack("=II", answer.raw[:8])[1])

        return {
            "tx": bool(value(TX_CHECKSUM)),
            "tso": bool(value(TSO)),
            "gso": bool(value(GSO)),
            "gro": bool(value(GRO)),
            "lro": bool(value(FLAGS) & FLAG_LRO),
        }


if __name__ == "__main__":
    print(json.dumps(offloads(sys.argv[1])))
