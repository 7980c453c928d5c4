"""Sizes, times and rates of scenario files as numbers, and numbers as people have them."""

from switchbed import _native

RATES = (("Tbps", 10**12), ("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3), ("bps", 1))


def size(text: object, mtu: int | None = None) -> int:
    """Bytes; `pkt` is so many of `mtu`."""
    return _native.size_bytes(str(text), mtu)


def time(text: object) -> float:
    """Read a time; return seconds."""
    return _native.time_ps(str(text)) / 1e12


def rate(text: object) -> int:
    """Read a rate; return bits per second."""
    return _native.rate_bps(str(text))


def bytes_of(count: float) -> str:
    """A size for a file: exact."""
    return f"{round(count)}B"


def kb(count: float) -> str:
    """A size for people, in thousands of bytes."""
    if count >= 10**6:
        return f"{count / 10**6:.4g} MB"
    return f"{count / 1000:.4g} KB" if count >= 1000 else f"{count:.4g} B"


def us(seconds: float) -> str:
    """Format a time for people, in a fitting unit."""
    if seconds >= 1:
        return f"{seconds:.4g} s"
    return f"{seconds * 1000:.4g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.4g} us"


def gbps(bits: int) -> str:
    """A rate as files have it: exact."""
    unit, scale = next(each for each in RATES if bits >= each[1] or each[1] == 1)
    whole, rest = divmod(bits, scale)
    digits = f"{rest:0{len(str(scale)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{digits}{unit}" if digits else f"{whole}{unit}"
