"""A figure of the summary over two settings of a sweep, a panel a scheme."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from switchbed import comparing
from switchbed._native import Mistake
from switchbed.measured import Metric
from switchbed.plots import runs, style
from switchbed.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(
    results: Sequence[Result], metric: str, x: str | None, y: str | None, title: str
) -> "Figure":
    """Each cell is the mean over its seeds, coloured and in digits. `x` and `y` are settings of
    `[compare]`, by default its first two."""
    x, y = _axes(results, x, y)
    measured = Metric.read(metric)
    tables = {
        label: cells(seeds, measured.value, x, y) for label, seeds in panels(results, x, y).items()
    }
    xs, ys = (values(results, key) for key in (x, y))
    known = [value for found in tables.values() for value in found.values()]
    if not known:
        raise Mistake(f"--metric {metric}: no run has a value of it")
    made = style.figure(1.2 + len(tables) * (0.9 + 0.75 * len(xs)), 2 + 0.45 * len(ys), title)
    row = made.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for axes, (label, found) in zip(row, tables.items(), strict=True):
        grid = [[found.get((a, b), math.nan) for a in xs] for b in ys]
        image = axes.imshow(
            grid, cmap="cividis", vmin=min(known), vmax=max(known), aspect="auto", origin="lower"
        )
        for j, line in enumerate(grid):
            for i, value in enumerate(line):
                if not math.isnan(value):
                    dark = value < (min(known) + max(known)) / 2
                    ink = "white" if dark else "black"
                    axes.text(i, j, _digits(value), ha="center", va="center", color=ink, fontsize=7)
        axes.set_xticks(range(len(xs)), map(style.plain, xs), fontsize="small")
        axes.set_yticks(range(len(ys)), map(style.plain, ys), fontsize="small")
        axes.set_xlabel(x)
        axes.set_title(style.plain(label), fontsize="medium")
    row[0].set_ylabel(y)
    made.colorbar(image, ax=list(row), label=_label(metric, results), format="{x:,g}")
    return made


def _label(metric: str, results: Sequence[Result]) -> str:
    """The metric's name, with what a slowdown is over."""
    if metric.split(".", maxsplit=1)[0].partition("[")[0] != "slowdown":
        return metric
    return f"{metric}, {comparing.slowdown(results[0].over)}"


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


def panels(results: Sequence[Result], x: str, y: str) -> dict[str, list[Result]]:
    """The runs of each panel, by what it is called."""
    found: dict[str, list[Result]] = {}
    for run in results:
        found.setdefault(_panel(run, x, y), []).append(run)
    return found


def _panel(run: Result, x: str, y: str) -> str:
    """What else tells the run from others: its scheme, and further settings."""
    rest = (
        value if isinstance(value, str) else runs.name(key, value)
        for key, value in run.settings.items()
        if key not in (x, y) and not comparing.is_seed(key)
    )
    axis = any(comparing.is_scheme(key) for key in (x, y))
    return ", ".join(rest) or ("" if axis else run.label)


def cells(
    runs_of: Sequence[Result], measure: Callable[[Result], float | None], x: str, y: str
) -> dict[tuple[str, str], float]:
    """The mean over seeds by the two settings' values."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs_of:
        value = measure(run)
        if value is not None:
            place = comparing.text(run.settings[x]), comparing.text(run.settings[y])
            found.setdefault(place, []).append(value)
    return {place: sum(seeds) / len(seeds) for place, seeds in found.items()}


def values(results: Sequence[Result], key: str) -> list[str]:
    """The setting's values in the order of the sweep."""
    return list(dict.fromkeys(comparing.text(run.settings[key]) for run in results))


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
