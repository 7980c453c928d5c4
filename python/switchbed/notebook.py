"""How results show in a notebook: a table with a small chart, drawn by hand as SVG. Text has the
page's own colour, so that it is read on light and dark alike."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeGuard

from switchbed import comparing, printing, stats
from switchbed.runner import Outcome
from switchbed.series import looks
from switchbed.terminal import clean

if TYPE_CHECKING:
    from switchbed.result import Comparison, Result

WIDTH, HEIGHT = 420, 190
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 8, 34
BAR_PX = 160
CLASSES = {"small": looks.BLUE, "medium": looks.GREEN, "large": looks.VERMILION}
MOST = 200
"""Points of a line: more are not seen."""


def result(run: "Result") -> str:
    """A run: FCTs by size class, their distribution, what else it comes to."""
    summary = run.summary()
    settings = ", ".join(f"{key} {value}" for key, value in run.settings.items())
    head = [run.label, settings, f"seed {run.seed}"]
    parts = [f"<div><b>{_text(' · '.join(filter(None, head)))}</b></div>"]
    # Runs of endless flows have no FCTs: a queue over time is drawn in their place.
    classes = {name: row for name, row in summary["fct"].items() if row["n"]}
    if classes:
        cells = [
            [name, f"{row['n']:,}", *(printing.duration(row[field]) for field in printing.FIELDS)]
            for name, row in classes.items()
        ]
        heads = ["FCT", "flows", *(field.removesuffix("_us") for field in printing.FIELDS)]
        parts += [_table(heads, [[_text(cell) for cell in row] for row in cells]), _cdf(run)]
    elif not run.series.is_empty():
        parts.append(_queue(run))
    parts += [f"<div>{_text(line)}</div>" for line in printing.headline(summary)]
    return f"<div>{''.join(parts)}</div>"


def runs(name: str, outcomes: Sequence[Outcome], failed: int) -> str:
    """A sweep: a row a scheme and point, with a bar as long as its mean FCT."""
    head = f"<b>{_text(name)}</b>: {len(outcomes):,} runs" + (f", {failed:,} failed" * bool(failed))
    if not outcomes:
        return f"<div>{head}</div>"
    rows = comparing.rows(outcomes)
    columns = printing.measured(rows)
    known = looks.styles(outcomes)
    means = [mean.estimate if (mean := row.mean("all", "mean_us")) else None for row in rows]
    # Bars are relative to the longest mean; without any FCT the column is left out.
    longest = max((mean for mean in means if mean is not None), default=None)
    cells = [
        [
            *([_text(row.scheme)] if row.scheme is not None else []),
            *(_text(value) for _, value in row.point),
            str(len(row.runs)),
            *(_text(cell(row)) for cell in columns.values()),
            *([] if longest is None else [_bar(mean, longest, known.get(row.scheme or ""))]),
        ]
        for row, mean in zip(rows, means, strict=True)
    ]
    heads = [
        *(["scheme"] if rows[0].scheme is not None else []),
        *(key for key, _ in rows[0].point),
        "seeds",
        *columns,
        *([] if longest is None else ["mean FCT"]),
    ]
    return f"<div>{head}{_table(heads, cells)}</div>"


def comparison(found: "Comparison") -> str:
    """A scheme against another: the ratio of each statistic with its interval, around 1."""
    ratios = [change.drawn for change in found.changes.values()]
    ends = [end for ratio in ratios for end in (ratio.low, ratio.high, ratio.estimate)]
    far = max((abs(math.log(end)) for end in ends if _finite(end)), default=0.0)
    # Ratios that are all near 1 get a scale of 5 %, so that noise does not fill the chart.
    far = max(far, math.log(1.05))
    cells = [
        [_text(f"{size_class} {statistic.removesuffix('_us')}"), _text(change)]
        for (size_class, statistic), change in found.changes.items()
    ]
    for row, ratio in zip(cells, ratios, strict=True):
        row.append(_interval(ratio, far))
    head = f"FCT of <b>{_text(found.scheme)}</b> against <b>{_text(found.base)}</b>"
    heads = ["", "change", "ratio and 95 % interval; 1 in the middle"]
    return f"<div>{head}{_table(heads, cells)}<div>{_text(found.looked or '')}</div></div>"


def _cdf(run: "Result") -> str:
    """FCTs by size class, cumulative."""
    from switchbed.series.distribution import distributions

    found = distributions([run], "fct")
    lines = []
    for name, colour in CLASSES.items():
        if name in found:
            points = list(zip(found[name].values, found[name].shares, strict=True))
            last = len(points) - 1
            # Even places of the sorted values, both ends included; a set, as short lists repeat
            # places.
            places = sorted({round(i * last / (MOST - 1)) for i in range(MOST)})
            lines.append((name, colour, [points[i] for i in places]))
    return _chart(lines, "FCT", "share of flows", log=True) if lines else ""


def _queue(run: "Result") -> str:
    """The longest queue over time."""
    from switchbed.series import queues, runs

    # One run is one line, whatever its settings.
    (line,) = runs.lines([run])
    port = queues.of_port(line, run, queues.busiest(run))
    points = [(ms * 1e3, kb) for ms, kb in zip(port.times_ms, port.together.kb, strict=True)]
    some = points[:: max(1, len(points) // MOST)]
    return _chart([(port.name, looks.BLUE, some)], "time", "queue (KB)", log=False)


Line = tuple[str, str, Sequence[tuple[float, float]]]


def _chart(lines: Sequence[Line], xlabel: str, ylabel: str, *, log: bool) -> str:
    # A logarithm has no place for 0.
    xs = [x for _, _, points in lines for x, _ in points if x > 0 or not log]
    ys = [y for _, _, points in lines for _, y in points]
    scale = math.log10 if log else float
    low, high = scale(min(xs)), scale(max(xs))
    # Shares end at 1 even where the last class is not complete.
    top = max(1.0, *ys) if ylabel.startswith("share") else max(*ys, 1e-9)

    def place(x: float, y: float) -> tuple[float, float]:
        along = (scale(x) - low) / (high - low or 1.0)
        return LEFT + along * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / top * (
            HEIGHT - TOP - BOTTOM
        )

    parts = []
    for x in _ticks(low, high, log=log):
        at, _ = place(x, 0)
        parts.append(_rule(at, TOP, at, HEIGHT - BOTTOM))
        # A centred label at the right end would leave the picture.
        edge = "end" if at > WIDTH - RIGHT - 12 else "middle"
        parts.append(_label(at, HEIGHT - BOTTOM + 12, printing.duration(x), edge))
    for y in _ticks(0, top, log=False):
        _, at = place(10**low if log else low, y)
        parts.append(_rule(LEFT, at, WIDTH - RIGHT, at))
        parts.append(_label(LEFT - 4, at + 3, f"{y:g}", "end"))
    for i, (name, colour, points) in enumerate(lines):
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (place(x, y) for x, y in points))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        )
        # Names stand one above the other at the lower right, where distributions leave room.
        parts.append(_label(WIDTH - RIGHT - 2, HEIGHT - BOTTOM - 6 - 12 * i, name, "end", colour))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_label(middle, HEIGHT - 6, xlabel, "middle"))
    across = (HEIGHT - BOTTOM + TOP) / 2
    turned = f'transform="rotate(-90 10 {across:g})"'
    parts.append(_label(10, across, ylabel, "middle", more=turned))
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} font-size="10" '
        f'font-family="sans-serif" fill="currentColor">'
        f"<title>{_text(ylabel)} over {_text(xlabel)}</title>{''.join(parts)}</svg>"
    )


def _ticks(low: float, high: float, *, log: bool) -> Iterable[float]:
    if not log:
        step = _step(high - low)
        return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
    tens = [10.0**n for n in range(math.ceil(low), math.floor(high) + 1)]
    # Values within one decade have both ends as ticks.
    return tens if len(tens) > 1 else [10**low, 10**high]


def _step(width: float) -> float:
    """A round number that goes into the width two to five times."""
    ten = 10.0 ** math.floor(math.log10(width or 1.0))
    return next(ten * part for part in (0.2, 0.5, 1, 2) if width / (ten * part) <= 5)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    at = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {at} stroke="currentColor" stroke-opacity="0.2"/>'


def _label(
    x: float, y: float, text: str, anchor: str, colour: str = "currentColor", more: str = ""
) -> str:
    at = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" {more}'
    return f"<text {at}>{_text(text)}</text>"


def _bar(mean: float | None, longest: float, look: looks.Style | None) -> str:
    if mean is None:
        return ""
    colour = look.colour if look else looks.BLUE
    # Black is not seen on a dark page.
    if colour == looks.BLACK:
        colour = "currentColor"
    wide = BAR_PX * mean / (longest or 1.0)
    shape = f'<rect width="{wide:.1f}" height="10" fill="{colour}"/>'
    return f'<svg width="{BAR_PX}" height="10" role="img">{shape}</svg>'


def _finite(end: float | None) -> TypeGuard[float]:
    """An end of a ratio's interval that has a place; one seed has no interval."""
    return end is not None and end > 0 and math.isfinite(end)


def _interval(ratio: stats.Interval, far: float) -> str:
    def place(end: float | None) -> float:
        # Logarithms: a half and a double are as far from the middle.
        share = math.log(end) / far if _finite(end) else 0.0
        return BAR_PX / 2 * (1 + 0.95 * share)

    at = place(ratio.estimate)
    low, high = (place(end) if _finite(end) else at for end in (ratio.low, ratio.high))
    return (
        f'<svg width="{BAR_PX}" height="12" role="img">{_rule(BAR_PX / 2, 0, BAR_PX / 2, 12)}'
        f'<line x1="{low:.1f}" y1="6" x2="{high:.1f}" y2="6" stroke="{looks.BLUE}" '
        f'stroke-width="2"/><circle cx="{at:.1f}" cy="6" r="3.5" '
        f'fill="{looks.BLUE}"/></svg>'
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    return escape(clean(str(value)))
