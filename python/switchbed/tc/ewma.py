"""How `tc` makes red's weight, 2^-n, of a burst (iproute2, tc/tc_red.c): the least n by which a
burst of packets from an empty queue stays under `min`."""

import math

PACKET = 1500
MOST = 32
TICK_NS = 64


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


def damps(n: int, rate: int) -> bool:
    """Whether `tc` finds the table by which the average of this weight falls while a line of `rate`
    bits a second is idle (tc_red_eval_idle_damping): its steps are 2^31 ticks at most."""
    ticks = round(PACKET * 8 / rate * 10**9 / TICK_NS)
    longest = 31 * max(ticks, 1) / -math.log1p(-(0.5**n))
    return longest < 512 * 2.0**31


def burst(low: int, wanted: int) -> int | None:
    """The least burst whose exponent is that, or next above it; `None`: `tc` takes none, as of a
    `min` under a packet."""
    # From here on the exponent never falls as the burst grows.
    least = max(1, math.ceil(low / PACKET))

    def reaches(count: int) -> bool:
        found = exponent(low, count)
        return found is None or found >= wanted

    most = least
    while not reaches(most):
        most *= 2
    # The least that reaches it: `before` never does.
    before = least - 1
    while most - before > 1:
        middle = (most + before) // 2
        before, most = (before, middle) if reaches(middle) else (middle, most)
    return None if exponent(low, most) is None else most
