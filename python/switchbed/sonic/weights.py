"""Quanta as weights of 1 to 100."""

from collections.abc import Sequence
from math import gcd

MOST = 100
LEAST_SHARE = 0.005
WARN = 0.01


def weights(quanta: Sequence[int]) -> list[int]:
    """The weights whose shares are nearest to the quanta's: the same shares if some have them, else
    the set with the least error of its worst share; of equal ones that which sums to 100."""
    common = gcd(*quanta)
    exact = [q // common for q in quanta]
    # An import makes a quantum of 1500 bytes of a weight of 1: these go back unchanged.
    for unit in (1500, common):
        if all(q % unit == 0 and q // unit <= MOST for q in quanta):
            return [q // unit for q in quanta]
    if max(exact) <= MOST:
        return exact
    total = sum(quanta)
    shares = [q / total for q in quanta]
    found = []
    # Every sum of weights that keeps the largest at 100.
    for scale in range(1, int(MOST / max(shares)) + 1):
        made = [min(MOST, max(1, round(scale * share))) for share in shares]
        # At the same error a sum of 100, which reads as percent; then the lesser weights.
        found.append((worst(shares, made), sum(made) != MOST, made))
    return min(found)[2]


def worst(shares: Sequence[float], made: Sequence[int]) -> float:
    """The largest error of a share, as a part of it."""
    total = sum(made)
    return max(abs(w / total / share - 1) for w, share in zip(made, shares, strict=True))
