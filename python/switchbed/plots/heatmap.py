"""A figure of the summary over two settings of a sweep, a panel a scheme."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchbed import comparing
from switchbed._native import Mistake
from switchbed.measured import Metric
from switchbed.plots import style
from switchbed.result import Result
from switchbed.series import maps
from switchbed.series.comparison import unit_of
from switchbed.series.curves import label
from switchbed.series.runs import words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(
    results: Sequence[Result], metric: str, x: str | None, y: str | None, title: str
) -> "Figure":
    """Each cell is the mean over its seeds, coloured and in digits. `x` and `y` are settings of
    `[compare]`, by default its first two."""
    x, y = _axes(results, x, y)
    of = Metric.read(metric)
    tables = maps.cells(results, of.value, x, y)
    scale = maps.scale(tables)
    if scale is None:
        raise Mistake(f"--metric {metric}: no run has a value of it")
    name, size = unit_of(label(of, None, results[0].over), scale[1])
    low, high = (end / size for end in scale)
    xs, ys = tables[0].xs, tables[0].ys
    made = style.figure(1.2 + len(tables) * (0.9 + 0.75 * len(xs)), 2 + 0.45 * len(ys), title)
    row = made.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for axes, table in zip(row, tables, strict=True):
        rows = [[None if value is None else value / size for value in line] for line in table.rows]
        grid = [style.gaps(line) for line in rows]
        image = axes.imshow(
            grid, cmap="cividis", vmin=low, vmax=high, aspect="auto", origin="lower"
        )
        for j, line in enumerate(rows):
            for i, value in enumerate(line):
                if value is not None:
                    ink = "white" if value < (low + high) / 2 else "black"
                    axes.text(i, j, _digits(value), ha="center", va="center", color=ink, fontsize=7)
        axes.set_xticks(range(len(xs)), map(style.plain, xs), fontsize="small")
        axes.set_yticks(range(len(ys)), map(style.plain, ys), fontsize="small")
        axes.set_xlabel(style.plain(words(x)))
        axes.set_title(style.plain(table.name), fontsize="medium")
    row[0].set_ylabel(style.plain(words(y)))
    seeds = [len({run.seed for run in results})]
    named = ", ".join(filter(None, (name, of.detail)))
    made.colorbar(image, ax=list(row), label=f"{named}; {style.averaged(seeds)}", format="{x:,g}")
    return made


def _axes(results: Sequence[Result], x: str | None, y: str | None) -> tuple[str, str]:
    settings = results[0].settings
    keys = [k for k in settings if not comparing.is_seed(k) and not comparing.is_scheme(k)]
    for option, key in (("--x", x), ("--y", y)):
        if key is not None and key not in settings:
            raise Mistake(f"{option} {key}: is no setting of these runs, which have {_list(keys)}")
    if x is None or y is None:
        if len(keys) < 2:
            raise Mistake(
                f"a heat map needs two settings beside scheme and seed: there are {_list(keys)}"
            )
        free = [key for key in keys if key not in (x, y)]
        x = free.pop(0) if x is None else x
        y = free.pop(0) if y is None else y
    return x, y


def _list(keys: Sequence[str]) -> str:
    return ", ".join(keys) or "none"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
