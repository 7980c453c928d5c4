"""What became of a key on its way to a switch or from it: `exact`, `approximated` or `refused`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

EXACT, APPROXIMATED, REFUSED, LEFT_OUT = "exact", "approximated", "refused", "left out"


@dataclass(frozen=True)
class Finding:
    """One line."""

    kind: str
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.key}: {self.text}"

    def to_json(self) -> dict[str, str]:
        """As a sidecar has it."""
        return {"finding": self.kind, "key": self.key, "text": self.text}


@dataclass
class Findings:
    """All of a conversion."""

    all: list[Finding] = field(default_factory=list)

    def exact(self, key: str, text: str) -> None:
        """Nothing is lost."""
        self.all.append(Finding(EXACT, key, text))

    def approximated(self, key: str, text: str) -> None:
        """What, from, to, and by how much it is off."""
        self.all.append(Finding(APPROXIMATED, key, text))

    def refused(self, key: str, text: str) -> None:
        """Why, and what would do."""
        self.all.append(Finding(REFUSED, key, text))

    def left_out(self, key: str, text: str) -> None:
        """Of an import: what a scenario has no word for."""
        self.all.append(Finding(LEFT_OUT, key, text))

    @property
    def refusals(self) -> Sequence[Finding]:
        """Those that nothing is written for."""
        return [each for each in self.all if each.kind == REFUSED]
