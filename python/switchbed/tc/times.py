"""Times as `tc` and the kernel hold them: one function says what each became.

tc reads whole microseconds and cuts off the rest (iproute2 6.1, lib/utils.c, get_time). A time of 0
is not sent, and the kernel then takes its default (tc/q_codel.c, tc/q_pie.c, tc/q_dualpi2.c).
codel, fq_codel: units of 1.024 us (include/net/codel.h). pie: a target in ticks of 64 ns
(include/net/pkt_sched.h, PSCHED_SHIFT). dualpi2: nanoseconds, of which t_update and step have 32
bits (net/sched/sch_dualpi2.c, convert_us_to_nsec).
"""

from dataclasses import dataclass

from switchbed import quantity
from switchbed._native import time_ps
from switchbed.sonic.finding import Findings

PS_PER_US = 10**6
MOST_US = 2**32 - 1


@dataclass(frozen=True)
class Clock:
    """Steps in which a time is kept."""

    unit_ns: int
    words: str
    least_us: int = 1
    """0 where tc sends a 0."""
    most_us: int = MOST_US

    def ns(self, us: int) -> int:
        """The time that a device has which is given so many microseconds."""
        return us * 1000 // self.unit_ns * self.unit_ns

    def of_shown(self, us: int) -> list[int]:
        """The times in ns that a device may have which shows so many microseconds: the kernel cuts
        off the rest as it shows a time, too."""
        given = range(us, us + self.unit_ns // 1000 + 2)
        return sorted({ns for each in given if (ns := self.ns(each)) // 1000 == us})


WHOLE = "tc takes whole us"
CODEL = Clock(1024, f"{WHOLE}, and the kernel counts units of 1.024 us")
MARKED = Clock(1024, CODEL.words, least_us=0)
"""`ce_threshold`: tc sends a 0."""
PIE = Clock(64, f"{WHOLE}, and the kernel counts units of 64 ns")
PLAIN = Clock(1000, WHOLE)
SHORT = Clock(1000, WHOLE, most_us=MOST_US // 1000)
"""Nanoseconds in 32 bits."""
TICK_US = 20_000
"""Whole ticks at 100, 250, 300 and 1000 ticks a second."""


def shown(ps: int) -> str:
    """A time in a message."""
    return f"{ps / PS_PER_US:.12g} us"


def rounded(said: Findings, key: str, given_ps: int, has_ps: int, why: str) -> None:
    """Say what the device has for a time of the scenario."""
    if has_ps == given_ps:
        said.exact(key, shown(has_ps))
    else:
        said.approximated(key, f"{shown(given_ps)} as {shown(has_ps)}: {why}")


def written(said: Findings, key: str, text: object, clock: Clock) -> str:
    """A time of the scenario as `tc` takes it, nearest; what the device has is said."""
    ps = time_ps(str(text))
    us = max(clock.least_us, (ps + PS_PER_US // 2) // PS_PER_US)
    if ps > 0 and clock.ns(us) == 0:
        us += 1  # a wait of none would be another scheme
    if us > clock.most_us:
        said.refused(key, f"{text}: is over {clock.most_us} us, the most that tc and Linux hold")
    else:
        rounded(said, key, ps, clock.ns(us) * 1000, clock.words)
    return f"{us}us"


def kept(us: int, clock: Clock) -> str:
    """The time of a device that was given so many microseconds, as a scenario has it."""
    return _text(clock.ns(us))


def _text(ns: int) -> str:
    return f"{ns}ns" if ns % 1000 else f"{ns // 1000}us"


def read(said: Findings, key: str, us: int, clock: Clock) -> str:
    """A time that a device shows, as a scenario has it; what the device may have is said."""
    found = clock.of_shown(us)
    if len(found) == 1:
        (ns,) = found
        shows = "" if ns == us * 1000 else f", shown as {us} us"
        said.exact(key, f"{shown(ns * 1000)}{shows}")
        return _text(ns)
    if us == 0 and found:
        said.approximated(key, f"0 us as shown: the device has up to {shown(found[-1] * 1000)}")
        return f"{found[-1]}ns"  # a wait of none would be another scheme
    if found:
        why = f"the device has this, or up to {(found[-1] - us * 1000) / 1000:g} us more"
    else:
        why = f"{clock.words}, of which none shows so"
    said.approximated(key, f"{us} us as shown: {why}")
    return f"{us}us"


def ticks(said: Findings, key: str, text: object) -> str:
    """A time that the kernel rounds up to its ticks."""
    ps = time_ps(str(text))
    us = max(1, (ps + PS_PER_US // 2) // PS_PER_US)
    if us > MOST_US:
        said.refused(key, f"{text}: is over {MOST_US} us, the most that tc holds")
    elif ps % (TICK_US * PS_PER_US) == 0 and ps:
        said.exact(key, shown(ps))
    else:
        said.approximated(
            key,
            f"{quantity.us(ps / 1e12)} as {us} us, rounded up to the kernel's ticks, 1 to 10 ms",
        )
    return f"{us}us"
