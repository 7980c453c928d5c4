"""Whether there is memory for runs, before they start."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from switchbed._native import Mistake, Plan

SHARE = 0.8
"""Part of the memory that runs may take; the rest is a reserve."""
LARGE = 1_000_000_000
"""Bytes from which on a run says how much it will take."""


class Need(NamedTuple):
    """Bytes that runs will add to the memory of their process, as far as their scenarios tell."""

    parts: dict[tuple[str, int], int]
    """How many there will be of what, and of how many bytes each."""

    @classmethod
    def of(cls, plans: Sequence[Plan], jobs: int) -> Self:
        """Return the need of `jobs` runs at a time, taken as the largest."""
        lists = (json.loads(plan.memory) for plan in plans)
        each = [Counter({(p["what"], p["each"]): p["count"] for p in parts}) for parts in lists]
        each.sort(key=_bytes, reverse=True)
        return cls(dict(sum(each[:jobs], Counter())))

    @property
    def bytes(self) -> int:
        """Bytes needed by all parts."""
        return _bytes(self.parts)

    def __str__(self) -> str:
        parts = sorted(self.parts.items(), key=lambda part: -part[0][1] * part[1])
        words = (f"{count:,} {what} of {size} B" for (what, size), count in parts)
        return f"about {amount(self.bytes)} of memory beside the program's own ({', '.join(words)})"

    def check(self, free: float) -> None:
        """Refuses what is too much."""
        if self.bytes > SHARE * free:
            raise Mistake(
                f"needs {self}: that is over {SHARE:.0%} of the {amount(free)} that there are; "
                "ask for less, give --jobs 1, or --any-memory (any_memory=True) to try all the same"
            )


def _bytes(parts: dict[tuple[str, int], int]) -> int:
    return sum(size * count for (_, size), count in parts.items())


def free(root: Path = Path("/")) -> float:
    """The lesser of the machine's free memory and its control group's limit, in bytes."""
    found = math.inf
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            found = int(line.split()[1]) * 1024
    return min([found, *_limits(root)])


def _limits(root: Path) -> Sequence[float]:
    """Return the limits of the control group that this process is in, and of those around it."""
    groups = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            return _upwards(groups, path, "memory.max")
        if "memory" in controllers.split(","):
            return _upwards(groups / "memory", path, "memory.limit_in_bytes")
    return []


def _upwards(top: Path, path: str, name: str) -> Sequence[float]:
    group = top / path.strip("/")
    places = [group, *group.parents]
    inside = [place for place in places if place == top or top in place.parents]
    words = (line for place in inside for line in _lines(place / name)[:1])
    return [int(word) for word in words if word.isdigit()]


def _lines(path: Path) -> list[str]:
    """None where there is no such file, as on other systems."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def amount(size: float) -> str:
    """Format a size for people: `1.2 GB`."""
    if size >= 1e9:
        return f"{size / 1e9:,.1f} GB"
    return f"{size / 1e6:,.0f} MB" if size >= 1e6 else f"{size / 1e3:,.0f} KB"
