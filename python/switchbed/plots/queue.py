"""Queue lengths over time, with the thresholds in force and the marks given."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.plots.style import MOST
from switchbed.series import queues, runs
from switchbed.series.queues import Length, Port
from switchbed.series.runs import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure(
    drawn: Sequence[Line], port: str | None, window_ms: tuple[float, float] | None, title: str
) -> "Figure":
    """A panel a run: each queue of a port, its threshold dotted, and marks as ticks at the top."""
    panels = [(line, run) for line in drawn for run in line.runs]
    if len(panels) > MOST:
        raise Mistake(f"{len(panels)} runs are too many panels: give at most {MOST}")
    chosen = port or queues.busiest(panels[0][1])
    made, rows = style.over_time(len(panels), title, queues.TIME, queues.LENGTH)
    for axes, (line, run) in zip(rows, panels, strict=True):
        # Lengths and thresholds stay below the ticks.
        axes.margins(x=0, y=0.1)
        _panel(axes, queues.of_port(line, run, chosen, window_ms))
        seed = f", seed {run.seed}" if len(line.runs) > 1 else ""
        axes.set_title(f"{style.plain(line.label)}{seed}: {chosen}", fontsize="small", loc="left")
    rows[0].set_ylim(bottom=0)
    style.legend_below(made, 6, style.of_seeds(run for _, run in panels))
    return made


def together(
    drawn: Sequence[Line], port: str | None, window_ms: tuple[float, float] | None, title: str
) -> "Figure":
    """A panel a value of the lines' panels: the queues of a port together, a line a setting, of
    each the first seed."""
    panels = list(dict.fromkeys(line.panel for line in drawn))
    style.fits(len(panels))
    chosen = port or queues.busiest(drawn[0].runs[0])
    made, rows = style.over_time(len(panels), title, queues.TIME, "queues together (KB)")
    for axes, panel in zip(rows, panels, strict=True):
        for line in (line for line in drawn if line.panel == panel):
            found = queues.of_port(line, line.runs[0], chosen, window_ms)
            style.line(axes, found.times_ms, found.together.kb, line.look, line.label, 1)
        where = f"{runs.named(*panel)}: " if panel else ""
        axes.set_title(style.plain(f"{where}{chosen}"), fontsize="small", loc="left")
    rows[0].set_ylim(bottom=0)
    style.legend_below(made, 6, style.of_seeds(line.runs[0] for line in drawn))
    return made


COMPARED = {"queue": "", "port": " for all queues of the port", "pool": " for the switch's memory"}
"""Ends of threshold lines' labels, by the length that the threshold applies to."""
Threshold = tuple[float | None, ...]
DOTTED: Any = {"linestyle": ":", "linewidth": 1.2}
DASHED: Any = {"linestyle": "-.", "linewidth": 1.0}


def _panel(axes: "Axes", port: Port) -> None:
    # A line would hide an equal one: they are drawn as one, with all names.
    equal: dict[tuple[float, ...], list[int]] = {}
    for number in port.used:
        equal.setdefault(port.queues[number].kb, []).append(number)
    for number, *others in equal.values():
        queue = port.queues[number]
        name = ", ".join(port.queues[each].name for each in (number, *others))
        dashes = style.DASHES[number // len(style.COLOURS) % len(style.DASHES)]
        look = replace(style.numbered(number), dashes=dashes)
        style.line(axes, port.times_ms, queue.kb, look, name, 1)
        for lower, upper in dict.fromkeys(_thresholds(port.queues[n]) for n in (number, *others)):
            for parameter, thresholds, dots in ((*lower, DOTTED), (*upper, DASHED)):
                if any(kb is not None for kb in thresholds):
                    axes.plot(port.times_ms, style.gaps(thresholds), color=look.colour, **dots)
                    label = f"{parameter}{COMPARED[port.threshold_of]}"
                    axes.plot([], [], color="black", label=label, **dots)
    if port.used:
        times = [time for time, _ in port.ticks()]
        axes.plot(
            times,
            [0.97] * len(times),
            "|",
            color=style.VERMILION,
            markersize=6,
            transform=axes.get_xaxis_transform(),
            label="marks",
        )


def _thresholds(queue: Length) -> tuple[tuple[str, Threshold], tuple[str, Threshold]]:
    """The queue's threshold and the end of its ramp, without a value where there is none."""
    upper = tuple(kb and kb * queue.ratio for kb in queue.threshold_kb) if queue.upper else ()
    return (queue.parameter, queue.threshold_kb), (queue.upper, upper)
