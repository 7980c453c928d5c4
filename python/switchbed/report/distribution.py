"""The share of flows that finished within a time, or a slowdown."""

import math
from collections.abc import Sequence

from switchbed import comparing
from switchbed.plots import cdf
from switchbed.plots.runs import Line
from switchbed.report.chart import Chart, Trace, at, layout, look_of, places, rounded

BELOW, TAIL = 200, 60
"""Points of a distribution below and above its 99th percentile."""


def chart(drawn: Sequence[Line]) -> Chart:
    """By size class and load; all seeds of a line together."""
    import polars as pl

    traces: list[Trace] = []
    for value in cdf.VALUES:
        over = drawn[0].runs[0].over
        title = "FCT (us)" if value == "fct" else comparing.slowdown(over)
        for line in drawn:
            for place in places(line):
                frames = [cdf.flows(run, value) for run in line.runs if line.place(run) == place]
                flows = pl.concat(frames)
                for name in ("all", "small", "medium", "large"):
                    some = flows if name == "all" else flows.filter(pl.col("size_class") == name)
                    if some.is_empty():
                        continue
                    view = {"value": title, "flows": name} | at(line, place)
                    xs, ys = _thinned(some["value"].sort().to_list())
                    traces.append(
                        {"name": line.label}
                        | {"meta": {"line": line.label, "view": view} | {"titles": [title, SHARE]}}
                        | {"type": "scatter", "mode": "lines", "x": xs, "y": ys}
                        | {"line": look_of(line.look)["line"] | {"shape": "hv"}}
                        | {"hovertemplate": "%{fullData.name}: %{y:.3f} within %{x:.4g}"}
                        | {"hoverlabel": {"namelength": 0}}
                    )
    sentence = comparing.SLOWDOWNS[drawn[0].runs[0].over]
    note = "Share of the finished flows that count; all seeds of a line together. "
    note += f"{sentence}."
    shares = {"range": [0, 1.01], "title": {"text": SHARE}}
    return Chart("distribution", "Distribution", note, traces, layout({"type": "log"}, shares))


SHARE = "share of flows"


def _thinned(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Points of the distribution of sorted values: all, or some that lie closer in the tail."""
    n = len(values)
    if n <= BELOW + TAIL:
        return [rounded(v) for v in values], [rounded((i + 1) / n) for i in range(n)]
    shares = [0.99 * i / BELOW for i in range(BELOW)] + [
        0.99 + 0.01 * i / TAIL for i in range(TAIL + 1)
    ]
    places = sorted({max(0, math.ceil(share * n) - 1) for share in shares})
    return [rounded(values[i]) for i in places], [rounded((i + 1) / n) for i in places]
