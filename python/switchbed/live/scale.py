"""A scenario made slower: rates divided, times multiplied, sizes as they are. Thresholds and
buffers hold as many packets as before and last as many round trips, so all goes as before, only
slower; what does not scale is the operating system."""

import re
from collections.abc import Iterator
from typing import Any

TIMES = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
RATES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
QUANTITY = re.compile(r"([0-9.]+)([a-zA-Z]+)")


def overrides(scenario: dict[str, Any], scale: float) -> list[str]:
    """`key=value` for every rate and time of a resolved scenario."""
    return [f"{key}={text}" for key, text in _scaled("", scenario, scale)]


def _scaled(path: str, value: object, scale: float) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for key, inner in value.items():
                yield from _scaled(f"{path}.{key}" if path else key, inner, scale)
        case list():
            for i, inner in enumerate(value):
                yield from _scaled(f"{path}.{i}", inner, scale)
        case str() if path != "title":
            new = quantity(value, scale)
            if new is not None:
                yield path, new


def quantity(text: str, scale: float) -> str | None:
    """A rate times the scale, a time over it; None for anything else."""
    found = QUANTITY.fullmatch(text)
    if found is None:
        return None
    number, unit = float(found[1]), found[2]
    if unit in TIMES:
        return f"{round(number * TIMES[unit] / scale)}ps"
    if unit in RATES:
        return f"{round(number * RATES[unit] * scale)}bps"
    return None


def seconds(text: str) -> float:
    """A resolved time."""
    found = QUANTITY.fullmatch(text)
    if found is None or found[2] not in TIMES:
        raise ValueError(text)
    return float(found[1]) * TIMES[found[2]] / 1e12
