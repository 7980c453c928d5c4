"""When enough seeds have run: the interval of a chosen figure is narrow enough at a point."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from switchbed import comparing, stats
from switchbed._native import Mistake

LEAST = 3
"""Seeds before an interval is believed: two often lie together by chance."""


@dataclass(frozen=True)
class Rule:
    """Add seeds until the figure's 95 % interval over seeds is within `precision` of its mean
    on either side, in every scheme at a point, or there are `max_seeds`. With `against`, the
    interval of every other scheme's ratio to that one, paired over common seeds."""

    metric: str
    """Where the figure is in a summary, such as `fct.small.p99_us`."""
    precision: float
    max_seeds: int
    against: str | None = None
    """The label of the scheme that the others are compared with."""

    def __post_init__(self) -> None:
        if not 0 < self.precision < 1:
            raise Mistake(f"precision is {self.precision:g}: it must be between 0 and 1, as 5%")
        if self.max_seeds < LEAST:
            raise Mistake(f"max_seeds is {self.max_seeds}: it must be at least {LEAST}")

    @classmethod
    def of(
        cls, metric: str, precision: float | None, against: str | None, max_seeds: int
    ) -> Self | None:
        """The rule that options ask for, if they do."""
        if precision is None:
            if against is not None:
                raise Mistake(f"--against {against}: how precise? add --precision, such as 5%")
            return None
        return cls(metric, precision, max_seeds, against)

    def check(self, schemes: Iterable[str | None]) -> None:
        """Refuses an `against` that none of the schemes compared is called."""
        compared = list(dict.fromkeys(scheme for scheme in schemes if scheme is not None))
        if self.against is None or (self.against in compared and len(compared) > 1):
            return
        has = f"[compare] has {', '.join(compared) or 'no schemes'}"
        raise Mistake(f"--against {self.against}: it takes two schemes, this and another; {has}")

    def more(self, groups: Mapping[str | None, Sequence[Mapping[str, Any]]]) -> int:
        """How many seeds a point should run next; `groups` has the summaries of each scheme
        there by its label, a seed each. At most it doubles them: what few seeds say of their own
        spread is not much."""
        have = max(map(len, groups.values()), default=0)
        # Fewer than three say nothing of their spread.
        if have < LEAST:
            return LEAST - have
        if self.against is None:
            wanted = max((self._alone(group)[0] for group in groups.values()), default=0)
        else:
            base = groups[self.against]
            others = (group for scheme, group in groups.items() if scheme != self.against)
            wanted = max((self._paired(group, base)[0] for group in others), default=0)
        # At most twice as many: the spread of few seeds is itself uncertain.
        return max(0, min(wanted, 2 * have, self.max_seeds) - have)

    def unmet(
        self, groups: Mapping[str | None, Sequence[Mapping[str, Any]]]
    ) -> dict[str | None, float | None]:
        """How far the interval still reaches, relative to its mean, under each scheme where that
        is more than `precision`; `None` where too few runs have the figure for an interval."""
        base = groups.get(self.against, ())
        reached = {
            scheme: self._alone(group)[1] if self.against is None else self._paired(group, base)[1]
            for scheme, group in groups.items()
            if self.against is None or scheme != self.against
        }
        return {s: of for s, of in reached.items() if of is None or of > self.precision}

    def _paired(
        self, group: Sequence[Mapping[str, Any]], base: Sequence[Mapping[str, Any]]
    ) -> tuple[int, float | None]:
        """Seeds wanted, and how far the interval of the ratio reaches now."""
        # Where one of the two has nothing, or nought, there is no ratio.
        below, above = self._by_seed(base), self._by_seed(group)
        common = [seed for seed in above if above[seed] > 0 and below.get(seed, 0) > 0]
        if len(common) < LEAST:
            return self.max_seeds, None
        of, to = [above[seed] for seed in common], [below[seed] for seed in common]
        reach = stats.paired(of, to).ratio.relative
        if reach <= self.precision:
            return len(group), reach
        return max(stats.pairs_needed(of, to, self.precision), len(group) + 1), reach

    def _by_seed(self, group: Sequence[Mapping[str, Any]]) -> dict[int, float]:
        values = {summary["seed"]: figure(summary, self.metric) for summary in group}
        return {seed: value for seed, value in values.items() if value is not None}

    def _alone(self, group: Sequence[Mapping[str, Any]]) -> tuple[int, float | None]:
        """Seeds wanted, and how far the interval of the mean reaches now."""
        values = [v for summary in group if (v := figure(summary, self.metric)) is not None]
        if len(values) < LEAST:
            return self.max_seeds, None
        # All alike, as with a metric that does not depend on the seed.
        if len(set(values)) == 1:
            return len(group), 0.0
        reach = stats.mean(values, within=comparing.range_of(self.metric)).relative
        if reach <= self.precision:
            return len(group), reach
        # The estimate may say that there are enough where the interval just said no.
        return max(stats.seeds_needed(values, self.precision), len(group) + 1), reach


def _named(values: list[Any]) -> dict[str, Any]:
    """Items of a list by their places, and transports by their names, too."""
    named = {str(place): each for place, each in enumerate(values)}
    for each in values:
        if isinstance(each, Mapping) and "transport" in each:
            named.setdefault(str(each["transport"]), each)
    return named


def figure(summary: Mapping[str, Any], metric: str, option: str = "--metric") -> float | None:
    """A figure of a summary by its dotted name, which an option gave; `None` where the run has
    none."""
    value: Any = summary
    for part in metric.split("."):
        if value is None:
            return None
        if isinstance(value, list):
            value = _named(value)
        if not isinstance(value, Mapping) or part not in value:
            has = f"; there are {', '.join(value)}" if isinstance(value, Mapping) else ""
            raise Mistake(f"{option} {metric}: a summary has no {part} there{has}")
        value = value[part]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Mistake(f"{option} {metric}: is no number; such as fct.small.p99_us is")
    return float(value)
