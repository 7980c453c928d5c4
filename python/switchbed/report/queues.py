"""A port's queues over time with their thresholds and marks, and each at one instant that a
slider chooses."""

from collections.abc import Sequence
from typing import Any

from switchbed.report.chart import Chart, Trace, at, curve, layout, look_of, order, rounded
from switchbed.series import queues
from switchbed.series.queues import Length, Port
from switchbed.series.runs import Line

MOST_SAMPLES = 1500
"""Points of a queue's line; of more, each point is the longest of several samples."""
MOST_INSTANTS = 300
"""Places of the time slider."""

Sampled = list[tuple[Line, Any, Port]]


def charts(drawn: Sequence[Line]) -> list[Chart]:
    """Both charts, of the port whose queues are longest on average at each load."""
    runs = [(line, run) for line in drawn for run in line.runs if not run.series.is_empty()]
    ports = {line.place(run): queues.busiest(run) for line, run in reversed(runs)}
    sampled: Sampled = []
    for line in drawn:
        for place, port in sorted(ports.items(), key=lambda item: order(item[0])):
            found = [run for of, run in runs if of is line and line.place(run) == place]
            if found and port in found[0].series["port"]:
                sampled.append((line, place, queues.of_port(line, found[0], port)))
    named = " and ".join(dict.fromkeys(ports.values()))
    return [_over_time(sampled, named), _instant(sampled, named)]


def _over_time(sampled: Sampled, named: str) -> Chart:
    used = sorted({number for _, _, port in sampled for number in port.used})
    traces: list[Trace] = []
    lines = list(dict.fromkeys(line.label for line, _, _ in sampled))
    for line, place, port in sampled:
        each = -(-len(port.times_ms) // MOST_SAMPLES)
        views = [(port.queues[n], "queue") for n in used if n in port.queues]
        if len(port.queues) > 1:
            views.append((port.together, "port"))
        marks = _marks(port.ticks(each), line, lines.index(line.label) / len(lines))
        for length, whose in views:
            meta = {"line": line.label, "view": {"queue": length.name} | at(line, place)}
            steps = port.steps(length, MOST_SAMPLES) if port.threshold_of == whose else []
            drawn = (
                _length(port, length, line, each),
                _threshold(steps, length.parameter, line),
                marks,
            )
            traces += [{"name": line.label, "meta": meta} | trace for trace in drawn if trace]
    note = (
        f"Port {named}, the first seed of each line. Dotted: the threshold in force, or a ramp's "
        "begin. Ticks at the top: the port's marks have left it since the tick before. Where "
        f"samples are more than {MOST_SAMPLES:,}, each point is the longest of several."
    )
    lengths = {"title": {"text": queues.LENGTH}, "rangemode": "tozero", "domain": [0, 0.88]}
    made = layout({"title": {"text": queues.TIME}}, lengths)
    above = {"domain": [0.9, 1], "range": [-0.1, 1.1], "visible": False, "fixedrange": True}
    return Chart("queues", "Queue over time", note, traces, made | {"yaxis2": above})


def _length(port: Port, length: Length, line: Line, each: int) -> Trace:
    look = look_of(line.look)["line"] | {"width": 1.2, "shape": "hv"}
    hover = ": %{y:.4g} KB at %{x:.4g} ms"
    return curve(port.times_ms[::each], length.longest(each), look, hover)


def _threshold(steps: Sequence[tuple[float, float]], parameter: str, line: Line) -> Trace:
    if not steps:
        return {}
    look = {"color": line.look.colour, "dash": "dot", "width": 1.2, "shape": "hv"}
    times, lengths = zip(*steps, strict=True)
    return curve(times, lengths, look, f", {parameter}: %{{y:.4g}} KB")


def _marks(ticks: Sequence[tuple[float, int]], line: Line, below: float) -> Trace:
    """Above the lengths, `below` the top by that share of the strip."""
    if not ticks:
        return {}
    return {
        "type": "scatter",
        "mode": "markers",
        "yaxis": "y2",
        "x": rounded(time for time, _ in ticks),
        "y": rounded([1 - below] * len(ticks)),
        "customdata": [count for _, count in ticks],
        "marker": {"color": line.look.colour, "symbol": "line-ns-open", "size": 7},
        "hovertemplate": "%{fullData.name}: %{customdata} marks by %{x:.4g} ms<extra></extra>",
    }


def _instant(sampled: Sampled, named: str) -> Chart:
    """A bar a queue and line, with its threshold; `meta` has their values at all times."""
    top = max((max(q.kb) for _, _, port in sampled for q in port.queues.values()), default=0.0)
    traces: list[Trace] = []
    for line, place, port in sampled:
        step = -(-len(port.times_ms) // MOST_INSTANTS)
        times = rounded(port.times_ms[::step])
        view = {"line": line.label, "view": at(line, place), "times_ms": times}
        bar: Trace = {
            "type": "bar",
            "name": line.label,
            "offsetgroup": line.label,
            "x": [queue.name for queue in port.queues.values()],
        }
        lengths = [rounded(queue.kb[::step]) for queue in port.queues.values()]
        traces.append(
            bar
            | {"meta": view | {"values": lengths}, "y": [series[0] for series in lengths]}
            | {"marker": {"color": line.look.colour, "opacity": 0.6}}
            | {"hovertemplate": "%{fullData.name}, %{x}: %{y:.4g} KB<extra></extra>"}
        )
        thresholds = [rounded(queue.threshold_kb[::step]) for queue in port.queues.values()]
        if port.threshold_of == "queue" and any(any(series) for series in thresholds):
            # A thin bar that stands at the threshold.
            hover = "%{fullData.name}, %{x}: threshold %{base:.4g} KB<extra></extra>"
            traces.append(
                bar
                | {"meta": view | {"values": thresholds}, "base": [t[0] for t in thresholds]}
                | {"y": [0.012 * (top or 1)] * len(thresholds)}
                | {"marker": {"color": line.look.colour, "line": {"color": "#fff", "width": 0.5}}}
                | {"hovertemplate": hover}
            )
    highest = [t["meta"]["values"] for t in traces if "base" in t]
    top = max([top, *(v for values in highest for series in values for v in series if v)])
    note = f"Each queue of port {named}, and its threshold, at the time that the slider shows."
    yaxis = {
        "title": {"text": queues.LENGTH},
        "rangemode": "tozero",
        "range": [0, 1.05 * top or 1],
    }
    made = layout({"type": "category", "title": {"text": "queue"}}, yaxis)
    made |= {"barmode": "group"}
    return Chart("instant", "Queues at one instant", note, traces, made)
