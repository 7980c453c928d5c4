"""Figures and reports draw the same series: what matplotlib and plotly.js are given is the
description's, and nothing that one of them computed."""

import copy
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import SWEEP

import switchbed as sb
from switchbed.measured import Metric
from switchbed.plots import curve as curve_plot
from switchbed.plots.methods import Plots
from switchbed.report import comparison as comparison_chart
from switchbed.report import goodput as goodput_charts
from switchbed.report import queues as queue_charts
from switchbed.report.chart import Trace, rounded
from switchbed.series import comparison, curves, distribution, maps, queues, runs, shares

GAPS = 'series_every = "10us"\ngoodput_every = "20us"'
"""Intervals so short that nothing arrives in some."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[sb.Result]:
    """Two schemes, two loads, two buffers, two classes; a seed each."""
    path = tmp_path_factory.mktemp("series") / "scenario.toml"
    text = SWEEP.replace('series_every = "100us"', GAPS).replace("flows = 300", "flows = 100")
    text = text.replace('sizes = "30KB"', 'sizes = "30KB"\nservice = "random"')
    text = text.replace("[measure]", '[run]\nuntil = "4ms"\n[measure]')
    path.write_text(text.replace("seed = [1, 2]", 'switch.buffer = ["40KB", "300KB"]'))
    return sb.Scenario.from_file(path).run_all()


@pytest.fixture(scope="module")
def pair(results: list[sb.Result]) -> list[sb.Result]:
    """The two schemes at the higher load and one buffer."""
    return [
        run
        for run in results
        if run.settings["load"] == 0.8 and run.settings["switch.buffer"] == "300KB"
    ]


def drawn(axes: Any) -> dict[str, tuple[list[Any], ...]]:
    """The points of each named line of a panel, `None` where there is a gap."""
    return {
        str(line.get_label()): tuple(
            [None if math.isnan(value) else value for value in map(float, values)]
            for values in line.get_data(orig=True)
        )
        for line in axes.get_lines()
        if not str(line.get_label()).startswith("_")
    }


def of(traces: list[Trace], name: str, **view: str) -> list[Trace]:
    """The traces of this name that are seen at this choice."""
    return [
        t for t in traces if t.get("name") == name and view.items() <= t["meta"]["view"].items()
    ]


def test_queues_are_drawn_as_they_are_described(pair: list[sb.Result]) -> None:
    lines = runs.lines(pair)
    port = queues.busiest(pair[0])
    over_time, instant = queue_charts.charts(lines)
    for line, axes in zip(lines, Plots(pair).queue(port=port).axes, strict=True):
        found = queues.of_port(line, line.runs[0], port)
        assert len(found.used) == 2
        shown = drawn(axes)
        bars, *_ = of(instant.traces, line.label)
        for number in found.used:
            queue = found.queues[number]
            assert shown[queue.name] == ([*found.times_ms], [*queue.kb])
            length, threshold, marks = of(over_time.traces, line.label, queue=queue.name)
            assert (length["x"], length["y"]) == (rounded(found.times_ms), rounded(queue.kb))
            steps = dict(zip(threshold["x"], threshold["y"], strict=True))
            assert steps.items() <= set(zip(length["x"], rounded(queue.threshold_kb), strict=True))
            assert marks["x"] == rounded(ms for ms, _ in found.ticks())
            assert bars["meta"]["values"][number] == rounded(queue.kb[:: -(-len(queue.kb) // 300)])
        assert shown["marks"][0] == [ms for ms, _ in found.ticks()]
        together = of(over_time.traces, line.label, queue=queues.TOGETHER)[0]
        assert together["y"] == rounded(found.together.kb)
    (axes,) = Plots(pair).queue(port=port, colour="scheme").axes
    for line in lines:
        found = queues.of_port(line, line.runs[0], port)
        assert drawn(axes)[line.label] == ([*found.times_ms], [*found.together.kb])


def test_no_mark_is_lost_where_samples_are_thinned(pair: list[sb.Result]) -> None:
    (line, *_) = runs.lines(pair)
    found = queues.of_port(line, line.runs[0], queues.busiest(line.runs[0]))
    early = replace(found, marked=(0, 3, *[0] * (len(found.marked) - 2)))
    assert early.ticks() == [(found.times_ms[1], 3)]
    assert early.ticks(10) == [(found.times_ms[0], 3)]
    assert sum(count for _, count in found.ticks(7)) == sum(found.marked) > 0


def test_shares_are_drawn_as_they_are_described(pair: list[sb.Result]) -> None:
    lines = runs.lines(pair)
    clock = shares.Clock.of(pair)
    over_time, by_class = goodput_charts.charts(lines)
    together = Plots(pair).shares(colour="scheme").axes
    for line, axes in zip(lines, Plots(pair).shares().axes, strict=True):
        found = shares.goodput(line.runs[0], clock)
        totals = found.together.gbps
        assert 0.0 in totals
        assert len(found.share_pct) == 2
        for number, share in found.share_pct.items():
            name = found.classes[number].name
            # Of nothing there is no share, in either.
            assert [each is None for each in share] == [total == 0 for total in totals]
            assert drawn(axes)[name] == ([*found.times], [*share])
            assert drawn(together[number])[line.label] == ([*found.times], [*share])
            (area,) = of(by_class.traces, name, line=line.label)
            assert (area["x"], area["y"]) == (rounded(found.times), rounded(share))
            (rate,) = of(over_time.traces, line.label, of=name)
            assert rate["y"] == rounded(found.classes[number].gbps)
        (rate,) = of(over_time.traces, line.label, of=queues.TOGETHER)
        assert (rate["x"], rate["y"]) == (rounded(found.times), rounded(totals))


def test_fair_shares_and_seconds_are_the_same_in_both(pair: list[sb.Result]) -> None:
    run = pair[0]
    first = pl.when(pl.col("class") == 0).then(pl.col("goodput_bps") / 2).otherwise(0.0)
    late = run.goodput.with_columns(pl.col("time_s") * 1000, first.alias("fair_bps"))
    run = sb.Result.of_frames(run.outcome, run.scenario, {"goodput": late}, run.program)
    clock = shares.Clock.of([run])
    found = shares.goodput(run, clock)
    assert found.times == tuple(late["time_s"].unique().sort())
    over_time, _ = goodput_charts.charts(runs.lines([run]))
    assert over_time.layout["xaxis"]["title"]["text"] == clock.title == "time (s)"
    (axes,) = Plots([run]).shares().axes
    assert axes.get_xlabel() == clock.title
    fair = [trace for trace in over_time.traces if trace["line"]["dash"] == "dot"]
    assert [trace["meta"]["view"]["of"] for trace in fair] == [queues.TOGETHER, "class 0"]
    described = (found.together, found.classes[0])
    assert [trace["y"] for trace in fair] == [rounded(part.fair_gbps) for part in described]
    assert found.classes[1].fair_gbps == ()


def test_distributions_are_drawn_as_they_are_described(pair: list[sb.Result]) -> None:
    lines = runs.lines(pair)
    chart = goodput_charts.chart(lines)
    for value in distribution.VALUES:
        title = distribution.title(value, lines)
        axes, *_ = Plots(pair).cdf(value=value).axes
        slower, *_ = Plots(pair).cdf(value=value, complement=True).axes
        assert axes.get_xlabel() == title
        for line in lines:
            found = distribution.distributions(line.runs, value)
            assert list(found) == ["all", "small"]
            assert drawn(axes)[line.label] == ([*found["all"].values], [*found["all"].shares])
            longer = found["all"].complement
            assert drawn(slower)[line.label] == ([*longer.values], [*longer.shares])
            for name, one in found.items():
                (trace,) = of(chart.traces, line.label, value=title, flows=name)
                assert (trace["x"], trace["y"]) == (rounded(one.values), rounded(one.shares))


def test_a_thinned_distribution_has_its_ends_and_its_tail() -> None:
    values = tuple(map(float, range(10_000)))
    whole = distribution.Distribution(values, tuple((i + 1) / 10_000 for i in range(10_000)))
    some = whole.thinned
    assert len(some.values) == distribution.BELOW + distribution.TAIL + 1
    assert (some.values[-1], some.shares[-1]) == (9999, 1)
    assert set(zip(some.values, some.shares, strict=True)) <= set(
        zip(whole.values, whole.shares, strict=True)
    )
    assert sum(share > 0.99 for share in some.shares) == distribution.TAIL


def test_flows_that_count_are_those_of_every_other_figure(pair: list[sb.Result]) -> None:
    """A flow without a length that ended counts neither in summaries and tables nor here."""
    (run, *_) = pair
    endless = pl.when(pl.int_range(pl.len()) > 4).then("size_bytes").alias("size_bytes")
    frames = {"flows": run.flows.with_columns(endless)}
    told = sb.Result.of_frames(run.outcome, run.scenario, frames, run.program)
    found = distribution.distributions([told], "fct")
    assert len(found["all"].values) == Metric.read("fct.n").value(told)
    assert len(found["all"].values) == run.flows["fct_s"].count() - 5
    assert list(found) == ["all", "small"]


MIXED = """
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "5us"
[switch]
queues = 2
buffer = "300KB"
[scheme]
name = "per-queue"
params = { threshold = "30KB" }
[transport]
kind = "cubic"
[[traffic]]
kind = "poisson"
load = 0.2
flows = 30
sizes = "30KB"
[[traffic]]
kind = "poisson"
load = 0.2
flows = 20
sizes = "20KB"
transport = "dctcp"
[compare]
seed = [1, 2]
"""


def test_flows_of_each_transport_may_have_a_line_or_a_panel(
    tmp_path: Path, pair: list[sb.Result]
) -> None:
    (tmp_path / "mixed.toml").write_text(MIXED)
    mixed = sb.Scenario.from_file(tmp_path / "mixed.toml").run_all()
    axes, *_ = Plots(mixed).cdf(colour="transport").axes
    flows = pl.concat([run.flows for run in mixed])
    found = drawn(axes)
    assert list(found) == ["transport cubic", "transport dctcp"]
    for name, (values, _) in found.items():
        some = flows.filter(transport=name.removeprefix("transport "))["fct_s"] * 1e3
        assert values[-1] == some.max()
    titles = [axes.get_title() for axes in Plots(mixed).cdf(panel="traffic").axes]
    assert titles[0] == "traffic 0, all flows"
    assert "traffic 1, all flows" in titles
    Plots(mixed).sizes(colour="transport", bins=2)
    axes, *_ = Plots(mixed).curve(metric="fct.max_ms", x="transport").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["cubic", "dctcp"]
    with pytest.raises(sb.Mistake, match=r"--x transport: tells flows apart; .* rate\.mean_gbps"):
        Plots(mixed).curve(x="transport")
    # All flows of these runs have one transport, and their classes are 0 and 1.
    with pytest.raises(sb.Mistake, match="--colour transport: was not swept in these runs"):
        Plots(pair).cdf(colour="transport")
    axes, *_ = Plots(pair).cdf(colour="class", panel="scheme").axes
    assert list(drawn(axes)) == ["class 0", "class 1"]


def test_heat_maps_are_drawn_as_they_are_described(results: list[sb.Result]) -> None:
    chart = comparison_chart.sweep(results)
    figure = Plots(results).heatmap(metric="drops", x="load", y="switch.buffer")
    found = maps.cells(results, lambda run: run.summary()["drops"], "load", "switch.buffer")
    assert [cells.name for cells in found] == ["per-queue", "MQ-ECN"]
    low, high = maps.scale(found) or (0, 0)
    assert low < high
    for cells, axes in zip(found, figure.axes, strict=False):
        (image,) = axes.get_images()
        array: Any = image.get_array()
        assert array.tolist() == [list(row) for row in cells.rows]
        assert image.get_clim() == (low, high)
        view = {"figure": "Drops", "settings": "load, switch.buffer", "of": cells.name}
        (trace,) = (t for t in chart.traces if t["meta"]["view"] == view)
        assert trace["z"] == [rounded(row) for row in cells.rows]
        assert (trace["x"], trace["y"]) == ([*cells.xs], [*cells.ys])
        assert (trace["zmin"], trace["zmax"]) == (low, high)


def test_the_fabric_is_drawn_as_it_is_described(pair: list[sb.Result]) -> None:
    lines = runs.lines(pair)
    chart = comparison_chart.fabric(lines)
    squares = Plots(pair).utilisation().axes
    (sorted_by_use,) = Plots(pair).utilisation(colour="scheme").axes
    for line, axes, trace in zip(lines, squares, chart.traces, strict=False):
        (grid,) = maps.grids(line.runs)
        (image,) = axes.get_images()
        array: Any = image.get_array()
        assert array.tolist() == grid.rows
        assert trace["z"] == [rounded(row) for row in grid.rows]
        assert trace["x"] == list(grid.ports)
        assert trace["name"] in axes.get_title("left")
        assert drawn(sorted_by_use)[line.label][1] == grid.by_use


def bars(axes: Any) -> dict[str, tuple[Any, ...]]:
    """The points of each line with error bars, and the ends of its intervals."""
    return {
        container.get_label(): (
            *(list(values) for values in container.lines[0].get_data(orig=True)),
            [tuple(end[:, 1]) for end in container.lines[2][0].get_segments()],
        )
        for container in axes.containers
    }


def ends(curve: comparison.Curve) -> list[Any]:
    """What `bars` has of a curve."""
    known = [point.value for point in curve.points]
    return [(i.estimate, i.estimate) if i.low is None else (i.low, i.high) for i in known]


@pytest.mark.parametrize("quantity", [comparison.FCT, comparison.SLOWDOWN])
def test_means_are_drawn_as_they_are_described(results: list[sb.Result], quantity: str) -> None:
    """The two buffers are the seeds of a point, so that there are intervals."""
    seeds = [retold(run, load=run.settings["load"], scheme=run.label) for run in results]
    lines = runs.lines(seeds, over="load")
    chart = comparison_chart.chart(lines)
    figure = Plots(seeds).fct(value="us" if quantity == comparison.FCT else "slowdown")
    described = comparison.over_load(lines, quantity)
    wide: list[bool] = []
    for axes, each, heading in zip(figure.axes, described, comparison.PANELS.values(), strict=True):
        named = heading.replace("Small flows", "Small flows (up to 100 KB)")
        assert axes.get_title() == named.replace("Large flows", "Large flows (over 10 MB)")
        assert axes.get_ylabel().startswith(quantity)
        assert axes.get_xlabel() == comparison.LOAD
        has = [curve for curve in each if curve.points]
        assert list(bars(axes)) == [curve.name for curve in has]
        for curve in has:
            xs = [point.x for point in curve.points]
            assert xs == [40, 80]
            shown = bars(axes)[curve.name]
            assert shown[:2] == (xs, curve.estimates)
            assert shown[2] == [pytest.approx(end) for end in ends(curve)]
            (trace,) = of(chart.traces, curve.name, figure=f"{heading}: {quantity}")
            assert (trace["x"], trace["y"]) == (xs, curve.estimates)
            below, above = curve.reach
            wide.append(not max(below) > 0 < max(above))
            assert (trace["error_y"]["arrayminus"], trace["error_y"]["array"]) == (below, above)
    assert set(wide) == {False, True}, "means have intervals, those of a percentile say nothing"
    assert any(curve.points for curve in described[1])
    assert not any(curve.points for curve in described[3]), "30 KB are not large"


def test_ratios_are_drawn_as_they_are_described(pair: list[sb.Result]) -> None:
    found = comparison.relative(runs.outcomes(runs.lines(pair)))
    assert (found.base, found.pairs) == ("per-queue", 1)
    for axes, each in zip(Plots(pair).fct().axes, found.panels, strict=True):
        assert [curve.name for curve in each] in (["per-queue", "MQ-ECN"], ["per-queue"])
        for curve in each:
            if curve.points:
                assert bars(axes)[curve.name][:2] == ([80], curve.estimates)
        assert each[0].estimates == [1.0] * len(each[0].points)
    ours, theirs = (run.summary()["fct"]["all"]["mean_us"] for run in reversed(pair))
    assert found.panels[0][1].estimates == [pytest.approx(ours / theirs)]


def test_ratios_of_too_few_seeds_are_drawn_without_an_interval(pair: list[sb.Result]) -> None:
    def times(of: sb.Result, by: float, seed: int) -> sb.Result:
        summary = copy.deepcopy(of.summary()) | {"seed": seed}
        for each in summary["fct"].values():
            each["mean_us"] = each["p99_us"] = by
        settings = {"scheme": of.label, "load": 0.8, "run.seed": seed}
        outcome = replace(of.outcome, settings=settings, summary=summary)
        return sb.Result(outcome, of.scenario, of._read)

    # Of 1.1 and 280 times the first scheme's FCT nothing follows, as the table says.
    base, other = pair
    seeds = [times(base, 1.0, 1), times(base, 1.0, 2), times(other, 1.1, 1), times(other, 280.0, 2)]
    found = comparison.relative(runs.outcomes(runs.lines(seeds)))
    (point,) = found.panels[0][1].points
    assert point.untold
    assert (point.value.low, point.value.high) == (None, None)
    (change, *_) = sb.compare(seeds[2:], seeds[:2]).changes.values()
    assert str(change) == "not enough seeds (2)"
    html = sb.compare(seeds[2:], seeds[:2])._repr_html_()
    ends = re.findall(r'x1="([0-9.]+)" y1="6" x2="([0-9.]+)"', html)
    assert len(ends) == 4
    assert all(low == high for low, high in ends)


def test_curves_over_any_setting_are_drawn_as_described(results: list[sb.Result]) -> None:
    asked = curves.Asked(("fct.all.mean_us", "fct.n"), x="switch.buffer", panel="load")
    axis, panels = curves.panels(results, asked)
    assert (axis.title, axis.places.xs) == ("buffer (KB)", (40.0, 300.0))
    drawn_axes = curve_plot.figure(results, asked, "").axes
    for axes, panel in zip(drawn_axes, panels, strict=True):
        assert axes.get_title() == panel.heading
        assert (axes.get_xlabel(), axes.get_ylabel()) == (axis.title, panel.title)
        assert [curve.name for curve in panel.curves] == ["per-queue", "MQ-ECN"]
        for curve in panel.curves:
            shown = bars(axes)[curve.name]
            assert shown[:2] == ([40.0, 300.0], curve.estimates)
    named = curves.Asked(("fct.all.mean_us",), x="scheme", colour="load")
    axis, panels = curves.panels(results, named)
    assert [point.x for point in panels[0].curves[0].points] == ["per-queue", "MQ-ECN"]
    (axes,) = curve_plot.figure(results, named, "").axes
    assert bars(axes)[panels[0].curves[0].name][0] == [0, 1]


def test_the_load_on_the_axis_is_the_one_that_was_swept(pair: list[sb.Result]) -> None:
    """Of several sources the first need not be the one whose load differs."""
    swept = [retold(pair[0], **{"traffic.1.load": load}) for load in (0.2, 0.7)]
    for line in runs.lines(swept, over=runs.load_key(swept)):
        assert [runs.load(run) for run in line.runs] == [0.8, 0.8]
        assert [100 * runs.offered(line, run) for run in line.runs] == [20, 70]
    (axes, *_) = Plots(swept).fct(value="us").axes
    assert bars(axes)["per-queue"][0] == [20, 70]
    lines = runs.lines(swept, over="traffic.1.load")
    assert comparison_chart.chart(lines).traces[0]["x"] == [20, 70]


def retold(run: sb.Result, **settings: Any) -> sb.Result:
    """The run as one of a sweep over these settings."""
    return sb.Result(replace(run.outcome, settings=settings), run.scenario, run._read)


def test_switches_with_fewer_ports_have_gaps() -> None:
    grid = maps.Grid("leaf", ("a", "b"), {"leaf0": [1.0, 2.0], "leaf1": [3.0]})
    assert grid.rows == [[1.0, 2.0], [3.0, None]]
    assert grid.described == "mean 2.0 %, busiest 3.0 %"


def test_a_setting_that_is_a_list_has_a_place_on_the_axis(pair: list[sb.Result]) -> None:
    told = retold(pair[0], **{"switch.quantum": ["1500B", "3000B"]})
    (line,) = runs.lines([told, told], over="switch.quantum")
    ((place, found),) = line.by_place
    assert (place, len(found)) == (("1500B", "3000B"), 2)
    assert queue_charts.charts([line])[0].traces


BESIDE = """
title = "Two transports, sampled"
[topology]
kind = "star"
hosts = 3
rate = "1Gbps"
delay = "100us"
[switch]
buffer = "1MB"
[scheme]
name = "per-queue"
params = { threshold = "30KB" }
[host]
profile = "ideal"
[transport]
kind = "dctcp"
[[traffic]]
kind = "long-lived"
from = "0"
to = 2
[[traffic]]
kind = "long-lived"
from = "1"
to = 2
transport = "reno"
[measure]
flow_series = { every = "1ms" }
[run]
until = "20ms"
"""


def test_flows_are_drawn_as_they_were_sampled(tmp_path: Path) -> None:
    file = tmp_path / "beside.toml"
    file.write_text(BESIDE)
    run = sb.Scenario.from_file(file).run()
    table = run.table("flow_series")
    figure = Plots([run]).flow(quantities=["window", "alpha"], flows=[0, 1])
    windows, alphas = figure.axes
    for row, (name, line) in enumerate(zip(("dctcp", "reno"), windows.get_lines(), strict=True)):
        own = table.filter(pl.col("row") == row)
        assert line.get_label() == f"flow {row}, {name}"
        assert np.array_equal(line.get_xdata(), own["time_s"] * 1e3)
        assert np.array_equal(line.get_ydata(), own["cwnd_packets"])
    thresholds, pacing = Plots([run]).flow(quantities=["threshold", "pacing"], flows=[0]).axes
    (line,) = thresholds.get_lines()
    own = table.filter(pl.col("row") == 0)
    assert np.array_equal(line.get_ydata(), own["ssthresh_packets"])
    # Neither flow is paced.
    assert [text.get_text() for text in pacing.texts] == ["no such samples"]
    # Reno has no α.
    assert [line.get_label() for line in alphas.get_lines()] == ["flow 0, dctcp"]
    with pytest.raises(sb.Mistake, match=r"--flow 7: was not sampled in .*; flows are 0, 1"):
        Plots([run]).flow(flows=[7])
    with pytest.raises(sb.Mistake, match=r"has no RTT samples; run it with .* without `every`"):
        Plots([run]).flow(quantities=["sample"])


def test_round_trips_are_drawn_where_each_change_has_a_row(tmp_path: Path) -> None:
    file = tmp_path / "changes.toml"
    file.write_text(
        BESIDE.replace('flow_series = { every = "1ms" }', "flow_series = { rows = [0] }")
    )
    run = sb.Scenario.from_file(file).run()
    own = run.table("flow_series")
    assert set(own["row"]) == {0}
    (panel,) = Plots([run]).flow(quantities=["sample"]).axes
    (line,) = panel.get_lines()
    sampled = own.drop_nulls("rtt_s")
    assert len(sampled) > 100
    assert np.array_equal(line.get_xdata(), sampled["time_s"] * 1e3)
    assert np.array_equal(line.get_ydata(), sampled["rtt_s"] * 1e6)


def test_the_rate_of_flows_is_their_transports_goodput(tmp_path: Path) -> None:
    file = tmp_path / "beside.toml"
    file.write_text(BESIDE.replace("[measure]", '[measure]\nwarmup = "5ms"'))
    run = sb.Scenario.from_file(file).run()
    for each in run.summary()["by_transport"]:
        rate = Metric.read(f"rate[transport={each['transport']}].mean_mbps").value(run)
        assert rate == pytest.approx(each["goodput_bps"] / 1e6, rel=1e-9)
