"""Charts of what flows get: the share that finished within a time or a slowdown, goodput of
receivers over time, by line, and how classes shared it."""

from collections.abc import Sequence
from typing import Any

from switchbed import comparing
from switchbed.report.chart import LEGEND_BELOW, Chart, Trace, at, curve, layout, look_of
from switchbed.series import looks, shares
from switchbed.series.distribution import SHARE, VALUES, distributions, title
from switchbed.series.runs import Line
from switchbed.series.shares import Clock, Goodput

Measured = list[tuple[Line, Any, Goodput]]


def charts(drawn: Sequence[Line]) -> list[Chart]:
    """Both charts, of the first seed at each place; shares where there are several classes."""
    first = []
    for line in drawn:
        for place, runs in line.by_place:
            found = [run for run in runs if not run.goodput.is_empty()]
            first += [(line, place, run) for run in found[:1]]
    clock = Clock.of([run for _, _, run in first])
    measured = [(line, place, shares.goodput(run, clock)) for line, place, run in first]
    return [_over_time(measured, clock), _shares(measured, clock)]


def _over_time(measured: Measured, clock: Clock) -> Chart:
    traces: list[Trace] = []
    for line, place, found in measured:
        each = list(found.classes.values())
        for received in [found.together, *each] if len(each) > 1 else each:
            meta = {"line": line.label, "view": {"of": received.name} | at(line, place)}
            look = look_of(line.look)["line"] | {"width": 1.5}
            hover = f": %{{y:.4g}} Gbps at %{{x:.4g}} {clock.unit}"
            curves = [curve(found.times, received.gbps, look, hover)]
            if received.fair_gbps:
                dotted = look | {"dash": "dot", "shape": "vh"}
                hover = ", fair: %{y:.4g} Gbps"
                curves.append(curve(found.times, received.fair_gbps, dotted, hover))
            traces += [{"name": line.label, "meta": meta} | each for each in curves]
    note = (
        "Payload that receivers took in order, the first seed of each line. Dotted, where flows "
        "send all the time: max-min fair shares."
    )
    gbps = {"title": {"text": shares.GOODPUT}, "rangemode": "tozero"}
    made = layout({"title": {"text": clock.title}}, gbps)
    return Chart("goodput", "Goodput over time", note, traces, made)


def _shares(measured: Measured, clock: Clock) -> Chart:
    traces: list[Trace] = []
    for line, place, found in measured:
        for number, share in found.share_pct.items() if len(found.classes) > 1 else ():
            meta = {"line": None, "view": {"line": line.label} | at(line, place)}
            look = {"color": looks.numbered(number).colour, "width": 0.5}
            hover = f": %{{y:.4g}} % at %{{x:.4g}} {clock.unit}"
            traces.append(
                {"name": found.classes[number].name, "meta": meta, "stackgroup": "all"}
                | curve(found.times, share, look, hover)
            )
    note = "Each class's share of what receivers got, the first seed of the line."
    made = layout(
        {"title": {"text": clock.title}},
        {"title": {"text": shares.SHARE}, "range": [0, 100]},
    )
    made["margin"]["b"] = 80
    legend = {"showlegend": True, "legend": LEGEND_BELOW | {"traceorder": "normal"}}
    return Chart("shares", "Shares by class", note, traces, made | legend)


def chart(drawn: Sequence[Line]) -> Chart:
    """By size class and load; all seeds of a line together."""
    traces: list[Trace] = []
    for value in VALUES:
        name_of_axis = title(value, drawn)
        for line in drawn:
            for place, runs in line.by_place:
                for name, found in distributions(runs, value).items():
                    view = {"value": name_of_axis, "flows": name} | at(line, place)
                    meta = {"line": line.label, "view": view, "titles": [name_of_axis, SHARE]}
                    look = look_of(line.look)["line"] | {"shape": "hv"}
                    some = found.thinned
                    hover = ": %{y:.3f} within %{x:.4g}" + (" ms" if value == "fct" else " times")
                    traces.append(
                        {"name": line.label, "meta": meta}
                        | curve(some.values, some.shares, look, hover)
                    )
    sentence = comparing.SLOWDOWNS[drawn[0].runs[0].over]
    note = f"Share of the finished flows that count; all seeds of a line together. {sentence}."
    shares = {"range": [0, 1.01], "title": {"text": SHARE}}
    return Chart("distribution", "Distribution", note, traces, layout({"type": "log"}, shares))
