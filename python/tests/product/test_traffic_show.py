"""`switchbed traffic show`: a collective as a schedule in GOAL's text, which runs as it."""

from pathlib import Path

from conftest import Program

import switchbed as sb

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
