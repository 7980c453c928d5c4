"""The rule by which every claim is judged; no verdict is written by hand.

| verdict | the whole confidence interval, or those of all points that must be within |
| --- | --- |
| reproduced | lies within the paper's value or range, give or take the tolerance |
| in direction | lies on the paper's side of "no effect", and the effect is within a factor of two |
| not reproduced | lies outside, and is not in direction |
| undecided | none of these: more seeds would tell |

A claim without a direction (a value, or "within x %") has no "no effect" to be on a side of.
"""

from dataclasses import dataclass
from typing import Literal

Word = Literal["reproduced", "in direction", "not reproduced", "undecided"]
WORDS: tuple[Word, ...] = ("reproduced", "in direction", "not reproduced", "undecided")
ROUNDING = 1e-9


@dataclass(frozen=True)
class Target:
    """Value in the paper, in the unit of the measure."""

    low: float
    high: float
    """Equal to `low` for a value; infinite for "more than"."""
    tolerance: float
    null: float | None
    """Value of the measure without any effect; `None` for a claim without a direction."""

    def within(self, value: float) -> bool:
        """Inside, give or take the tolerance."""
        return self.low - self.tolerance <= value <= self.high + self.tolerance


@dataclass(frozen=True)
class Measured:
    """Measured value with its interval."""

    estimate: float
    low: float | None
    """None where one seed alone cannot have an interval."""
    high: float | None
    seeds: int
    flows: int | None
    """Fewest flows behind a figure; none where no flows were counted."""
    note: str = ""
    outside: bool = False
    """Of several points that must all be within, one is wholly outside."""
    least: float | None = None
    """Of several such points, the least bound of any; what is printed is that of the worst."""
    most: float | None = None
    """Greatest bound of any of the points."""


def judge(target: Target, measured: Measured) -> Word:
    """Judge whether the measured value confirms the target."""
    low = measured.low if measured.least is None else measured.least
    high = measured.high if measured.most is None else measured.most
    if low is None or high is None:
        return "undecided"
    if target.within(low) and target.within(high):
        return "reproduced"
    if target.null is not None:
        # A range that reaches to "no effect" or past it has its far end's side.
        above = target.high - target.null > target.null - target.low
        right_side = low > target.null if above else high < target.null
        if right_side and within_two(target, measured.estimate):
            return "in direction"
        if (high < target.null) if above else (low > target.null):
            return "not reproduced"
    beyond = high < target.low - target.tolerance or low > target.high + target.tolerance
    return "not reproduced" if beyond or measured.outside else "undecided"


def within_two(target: Target, measured: float | None) -> bool:
    """Whether an effect is at least half of the paper's and at most twice it."""
    if measured is None or target.null is None:
        return False
    ends = sorted(abs(end - target.null) for end in (target.low, target.high))
    effect = abs(measured - target.null)
    return ends[0] / 2 - ROUNDING <= effect <= 2 * ends[1] + ROUNDING
