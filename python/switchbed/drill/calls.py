"""System calls of a script: which have an effect, which have none, which the model has not."""

from switchbed.drill.script import Call, SkippedError, Value, Word

NOTHING = frozenset(
    [
        "bind",
        "fcntl",
        "fcntl64",
        "poll",
        "epoll_create",
        "epoll_create1",
        "epoll_ctl",
        "epoll_wait",
        "select",
        "open",
        "getsockopt",
        "getsockname",
        "getpeername",
        "capability",
        "usleep",
        "sleep",
    ]
)
"""Calls without an effect on what is sent."""
WRITES = {"write": 2, "send": 2, "sendto": 2, "sendfile": 3}
READS = {"read": 2, "recv": 2, "recvfrom": 2}
WITHOUT_EFFECT = frozenset(
    [
        "SO_REUSEADDR",
        "SO_REUSEPORT",
        "SO_SNDBUF",
        "SO_SNDBUFFORCE",
        "SO_KEEPALIVE",
        "SO_PRIORITY",
        "SO_SNDTIMEO",
        "SO_RCVTIMEO",
        "SO_INCOMING_CPU",
        "SO_BUSY_POLL",
        "IP_TOS",
        "IPV6_TCLASS",
        "IP_MTU_DISCOVER",
        "IPV6_MTU_DISCOVER",
        "IP_FREEBIND",
        "IP_BIND_ADDRESS_NO_PORT",
        "IPV6_V6ONLY",
        "IP_RECVERR",
        "IPV6_RECVERR",
        "TCP_NOTSENT_LOWAT",
        "TCP_INQ",
        "TCP_LINGER2",
        "SO_ATTACH_FILTER",
        "SO_BINDTODEVICE",
    ]
)
OWN = {
    "TCP_SYNCNT": (("syn_retries", "synack_retries"), range(1, 128)),
    "TCP_RTO_MAX_MS": (("rto_max_ms",), range(1_000, 120_001)),
    "TCP_RTO_MIN_US": (("rto_min_us",), range(1, 200_001)),
}
"""Options that a socket has in place of the host's settings, with the numbers they may be."""
ABSENT = {
    "TCP_KEEPIDLE": "keep-alive probes",
    "TCP_KEEPINTVL": "keep-alive probes",
    "TCP_KEEPCNT": "keep-alive probes",
    "SO_ZEROCOPY": "zero-copy",
    "TCP_ZEROCOPY_RECEIVE": "zero-copy",
    "TCP_FASTOPEN": "Fast Open",
    "TCP_FASTOPEN_CONNECT": "Fast Open",
    "TCP_FASTOPEN_KEY": "Fast Open",
    "TCP_FASTOPEN_NO_COOKIE": "Fast Open",
    "TCP_MD5SIG": "MD5 signatures",
    "TCP_MD5SIG_EXT": "MD5 signatures",
    "TCP_AO_ADD_KEY": "TCP-AO",
    "TCP_REPAIR": "repair of sockets",
    "TCP_DELACK_MAX_US": "a socket's own delay of ACKs",
    "TCP_THIN_LINEAR_TIMEOUTS": "thin streams",
    "TCP_THIN_DUPACK": "thin streams",
    "TCP_TX_DELAY": "delayed sending",
    "SO_TXTIME": "delayed sending",
    "SO_MAX_PACING_RATE": "a socket's own pacing rate",
    "SO_TIMESTAMPING": "time stamps of packets",
    "SO_TIMESTAMP": "time stamps of packets",
    "SO_OOBINLINE": "urgent data",
    "TCP_DEFER_ACCEPT": "deferred accepts",
    "TCP_WINDOW_CLAMP": "a socket's own bound of its window",
    "TCP_ULP": "upper-layer protocols",
    "TCP_QUICKACK": "quick ACKs by socket option",
}
FLAGS = {
    "MSG_ZEROCOPY": "zero-copy",
    "MSG_FASTOPEN": "Fast Open",
    "MSG_ERRQUEUE": "error queues",
    "MSG_SPLICE_PAGES": "splice",
}
PLACES = {"send": 3, "sendto": 3, "recv": 3, "recvfrom": 3, "sendmsg": 2, "recvmsg": 2}
"""Place of the flags among a call's arguments."""
BITS = {
    0x1: "MSG_OOB",
    0x2: "MSG_PEEK",
    0x80: "MSG_EOR",
    0x100: "MSG_WAITALL",
    0x2000: "MSG_ERRQUEUE",
    0x8000: "MSG_MORE",
    0x4000000: "MSG_ZEROCOPY",
    0x20000000: "MSG_FASTOPEN",
}
"""Flags by Linux's numbers (include/linux/socket.h)."""


def number(value: Value) -> int | None:
    """A whole number, or none."""
    return value if isinstance(value, int) else None


def names(value: Value) -> set[str]:
    """The names in a value."""
    match value:
        case Word(name=name):
            return {name}
        case tuple():
            return {name for part in value for name in names(part)}
        case dict():
            return {name for part in value.values() for name in names(part)}
    return set()


def flags(call: Call) -> set[str]:
    """The names among a call's arguments, and those of flags that are given as a number."""
    found = {name for argument in call.arguments for name in names(argument)}
    for argument in call.arguments[PLACES.get(call.name, len(call.arguments)) :][:1]:
        parts = argument if isinstance(argument, tuple) else (argument,)
        bits = [part for part in parts if isinstance(part, int)]
        found |= {name for bit, name in BITS.items() if any(part & bit for part in bits)}
    return found


def refuse_flags(call: Call, line: int) -> None:
    """Skips what the model has not among a call's flags."""
    for name in sorted(flags(call)):
        if name in FLAGS:
            raise SkippedError(line, FLAGS[name])


def vectors(value: Value) -> int:
    """Bytes of an iovec."""
    sizes = value if isinstance(value, tuple) else ()
    return sum(part[-1] for part in sizes if isinstance(part, tuple) and isinstance(part[-1], int))
