"""Result of a race: verdicts, one sentence of advice, and its assumptions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from switchbed import stats
from switchbed.tuning.fragment import Fragment
from switchbed.tuning.grid import Point
from switchbed.tuning.guards import Verdict
from switchbed.tuning.objective import Guard, named

ADVISED, AS_GOOD, UNTOLD, GONE, WORSE, BREAKS, REFUSED = (
    "advised",
    "as good",
    "not separated",
    "not compared any more",
    "worse",
    "breaks",
    "cannot be held",
)


@dataclass(frozen=True)
class Entry:
    """A point of the table."""

    point: Point
    verdict: str
    why: str = ""
    """Reason for `breaks` or `cannot be held`."""
    blocks: int = 0
    against: stats.Interval | None = None
    """Objective over the leader's, with the race's simultaneous interval."""
    regret: stats.Interval | None = None
    """How far it is from a scene's best in its worst scene, as a ratio; over seeds (BCa)."""
    guards: Mapping[str, Verdict] = field(default_factory=dict)
    scenes: Sequence[float] = ()
    """The objective's geometric mean in each scene."""

    @property
    def missed(self) -> list[str]:
        """Guards that it misses on average, not surely."""
        return [name for name, v in self.guards.items() if v.over > 0 and not v.surely]

    def to_json(self) -> dict[str, Any]:
        return {
            "settings": dict(self.point.settings),
            "label": self.point.label,
            "names": list(self.point.names),
            "verdict": self.verdict,
            "why": self.why or None,
            "blocks": self.blocks,
            "against_leader": interval(self.against),
            "worst_regret": interval(self.regret),
            "guards": {
                name: {"value": v.mean, "missed_by": _finite(v.over), "surely": v.surely}
                for name, v in self.guards.items()
            },
            "objective": list(self.scenes),
        }


@dataclass(frozen=True)
class Fresh:
    """A point on seeds that the race did not see, beside the user's own."""

    point: Point
    scenes: Sequence[stats.Interval]
    """The objective in each scene."""
    ratios: Sequence[stats.Interval]
    """To the user's own, paired."""
    overall: stats.Interval
    """Geometric mean of the scenes' ratios, paired over seeds; the intervals of all that ran on
    fresh seeds hold together at 95 %."""
    guards: Mapping[str, float | None]
    """Each guard's figure, mean over seeds and scenes."""

    def to_json(self) -> dict[str, Any]:
        return {
            "settings": dict(self.point.settings),
            "label": self.point.label,
            "names": list(self.point.names),
            "objective": [interval(each) for each in self.scenes],
            "ratio_to_own": [interval(each) for each in self.ratios],
            "overall_ratio_to_own": interval(self.overall),
            "guards": dict(self.guards),
        }


