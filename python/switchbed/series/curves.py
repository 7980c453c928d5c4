"""Any figure over any setting: each setting that was swept is the x axis, a colour, or a panel."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from switchbed import comparing, stats
from switchbed._native import Mistake
from switchbed.measured import Metric, Window
from switchbed.result import Result
from switchbed.series import looks, runs
from switchbed.series.comparison import PANELS, Axis, Curve, Point
from switchbed.series.looks import Style
from switchbed.series.places import number
from switchbed.series.runs import SCHEME, named, swept, words

OF_FLOWS = ("fct", "slowdown", "query", "rate")
"""Quantities of single flows."""


@dataclass(frozen=True)
class Asked:
    """Metric that is drawn, and the setting it is drawn over."""

    metrics: tuple[str, ...]
    x: str | None = None
    colour: str | None = None
    panel: str | None = None
    against: str | None = None
    """`KEY=VALUE`: everything is divided by the runs that have this setting, seed by seed."""
    window: Window = (None, None)


@dataclass(frozen=True)
class Panel:
    """Curves that are compared with each other."""

    heading: str
    title: str
    """Title of the y axis."""
    curves: tuple[Curve, ...]


def of_fct(
    results: Sequence[Result], value: str, x: str | None, colour: str | None, panel: str | None
) -> Asked:
    """The panels of `fct` over any settings; what is `relative` is to the first value in colour."""
    axis, lines, _ = keys(results, Asked((), x, colour, panel))
    of = "slowdown" if value == "slowdown" else "fct"
    names = (f"{of}.{c}.{s if of == 'fct' else s.removesuffix('_us')}" for c, s in PANELS)
    against = None
    if value == "relative":
        by = lines or axis
        against = f"{by}={comparing.text(runs.setting(results[0], by))}"
    return Asked(tuple(names), x, colour, panel, against)


def label(metric: Metric, against: str | None, over: str = "ideal") -> str:
    """Title of the y axis, with its unit."""
    if against is None and metric.quantity == "slowdown":
        return comparing.slowdown(over)
    if against is None:
        return metric.quantity + (f" ({metric.shown_in})" if metric.shown_in else "")
    key, _, value = against.partition("=")
    return f"{metric.quantity} over {value if key == SCHEME else f'{words(key)} {value}'}"


def check(asked: Asked) -> None:
    """Refuses figures that tell no flows apart, where columns of flows are asked for."""
    by = {"x": asked.x, "colour": asked.colour, "panel": asked.panel}
    for option, key in by.items():
        for text in asked.metrics if key in runs.OF_FLOWS else ():
            if Metric.read(text).of not in OF_FLOWS:
                raise Mistake(
                    f"--{option} {key}: tells flows apart; --metric {text} is of the whole run, "
                    "not of flows, as fct.mean_us and rate.mean_gbps are"
                )


def keys(results: Sequence[Result], asked: Asked) -> tuple[str, str | None, str | None]:
    """The settings on the x axis, by colour, by panel: those asked for, else of what was swept the
    first number on the axis and the scheme in colour."""
    varied = swept(results)
    known = [key for key in varied if key != SCHEME]
    runs.check(results, x=asked.x, colour=asked.colour, panel=asked.panel)
    free = [key for key in known if key not in (asked.x, asked.colour, asked.panel)]
    # A number makes an axis; words are the last resort.
    x = asked.x or next((key for key in free if _numbers(results, key)), next(iter(free), None))
    if x is None:
        # Only the scheme is left, and it can be the axis once.
        if SCHEME not in varied or SCHEME in (asked.colour, asked.panel):
            raise Mistake("these runs differ in nothing but their seeds: there is no axis to draw")
        x = SCHEME
    colour = asked.colour
    if colour is None and SCHEME in varied and SCHEME not in (x, asked.panel):
        colour = SCHEME
    return x, colour, asked.panel


def settings(run: Result) -> dict[str, Any]:
    """Return the settings that distinguish a run from others, without the seed."""
    return {SCHEME: run.label} | runs.others(run)


def panels(results: Sequence[Result], asked: Asked) -> tuple[Axis, list[Panel]]:
    """A panel a metric and value of `panel`, a curve a value of `colour`, in the order of the
    runs."""
    x, colour, panel = keys(results, asked)
    varied = swept(results)
    base = _base(results, asked, varied)
    alone = "all runs" if SCHEME in (x, panel) else results[0].label
    groups: dict[tuple[str, str], dict[str, tuple[Any, list[Result]]]] = {}
    for run in results:
        has = settings(run)
        # Other swept settings must not be averaged over: each makes lines of its own.
        rest = [key for key in varied if key not in (x, panel) and key != colour]
        names = [named(key, has.get(key)) for key in ((colour, *rest) if colour else rest) if key]
        where = named(panel, has.get(panel)) if panel else ""
        line = groups.setdefault((where, ", ".join(names) or alone), {})
        value = has.get(x)
        # A value may be a list or a table, which no dict takes as a key.
        line.setdefault(json.dumps(value, sort_keys=True), (value, []))[1].append(run)
    found: dict[tuple[str, Metric], dict[tuple[str, str], list[tuple[Any, stats.Interval]]]] = {}
    for metric in map(Metric.read, asked.metrics):
        for (where, name), line in groups.items():
            points = [
                (value, estimate)
                for value, seeds in line.values()
                if (estimate := _estimate(metric, seeds, base, asked)) is not None
            ]
            if points:
                # The scheme behind the label decides the look, so that it is the same in all
                # figures.
                scheme = next(iter(line.values()))[1][0].outcome.scheme
                found.setdefault((where, metric), {})[name, scheme] = points
    if not found:
        raise _none(asked)
    drawn = [points for curves in found.values() for points in curves.values()]
    axis = Axis.of(x, [value for points in drawn for value, _ in points])
    # One look a curve in all panels.
    known = _looks(list(dict.fromkeys(labels for curves in found.values() for labels in curves)))
    return axis, [
        Panel(
            ", ".join(filter(None, (where, metric.detail))),
            label(metric, asked.against, results[0].over),
            tuple(
                Curve(name, known[name], _points(axis, points))
                for (name, _), points in curves.items()
            ),
        )
        for (where, metric), curves in found.items()
    ]


def _points(axis: Axis, found: Sequence[tuple[Any, stats.Interval]]) -> tuple[Point, ...]:
    placed = sorted(found, key=lambda point: axis.places.at(point[0]))
    return tuple(Point(axis.at(value), estimate) for value, estimate in placed)


def _none(asked: Asked) -> Mistake:
    return Mistake(f"--metric {', '.join(asked.metrics)}: no run has a value of it")


def table(results: Sequence[Result], asked: Asked) -> list[dict[str, Any]]:
    """A row a metric and combination of what was swept: its settings, the estimate over seeds with
    its interval, and with `against` the change in words."""
    varied = swept(results)
    base = _base(results, asked, varied)
    groups: dict[str, list[Result]] = {}
    for run in results:
        groups.setdefault(json.dumps(settings(run), sort_keys=True), []).append(run)
    rows = []
    metrics = [Metric.read(text) for text in asked.metrics]
    slowdowns = any(map(_is_slowdown, metrics))
    for metric in metrics:
        for seeds in groups.values():
            found = _estimate(metric, seeds, base, asked)
            # A ratio with zeros has no estimate, but a row that says so.
            values = _values(metric, seeds, base, asked) if found is None else []
            if found is None and not values:
                continue
            row = {key: settings(seeds[0]).get(key) for key in varied}
            row |= {"metric": metric.text}
            if slowdowns:
                row |= {"over": seeds[0].over if _is_slowdown(metric) else None}
            if base is not None:
                # The estimate is then a ratio, which may be below a slowdown's least.
                row |= {"against": asked.against}
            if found is None:
                row |= {"estimate": None, "low": None, "high": None, "seeds": len(values)}
            else:
                row |= {"estimate": found.estimate}
                row |= {"low": found.low, "high": found.high, "seeds": found.n}
            if base is not None:
                row |= {"change": _nought(values) if found is None else _change(found)}
            rows.append(row)
    if not rows:
        raise _none(asked)
    return rows


def _is_slowdown(metric: Metric) -> bool:
    return "slowdown" in metric.text.split(".") or metric.of == "slowdown"


def _nought(pairs: Sequence[tuple[float, float]]) -> str:
    """Why there is no ratio: a run, or the one that it is divided by, has 0."""
    noughts = sum(above == 0 or below == 0 for above, below in pairs)
    of = f"{math.fsum(a for a, _ in pairs):g} to {math.fsum(b for _, b in pairs):g} in all"
    return f"no ratio: 0 in {noughts} of {len(pairs)} pairs; {of}"


def _change(ratio: stats.Interval) -> str:
    """`4.1 % lower (1.2–7.0)`; a dash where runs are compared with themselves."""
    # The runs that others are divided by, against themselves.
    if ratio.low == ratio.high == 1:
        return "–"
    if ratio.low is None and ratio.n > 1:
        return stats.FEW
    change = stats.Change(ratio)
    return change.words + (f" ({change.bounds})" if change.bounds else "")


def notes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines below a table: what slowdowns are over, which rows have too few seeds for an interval,
    and how many intervals are read together."""
    said = [comparing.SLOWDOWNS[over] for row in rows if (over := row.get("over"))]
    if any(row["low"] is None and row["seeds"] > 1 and "change" not in row for row in rows):
        said.append(f"– in low and high of several seeds: {stats.FEW}")
    if any(row["low"] is None and row["seeds"] == 1 for row in rows):
        said.append("– in low and high of one seed: no interval; sweep --seeds 3 gives one")
    if any(row.get("change") == "–" for row in rows):
        said.append("– in change: these runs are what the others are divided by")
    looked = stats.looked(sum(map(_is_interval, rows)))
    return [*dict.fromkeys(said), *([looked] if looked else [])]


