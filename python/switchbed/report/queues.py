"""A port's queues over time with their thresholds and marks, and each at one instant that a
slider chooses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from switchbed.plots import queue
from switchbed.plots.runs import Line
from switchbed.report.chart import Chart, Trace, at, layout, look_of, order, rounded

if TYPE_CHECKING:
    import polars as pl

MOST_SAMPLES = 1500
"""Points of a queue's line; of more, each point is the longest of several samples."""
MOST_INSTANTS = 300
"""Places of the time slider."""
TOGETHER = "all together"

Sampled = list[tuple[Line, Any, "pl.DataFrame"]]


def charts(drawn: Sequence[Line]) -> list[Chart]:
    """Both charts, of the port whose queues are longest on average at each load."""
    runs = [(line, run) for line in drawn for run in line.runs if not run.series.is_empty()]
    ports = {line.place(run): queue.busiest(run) for line, run in reversed(runs)}
    sampled: Sampled = []
    for line in drawn:
        for place, port in sorted(ports.items(), key=lambda item: order(item[0])):
            at_place = (run for run in line.runs if line.place(run) == place)
            found = [run for run in at_place if not run.series.is_empty()]
            if found and port in found[0].series["port"]:
                sampled.append((line, place, queue.series(found[0], port, None)))
    named = " and ".join(dict.fromkeys(ports.values()))
    return [_over_time(sampled, named), _instant(sampled, named)]


