"""Reproductions: the one rule, the measures on made-up runs, and the command on a paper of a
test's own."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from conftest import SINGLE

from switchbed._native import Mistake, Plan
from switchbed.plots import style
from switchbed.progress_bar import Silent
from switchbed.runner import Sweep
from switchbed.store import Store
from switchbed.sweeps import sweep
from switchbed.sweeps.threads import Threads
from switchbed_papers.commands import reproduce
from switchbed_papers.reproduce import (
    claims,
    evidence,
    figures,
    findings,
    measures,
    page,
)
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.rows import Row, Rows, mean
from switchbed_papers.reproduce.verdict import Measured, Target, judge

INF = float("inf")


def test_every_paper_can_be_read_and_every_scenario_would_run() -> None:
    for paper in claims.papers().values():
        for experiment in paper.experiments.values():
            for scale in (experiment.quick, experiment.full):
                jobs = experiments.jobs(paper, experiment, scale, 1)
                assert jobs
                assert not any("seed" in job.settings for job in jobs), "no point of a figure's"
                points = [job.settings for job in jobs]
                few = {
                    name: kept
                    for name, found in evidence.read(paper, experiment).items()
                    if (kept := Rows([row for row in found if row.settings in points])).rows
                }
                # A smaller scale leaves out points that claims are about; full scale none.
                for finding in findings.findings(paper, experiment, few):
                    left_out = finding.note.startswith(findings.NOT_HERE)
                    assert scale is experiment.quick or not left_out, (finding.id, finding.note)
            drawn = experiment.draw
            assert drawn in (None, *figures.BUILT_IN) or paper.function(str(drawn), "draw")
            assert any(claim.experiment == experiment.id for claim in paper.claims.values())
        for claim in paper.claims.values():
            assert claim.id.startswith(f"{paper.name}.")


def test_mean_does_not_depend_on_the_order() -> None:
    values = pl.Series([0.1 * i**3 for i in range(1000)])
    orders = [values.shuffle(seed) for seed in range(20)]
    assert len({sum(each) for each in orders}) > 1
    assert {mean(each) for each in orders} == {mean(values)}


def test_measures_group_in_the_order_of_rows() -> None:
    """Else what is summed of groups depends on the threads that Polars had."""
    for paper in claims.papers().values():
        lines = (paper.folder / "measure.py").read_text().splitlines()
        groups = [line for line in lines if ".group_by(" in line]
        assert [line for line in groups if "maintain_order=True" not in line] == []


@pytest.mark.long
def test_the_page_has_every_claim_of_the_committed_rows_and_its_pictures() -> None:
    text = page.render(shown=True)
    for paper in claims.papers().values():
        assert all(f"`{claim}`" in text for claim in paper.claims)
        for experiment in paper.experiments.values():
            for name in page.pictures(paper, experiment):
                assert f"](reproductions/{name})" in text


@pytest.mark.parametrize(
    "which",
    [
        "mqecn/fig9",
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ("cqrd/fig11", "eecn/fig7", "cedm/fig1")
        ),
    ],
)
def test_an_experiment_leaves_the_pictures_that_it_names(which: str, tmp_path: Path) -> None:
    paper = claims.papers()[which.partition("/")[0]]
    experiment = paper.experiments[which.partition("/")[2]]
    page.draw(paper, experiment, next(iter(evidence.read(paper, experiment).values())), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {*page.pictures(paper, experiment)}


def half(_: object, file: Path, **__: object) -> None:
    """Write a part, and then find the disk full."""
    Path(file).write_bytes(b"PAR1")
    raise OSError("full")


def test_rows_are_kept_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = replace(claims.papers()["afqcn"], folder=tmp_path)
    experiment = paper.experiments["fig6"]
    setup = experiment.setup
    settings = {"a": 1, "q": [0, 1]}
    row = Row(settings, 3, {"x": 0.1, "of": [1.5, None]}, "qcn", "ideal", "", "s", "b", 1.5)

    def of(reading: str, seed: int) -> Row:
        return replace(row, profile=reading, setup=setup.digest(reading), seed=seed)

    # Other readings stand beside the joint one alone.
    evidence.write(paper, experiment, [of("literal", 4)])
    assert evidence.read(paper, experiment) == {}
    evidence.write(paper, experiment, [of("joint", 3)])
    assert list(evidence.read(paper, experiment)["joint"]) == [of("joint", 3)]
    # Rows of the same reading are replaced, and those of others stay.
    evidence.write(paper, experiment, [of("joint", 5)])
    found = evidence.read(paper, experiment)
    assert {name: [row.seed for row in rows] for name, rows in found.items()} == {
        "joint": [5],
        "literal": [4],
    }
    assert list(found) == ["joint", "literal"]
    # Rows of another set-up are none of this one's.
    evidence.write(paper, experiment, [replace(of("joint", 6), setup="another")])
    assert "joint" not in evidence.read(paper, experiment)
    # A write that fails leaves what there was, and nothing beside it.
    with pytest.raises(TypeError):
        evidence.write(paper, experiment, [replace(of("joint", 6), figures={"x": object()})])
    there = evidence.file(paper)
    before = there.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("polars.DataFrame.write_parquet", half)
        with pytest.raises(OSError, match="full"):
            evidence.write(paper, experiment, [of("joint", 6)])
    assert there.read_bytes() == before
    assert [file.name for file in there.parent.iterdir()] == [there.name]
    # After a new choice the literal rows, which it does not touch, outlive the joint set-up's.
    evidence.write(paper, experiment, [of("joint", 7)])
    found = evidence.read(paper, experiment)
    assert {name: [row.seed for row in rows] for name, rows in found.items()} == {
        "joint": [7],
        "literal": [4],
    }


def test_rows_of_other_experiments_stay_also_where_both_are_written_at_once(tmp_path: Path) -> None:
    paper = replace(claims.papers()["afqcn"], folder=tmp_path)
    row = Row({"a": 1}, 3, {"x": 0.1}, "qcn", "ideal")
    names = list(paper.experiments)

    def write(name: str) -> None:
        for _ in range(3):
            evidence.write(paper, paper.experiments[name], [replace(row, scenario=name)])

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, names))
    for name in names:
        (found,) = evidence.kept(paper, paper.experiments[name])
        assert found.scenario == name


def test_a_claim_that_cannot_fail_holds_on_its_null_model() -> None:
    def null(measure: dict[str, Any], target: Target) -> str:
        return measures.null_model(PAPER, claim(measure, target), RUNS)[1]

    compared = {"kind": "below", "of": "new", "base": "std", "at": {"load": 0.9}}
    assert null(compared, Target(49, 49, tolerance=5, null=0)) != "reproduced"
    assert null(compared, Target(-INF, 900, tolerance=5, null=0)) == "reproduced"
    value = {
        "kind": "value",
        "metric": "all.n",
        "at": {"load": 0.9, "scheme": "std"},
        "exact": True,
    }
    # The other scheme has as many: only a value that is moved would fail, and that is said.
    parity = claim(value, Target(100, 100, tolerance=1, null=None))
    assert measures.null_model(PAPER, parity, RUNS) == (
        "no run that should fail it, as the same measure of new is reproduced: "
        "the value moved by -2 or +2 %",
        "not reproduced",
    )
    # A bound that nothing is compared by is displaced past itself: inwards there is always room.
    alone = Rows([row for row in RUNS if row.settings["scheme"] == "std"])
    most = claim(value | {"at": {"load": 0.9}}, Target(-INF, 100, tolerance=1, null=None))
    assert measures.null_model(PAPER, most, alone) == (
        "no run that should fail it: the value moved by +2 %",
        "not reproduced",
    )
    # What is off is displaced further, not into the range.
    assert null(value, Target(103, 103, tolerance=2, null=None)) == "not reproduced"
    # More than 94: the other scheme has as many. Less than 1200 us: it has not.
    assert null(value, Target(94, INF, tolerance=1, null=None)) == "reproduced"
    mean = {"kind": "value", "at": {"load": 0.9, "scheme": "new"}}
    assert null(mean, Target(-INF, 9000, tolerance=1, null=None)) == "reproduced"
    assert null(mean, Target(-INF, 400, tolerance=1, null=None)) != "reproduced"
    # A run of the other scheme is a better null model of a value than a value that is moved.
    near = claim(mean, Target(200, 600, tolerance=1, null=None))
    assert measures.null_model(PAPER, near, RUNS) == ("the same measure of std", "undecided")


def test_alike_runs_have_the_figures_of_one_and_those_that_compare_nothing_stay() -> None:
    alone = [Row({"transport": "tcp"}, seed, {"all.mean_us": 1.0}) for seed in range(3)]
    made = list(measures._all_are(Rows([*RUNS, *alone]), "scheme", "std"))
    assert made[-3:] == alone
    # The others have its figures, of other seeds.
    new = [row for row in made if row.settings == {"scheme": "new", "load": 0.1}]
    assert [row.figures["all.mean_us"] for row in new] == [200, 400, 100]
    # Schemes of some switches are schemes; of one there is nothing to compare.
    some = [Row({"deploy.1.scheme": name}, 1, {}) for name in ("a", "b")]
    assert len(list(measures._alike(Rows(some)))) == 2
    assert not list(measures._alike(Rows(alone)))


def test_a_formula_has_a_null_of_its_own() -> None:
    def null(measure: dict[str, Any], target: Target, **more: Any) -> str:
        return measures.null_model(PAPER, replace(claim(measure, target), **more), RUNS)[1]

    at = {"load": 0.9, "scheme": "std"}
    count = {"kind": "value", "metric": "all.n", "at": at, "exact": True}
    many = Target(-INF, 100, tolerance=1, null=None)
    assert null(count, many, wrong=count) == "reproduced"
    assert null(count, many, wrong={**count, "metric": "all.mean_us"}) != "reproduced"


def test_no_effect_is_within_no_tolerance() -> None:
    for paper in claims.papers().values():
        for each in paper.claims.values():
            target = each.target
            if target.null is not None:
                low, high = target.low - target.tolerance, target.high + target.tolerance
                assert not low < target.null < high, each.id


def test_a_tolerance_is_at_most_half_of_the_effect() -> None:
    """Else hardly any effect is outside."""
    for paper in claims.papers().values():
        for each in paper.claims.values():
            target = each.target
            if target.null is None:
                # No difference at all is claimed, up to so much.
                if target.low == -target.high < 0:
                    assert target.tolerance <= 0.5 * target.high, each.id
                continue
            effects = [abs(end - target.null) for end in (target.low, target.high)]
            assert target.tolerance <= 0.5 * min(effects) + 1e-9, each.id


def test_no_committed_claim_holds_on_its_null_model() -> None:
    for paper in claims.papers().values():
        for finding in page.committed(paper).values():
            assert finding.null_model != "reproduced", finding.id


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (3.0, 5.0, "reproduced"),
        (1.0, 3.0, "in direction"),
        (6.5, 9.0, "in direction"),
        # The paper's side, but under half of its effect or over twice it.
        (0.5, 1.5, "not reproduced"),
        (8.5, 9.0, "not reproduced"),
        (0.5, 2.5, "undecided"),
        (-3.0, -1.0, "not reproduced"),
        (-0.5, 0.5, "not reproduced"),
        (-1.0, 3.0, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_a_claim_with_a_direction(low: float | None, high: float | None, word: str) -> None:
    target = Target(4.0, 4.0, tolerance=2.0, null=0.0)
    middle = 0.0 if low is None or high is None else (low + high) / 2
    assert judge(target, Measured(middle, low, high, 3, None)) == word


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(-2.0, 2.0, "reproduced"), (-4.0, 2.0, "undecided"), (4.0, 5.0, "not reproduced")],
)
def test_a_claim_of_being_within(low: float, high: float, word: str) -> None:
    target = Target(-2.0, 2.0, tolerance=1.0, null=None)
    assert judge(target, Measured(0.0, low, high, 3, None)) == word


def test_more_than_so_much_has_no_upper_end() -> None:
    target = Target(25.0, INF, tolerance=0.0, null=0.0)
    assert judge(target, Measured(60.0, 50.0, 90.0, 3, None)) == "reproduced"
    assert judge(target, Measured(13.0, 5.0, 21.0, 3, None)) == "in direction"
    assert judge(target, Measured(10.0, 5.0, 15.0, 3, None)) == "not reproduced"
    assert judge(target, Measured(-10.0, -15.0, -5.0, 3, None)) == "not reproduced"


def test_a_reduction_below_zero_is_the_papers_side_where_the_paper_is_below() -> None:
    target = Target(-INF, 0.5, tolerance=0.0, null=1.0)
    assert judge(target, Measured(0.7, 0.6, 0.8, 3, None)) == "in direction"
    assert judge(target, Measured(0.8, 0.7, 0.9, 3, None)) == "not reproduced"
    assert judge(target, Measured(1.4, 1.2, 1.6, 3, None)) == "not reproduced"


def rows(values: dict[tuple[str, float], Sequence[float]]) -> Rows:
    return Rows(
        [
            Row({"scheme": scheme, "load": load}, seed, {"all.mean_us": value, "all.n": 100})
            for (scheme, load), by_seed in values.items()
            for seed, value in enumerate(by_seed)
        ]
    )


def claim(measure: dict[str, Any], target: Target | None = None) -> claims.Claim:
    return claims.Claim(
        "p.c",
        "e",
        "",
        "",
        target or Target(0, 0, 0, 0.0),
        "",
        "%",
        {"metric": "all.mean_us"} | measure,
    )


PAPER = claims.Paper("p", "", Path(), {}, {})
RUNS = rows(
    {
        ("std", 0.1): [100, 200, 400],
        ("new", 0.1): [90, 180, 360],
        ("std", 0.9): [1000, 3000, 2000],
        ("new", 0.9): [500, 1600, 980],
    }
)


def test_runs_are_paired_over_seeds() -> None:
    asked = {"kind": "below", "of": "new", "base": "std", "at": {"load": 0.1}}
    found = measures.measure(PAPER, claim(asked), RUNS)
    assert found.estimate == pytest.approx(10)
    assert (found.low, found.high) == pytest.approx((10, 10))
    assert (found.seeds, found.flows) == (3, 100)


def test_up_to_is_each_seeds_own_largest() -> None:
    runs = rows(
        {
            ("std", 0.1): [100, 100, 100],
            ("new", 0.1): [50, 90, 90],
            ("std", 0.9): [100, 100, 100],
            ("new", 0.9): [90, 40, 60],
        }
    )
    asked = {"kind": "below", "of": "new", "base": "std"}
    best = measures.measure(PAPER, claim(asked | {"at": "largest"}), runs)
    # Ratios of 0.5, 0.4 and 0.6: no one load has all three.
    assert best.estimate == pytest.approx(100 * (1 - 0.12 ** (1 / 3)))
    assert best.seeds == 3
    assert best.note == "each seed's largest of 2 points, most often at load 0.9"
    least = measures.measure(PAPER, claim(asked | {"at": "smallest"}), runs)
    assert least.estimate == pytest.approx(10)


def test_every_point_must_be_within() -> None:
    asked = {"kind": "below", "of": "new", "base": "std", "at": "every"}
    within = Target(5, 15, 0, None)
    found = measures.measure(PAPER, claim(asked, within), RUNS)
    assert found.estimate == pytest.approx(49.26, abs=0.01)
    assert found.outside
    assert judge(within, found) == "not reproduced"


def test_the_interval_printed_is_the_worst_points_and_the_verdict_is_of_all() -> None:
    asked = {"kind": "below", "of": "new", "base": "std", "at": "every"}
    found = measures.measure(PAPER, claim(asked, Target(5, 15, 0, None)), RUNS)
    assert found.low is not None
    assert found.high is not None
    # 10 % at load 0.1, without chance, and about 49 at 0.9.
    assert found.low > 40
    assert found.least == pytest.approx(10)
    assert found.most == found.high
    # The best point alone is over 18; the worst is no more than in direction.
    more = Target(18, INF, 0, 0.0)
    worst = measures.measure(PAPER, claim(asked, more), RUNS)
    assert worst.estimate == pytest.approx(10)
    assert worst.low == pytest.approx(10)
    assert judge(more, worst) == "in direction"
    moved = measures._displaced(worst, -20)
    assert moved.least == pytest.approx(-10)
    assert judge(more, moved) == "not reproduced"


def test_no_colour_stands_twice_in_a_picture_of_times_over_load() -> None:
    three = [("K = 65", "per-queue"), ("K = 10", "per-queue"), ("CEDM", "cedm")]
    looks = figures.apart(three)
    assert len({look.colour for look in looks.values()}) == 3
    assert looks["CEDM"].colour == style.own("cedm").colour
    assert looks["K = 65"].colour == style.own("per-queue").colour


def test_a_mean_has_its_interval_on_both_sides() -> None:
    mean, (below, above) = figures.mean_and_reach([1.0, 2.0, 3.0])
    # Student's t of two degrees of freedom, 4.303, times 1 over the root of 3 is 2.484: on the
    # logarithm 1.242, by which no end is below zero.
    assert (mean, below, above) == pytest.approx((2.0, 1.4224, 4.9246), abs=1e-3)
    assert figures.mean_and_reach([5.0]) == (5.0, (0.0, 0.0))


def test_a_claim_may_name_its_points() -> None:
    asked = {"kind": "below", "of": "new", "base": "std", "at": [{"load": 0.9}, {"load": 0.1}]}
    every = measures.measure(PAPER, claim(asked | {"at": "every"}, Target(5, 15, 0, None)), RUNS)
    both = measures.measure(PAPER, claim(asked, Target(5, 15, 0, None)), RUNS)
    assert (both.low, both.high, both.outside) == (every.low, every.high, True)
    one = measures.measure(PAPER, claim(asked | {"at": [{"load": 0.1}]}), RUNS)
    assert (one.low, one.high) == pytest.approx((10, 10))


def test_a_second_opinion_may_be_of_another_metric() -> None:
    with_p99 = Rows(
        [Row(row.settings, row.seed, row.figures | {"all.p99_us": 7.0}) for row in RUNS]
    )
    asked = {
        "kind": "value",
        "where": {"scheme": "std", "load": 0.1},
        "also": [{"metric": "all.p99_us"}, {"load": 0.9}],
    }
    found = measures.measure(PAPER, claim(asked), with_p99)
    assert found.estimate == pytest.approx(700 / 3)
    first, second = found.note.rsplit("; ", 1)
    assert first.endswith("all.p99_us: 7 (7 to 7)")
    assert second.startswith("load 0.9: 2000 ")


def test_counts_may_be_zero() -> None:
    counts = rows({("std", 0.1): [10, 0], ("new", 0.1): [0, 0]})
    found = measures.measure(PAPER, claim({"kind": "ratio", "of": "new", "base": "std"}), counts)
    assert found.estimate == pytest.approx(0.5)


def test_a_setting_that_no_run_has_is_refused() -> None:
    with pytest.raises(Mistake, match="no run has load"):
        measures.measure(PAPER, claim({"kind": "value", "at": {"load": 0.5}}), RUNS)


CLAIMS = """
title = "A test's own paper"
[experiment.one]
title = "Marking or not"
setup = "testbed"
scenario = "one.toml"
quick.seeds = 2
full.sets = ["flows=400"]
[claim."own.one.lower"]
experiment = "one"
meaning = "marking keeps queues short"
paper = "half"
value = 50
tolerance = 50
why = "it is a test"
measure = { kind = "below", metric = "all.mean_us", of = "per-queue", base = "none" }
"""

SETUP = """
others = ["ns-3"]
range = { "host.jitter" = ["1ns", "10ns"] }
[open.acks]
says = "Packets that an ACK acknowledges"
literal = "2"
grid = { "1" = { "transport.ack_every" = 1 }, "2" = { "transport.ack_every" = 2 } }
[kind.testbed]
profile = "ideal"
default = "it is a test"
settings = [{ set = { "transport.kind" = "dctcp" }, printed = "1 ‹It is a test›" }]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "reproductions" / "own"
    folder.mkdir(parents=True)
    compare = '[compare]\nscheme = ["none", "per-queue"]\n'
    (folder / "one.toml").write_text(SINGLE + compare)
    (folder / "claims.toml").write_text(CLAIMS)
    (folder / "setup.toml").write_text(SETUP)
    monkeypatch.setattr(claims, "FOLDER", folder.parent)
    monkeypatch.chdir(tmp_path)
    return folder