def _is_interval(row: Mapping[str, Any]) -> bool:
    """Whether a row's interval can miss the truth: a scheme against itself has none that can."""
    # An interval of no width is a value, not an estimate.
    return row["low"] not in (None, row["high"]) and row.get("change") != stats.FEW


def _values(
    metric: Metric, seeds: Sequence[Result], base: "_Base | None", asked: Asked
) -> list[tuple[float, float]]:
    """The figure of each seed that has it, and that of the run that it is divided by (1 without
    one)."""
    found = []
    for run in seeds:
        other = None if base is None else base.of(run)
        if base is not None and other is None:
            continue
        above = metric.value(run, asked.window)
        below = 1.0 if other is None else metric.value(other, asked.window)
        if above is not None and below is not None:
            found.append((above, below))
    return found


def _estimate(
    metric: Metric, seeds: Sequence[Result], base: "_Base | None", asked: Asked
) -> stats.Interval | None:
    """The mean, or the mean ratio; `None` where a ratio would leave out seeds that have 0."""
    values = _values(metric, seeds, base, asked)
    if base is None:
        return comparing.over_seeds((above for above, _ in values), metric.range(seeds[0].over))
    # The logarithm of 0 is none, and leaving its seed out would bias the mean.
    if not values or any(above <= 0 or below <= 0 for above, below in values):
        return None
    return stats.paired([above for above, _ in values], [below for _, below in values]).drawn


