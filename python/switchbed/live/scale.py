"""A scenario made slower: rates divided, times multiplied, sizes as they are. Thresholds and
buffers hold as many packets as before and last as many round trips, so all goes as before, only
slower; what does not scale is the operating system."""

import re
from typing import Any

from switchbed import _native
from switchbed._native import Mistake

TIME = re.compile(r"[0-9.]+(ps|ns|us|ms|s)")
RATE = re.compile(r"[0-9.]+[kMG]?bps")


def scaled(value: Any, scale: float) -> Any:
    """A resolved scenario, or a part of it, with every rate times the scale and every time
    over it."""
    match value:
        case dict():
            return {k: v if k == "title" else scaled(v, scale) for k, v in value.items()}
        case list():
            return [scaled(each, scale) for each in value]
        case str() if TIME.fullmatch(value):
            return f"{round(_native.time_ps(value) / scale)}ps"
        case str() if RATE.fullmatch(value):
            return f"{round(_native.rate_bps(value) * scale)}bps"
        case _:
            return value


def seconds(text: str) -> float:
    """A resolved time in seconds."""
    return _native.time_ps(text) / 1e12


def size_bytes(text: str) -> int:
    """A resolved size in bytes."""
    return _native.size_bytes(text)


def check(scale: float) -> None:
    """Refuses a scale that makes no sense."""
    if not 0 < scale <= 1:
        raise Mistake(f"--scale {scale}: it must be over 0 and at most 1, such as 0.01")
