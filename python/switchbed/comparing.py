"""Comparing schemes, or any setting's values, over seeds: ratios are paired."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from switchbed.runner import Outcome

if TYPE_CHECKING:
    from switchbed import stats

STATISTICS = (
    ("all", "mean_us"),
    ("small", "mean_us"),
    ("small", "p99_us"),
    ("large", "mean_us"),
)
"""(size class, statistic) of FCTs that comparisons show, in the order of the papers' figures."""
JOB, TIME = "job", "time_us"
"""A collective or schedule in a size class's place, and its statistic."""

Point = tuple[tuple[str, Any], ...]


class Row(NamedTuple):
    """The runs of one scheme at one point, over all seeds."""

    scheme: str | None
    point: Point
    """The settings other than scheme and seed."""
    runs: tuple[Outcome, ...]

    def mean(self, size_class: str, statistic: str) -> "stats.Interval | None":
        """Mean over the seeds in which the class has flows, with its interval."""
        return over_seeds(time(run, size_class, statistic) for run in self.runs)

    def total(self, counter: str) -> int:
        """Return the counter's sum over the seeds."""
        return sum(int(run.summary.get(counter, 0)) for run in self.runs)


class Ratio(NamedTuple):
    """A scheme's FCT or job's time divided by the first scheme's, paired over seeds."""

    scheme: str
    to: str
    point: Point
    size_class: str
    statistic: str
    change: "stats.Change"
    """The headline: geometric mean over the seeds, with its interval."""
    mean: float
    """Arithmetic mean of the seeds' ratios."""
    low: float
    """The lowest ratio of a seed."""
    high: float
    """Highest of the seeds' values."""

    @property
    def pairs(self) -> int:
        """Seeds that both schemes have."""
        return self.change.ratio.n

    @property
    def ratio(self) -> float:
        """Geometric mean over the seeds."""
        return self.change.ratio.estimate

    def to_json(self) -> dict[str, Any]:
        """Return the object in a sweep's summary."""
        return {
            "scheme": self.scheme,
            "to": self.to,
            "settings": dict(self.point),
            "class": self.size_class,
            "statistic": self.statistic,
            "pairs": self.pairs,
            "ratio": self.ratio,
            "ci_low": self.change.ratio.low,
            "ci_high": self.change.ratio.high,
            "text": str(self.change),
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
        }


SHARES = ("utilisation", "share", "jain")
"""Quantities between 0 and 1."""


SLOWDOWNS = {
    "ideal": "Slowdown: FCT over the ideal one (line rate, no handshake)",
    "alone": "Slowdown: FCT over that of the flow alone in the empty network, by its own transport",
}
"""Sentences on the number that an FCT is divided by."""


def slowdown(over: str) -> str:
    """Name the slowdown as an axis title."""
    return "slowdown (FCT over the flow alone)" if over == "alone" else "slowdown (FCT over ideal)"


def range_of(metric: str, over: str = "ideal") -> "stats.Range":
    """The values that a figure can have, by its dotted name: no figure of a run is below 0."""
    from switchbed import stats

    words = set(re.split(r"[.\[]", metric))
    # An FCT over the ideal one is 1 at least; over the flow alone it may be less by chance.
    if "slowdown" in words and not metric.endswith(".n") and over == "ideal":
        return stats.SLOWDOWN
    return stats.SHARE if set(SHARES) & words else stats.POSITIVE


def over_seeds(
    values: Iterable[float | None], within: "stats.Range | None" = None
) -> "stats.Interval | None":
    """The mean of the seeds that have a value, with the interval that tables, plots, reports and
    stopping rules share; `None` where no seed has one. It has no bounds where these would say
    little (`Interval.tells`). Without `within` the quantity is positive."""
    from dataclasses import replace

    from switchbed import stats

    known = [value for value in values if value is not None]
    if not known:
        return None
    found = stats.mean(known, within=within or stats.POSITIVE)
    # Bounds a factor of ten and more apart would be read as a result.
    return found if found.tells else replace(found, low=None, high=None)