@dataclass(frozen=True)
class _Base:
    """The runs that others are divided by."""

    key: str
    runs: dict[str, Result]

    def of(self, run: Result) -> Result | None:
        """The one of the same seed and other settings."""
        return self.runs.get(self.place(run, self.key))

    @staticmethod
    def place(run: Result, key: str) -> str:
        """Return the run's seed and its settings except this key."""
        rest = {name: value for name, value in settings(run).items() if name != key}
        return json.dumps([run.seed, rest], sort_keys=True)


def _base(results: Sequence[Result], asked: Asked, varied: Sequence[str]) -> _Base | None:
    if asked.against is None:
        return None
    key, _, wanted = asked.against.partition("=")
    if key not in varied:
        has = ", ".join(varied) or "none"
        raise Mistake(
            f"--against {asked.against}: {key} was not swept in these runs; there is {has}"
        )
    fits = [run for run in results if comparing.text(settings(run).get(key)) == wanted]
    if not fits:
        has = ", ".join(dict.fromkeys(comparing.text(settings(run).get(key)) for run in results))
        raise Mistake(f"--against {asked.against}: no run has it; {key} is {has}")
    return _Base(key, {_Base.place(run, key): run for run in fits})


def _numbers(results: Sequence[Result], key: str) -> bool:
    return all(number(settings(run).get(key)) is not None for run in results)


def _looks(drawn: Sequence[tuple[str, str]]) -> dict[str, Style]:
    """Lines that are schemes have their looks; others differ in colour."""
    labels = {label for label, _ in drawn}
    schemes = {scheme for _, scheme in drawn}
    if len(labels) == len(drawn) and len(schemes) > 1:
        return looks.of(drawn)
    return looks.plain_looks(drawn)
