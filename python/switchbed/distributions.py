"""The distributions behind the intervals of `stats`: Student's t, the binomial, resampled data.

SciPy has them too, and is 140 MB of an installation; tests hold ours to its last digits.
"""

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from statistics import NormalDist

    from numpy import float64
    from numpy.typing import NDArray

MANY = 1000
"""Degrees of freedom from which t is the normal distribution and four corrections."""


@functools.cache
def normal() -> "NormalDist":
    """Return the standard normal distribution. `statistics` is slow to import."""
    from statistics import NormalDist

    return NormalDist()


def student(freedom: int, p: float) -> float:
    """The quantile p, above a half, of Student's t."""
    if freedom > MANY:
        return _student_of_many(freedom, p)
    # The CDF in the angle θ, t = √ν·tan θ, is a sum of ν/2 terms; θ by bisection.
    low, high = 0.0, math.pi / 2
    while low < (half := (low + high) / 2) < high:
        low, high = (half, high) if _within(freedom, half) < 2 * p - 1 else (low, half)
    return math.sqrt(freedom) * math.tan(half)


def _within(freedom: int, angle: float) -> float:
    """The probability of |t| < √ν·tan θ (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = sine * cosine if odd else sine
    total = 0.0
    for n in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * n / (n + 1)
    return (angle + total) * 2 / math.pi if odd else total


def _student_of_many(freedom: int, p: float) -> float:
    """Quantile by Abramowitz and Stegun, 26.7.5."""
    z = normal().inv_cdf(p)
    corrections = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum([z, *(g / freedom**i for i, g in enumerate(corrections, 1))])


def binomial(n: int, p: float, below: float) -> tuple[int, int]:
    """Return the least k with P(X ≤ k) ≥ `below`, and the least with P(X > k) ≤ `below`, for a
    binomial X with 0 < p < 1."""
    reach = 40 * (1 + math.sqrt(n * p * (1 - p)))  # beyond it nothing is left to count
    first, last = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    chances = [_chance(n, p, k) for k in range(first, last + 1)]

    def tail(ordered: list[float]) -> int:
        """How many of them stay below."""
        total = 0.0
        for count, chance in enumerate(ordered):
            total += chance
            if total >= below * (1 - 1e-12):  # what it is but for rounding is it
                return count
        return len(ordered)

    return first + tail(chances), last - tail(chances[::-1])


def _chance(n: int, p: float, k: int) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))


def resampled(
    data: "NDArray[float64]",
    statistic: "Callable[[NDArray[float64]], float]",
    level: float,
    resamples: int,
) -> tuple[float, float] | None:
    """The bootstrap interval, bias-corrected and accelerated (Efron and Tibshirani 1993, section
    14.3). `None` where the resamples do not surround the estimate or no value has an influence."""
    import numpy as np

    n = len(data)
    chosen = np.random.default_rng(0).integers(0, n, (resamples, n))
    found = np.array([statistic(data[row]) for row in chosen], dtype=float)
    estimate = float(statistic(data))
    below = float(np.count_nonzero(found < estimate) + np.count_nonzero(found <= estimate))
    without = np.array([statistic(np.delete(data, i)) for i in range(n)], dtype=float)
    influence = (without.mean() - without) * ((n - 1) / n)
    spread = float((influence**2).sum())
    if not (0 < below < 2 * resamples and spread > 0):
        return None
    bias = normal().inv_cdf(below / (2 * resamples))
    skew = float((influence**3).sum()) / spread**1.5 / 6

    def end(z: float) -> float:
        moved = bias + z
        at = normal().cdf(bias + moved / (1 - skew * moved))
        return float(np.quantile(found, at))

    z = normal().inv_cdf((1 - level) / 2)
    return end(z), end(-z)
