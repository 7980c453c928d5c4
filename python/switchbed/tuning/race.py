"""A race of points over blocks of paired seeds: who is out, and when the seeds have told enough.

It knows numbers alone. A response is the logarithm of what is to be small (an FCT, say), of a
point, in a scene (a workload at a load), under a seed; a block is all scenes of one seed. All
points of a block met the same flows, so differences are paired and have Student's interval.

Intervals hold all at once (Bonferroni): over the comparisons of a look, and over all looks, of
which look r spends 6/(π²r²) of the error. What must not happen is that the best point is put
out. This concerns its differences to whoever leads then, one of k - 1 others; so with one scene (or
weights, which make one number of all) k - 1 comparisons count, and with regrets all pairs in every
scene. Nobody goes out on a mean alone.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from switchbed.distributions import student

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

LEVEL = 0.95


@dataclass(frozen=True)
class Against:
    """A point's response less the leader's, on the logarithm: below nought it is better."""

    estimate: float
    low: float
    high: float
    blocks: int


@dataclass
class Race:
    """`responses[point][scene]` is a list over blocks; a point that is out gets no more of them."""

    points: int
    scenes: int
    delta: float
    """On the logarithm: what is less than this apart counts as equal."""
    weights: Sequence[float] | None = None
    """Of the scenes: the objective is their weighted mean. `None`: the worst regret, that is how
    far a point is from a scene's best in the scene where it is furthest."""
    level: float = LEVEL
    also: int = 0
    """Intervals of others that shall hold at once with these: guards'."""
    live: set[int] = field(default_factory=set)
    put_out: dict[int, int] = field(default_factory=dict)
    """Points that are out because they are worse, with the leader that showed it: after a look,
    the leader."""
    leader: int = 0
    against: dict[int, Against] = field(default_factory=dict)
    """Result of the last look at each point."""
    looks: int = 0

    def __post_init__(self) -> None:
        self.live = set(range(self.points))
        self._responses: list[list[list[float]]] = [
            [[] for _ in range(self.scenes)] for _ in range(self.points)
        ]
        self._errors: dict[int, float] = {}
        """Error of the look that put a point out."""

    def add(self, point: int, block: Sequence[float]) -> None:
        """One block more of a point: a response a scene."""
        for scene, value in enumerate(block):
            self._responses[point][scene].append(value)

    def blocks(self, point: int) -> int:
        """Return the number of blocks that the point has."""
        return len(self._responses[point][0])

    def look(self, kept: Sequence[bool] | None = None) -> None:
        """Puts out who is surely worse than the leader: the best of the live points by what is
        known, among those that keep the guards (`kept`), if any does. Points that an earlier leader
        put out are in again unless they are surely worse than this one."""
        self.looks += 1
        keep = [True] * self.points if kept is None else kept
        before = self.against
        while True:
            leader = self._lead(self._eligible(keep))
            judged = self._judge(leader)
            # An interval that put a point out stands while the same one leads: with regrets
            # other points move it.
            judged |= {p: before[p] for p, by in self.put_out.items() if by == leader}
            # A leader that breaks a guard puts nobody out: there may be none that keeps it and is
            # as good.
            worse = {p for p, found in judged.items() if keep[leader] and found.low > 0}
            back = self.put_out.keys() - worse
            if not back:
                break
            self._return(back)
        self.leader, self.against = leader, judged
        out = self.live & worse
        self._errors |= dict.fromkeys(out, self.share())
        self.put_out = dict.fromkeys(self.put_out.keys() | out, leader)
        self.live -= out

    def _eligible(self, keep: Sequence[bool]) -> list[int]:
        """Points that may lead. One that is in again and lacks seeds waits until it has them."""
        most = max(map(self.blocks, self.live))
        fair = [p for p in self.live if keep[p]]
        return [p for p in fair if self.blocks(p) == most] or fair or list(self.live)

    def _return(self, points: Iterable[int]) -> None:
        for p in list(points):
            del self.put_out[p], self._errors[p]
            self.live.add(p)

    def drop(self, point: int) -> None:
        """Drop the point because it cannot be advised. Those that it put out are in again: they
        may be the best of the rest."""
        self.live.discard(point)
        self.put_out.pop(point, None)
        self._errors.pop(point, None)
        self._return([p for p, by in self.put_out.items() if by == point])

    @property
    def behind(self) -> list[int]:
        """Live points that are in again and have fewer blocks than others."""
        most = max(map(self.blocks, range(self.points)))
        return sorted(p for p in self.live if self.blocks(p) < most)

    def share(self) -> float:
        """The error that an interval of this look may have."""
        # Σ 6/(π²r²) over all looks is 1: together they spend the error once.
        look = (1 - self.level) * 6 / (math.pi * max(self.looks, 1)) ** 2
        # Bonferroni: the rest is divided among all intervals of this look.
        return look / max(1, self._comparisons() + self.also)

    @property
    def over(self) -> bool:
        """Nobody who is left can still be better than the leader by more than delta."""
        others = self.live - {self.leader}
        # The interval alone counts, not the mean.
        return all(self.against[p].low > -self.delta for p in others)

    def regret(self, point: int, blocks: Sequence[int] | None = None) -> float:
        """Return the point's objective: worst regret, or the weighted mean's distance from the
        best's. It is taken over the live points' common blocks, or over some of them."""
        among = sorted(self.live | {point})
        shared = min(map(self.blocks, among))
        chosen = list(range(shared)) if blocks is None else list(blocks)
        means = np.array([self._array(p)[:, chosen].mean(axis=1) for p in among])
        # Weights make one number of the scenes; else each scene has its own best.
        if self._one:
            means = means @ self._weights[:, None]
        gaps = (means - means.min(axis=0)).max(axis=1)
        return float(gaps[among.index(point)])

    def alone(self, scene: int) -> int:
        """The point that would lead if there were only this scene."""
        shared = min(map(self.blocks, self.live))
        return min(self.live, key=lambda p: float(np.mean(self._responses[p][scene][:shared])))

    def without(self, scenes: Sequence[int]) -> int:
        """The point that would lead without these scenes."""
        left = [s for s in range(self.scenes) if s not in scenes]
        race = Race(self.points, len(left), self.delta, self._of(left), self.level)
        race.live = set(self.live)
        # The same responses without a copy: only scenes are left out.
        race._responses = [[self._responses[p][s] for s in left] for p in range(self.points)]
        return race._lead(sorted(race.live))

    def further(self) -> int:
        """How many blocks more it will take, as far as the present spreads tell: the most that
        any live point needs until its interval lies above nought or above -delta."""
        need = 0
        for point in self.live - {self.leader}:
            found = self.against[point]
            # The lower end has to pass -delta; an estimate next to it would ask for blocks without
            # end.
            room = max(found.estimate, found.estimate + self.delta, self.delta / 2)
            reach = found.estimate - found.low
            if found.low > -self.delta or not reach:
                continue
            # The reach falls with the root of the blocks.
            need = max(need, math.ceil(found.blocks * (reach / room) ** 2) - found.blocks)
        return need

    # How points differ.

    @property
    def _one(self) -> bool:
        return self.scenes == 1 or self.weights is not None

    @property
    def _weights(self) -> "NDArray[float64]":
        weights = np.array(self.weights if self.weights is not None else [1.0], dtype=float)
        found: NDArray[float64] = weights / weights.sum()
        return found

    def _of(self, scenes: Sequence[int]) -> list[float] | None:
        return None if self.weights is None else [self.weights[s] for s in scenes]

    def _comparisons(self) -> int:
        if self._one:
            return self.points - 1
        return self.scenes * self.points * (self.points - 1) // 2

    def _array(self, point: int) -> "NDArray[float64]":
        return np.array(self._responses[point], dtype=float)

    def _lead(self, among: Sequence[int]) -> int:
        shared = min(map(self.blocks, among))
        means = np.array([self._array(p)[:, :shared].mean(axis=1) for p in among])
        if self._one:
            return among[int((means @ self._weights).argmin())]
        return among[int((means - means.min(axis=0)).max(axis=1).argmin())]

    def _judge(self, leader: int) -> dict[int, Against]:
        """Compute every point's difference to the leader: one number, or by regrets. Later looks
        have less of the error to spend; a point that is out has its own look's, and its blocks."""
        lead = self._array(leader)
        low, middle, high = (np.zeros((self.points, self.scenes)) for _ in range(3))
        found: dict[int, Against] = {}
        for point in range(self.points):
            # Points that went out earlier have fewer: pairs need the blocks of both.
            shared = min(self.blocks(point), lead.shape[1])
            gaps = self._array(point)[:, :shared] - lead[:, :shared]
            if self._one:
                gaps = self._weights[None, :] @ gaps
            mean, reach = _student(gaps, self._errors.get(point, self.share()))
            if self._one:
                ends = (float(mean[0]), float(mean[0] - reach[0]), float(mean[0] + reach[0]))
                found[point] = Against(*ends, shared)
            else:
                low[point], middle[point], high[point] = mean - reach, mean, mean + reach
        if not self._one:
            for point in range(self.points):
                ends = _regrets(point, low, middle, high)
                found[point] = Against(*ends, min(self.blocks(point), lead.shape[1]))
        # Against itself there is no difference, and no interval.
        found[leader] = Against(0.0, 0.0, 0.0, lead.shape[1])
        return found


