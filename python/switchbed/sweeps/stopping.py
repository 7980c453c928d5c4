"""When enough seeds have run: the interval of a chosen figure is narrow enough at a point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from switchbed import stats
from switchbed._native import Mistake

LEAST = 3
"""Seeds before an interval is believed: two often lie together by chance."""


@dataclass(frozen=True)
class Rule:
    """Add seeds until the figure's 95 % interval over seeds is within `precision` of its mean
    on either side, in every scheme at a point, or there are `max_seeds`."""

    metric: str
    """Where the figure is in a summary, such as `fct.small.p99_us`."""
    precision: float
    max_seeds: int

    def __post_init__(self) -> None:
        if not 0 < self.precision < 1:
            raise Mistake(f"precision is {self.precision:g}: it must be between 0 and 1, as 5%")
        if self.max_seeds < LEAST:
            raise Mistake(f"max_seeds is {self.max_seeds}: it must be at least {LEAST}")

    def more(self, groups: Sequence[Sequence[Mapping[str, Any]]]) -> int:
        """How many seeds a point should run next; `groups` has the summaries of each scheme
        there, a seed each. At most it doubles them: what few seeds say of their own spread is
        not much."""
        have = max(map(len, groups), default=0)
        if have < LEAST:
            return LEAST - have
        wanted = max((self._wanted(group) for group in groups), default=0)
        return max(0, min(wanted, 2 * have, self.max_seeds) - have)

    def _wanted(self, group: Sequence[Mapping[str, Any]]) -> int:
        values = [v for summary in group if (v := figure(summary, self.metric)) is not None]
        if len(values) < 2:
            return self.max_seeds
        if stats.mean(values).relative <= self.precision or len(set(values)) == 1:
            return len(group)
        # The estimate may say that there are enough where the interval just said no.
        return max(stats.seeds_needed(values, self.precision), len(group) + 1)


def figure(summary: Mapping[str, Any], metric: str) -> float | None:
    """A figure of a summary by its dotted name; `None` where the run has none."""
    value: Any = summary
    for part in metric.split("."):
        if value is None:
            return None
        if not isinstance(value, Mapping) or part not in value:
            has = f"; there are {', '.join(value)}" if isinstance(value, Mapping) else ""
            raise Mistake(f"--metric {metric}: a summary has no {part} there{has}")
        value = value[part]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Mistake(f"--metric {metric}: is no number; such as fct.small.p99_us is")
    return float(value)
