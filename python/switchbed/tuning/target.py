"""What shall hold the setting: the simulator, Linux's tc, or a switch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from switchbed import library, quantity
from switchbed._native import Mistake
from switchbed.sonic.exporting import NEAREST
from switchbed.tuning.grid import Point

TC_MOST = 34e9
"""`red` takes a `bandwidth` of 32 bits in bytes: at most 34 Gbit/s."""
WRED_MOST = 2**31 - 1
"""SONiC's daemon reads thresholds into 32 bits with a sign."""
STEPS = ("per-queue", "per-queue-min", "per-queue-dq", "red")
"""Schemes that are a threshold or a ramp a queue, which is what switches and `red` have."""


@dataclass(frozen=True)
class Target:
    """What it can hold."""

    name: str
    cell: int = 1
    """Thresholds are whole cells of so many bytes."""
    queue_most: int | None = None
    """What a queue alone can fill: a threshold over it never marks."""

    @property
    def is_sim(self) -> bool:
        """It holds whatever the simulator does."""
        return self.name == "sim"

    def hold(self, count: int) -> int:
        """A threshold as it holds it: up to whole cells."""
        return -(-count // self.cell) * self.cell

    def instead(self, scenario: Mapping[str, Any]) -> dict[str, Any] | None:
        """The static scheme next to one that it lacks, as a file has it."""
        scheme = scenario["scheme"]
        if self.is_sim or scheme["name"] not in NEAREST:
            return None
        name, key = NEAREST[scheme["name"]]
        return {"name": name, "params": {"threshold": scheme["params"][key]}}

    def check(self, scenario: Mapping[str, Any]) -> None:
        """Refuses a scheme that it has not, nor one like it."""
        scheme = scenario["scheme"]["name"]
        if not self.is_sim and scheme not in STEPS:
            raise Mistake(
                f"--target {self.name}: has no {scheme}: a threshold or a ramp a queue is what it "
                "has (scheme.name = per-queue, per-queue-min or red); --target sim tunes any"
            )

    def refuses(self, point: Point, rate: int, mtu: int) -> str | None:
        """Why it cannot hold the point, if it cannot."""
        if self.is_sim:
            return None
        sizes = [
            quantity.size(value)
            for key, value in point.settings.items()
            if key.startswith("scheme.") and str(value).endswith("B")
        ]
        if sizes and min(sizes) < mtu:
            return f"{quantity.kb(min(sizes))} is less than a packet, {quantity.kb(mtu)}"
        if self.queue_most is not None and sizes and min(sizes) > self.queue_most:
            return (
                f"a queue never holds {quantity.kb(min(sizes))}: its dynamic threshold ends at "
                f"{quantity.kb(self.queue_most)}"
            )
        if self.name == "tc" and rate > TC_MOST:
            return "tc's red takes at most 34 Gbit/s"
        if self.name != "tc" and sizes and max(sizes) > WRED_MOST:
            return f"{max(sizes)} is over {WRED_MOST}"
        for key, value in point.settings.items():
            percent = 100 * value if key.endswith(".pmax") else 0.0
            if self.name != "tc" and abs(percent - round(percent)) > 1e-9:
                return f"a probability of {percent:g} % is no whole percent"
        return None


def of(name: str) -> Target:
    """`sim`, `tc`, `sonic`, or a chip by name."""
    if name in ("sim", "tc", "sonic"):
        return Target(name)
    for chip in library.chips():
        if chip["name"] == name:
            most = chip["queue_limit_cells"]
            cell = int(chip["cell_bytes"])
            return Target(name, cell, None if most is None else int(most) * cell)
    raise Mistake(
        f"--target {name}: is none; there are sim, tc, sonic, and chips (switchbed asic list)"
    )
