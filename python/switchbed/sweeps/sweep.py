"""Parameters × seeds: runs what the store does not have, and keeps what it ran."""

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import comparing, directory, stats
from switchbed._native import Mistake, Plan
from switchbed.result import Result
from switchbed.runner import Outcome
from switchbed.scenario import Scenario
from switchbed.store import Store, read_sweep
from switchbed.sweeps import key, progress
from switchbed.sweeps.engine import Engine, Job, Ledger
from switchbed.sweeps.stopping import Rule
from switchbed.sweeps.threads import Threads

if TYPE_CHECKING:
    import polars as pl

    from switchbed.plots.methods import Plots

STORE = "switchbed-store"
MAX_SEEDS = 30
MOST_SHOWN = 15
"""Greatest number of settings that `print` lists."""
WIDE = 78
"""Columns of a line of `print`."""

Plans = Callable[[Sequence[int] | None], list[Plan]]
"""The runs under these seeds, or under the scenario's own."""


@dataclass(frozen=True)
class Entry:
    """One run of a sweep."""

    key: str
    settings: dict[str, Any]
    seed: int
    scheme: str
    summary: dict[str, Any] | None
    """Headline figures; `None` if the run failed."""
    message: str | None = None


@dataclass(repr=False)
class SweepResult:
    """Runs of a sweep: settings, seeds, summaries, and the store that holds their tables.

    Two are equal if they have the same runs with the same results. `kept`, `ran` and `failed` count
    the runs that the store had, that ran now, and that failed.

    Example:
        >>> found = sb.sweep("load.toml", seeds=5)
        >>> found.frame.select("seed", "load", "fct_small_p99_us")
    """

    store: Store = field(compare=False)
    name: str
    entries: list[Entry]
    kept: int = field(default=0, compare=False)
    """Runs that were there already."""
    ran: int = field(default=0, compare=False)
    failed: int = field(default=0, compare=False)
    stopped_by: BaseException | None = field(default=None, repr=False, compare=False)
    replaced: int = field(default=0, compare=False)
    """Runs of an earlier sweep of this name that its table has no more; the store keeps them."""
    unmet: str | None = field(default=None, repr=False, compare=False)
    """Where the precision that was asked for was not reached, as a sentence; `None` if it was."""

    @property
    def frame(self) -> "pl.DataFrame":
        """Table of the sweep, one row a run.

        Columns:
            sweep: Name of the sweep.
            run: Key of the run in the store.
            seed: Seed of the run.
            settings: Coordinates of the run as JSON.
            status: `ok` or `failed`.
            message: Reason of a failure; empty otherwise.

        Each setting has a column too, and each figure of the summary, by its dotted name.

        Example:
            >>> found.frame.group_by("load").agg(pl.col("fct_small_p99_us").mean())
        """
        return read_sweep(self.store.path / "sweeps" / f"{self.name}.parquet")

    def __repr__(self) -> str:
        """A line, and one a scheme and point, as far as a screen has room."""
        head = f"SweepResult({self.name}: {len(self.entries):,} runs"
        if self.failures:
            head += f", {len(self.failures):,} failed"
        rows = [
            "  "
            + ", ".join(filter(None, (row.scheme, *(f"{k} {v}" for k, v in row.point))))
            + f": {stats.seeds(len(row.runs))}"
            for row in comparing.rows(self.outcomes)
        ]
        more = len(rows) - MOST_SHOWN
        rows = [*rows[:MOST_SHOWN], *([f"  … and {more:,} more"] if more > 0 else [])]
        placed = f"{head}, in {self.store.path})"
        head = placed if len(placed) <= WIDE else f"{head})"
        return "\n".join(row[:WIDE] for row in (head, *rows))

    @property
    def failures(self) -> list[Entry]:
        """Runs that failed, each with its message.

        Example:
            >>> [entry.message for entry in found.failures]
        """
        return [entry for entry in self.entries if entry.summary is None]

    @property
    def outcomes(self) -> list[Outcome]:
        """The runs that finished, for comparisons and figures.

        Example:
            >>> [outcome.summary["goodput_gbps"] for outcome in found.outcomes]
        """
        return [
            Outcome(i, entry.settings, entry.scheme, entry.summary, 0.0)
            for i, entry in enumerate(self.entries)
            if entry.summary is not None
        ]

    def results(self) -> Iterator[Result]:
        """Yield every finished run. Its tables are read when they are asked for.

        Example:
            >>> [result.flows.height for result in found.results()]
        """
        for entry in self.entries:
            if entry.summary is not None:
                yield Result.load(self.store.run(entry.key), entry.settings)

    @property
    def plot(self) -> "Plots":
        """The figures of `switchbed plot`: `found.plot.fct(value="slowdown")`.

        Example:
            >>> found.plot.fct(value="slowdown").savefig("fct.png")
        """
        from switchbed.plots.methods import Plots

        return Plots(self.results)

    def _repr_html_(self) -> str:
        from switchbed import notebook

        return notebook.runs(self.name, self.outcomes, len(self.failures))

    def query(self, sql: str) -> "pl.DataFrame":
        """Query the store's tables with DuckDB.

        Args:
            sql: Query; docs/sweeps.md names the tables.

        Returns:
            The rows as a Polars data frame.

        Example:
            >>> found.query("select scheme, count(*) from flows group by scheme")
        """
        from switchbed.sweeps import query

        return query.query(self.store.path, sql)


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    store: str | os.PathLike[str] = STORE,
    *,
    name: str | None = None,
    seeds: int | None = None,
    metric: str = "fct.all.mean_us",
    precision: float | None = None,
    against: str | None = None,
    max_seeds: int = MAX_SEEDS,
    jobs: int | None = None,
    engine: Engine | None = None,
    retry: bool = False,
    any_memory: bool = False,
) -> SweepResult:
    """Run every combination of the scenario's `[compare]` that the store does not have yet.

    Ctrl-C keeps what has finished; the same call goes on from there.

    Args:
        scenario: Scenario or its file.
        store: Folder in which runs are kept.
        name: Name of the sweep in the store. Default: the scenario's.
        seeds: Number of seeds, counted from the scenario's first, in place of those it lists.
        metric: Figure of the summary that `precision` is about.
        precision: Add seeds until the 95 % interval of the metric is within this fraction of its
            mean.
        against: Label of a scheme; `precision` is then about the other schemes' ratios to it,
            paired
            over seeds.
        max_seeds: Most seeds that `precision` may take.
        jobs: Runs at a time on this machine; `None`: as many as there are cores.
        engine: `Ray(…)` or `Slurm(…)` in place of this machine.
        retry: Run again what failed before.
        any_memory: Run here even what needs more memory than is free.

    Returns:
        The runs of the sweep, those that were there already included.

    Raises:
        Mistake: The scenario or an argument has a mistake.

    Example:
        >>> found = sb.sweep("load.toml", seeds=10)
        >>> found.plot.fct(value="slowdown").savefig("fct.pdf")
    """
    given = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)

    def plans(chosen: Sequence[int] | None) -> list[Plan]:
        return (given if chosen is None else given.with_({"compare.seed": list(chosen)})).plans

    rule = Rule.of(metric, precision, against, max_seeds)
    called = name or Path(given.name.removeprefix("@")).stem
    check(called, plans(None), rule)
    here = Threads(jobs, any_memory)
    found = run(plans, Store(Path(store)), called, seeds, rule, engine or here, retry=retry)
    if found.stopped_by is not None:
        raise found.stopped_by
    return found


