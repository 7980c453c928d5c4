"""Which points keep a guard, by intervals that hold at once with the race's."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from switchbed.tuning.objective import Guard
from switchbed.tuning.race import quantile

Values = Sequence[Sequence[float | None]]
"""Of a point: a list over scenes of a list over blocks."""


@dataclass(frozen=True)
class Verdict:
    """Verdict on a point by a guard, as far as it is known."""

    mean: float | None
    """The figure, over all scenes; `None`: no run has it."""
    over: float
    """In the scene where it fares worst, by what part (or, of a bound of nought, by how much) the
    bound is missed; not above nought: it is kept, as far as the mean tells."""
    surely: bool
    """The seeds show that it is broken."""


def judge(guard: Guard, values: Sequence[Values], own: int, error: float) -> list[Verdict]:
    """Judge every point by the guard."""
    found = [Verdict(None, -math.inf, surely=False)] * len(values)
    for scene in range(len(values[0])):
        columns = [point[scene] for point in values]
        reference = _reference(guard, columns, own)
        for index, column in enumerate(columns):
            verdict = _one(guard, column, reference, error)
            # The scene where it fares worst decides the figure.
            if verdict.over > found[index].over or found[index].mean is None:
                surely = verdict.surely or found[index].surely
                found[index] = Verdict(verdict.mean, verdict.over, surely)
            # But surely broken in any scene is surely broken.
            elif verdict.surely and not found[index].surely:
                found[index] = Verdict(found[index].mean, found[index].over, surely=True)
    return [
        replace(verdict, mean=_mean([v for scene in point for v in scene if v is not None]))
        for verdict, point in zip(found, values, strict=True)
    ]


def kept(verdicts: Iterable[Sequence[Verdict]], points: int) -> list[bool]:
    """Of every point: no guard is surely broken. On a mean alone nobody goes out, nor loses the
    lead: a guard's figure may be noisier than the objective."""
    found = list(verdicts)
    return [not any(of[p].surely for of in found) for p in range(points)]


def _reference(
    guard: Guard, columns: Sequence[Sequence[float | None]], own: int
) -> Sequence[float | None] | None:
    """The point that the bound is in proportion to."""
    if guard.of is None:
        return None
    if guard.of == "own":
        return columns[own]
    # The best is the lowest of what shall be low, and the highest of what shall be high.
    sign = -1 if guard.sign == ">=" else 1
    # Points that are out have fewer blocks: compared over those that all have.
    shared = min(map(len, columns))
    means = [_mean([v for v in column[:shared] if v is not None]) for column in columns]
    known = [(sign * mean, i) for i, mean in enumerate(means) if mean is not None]
    return columns[min(known)[1]] if known else None


def _one(
    guard: Guard,
    column: Sequence[float | None],
    reference: Sequence[float | None] | None,
    error: float,
) -> Verdict:
    values = [v for v in column if v is not None]
    mean = _mean(values)
    if mean is None:
        return Verdict(None, -math.inf, surely=False)
    if guard.of is None:
        return _absolute(guard, values, mean, error)
    pairs = [
        (v, r)
        for v, r in zip(column, reference or (), strict=False)
        if v is not None and r is not None
    ]
    if any(v <= 0 or r <= 0 for v, r in pairs):
        return _linear(guard, pairs, mean, error)
    # On the logarithm, where a bound times a factor is a difference.
    logs = [math.log(v / r) - math.log(guard.number) for v, r in pairs]
    if guard.sign == ">=":
        logs = [-each for each in logs]
    middle = _mean(logs)
    if middle is None:
        return Verdict(mean, -math.inf, surely=False)
    return Verdict(mean, math.expm1(middle), _low(logs, error) > 0)


def _linear(
    guard: Guard, pairs: Sequence[tuple[float, float]], mean: float, error: float
) -> Verdict:
    """Counts may be nought, which has no ratio: each is compared with the bound of its own
    block."""
    bounds = [guard.number * r for _, r in pairs]
    gaps = [v - bound for (v, _), bound in zip(pairs, bounds, strict=True)]
    if guard.sign == ">=":
        gaps = [-gap for gap in gaps]
    over = math.fsum(gaps) / len(gaps)
    scale = math.fsum(bounds) / len(bounds)
    # Nothing may be more than a bound that is nought in every block.
    surely = over > 0 if scale == 0 and guard.sign != ">=" else _low(gaps, error) > 0
    return Verdict(mean, over / scale if scale else over, surely)


def _absolute(guard: Guard, values: Sequence[float], mean: float, error: float) -> Verdict:
    gaps = [v - guard.number for v in values]
    if guard.sign == ">=":
        gaps = [-gap for gap in gaps]
    over = math.fsum(gaps) / len(gaps)
    # A count is never below nought: one that was above it once is so on average.
    counted = guard.number == 0 and guard.sign != ">=" and min(values) >= 0
    surely = max(values) > 0 if counted else _low(gaps, error) > 0
    return Verdict(mean, over / guard.number if guard.number else over, surely)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _low(values: Sequence[float], error: float) -> float:
    """The lower end of the mean's interval."""
    n = len(values)
    # One value has no spread.
    if n < 2:
        return -math.inf
    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)
    # Two-sided like the race's intervals, of which this is one.
    return mean - quantile(n - 1, error) * spread
