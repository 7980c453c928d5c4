"""The way to an advice: pilot, price, race, fresh seeds."""

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from switchbed import comparing, stats
from switchbed._native import Mistake
from switchbed.scenario import Scenario
from switchbed.sonic.device import Device
from switchbed.sonic.fragment import known
from switchbed.store import Store
from switchbed.sweeps import sweep as sweeps
from switchbed.sweeps.engine import Engine
from switchbed.sweeps.threads import Threads
from switchbed.tuning import advice, first, grid, guards, target
from switchbed.tuning.advice import Advice, Entry, Fresh
from switchbed.tuning.field import Field, Plans
from switchbed.tuning.fragment import Fragment, Writer
from switchbed.tuning.grid import Grid, Point
from switchbed.tuning.guards import Verdict
from switchbed.tuning.objective import DEFAULT, GUARD, Guard, Objective, of_tables
from switchbed.tuning.race import LEVEL, Race, middle
from switchbed.tuning.target import Target

PILOT = 5
"""Seeds before anybody goes out."""
GROWTH = 2
"""After a look with n seeds come n/2 more: each look costs some of the error."""
LEAST_HOP_S = 5e-8
"""Seconds of a core for an expected packet-hop, at the very least: expectations are right to a
factor of two, and the fastest runs take 0.1 µs."""
MANY = 10_000
SEEDS = 40
BUDGET = 30.0
FRESH = 1_000_000
"""Fresh seeds are so far from the race's."""
RESAMPLES = 999


@dataclass(frozen=True)
class Question:
    """Question to the tuner: the scenario and its options."""

    params: Sequence[str] = ()
    objective: str = DEFAULT
    guards: Sequence[str] | None = None
    """`None`: the usual one, where it can be measured."""
    target: str = "sim"
    budget: float = BUDGET
    """Minutes of a core, for runs that the store has not."""
    delta: float | None = None
    """Difference that counts as equal, as a fraction. `None`: 5 % of a tail, 1 % of a mean."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Of scenes, by `load=0.8`: the weighted mean counts then, in place of the worst regret."""
    seeds: int = SEEDS
    rtt: str | None = None
    fragment: bool = False
    """Whether the advised setting is wanted as the target takes it."""

    def __post_init__(self) -> None:
        if self.budget <= 0:
            raise Mistake(f"--budget {self.budget:g}: so many minutes of a core: above 0")
        if self.seeds < PILOT:
            raise Mistake(f"--seeds {self.seeds}: the pilot alone takes {PILOT}")
        if self.delta is not None and not 0 < self.delta < 1:
            raise Mistake(f"--delta {self.delta:g}: it must be between 0 and 1, as 5%")


def tune(
    scenario: Scenario | str | os.PathLike[str],
    *,
    params: Sequence[str] = (),
    objective: str = DEFAULT,
    guards: Sequence[str] | None = None,
    target: str = "sim",
    budget: float = BUDGET,
    delta: float | None = None,
    weights: Mapping[str, float] | None = None,
    seeds: int = SEEDS,
    rtt: str | None = None,
    fragment: bool = False,
    store: str | os.PathLike[str] = sweeps.STORE,
    name: str | None = None,
    jobs: int | None = None,
    engine: Engine | None = None,
) -> Advice:
    """Find a good value of a scheme's parameters, by runs of the scenario (docs/tune.md).

    Runs are kept: the same call goes on where it was stopped.

    Args:
        scenario: Scenario or its file; its `[compare]` lists the workloads.
        params: Parameters to tune: `"threshold"`, or with values `"threshold=20KB,40KB"`.
        objective: Figure of the summary to minimise.
        guards: Limits to keep, such as `"drops=0"`. `None`: the usual one.
        target: System that the setting is for: `sim`, `tc`, or a switch.
        budget: Most computing time, in minutes of a core.
        delta: Difference that counts as equal, as a fraction. `None`: 5 % of a tail, 1 % of a mean.
        weights: Weights of workloads, such as `{"load=0.8": 2}`.
        seeds: Most seeds of a setting.
        rtt: Base RTT such as `"80us"`. `None`: measured by a probe.
        fragment: Whether the advice has the setting in the form that the target takes.
        store: Folder in which runs are kept.
        name: Name in the store. Default: from the scenario's name.
        jobs: Runs at a time on this machine; `None`: as many as there are cores.
        engine: `Ray(…)` or `Slurm(…)` in place of this machine.

    Returns:
        The advice with its verdicts, its assumptions and its cost.

    Raises:
        Mistake: The scenario or an argument has a mistake.

    Example:
        >>> print(sb.tune("load.toml", params=["threshold"], budget=10).sentence)
    """
    given = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    asked = Question(
        params, objective, guards, target, budget, delta, weights or {}, seeds, rtt, fragment
    )
    called = name or f"tune-{Path(given.name.removeprefix('@')).stem}"
    return run(
        lambda settings: given.with_(settings).plans,
        given.name,
        asked,
        Store(Path(store)),
        called,
        engine or Threads(jobs),
        device=known(Path(given.name)),
    )