def run(
    plans: Plans,
    store: Store,
    name: str,
    seeds: int | None,
    rule: Rule | None,
    engine: Engine,
    *,
    retry: bool = False,
    quiet: bool = False,
) -> SweepResult:
    """Run the sweep for the command and the API; `stopped_by` says what stopped it early."""
    todo = plans(None)
    if seeds is not None:
        first = min(_seed(plan) for plan in todo)
        todo = plans(range(first, first + seeds))
    found = SweepResult(store, name, [])
    store.sweep()
    try:
        with engine, progress.bar(found, quiet=quiet) as meter:
            while todo and found.stopped_by is None:
                enter(todo, found, engine, meter, retry)
                todo = [] if rule is None else list(_more(plans, found, rule))
        found.unmet = None if rule is None else _unmet(found, rule)
        # The cause of the stop is what to say: a full disk has no space for the table either.
        if found.entries and not isinstance(found.stopped_by, Mistake):
            found.replaced = _others(store, name, found)
            store.write_sweep(name, rows(found))
    finally:
        store.sweep()
    return found


def _others(store: Store, name: str, found: SweepResult) -> int:
    """How many runs the sweep's table has that are not among these."""
    path = store.path / "sweeps" / f"{name}.parquet"
    try:
        before = set(read_sweep(path)["run"]) if path.exists() else set()
    except Mistake:  # a damaged table is written again
        return 0
    return len(before - {entry.key for entry in found.entries})


def enter(
    plans: list[Plan], found: SweepResult, engine: Engine, meter: progress.Bar, retry: bool
) -> None:
    """A round: runs those of the plans that are missing, and enters all of them."""
    store = found.store
    jobs = [Job(key.of(plan), plan) for plan in plans]
    # Two combinations may come to the same run.
    missing = {job.key: job for job in jobs if not store.has(job.key)}
    if not retry:
        missing = {k: job for k, job in missing.items() if store.failure(k) is None}
    found.kept += len(jobs) - len(missing)
    meter.begin(len(missing))
    if missing:
        found.stopped_by = engine.run(list(missing.values()), Ledger(store, found), meter)
    found.entries += filter(None, (_entry(store, job.key, job.plan) for job in jobs))