def _over_time(sampled: Sampled, port: str) -> Chart:
    import polars as pl

    used = sorted(
        {number for _, _, s in sampled for number in s.filter(pl.col("bytes") > 0)["queue"]}
    )
    traces: list[Trace] = []
    lines = list(dict.fromkeys(line.label for line, _, _ in sampled))
    for line, place, samples in sampled:
        each = -(-samples["time_s"].n_unique() // MOST_SAMPLES)
        total = samples.group_by("time_s", maintain_order=True).agg(
            pl.col("bytes").sum(),
            pl.col("threshold_bytes").first(),
            pl.col("port_marked_packets").first(),
        )
        several = samples["queue"].n_unique() > 1
        views = [
            (f"queue {number}", one, queue.threshold_is_of(line) == "queue")
            for number in used
            if len(one := samples.filter(pl.col("queue") == number))
        ]
        if several:
            views.append((TOGETHER, total, queue.threshold_is_of(line) == "port"))
        marks = _marks(total, line, lines.index(line.label) / len(lines), each)
        for name, frame, has_threshold in views:
            meta = {"line": line.label, "view": {"queue": name} | at(line, place)}
            traces.append({"name": line.label, "meta": meta} | _length(frame, line, each))
            threshold = _threshold(frame, line) if has_threshold else {}
            traces += [{"name": line.label, "meta": meta} | t for t in (threshold, marks) if t]
    note = (
        f"Port {port}, the first seed of each line. Dotted: the marking threshold in force. Ticks "
        "at the top: the port's marks have left it since the tick before. Where samples are more "
        f"than {MOST_SAMPLES:,}, each point is the longest of several."
    )
    lengths = {"title": {"text": "KB"}, "rangemode": "tozero", "domain": [0, 0.88]}
    made = layout({"title": {"text": "time (ms)"}}, lengths)
    above = {"domain": [0.9, 1], "range": [-0.1, 1.1], "visible": False, "fixedrange": True}
    return Chart("queues", "Queue over time", note, traces, made | {"yaxis2": above})


def _thinned(frame: "pl.DataFrame", each: int) -> "pl.DataFrame":
    """One row of so many: the longest length, the marks at its end."""
    import polars as pl

    return (
        frame.with_row_index()
        .group_by(pl.col("index") // each, maintain_order=True)
        .agg(pl.col("time_s").first(), pl.col("bytes").max(), pl.col("port_marked_packets").last())
    )


def _length(frame: "pl.DataFrame", line: Line, each: int) -> Trace:
    some = _thinned(frame, each)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _ms(some["time_s"]),
        "y": _kb(some["bytes"]),
        "line": look_of(line.look)["line"] | {"width": 1.2, "shape": "hv"},
        "hovertemplate": "%{fullData.name}: %{y:.4g} KB at %{x:.4g} ms<extra></extra>",
    }


def _threshold(frame: "pl.DataFrame", line: Line) -> Trace:
    """Its steps alone; of more than a chart has room for, some."""
    import polars as pl

    known = frame.filter(pl.col("threshold_bytes").is_not_null())
    if known.is_empty():
        return {}
    last = pl.int_range(pl.len()) == pl.len() - 1
    steps = known.filter((pl.col("threshold_bytes").diff().fill_null(1) != 0) | last)
    steps = steps.gather_every(-(-len(steps) // MOST_SAMPLES))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _ms(steps["time_s"]),
        "y": _kb(steps["threshold_bytes"]),
        "line": {"color": line.look.colour, "dash": "dot", "width": 1.2, "shape": "hv"},
        "hovertemplate": "%{fullData.name}, threshold: %{y:.4g} KB<extra></extra>",
    }


def _marks(total: "pl.DataFrame", line: Line, below: float, each: int) -> Trace:
    """Above the lengths, `below` the top by that share of the strip."""
    import polars as pl

    some = _thinned(total, each)
    fresh = some.with_columns(pl.col("port_marked_packets").diff().fill_null(0).alias("fresh"))
    fresh = fresh.filter(pl.col("fresh") > 0)
    if fresh.is_empty():
        return {}
    return {
        "type": "scatter",
        "mode": "markers",
        "yaxis": "y2",
        "x": _ms(fresh["time_s"]),
        "y": [rounded(1 - below)] * len(fresh),
        "customdata": fresh["fresh"].to_list(),
        "marker": {"color": line.look.colour, "symbol": "line-ns-open", "size": 7},
        "hovertemplate": "%{fullData.name}: %{customdata} marks by %{x:.4g} ms<extra></extra>",
    }


def _instant(sampled: Sampled, port: str) -> Chart:
    """A bar a queue and line, with its threshold; `meta` has their values at all times."""
    top = max((float(s["bytes"].max() or 0) / 1e3 for _, _, s in sampled), default=0)  # type: ignore[arg-type]
    traces: list[Trace] = []
    for line, place, samples in sampled:
        each = samples.partition_by("queue", maintain_order=True)
        step = -(-len(each[0]) // MOST_INSTANTS)
        some = [frame.gather_every(step) for frame in each]
        view = {"line": line.label, "view": at(line, place), "times_ms": _ms(some[0]["time_s"])}
        bar: Trace = {
            "type": "bar",
            "name": line.label,
            "offsetgroup": line.label,
            "x": [f"queue {frame['queue'][0]}" for frame in some],
        }
        lengths = [_kb(frame["bytes"]) for frame in some]
        traces.append(
            bar
            | {"meta": view | {"values": lengths}, "y": [series[0] for series in lengths]}
            | {"marker": {"color": line.look.colour, "opacity": 0.6}}
            | {"hovertemplate": "%{fullData.name}, %{x}: %{y:.4g} KB<extra></extra>"}
        )
        thresholds = [_kb(frame["threshold_bytes"]) for frame in some]
        if queue.threshold_is_of(line) == "queue" and any(any(series) for series in thresholds):
            # A thin bar that stands at the threshold.
            told = "%{fullData.name}, %{x}: threshold %{base:.4g} KB<extra></extra>"
            traces.append(
                bar
                | {"meta": view | {"values": thresholds}, "base": [t[0] for t in thresholds]}
                | {"y": [0.012 * (top or 1)] * len(thresholds)}
                | {"marker": {"color": line.look.colour, "line": {"color": "#fff", "width": 0.5}}}
                | {"hovertemplate": told}
            )
    highest = [t["meta"]["values"] for t in traces if "base" in t]
    top = max([top, *(v for values in highest for series in values for v in series if v)])
    note = f"Each queue of port {port}, and its threshold, at the time that the slider shows."
    yaxis = {"title": {"text": "KB"}, "rangemode": "tozero", "range": [0, 1.05 * top or 1]}
    made = layout({"type": "category", "title": {"text": "queue"}}, yaxis)
    made |= {"barmode": "group"}
    return Chart("instant", "Queues at one instant", note, traces, made)


def _ms(seconds: "pl.Series") -> list[float]:
    return [rounded(t) for t in seconds * 1e3]


def _kb(bytes_: "pl.Series") -> list[Any]:
    return [None if b is None else rounded(b) for b in bytes_ / 1e3]
