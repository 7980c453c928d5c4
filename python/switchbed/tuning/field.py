"""Where the race takes place: scenes of a scenario under seeds, on a sweep's store and engine."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from switchbed import comparing, files, store
from switchbed._native import Mistake, Plan
from switchbed.sweeps import key, progress
from switchbed.sweeps.archive import Archive
from switchbed.sweeps.engine import Engine
from switchbed.sweeps.sweep import SweepResult, enter, rows
from switchbed.tuning.grid import Point

Plans = Callable[[Mapping[str, Any]], list[Plan]]
"""The runs of the scenario under these settings; `compare.KEY` with a list compares."""


@dataclass(frozen=True)
class Scene:
    """A workload: what `[compare]` sets apart from scheme, seed and what is tuned."""

    settings: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """`load 0.3, sizes web-search`."""
        named = (f"{key.rpartition('.')[2]} {value}" for key, value in self.settings)
        return ", ".join(named) or "the scenario"


@dataclass
class Field:
    """Runs points, and keeps count of what they cost."""

    plans: Plans
    archive: Archive
    name: str
    engine: Engine
    quiet: bool
    base: Mapping[str, Any] = field(default_factory=dict)
    """Settings of all points but one that has none: the scenario as it is."""
    found: SweepResult = field(init=False)
    tuned: tuple[str, ...] = ()
    scenes: list[Scene] = field(default_factory=list)
    summaries: dict[tuple[Point, Scene, int], dict[str, Any]] = field(default_factory=dict)
    _paid: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found = SweepResult(self.archive, self.name, [])

    def __enter__(self) -> Self:
        self.archive.sweep()
        self.engine.__enter__()
        return self

    def __exit__(self, *why: object) -> None:
        self.engine.__exit__(*why)
        self.archive.sweep()

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
        kept = {name for _, _, name in planned if self.archive.has(name)}
        with progress.bar(self.found, quiet=self.quiet) as meter:
            enter([plan for _, plan, _ in planned], self.found, self.engine, meter, retry=False)
        if self.found.stopped_by is not None:
            raise self.found.stopped_by
        for point, plan, name in planned:
            message = self.archive.failure(name)
            if not self.archive.has(name):
                raise Mistake(f"{point.label}: a run failed: {message}")
            scene = _scene(dict(json.loads(plan.settings)), self.tuned)
            seed = int(json.loads(plan.scenario)["run"]["seed"])
            self.summaries[point, scene, seed] = self.archive.summary(name)
            self._paid[name] = self._wall(name)
        return sum(self._paid[name] for name in {name for _, _, name in planned} - kept)

    def block(self, point: Point, seed: int) -> list[dict[str, Any]]:
        """What all scenes of a seed gave."""
        return [self.summaries[point, scene, seed] for scene in self.scenes]

    def has(self, points: Sequence[Point], seeds: Sequence[int]) -> bool:
        """Whether the store has them all."""
        return all(self.archive.has(name) for _, _, name in self._planned(points, seeds))

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
        """What a run takes on average, kept ones counted."""
        return sum(self._paid.values()) / max(1, len(self._paid))

    def close(self) -> None:
        """Writes the sweep's table, a row a run."""
        once = {entry.key: entry for entry in self.found.entries}
        table = SweepResult(self.archive, self.name, list(once.values()))
        if once:
            self.archive.write_sweep(self.name, rows(table))

    def _wall(self, name: str) -> float:
        machine = files.read_json(self.archive.run(name) / store.MACHINE)
        return float(machine.get("wall_s", 0.0))


def _scene(settings: Mapping[str, Any], tuned: Sequence[str]) -> Scene:
    return Scene(
        tuple(
            (k, v if isinstance(v, str) else json.dumps(v))
            for k, v in settings.items()
            if not comparing.is_seed(k) and not comparing.is_scheme(k) and k not in tuned
        )
    )
