"""Collectives: the tables of jobs and operations, their prints, critical paths, traces and figures,
metrics of comparisons, and schedules in GOAL's text."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Program
from drawn import points

import switchbed as sb
from switchbed import comparing, printing, trace
from switchbed.measured import Metric
from switchbed.report import page
from switchbed.series import comparison, operations, runs

FILE = """
title = "Two all-reduces beside each other"
topology = { kind = "star", hosts = 6, rate = "10Gbps", delay = "1us" }
switch.buffer = "1MB"
scheme.name = "none"
[transport]
kind = "dctcp"
[[traffic]]
kind = "collective"
operation = "all-reduce"
ranks = "0-3"
bytes = "60KB"
repetitions = 2
warmup_repetitions = 1
[[traffic]]
kind = "collective"
operation = "broadcast"
ranks = [5, 4]
bytes = "60KB"
[compare]
traffic.0.algorithm = ["ring", "tree"]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[sb.Result]:
    file = tmp_path_factory.mktemp("collectives") / "jobs.toml"
    file.write_text(FILE)
    return list(sb.Scenario.from_file(file).run_all())


def test_jobs_have_their_bandwidth_as_nccl_tests_counts_it(results: list[sb.Result]) -> None:
    for result, algorithm in zip(results, ["ring", "tree"], strict=True):
        reduce, broadcast = result.table("jobs").iter_rows(named=True)
        assert (reduce["algorithm"], broadcast["algorithm"]) == (algorithm, "tree")
        assert (reduce["ranks"], reduce["repetitions"], reduce["done"]) == (4, 2, True)
        took = (reduce["end_s"] - reduce["start_s"]) / 2
        assert reduce["time_s"] == pytest.approx(took)
        assert reduce["algbw_bps"] == pytest.approx(8 * 60_000 / took)
        assert reduce["busbw_bps"] == pytest.approx(reduce["algbw_bps"] * 2 * 3 / 4)
        assert broadcast["busbw_bps"] == broadcast["algbw_bps"]
        assert reduce["slowdown"] == pytest.approx(reduce["time_s"] / reduce["ideal_s"])
        assert broadcast["slowdown"] >= 1
        [first, second] = result.summary()["jobs"]
        assert first["time_us"] == pytest.approx(1e6 * took)
        assert second["operation"] == "broadcast"


def test_metrics_are_of_jobs(results: list[sb.Result]) -> None:
    ring = results[0]
    jobs = ring.table("jobs")
    assert Metric.read("job[traffic=1].mean_us").value(ring) == 1e6 * jobs["time_s"][1]
    assert Metric.read("busbw[operation=all-reduce].max_gbps").value(ring) == (
        jobs["busbw_bps"][0] / 1e9
    )
    assert Metric.read("algbw.n").value(ring) == 2
    with pytest.raises(sb.Mistake, match="has no collective among its traffic"):
        Metric.read("job.mean_us").value(
            next(iter(sb.Scenario.from_file("@incast").with_({"traffic.rounds": 1}).run_all()))
        )


def test_jobs_are_compared_seed_by_seed(results: list[sb.Result]) -> None:
    ring, tree = results
    times = [[job["time_us"] for job in run.summary()["jobs"]] for run in (ring, tree)]
    found = sb.compare(tree, ring)
    for place, (below, above) in enumerate(zip(*times, strict=True)):
        change = found[f"job of traffic {place}", "time_us"]
        assert change.ratio.estimate == pytest.approx(above / below)
    assert "job of traffic 0" in found.frame["class"].to_list()
    text = page.page(results)
    assert "<li>algorithm tree against ring, job of traffic 0 time: " in text
    assert "FCT of" not in text
    assert '"figure":"Job of traffic 0: time (µs)"' in text


def test_a_run_prints_a_line_for_each(results: list[sb.Result]) -> None:
    lines = printing.headline(results[0].summary())
    [first, second] = [line for line in lines if "busbw" in line]
    assert first.startswith("all-reduce (ring, 4 ranks): ")
    assert second.startswith("broadcast (tree, 2 ranks): ")


