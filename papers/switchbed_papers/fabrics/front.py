"""Which schemes no other beats, said only where the seeds tell.

A scheme is beaten if another one is shown to be better in one of the two measures, and in the other
better or at most `MARGIN` worse: by the ends of intervals that are paired over the seeds. Of the
rest, the front are those that by the estimates no other of them betters in both; the others are
open: the seeds are too few to show that they are beaten.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from switchbed import stats
from switchbed._native import Mistake

SMALL, LARGE = "small_p99_us", "large_mean_us"
"""The measures; less is better in both."""
MARGIN = 0.02
"""Relative difference that still counts as no worse."""


@dataclass(frozen=True)
class Standing:
    """The schemes of a cell beside each other."""

    table: pl.DataFrame
    """Rows as `experiment.row` returns them."""

    @cached_property
    def labels(self) -> list[str]:
        """The schemes, in the order of the file."""
        return self.table["label"].unique(maintain_order=True).to_list()

    @cached_property
    def schemes(self) -> list[tuple[str, str]]:
        """Labels with their schemes' names."""
        return list(self.table.select("label", "scheme").unique(maintain_order=True).iter_rows())

    @cached_property
    def seeds(self) -> int:
        """Seeds that every scheme has."""
        return self.table["seed"].n_unique()

    def also_in(self, other: "Standing") -> "Standing":
        """The runs whose seeds the other has too."""
        return Standing(self.table.filter(pl.col("seed").is_in(other.table["seed"].unique())))

    @cached_property
    def runs(self) -> dict[str, pl.DataFrame]:
        """Each scheme's rows by its label, in the order of the seeds."""
        ordered = self.table.sort("seed", maintain_order=True)
        return {str(key): of for (key,), of in ordered.group_by("label", maintain_order=True)}

    @cached_property
    def middles(self) -> dict[tuple[str, str], float]:
        """Cache of `middle`, by label and column."""
        return {}

    def values(self, label: str, column: str) -> list[float]:
        """A figure of each seed's run, in the order of the seeds."""
        found = self.runs[label][column]
        if found.null_count():
            raise Mistake(f"{label}: a seed has no flows for {column}; give it more --flows")
        return found.to_list()

    def mean(self, label: str, column: str) -> float:
        """Return the mean over the seeds."""
        return stats.mean(self.values(label, column)).estimate

    def against(self, label: str, base: str, column: str) -> stats.Change:
        """How a figure compares with that of `base`, paired over the seeds."""
        return stats.paired(self.values(label, column), self.values(base, column))

    def beats(self, one: str, other: str) -> bool:
        """Whether the seeds show that `one` is better in one measure and no worse in the other."""
        small, large = (self.against(one, other, column).ratio.high for column in (SMALL, LARGE))
        if small is None or large is None:
            return False
        return min(small, large) < 1 and max(small, large) <= 1 + MARGIN

    def beaten_by(self, label: str) -> str | None:
        """The first scheme that beats it, if any does: from the best for large flows on."""
        rivals = (rival for rival in self.ranked if rival != label)
        return next((rival for rival in rivals if self.beats(rival, label)), None)

    def middle(self, label: str, column: str) -> float:
        """The geometric mean over the seeds, which is what ratios compare."""
        if (label, column) not in self.middles:
            logs = [math.log(value) for value in self.values(label, column)]
            self.middles[label, column] = math.exp(stats.mean(logs).estimate)
        return self.middles[label, column]

    @cached_property
    def ranked(self) -> list[str]:
        """From the best for large flows on."""
        return sorted(self.labels, key=lambda label: self.middle(label, LARGE))

    @cached_property
    def unbeaten(self) -> list[str]:
        """Front and open, from the best for large flows on."""
        return [label for label in self.ranked if self.beaten_by(label) is None]

    @cached_property
    def front(self) -> list[str]:
        """From the best for large flows on, and so each better for small ones than the last."""
        found: list[str] = []
        for label in self.unbeaten:
            if not found or self.middle(label, SMALL) < self.middle(found[-1], SMALL):
                found.append(label)
        return found

    @cached_property
    def open(self) -> list[str]:
        """Neither beaten nor on the front."""
        return [label for label in self.unbeaten if label not in self.front]

    def best(self, column: str) -> tuple[str, list[str]]:
        """The scheme that is best over the seeds, and those that are not shown to be worse."""
        first = min(self.labels, key=lambda label: self.middle(label, column))
        rest = [label for label in self.labels if label != first]
        return first, [label for label in rest if not self.worse(label, first, column)]

    def worse(self, label: str, base: str, column: str) -> bool:
        """Whether the seeds show that it is."""
        low = self.against(label, base, column).ratio.low
        return low is not None and low > 1
