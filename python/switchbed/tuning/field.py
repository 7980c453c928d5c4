"""Where the race takes place: scenes of a scenario under seeds, on a sweep's store and engine."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from switchbed import comparing, directory, files, links
from switchbed._native import Mistake, Plan
from switchbed.measured import Metric
from switchbed.result import Result
from switchbed.store import Store
from switchbed.sweeps import key, progress
from switchbed.sweeps.engine import Engine
from switchbed.sweeps.sweep import SweepResult, enter, rows
from switchbed.sweeps.threads import Threads
from switchbed.tuning.grid import Point
from switchbed.tuning.objective import TABLES

Plans = Callable[[Mapping[str, Any]], list[Plan]]
"""The runs of the scenario under these settings; `compare.KEY` with a list compares."""


@dataclass(frozen=True)
class Scene:
    """A workload: what `[compare]` sets apart from scheme, seed and what is tuned."""

    settings: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """Name in words: `load 0.3, sizes web-search`."""
        named = (f"{key.rpartition('.')[2]} {value}" for key, value in self.settings)
        return ", ".join(named) or "the scenario"


@dataclass
class Field:
    """Runs points, and keeps count of what they cost."""

    plans: Plans
    store: Store
    name: str
    engine: Engine
    quiet: bool
    base: Mapping[str, Any] = field(default_factory=dict)
    """Settings of all points but one that has none: the scenario as it is."""
    found: SweepResult = field(init=False)
    tuned: tuple[str, ...] = ()
    scenes: list[Scene] = field(default_factory=list)
    summaries: dict[tuple[Point, Scene, int], dict[str, Any]] = field(default_factory=dict)
    metrics: Sequence[Metric] = ()
    """Figures of tables, which summaries lack."""
    _paid: dict[str, float] = field(default_factory=dict)
    """Seconds of a core by key."""
    _own: set[str] = field(default_factory=set)
    """Keys of runs that ran in this process."""

    def __post_init__(self) -> None:
        self.found = SweepResult(self.store, self.name, [])

    def __enter__(self) -> Self:
        self.store.sweep()
        self.engine.__enter__()
        return self

    def __exit__(self, *why: object) -> None:
        self.engine.__exit__(*why)
        self.store.sweep()

    def begin(self, tuned: Sequence[str]) -> None:
        """Finds the scenes: what is compared but not tuned."""
        self.tuned = tuple(tuned)
        for plan in self.plans(self.base):
            scene = _scene(dict(json.loads(plan.settings)), tuned)
            if scene not in self.scenes:
                self.scenes.append(scene)

    def run(self, points: Sequence[Point], seeds: Sequence[int]) -> float:
        """Runs these, and returns what they took in seconds of a core, kept ones not counted."""
        planned = self._planned(points, seeds)
        kept = {name for _, _, name in planned if self.store.has(name)}
        begin = _processor()
        with progress.bar(self.found, quiet=self.quiet) as progress_bar:
            enter(
                [plan for _, plan, _ in planned], self.found, self.engine, progress_bar, retry=False
            )
        # The processor's time, not the clock's, since others may use the machine.
        took = _processor() - begin
        if self.found.stopped_by is not None:
            raise self.found.stopped_by
        for point, plan, name in planned:
            message = self.store.failure(name)
            if not self.store.has(name):
                raise Mistake(f"{point.label}: a run failed: {message}")
            scene = _scene(dict(json.loads(plan.settings)), self.tuned)
            seed = int(json.loads(plan.scenario)["run"]["seed"])
            self.summaries[point, scene, seed] = self.store.summary(name) | self._tables(name)
        # Kept runs cost nothing now.
        new = {name for _, _, name in planned} - kept
        for name in {name for _, _, name in planned} - self._paid.keys():
            self._paid[name] = self._took(name)
        if isinstance(self.engine, Threads) and new:
            # On a machine that others use a run is longer by the clock, and costs no more.
            self._paid |= dict.fromkeys(new, took / len(new))
            self._own |= new
        return sum(self._paid[name] for name in new)

    def _tables(self, name: str) -> dict[str, Any]:
        """The metrics of a run, each with the number of values that it is of."""
        if not self.metrics:
            return {}
        found = Result.load(self.store.run(name))
        return {
            TABLES: {
                each.text: {
                    "value": each.value(found),
                    "n": replace(each, statistic="n").value(found),
                }
                for each in self.metrics
            }
        }

    def block(self, point: Point, seed: int) -> list[dict[str, Any]]:
        """Return the summaries of all scenes for a seed."""
        return [self.summaries[point, scene, seed] for scene in self.scenes]

    def missing(self, points: Sequence[Point], seeds: Sequence[int]) -> int:
        """Return how many of these runs, of all scenes, the store lacks."""
        return sum(not self.store.has(name) for _, _, name in self._planned(points, seeds))

    def kept(self, points: Sequence[Point], seeds: Sequence[int]) -> tuple[int, int]:
        """Runs of them that the store has, and all of them."""
        names = [name for _, _, name in self._planned(points, seeds)]
        return sum(self.store.has(name) for name in names), len(names)

    def packet_hops(self, point: Point, seed: int) -> float | None:
        """Packet-hops that all scenes are expected to take together, if each can be expected."""
        each = [links.packet_hops(plan) for _, plan, _ in self._planned([point], [seed])]
        return None if None in each else sum(hops for hops in each if hops)

    def _planned(
        self, points: Sequence[Point], seeds: Sequence[int]
    ) -> list[tuple[Point, Plan, str]]:
        """Each run with its key."""
        return [
            (point, plan, key.of(plan))
            for point in points
            for plan in self.plans(
                (dict(self.base) if point.settings else {})
                | {f"compare.{k}": [v] for k, v in point.settings.items()}
                | {"compare.seed": list(seeds)}
            )
        ]

    @property
    def run_s(self) -> float:
        """Return the mean duration of a run in seconds: of this call's runs if there are any,
        otherwise of the store's."""
        known = [self._paid[name] for name in self._own] or list(self._paid.values())
        return sum(known) / max(1, len(known))

    def close(self) -> None:
        """Writes the sweep's table, a row a run."""
        once = {entry.key: entry for entry in self.found.entries}
        table = SweepResult(self.store, self.name, list(once.values()))
        if once:
            self.store.write_sweep(self.name, rows(table))

    def _took(self, name: str) -> float:
        """The processor's time, or the clock's where the store does not know it."""
        machine = files.read_json(self.store.run(name) / directory.MACHINE)
        return float(machine.get("processor_s", machine.get("wall_s", 0.0)))


def _processor() -> float:
    """Seconds of a core that this process and those that it waited for have had."""
    # User and system, of this process and of its children.
    return sum(os.times()[:4])


def _scene(settings: Mapping[str, Any], tuned: Sequence[str]) -> Scene:
    return Scene(
        tuple(
            (k, v if isinstance(v, str) else json.dumps(v))
            for k, v in settings.items()
            if not comparing.is_seed(k) and not comparing.is_scheme(k) and k not in tuned
        )
    )
