"""Objectives and guards: figures of the summary to minimise, and limits to keep. Figures have
a path in the summary, some of them a name that operators use."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from switchbed import foreign
from switchbed._native import Mistake
from switchbed.measured import Metric
from switchbed.sweeps.stopping import figure

Summary = Mapping[str, Any]

FEW = 2000
"""Values that a run's 99th percentile needs: the pilot's five seeds have 100 in the tail then."""
DEFAULT = "fct.small.p99_us"
GUARD = "slowdown.large.mean<=1.05*best"
"""Slowdown that large flows may suffer for the gain of small ones."""
FORM = re.compile(
    r"\s*([\w.-]+(?:\[[^]]*\][\w.-]+)?)\s*(<=|>=|=)\s*"
    r"(?:([\d.eE+-]+)\s*(?:\*\s*(best|own))?|(best|own))\s*"
)


@dataclass(frozen=True)
class Figure:
    """A figure of a summary."""

    words: str
    """Name for people."""
    path: str
    """Where a summary has it; of lists, the path within each item."""
    of_each: str = ""
    """A list whose items have it: the worst counts."""
    floor: float = 0.0
    """Added before ratios are taken, since it may be nought."""
    larger: bool = False
    """More of it is better."""
    table: bool = False
    """Not in the summary, but of a run's tables: `Field` adds it under `TABLES`."""

    @property
    def statistic(self) -> str:
        """Statistic that it names: `p99_us`, of a table's `p99.9`."""
        return Metric.read(self.path).statistic if self.table else self.path.rpartition(".")[2]

    def of(self, summary: Summary, option: str) -> float | None:
        """Return the figure; `None`: the run has none."""
        if self.table:
            value: float | None = _within(summary, TABLES)[self.path]["value"]
            return value
        name = next((name for name, each in NAMES.items() if each is self), None)
        try:
            if not self.of_each:
                return figure(summary, self.path, option)
            found = [figure(item, self.path, option) for item in summary.get(self.of_each) or ()]
            return max((value for value in found if value is not None), default=None)
        except Mistake as mistake:
            if name is not None:
                why = f"the scenario's runs tell no {self.words}"
                raise Mistake(f"{option} {name}: {why}") from None
            raise Mistake(f"{mistake}; or a name: {', '.join(NAMES)}") from None

    def group(self, summary: Summary) -> Any:
        """Return the figures of the same flows, with their number `n`."""
        if self.table:
            return _within(summary, TABLES)[self.path]
        kind = self.path.rpartition(".")[0]
        items = (summary.get(self.of_each) or ()) if self.of_each else (summary,)
        found = [_within(item, kind) for item in items]
        known = [group for group in found if isinstance(group, Mapping)]
        return min(known, key=lambda group: group.get("n") or 0, default=None)


def _within(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


NAMES: Mapping[str, Figure] = {
    "small-p99": Figure("99th percentile of small flows' FCTs", "fct.small.p99_us"),
    "query": Figure("mean query completion time", "query.mean_us", "by_traffic"),
    "query-p99": Figure("99th percentile of query completion times", "query.p99_us", "by_traffic"),
    "job": Figure("time of a collective", "time_us", "jobs"),
    "pauses": Figure("time that pauses held ports", "pauses.held_s", floor=1e-6),
    "headroom": Figure("most headroom in use", "pauses.headroom_max_bytes", floor=1500.0),
    "throughput": Figure("throughput", "goodput_bps", larger=True),
}
"""By name. A floor is 1 us of pauses, a packet of headroom."""


TABLES = "tables"
"""Key that a summary is given for figures of the run's tables."""
LARGER = ("goodput", "busbw", "algbw", "share")


def of_tables(text: str, option: str) -> Metric | None:
    """The metric of a run's tables that a text stands for; `None`: the summary has the figure."""
    try:
        found = Metric.read(text)
    except Mistake as mistake:
        raise Mistake(str(mistake).replace("--metric", option, 1)) from None
    return found if found.of else None


def named(text: str) -> Figure:
    """The figure that a name, a path of a summary or a metric of tables stands for."""
    if text in NAMES:
        return NAMES[text]
    metric = Metric.read(text)
    return Figure(text, text, larger=metric.of in LARGER, table=bool(metric.of))


@dataclass(frozen=True)
class Objective:
    """A figure that is to be small, and positive; one that is to be large counts inversely."""

    metric: str
    """A name of an operator's figure, or a path in the summary."""

    @property
    def figure(self) -> Figure:
        return named(self.metric)

    @property
    def is_tail(self) -> bool:
        """Whether it rests on few flows."""
        return self.figure.statistic.startswith(("p95", "p99"))

    def of(self, summary: Mapping[str, Any]) -> float:
        """Return the objective's value, which every run must have."""
        value = self.figure.of(summary, "--objective")
        if value is None:
            raise Mistake(
                f"--objective {self.metric}: a run has none; name a figure that its summary has, "
                f"such as fct.all.mean_us or one of {', '.join(NAMES)}, or let more flows run"
            )
        value += self.figure.floor
        if value <= 0:
            raise Mistake(
                f"--objective {self.metric}: is {value:g} in a run, and ratios need what is above "
                "nought; such a figure makes a --guard"
            )
        return 1 / value if self.figure.larger else value

    def check(self, summary: Mapping[str, Any], flows: int | None) -> None:
        """Refuses a 99th percentile of few flows."""
        last = self.figure.statistic
        group = self.figure.group(summary)
        n = group.get("n") if isinstance(group, Mapping) else None
        if last.startswith("p99") and isinstance(n, int) and n < FEW:
            more = f" (flows={_up(flows * FEW / n)} would do)" if flows and n else ""
            raise Mistake(
                f"--objective {self.metric}: a run's rests on {n} flows, and {FEW:,} are needed"
                f"{more}; or take a mean"
            )


@dataclass(frozen=True)
class Guard:
    """A bound on a figure of the summary."""

    metric: str
    sign: str
    number: float
    of: str | None
    """`best` of the grid or the user's `own` setting, of which `number` is a factor."""

    def value(self, summary: Mapping[str, Any]) -> float | None:
        """Return its figure; `None`: the run has none."""
        return named(self.metric).of(summary, "--guard")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a guard: `drops=0`, `slowdown.large.mean<=1.05*best`, `goodput_bps>=0.99*own`."""
        found = FORM.fullmatch(text)
        try:
            if found is None:
                raise ValueError
            number = foreign.real(found[3] or "1")
            # No figure is below 0: the guard could never be kept, or always is.
            if number < 0:
                raise ValueError
            return cls(found[1], found[2], number, found[4] or found[5])
        except ValueError:
            raise Mistake(
                f"--guard {text}: such as drops=0, slowdown.large.mean<=1.05*best or "
                "goodput_bps>=0.99*own is needed, with a number of at least 0"
            ) from None

    def __str__(self) -> str:
        whose = "" if self.of is None else f"*{self.of}"
        return f"{self.metric}{self.sign}{self.number:g}{whose}"


def _up(flows: float) -> int:
    # Two leading digits, rounded up.
    step = 10 ** max(0, len(str(int(flows))) - 2)
    return int(-(-flows // step) * step)
