"""The share of flows that finished within a time, or a slowdown."""

from collections.abc import Sequence

from switchbed import comparing
from switchbed.report.chart import Chart, Trace, at, curve, layout, look_of
from switchbed.series.distribution import SHARE, VALUES, distributions, title
from switchbed.series.runs import Line


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
                    told = ": %{y:.3f} within %{x:.4g}" + (" ms" if value == "fct" else " times")
                    traces.append(
                        {"name": line.label, "meta": meta}
                        | curve(some.values, some.shares, look, told)
                    )
    sentence = comparing.SLOWDOWNS[drawn[0].runs[0].over]
    note = f"Share of the finished flows that count; all seeds of a line together. {sentence}."
    shares = {"range": [0, 1.01], "title": {"text": SHARE}}
    return Chart("distribution", "Distribution", note, traces, layout({"type": "log"}, shares))
