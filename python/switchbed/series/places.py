"""Where the values of a setting stand on an axis: by their size where all are numbers or quantities
of one kind, else by their names."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from switchbed import comparing, quantity


@dataclass(frozen=True)
class Places:
    """Positions of values on an axis."""

    names: tuple[str, ...]
    """Values that are no numbers, in their order; empty if all are numbers."""
    xs: tuple[float, ...]
    unit: str

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """The axis of these values."""
        once = list({json.dumps(value): value for value in values}.values())
        numbers = [number(value) for value in once]
        units = {quantity_of(value)[1] if isinstance(value, str) else "" for value in once}
        known = sorted(n for n in numbers if n is not None)
        if len(known) < len(once) or len(units) > 1:
            names = tuple(map(comparing.text, once))
            return cls(names, tuple(map(float, range(len(names)))), "")
        return cls((), tuple(known), "".join(units))

    def at(self, value: Any) -> float:
        """Return the position of a value."""
        found = number(value)
        if self.names or found is None:
            return float(self.names.index(comparing.text(value)))
        return found


def number(value: Any) -> float | None:
    """A setting as a place on an axis: a number, or a quantity with its unit."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    return quantity_of(value)[0] if isinstance(value, str) else None


def quantity_of(text: str) -> tuple[float | None, str]:
    """A quantity and the unit that all of its kind are shown in."""
    for read, scale, unit in (
        (quantity.time, 1e6, "µs"),
        (quantity.rate, 1e-9, "Gbps"),
        (quantity.size, 1e-3, "KB"),
    ):
        try:
            return read(text) * scale, unit
        except ValueError:
            continue
    packets = text.removesuffix("pkt")
    if packets != text:
        try:
            return float(packets), "packets"
        except ValueError:
            pass
    return None, ""