def test_jobs_are_written_and_read(
    switchbed: Program, tmp_path: Path, results: list[sb.Result]
) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(FILE.split("[compare]", maxsplit=1)[0])
    out = tmp_path / "out"
    switchbed("run", file, "--out", out, "--json", tmp_path / "summary.json")
    assert (out / "jobs.parquet").exists()
    assert sb.Result.load(out).table("jobs").equals(results[0].table("jobs"))
    assert json.loads((tmp_path / "summary.json").read_text())["jobs"][0]["ranks"] == 4


def test_a_schedule_without_bandwidths_is_printed(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "one.goal").write_text(
        "num_ranks 2\nrank 0 {\na: send 9000b to 1\n}\nrank 1 {\nb: recv 9000b from 0\n}\n"
    )
    head = FILE.split("[[traffic]]", maxsplit=1)[0]
    goal = '[[traffic]]\nkind = "goal"\nfile = "one.goal"\n'
    (tmp_path / "goal.toml").write_text(head + goal)
    done = switchbed("run", "goal.toml")
    assert "goal (2 ranks): " in done.stdout
    assert "busbw" not in done.stdout
    several = switchbed("run", "goal.toml", "--set", "compare.seed=[1, 2]")
    assert "internal error" not in several.stderr


def test_the_check_says_what_a_repetition_puts_on_links(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text(FILE)
    (checked,) = json.loads(switchbed("scenario", "check", "jobs.toml", "--json").stdout)
    ring, broadcast = checked["repetitions"]
    # A tree of four ranks puts the whole on the root's links twice, more than the ring's 2 x 3/4.
    assert (ring["traffic"], broadcast["traffic"], ring["kind"]) == (0, 1, "collective")
    assert ring["links"][0]["bytes"] == 120_000
    assert broadcast["links"][0] == {
        "port": "host5",
        "bytes": 60_000,
        "time_s": 48e-6,
        "fabric": False,
    }
    (tmp_path / "ring.toml").write_text(FILE.replace('["ring", "tree"]', '["ring"]'))
    said = switchbed("scenario", "check", "ring.toml").stderr
    assert "a repetition of traffic 0 (collective) puts on its busiest links" in said
    assert "host0 90 KB (72 us)" in said


HEAD = """
topology = { kind = "star", hosts = 6, rate = "10Gbps", delay = "1us" }
switch.buffer = "1MB"
scheme.name = "none"
transport.kind = "dctcp"
"""
RING = '[[traffic]]\nkind = "collective"\noperation = "all-reduce"\nranks = "0-3"\nbytes = "60KB"\n'


def test_a_collective_is_shown_as_goal_and_runs_from_that(
    switchbed: Program, tmp_path: Path
) -> None:
    ring, goal = tmp_path / "ring.toml", tmp_path / "goal.toml"
    ring.write_text(HEAD + RING)
    text = switchbed("traffic", "show", ring).stdout
    assert text.startswith("num_ranks 4\nrank 0 {\no0: send 15000b to 1 tag ")
    (tmp_path / "ring.goal").write_text(text)
    goal.write_text(f'{HEAD}[[traffic]]\nkind = "goal"\nfile = "ring.goal"\n')
    [one], [other] = (sb.Scenario.from_file(file).run_all() for file in (ring, goal))
    assert len(one.flows) == len(other.flows) == 24
    times = (run.table("jobs")["time_s"][0] for run in (one, other))
    assert next(times) == next(times)


def test_what_starts_by_time_is_refused(switchbed: Program, tmp_path: Path) -> None:
    done = switchbed("traffic", "show", "@incast", code=2)
    assert "traffic has no operations that wait: its flows start by time" in done.stderr
    ring = tmp_path / "ring.toml"
    ring.write_text(HEAD + RING)
    done = switchbed("traffic", "show", ring, "--entry", "7", code=2)
    assert "--entry 7: " in done.stderr
    assert "has 1 [[traffic]], numbered from 0" in done.stderr


def test_waits_for_some_of_several_are_refused(switchbed: Program, tmp_path: Path) -> None:
    # A multishot starts flow 3 at the first of two flows that end, which GOAL cannot say.
    (tmp_path / "some.cm").write_text(
        "Nodes 4\nConnections 4\nTriggers 1\n"
        "0->1 id 1 start 0 size 9000 send_done_trigger 1\n"
        "0->1 id 2 start 0 size 9000 send_done_trigger 1\n"
        "0->2 id 3 trigger 1 size 9000\n"
        "0->3 id 4 trigger 1 size 9000\n"
        "trigger id 1 multishot\n"
    )
    some = tmp_path / "some.toml"
    some.write_text(f'{HEAD}[[traffic]]\nkind = "list"\nfile = "some.cm"\n')
    done = switchbed("traffic", "show", some, code=2)
    assert "traffic.0: operation " in done.stderr
    assert "waits for 1 of 2 others, and GOAL's text only has waits for all" in done.stderr


CHAIN = """
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
switch.buffer = "1MB"
scheme.name = "per-queue"
scheme.params.threshold = "100KB"
transport.kind = "roce"
host.delay = "0us"
measure.operations = true
measure.series_every = "500ns"
[[traffic]]
kind = "collective"
operation = "broadcast"
algorithm = "chain"
ranks = "0-2"
bytes = "100KB"
"""
SLOW = """
[[traffic]]
kind = "list"
file = "beside.csv"
"""


@pytest.fixture
def chain(switchbed: Program, tmp_path: Path) -> Path:
    (tmp_path / "chain.toml").write_text(CHAIN)
    (tmp_path / "beside.toml").write_text(CHAIN + SLOW)
    (tmp_path / "beside.csv").write_text("start_s,src,dst,size_bytes\n0.000008,3,2,100000\n")
    for name in ("chain", "beside"):
        switchbed("run", tmp_path / f"{name}.toml", "--out", tmp_path / name)
    return tmp_path


def test_a_chain_s_path_is_each_of_its_messages(chain: Path) -> None:
    run = sb.Result.load(chain / "chain")
    path = operations.critical(run)
    # Rank 2's message is there before rank 1 knows of that: the last to end is rank 1's send.
    assert [(step.rank, step.kind) for step in path.steps] == [(1, "receive"), (1, "send")]
    assert path.took_s == pytest.approx(run.table("jobs")["time_s"][0])
    assert path.shares["empty network"] == pytest.approx(1, abs=1e-3)
    assert sum(path.shares.values()) == pytest.approx(1)


def test_what_is_late_is_queueing_behind_others(chain: Path) -> None:
    # The flow beside the second message shares the line to host 2: 8 us of both are 8 us late.
    path = operations.critical(sb.Result.load(chain / "beside"))
    assert path.shares["queueing"] > 0.1
    assert path.shares["calculation"] == path.shares["pause"] == 0
    assert [step.row for step in path.slowest(1)] == [1]


def test_what_is_late_has_a_port_and_a_queue(switchbed: Program, chain: Path) -> None:
    watched = (CHAIN + SLOW).replace("[[traffic]]", 'measure.waits.every = "2us"\n[[traffic]]', 1)
    (chain / "watched.toml").write_text(watched)
    switchbed("run", chain / "watched.toml", "--out", chain / "watched")
    run = sb.Result.load(chain / "watched")
    path = operations.critical(run)
    assert path.took_s == operations.critical(sb.Result.load(chain / "beside")).took_s
    # The message waits behind the other flow at the port to host 2, which both share.
    step = path.slowest(1)[0]
    assert [place[:2] for place in step.places] == [("switch:2", 0)]
    late = step.parts["queueing"] + step.parts["pause"]
    assert sum(seconds for *_, seconds in step.places) == pytest.approx(late)
    assert sum(share for *_, share in path.places) == pytest.approx(
        path.shares["queueing"] + path.shares["pause"]
    )
    assert set(run.table("waits")["port"]) <= {"switch:1", "switch:2"}
    text = switchbed("traffic", "critical", chain / "watched").stdout
    assert "waits at switch:2, queue 0" in text
    found = json.loads(switchbed("traffic", "critical", chain / "watched", "--json").stdout)
    assert {place["port"] for place in found["places"]} >= {"switch:2"}


def test_the_path_is_printed(switchbed: Program, chain: Path) -> None:
    text = switchbed("traffic", "critical", chain / "beside").stdout
    assert text.startswith("traffic 0, repetition 0: ")
    assert "%  queueing" in text
    assert "flow 1, rank 1 to 2" in text
    found = json.loads(switchbed("traffic", "critical", chain / "beside", "--json").stdout)
    assert found["steps"][-1]["kind"] == "send"
    for option, why in [
        ("--entry", "traffic 7: has no operations"),
        ("--repetition", "repetition 7"),
    ]:
        assert why in switchbed("traffic", "critical", chain / "chain", option, "7", code=2).stderr


def test_a_trace_has_all_that_the_tables_have(switchbed: Program, chain: Path) -> None:
    out = chain / "trace.json"
    said = switchbed("export", "trace", chain / "chain", "--out", out).stdout
    events = json.loads(out.read_text())["traceEvents"]
    assert f"{len(events)} events" in said
    run = sb.Result.load(chain / "chain")
    slices = [event for event in events if event["ph"] == "X"]
    assert Counter(event["pid"] for event in slices) == {trace.RANKS: 2, trace.FLOWS: 2}
    assert sum(event["ph"] == "i" for event in events) == 2
    counters = [event for event in events if event["ph"] == "C" and "queue" in event["name"]]
    assert len(counters) == len(run.series)
    assert {event["args"]["bytes"] for event in counters} == set(run.series["bytes"])
    counted = {event["name"] for event in events if event["ph"] == "C"}
    assert {
        f"{port} {what}" for port in run.series["port"] for what in ("marks", "drops")
    } <= counted
    # A track a rank and a sender, by name: viewers know no number 0.
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    sends = {(names[event["pid"], event["tid"]], event["name"]) for event in slices}
    assert sends == {
        ("rank 0", "send to 1"),
        ("rank 1", "send to 2"),
        ("host 0", "0 to 1"),
        ("host 1", "1 to 2"),
    }
    assert all(event["ph"] == "M" or event["ts"] >= 0 for event in events)
    assert all(event["tid"] > 0 for event in events if event["ph"] in "Xi")


def test_slices_of_a_track_never_overlap() -> None:
    tracks = trace._Tracks(trace.FLOWS)
    times = [(0.0, 5.0), (1.0, 2.0), (2.0, 3.0), (2.5, 9.0), (5.0, 6.0), (6.0, 6.0)]
    events = [event for time in times for event in tracks.slice("host 0", 0, {"name": "x"}, time)]
    lanes: dict[int, list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            lane = lanes.setdefault(event["tid"], [])
            lane.append((event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6))
    assert sorted(lanes.values()) == [
        [(0.0, 5.0), (5.0, 6.0), (6.0, 6.0)],
        [(1.0, 2.0), (2.0, 3.0)],
        [(2.5, 9.0)],
    ]
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert names == ["host 0", "host 0 (2)", "host 0 (3)"]


def test_a_trace_is_bounded(switchbed: Program, chain: Path) -> None:
    def count(*options: str) -> int:
        out = chain / "part.json"
        switchbed("export", "trace", chain / "chain", "--out", out, "--force", *options)
        return len(json.loads(out.read_text())["traceEvents"])

    whole = count()
    assert count("--every", "2us") < whole
    assert count("--until", "5us") < whole
    for options, why in [
        (("--most", "10"), "has more than 10 events"),
        (("--from", "1s"), "nothing happens in this window"),
    ]:
        none = chain / "none.json"
        done = switchbed("export", "trace", chain / "chain", "--out", none, *options, code=2)
        assert why in done.stderr
        assert not none.exists()


def test_runs_without_operations_are_refused(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(CHAIN.replace("measure.operations = true", ""))
    switchbed("run", tmp_path / "a.toml", "--out", tmp_path / "a")
    for command in (
        ("traffic", "critical", tmp_path / "a"),
        ("plot", "timeline", tmp_path / "a", "--out", tmp_path / "a.svg"),
    ):
        assert "run it with measure.operations = true" in switchbed(*command, code=2).stderr


def test_a_timeline_has_a_bar_for_each_send(switchbed: Program, chain: Path) -> None:
    figure = sb.Result.load(chain / "chain").plot.timeline()
    [axes] = figure.axes
    bars = [found for found in axes.collections if found.get_paths()]
    assert len(bars) == 2
    assert axes.get_legend_handles_labels()[1].count("send") == 1
    out = chain / "timeline.svg"
    switchbed("plot", "timeline", chain / "chain", "--window", "0,0.01", "--out", out)
    assert out.stat().st_size > 1000


def test_bus_bandwidth_over_size_has_a_point_a_size(chain: Path) -> None:
    scenario = sb.Scenario.from_file(chain / "chain.toml")
    runs = scenario.with_({"compare.traffic.0.bytes": ["1KB", "10KB", "1MB"]}).run_all()
    figure = sb.Plots(runs).busbw()
    [axes] = figure.axes
    (sizes, drawn), (_, ideal) = map(points, axes.get_lines())
    assert sizes == [1000, 10_000, 1_000_000]
    for run, reached, best in zip(runs, drawn, ideal, strict=True):
        [job] = run.summary()["jobs"]
        assert reached == pytest.approx(job["busbw_bps"] / 1e9)
        assert best == pytest.approx(reached * job["slowdown"])


def test_no_interval_is_of_less_time_than_the_ideal(results: list[sb.Result]) -> None:
    def took(slowdown: float, seed: int) -> sb.Result:
        run = results[0]
        job = run.summary()["jobs"][0]
        ideal = job["busbw_bps"] * job["slowdown"]
        job = job | {"slowdown": slowdown, "busbw_bps": ideal / slowdown}
        summary = run.summary() | {"jobs": [job], "seed": seed}
        outcome = replace(run.outcome, settings={"run.seed": seed}, summary=summary)
        return sb.Result(outcome, run.scenario, run._read)

    # A mean of 1.10, of which Student's interval is 0.9 to 1.3.
    seeds = [took(1.05, 1), took(1.06, 2), took(1.2, 3)]
    drawn = runs.lines(seeds)
    (name, measure), *_ = (
        found for found in comparison.measures_of(seeds).items() if "over the ideal" in found[0]
    )
    (curve,) = comparison.means(drawn, name, measure, lambda line, _: line.label)
    (point,) = curve.points
    assert point.value.low is not None
    assert 1 < point.value.low < point.value.estimate
    (row,) = comparing.rows([run.outcome for run in seeds])
    assert printing.measured([row])["over ideal"](row) == "1.103 −8.1 to +61%"
    (bandwidths,) = operations.curves(seeds)
    (at,) = bandwidths.points
    assert at.gbps.high is not None
    assert at.gbps.estimate < at.gbps.high < at.ideal_gbps


def test_timelines_share_an_axis_unless_one_lasts_much_longer(chain: Path) -> None:
    scenario = sb.Scenario.from_file(chain / "chain.toml")
    for sizes, shared in ((["1MB", "2MB"], True), (["1KB", "1MB"], False)):
        runs = scenario.with_({"compare.traffic.0.bytes": sizes}).run_all()
        first, second = sb.Plots(runs).timeline().axes
        assert (first.get_xlim() == second.get_xlim()) == shared


def test_repetitions_of_a_timeline_are_marked(chain: Path) -> None:
    scenario = sb.Scenario.from_file(chain / "chain.toml").with_({"traffic.0.repetitions": 3})
    run = scenario.run()
    [axes] = run.plot.timeline().axes
    begins = run.table("operations").group_by("repetition").agg(pl.col("start_s").min())
    lines = [line for line in axes.get_lines() if line.get_linestyle() == "--"]
    # The last is the legend's.
    marked = [np.asarray(line.get_xdata())[0] for line in lines[:-1]]
    assert marked == pytest.approx([at * 1e3 for at in sorted(begins["start_s"])[1:]])