@dataclass(frozen=True)
class Advice:
    """Result of `tune`: a setting or the reasons for none, with its evidence.

    Fields:
        sentence: The advice in one or two sentences.
        advised: The setting to take; `None`: the seeds, or a guard, allow no advice.
        left: Settings that are as good, or that the seeds do not tell apart.
        entries: Every setting with its verdict and its ratio to the leader.
        fresh: The same on seeds that the race did not see.
        first: Hints on what matters more than the setting.
        fragment: The advised setting in the target's form, where that was asked for.
        runs: Number of runs, and `core_minutes`, the minutes of a core that they took.

    Example:
        >>> advice = sb.tune("mine.toml", params=["threshold=15KB,60KB"])
        >>> print(advice.sentence)
    """

    scenario: str
    scheme: str
    target: str
    objective: str
    guards: Sequence[Guard]
    delta: float
    """Difference that counts as equal, as a fraction: 0.05."""
    scenes: Sequence[str]
    first: Sequence[str]
    """Hints on what matters more than the setting."""
    price: str
    entries: Sequence[Entry]
    leader: Point
    advised: Point | None
    separated: bool
    """Whether the seeds suffice: no setting left is better than the advised by more than delta."""
    left: Sequence[Point]
    """Points that are as good, or that the seeds cannot distinguish."""
    fresh: Sequence[Fresh]
    fragment: Fragment | None
    """The advised setting as the target takes it, where that was asked for."""
    lost: str
    """Cost of a static setting against a scheme that the target lacks; empty if it lacks none."""
    robust: Sequence[str]
    """Each scene's own best, and what moves if a workload is left out."""
    rests_on: Sequence[str]
    runs: int
    core_minutes: float
    stopped_by: BaseException | None = None
    """Signal that ended the race before it was over."""

    @property
    def larger(self) -> bool:
        """Whether more of the objective's figure is better. Ratios are of its inverse then."""
        return named(self.objective).larger

    @property
    def own(self) -> Point:
        """Return the point of the user's setting."""
        return next(e.point for e in self.entries if "yours" in e.point.names)

    @property
    def sentence(self) -> str:
        """Advice in one or two sentences, with the guards that it may not keep."""
        stopped = "" if self.stopped_by is None else "Interrupted, so nothing is advised yet. "
        return f"{stopped}{self._unkept() or self._described() + self._unsure()}{self._edge()}"

    def _unkept(self) -> str:
        """Where a guard that is not kept on average is the reason why nothing is advised."""
        left = [entry for entry in self.entries if entry.point in self.left]
        # One of the best keeps it: then the guard is not why nothing is advised.
        if self.advised is not None or not left or not all(entry.missed for entry in left):
            return ""
        missed = ", ".join(dict.fromkeys(name for entry in left for name in entry.missed))
        text = (
            f"Of the settings with the best {self.objective} ({_reach(self.left)}) none keeps "
            f"{missed} on average: none of them is advised."
        )
        # Only points that were run have an interval, and can be recommended at all.
        keep = [e for e in self.entries if e.guards and e.against and not e.missed]
        keep = [e for e in keep if e.verdict not in (BREAKS, REFUSED)]
        if not keep:
            return f"{text} No other setting keeps it either: --guard takes a looser bound."
        best = min(keep, key=lambda entry: entry.against.estimate if entry.against else 0.0)
        found = shown(best.against, larger=self.larger)
        times = "" if found is None else f", at {found.estimate:.2f} times their {self.objective}"
        return f"{text} {best.point.label} keeps it{times}; --guard takes a looser bound."

    def _edge(self) -> str:
        """Where the leader is the first or the last of a range: a better one may lie beyond."""
        held = sorted(e.point.place for e in self.entries if e.verdict != REFUSED)
        place = self.leader.place
        # Of two points each is an end; a grid of several parameters has no least.
        if len(place) != 1 or len(held) < 3 or place not in (held[0], held[-1]):
            return ""
        which, beyond = ("least", "lower") if place == held[0] else ("greatest", "higher")
        label = self.leader.label
        return f" {label} is the {which} that was tried: --param KEY=V,V tries {beyond} ones."

    def _unsure(self) -> str:
        """Guards that the advised setting, or else the leader, misses on average, where the seeds
        do not show it."""
        named = self.leader if self.advised is None else self.advised
        missed = next(e for e in self.entries if e.point == named).missed
        if not missed:
            return ""
        keep = [e.point.label for e in self.entries if e.point in self.left and not e.missed]
        others = f", {', '.join(keep)} do{'es' * (len(keep) == 1)}" if keep else ""
        return (
            f" On average {named.label} does not keep {', '.join(missed)}{others}; "
            "the seeds are too few to show it."
        )

    def _described(self) -> str:
        own, near = self.own, f"within {100 * self.delta:g} %"
        if self.advised is None:
            return self._unmeasured(own, _reach(self.left))
        good = [e.point for e in self.entries if e.verdict in (ADVISED, AS_GOOD)]
        if self.advised == own:
            # Settings that break a guard may well be better.
            kept = " that keeps the guards" * any(e.verdict == BREAKS for e in self.entries)
            return (
                f"Keep {own.label}: no other setting{kept} is better by more than "
                f"{100 * self.delta:g} %.{self._but()}"
            )
        if own in good:
            return (
                f"Yours, {own.label}, is as good as any {near} ({_reach(good)} are); "
                f"{self.advised.label} is in the middle of them.{self._but()}"
            )
        rest = f" ({_reach(good)} are as good {near})" if len(good) > 1 else ""
        return f"Take {self.advised.label}{rest}; yours, {own.label}, {self._fault(own)}."

    def _unmeasured(self, own: Point, reach: str) -> str:
        """Where seeds or budget ended before the question did: no winner is named."""
        what = f"The seeds do not tell {len(self.left)} settings apart ({reach})"
        better = self._better(1.0)
        if better:
            return f"{what}. Yours, {own.label}, is none of the best: on fresh seeds {better}."
        if own in self.left:
            return f"{what}; nothing here shows that yours, {own.label}, is worse: keep it."
        fault = f"yours, {own.label}, {self._fault(own)}"
        return f"{what}; {fault}. More --budget or --seeds may tell more."

    def _but(self) -> str:
        """Where fresh seeds contradict the race."""
        better = self._better(1 / (1 + self.delta))
        return f" But on fresh seeds {better}: more --seeds may tell." if better else ""

    def _better(self, bound: float) -> str:
        """Name the setting that is surely below so many times the user's objective on fresh seeds,
        of several the best; empty: there is none."""
        # Any of the table, not the leader alone: the published settings are in it as well.
        kept = {
            e.point for e in self.entries if e.verdict not in (BREAKS, REFUSED) and not e.missed
        }
        found = [
            each
            for each in self.fresh
            if each.point in kept
            and each.overall.low is not None
            and each.overall.high is not None
            and each.overall.high < bound
        ]
        if not found:
            return ""
        best = min(found, key=lambda each: each.overall.estimate)
        ratio = shown(best.overall, larger=self.larger) or best.overall
        return (
            f"{best.point.label} has {ratio.estimate:.2f} times its {self.objective} "
            f"({ratio.low:.2f} to {ratio.high:.2f})"
        )

    def _fault(self, point: Point) -> str:
        entry = next(e for e in self.entries if e.point == point)
        if entry.verdict in (BREAKS, REFUSED):
            return f"{entry.verdict} {entry.why}".strip()
        if entry.verdict in (UNTOLD, GONE):
            return "may be as good: the seeds do not tell"
        return "is worse"

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` writes.

        Example:
            >>> advice.to_json()["objective"]
        """
        return {
            "scenario": self.scenario,
            "scheme": self.scheme,
            "target": self.target,
            "objective": self.objective,
            "guards": [str(guard) for guard in self.guards],
            "delta": self.delta,
            "scenes": list(self.scenes),
            "first": list(self.first),
            "price": self.price,
            "sentence": self.sentence,
            "advised": None if self.advised is None else dict(self.advised.settings),
            "leader": dict(self.leader.settings),
            "separated": self.separated,
            "interrupted": self.stopped_by is not None,
            "left": [dict(point.settings) for point in self.left],
            "points": [entry.to_json() for entry in self.entries],
            "fresh": [entry.to_json() for entry in self.fresh],
            "fragment": self.fragment,
            "lost": self.lost or None,
            "robust": list(self.robust),
            "rests_on": list(self.rests_on),
            "runs": self.runs,
            "core_minutes": self.core_minutes,
        }


def shown(found: stats.Interval | None, *, larger: bool) -> stats.Interval | None:
    """A ratio of the objective as people read it: of the figure itself where its inverse counts."""
    if found is None or not larger:
        return found
    low, high = (None if end is None or not end else 1 / end for end in (found.high, found.low))
    return replace(found, estimate=1 / found.estimate, low=low, high=high)


def _reach(points: Sequence[Point]) -> str:
    first, last = points[0].label, points[-1].label
    return f"{first} to {last}" if len(points) > 1 else first


def interval(found: stats.Interval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "estimate": found.estimate,
        "low": None if found.low is None else _finite(found.low),
        "high": None if found.high is None else _finite(found.high),
        "n": found.n,
        "level": found.level,
    }


def _finite(value: float) -> float | None:
    return value if abs(value) != float("inf") else None