def statistics(outcomes: Iterable[Outcome]) -> list[tuple[str, str]]:
    """List what comparisons of these runs show: FCTs, and each collective's or schedule's time."""
    jobs = sorted({job["traffic"] for run in outcomes for job in run.summary.get("jobs", ())})
    named = [JOB] if len(jobs) == 1 else [f"{JOB} of traffic {place}" for place in jobs]
    return [*STATISTICS, *((name, TIME) for name in named)]


def is_job(size_class: str) -> bool:
    """Whether it is a collective or schedule."""
    return size_class.startswith(JOB)


def time(run: Outcome, size_class: str, statistic: str) -> float | None:
    """One FCT or job's time of a run in microseconds; `None` where the class has no flows, or the
    job was not completed."""
    if not is_job(size_class):
        value = run.summary["fct"][size_class][statistic]
        return None if value is None else float(value)
    place = size_class.rpartition(" ")[2]
    for job in run.summary.get("jobs", ()):
        if place in (JOB, str(job["traffic"])):
            return None if job[statistic] is None else float(job[statistic])
    return None


def rows(outcomes: Iterable[Outcome], by: str | None = None) -> list[Row]:
    """Gathers the seeds of each scheme and point, in the order of the runs; `by` is a setting in
    the scheme's place."""
    # Runs of one group keep their order: seeds of several schemes stand alike.
    groups: dict[tuple[str | None, Point], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((label(outcome, by), point(outcome, by)), []).append(outcome)
    return [Row(scheme, point, tuple(runs)) for (scheme, point), runs in groups.items()]


def ratios(
    outcomes: Sequence[Outcome], by: str | None = None, to: str | None = None
) -> list[Ratio]:
    """Every scheme against the first one, or that called `to`, at the same other settings and seed;
    or every value of the setting `by`."""
    found = rows(outcomes, by)
    first = to or next((row.scheme for row in found), None)
    if first is None:
        return []
    base = {
        row.point: {_seed(run): run for run in row.runs} for row in found if row.scheme == first
    }
    return [
        ratio
        for row in found
        if row.scheme is not None and row.scheme != first and row.point in base
        for size_class, statistic in statistics(outcomes)
        if (ratio := _ratio(row, base[row.point], first, size_class, statistic)) is not None
    ]


def looked(ratios: Iterable[Ratio]) -> str | None:
    """A line about the intervals that are read together."""
    from switchbed import stats

    return stats.looked(sum(ratio.change.bounds is not None for ratio in ratios))


def _ratio(
    row: Row, base: dict[Any, Outcome], to: str, size_class: str, statistic: str
) -> Ratio | None:
    from switchbed import stats

    pairs = []
    for run in row.runs:
        other = base.get(_seed(run))
        above = time(run, size_class, statistic)
        below = other and time(other, size_class, statistic)
        # A seed counts where both schemes have the figure, and the base's is not 0.
        if above is not None and below:
            pairs.append((above, below))
    if not pairs or row.scheme is None:
        return None
    ratios = [above / below for above, below in pairs]
    return Ratio(
        scheme=row.scheme,
        to=to,
        point=row.point,
        size_class=size_class,
        statistic=statistic,
        change=stats.paired([above for above, _ in pairs], [below for _, below in pairs]),
        mean=sum(ratios) / len(ratios),
        low=min(ratios),
        high=max(ratios),
    )


def label(outcome: Outcome, by: str | None = None) -> str | None:
    """Return the name of the run's scheme, or its value of the setting `by`. `None` where it is not
    compared."""
    return next((text(v) for key, v in outcome.settings.items() if _is(key, by)), None)


def _is(key: str, by: str | None) -> bool:
    return is_scheme(key) if by is None else key == by


def text(value: Any) -> str:
    """A setting as it is typed."""
    return value if isinstance(value, str) else json.dumps(value)


def _seed(outcome: Outcome) -> Any:
    return outcome.summary["seed"]


def point(outcome: Outcome, by: str | None = None) -> Point:
    """The settings other than scheme, or `by`, and seed."""
    return tuple(
        # Lists and tables cannot be keys of a dict.
        (key, json.dumps(value) if isinstance(value, list | dict) else value)
        for key, value in outcome.settings.items()
        if not _is(key, by) and not is_seed(key)
    )


def populations(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each point and size class of which runs that are compared finished different
    numbers of flows, so that their FCTs are not of the same flows."""
    lines = []
    points: dict[Point, list[Row]] = {}
    for row in rows(outcomes):
        points.setdefault(row.point, []).append(row)
    for at, compared in points.items():
        for size_class in ("small", "medium", "large"):
            finished: dict[Any, set[int]] = {}
            for row in compared:
                for run in row.runs:
                    n = run.summary["fct"][size_class]["n"]
                    finished.setdefault(_seed(run), set()).add(n)
            if all(len(numbers) == 1 for numbers in finished.values()):
                continue
            counts = ", ".join(
                f"{row.scheme} {sum(run.summary['fct'][size_class]['n'] for run in row.runs):,}"
                for row in compared
            )
            where = ", ".join(f"{key.rpartition('.')[2]} {text(value)}" for key, value in at)
            lines.append(
                f"{size_class} flows that finished{where and f' at {where}'}: {counts}; "
                "their FCTs are not of the same flows"
            )
    return lines


APART = ("seed", "warnings", "events")
"""Entries of a summary in which runs with the same results may differ."""


BY_CLASS = ("classes", "probes")
"""Lists of a summary with a row for each class."""


def _without_class(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose class is a name: class 3 alone may have the results of class 0 alone."""
    return {key: value for key, value in row.items() if key != "class"}


def identical(outcomes: Iterable[Outcome]) -> list[str]:
    """A line for each compared key some of whose values gave the same results, seed by seed: the
    setting had no effect there, or a mistake kept it from having one."""
    runs: dict[tuple[tuple[str, str], ...], str] = {}
    for outcome in outcomes:
        # Events and warnings name settings or internals, not results.
        rest = {
            key: [_without_class(row) for row in value] if key in BY_CLASS else value
            for key, value in outcome.summary.items()
            if key not in APART
        }
        place = tuple((key, text(value)) for key, value in outcome.settings.items())
        runs[place] = json.dumps(rest, sort_keys=True)
    keys = list(dict.fromkeys(key for place in runs for key, _ in place))
    return [line for key in keys for line in _identical(key, runs)]


def _identical(key: str, runs: Mapping[tuple[tuple[str, str], ...], str]) -> Iterator[str]:
    """Describe the values of a key that are alike, and their runs."""
    where: dict[tuple[str, ...], list[str]] = {}
    points: dict[tuple[tuple[str, str], ...], dict[str, list[str]]] = {}
    for place, results in runs.items():
        mine = dict(place)
        value = mine.pop(key, None)
        # Seeds belong together: values are alike where all of their seeds are.
        others = {k: v for k, v in mine.items() if not is_seed(k)}
        if value is not None:
            by_value = points.setdefault(tuple(others.items()), {})
            by_value.setdefault(value, []).append(results)
    for point, by_value in points.items():
        alike: dict[tuple[str, ...], list[str]] = {}
        for value, seeds in by_value.items():
            alike.setdefault(tuple(seeds), []).append(value)
        for values in alike.values():
            if len(values) > 1:
                at = ", ".join(f"{k.rpartition('.')[2]} {v}" for k, v in point)
                where.setdefault(tuple(values), []).append(at)
    for alike_ones, places in where.items():
        everywhere = len(places) == len(points)
        at = "" if everywhere else f" at {'; '.join(places)}"
        named = ", ".join(alike_ones[:-1]) + f" and {alike_ones[-1]}"
        yield f"{key}: {named} gave identical results{at}"


def is_scheme(key: str) -> bool:
    """Whether a setting of `[compare]` names the scheme."""
    return key in ("scheme", "scheme.name")


def is_seed(key: str) -> bool:
    """Whether a setting of `[compare]` is the seed."""
    return key in ("seed", "run.seed")
