"""Rounding of numbers by `tc` (iproute2 6.1), and by the kernel that receives them.

red: `probability` goes as 32 bits, p·2^32, beside `Plog` (tc/q_red.c, tc/tc_red.c); of 0 the kernel
takes (2^32 - 1) >> Plog for each byte of the ramp, and of any other a whole number for each byte
(include/net/red.h, red_set_parms). codel, fq_codel: times are in units of 1.024 us
(include/net/codel.h), and shown in whole microseconds.
"""

from math import ceil

SCALE = 2**32
CERTAIN = 0.99999
"""The most that `probability` is: 1 is 2^32, which 32 bits have as 0."""
CODEL_NS = 1024


def plog(low: int, high: int, chance: float) -> int | None:
    """`tc_red_eval_P`; `None`: tc refuses it."""
    width = high - low
    if width <= 0:
        return 0 if width == 0 else None
    chance /= width
    for n in range(32):
        # The first shift at which the slope passes 1, as `tc_red_eval_P` counts.
        if chance > 1.0:
            return n
        chance *= 2
    return None


def chance_on_device(low: int, high: int, chance: float) -> float | None:
    """The probability at `high` that a device has which is given this one; `None`: refused."""
    log = plog(low, high, chance)
    if log is None:
        return None
    width = max(1, high - low)
    # 2^32 wraps to 0 in 32 bits, and the kernel then takes its slope from Plog.
    given = int(chance * SCALE) % SCALE or (SCALE - 1 >> log) * width
    # The kernel divides first, by whole numbers: what is lost is lost for each byte.
    return min(1.0, max(1, given // width) * width / SCALE)


def codel_ns(seconds: float) -> int:
    """The time that a device has which is given this one in whole microseconds."""
    # The kernel shifts nanoseconds right by 10: rounded down.
    return round(seconds * 1e6) * 1000 // CODEL_NS * CODEL_NS


def codel_shown_ns(shown_us: int) -> int:
    """The time that a device has which shows so many microseconds."""
    # Rounded up: the least that is shown so.
    return ceil(shown_us * 1000 / CODEL_NS) * CODEL_NS
