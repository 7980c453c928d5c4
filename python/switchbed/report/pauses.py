"""Pauses by flow control over time, by port."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from switchbed.measured import warmup_s
from switchbed.report.chart import LEGEND_BELOW, Chart, Trace, at, layout, rounded
from switchbed.series import looks
from switchbed.series.runs import Line

if TYPE_CHECKING:
    import polars as pl

MOST_PORTS = 24
"""Ports that a chart has room for: those that were held longest."""
MOST_PAUSES = 20_000
"""Pauses that the chart over time draws of a line; of more, the longest."""
FILLS = {"-": "", "--": "/", "-.": "x", ":": "."}
"""Fill pattern of bars, for each kind of line."""
Held = list[tuple[Line, Any, "pl.DataFrame"]]


def charts(drawn: Sequence[Line]) -> list[Chart]:
    """Both charts, where runs had flow control and it held anything."""
    import polars as pl

    held: Held = []
    for line in drawn:
        for place, (run, *_) in line.by_place:
            # Other figures of pauses are of the time since the warm-up, too.
            warm = warmup_s(run)
            frame = run.table("pause_tree")
            if not frame.is_empty():
                frame = frame.filter(pl.col("end_s") > warm)
                since = pl.max_horizontal("start_s", pl.lit(warm))
                frame = frame.with_columns(since.alias("start_s"))
            if not frame.is_empty():
                held.append((line, place, frame))
    return [_by_port(held), _over_time(held)]


def _by_port(held: Held) -> Chart:
    import polars as pl

    traces: list[Trace] = []
    for line, place, frame in held:
        lasts = (pl.col("end_s") - pl.col("start_s")).sum().alias("held_s")
        ports = frame.group_by("port", maintain_order=True).agg(lasts, pl.len().alias("pauses"))
        ports = ports.sort("held_s", descending=True, maintain_order=True).head(MOST_PORTS)
        traces.append(
            {"type": "bar", "name": line.label, "orientation": "h"}
            | {"meta": {"line": line.label, "view": at(line, place)}}
            | {"x": rounded(ports["held_s"] * 1e3), "y": ports["port"].to_list()}
            | {"marker": _filled(line), "customdata": ports["pauses"].to_list()}
            | {
                "hovertemplate": "%{fullData.name}: %{y} held %{x:.4g} ms, %{customdata} pauses"
                "<extra></extra>"
            }
        )
    note = (
        f"How long each port was held by its peer, all lossless classes together, the first seed "
        f"of each line; the {MOST_PORTS} ports that were held longest."
    )
    made = layout(
        {"title": {"text": "held (ms)"}, "rangemode": "tozero"},
        {"type": "category", "autorange": "reversed"},
    )
    return Chart("paused", "Pauses by port", note, traces, made | {"barmode": "group"})


def _filled(line: Line) -> dict[str, Any]:
    """Bars of one colour differ as its lines do."""
    return {"color": line.look.colour, "pattern": {"shape": FILLS[line.look.dashes]}}


def _over_time(held: Held) -> Chart:
    import polars as pl

    traces: list[Trace] = []
    for line, place, frame in held:
        lasts = pl.col("end_s") - pl.col("start_s")
        most = frame.group_by("port").agg(lasts.sum().alias("held_s"))
        most = most.sort(["held_s", "port"], descending=[True, False]).head(MOST_PORTS)
        shown = frame.filter(pl.col("port").is_in(most["port"].implode()))
        shown = shown.sort(lasts, descending=True, maintain_order=True).head(MOST_PAUSES)
        shown = shown.sort("pause")
        for nth, root in enumerate(shown["root"].unique(maintain_order=True)):
            xs: list[float | None] = []
            ys: list[str | None] = []
            of_root = shown.filter(pl.col("root") == root)
            for port, start, end in of_root.select("port", "start_s", "end_s").iter_rows():
                xs += [*rounded([start * 1e3, end * 1e3]), None]
                ys += [port, port, None]
            colour = looks.numbered(nth).colour
            traces.append(
                {"type": "scatter", "mode": "lines", "name": f"root {root}"}
                | {"meta": {"line": None, "view": {"line": line.label} | at(line, place)}}
                | {"x": xs, "y": ys}
                | {"line": {"color": colour, "width": 7}, "connectgaps": False}
                | {"hovertemplate": "%{y} at %{x:.4g} ms, %{fullData.name}<extra></extra>"}
            )
    note = (
        "When ports were held, coloured by the congested port that it began with, the first seed "
        f"of the line; the {MOST_PORTS} ports that were held longest."
    )
    made = layout(
        {"title": {"text": "time (ms)"}, "rangemode": "tozero"},
        {"type": "category", "autorange": "reversed"},
    )
    made["margin"]["b"] = 80
    legend = {"showlegend": True, "legend": LEGEND_BELOW}
    return Chart("pauses", "Pauses over time", note, traces, made | legend)
