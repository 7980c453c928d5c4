"""Statistics over seeds: means and tails with their intervals, paired comparisons, convergence.

Seeds are independent repetitions, so an interval over seeds needs no assumption about what
happens inside a run. Flows and samples of one run are not independent (a queue hits them
together): an interval over them is too narrow, and its users must say so.
docs/statistics.md says which method stands where and why.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from switchbed.distributions import binomial, resampled, student

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

LEVEL = 0.95
"""Confidence level of an interval by default."""

ROUNDING = 1e-12
"""Relative difference that sums in another order make, and no other outcome does."""

WIDEST = 10.0
"""Ends that are further apart than this factor do not say how large a positive quantity is."""
FEW = "not enough seeds"
"""Text in place of a figure whose interval would be too wide."""


@dataclass(frozen=True)
class Range:
    """The values that a quantity can have. Its intervals stay inside."""

    low: float = -math.inf
    high: float = math.inf

    def ends(self, middle: float, reach: float) -> tuple[float, float]:
        """The interval around an estimate, symmetric with this reach where the range has no ends:
        on the logarithm of the distance from an end (by the delta method), and between two ends
        on the logit."""
        below, above = middle - self.low, self.high - middle
        if math.isinf(below) and math.isinf(above):
            return middle - reach, middle + reach
        if math.isinf(above):
            # The delta method: the error of log x is that of x over x.
            share = reach / below
            return self.low + below * math.exp(-share), self.low + below * _exp(share)
        if math.isinf(below):
            share = reach / above
            return self.high - above * _exp(share), self.high - above * math.exp(-share)
        # On the logit the slope is 1 / below + 1 / above.
        odds, share = below / above, reach * (1 / below + 1 / above)
        low, high = odds * math.exp(-share), odds * _exp(share)
        width = self.high - self.low
        # From the odds back to the value; the upper end by its own distance, exact near the end.
        return self.low + width * low / (1 + low), self.high - width / (1 + high)

    def holds(self, value: float) -> bool:
        """Whether the value is inside."""
        return self.low <= value <= self.high

    def times(self, factor: float) -> "Range":
        """The range in a unit that is so much smaller."""
        return Range(factor * self.low, factor * self.high)


ANY = Range()
POSITIVE = Range(0.0)
"""Range of times, lengths, counts and ratios."""
SLOWDOWN = Range(1.0)
"""Range of an FCT over the ideal one."""
SHARE = Range(0.0, 1.0)
"""Range of utilisations, shares and Jain's index."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval; bounds are `None` where the data give none."""

    estimate: float
    low: float | None
    high: float | None
    n: int
    """Number of values behind it."""
    level: float = LEVEL

    def holds(self, value: float) -> bool:
        """Whether the interval has the value in it; an unknown one has none.

        Args:
            value: Value in question, such as 1 for a ratio.
        """
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    @property
    def relative(self) -> float:
        """Half of the width over the estimate; infinite without bounds."""
        if self.low is None or self.high is None or not self.estimate:
            return math.inf
        return (self.high - self.low) / 2 / abs(self.estimate)

    @property
    def tells(self) -> bool:
        """Whether a positive quantity's interval is narrow enough to say how large it is."""
        if self.low is None or self.high is None:
            return False
        # A factor between the ends, as positive quantities differ by factors.
        return self.high <= WIDEST * self.low


@dataclass(frozen=True)
class Change:
    """How much lower or higher one scheme is than another, over seeds that both have."""

    ratio: Interval
    """Geometric mean of the seeds' ratios."""

    @property
    def words(self) -> str:
        """`4.1 % lower`, or that the seeds are too few to say so."""
        if self.untold:
            return FEW
        if self.same:
            return "the same"
        percent = self._lower(self.ratio.estimate)
        return f"{abs(percent):.1f} % {'lower' if percent >= 0 else 'higher'}"

    @property
    def same(self) -> bool:
        """The values are equal, seed by seed."""
        ratio = self.ratio
        # One seed has no interval.
        return ratio.estimate == 1 and (ratio.n == 1 or ratio.low == ratio.high == 1)

    @property
    def untold(self) -> bool:
        """The interval is wide and contains 1: neither direction nor size is known."""
        low, high = self.ratio.low, self.ratio.high
        if low is None or high is None:
            return False
        return low <= 1 <= high and not self.ratio.tells

    @property
    def drawn(self) -> Interval:
        """The ratio as figures show it: without bounds that say nothing."""
        return replace(self.ratio, low=None, high=None) if self.untold else self.ratio

    @property
    def bounds(self) -> str | None:
        """`1.2–7.0`, in percent and in the direction of `words`; `−72.6 to +124.8` of the values
        themselves where the direction is not known."""
        if self.ratio.low is None or self.ratio.high is None or self.untold or self.same:
            return None
        ends = (-self._lower(end) for end in (self.ratio.low, self.ratio.high))
        # Adding 0.0 makes -0.0 a plain 0.
        low, high = (round(end, 1) + 0.0 for end in ends)
        if low < 0 < high:
            return f"−{-low:.1f} to +{high:.1f}"
        nearer, farther = sorted((abs(low), abs(high)))
        return f"{nearer:.1f}–{farther:.1f}"

    @staticmethod
    def _lower(ratio: float) -> float:
        return 100 * (1 - ratio)

    def __str__(self) -> str:
        """`4.1 % lower (95 % CI 1.2–7.0 %, 5 seeds)`."""
        if self.untold:
            return f"{FEW} ({self.ratio.n})"
        if self.same:
            return f"{self.words} ({seeds(self.ratio.n)})"
        if self.bounds is None:
            return f"{self.words} ({seeds(self.ratio.n)}, no interval)"
        level = f"{100 * self.ratio.level:g} % CI"
        return f"{self.words} ({level} {self.bounds} %, {seeds(self.ratio.n)})"


