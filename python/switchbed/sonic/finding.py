"""Fates of keys on the way to a switch or from it: `exact`, `approximated` or `refused`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

EXACT, APPROXIMATED, REFUSED, LEFT_OUT = "exact", "approximated", "refused", "left out"
WORST_FIRST = (REFUSED, LEFT_OUT, APPROXIMATED, EXACT)
MOST_TEXTS = 8
"""Of one key: queues that differ have a text each."""


@dataclass(frozen=True)
class Finding:
    """One line."""

    kind: str
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.key}: {self.text}"

    def to_json(self) -> dict[str, str]:
        """Return the object of a sidecar file."""
        return {"finding": self.kind, "key": self.key, "text": self.text}


@dataclass
class Findings:
    """All of a conversion."""

    all: list[Finding] = field(default_factory=list)

    def exact(self, key: str, text: str) -> None:
        """Nothing is lost."""
        self.all.append(Finding(EXACT, key, text))

    def approximated(self, key: str, text: str) -> None:
        """Add a key that was approximated: key, both values, and the difference."""
        self.all.append(Finding(APPROXIMATED, key, text))

    def refused(self, key: str, text: str) -> None:
        """Why, and what would do."""
        self.all.append(Finding(REFUSED, key, text))

    def left_out(self, key: str, text: str) -> None:
        """Add a key of an import that a scenario cannot express."""
        self.all.append(Finding(LEFT_OUT, key, text))

    def settle(self) -> None:
        """One verdict for each key, the worst that was given, with all that was said of it."""
        by_key: dict[str, list[Finding]] = {}
        for each in self.all:
            by_key.setdefault(each.key, []).append(each)
        self.all = [_settled(key, found) for key, found in by_key.items()]

    @property
    def refusals(self) -> Sequence[Finding]:
        """Return the refused keys, for which nothing is written."""
        return [each for each in self.all if each.kind == REFUSED]


def _settled(key: str, found: Sequence[Finding]) -> Finding:
    kind = next(kind for kind in WORST_FIRST if any(each.kind == kind for each in found))
    # Of a refused key the reasons alone: the rest is not written.
    texts = list(
        dict.fromkeys(each.text for each in found if kind != REFUSED or each.kind == REFUSED)
    )
    more = len(texts) - MOST_TEXTS
    shown = "; ".join(texts[:MOST_TEXTS])
    return Finding(kind, key, f"{shown}; and {more} more" if more > 0 else shown)
