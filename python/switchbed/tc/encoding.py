"""Rounding of numbers by `tc` (iproute2 6.1), and by the kernel that receives them.

red: `probability` goes as 32 bits, p·2^32, beside `Plog` (tc/q_red.c, tc/tc_red.c); of 0 the kernel
takes (2^32 - 1) >> Plog for each byte of the ramp, and of any other a whole number for each byte
(include/net/red.h, red_set_parms). dualpi2: gains are cut off to 256ths of a single-precision
number (iproute2 6.16, tc/q_dualpi2.c, parse_alpha_beta), and then to units of the probability
(net/sched/sch_dualpi2.c, dualpi2_scale_alpha_beta). red's weight is 2^-n of a burst (tc/tc_red.c):
the least n by which a burst of packets from an empty queue stays under `min`. Times are in `times`.
"""

import math
import struct

SCALE = 2**32
CERTAIN = 0.99999
"""The most that `probability` is: 1 is 2^32, which 32 bits have as 0."""
PARTS = 256
"""`dualpi2` has its gains in so many parts of one."""
GAIN_MOST = 2**31 - 1
"""In such parts: the kernel refuses more, and less than one."""
PACKET = 1500
WEIGHT_MOST = 32
TICK_NS = 64


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


def weight_fits(high: int, n: int) -> bool:
    """Whether the kernel takes a red whose thresholds end there and whose weight is 2^-n: times 2^n
    they have 31 bits (include/net/red.h, red_check_params, as of Linux 5.12)."""
    return high.bit_length() + n < 32


def gain_parts(gain: float) -> int:
    """The 256ths that tc makes of a gain as it is written."""
    (single,) = struct.unpack("f", struct.pack("f", gain))
    return int(single * PARTS)


def _steps(parts: int) -> int:
    return parts * (SCALE - 1) // 4 // 10**9


def gain_on_device(parts: int) -> float:
    """The gain that a device has which is given so many 256ths."""
    return _steps(parts) * 4 * 10**9 / (SCALE - 1) / PARTS


def gains_shown(shown: float, reach: float) -> list[float]:
    """The gains that a device may have which shows this one, give or take `reach`: it cuts off what
    is less than a 256th (dualpi2_unscale_alpha_beta)."""
    least, most = (PARTS * (shown + sign * reach) for sign in (-1, 1))
    given = range(max(1, math.floor(least)), min(math.floor(most) + 2, GAIN_MOST) + 1)
    has = {_steps(n): n for n in given if least <= _steps(n) * 4 * 10**9 // (SCALE - 1) <= most}
    return [gain_on_device(parts) for parts in has.values()]


def parts_nearest(gain: float) -> int:
    """The 256ths that give a device the gain, or the one next to it."""
    nearest = round(PARTS * gain)
    return min(
        (nearest, nearest + 1, nearest - 1),
        key=lambda parts: not math.isclose(gain_on_device(parts), gain, rel_tol=1e-9),
    )


def exponent(low: int, burst: int) -> int | None:
    """n, or `None` where `tc` refuses the burst as too small."""
    over = burst + 1 - low / PACKET
    if over < 1:
        # Below 1 the burst is over before the average could reach `min`.
        return None
    for n in range(1, WEIGHT_MOST):
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