def seeds(n: int) -> str:
    """Format a number of seeds: `1 seed`, `3 seeds`."""
    return f"{n} seed{'s' * (n != 1)}"


def looked(cells: int, what: str = "intervals", level: float = LEVEL) -> str | None:
    """A line about so many intervals read together; `None` where there are not several.

    Example:
        >>> print(stats.looked(10))
        10 intervals of 95 % each: about 0.5 of them miss the truth by chance alone
    """
    if cells < 2:
        return None
    chance = f"{cells * (1 - level):.2g}"
    return (
        f"{cells} {what} of {100 * level:g} % each: about {chance} of them miss the truth by "
        "chance alone"
    )


def mean(values: Sequence[float], level: float = LEVEL, within: Range = ANY) -> Interval:
    """The mean of independent values with Student's interval: exact for normal ones, and for others
    the better the more there are. The interval stays `within` the quantity's range: the mean's
    standard error is carried over to the logarithm (or logit) and back. One value has no interval,
    nor have values outside the range.

    Example:
        >>> stats.mean([3.0, 4.0, 5.0]).estimate
        4.0
    """
    n = _some(values)
    # `fsum` rounds once, whatever the order of runs.
    middle = math.fsum(values) / n
    if n == 1 or not all(map(within.holds, values)):
        return Interval(middle, None, None, n, level)
    # `n - 1`, as the mean is taken from the same values.
    error = math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (n - 1) / n)
    # Equal but for rounding; or at an end of the range, where logarithm and logit are infinite.
    if error <= ROUNDING * abs(middle) or not within.low < middle < within.high:
        return Interval(middle, middle, middle, n, level)
    low, high = within.ends(middle, student(n - 1, (1 + level) / 2) * error)
    return Interval(middle, low, high if math.isfinite(high) else None, n, level)


def paired(values: Sequence[float], base: Sequence[float], level: float = LEVEL) -> Change:
    """`values` against `base`, seed by seed: both schemes met the same flows, so what a seed
    does to both cancels in its ratio. The interval is Student's on the ratios' logarithms,
    so that a halving and a doubling weigh the same and comparing the other way round gives
    the reciprocal.

    Raises `ValueError` for values that are not positive or lists of different lengths.

    Example:
        >>> print(stats.paired([1.0, 2.1, 3.0], [2.0, 4.0, 6.1]))
        49.5 % lower (95 % CI 45.0–53.5 %, 3 seeds)
    """
    # `not v > 0` refuses not-a-number, too.
    if any(not v > 0 for v in (*values, *base)):
        raise ValueError("ratios need positive values")
    logs = [_log_ratio(v, b) for v, b in zip(values, base, strict=True)]
    found = mean(logs, level)
    low, high = (None if end is None else _exp(end) for end in (found.low, found.high))
    return Change(Interval(math.exp(found.estimate), low, high, found.n, level))


def percentile(values: Sequence[float], p: float) -> float:
    """The sorted list's element ⌊p·n⌋, as summaries have it.

    Example:
        >>> stats.percentile([1, 2, 3, 4], 0.5)
        3
    """
    n = _some(values)
    # 0.29 · 100 is 28.999… in floating point: rounded first.
    return sorted(values)[min(math.floor(round(p * n, 9)), n - 1)]


def tail(values: Sequence[float], p: float, level: float = LEVEL) -> Interval:
    """The percentile with the interval between two of the values that holds for any
    distribution (Conover, Practical Nonparametric Statistics, section 3.2). Where there are
    too few values beyond the percentile a bound does not exist: a 95 % interval of a 99th
    percentile needs 368 values.

    Example:
        >>> stats.tail(range(1000), 0.99).estimate
        990
    """
    n = _some(values)
    # The count of values below the percentile is binomial, whatever their distribution.
    below, above = binomial(n, p, (1 - level) / 2)
    ordered = sorted(values)
    # Rank 0: no value lies low enough for this level.
    low = ordered[below - 1] if below else None
    high = ordered[above] if above < n else None
    return Interval(percentile(values, p), low, high, n, level)


