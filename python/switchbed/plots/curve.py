"""Any figure over any setting: each setting that was swept is the x axis, a colour, or a panel."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from switchbed import comparing, stats
from switchbed._native import Mistake
from switchbed.measured import Metric, Window
from switchbed.plots import runs, style
from switchbed.plots.fct import PANELS, aside, bars, reach, told
from switchbed.plots.places import Places, number
from switchbed.plots.runs import SCHEME, named, swept
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 16
"""Panels in one figure."""


@dataclass(frozen=True)
class Asked:
    """What is drawn over what."""

    metrics: tuple[str, ...]
    x: str | None = None
    colour: str | None = None
    panel: str | None = None
    against: str | None = None
    """`KEY=VALUE`: everything is divided by the runs that have this setting, seed by seed."""
    window: Window = (None, None)


@dataclass(frozen=True)
class Point:
    """An estimate over seeds."""

    x: Any
    value: stats.Interval


@dataclass(frozen=True)
class Curve:
    """A line of a panel."""

    panel: str
    metric: Metric
    label: str
    scheme: str
    points: tuple[Point, ...]


def figure(results: Sequence[Result], asked: Asked, title: str) -> "Figure":
    """A panel a metric and a value of `panel`, a line a value of `colour`: mean over seeds with
    95 % intervals, or with `against` the geometric mean of paired ratios."""
    x = keys(results, asked)[0]
    found = curves(results, asked)
    panels = list(dict.fromkeys((curve.panel, curve.metric) for curve in found))
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} panels are too many: at most {MOST}; choose by --only")
    across = style.across(min(len(panels), 2 if len(panels) in (2, 4) else 3))
    down = -(-len(panels) // across)
    made = style.figure(4.5 * across if across > 1 else 6, 3.1 * down + 0.6, title)
    grid = list(made.subplots(down, across, squeeze=False).flat)
    looks = _looks(list(dict.fromkeys((curve.label, curve.scheme) for curve in found)))
    places = Places.of([p.x for curve in found for p in curve.points])
    for axes, (panel, metric) in zip(grid, panels, strict=False):
        drawn = [curve for curve in found if (curve.panel, curve.metric) == (panel, metric)]
        for i, curve in enumerate(drawn):
            _line(axes, curve, looks[curve.label], places, i, len(drawn))
        reach(axes, [point.value.estimate for curve in drawn for point in curve.points])
        heading = ", ".join(filter(None, (panel, metric.detail)))
        axes.set_title(style.plain(heading), fontsize="medium")
        axes.set_ylabel(style.plain(label(metric, asked.against, results[0].over)))
        axes.set_xlabel(style.plain(words(x)))
        _ticks(axes, places)
        axes.grid(alpha=0.3)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    style.legend_below(made)
    return made


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
    """Of the y axis."""
    if against is None and metric.quantity == "slowdown":
        return comparing.slowdown(over)
    if against is None:
        return metric.quantity + (f" ({metric.shown_in})" if metric.shown_in else "")
    key, _, value = against.partition("=")
    return f"{metric.quantity} over {value if key == SCHEME else f'{words(key)} {value}'}"


def words(key: str) -> str:
    """A setting on an axis: `initial window` for transport.initial_window."""
    return key.rsplit(".", maxsplit=1)[-1].replace("_", " ")


def keys(results: Sequence[Result], asked: Asked) -> tuple[str, str | None, str | None]:
    """The settings on the x axis, by colour, by panel: those asked for, else of what was swept the
    first number on the axis and the scheme in colour."""
    varied = swept(results)
    known = [key for key in varied if key != SCHEME]
    runs.check(results, x=asked.x, colour=asked.colour, panel=asked.panel)
    free = [key for key in known if key not in (asked.x, asked.colour, asked.panel)]
    x = asked.x or next((key for key in free if _numbers(results, key)), next(iter(free), None))
    if x is None:
        if SCHEME not in varied or SCHEME in (asked.colour, asked.panel):
            raise Mistake("these runs differ in nothing but their seeds: there is no axis to draw")
        x = SCHEME
    colour = asked.colour
    if colour is None and SCHEME in varied and SCHEME not in (x, asked.panel):
        colour = SCHEME
    return x, colour, asked.panel


def settings(run: Result) -> dict[str, Any]:
    """What tells a run from others, but for the seed."""
    return {SCHEME: run.label} | runs.others(run)


def curves(results: Sequence[Result], asked: Asked) -> list[Curve]:
    """The lines, in the order of the runs."""
    x, colour, panel = keys(results, asked)
    varied = swept(results)
    metrics = [Metric.read(text) for text in asked.metrics]
    base = _base(results, asked, varied)
    alone = "all runs" if SCHEME in (x, panel) else results[0].label
    groups: dict[tuple[str, str], dict[str, tuple[Any, list[Result]]]] = {}
    for run in results:
        has = settings(run)
        rest = [key for key in varied if key not in (x, panel) and key != colour]
        told = [named(key, has.get(key)) for key in ((colour, *rest) if colour else rest) if key]
        where = named(panel, has.get(panel)) if panel else ""
        line = groups.setdefault((where, ", ".join(told) or alone), {})
        value = has.get(x)
        line.setdefault(json.dumps(value, sort_keys=True), (value, []))[1].append(run)
    found = []
    for metric in metrics:
        for (where, name), line in groups.items():
            scheme = next(iter(line.values()))[1][0].outcome.scheme
            points = [
                Point(value, estimate)
                for value, seeds in line.values()
                if (estimate := _estimate(metric, seeds, base, asked)) is not None
            ]
            if points:
                found.append(Curve(where, metric, name, scheme, tuple(points)))
    if not found:
        raise Mistake(f"--metric {', '.join(asked.metrics)}: no run has a value of it")
    return found


def table(results: Sequence[Result], asked: Asked) -> list[dict[str, Any]]:
    """A row a metric and combination of what was swept: its settings, the estimate over seeds with
    its interval, and with `against` the change in words."""
    varied = swept(results)
    base = _base(results, asked, varied)
    groups: dict[str, list[Result]] = {}
    for run in results:
        groups.setdefault(json.dumps(settings(run), sort_keys=True), []).append(run)
    rows = []
    for metric in [Metric.read(text) for text in asked.metrics]:
        for seeds in groups.values():
            found = _estimate(metric, seeds, base, asked)
            if found is None:
                continue
            row = {key: settings(seeds[0]).get(key) for key in varied}
            row |= {"metric": metric.text}
            if metric.quantity == "slowdown":
                row |= {"over": seeds[0].over}
            row |= {"estimate": found.estimate}
            row |= {"low": found.low, "high": found.high, "seeds": found.n}
            rows.append(row | ({} if base is None else {"change": stats.Change(found).words}))
    if not rows:
        raise Mistake(f"--metric {', '.join(asked.metrics)}: no run has a value of it")
    return rows


def notes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines below a table: what slowdowns are over, and how many intervals are read together."""
    said = [comparing.SLOWDOWNS[over] for row in rows if (over := row.get("over"))]
    looked = stats.looked(sum(row["low"] is not None for row in rows))
    return [*dict.fromkeys(said), *([looked] if looked else [])]