def _regrets(
    point: int, low: "NDArray[float64]", middle: "NDArray[float64]", high: "NDArray[float64]"
) -> tuple[float, float, float]:
    """A point's worst regret less the leader's, from its differences d to the leader in each scene
    (rows: points; the leader's own is nought). The leader's regret a in a scene is the most that
    another is below it there; the point's is a + d. So the difference of the worst is
    max(a + d) - max(a), whose bounds over all that the intervals allow are found scene by scene:
    it falls with a of the leader's worst scene, and rises with a of the others."""
    least, most = np.maximum(0, -high.min(axis=0)), np.maximum(0, -low.min(axis=0))
    regret = np.maximum(0, -middle.min(axis=0))
    estimate = float((regret + middle[point]).max() - regret.max())
    scenes = range(low.shape[1])
    below = []
    for worst in scenes:
        if most[worst] < least.max():
            continue  # cannot be the leader's worst
        rest = [least[s] + low[point, s] for s in scenes if s != worst]
        below.append(max(low[point, worst], max(rest, default=-math.inf) - most[worst]))
    # max(a + d) - max(a) is never above the largest d.
    return estimate, float(min(below)), float(high[point].max())


def _student(
    gaps: "NDArray[float64]", error: float
) -> tuple["NDArray[float64]", "NDArray[float64]"]:
    """Means of rows and how far their two-sided intervals reach."""
    n = gaps.shape[1]
    mean = gaps.mean(axis=1)
    if n < 2:
        return mean, np.full_like(mean, math.inf)
    return mean, quantile(n - 1, error) * gaps.std(axis=1, ddof=1) / math.sqrt(n)


@cache
def quantile(freedom: int, error: float) -> float:
    """Two-sided quantile of Student's t."""
    return student(freedom, 1 - error / 2)


def middle(points: Sequence[float]) -> int:
    """Which of these is next to the geometric middle of their range."""
    goal = (math.log(min(points)) + math.log(max(points))) / 2
    return min(range(len(points)), key=lambda i: abs(math.log(points[i]) - goal))