def bootstrap(
    values: Sequence[float],
    statistic: "Callable[[NDArray[float64]], float]",
    level: float = LEVEL,
    resamples: int = 9999,
) -> Interval:
    """Any statistic of independent values with its bootstrap interval, bias-corrected and
    accelerated (Efron 1987). Random, but the same for the same values.

    Example:
        >>> stats.bootstrap([3.0, 4.0, 5.0, 9.0], np.median).estimate
        4.5
    """
    import numpy as np

    n = _some(values)
    data = np.asarray(values, dtype=float)
    middle = float(statistic(data))
    if n == 1:
        return Interval(middle, None, None, 1, level)
    # Equal values resample to themselves, and BCa's acceleration divides by their spread.
    if np.ptp(data) == 0:
        return Interval(middle, middle, middle, n, level)
    low, high = resampled(data, statistic, level, resamples) or (None, None)
    return Interval(middle, low, high, n, level)


def jain(values: Sequence[float]) -> float:
    """Jain's index (Σx)² / (n·Σx²) of what each got: 1 is even, 1/n is one alone. Where
    nobody got anything they share it evenly.

    Example:
        >>> stats.jain([1.0, 1.0, 2.0])
        0.8888888888888888
    """
    n = _some(values)
    squares = math.fsum(v * v for v in values)
    # All zero: an even share of nothing.
    return math.fsum(values) ** 2 / (n * squares) if squares else 1.0


def settling_time(
    times: Sequence[float], values: Sequence[float], target: float, tolerance: float
) -> float | None:
    """Convergence: the first of `times` from which every value stays within `tolerance` (a
    fraction) of `target`, such as a joining flow's rate of its fair share. `None` if the last
    value is outside.

    Example:
        >>> stats.settling_time([1.0, 2.0, 3.0], [0.2, 0.48, 0.52], target=0.5, tolerance=0.1)
        2.0
    """
    settled = None
    for time, value in zip(times, values, strict=True):
        inside = abs(value - target) <= tolerance * abs(target)
        # One value outside begins anew.
        settled = (time if settled is None else settled) if inside else None
    return settled


def seeds_needed(values: Sequence[float], relative: float, level: float = LEVEL) -> int:
    """How many seeds bring the mean's interval within `relative` of it on either side, as far
    as these tell: the smallest n with t(n - 1)·s / √n at most that (a range's ends move such a
    narrow interval by little). At least two values.

    Example:
        >>> stats.seeds_needed([1.0, 1.1, 1.2], 0.05)
        16
    """
    return _needed(values, relative * abs(math.fsum(values) / _some(values)), level)


def pairs_needed(
    values: Sequence[float], base: Sequence[float], relative: float, level: float = LEVEL
) -> int:
    """How many seeds bring the interval of `paired`'s ratio within `relative` of it on either
    side, as far as these tell. At least two pairs.

    Example:
        >>> stats.pairs_needed([1.0, 2.1, 3.0], [2.0, 4.0, 6.1], 0.05)
        5
    """
    logs = [_log_ratio(v, b) for v, b in zip(values, base, strict=True)]
    # From m·e⁻ʳ to m·eʳ it is m·sinh(r) wide on average, r the reach on the logarithms.
    return _needed(logs, math.asinh(relative), level)


def _log_ratio(value: float, base: float) -> float:
    """The logarithm of a ratio, none between values equal but for rounding."""
    log = math.log(value / base)
    return 0.0 if abs(log) <= ROUNDING else log


def _needed(values: Sequence[float], goal: float, level: float) -> int:
    """The smallest number of values whose mean's interval reaches no further than `goal`."""
    n = _some(values)
    if n == 1:
        raise ValueError("one value does not tell how much values vary")
    middle = math.fsum(values) / n
    spread = math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (n - 1))
    if not goal > 0:
        raise ValueError("no number of seeds brings an interval within nothing")

    def enough(count: int) -> bool:
        return student(count - 1, (1 + level) / 2) * spread <= goal * math.sqrt(count)

    # `t(n - 1) / √n` falls with n: once enough, always enough, and halving finds the first.
    high = 2
    while not enough(high):
        high *= 2
    low = max(2, high // 2)
    while low < high:
        half = (low + high) // 2
        low, high = (low, half) if enough(half) else (half + 1, high)
    return low


def _exp(power: float) -> float:
    """Infinite where it is over every number."""
    # The largest double is about e^709.
    return math.exp(power) if power < 700 else math.inf


def _some(values: Sequence[float]) -> int:
    if len(values) == 0:
        raise ValueError("no values")
    return len(values)
