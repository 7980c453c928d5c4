"""Collectives: the table of jobs, its prints, metrics of comparisons, and
schedules in GOAL's text."""

import json
from pathlib import Path

import pytest
from conftest import Program

import switchbed as sb
from switchbed import printing
from switchbed.measured import Metric
from switchbed.report import page

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
