"""Result of a run: its summary, and its tables as data frames."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from switchbed import comparing, files, stats, tables
from switchbed._native import (
    SCHEMA_VERSION,
    Mistake,
    Plan,
    Results,
    Table,
    __build__,
    __version__,
    check_summary,
    size_bytes,
)
from switchbed.runner import Outcome

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from switchbed.plots.methods import Plots


class Result:
    """One run. Its tables' columns, with units, are in docs/results.md."""

    def __init__(
        self,
        outcome: Outcome,
        scenario: dict[str, Any],
        read: Callable[[str], "pl.DataFrame | None"],
        arrow: dict[str, Table] | None = None,
        program: str = f"{__version__} (build {__build__})",
        folder: Path | None = None,
    ) -> None:
        """Use `Scenario.run` or `Result.load`. `read` gives a table by its name."""
        self.outcome = outcome
        self.scenario = scenario
        """The scenario as resolved, every default filled in."""
        self._read = read
        self._arrow = arrow
        self.program = program
        """The version and build of Switchbed that ran it."""
        self._folder = folder
        self.over = "ideal"
        """Divisor of its slowdowns: `ideal`, or `alone` (`switchbed.alone`)."""

    def with_flows(self, outcome: Outcome, flows: "pl.DataFrame", over: str) -> Self:
        """The run with another table of flows and what follows from it."""

        def read(name: str) -> "pl.DataFrame | None":
            return flows if name == "flows" else self._read(name)

        made = type(self)(outcome, self.scenario, read, program=self.program, folder=self._folder)
        made.over = over
        return made

    @classmethod
    def of_run(cls, plan: Plan, results: Results, outcome: Outcome) -> Self:
        """Make a result in memory from a run that has finished."""
        native = tables.of(results)

        def read(name: str) -> "pl.DataFrame | None":
            import polars as pl

            return pl.DataFrame(native[name]) if name in native else None

        return cls(outcome, dict(json.loads(plan.scenario)), read, native)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], settings: dict[str, Any] | None = None) -> Self:
        """A run's result directory, in any of its formats. Tables are read when asked for.
        `settings` are those of a sweep, where its runs do not have them."""
        place = Path(folder)
        files.utf8(place)
        if not (place / "manifest.json").exists():
            raise Mistake(f"{place}: is no result directory: it has no manifest.json")
        with _told(place):
            manifest = files.read_json(place / "manifest.json")
        if "runs" in manifest:
            raise Mistake(f"{place}: holds several runs: give one of its folders")
        with _told(place):
            _check(place, manifest)
        summary = read_summary(place)
        columns = manifest["tables"]

        def read(name: str) -> "pl.DataFrame | None":
            with _told(place):
                return tables.read(place / name, columns[name]) if name in columns else None

        scheme = manifest["scenario"]["scheme"]["name"]
        outcome = Outcome(0, settings or manifest["settings"], scheme, summary, 0.0)
        program = f"{manifest['version']} (build {manifest['build']})"
        return cls(outcome, manifest["scenario"], read, program=program, folder=place)

    @classmethod
    def of_frames(
        cls,
        outcome: Outcome,
        scenario: dict[str, Any],
        frames: "dict[str, pl.DataFrame]",
        program: str,
    ) -> Self:
        """A run with its tables as data frames, as one that was pickled is."""
        return cls(outcome, scenario, frames.get, program=program)

    def __reduce__(self) -> tuple[Any, ...]:
        """With its tables, so that it can go to any process or machine."""
        frames = {name: self._table(name) for name in tables.NAMES}
        frames = {name: frame for name, frame in frames.items() if frame.columns}
        return type(self).of_frames, (self.outcome, self.scenario, frames, self.program)

    def __eq__(self, other: object) -> bool:
        """Whether the two are the same run with the same results; how long they took, and where
        they are, does not count."""
        if not isinstance(other, Result):
            return NotImplemented
        return (
            self.scenario == other.scenario
            and self.settings == other.settings
            and self.summary() == other.summary()
            and all(_same(self._table(name), other._table(name)) for name in tables.NAMES)
        )

    def __hash__(self) -> int:
        return hash((self.label, self.seed))

    @property
    def plot(self) -> "Plots":
        """The figures of `switchbed plot`: `run.plot.queue(window=(40, 60))`."""
        from switchbed.plots.methods import Plots

        return Plots([self])

    @property
    def settings(self) -> dict[str, Any]:
        """Its coordinates in `[compare]`; empty without."""
        return self.outcome.settings

    @property
    def seed(self) -> int:
        """Its seed."""
        return int(self.outcome.summary["seed"])

    @property
    def label(self) -> str:
        """What its scheme is called."""
        return str(self.scenario["scheme"].get("label") or self.outcome.scheme)

    def size_bytes(self, section: str, key: str) -> int:
        """A size of its scenario; `ValueError` if that is none."""
        try:
            return size_bytes(self.scenario[section][key])
        except Mistake as error:
            raise ValueError(f"{section}.{key}: {error}") from error

    def summary(self) -> dict[str, Any]:
        """The headline figures, as `--json` has them without `wall_s`."""
        return self.outcome.summary

    @cached_property
    def flows(self) -> "pl.DataFrame":
        """A row a flow."""
        return self._table("flows")

    @cached_property
    def queues(self) -> "pl.DataFrame":
        """A row a measured queue."""
        return self._table("queues")

    @cached_property
    def counters(self) -> "pl.DataFrame":
        """A row a port: packets sent, marked, dropped. The table `ports`."""
        return self._table("ports")

    @cached_property
    def series(self) -> "pl.DataFrame":
        """A row a sample of a queue; empty without `measure.series_every`."""
        return self._table("series")

    @cached_property
    def goodput(self) -> "pl.DataFrame":
        """A row an interval and class; empty without `measure.goodput_every`."""
        return self._table("goodput")

    @cached_property
    def probes(self) -> "pl.DataFrame":
        """A row a probe of the RTT; empty without probes among the traffic."""
        return self._table("probes")

    def table(self, name: str) -> "pl.DataFrame":
        """Any table by its name; empty where the scenario does not ask for it."""
        return self._table(_known(name))

    def arrow(self, name: str) -> Table:
        """A table that speaks Arrow (`__arrow_c_stream__`), which pyarrow, DuckDB, Polars and
        others take without a copy. Only of a run in memory."""
        _known(name)
        if self._arrow is None:
            raise Mistake("arrow() hands over a run in memory; a loaded one has data frames")
        if name not in self._arrow:
            raise Mistake(f"the scenario does not ask for the table {name!r}")
        return self._arrow[name]

    def to_pandas(self, name: str) -> "pd.DataFrame":
        """A table as a pandas data frame. pandas is not installed with switchbed."""
        import pandas as pd

        frame = self._table(_known(name))
        return pd.DataFrame({column.name: column.to_numpy() for column in frame})

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        place = f", {self._folder}" if self._folder else ""
        return f"Result({settings or self.label}, seed {self.seed}{place})"

    def _repr_html_(self) -> str:
        from switchbed import notebook

        return notebook.result(self)

    def _table(self, name: str) -> "pl.DataFrame":
        import polars as pl

        found = self._read(name)
        return pl.DataFrame() if found is None else found