def _entry(store: Store, name: str, plan: Plan) -> Entry | None:
    """Return the store's entry of a run; `None` if it was not reached."""
    scenario = json.loads(plan.scenario)
    settings = dict(json.loads(plan.settings))
    scheme, seed = scenario["scheme"]["name"], scenario["run"]["seed"]
    if store.has(name):
        return Entry(name, settings, seed, scheme, store.summary(name))
    message = store.failure(name)
    return None if message is None else Entry(name, settings, seed, scheme, None, message)


def _more(plans: Plans, found: SweepResult, rule: Rule) -> Iterator[Plan]:
    """Further seeds for the points that need them: all schemes of a point get the same, so
    that they stay paired."""
    wanted = {}
    for point, schemes in _points(found).items():
        # Seeds go on behind the last.
        last = max(entry.seed for group in schemes.values() for entry in group)
        # Of the scheme with most seeds: all of a point get the same.
        tried = max(map(len, schemes.values()))
        more = min(rule.more(_summaries(schemes)), rule.max_seeds - tried)
        wanted[point] = range(last + 1, last + 1 + more)
    every = sorted({seed for seeds in wanted.values() for seed in seeds})
    if every:
        for plan in plans(every):
            if _seed(plan) in wanted[_point(dict(json.loads(plan.settings)))]:
                yield plan


def _unmet(found: SweepResult, rule: Rule) -> str | None:
    """Where the rule's precision was not reached, and what reached least."""
    points = _points(found)
    short = [
        (math.inf if reach is None else reach, scheme, point, max(map(len, schemes.values())))
        for point, schemes in points.items()
        for scheme, reach in rule.unmet(_summaries(schemes)).items()
    ]
    if not short:
        return None
    reach, scheme, point, seeds = max(short, key=lambda each: each[0])
    named = ({} if scheme is None else {"scheme": scheme}) | json.loads(point)
    at = ", ".join(f"{key.rpartition('.')[2]} {comparing.text(v)}" for key, v in named.items())
    compared = sum(map(len, points.values())) - (len(points) if rule.against is not None else 0)
    figure = rule.metric + ("" if rule.against is None else f" over {rule.against}'s")
    settings = f"{compared} setting{'' if compared == 1 else 's'}"
    where = at and f" ({at})"
    if not math.isfinite(reach):
        return (
            f"{figure} has no interval after {stats.seeds(seeds)}{where}: "
            "too few runs have this figure; take another --metric"
        )
    return (
        f"{figure} is within ±{100 * rule.precision:.3g} % in {compared - len(short)} of "
        f"{settings}; the widest is ±{100 * reach:.3g} % after {stats.seeds(seeds)}{where}: "
        "raise --max-seeds, or take another --metric"
    )


def _points(found: SweepResult) -> dict[str, dict[str | None, list[Entry]]]:
    """The entries by point, and by scheme there."""
    points: dict[str, dict[str | None, list[Entry]]] = {}
    for entry in found.entries:
        schemes = points.setdefault(_point(entry.settings), {})
        schemes.setdefault(_label(entry.settings), []).append(entry)
    return points


def _summaries(schemes: Mapping[str | None, list[Entry]]) -> dict[str | None, list[dict[str, Any]]]:
    return {scheme: [e.summary for e in of if e.summary] for scheme, of in schemes.items()}


def rows(found: SweepResult) -> list[dict[str, Any]]:
    """Return a sweep's table, one row a run."""
    columns = directory.columns([entry.settings for entry in found.entries])
    return [
        {"sweep": found.name, "run": entry.key, "seed": entry.seed}
        | {"settings": json.dumps(entry.settings)}
        | {k: v for k, v in settings.items() if not comparing.is_seed(k)}
        | {"status": "failed" if entry.summary is None else "ok", "message": entry.message or ""}
        | dict(directory.leaves("", {"seed": entry.seed} | (entry.summary or {})))
        for entry, settings in zip(found.entries, columns, strict=True)
    ]


def _seed(plan: Plan) -> int:
    return int(json.loads(plan.scenario)["run"]["seed"])


def _point(settings: Mapping[str, Any]) -> str:
    """The settings other than scheme and seed."""
    rest = {
        k: v for k, v in settings.items() if not comparing.is_seed(k) and not comparing.is_scheme(k)
    }
    return json.dumps(rest)


def _label(settings: Mapping[str, Any]) -> str | None:
    return next((str(v) for k, v in settings.items() if comparing.is_scheme(k)), None)


def check(name: str, plans: Sequence[Plan], rule: Rule | None) -> None:
    """Refuses, before a store is made, what cannot name a file and a rule that cannot be kept."""
    if not re.fullmatch(r"\w[\w.+-]*", name):
        raise Mistake(f"--name {name}: use letters, digits, and any of . _ + - inside")
    if rule is not None:
        rule.check([_label(dict(json.loads(plan.settings))) for plan in plans])