def _estimate(
    metric: Metric, seeds: Sequence[Result], base: "_Base | None", asked: Asked
) -> stats.Interval | None:
    if base is None:
        values = (metric.value(run, asked.window) for run in seeds)
        return comparing.over_seeds(values, metric.range(seeds[0].over))
    pairs = [
        (above, below)
        for run in seeds
        if (other := base.of(run)) is not None
        and (above := metric.value(run, asked.window))
        and (below := metric.value(other, asked.window))
    ]
    return stats.paired([a for a, _ in pairs], [b for _, b in pairs]).ratio if pairs else None


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
        """Its seed, and its settings but for this."""
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


def _line(
    axes: "Axes", curve: Curve, look: style.Style, places: Places, number: int, of: int
) -> None:
    points = sorted(
        ((places.at(point.x), point.value) for point in curve.points), key=lambda each: each[0]
    )
    axes.errorbar(
        [x for x, _ in points],
        [value.estimate for _, value in points],
        transform=aside(axes, number, of),
        yerr=bars([value for _, value in points]),
        color=look.colour,
        marker=look.marker,
        linestyle="none" if places.names else look.dashes,
        markersize=5,
        capsize=3,
        label=curve.label,
    )
    told(axes, [(x, e) for x, v in points for e in (v.low, v.estimate, v.high) if e is not None])


def _ticks(axes: "Axes", places: Places) -> None:
    if places.names:
        axes.set_xticks(range(len(places.names)), list(map(style.plain, places.names)))
        axes.margins(x=0.1)
        return
    if places.unit:
        axes.set_xlabel(f"{axes.get_xlabel()} ({places.unit})")
    if len(places.xs) <= 8:
        axes.set_xticks(list(places.xs), [f"{x:g}" for x in places.xs])


def _looks(drawn: Sequence[tuple[str, str]]) -> dict[str, style.Style]:
    """Lines that are schemes have their looks; others are told apart in colour."""
    labels = {label for label, _ in drawn}
    schemes = {scheme for _, scheme in drawn}
    if len(labels) == len(drawn) and len(schemes) > 1:
        return style.of(drawn)
    return style.plain_looks(drawn)
