"""Objectives and guards: figures of the summary to minimise, and limits to keep."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from switchbed import foreign
from switchbed._native import Mistake
from switchbed.tuning.figures import NAMES, Figure, named

FEW = 2000
"""Values that a run's 99th percentile needs: the pilot's five seeds have 100 in the tail then."""
DEFAULT = "fct.small.p99_us"
GUARD = "slowdown.large.mean<=1.05*best"
"""Slowdown that large flows may suffer for the gain of small ones."""
FORM = re.compile(
    r"\s*([\w.-]+)\s*(<=|>=|=)\s*(?:([\d.eE+-]+)\s*(?:\*\s*(best|own))?|(best|own))\s*"
)


@dataclass(frozen=True)
class Objective:
    """A figure that is to be small, and positive; one that is to be large counts inversely."""

    metric: str
    """A name of an operator's figure, or a path in the summary."""

    @property
    def figure(self) -> Figure:
        return named(self.metric)

    @property
    def is_tail(self) -> bool:
        """Whether it rests on few flows."""
        return self.figure.path.rpartition(".")[2].startswith(("p95", "p99"))

    def of(self, summary: Mapping[str, Any]) -> float:
        """Return the objective's value, which every run must have."""
        value = self.figure.of(summary, "--objective")
        if value is None:
            raise Mistake(
                f"--objective {self.metric}: a run has none; name a figure that its summary has, "
                f"such as fct.all.mean_us or one of {', '.join(NAMES)}, or let more flows run"
            )
        value += self.figure.floor
        if value <= 0:
            raise Mistake(
                f"--objective {self.metric}: is {value:g} in a run, and ratios need what is above "
                "nought; such a figure makes a --guard"
            )
        return 1 / value if self.figure.larger else value

    def check(self, summary: Mapping[str, Any], flows: int | None) -> None:
        """Refuses a 99th percentile of few flows."""
        last = self.figure.path.rpartition(".")[2]
        group = self.figure.group(summary)
        n = group.get("n") if isinstance(group, Mapping) else None
        if last.startswith("p99") and isinstance(n, int) and n < FEW:
            more = f" (flows={_up(flows * FEW / n)} would do)" if flows and n else ""
            raise Mistake(
                f"--objective {self.metric}: a run's rests on {n} flows, and {FEW:,} are needed"
                f"{more}; or take a mean"
            )


@dataclass(frozen=True)
class Guard:
    """A bound on a figure of the summary."""

    metric: str
    sign: str
    number: float
    of: str | None
    """`best` of the grid or the user's `own` setting, of which `number` is a factor."""

    def value(self, summary: Mapping[str, Any]) -> float | None:
        """Return its figure; `None`: the run has none."""
        return named(self.metric).of(summary, "--guard")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a guard: `drops=0`, `slowdown.large.mean<=1.05*best`, `goodput_bps>=0.99*own`."""
        found = FORM.fullmatch(text)
        try:
            if found is None:
                raise ValueError
            number = foreign.real(found[3] or "1")
            # No figure is below 0: the guard could never be kept, or always is.
            if number < 0:
                raise ValueError
            return cls(found[1], found[2], number, found[4] or found[5])
        except ValueError:
            raise Mistake(
                f"--guard {text}: such as drops=0, slowdown.large.mean<=1.05*best or "
                "goodput_bps>=0.99*own is needed, with a number of at least 0"
            ) from None

    def __str__(self) -> str:
        whose = "" if self.of is None else f"*{self.of}"
        return f"{self.metric}{self.sign}{self.number:g}{whose}"


def _up(flows: float) -> int:
    # Two leading digits, rounded up.
    step = 10 ** max(0, len(str(int(flows))) - 2)
    return int(-(-flows // step) * step)
