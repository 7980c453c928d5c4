"""Targets that the setting is for: the simulator, Linux's tc, or a switch."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from switchbed import asic, foreign, library, quantity
from switchbed._native import Mistake
from switchbed.tuning.grid import ALPHAS, Point

TC_MOST = 34e9
"""`red` takes a `bandwidth` of 32 bits in bytes: at most 34 Gbit/s."""
WRED_MOST = 2**31 - 1
"""SONiC's daemon reads thresholds into 32 bits with a sign."""
USUAL = range(-4, 4)


@dataclass(frozen=True)
class Target:
    """Settings that the target can take."""

    name: str
    cell: int = 1
    """Thresholds are whole cells of so many bytes."""
    shared: float | None = None
    """Bytes that lossy queues of a partition share."""
    reserve: int = 0
    """Bytes reserved for a single lossy queue."""
    alpha: float | None = None
    """Factor α of a lossy queue, as the chip ships."""
    alphas: Sequence[float] = ()
    """Factors α that the target can take."""

    @property
    def is_sim(self) -> bool:
        """Return whether it is the simulator, which takes any setting."""
        return self.name == "sim"

    def most(self, alpha: float) -> int | None:
        """Return the bytes that a queue alone can fill: a threshold over it never marks."""
        if self.shared is None:
            return None
        # `x = α · (shared - x)`: the dynamic threshold's fixed point for a queue alone.
        return int(self.reserve + alpha * self.shared / (1 + alpha))

    def grid(self, scenario: Mapping[str, Any]) -> tuple[Sequence[float], float | None]:
        """The α that are tried where none are named, and what the scenario's chip ships with."""
        chip = scenario["switch"].get("asic")
        own = self if chip in (None, self.name) else of(str(chip))
        powers = self.alphas or own.alphas
        usual = [powers[n - asic.POWERS[0]] for n in USUAL] if powers else ALPHAS
        return usual, None if chip is None else own.alpha

    def hold(self, count: int) -> int:
        """A threshold as it holds it: up to whole cells."""
        # Rounded up without floating point.
        return -(-count // self.cell) * self.cell

    def instead(self, scenario: Mapping[str, Any]) -> dict[str, Any] | None:
        """The static scheme next to one that it lacks, as a file has it."""
        scheme = scenario["scheme"]
        of_it = library.definition(scheme["name"])
        if self.is_sim or not of_it["nearest"]:
            return None
        threshold = scheme["params"][of_it["main"]]
        return {"name": of_it["nearest"], "params": {"threshold": threshold}}

    def check(self, scenario: Mapping[str, Any]) -> None:
        """Refuses a scheme that it has not, nor one like it; queues without marks are none."""
        usual = scenario["scheme"]
        names = dict.fromkeys(each["name"] for each in usual.get("queues") or [usual])
        forms = {name: library.definition(name)["wred"] for name in names}
        marks = {name: form for name, form in forms.items() if form != "off"} or forms
        lacks = [name for name, form in marks.items() if form not in ("step", "ramp")]
        if lacks and not self.is_sim:
            scheme = lacks[0]
            raise Mistake(
                f"--target {self.name}: the scheme {scheme} is no threshold or ramp of a queue: "
                "--set scheme=per-queue --set scheme.params.threshold=65pkt is one (per-queue-min "
                "and red are, too); --target sim tunes any"
            )

    def refuses(self, point: Point, rate: int, mtu: int, alpha: float | None = None) -> str | None:
        """Why it cannot hold the point, if it cannot; `alpha` is the scenario's, where its switches
        have one."""
        if self.is_sim:
            return None
        alpha = point.settings.get("switch.alpha", alpha)
        if "switch.alpha" in point.settings and alpha not in self.alphas:
            if not self.alphas:
                return "tc's disciplines share no memory: there is no alpha"
            return (
                f"an alpha of {alpha:g} is none of its own, powers of two from "
                f"{self.alphas[0]:.3g} to {self.alphas[-1]:.3g}"
            )
        sizes = [
            quantity.size(value)
            for key, value in point.settings.items()
            if re.match(r"(switch\.queue\.\d+\.)?scheme\.", key) and str(value).endswith("B")
        ]
        if sizes and min(sizes) < mtu:
            return f"{quantity.kb(min(sizes))} is less than a packet, {quantity.kb(mtu)}"
        alpha = self.alpha if alpha is None else alpha
        most = None if alpha is None else self.most(alpha)
        # The least of a ramp's ends: a ramp that begins there marks something.
        if most is not None and sizes and min(sizes) > most:
            return (
                f"a queue never holds {quantity.kb(min(sizes))}: its dynamic threshold ends at "
                f"{quantity.kb(most)}"
            )
        if self.name == "tc" and rate > TC_MOST:
            return "tc's red takes at most 34 Gbit/s"
        if self.name != "tc" and sizes and max(sizes) > WRED_MOST:
            return f"{max(sizes)} is over {WRED_MOST}"
        for key, value in point.settings.items():
            percent = 100 * value if key.endswith(".pmax") else 0.0
            # SONiC has whole percents.
            if self.name != "tc" and abs(percent - round(percent)) > 1e-9:
                return f"a probability of {percent:g} % is no whole percent"
        return None


def of(name: str) -> Target:
    """`sim`, `tc`, `sonic`, or a chip by name."""
    if name in ("sim", "tc"):
        return Target(name)
    if name == "sonic":
        return Target(name, alphas=[2.0**n for n in asic.POWERS])
    found = library.chips()
    for chip in found:
        if chip["name"] == name:
            return _chip(chip)
    names = ["sim", "tc", "sonic", *(chip["name"] for chip in found)]
    near = difflib.get_close_matches(name, names, 1, 0.75)
    raise Mistake(
        f"--target {foreign.name(name)}: is none; "
        + (f"did you mean {near[0]}? " if near else "")
        + "there are sim, tc, sonic, and chips (switchbed asic list)"
    )


def _chip(chip: Mapping[str, Any]) -> Target:
    powers = asic.alphas(chip)
    cell, cells = int(chip["cell_bytes"]), chip["lossy_cells"]
    return Target(
        chip["name"],
        cell,
        None if cells is None else int(cells) * cell / int(chip["partitions"] or 1),
        int(chip["queue_reserve_bytes"] or 0) // cell * cell,
        powers.get(chip["alpha_queue_log2"]),
        list(powers.values()),
    )