def run(
    plans: Plans,
    scenario: str,
    asked: Question,
    store: Store,
    name: str,
    engine: Engine,
    *,
    quiet: bool = True,
    tell: Callable[[str], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
    device: Device | None = None,
) -> Advice:
    """Tune for the command and the API. `tell` is given the price before the race goes on, `note`
    a line after each look. `device` is the switch that the scenario was imported from."""
    try:
        held = target.of(asked.target)
        kept = Field(plans, store, name, engine, quiet)
        with kept:
            try:
                return _Tuning(kept, scenario, asked, held, (tell, note), device).advice()
            finally:
                kept.close()
    except Mistake:
        store.abandon()
        raise


class _Tuning:
    """One race, from grid to advice."""

    def __init__(
        self,
        place: Field,
        scenario: str,
        asked: Question,
        held: Target,
        say: tuple[Callable[[str], None], Callable[[str], None]],
        device: Device | None,
    ) -> None:
        self.place, self.name, self.asked, self.held = place, scenario, asked, held
        self.tell, self.note = say
        plan = place.plans({})[0]
        # A target that lacks the scheme is tuned with the nearest that it has.
        lacking = held.instead(json.loads(plan.scenario))
        self.lacking: Point | None = None
        """The scheme that the target lacks, as the scenario has it."""
        if lacking is not None:
            scheme = json.loads(plan.scenario)["scheme"]["name"]
            self.lacking = Point({}, (), (f"{scheme}, which {held.name} lacks",))
            place.base = {"scheme": lacking}
        else:
            place.base = grid.unbound(json.loads(plan.scenario))
        settings = dict(json.loads(plan.settings))
        if any(map(comparing.is_scheme, settings)):
            raise Mistake(
                "[compare] has schemes: tune one at a time, such as by "
                "--set 'compare.scheme=[\"per-queue\"]' --set scheme=per-queue"
            )
        self.scenario: dict[str, Any] = json.loads(place.plans(place.base)[0].scenario)
        self.objective = Objective(asked.objective)
        place.metrics = [
            metric
            for text, option in (
                (asked.objective, "--objective"),
                *((Guard.parse(text).metric, "--guard") for text in asked.guards or ()),
            )
            if (metric := of_tables(text, option)) is not None
        ]
        # A scenario that names its chip is held to that chip, not to SONiC in general.
        chip = self.scenario["switch"].get("asic")
        if held.name == "sonic" and chip is not None:
            self.held = held = target.of(str(chip))
        held.check(self.scenario)
        self.link = first.link(self.scenario, asked.rtt)
        alphas, shipped = held.grid(self.scenario)
        self.grid: Grid = grid.build(
            self.scenario, asked.params, self.link, held.hold, alphas, shipped, self._with
        )
        place.begin(self.grid.keys)
        self.refused: dict[Point, str] = {}
        for point in self.grid.points:
            why = held.refuses(
                point, self.link.rate, self.link.mtu, self.scenario["switch"].get("alpha")
            )
            # The target may hold what the scenario cannot, such as a threshold over its buffer.
            why = why or self._unplanned(point)
            if why is not None:
                self.refused[point] = why
        self.points = [p for p in self.grid.points if p not in self.refused or "yours" in p.names]
        if len(self.points) < 2:
            why = next(iter(self.refused.values()), "there is one")
            raise Mistake(f"--param: no two points of the grid to compare: {why}")
        # The user's setting stays even if it is refused: others are compared with it.
        self.own = next(i for i, p in enumerate(self.points) if "yours" in p.names)
        self.seed = int(self.scenario["run"]["seed"])
        # Tails vary more from seed to seed: 1 % of one would take thousands of seeds.
        self.delta = asked.delta or (0.05 if self.objective.is_tail else 0.01)
        self.guards = [Guard.parse(text) for text in (asked.guards or ())]
        self.verdicts: dict[str, list[Verdict]] = {}
        """On every setting by each guard, at the last look."""
        self.spent = 0.0
        scenes = len(place.scenes)
        self.race = Race(len(self.points), scenes, math.log1p(self.delta), self._weights(), LEVEL)
        self.writer = Writer(scenario, held, device)
        if asked.fragment:
            self._fragment(self.points[self.own])  # what would be refused is so before the runs

    def _with(self, key: str, value: object) -> Mapping[str, Any]:
        """The scenario where a key has a value."""
        planned = self.place.plans(dict(self.place.base) | {f"compare.{key}": [value]})
        found: Mapping[str, Any] = json.loads(planned[0].scenario)
        return found

    def _unplanned(self, point: Point) -> str | None:
        """Why the scenario cannot have the setting, such as a threshold over its buffer."""
        if "yours" in point.names:
            return None
        try:
            self.place.plans(dict(self.place.base) | dict(point.settings))
        except Mistake as mistake:
            return str(mistake).partition(": ")[2]
        return None

    def advice(self) -> Advice:
        """All of it in order. Stopped by a signal after the pilot, it says what is known."""
        try:
            self._price_of_pilot()
            self._block(PILOT)
        except KeyboardInterrupt:
            kept, all_ = self.place.kept(self.points, [self.seed + n for n in range(PILOT)])
            self.tell(
                f"interrupted in the pilot: {kept} of its {all_} runs are kept, and the same "
                "command goes on from here; settings are compared after it"
            )
            raise
        self._usual_guard()
        # Guards are tested in every scene too: their intervals share the same error.
        self.race.also = len(self.guards) * len(self.points) * len(self.place.scenes)
        self._look()
        # A guard that nothing keeps is refused now, before the budget is spent on it.
        self._meetable()
        price = self._price()
        self.tell(price)
        try:
            self._race()
            return self._conclude(price)
        except KeyboardInterrupt as stopped:
            return self._conclude(price, stopped)

    # The race.

    def _race(self) -> None:
        while not self.race.over:
            n = max(map(self.race.blocks, range(len(self.points))))
            # Settings that are in again are first judged by as many seeds as the others.
            behind = self.race.behind
            # Half as many again each time: every look costs some of the error.
            more = 0 if behind else min(max(1, n // GROWTH), self.asked.seeds - n)
            due = {p: range(self.race.blocks(p), n + more) for p in self.race.live}
            if not any(due.values()):
                return
            # Fresh seeds are paid from the same budget, so the race stops short of it.
            lacks = sum(self._missing([p], blocks) for p, blocks in due.items() if blocks)
            if lacks > 0 and self._takes(lacks) > self._room():
                return
            self._block(n + more)
            self._look()
            self.note(
                f"{n + more} seeds: {len(self.race.live)} of {len(self.points)} settings are left, "
                f"{self.spent / 60:.3g} core-minutes"
            )

    def _block(self, blocks: int) -> None:
        """Runs live points until each has so many blocks: one that is in again has fewer."""
        by_missing: dict[int, list[int]] = {}
        for p in sorted(self.race.live):
            if self.race.blocks(p) < blocks:
                by_missing.setdefault(self.race.blocks(p), []).append(p)
        for have, points in by_missing.items():
            # Every point of a block has the same seeds, so differences are paired.
            seeds = [self.seed + n for n in range(have, blocks)]
            self.spent += self.place.run([self.points[p] for p in points], seeds)
            self._add(points, seeds)

    def _add(self, points: Sequence[int], seeds: Sequence[int]) -> None:
        for p in points:
            for seed in seeds:
                block = self.place.block(self.points[p], seed)
                # On the logarithm a ratio is a difference, and no scene outweighs the others.
                self.race.add(p, [math.log(self.objective.of(summary)) for summary in block])

    def _look(self) -> None:
        self.verdicts = self._verdicts()
        kept = guards.kept(self.verdicts.values(), len(self.points))
        for p, keeps in enumerate(kept):
            # The last one stays, if only to be reported.
            if not keeps and len(self.race.live | self.race.put_out.keys() - {p}) > 1:
                self.race.drop(p)
        # The user's own is compared, but cannot be advised where the target refuses it.
        refused = any(self.points[p] in self.refused for p in self.race.live)
        if refused and len(self.race.live) > 1:
            self.race.drop(self.own)
        self.race.look(kept)

    def _verdicts(self) -> dict[str, list[Verdict]]:
        """Verdicts of this look. A guard that an earlier look showed broken stays broken: later
        looks have less of the error to spend."""
        error = self.race.share()
        found = {
            str(guard): guards.judge(guard, self._values(guard), self.own, error)
            for guard in self.guards
        }
        for name, before in self.verdicts.items():
            kept = zip(before, found[name], strict=True)
            found[name] = [old if old.surely else new for old, new in kept]
        return found

    def _values(self, guard: Guard) -> list[list[list[float | None]]]:
        return [
            [
                [
                    guard.value(self.place.summaries[point, scene, self.seed + n])
                    for n in range(self.race.blocks(p))
                ]
                for scene in self.place.scenes
            ]
            for p, point in enumerate(self.points)
        ]

    def _usual_guard(self) -> None:
        """Add the usual guard where runs have large flows and the user has named no other."""
        if self.asked.guards is not None:
            return
        usual = Guard.parse(GUARD)
        values = [v for point in self._values(usual) for scene in point for v in scene]
        # A guard on the objective itself would forbid what is asked for.
        if self.objective.metric != usual.metric and all(v is not None for v in values):
            self.guards = [usual]

    def _meetable(self) -> None:
        for name, found in self.verdicts.items():
            if all(verdict.mean is None for verdict in found):
                raise Mistake(f"--guard {name}: no run has that figure")
            if all(verdict.surely for verdict in found):
                # The nearest to the bound is named, so that the user sees by how much to loosen
                # it.
                best = min(range(len(found)), key=lambda p: found[p].over)
                has = found[best].mean
                raise Mistake(
                    f"--guard {name}: no point of the grid keeps it: the best, "
                    f"{self.points[best].label}, has {has:.4g}"
                )

    # The price of the race.

    def _price_of_pilot(self) -> None:
        """One run of each scene tells what a run takes, and whether it has flows enough."""
        own = self.points[self.own]
        points = range(len(self.points))
        lacks = self._missing(points, range(PILOT))
        hops = self.place.packet_hops(own, self.seed) if lacks else None
        least = LEAST_HOP_S * (hops or 0.0) * lacks / len(self.place.scenes)
        # Runs for hours are not begun to find that minutes are given.
        if least > 60 * self.asked.budget:
            raise self._too_dear("at least", least)
        self.spent += self.place.run([own], [self.seed])
        # None where no entry counts its flows: then nothing is said about their number.
        flows = sum(int(t.get("flows", 0)) for t in self.scenario["traffic"]) or None
        for summary in self.place.block(own, self.seed):
            self.objective.of(summary)
            self.objective.check(summary, flows)
            for guard in self.guards:
                guard.value(summary)  # an unknown name is refused before the pilot
        # The first run is paid already.
        left = self._missing(points, range(PILOT))
        if left > 0 and self._takes(left) > self._room():
            raise self._too_dear("about", self._takes(lacks))

    def _too_dear(self, about: str, pilot_s: float) -> Mistake:
        return Mistake(
            f"--budget {self.asked.budget:g}: the pilot ({len(self.points)} points, "
            f"{len(self.place.scenes)} scenes, {PILOT} seeds) takes {about} "
            f"{pilot_s / 60:.3g} core-minutes; give it more, or fewer points (--param "
            "KEY=VALUE,VALUE), scenes or flows"
        )

    def _missing(self, points: Iterable[int], blocks: Iterable[int]) -> int:
        """How many runs of these points and blocks the store lacks: kept ones cost nothing."""
        seeds = [self.seed + n for n in blocks]
        return self.place.missing([self.points[p] for p in points], seeds)

    def _takes(self, runs: int) -> float:
        return runs * self.place.run_s

    def _cost(self, points: int, blocks: int) -> float:
        return points * blocks * len(self.place.scenes) * self.place.run_s

    def _room(self) -> float:
        """Seconds of a core that are left, less what fresh seeds take at least."""
        # Fresh seeds are due in any case, so their part is set aside.
        fresh = self._missing(self._shown(), range(FRESH, FRESH + PILOT))
        return 60 * self.asked.budget - self.spent - self._takes(fresh)

    def _price(self) -> str:
        blocks = self.race.further()
        runs = blocks * len(self.race.live) * len(self.place.scenes)
        took = f"pilot: {len(self.place.summaries):,} runs, {self.spent / 60:.3g} core-minutes"
        if not blocks:
            return f"{took}; it tells enough"
        needs = self._cost(len(self.race.live), blocks) / 60
        left = max(0.0, self._room()) / 60
        # The pilot's seeds are among those allowed.
        many = min(blocks, self.asked.seeds - PILOT)
        takes = (
            f"about {blocks:,} seeds more: {runs:,} runs, {needs:.3g} core-minutes"
            if blocks < MANY
            else f"over {MANY:,} seeds more (a wider --delta takes fewer)"
        )
        text = (
            f"{took}; to tell the {len(self.race.live)} points that are left apart to "
            f"{100 * self.delta:g} % takes {takes}"
        )
        if blocks > many or needs > left:
            text += f"; there are {left:.3g} left (--budget) and at most {many} seeds (--seeds)"
        return text

    # The end.

    def _shown(self) -> list[int]:
        """Points that run on fresh seeds: the advised or leader, the user's, the published."""
        chosen = self._advised()
        wanted = {self.own, self.race.leader if chosen is None else chosen}
        # Published settings run as well: readers look for them in the table.
        wanted |= {i for i, p in enumerate(self.points) if p.names and p not in self.refused}
        return sorted(wanted)

    def _advised(self) -> int | None:
        if not self.race.looks or not self.race.over:
            return None
        verdicts = self.verdicts
        keep = [all(v[p].over <= 0 for v in verdicts.values()) for p in range(len(self.points))]
        # Only along one parameter is there a middle.
        one = len(self.grid.keys) == 1
        places = [point.place[0] for point in self.points] if one else None
        return advised(self.race, keep, places)

    def _fresh_blocks(self, shown: Sequence[int]) -> range:
        """As many fresh seeds as the leader has had, or what the budget leaves."""
        if not shown:
            return range(0)
        room = 60 * self.asked.budget - self.spent
        # Two make an interval, whatever they cost.
        many = 2
        lacks = self._missing(shown, range(FRESH, FRESH + many))
        for n in range(many, self.race.blocks(self.race.leader)):
            lacks += self._missing(shown, [FRESH + n])
            if lacks > 0 and self._takes(lacks) > room:
                break
            many = n + 1
        return range(FRESH, FRESH + many)

    def _conclude(self, price: str, stopped: BaseException | None = None) -> Advice:
        advised = self._advised() if stopped is None else None
        shown = self._shown() if stopped is None else []
        blocks = self.race.blocks(self.race.leader)
        seeds = [self.seed + n for n in self._fresh_blocks(shown)]
        lacking = [self.lacking] if self.lacking is not None and shown else []
        self.spent += self.place.run([*(self.points[p] for p in shown), *lacking], seeds)
        entries = [self._entry(point, self.verdicts, advised) for point in self.grid.points]
        left = [self.points[p] for p in sorted(self.race.live)]
        own = self.points[self.own]
        scenes = self.place.scenes
        return Advice(
            scenario=self.name,
            scheme=self._scheme(),
            target=self.held.name,
            objective=self.objective.metric,
            guards=self.guards,
            delta=self.delta,
            scenes=[scene.label for scene in scenes],
            first=first.said(self.scenario, self.held, self._pilot(own)),
            price=price,
            entries=entries,
            leader=self.points[self.race.leader],
            advised=None if advised is None else self.points[advised],
            separated=self.race.over,
            left=left,
            fresh=[
                self._fresh(point, own, seeds, max(1, len(shown) + len(lacking) - 1))
                for point in (*(self.points[p] for p in shown), *lacking)
            ],
            fragment=self._fragment(self.points[advised])
            if self.asked.fragment and advised not in (None, self.own)
            else None,
            lost=self._lost(self.points[self.race.leader if advised is None else advised], seeds)
            if shown
            else "",
            stopped_by=stopped,
            robust=self._robust(),
            rests_on=first.rests_on(self.scenario, self.link, blocks, len(seeds)),
            runs=len(self.place.summaries),
            core_minutes=self.spent / 60,
        )

    def _scheme(self) -> str:
        """Name of the scheme whose parameters are tuned: a queue's own where its keys are."""
        usual = str(self.scenario["scheme"]["name"])
        if not all(re.match(r"switch\.queue\.\d+\.scheme\.", key) for key in self.grid.keys):
            return usual
        # The place in the file is no queue's number: queues that differ between points are tuned.
        ends = [
            self.place.plans(dict(self.place.base) | dict(point.settings))[0]
            for point in (self.points[0], self.points[-1])
        ]
        first_, last = (json.loads(plan.scenario)["scheme"].get("queues", []) for plan in ends)
        pairs = enumerate(zip(first_, last, strict=True))
        return " and ".join(f"{a['name']} of queue {i}" for i, (a, b) in pairs if a != b) or usual

    def _fragment(self, point: Point) -> Fragment:
        plan = self.place.plans(dict(self.place.base) | dict(point.settings))[0]
        return self.writer.made(json.loads(plan.scenario), point.settings)

    def _pilot(self, own: Point) -> list[dict[str, Any]]:
        return [s for n in range(PILOT) for s in self.place.block(own, self.seed + n)]

    def _entry(
        self, point: Point, verdicts: Mapping[str, Sequence[Verdict]], advised: int | None
    ) -> Entry:
        if point not in self.points:
            return Entry(point, advice.REFUSED, self.refused[point])
        p = self.points.index(point)
        broken = next((name for name, v in verdicts.items() if v[p].surely), None)
        found = self.race.against[p]
        verdict, why = advice.WORSE, ""
        if point in self.refused:
            verdict, why = advice.REFUSED, self.refused[point]
        elif broken is not None:
            verdict, why = advice.BREAKS, broken
        elif p == advised:
            verdict = advice.ADVISED
        elif p in self.race.live:
            leads = p == self.race.leader
            near = self.race.over if leads else found.high < self.race.delta
            lacks = advice.GONE if p in self.race.behind else advice.UNTOLD
            verdict = advice.AS_GOOD if near else lacks
        # 700 keeps exp() finite for a bound that the seeds leave open.
        ends = (math.exp(found.estimate), math.exp(found.low), math.exp(min(found.high, 700)))
        return Entry(
            point,
            verdict,
            why,
            self.race.blocks(p),
            stats.Interval(*ends, found.blocks, LEVEL),
            self._regret(p),
            {name: v[p] for name, v in verdicts.items()},
            [
                math.exp(math.fsum(map(math.log, values)) / len(values))
                for values in self._objectives(point, self.race.blocks(p))
            ],
        )

    def _objectives(self, point: Point, blocks: int) -> list[list[float]]:
        return [
            [
                self.objective.of(self.place.summaries[point, scene, self.seed + n])
                for n in range(blocks)
            ]
            for scene in self.place.scenes
        ]

    def _regret(self, p: int) -> stats.Interval | None:
        """The worst regret with its interval over seeds, where there are several scenes."""
        if len(self.place.scenes) < 2 or self.asked.weights or p not in self.race.live:
            return None
        # Regret is the distance from the best of a scene: all need the same seeds.
        shared = min(self.race.blocks(q) for q in self.race.live)

        def statistic(chosen: Any) -> float:
            return self.race.regret(p, [int(i) for i in chosen])

        found = stats.bootstrap(list(range(shared)), statistic, LEVEL, RESAMPLES)
        ends = [
            None if e is None or math.isnan(e) else math.exp(e) for e in (found.low, found.high)
        ]
        return stats.Interval(math.exp(found.estimate), ends[0], ends[1], shared, LEVEL)

    def _fresh(self, point: Point, own: Point, seeds: Sequence[int], others: int) -> Fresh:
        def values(of: Point, scene: Any) -> list[float]:
            return [self.objective.of(self.place.summaries[of, scene, seed]) for seed in seeds]

        scenes = self.place.scenes
        table = [(values(point, scene), values(own, scene)) for scene in scenes]
        over = [
            math.exp(math.fsum(math.log(of[i] / to[i]) for of, to in table) / len(table))
            for i in range(len(seeds))
        ]
        found: dict[str, float | None] = {}
        for guard in self.guards:
            measured = [
                guard.value(self.place.summaries[point, scene, seed])
                for scene in scenes
                for seed in seeds
            ]
            known = [v for v in measured if v is not None]
            found[guard.metric] = math.fsum(known) / len(known) if known else None
        return Fresh(
            point,
            [stats.mean(of, within=comparing.range_of(self.objective.metric)) for of, _ in table],
            [stats.paired(of, to).ratio for of, to in table],
            stats.paired(over, [1.0] * len(over), 1 - (1 - LEVEL) / others).ratio,
            found,
        )

    def _lost(self, point: Point, seeds: Sequence[int]) -> str:
        """State the cost of a static setting against the scheme that the target lacks."""
        if self.lacking is None:
            return ""
        ratio = self._fresh(self.lacking, point, seeds, 1).overall
        if ratio.low is None or ratio.high is None:
            return ""
        what = (
            f"{self.lacking.names[0]}, has {ratio.estimate:.2f} times ({ratio.low:.2f} to "
            f"{ratio.high:.2f}) the {self.objective.metric} of {point.label}, on fresh seeds"
        )
        if ratio.high < 1:
            return f"{what}: that is lost."
        return f"{what}: nothing is lost." if ratio.low > 1 else f"{what}: no loss is shown."

    def _robust(self) -> list[str]:
        """Each scene's best, and where the advice would move without a workload."""
        scenes = self.place.scenes
        if len(scenes) < 2:
            return []
        lines = [
            f"best for {scene.label} alone: {self.points[self.race.alone(i)].label}"
            for i, scene in enumerate(scenes)
        ]
        lead = self.race.without([])
        for key, value in dict.fromkeys(pair for scene in scenes for pair in scene.settings):
            out = [i for i, scene in enumerate(scenes) if (key, value) in scene.settings]
            if len(out) == len(scenes):
                continue
            other = self.race.without(out)
            if self._apart(lead, other):
                name = key.rpartition(".")[2]
                lines.append(
                    f"without {name} {value} the lead goes from {self.points[lead].label} to "
                    f"{self.points[other].label}"
                )
        return lines

    def _apart(self, one: int, other: int) -> bool:
        """More than a step of the grid: of its first number."""
        places = sorted({p.place[0] for p in self.points if not p.names})
        if len(places) < 2:
            return one != other
        a, b = (self.points[i].place[0] for i in (one, other))
        inside = [place for place in places if min(a, b) < place < max(a, b)]
        return len(inside) > 1

    def _weights(self) -> list[float] | None:
        """Of the scenes; each product of what its settings are given."""
        if not self.asked.weights:
            return None
        used: set[str] = set()
        found = []
        for scene in self.place.scenes:
            weight = 1.0
            for key, value in scene.settings:
                for name in (f"{key}={value}", f"{key.rpartition('.')[2]}={value}"):
                    if name in self.asked.weights:
                        weight *= self.asked.weights[name]
                        used.add(name)
                        break
            found.append(weight)
        for name in self.asked.weights:
            if name not in used:
                has = "; ".join(scene.label for scene in self.place.scenes)
                raise Mistake(f"--weight {name}: is no scene's; there are: {has}")
        if any(w < 0 for w in found) or not sum(found):
            raise Mistake("--weight: weights must not be negative, nor all be nought")
        return found


def advised(race: Race, keep: Sequence[bool], places: Sequence[float] | None) -> int | None:
    """Of the points that are as good as the leader and keep the guards on average, the one in the
    geometric middle; where they have none, the best on average; `None`: none of them does."""
    near = [p for p in sorted(race.live) if p == race.leader or race.against[p].high < race.delta]
    found = [p for p in near if keep[p]]
    if not found:
        return None
    if places is None or min(places[p] for p in found) <= 0:
        return min(found, key=lambda p: race.against[p].estimate)
    return found[middle([places[p] for p in found])]
