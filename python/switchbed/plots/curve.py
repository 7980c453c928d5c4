"""Any figure over any setting: each setting that was swept is the x axis, a colour, or a panel."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from switchbed import comparing, stats
from switchbed._native import Mistake
from switchbed.measured import Metric, Window
from switchbed.plots import runs, style
from switchbed.plots.fct import bars, reach
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCHEME = "scheme"
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
    named = list(dict.fromkeys((curve.label, curve.scheme) for curve in found))
    looks = _looks(named)
    places = _places(found)
    for axes, (panel, metric) in zip(grid, panels, strict=False):
        drawn = [curve for curve in found if (curve.panel, curve.metric) == (panel, metric)]
        for number, curve in enumerate(drawn):
            _line(axes, curve, looks[curve.label], places, number, len(drawn))
        reach(axes, [point.value.estimate for curve in drawn for point in curve.points])
        heading = ", ".join(filter(None, (panel, metric.detail)))
        axes.set_title(style.plain(heading), fontsize="medium")
        axes.set_ylabel(style.plain(label(metric, asked.against)))
        axes.set_xlabel(style.plain(words(x)))
        _ticks(axes, places)
        axes.grid(alpha=0.3)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    style.legend_below(made)
    return made


def label(metric: Metric, against: str | None) -> str:
    """Of the y axis."""
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
    for option, key in (("--x", asked.x), ("--colour", asked.colour), ("--panel", asked.panel)):
        if key is not None and key not in varied:
            has = ", ".join(varied) or "none"
            raise Mistake(f"{option} {key}: was not swept in these runs; there is {has}")
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


def swept(results: Sequence[Result]) -> list[str]:
    """The settings that differ, but for seeds; the scheme's is `scheme`."""
    found: dict[str, set[str]] = {}
    for run in results:
        for key, value in settings(run).items():
            found.setdefault(key, set()).add(json.dumps(value, sort_keys=True))
    return [key for key, values in found.items() if len(values) > 1]


def settings(run: Result) -> dict[str, Any]:
    """What tells a run from others, but for the seed."""
    found: dict[str, Any] = {SCHEME: run.label}
    for key, value in run.settings.items():
        if not comparing.is_seed(key) and not comparing.is_scheme(key):
            found[key] = value
    return found


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
        told = [_named(key, has.get(key)) for key in ((colour, *rest) if colour else rest) if key]
        where = _named(panel, has.get(panel)) if panel else ""
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
            row |= {"metric": metric.text, "estimate": found.estimate}
            row |= {"low": found.low, "high": found.high, "seeds": found.n}
            rows.append(row | ({} if base is None else {"change": stats.Change(found).words}))
    if not rows:
        raise Mistake(f"--metric {', '.join(asked.metrics)}: no run has a value of it")
    return rows


def _estimate(
    metric: Metric, seeds: Sequence[Result], base: "_Base | None", asked: Asked
) -> stats.Interval | None:
    if base is None:
        values = [v for run in seeds if (v := metric.value(run, asked.window)) is not None]
        return stats.mean(values) if values else None
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
    fits = [run for run in results if runs.text(settings(run).get(key)) == wanted]
    if not fits:
        has = ", ".join(dict.fromkeys(runs.text(settings(run).get(key)) for run in results))
        raise Mistake(f"--against {asked.against}: no run has it; {key} is {has}")
    return _Base(key, {_Base.place(run, key): run for run in fits})


def _named(key: str | None, value: Any) -> str:
    if key is None:
        return ""
    return str(value) if key == SCHEME else runs.name(key, value)


def number(value: Any) -> float | None:
    """A setting as a place on an axis: a number, or a quantity with its unit."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    return quantity_of(value)[0] if isinstance(value, str) else None


def quantity_of(text: str) -> tuple[float | None, str]:
    """A quantity and the unit that all of its kind are shown in."""
    from switchbed import quantity

    for read, scale, unit in (
        (quantity.time, 1e6, "µs"),
        (quantity.rate, 1e-9, "Gbps"),
        (quantity.size, 1e-3, "KB"),
    ):
        try:
            return read(text) * scale, unit
        except ValueError:
            continue
    packets = text.removesuffix("pkt")
    if packets != text:
        try:
            return float(packets), "packets"
        except ValueError:
            pass
    return None, ""


def _numbers(results: Sequence[Result], key: str) -> bool:
    return all(number(settings(run).get(key)) is not None for run in results)


@dataclass(frozen=True)
class _Places:
    """Where values stand on the x axis."""

    names: tuple[str, ...]
    """Of values that are no numbers, in their order; empty: they are."""
    xs: tuple[float, ...]
    unit: str

    def of(self, value: Any) -> float:
        """One value's."""
        found = number(value)
        if self.names or found is None:
            return float(self.names.index(runs.text(value)))
        return found


def _places(found: Sequence[Curve]) -> _Places:
    values = list({json.dumps(p.x): p.x for curve in found for p in curve.points}.values())
    numbers = [number(value) for value in values]
    units = {quantity_of(value)[1] if isinstance(value, str) else "" for value in values}
    known = sorted(n for n in numbers if n is not None)
    if len(known) < len(values) or len(units) > 1:
        names = tuple(map(runs.text, values))
        return _Places(names, tuple(map(float, range(len(names)))), "")
    return _Places((), tuple(known), units.pop())


def _line(
    axes: "Axes", curve: Curve, look: style.Style, places: _Places, number: int, of: int
) -> None:
    from matplotlib.transforms import ScaledTranslation

    points = sorted(
        ((places.of(point.x), point.value) for point in curve.points), key=lambda each: each[0]
    )
    # A little beside each other, so that bars do not hide each other.
    canvas = axes.get_figure(root=True)
    assert canvas is not None
    aside = ScaledTranslation((number - (of - 1) / 2) / 36, 0, canvas.dpi_scale_trans)
    axes.errorbar(
        [x for x, _ in points],
        [value.estimate for _, value in points],
        transform=axes.transData + aside,
        yerr=bars([value for _, value in points]),
        color=look.colour,
        marker=look.marker,
        linestyle="none" if places.names else look.dashes,
        markersize=5,
        capsize=3,
        label=curve.label,
    )
    # What is drawn aside tells the axes nothing of its place.
    ends = [end for _, v in points for end in (v.low, v.estimate, v.high) if end is not None]
    axes.update_datalim([(x, end) for x, _ in points for end in ends])
    axes.autoscale_view()


def _ticks(axes: "Axes", places: _Places) -> None:
    if places.names:
        axes.set_xticks(range(len(places.names)), list(map(style.plain, places.names)))
        axes.margins(x=0.1)
        return
    if places.unit:
        axes.set_xlabel(f"{axes.get_xlabel()} ({places.unit})")
    if len(places.xs) <= 8:
        axes.set_xticks(list(places.xs), [f"{x:g}" for x in places.xs])


def _looks(named: Sequence[tuple[str, str]]) -> dict[str, style.Style]:
    """Lines that are schemes have their looks; others are told apart in colour."""
    labels = list(dict.fromkeys(label for label, _ in named))
    schemes = {scheme for _, scheme in named}
    if (len(labels) == len(named) and len(schemes) > 1) or len(labels) > len(style.PLAIN):
        return style.of(named)
    return dict(zip(labels, style.PLAIN, strict=False))