def command(*arguments: str) -> str:
    done = CliRunner().invoke(reproduce, arguments, catch_exceptions=False, standalone_mode=False)
    assert done.return_value == 0
    return done.stdout


def test_a_paper_is_run_once_and_judged(own: Path, tmp_path: Path) -> None:
    first = json.loads(command("own/one", "--json", "-"))
    assert [found["id"] for found in first] == ["own.one.lower"]
    # Which one is the traffic's business: two seeds show no more than that it is judged.
    assert first[0]["verdict"] in ("reproduced", "in direction", "undecided", "not reproduced")
    assert first[0]["seeds"] == 2
    kept = sorted((tmp_path / "switchbed-store/measured").glob("*.json"))
    assert len(kept) == 4
    times = [file.stat().st_mtime_ns for file in kept]
    assert json.loads(command("own", "--json", "-")) == first
    assert [file.stat().st_mtime_ns for file in kept] == times


def test_what_a_sweep_has_run_is_measured_and_not_run_again(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = claims.papers()["own"]
    (one,) = paper.experiments.values()
    store = Store(tmp_path / "store")
    jobs = experiments.jobs(paper, one, one.quick, 1)
    swept = sweep.run(lambda _: [job.plan for job in jobs], store, "x", None, None, Threads(2))
    ran: list[Plan] = []

    def run_all(plans: list[Plan], *_: object, **__: object) -> Sweep:
        ran.extend(plans)
        return Sweep(0, [], None)

    monkeypatch.setattr("switchbed.runner.run_all", run_all)
    experiments.run(paper, one, jobs, store, Silent())
    assert not ran
    means = [row.figures["all.mean_us"] for row in experiments.rows(jobs, store)]
    assert means == [outcome.summary["fct"]["all"]["mean_us"] for outcome in swept.outcomes]


def test_full_results_are_committed_and_listed(own: Path, tmp_path: Path) -> None:
    assert "not run at full scale" in command("list")
    command("own", "--full", "--commit")
    (listed,) = json.loads(command("list", "--json"))
    command("list", "--json", "found.json")
    assert json.loads((tmp_path / "found.json").read_text()) == [listed]
    assert listed["seeds"] == 3
    text = page.render()
    assert listed["verdict"] in text
    assert text in command("page")
    command("page", "--out", "page.md")
    assert (tmp_path / "page.md").read_text() == text


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(Mistake, match=r"nobody: no such paper; there is .*mqecn"):
        command("nobody")
    with pytest.raises(Mistake, match="mqecn has no such experiment"):
        command("mqecn/fig99")


def test_a_missing_key_is_named(own: Path) -> None:
    file = own / "claims.toml"
    file.write_text(file.read_text().replace('why = "it is a test"\n', ""))
    with pytest.raises(Mistake, match=r'claims\.toml: claim\."own\.one\.lower": why is missing'):
        command("list")


def test_a_second_opinion_is_reported_and_judges_nothing() -> None:
    asked: dict[str, Any] = {"kind": "below", "of": "new", "base": "std"}
    asked |= {"where": {"load": 0.1}, "also": [{"load": 0.9}]}
    found = measures.measure(PAPER, claim(asked), RUNS)
    assert found.estimate == pytest.approx(10)
    assert "load 0.9: 49.26 (" in found.note


def test_what_large_flows_gain_beyond_small_ones_is_of_all_flows_times_together() -> None:
    def row(scheme: str, small_us: float, large_us: float) -> Row:
        both = {"small.n": 90, "small.mean_us": small_us, "large.n": 10, "large.mean_us": large_us}
        mean_us = 0.9 * small_us + 0.1 * large_us
        none = {"medium.n": 0, "medium.mean_us": 0.0}
        figures = both | none | {"all.n": 100, "all.mean_us": mean_us}
        return Row({"scheme": scheme, "load": 0.5}, 1, figures)

    # Small flows gain 90 · 10 µs, large ones 10 · 270, of 90 · 100 and 10 · 1000.
    runs = Rows([row("2 packets", 100, 1000), row("16 packets", 90, 730)])
    found = claims.papers()["mqecn"].function("fig2_large")(runs)
    assert found == {"load 0.5": {1: pytest.approx(100 * 1800 / 19_000)}}


def test_a_segment_is_what_comes_to_a_card_at_once() -> None:
    # Three packets at 1 µs, of which the line takes the first at once; one at 30 µs.
    steps = [(0.0, 0), (1.0, 1500), (1.0, 0), (1.0, 1500), (1.0, 3000), (13.0, 1500), (25.0, 0)]
    steps += [(30.0, 1500), (30.0, 0)]
    changes = pl.DataFrame(steps, schema=["time_s", "bytes"], orient="row")
    assert claims.papers()["cedm"].function("handed_over")(changes) == {1.0: 3, 30.0: 1}


def test_spans_are_whole() -> None:
    """The sample at the end of a run is no span of its own."""
    times = [i / 1000 for i in range(61)]
    frame = pl.DataFrame({"time_s": times, "bytes": [i % 7 for i in range(61)]})
    found = claims.papers()["cedm"].function("extremes")(frame, 0.02, 0.02)
    assert found.select("most", "least").rows() == [(6, 0), (6, 0)]


def test_a_figure_of_a_part_of_the_rows_shows_what_is_said_of_that_part() -> None:
    """Figure 9 has DWRR's rows, figure 10 WRR's, and both have one experiment's claims."""
    paper = claims.papers()["mqecn"]
    rows = evidence.read(paper, paper.experiments["fig9"])["joint"]
    of = [claim for claim in paper.claims.values() if claim.experiment == "fig9"]
    for discipline, count in (("dwrr", 0), ("wrr", 1)):
        part = rows.where({"switch.discipline": discipline})
        assert len(list(figures.said(of, part, "large.mean_us"))) == count


def test_who_is_near_another_is_beside_the_scheme_that_is_not() -> None:
    """The standard threshold fails `within 26.4 % of the divided threshold`."""
    paper = claims.papers()["mqecn"]
    found = page.committed(paper)["mqecn.fig10.small_vs_min"]
    assert (found.null_is, found.null_model) == ("the same measure of Standard", "not reproduced")
