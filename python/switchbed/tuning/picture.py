"""The objective and the guards against the parameter."""

from pathlib import Path
from typing import TYPE_CHECKING

from switchbed.plots import output, style
from switchbed.tuning.advice import ADVISED, AS_GOOD, BREAKS, UNTOLD, Advice, Entry
from switchbed.tuning.grid import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    ADVISED: style.GREEN,
    AS_GOOD: style.BLUE,
    UNTOLD: style.SKY,
    BREAKS: style.VERMILION,
}
NAMED_MOST = 8


def draw(found: Advice, path: Path) -> None:
    """A panel for the objective over the leader's with the race's intervals, one for each scene's
    own figure, one for each guard."""
    entries = [e for e in found.entries if e.against is not None]
    single = len(entries[0].point.place) == 1
    scale = _scale(entries[0].point, single)
    xs = [e.point.place[0] / scale[0] if single else float(i) for i, e in enumerate(entries)]
    guards = [str(guard) for guard in found.guards]
    rows = 2 + len(guards)
    blocks = style.counted(entry.blocks for entry in entries if entry.blocks)
    note = f"mean of {blocks} a point; bars hold together at 95 %"
    made = style.figure(8, 1.6 + 2.0 * rows, f"{found.scheme}: {found.objective}\n{note}")
    panels = made.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    _objective(panels[0], xs, entries)
    for index, label in enumerate(found.scenes):
        look = style.PLAIN[index % len(style.PLAIN)]
        values = [entry.scenes[index] for entry in entries]
        panels[1].plot(xs, values, look.dashes, color=look.colour, marker=look.marker, ms=3, lw=1)
        panels[1].lines[-1].set_label(style.plain(label))
    _log(panels[1])
    panels[1].set_ylabel(style.plain(found.objective), fontsize="small")
    panels[1].legend(fontsize="x-small", ncols=3)
    for axes, name in zip(panels[2:], guards, strict=True):
        values = [_value(entry, name) for entry in entries]
        axes.plot(xs, values, "-", color=style.GREY, lw=1)
        for x, value, entry in zip(xs, values, entries, strict=True):
            axes.plot(x, value, "o", color=_colour(entry), ms=5)
        axes.set_ylabel(style.plain(name.replace("<=", "\n≤ ")), fontsize="small")
    for axes in panels:
        axes.tick_params(labelsize="small", which="both")
        for x, entry in zip(xs, entries, strict=True):
            if "yours" in entry.point.names:
                axes.axvline(x, color=style.BLACK, lw=0.8, ls=":")
    if single:
        panels[-1].set_xscale("log")
        panels[-1].set_xticks(
            xs,
            [f"{x:.3g}" if x < 1000 else f"{x:,.0f}" for x in xs],
            fontsize="x-small",
            rotation=60,
        )
        panels[-1].minorticks_off()
        panels[-1].set_xlabel(
            f"{next(iter(entries[0].point.settings))} ({scale[1]}; dotted: yours)"
        )
    else:
        labels = [style.plain(e.point.label) for e in entries]
        panels[-1].set_xticks(xs, labels, fontsize="xx-small", rotation=90)
    output.save(made, path)


def _objective(axes: "Axes", xs: list[float], entries: list[Entry]) -> None:
    for x, entry in zip(xs, entries, strict=True):
        if entry.against is None:
            continue
        low, high = entry.against.low or 0.0, entry.against.high or 0.0
        bar = [[entry.against.estimate - low], [high - entry.against.estimate]]
        known = entry.verdict not in [
            text.get_label() for text in axes.containers if text.get_label()
        ]
        axes.errorbar(
            x,
            entry.against.estimate,
            yerr=bar,
            fmt="o",
            color=_colour(entry),
            ms=5,
            lw=1,
            capsize=2,
            label=entry.verdict if known else None,
        )
    middles = [e.against.estimate for e in entries if e.against is not None]
    axes.axhline(1, color=style.GREY, lw=0.8)
    _log(axes)
    axes.set_ylim(min(middles) / 1.6, max(middles) * 1.6)
    axes.set_ylabel("over the leader's", fontsize="small")
    axes.legend(fontsize="x-small", ncols=5)


def _log(axes: "Axes") -> None:
    """A logarithmic axis whose labels are plain numbers."""
    from matplotlib.ticker import FuncFormatter

    axes.set_yscale("log")
    for which in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        which(FuncFormatter(lambda value, _: f"{value:g}"))


def _colour(entry: Entry) -> str:
    return COLOURS.get(entry.verdict, style.GREY)


def _value(entry: Entry, name: str) -> float:
    verdict = entry.guards.get(name)
    return float("nan") if verdict is None or verdict.mean is None else verdict.mean


def _scale(point: Point, single: bool) -> tuple[float, str]:
    """Return the divisor and unit of the axis."""
    value = str(next(iter(point.settings.values())))
    if single and value.endswith("ns"):
        return 1e-6, "µs"
    return (1000.0, "KB") if single and value.endswith("B") else (1.0, "")
