"""How far ahead E-ECN may look before it costs throughput (Wang, Han, Zhuang, Xue, Sun, Lu: Early
Marking for Controllable Maximum Queue Length in Data Center Networks, section III-C).

The fluid model's critical case: N DCTCP flows whose queue just touches 0. Sizes are in packets,
times in RTTs; λ = C·RTT / N is a flow's share of the bandwidth-delay product.

The paper takes α ≈ √(2/λ) for large λ. Equations 7 and 8 can be solved as they stand: they come
to a quadratic in α (docs/theory.md), which is the form "exact".
"""

import math
from typing import Literal, get_args

from switchbed._native import Mistake
from switchbed.theory.checks import positive, senders

Form = Literal["exact", "paper"]
FORMS: tuple[Form, ...] = get_args(Form)

POLE = {"exact": (7 + math.sqrt(33)) / 2, "paper": 3 + 2 * math.sqrt(2)}
"""The λ at which marking begins as the queue is shortest. Below, it begins while the queue still
falls and no limit on T_a follows."""


def alpha(lam: float, form: Form = "exact") -> float:
    """The fraction of marked packets: equations 7 and 8 together, or √(2/λ)."""
    positive(lam=lam)
    if form == "paper":
        return math.sqrt(2 / lam)
    if lam < 1:
        raise Mistake(f"lam is {lam:g}: with less than a packet a flow nothing is controlled")
    product = lam * (2 * lam - 1)
    return (1 + math.sqrt(1 + 16 * product * (lam - 1))) / (2 * product)


def a(lam: float, form: Form = "exact") -> float:
    """Equation 13's A = 1 / (W_m - λ), in 1/packets: how far a window is over its share as
    marking begins, inverted. Infinite or negative up to the pole."""
    part = alpha(lam, form)
    above = lam * part / (4 - part) - 1  # equation 7 with W_max = W_m + 1
    return 1 / above if above else math.inf


def t_a_max(n: int, bdp: float, k: float, form: Form = "exact") -> float | None:
    """Equation 12: the largest T_a, in RTTs, that leaves the link full, for N flows, C·RTT = `bdp`
    packets and threshold K packets. `None` where no limit follows: with so many flows that λ is
    not over the pole. 0 where even the present queue is over K as marking should begin."""
    senders(n, 1)
    positive(bdp=bdp, k=k)
    lam = bdp / n
    if lam <= POLE[form]:
        return None
    found = a(lam, form)
    return max(0.0, k / n * found - 1 / (2 * found))


def flows_max(bdp: float, form: Form = "exact") -> int:
    """Up to how many flows a limit on T_a follows."""
    positive(bdp=bdp)
    return math.ceil(bdp / POLE[form]) - 1


def window_min(rate_bps: float, packet_bytes: float) -> float:
    """Equation 3: T_i, in seconds, must be longer than a packet takes."""
    positive(rate_bps=rate_bps, packet_bytes=packet_bytes)
    return packet_bytes * 8 / rate_bps
