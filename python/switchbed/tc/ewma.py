"""How `tc` makes red's weight, 2^-n, of a burst (iproute2, tc/tc_red.c): the least n by which a
burst of packets from an empty queue stays under `min`."""

import math

PACKET = 1500
MOST = 32


def exponent(low: int, burst: int) -> int | None:
    """n, or `None` where `tc` refuses the burst as too small."""
    over = burst + 1 - low / PACKET
    if over < 1:
        # Below 1 the burst is over before the average could reach `min`.
        return None
    for n in range(1, MOST):
        weight = 0.5**n
        if over <= (1 - (1 - weight) ** burst) / weight:
            return n
    return None


def burst(low: int, wanted: int) -> int:
    """The least burst whose exponent is that, or next above it."""
    count = max(1, math.ceil(low / PACKET))
    while (found := exponent(low, count)) is None or found < wanted:
        count += 1
    return count