def _same(one: "pl.DataFrame", other: "pl.DataFrame") -> bool:
    """A table that was not asked for is not even written."""
    return (one.is_empty() and other.is_empty()) or one.equals(other)


@dataclass(frozen=True)
class Comparison:
    """A scheme against another, paired over the seeds that both have."""

    scheme: str
    base: str
    changes: dict[tuple[str, str], stats.Change]
    """By size class and statistic, such as ("small", "p99_us")."""

    def __getitem__(self, key: tuple[str, str]) -> stats.Change:
        return self.changes[key]

    @property
    def frame(self) -> "pl.DataFrame":
        """A row a size class and statistic."""
        import polars as pl

        return pl.DataFrame(
            {
                "class": size_class,
                "statistic": statistic,
                "ratio": change.ratio.estimate,
                "ci_low": change.ratio.low,
                "ci_high": change.ratio.high,
                "seeds": change.ratio.n,
                "text": str(change),
            }
            for (size_class, statistic), change in self.changes.items()
        )

    @property
    def looked(self) -> str | None:
        """A line about the intervals that are read together."""
        return stats.looked(sum(change.bounds is not None for change in self.changes.values()))

    def __str__(self) -> str:
        lines = (
            f"{size_class} {statistic.removesuffix('_us')}: {change}"
            for (size_class, statistic), change in self.changes.items()
        )
        same = self.scheme == self.base
        names = ("the first", "the second") if same else (self.scheme, self.base)
        head = f"FCT of {names[0]} against {names[1]}"
        return "\n".join(filter(None, (head, *lines, self.looked)))

    def _repr_html_(self) -> str:
        from switchbed import notebook

        return notebook.comparison(self)


