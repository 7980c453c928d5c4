"""What receivers got over time: by line, and how classes shared it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from switchbed.plots import style
from switchbed.plots.runs import Line
from switchbed.report.chart import Chart, Trace, at, layout, look_of, places, rounded

if TYPE_CHECKING:
    import polars as pl

TOGETHER = "all together"
Measured = list[tuple[Line, Any, "pl.DataFrame"]]


def charts(drawn: Sequence[Line]) -> list[Chart]:
    """Both charts; shares where there are several classes."""
    measured: Measured = []
    for line in drawn:
        for place in places(line):
            found = [
                run for run in line.runs if line.place(run) == place and not run.goodput.is_empty()
            ]
            if found:
                measured.append((line, place, found[0].goodput.with_columns(_share())))
    return [_over_time(measured), _shares(measured)]


def _share() -> "pl.Expr":
    import polars as pl

    total = pl.col("goodput_bps").sum().over("time_s")
    return pl.when(total > 0).then(100 * pl.col("goodput_bps") / total).alias("share")


def _over_time(measured: Measured) -> Chart:
    import polars as pl

    traces: list[Trace] = []
    for line, place, frame in measured:
        total = frame.group_by("time_s", maintain_order=True).agg(
            pl.col("goodput_bps", "fair_bps").sum()
        )
        each = frame.partition_by("class", maintain_order=True)
        views = [(TOGETHER, total)] if len(each) > 1 else []
        views += [(f"class {one['class'][0]}", one) for one in each]
        for name, one in views:
            meta = {"line": line.label, "view": {"of": name} | at(line, place)}
            common = {"type": "scatter", "mode": "lines", "name": line.label, "meta": meta}
            look = look_of(line.look)["line"] | {"width": 1.5}
            xs = [rounded(t * 1e3) for t in one["time_s"]]
            traces.append(
                common
                | {"x": xs, "y": [rounded(b / 1e9) for b in one["goodput_bps"]], "line": look}
                | {"hovertemplate": "%{fullData.name}: %{y:.4g} Gbps at %{x:.4g} ms<extra></extra>"}
            )
            if (one["fair_bps"] > 0).any():
                fair = [rounded(b / 1e9) for b in one["fair_bps"]]
                traces.append(
                    common
                    | {"x": xs, "y": fair, "line": look | {"dash": "dot", "shape": "vh"}}
                    | {"hovertemplate": "%{fullData.name}, fair: %{y:.4g} Gbps<extra></extra>"}
                )
    note = (
        "Payload that receivers took in order, the first seed of each line. Dotted, where flows "
        "send all the time: max-min fair shares."
    )
    gbps = {"title": {"text": "Gbps"}, "rangemode": "tozero"}
    made = layout({"title": {"text": "time (ms)"}}, gbps)
    return Chart("goodput", "Goodput over time", note, traces, made)


def _shares(measured: Measured) -> Chart:
    traces: list[Trace] = []
    for line, place, frame in measured:
        each = frame.partition_by("class", maintain_order=True)
        for one in each if len(each) > 1 else ():
            number = int(one["class"][0])
            colour = style.COLOURS[number % len(style.COLOURS)]
            shares = [None if share is None else rounded(share) for share in one["share"]]
            traces.append(
                {"type": "scatter", "mode": "lines", "name": f"class {number}"}
                | {"meta": {"line": None, "view": {"line": line.label} | at(line, place)}}
                | {"x": [rounded(t * 1e3) for t in one["time_s"]], "y": shares}
                | {"stackgroup": "all", "line": {"color": colour, "width": 0.5}}
                | {"hovertemplate": "%{fullData.name}: %{y:.4g} % at %{x:.4g} ms<extra></extra>"}
            )
    note = "Each class's share of what receivers got, the first seed of the line."
    made = layout(
        {"title": {"text": "time (ms)"}},
        {"title": {"text": "share (%)"}, "range": [0, 100]},
    )
    made["margin"]["b"] = 80
    below = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"}
    legend = {"showlegend": True, "legend": below | {"traceorder": "normal"}}
    return Chart("shares", "Shares by class", note, traces, made | legend)
