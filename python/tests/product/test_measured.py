"""Any figure over any setting: what a metric's name means, by hand; which runs are paired; what a
curve, its table and its data show."""

import csv
import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SWEEP

import switchbed as sb
from switchbed import stats
from switchbed.cli import cli
from switchbed.measured import Metric
from switchbed.plots import curve, output, style
from switchbed.series import curves

SAMPLED = 'series_every = "10us"\ngoodput_every = "100us"'
INCAST = """
title = "Two rounds of an incast beside other flows"
[run]
until = "20ms"
[topology]
kind = "star"
hosts = 5
rate = "10Gbps"
delay = "5us"
[switch]
buffer = "300KB"
[scheme]
name = "per-queue"
params = { threshold = "20pkt" }
[host]
profile = "switchbed-0.1"
[transport]
kind = "dctcp"
[[traffic]]
kind = "poisson"
load = 0.1
flows = 20
sizes = "30KB"
[[traffic]]
kind = "incast"
from = "0-3"
to = 4
sizes = "64KB"
rounds = 2
every = "3ms"
start = "1ms"
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[sb.Result]:
    """Two schemes, two loads, two seeds, with series and goodput over time."""
    path = tmp_path_factory.mktemp("measured") / "scenario.toml"
    path.write_text(SWEEP.replace('series_every = "100us"', SAMPLED))
    return sb.Scenario.from_file(path).run_all()


def value(
    run: sb.Result, text: str, window: tuple[float | None, float | None] = (None, None)
) -> float:
    found = Metric.read(text).value(run, window)
    assert found is not None
    return found


def test_figures_of_the_summary_go_by_their_names(results: list[sb.Result]) -> None:
    run = results[0]
    assert value(run, "fct.all.mean_us") == run.summary()["fct"]["all"]["mean_us"]
    assert value(run, "bottleneck.max_bytes") == run.summary()["bottleneck"]["max_bytes"]


def test_figures_of_flows_are_those_of_the_flows_that_fit(results: list[sb.Result]) -> None:
    run = results[0]
    assert value(run, "fct.p99_us") == pytest.approx(run.summary()["fct"]["all"]["p99_us"])
    assert value(run, "slowdown.mean") == pytest.approx(run.summary()["slowdown"]["all"]["mean"])
    few = run.flows.filter(pl.col("class") == 0, pl.col("src") != 2)["fct_s"]
    mean = few.mean()
    assert isinstance(mean, float)
    assert value(run, "fct[class=0, src!=2].mean_ms") == pytest.approx(1e3 * mean)
    assert value(run, "fct[class=0,src!=2].n") == len(few)
    assert value(run, "fct.small.p99.9_us") == pytest.approx(
        1e6 * stats.percentile(run.flows["fct_s"].to_list(), 0.999)
    )
    assert value(run, "fct[size<=30KB].n") == len(run.flows)
    assert value(run, "fct[size>30KB].n") == 0
    assert Metric.read("fct[size>30KB].mean_us").value(run) is None


def test_a_window_bounds_starts_and_samples(results: list[sb.Result]) -> None:
    run = results[0]
    early = run.flows.filter(pl.col("start_s") < 1e-3)
    late = run.flows.filter(pl.col("start_s") >= 1e-3)
    assert 0 < len(early) < len(run.flows)
    assert value(run, "fct.n", (None, 1e-3)) == len(early)
    assert value(run, "fct.n", (1e-3, None)) == len(late)
    sampled = run.series.filter(pl.col("time_s") >= 1e-3).group_by("time_s", "port")
    most = max(sampled.agg(pl.col("bytes").sum())["bytes"])
    assert value(run, "queue.max_bytes", (1e-3, None)) == most
    assert value(run, "queue.max_pkt", (1e-3, None)) == pytest.approx(most / 1500)
    both = run.goodput.group_by("time_s").agg(pl.col("goodput_bps").sum())["goodput_bps"]
    assert value(run, "goodput.max_gbps") == pytest.approx(max(both) / 1e9)
    with pytest.raises(sb.Mistake, match="--from and --until are for figures of tables"):
        value(run, "fct.all.mean_us", (1e-3, None))


def test_a_query_takes_as_long_as_its_slowest_flow() -> None:
    run = sb.Scenario(tomllib.loads(INCAST)).run()
    rounds = run.flows.filter(pl.col("dst") == 4, pl.col("size_bytes") == 64_000)
    slowest = [max(rounds.filter(pl.col("start_s") == start)["fct_s"]) for start in (1e-3, 4e-3)]
    assert len(rounds) == 8
    assert value(run, "query.n") == 2
    assert value(run, "query.max_us") == pytest.approx(1e6 * max(slowest))
    assert value(run, "query[traffic=1].min_us") == pytest.approx(1e6 * min(slowest))
    assert value(run, "query.n", (2e-3, None)) == 1
    of_incast = run.summary()["by_traffic"][1]
    assert of_incast["kind"] == "incast"
    assert of_incast["query"]["n"] == 2
    assert of_incast["query"]["mean_us"] == pytest.approx(value(run, "query.mean_us"))
    assert value(run, "by_traffic.1.fct.p999_us") == value(run, "fct[traffic=1].p99.9_us")
    assert value(run, "fct[traffic=0].n") + 8 == value(run, "fct.n")


def test_a_request_with_its_answer_is_a_query() -> None:
    asks = {"kind": "request-response", "load": 0.3, "flows": 20, "sizes": "20KB", "to": [0]}
    run = sb.Scenario(tomllib.loads(INCAST)).with_({"traffic": [asks]}).run()
    assert value(run, "query.n") == 20
    assert value(run, "query.p95_us") == value(run, "fct.p95_us")
    (of_it,) = run.summary()["by_traffic"]
    assert of_it["query"] == of_it["fct"]


def test_utilisation_is_of_switches_ports(results: list[sb.Result]) -> None:
    ports = results[0].counters.filter(pl.col("port").str.contains(":"))
    assert value(results[0], "utilisation.max") == max(ports["utilisation"])
    assert ports["to"].to_list() == [f"host{n}" for n in range(len(ports))]
    one = value(results[0], "utilisation[to=host1].max_pct")
    assert one == pytest.approx(100 * ports["utilisation"][1])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "fct[clas=1].mean_us",
            "'clas=1' chooses nothing: fct has traffic, transport, hosts, class, src, dst, size",
        ),
        ("fct[class=x].mean_us", "class is 'x'"),
        ("fct[size<=x].mean_us", "size is 'x'"),
        ("fct.mean_ns", "fct is in no ns; units are us, ms, s"),
        ("query.mean_us", "has neither incast nor request-response"),
        ("fct.tiny.mean_us", "a summary has no tiny there"),
    ],
)
def test_what_names_nothing_is_said(results: list[sb.Result], text: str, why: str) -> None:
    with pytest.raises(sb.Mistake) as found:
        value(results[0], text)
    assert why in str(found.value)


def test_words_of_a_metric() -> None:
    metric = Metric.read("fct[class=1,size<=100KB].p99.9_us")
    assert (metric.quantity, metric.shown_in) == ("FCT", "µs")
    assert metric.detail == "99.9th percentile, class 1, size <= 100KB"
    kept = Metric.read("fct.small.p99_us")
    assert (kept.quantity, kept.detail, kept.shown_in) == (
        "FCT",
        "99th percentile, small flows",
        "µs",
    )
    assert Metric.read("bottleneck.mean_bytes").quantity == "bottleneck mean"


def test_any_two_settings_are_paired_by_seed(results: list[sb.Result]) -> None:
    asked = curves.Asked(("fct.all.mean_us",), against="load=0.8")
    rows = curves.table(results, asked)
    for row in rows:
        of = {
            run.seed: run.summary()["fct"]["all"]["mean_us"]
            for run in results
            if (run.label, run.settings["load"]) == (row["scheme"], row["load"])
        }
        base = {
            run.seed: run.summary()["fct"]["all"]["mean_us"]
            for run in results
            if (run.label, run.settings["load"]) == (row["scheme"], 0.8)
        }
        expected = stats.paired([of[s] for s in sorted(of)], [base[s] for s in sorted(of)])
        assert row["estimate"] == pytest.approx(expected.ratio.estimate)
        assert row["seeds"] == 2
        in_words = f"{expected.words} ({expected.bounds})" if expected.bounds else expected.words
        assert row["change"] == ("–" if row["load"] == 0.8 else in_words)
    assert {row["load"] for row in rows} == {0.4, 0.8}
    with pytest.raises(sb.Mistake, match=r"no run has it; load is 0\.4, 0\.8"):
        curves.table(results, curves.Asked(("fct.all.mean_us",), against="load=3"))
    with pytest.raises(sb.Mistake, match="was not swept in these runs; there is scheme, load"):
        curves.table(results, curves.Asked(("fct.all.mean_us",), against="seed=1"))


def test_a_ratio_leaves_out_no_seed_that_has_nought(results: list[sb.Result]) -> None:
    drops = {("per-queue", 1): 292, ("per-queue", 2): 0, ("MQ-ECN", 1): 675, ("MQ-ECN", 2): 704}
    given = []
    for run in results:
        if run.settings["load"] == 0.4:
            summary = run.summary() | {"drops": drops[run.label, run.seed]}
            given.append(run.with_flows(replace(run.outcome, summary=summary), run.flows, run.over))
    rows = curves.table(given, curves.Asked(("drops",), against="scheme=per-queue"))
    (ours,) = (row for row in rows if row["scheme"] == "MQ-ECN")
    assert (ours["estimate"], ours["low"], ours["high"], ours["seeds"]) == (None, None, None, 2)
    assert ours["change"] == "no ratio: 0 in 1 of 2 pairs; 1379 to 292 in all"


def test_series_are_looked_at_from_the_warm_up_on(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SINGLE_SERIES)
    run = sb.Scenario.from_file(tmp_path / "s.toml").run()
    warm = [row for row in run.goodput.rows(named=True) if row["time_s"] > 2e-3]
    mean = sum(row["goodput_bps"] for row in warm) / len({row["time_s"] for row in warm})
    assert Metric.read("goodput.mean_bps").value(run) == pytest.approx(mean)
    assert mean == pytest.approx(run.summary()["goodput_bps"], rel=1e-3)
    whole = Metric.read("goodput.mean_bps").value(run, (0.0, None))
    assert whole is not None
    assert whole < 0.9 * mean, "the flows begin at 1 ms"
    lengths = run.series.filter(pl.col("time_s") >= 2e-3, pl.col("port") == "switch:2")
    least = lengths.group_by("time_s").agg(pl.col("bytes").sum())["bytes"].cast(pl.Float64).min()
    assert Metric.read("queue[port=switch:2].min").value(run) == least


SINGLE_SERIES = """
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "5us"
[switch]
buffer = "300KB"
[scheme]
name = "per-queue"
params.threshold = "30KB"
[host]
profile = "linux-6.x"
[transport]
kind = "dctcp"
[[traffic]]
kind = "long-lived"
from = [0, 1]
to = 2
start = "1ms"
[measure]
warmup = "2ms"
series_every = "20us"
goodput_every = "100us"
[run]
until = "6ms"
"""


def test_axes_colours_and_panels_are_what_was_asked(results: list[sb.Result]) -> None:
    plots = sb.Plots(results)
    usual = plots.curve().axes
    assert [axes.get_xlabel() for axes in usual] == ["load (%)"]
    assert usual[0].get_legend_handles_labels()[1] == ["per-queue", "MQ-ECN"]
    turned = plots.curve(x="scheme", colour="load", metric=["fct.n", "slowdown.p99"]).axes
    assert [axes.get_title() for axes in turned] == ["number", "99th percentile"]
    assert turned[0].get_legend_handles_labels()[1] == ["load 0.4", "load 0.8"]
    panels = plots.curve(panel="scheme").axes
    assert [axes.get_title().partition(",")[0] for axes in panels] == ["per-queue", "MQ-ECN"]
    with pytest.raises(sb.Mistake, match="--x delay: was not swept in these runs; there is scheme"):
        plots.curve(x="delay")


def test_data_beside_a_figure_are_its_table(results: list[sb.Result], tmp_path: Path) -> None:
    asked = curves.Asked(("fct.all.mean_us",))
    output.data(curve.figure(results, asked, ""), tmp_path / "drawn.csv")
    with (tmp_path / "drawn.csv").open() as file:
        drawn = {(row["line"], float(row["x"])): row for row in csv.DictReader(file)}
    rows = curves.table(results, asked)
    assert len(drawn) == len(rows) == 4
    for row in rows:
        point = drawn[row["scheme"], 100 * row["load"]]
        # Panels with long times are in milliseconds, as their labels say.
        unit_us = 1000.0 if point["y_label"].endswith("(ms)") else 1.0
        assert float(point["y"]) * unit_us == pytest.approx(row["estimate"])
        for bound in ("low", "high"):
            if row[bound] is None:
                assert point[bound] == "", "too wide to say anything"
            else:
                assert float(point[bound]) * unit_us == pytest.approx(row[bound])
    assert any(row["low"] is not None for row in rows)


def test_rows_have_the_same_columns_and_intervals_that_can_miss_are_counted(
    results: list[sb.Result],
) -> None:
    metrics = ("fct.all.mean_us", "slowdown.all.mean")
    rows = curves.table(results, curves.Asked(metrics, against="scheme=per-queue"))
    assert len({tuple(row) for row in rows}) == 1
    assert {row["over"] for row in rows if row["metric"] == metrics[0]} == {None}
    assert {row["over"] for row in rows if row["metric"] == metrics[1]} == {"ideal"}
    # A scheme against itself is 1 whatever the seeds.
    own = [row for row in rows if row["scheme"] == "per-queue"]
    assert {(row["low"], row["high"]) for row in own} == {(1, 1)}
    counted = [row for row in rows if row not in own and row["change"] != stats.FEW]
    looked = [note for note in curves.notes(rows) if "intervals" in note]
    assert looked == ([stats.looked(len(counted))] if len(counted) > 1 else [])


def test_rows_without_an_interval_are_explained() -> None:
    def told(**row: Any) -> list[str]:
        rows = [{"metric": "timeouts", "estimate": 1.0, "low": None, "high": None} | row]
        return [note for note in curves.notes(rows) if stats.FEW in note]

    assert told(seeds=2) == [f"– in low and high of several seeds: {stats.FEW}"]
    assert told(seeds=1) == told(seeds=2, low=0.5, high=2.0) == []
    row = {"metric": "timeouts", "estimate": 1.0, "low": None, "high": None, "seeds": 1}
    assert [note[:29] for note in curves.notes([row])] == ["– in low and high of one seed"]
    (of_itself,) = curves.notes([row | {"low": 1, "high": 1, "change": "–"}])
    assert of_itself.startswith("– in change: ")
    # A change says so itself.
    assert told(seeds=2, change=stats.FEW) == []


def test_a_queue_over_time_has_room_in_a_column() -> None:
    with sb.look(width="3.3in"):
        narrow, _ = style.over_time(1, "", "time (ms)", "queue (KB)")
        three, _ = style.over_time(3, "", "time (ms)", "queue (KB)")
    assert narrow.get_figheight() == pytest.approx(2.4)
    assert three.get_figheight() == pytest.approx(4.4)
    with sb.look(width="3.3in", height="2in"):
        assert style.over_time(1, "", "", "")[0].get_figheight() == 2


def test_a_figure_is_as_wide_as_a_column(results: list[sb.Result], tmp_path: Path) -> None:
    plots = sb.Plots(results)
    with sb.look(width="84mm"):
        narrow = plots.fct()
    assert narrow.get_figwidth() == pytest.approx(84 / 25.4)
    places = [axes.get_subplotspec() for axes in narrow.axes]
    assert {place.colspan.start for place in places if place is not None} == {0}
    assert narrow.axes[0].title.get_fontsize() == 8
    assert plots.fct().get_figwidth() == 9
    for width in ("3", "3em", "400in", "-1in"):
        with pytest.raises(sb.Mistake, match="must be a length"), sb.look(width=width):
            pass
    with pytest.raises(sb.Mistake, match="--style nobody: matplotlib"), sb.look(style="nobody"):
        pass


def test_axes_are_logarithmic_on_demand(results: list[sb.Result]) -> None:
    made = sb.Plots(results).curve()
    output.logarithmic(made, "xy")
    assert {axes.get_xscale() for axes in made.axes} == {"log"}
    assert {axes.get_yscale() for axes in made.axes} == {"log"}


def test_a_complement_is_the_share_that_took_longer(results: list[sb.Result]) -> None:
    (run,) = (r for r in results if (r.label, r.seed, r.settings["load"]) == ("MQ-ECN", 1, 0.8))
    axes = sb.Plots([run]).cdf(complement=True).axes[0]
    points: Any = axes.get_lines()[0].get_xydata()
    for time, share in points[::50]:
        longer = (1e3 * run.flows["fct_s"] > time).sum()
        assert math.isclose(share, longer / len(run.flows))
    assert axes.get_yscale() == "log"


def test_the_commands(
    results: list[sb.Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(SWEEP)
    swept = sb.sweep(tmp_path / "s.toml", tmp_path / "store", name="s")
    table = str(tmp_path / "store/sweeps/s.parquet")
    out = tmp_path / "c.svg"
    words = ["plot", "curve", table, "--out", str(out), "--data", "--width", "3.3in", "--log", "y"]
    cli.main([*words, "--from", "1ms", "--metric", "fct.mean_us"], standalone_mode=False)
    assert "load" in out.read_text()
    drawn = pl.read_csv(out.with_suffix(".csv"))
    assert drawn.columns == list(output.COLUMNS)
    assert drawn.columns[-3:] == ["seeds", "x_label", "y_label"]
    assert set(drawn["seeds"]) == {2}
    assert set(drawn["x_label"]) == {"load (%)"}
    assert set(drawn["y_label"]) == {"FCT (ms)"}
    by_name = [*words[:5], "--data", "--force", "--x", "scheme", "--metric", "fct.mean_us"]
    cli.main(by_name, standalone_mode=False)
    assert set(pl.read_csv(out.with_suffix(".csv"))["x"]) == {"per-queue", "MQ-ECN"}
    capsys.readouterr()
    cli.main(["table", table, "--against", "scheme=per-queue", "--csv"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "scheme,load,metric,against,estimate,low,high,seeds,change"
    assert len(lines) == 1 + len(swept.entries) // 2
    assert all(",scheme=per-queue," in line for line in lines[1:])