def compare(a: Result | Iterable[Result], b: Result | Iterable[Result]) -> Comparison:
    """`a` against `b`: their runs, paired by seed. Both should differ in the scheme alone."""
    first, second = _runs(a), _runs(b)
    pairs = [(run, second[seed]) for seed, run in first.items() if seed in second]
    if not pairs:
        raise Mistake(
            f"the two have no seed in common: {_seeds(first)} and {_seeds(second)}; "
            "only runs of the same seed meet the same flows"
        )
    changes = {}
    for size_class, statistic in comparing.STATISTICS:
        values = [
            (above, below)
            for run, base in pairs
            if (above := comparing.fct(run.outcome, size_class, statistic))
            and (below := comparing.fct(base.outcome, size_class, statistic))
        ]
        if values:
            changes[size_class, statistic] = stats.paired(
                [v for v, _ in values], [v for _, v in values]
            )
    return Comparison(pairs[0][0].label, pairs[0][1].label, changes)


def _runs(given: Result | Iterable[Result]) -> dict[int, Result]:
    runs: Sequence[Result] = [given] if isinstance(given, Result) else list(given)
    found = {run.seed: run for run in runs}
    if len(found) < len(runs):
        raise Mistake("two runs have the same seed: give the runs of one setting, a seed each")
    return found


def _seeds(runs: dict[int, Result]) -> str:
    return ", ".join(map(str, runs)) or "none"


def _known(name: str) -> str:
    if name not in tables.NAMES:
        raise Mistake(f"there is no table {name!r}: tables are {', '.join(tables.NAMES)}")
    return name


def read_summary(place: Path) -> dict[str, Any]:
    """Return the summary in a run's result directory."""
    path = place / "summary.json"
    with _told(place):
        text = files.read_text(path)
        try:
            check_summary(text)
        except Mistake as error:
            raise Mistake(f"{path}: is damaged: {error}") from error
    return dict(json.loads(text))


def _check(place: Path, manifest: dict[str, Any]) -> None:
    """Refuses what is not the manifest of one run, as this program reads it."""
    path = place / "manifest.json"
    version = manifest.get("schema_version")
    if version != SCHEMA_VERSION:
        raise Mistake(
            f"{path}: is of schema_version {version}, and this program reads {SCHEMA_VERSION}"
        )
    for name, kind in KINDS.items():
        value: Any = manifest
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            raise Mistake(f"{path}: is damaged: its {name} is missing or of another type")
    for name, columns in manifest["tables"].items():
        named = isinstance(columns, list) and all(
            isinstance(column, dict) and isinstance(column.get("name"), str) for column in columns
        )
        if not named:
            raise Mistake(f"{path}: is damaged: its tables.{name} is no list of columns")


KINDS: dict[str, type] = {
    "version": str,
    "build": str,
    "settings": dict,
    "scenario.topology.kind": str,
    "scenario.scheme.name": str,
    "scenario.transport.kind": str,
    "scenario.transport.mss": str,
    "scenario.traffic": list,
    "scenario.measure": dict,
    **{f"tables.{name}": list for name in tables.ALWAYS},
}
"""Type of each entry that every manifest has."""


@contextmanager
def _told(place: Path) -> Iterator[None]:
    """Add advice to the message of a damaged file."""
    try:
        yield
    except Mistake as error:
        from switchbed.store import is_store

        again = "run it again"
        if is_store(place.parent.parent):
            again = f"remove {place} and sweep again"
        raise Mistake(f"{error}; {again}") from error
