"""How far queues swing when senders batch, and the thresholds that keep them from emptying (Shan
and Ren: Improving ECN Marking Scheme with Micro-burst Traffic in Data Center Networks, INFOCOM
2017, section III).

N synchronised flows with the same RTT, each sending bursts of β times its window w (LSO), which
holds while βw is less than the largest segment L. All sizes are in packets; `cd` is C·d, the
bandwidth times the RTT without queueing.

Equation 19 of the paper divides the marks of all N flows by one sender's packets, so that α, and
with it corollaries 3 and 4, come out too large. Functions with a `form` offer both: "corrected",
the default, and "paper", as printed. docs/theory.md derives them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from switchbed._native import Mistake
from switchbed.theory.checks import positive, senders

BETA = 1 / 3
"""Linux's share of the window that one LSO segment may take (section II-A)."""

LSO_BYTES = 64_000
"""L: Linux's largest segment (section II-A)."""

Form = Literal["corrected", "paper"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest, in packets."""

    low: float
    high: float


def queue_min(windows: Sequence[float], batches: Sequence[float], cd: float) -> float:
    """Lemma 1, equation 2: the shortest queue while the flows have these windows and batch
    sizes. Below 0 the link idles."""
    _same_length(windows, batches)
    return math.fsum(windows) - math.fsum(batches) - cd


def queue_max(windows: Sequence[float], batches: Sequence[float], cd: float) -> float:
    """Lemma 2, equation 3: the longest queue. C·R(t) is the sum of the windows, since the link
    is busy (Σ w_i / R = C)."""
    _same_length(windows, batches)
    held = math.fsum(b * w for b, w in zip(batches, windows, strict=True)) / math.fsum(windows)
    return math.fsum(windows) - held - cd


def window(n: int, beta: float, cd: float, k: float) -> Bounds:
    """Equation 11: a sender's window as the queue crosses K."""
    _check(n, beta, cd, k=k)
    return Bounds((cd + k) / (n - beta), (cd + k) / (n * (1 - beta)))


def batches_fit(n: int, beta: float, cd: float, k: float, largest: float) -> bool:
    """Whether every window of equation 11 has βw < L (`largest`), as corollaries 1 to 4 assume.
    Refuses a case in which none has: bursts are then L, whatever the window."""
    found = window(n, beta, cd, k)
    if beta * found.low >= largest:
        raise Mistake(
            f"bursts of beta·w = {beta * found.low:.3g} packets or more do not fit into one of "
            f"{largest:.3g} (lso): corollaries 1 to 4 do not apply; they need more flows, or a "
            "smaller beta, rate or RTT"
        )
    return beta * found.high < largest


def amplitude_ecnstar(n: int, beta: float, cd: float, k: float) -> Bounds:
    """Corollary 1, equation 9: how far the queue swings with ECN*. Without batching it swings
    (Cd + K) / 2; at N = 2 and β = 1/3 batching adds 20 to 50 % (the paper's remark has 25 %)."""
    found = window(n, beta, cd, k)
    factor = ((beta + 1) * n - 2 * beta) / 2  # equation 10
    return Bounds(factor * found.low, factor * found.high)


def threshold_ecnstar(n: int, beta: float, cd: float) -> float:
    """Corollary 2, equation 12: the lowest K at which the queue never empties with ECN*."""
    _check(n, beta, cd)
    return ((1 + beta) * n - 2 * beta) / ((1 - beta) * n) * cd


def alpha(n: int, beta: float, cd: float, k: float, w: float, form: Form = "corrected") -> float:
    """Equation 21: DCTCP's fraction of marked packets at window w. Corrected, without the N
    under the root: N·(q_max - K) / ((N - 1)·β) marks are those of all N senders."""
    _check(n, beta, cd, k=k, w=w)
    over = (n - beta) * w - cd - k
    if over < 0:
        raise Mistake(f"w is {w:g}: the queue reaches K from {(cd + k) / (n - beta):g} packets on")
    return math.sqrt(2 * _marking_flows(n, form) * over / ((n - 1) * beta)) / w


def amplitude_dctcp(n: int, beta: float, cd: float, k: float, form: Form = "corrected") -> Bounds:
    """Corollary 3, equation 17: how far the queue swings with DCTCP. Without batching it swings
    √(2N(Cd + K)) / 2 (Alizadeh et al., SIGCOMM 2010), which the corrected upper bound becomes
    as β goes to 0."""
    found = window(n, beta, cd, k)
    steady = beta * (n - 1)
    cut = alpha(n, beta, cd, k, found.high, form) / 2 * n * (1 - beta)  # equation 18
    return Bounds(steady * found.low, (cut + steady) * found.high)


def threshold_dctcp(n: int, beta: float, cd: float, form: Form = "corrected") -> float:
    """Corollary 4, equation 23: the lowest K at which the queue never empties with DCTCP."""
    _check(n, beta, cd)
    flows = _marking_flows(n, form)
    # Where the worst window is inside equation 11's range (first case) or its upper end.
    k = beta * (n - 1) * cd / (n * (1 - beta)) + flows * (n - beta) ** 2 / (8 * (n - 1) * beta)
    inside = flows * n * (n - beta) ** 2 * (1 - beta) / (8 * (n - 1) ** 2 * beta**2)
    if cd + k >= inside:
        return k
    a = flows * n * (1 - beta)
    return (a + math.sqrt(a * a + 8 * cd * a)) / 4


def k2(k1: float, n: int, beta: float, cd: float) -> float:
    """CEDM's second threshold K1 + (N - 1)·B (section IV-C), with LSO's largest B = βw of
    equation 11: 5/4·K1 + 1/4·Cd at N = 2 and β = 1/3."""
    return k1 + (n - 1) * beta * window(n, beta, cd, k1).high


def slope_weight(n: int, decrease: float) -> float:
    """The largest w_s that does not take the pause of `decrease` packets for a shrinking queue:
    1 - N^(-1/L) (after equation 32)."""
    senders(n, 2)
    positive(decrease=decrease)
    return 1 - math.pow(n, -1 / decrease)


def _marking_flows(n: int, form: Form) -> int:
    """The factor by which equation 20 has too many marks."""
    return n if form == "paper" else 1


def _check(n: int, beta: float, cd: float, **others: float) -> None:
    senders(n, 2)
    if not 0 < beta < 1:
        raise Mistake(f"beta is {beta:g}: it must be between 0 and 1, such as 1/3")
    positive(cd=cd, **others)


def _same_length(windows: Sequence[float], batches: Sequence[float]) -> None:
    if len(windows) != len(batches) or not windows:
        raise Mistake(
            f"there are {len(windows)} windows and {len(batches)} batches: give one each a flow"
        )
    positive(**{f"windows[{i}]": w for i, w in enumerate(windows)})
