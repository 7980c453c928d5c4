"""Figures kept of an experiment's runs, one row a run."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from switchbed._native import Mistake

Figures = dict[str, Any]
"""Numbers by name, and lists of numbers for drawing; None where a run has no such figure."""


def number(value: object) -> float:
    """A figure of a column, which Polars may give as anything that a column may hold."""
    return float(cast(float, value))


def mean(values: Iterable[object]) -> float:
    """The mean of a column's values, the same in any order: how Polars cuts and groups a frame, and
    so the last digits of its sums, depends on its threads."""
    found = [number(value) for value in values]
    return math.fsum(found) / len(found)


@dataclass(frozen=True)
class Row:
    """Figures that are kept of one run."""

    settings: dict[str, Any]
    """Coordinates: the settings that `[compare]` varies, the scheme by its label. `scenario` is the
    file's stem, where an experiment has several."""
    seed: int
    figures: Figures
    scheme: str = ""
    """The scheme's name in the registry."""
    profile: str = ""
    """The reading of the set-up, or the profile of other hosts."""
    setup: str = ""
    """A digest of what the set-up settled."""
    scenario: str = ""
    """A digest of what ran, hosts included."""
    build: str = ""
    """Build of the engine that ran it."""
    core_s: float = 0.0
    """Processor time of the run."""
    passed: bool = False
    """Whether it is the time that passed instead, as in rows and stores before 0.3.0."""

    @classmethod
    def of(cls, kept: Mapping[str, Any], **fields: Any) -> "Row":
        """Return the row that a store or a file of rows keeps."""
        found = {"core_s" if key == "wall_s" else key: value for key, value in kept.items()}
        return cls(**{"passed": "wall_s" in kept} | found | fields)

    def fits(self, settings: Mapping[str, Any]) -> bool:
        """Whether it has these settings."""
        return all(same(self.settings.get(key), value) for key, value in settings.items())


class NotRun(Mistake):
    """Settings that no row has: a smaller scale leaves points out."""


@dataclass(frozen=True)
class Rows:
    """The runs of an experiment."""

    rows: Sequence[Row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def where(self, settings: Mapping[str, Any]) -> "Rows":
        """Return the rows with these settings."""
        found = Rows([row for row in self.rows if row.fits(settings)])
        if not found.rows:
            words = ", ".join(f"{key} {value}" for key, value in settings.items())
            raise NotRun(f"no run has {words}")
        return found

    def values(self, key: str) -> list[Any]:
        """The values that a setting takes, in the order of the runs."""
        return list(dict.fromkeys(row.settings[key] for row in self.rows if key in row.settings))

    def by_seed(self, metric: str | Callable[[Row], float | None]) -> dict[int, float]:
        """A figure of each seed's run; there must be one run a seed. Seeds without are left
        out."""
        found: dict[int, float] = {}
        for row in self.rows:
            value = row.figures.get(metric) if isinstance(metric, str) else metric(row)
            if row.seed in found:
                raise Mistake(f"two runs of seed {row.seed}: {row.settings} among them")
            if value is not None:
                found[row.seed] = float(value)
        return found

    def points(self, but: Sequence[str]) -> list[dict[str, Any]]:
        """The settings that occur, those in `but` left out."""
        kept = ({k: v for k, v in row.settings.items() if k not in but} for row in self.rows)
        return [dict(point) for point in dict.fromkeys(tuple(point.items()) for point in kept)]


def same(a: Any, b: Any) -> bool:
    """Settings are the same if they are equal, numbers as numbers."""
    if a == b:
        return True
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return False
