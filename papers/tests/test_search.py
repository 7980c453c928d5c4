"""The joint search: which point it chooses, what it shows, and that it goes on where it stopped."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from switchbed.progress_bar import Silent
from switchbed.store import Store
from switchbed_papers import commands, tree
from switchbed_papers.reproduce import claims, command, evidence, price, search
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.rows import Row, Rows
from switchbed_papers.reproduce.search import Search, Searched, Tried
from switchbed_papers.reproduce.setup import JOINT

EECN = claims.papers()["eecn"]


def searched(name: str, **values: list[float]) -> Searched:
    """An experiment, of each claim what every point of its grid gave."""
    points = search.grid(EECN.experiments[name])
    tried = [
        Tried(at, {f"eecn.{claim}": of[index] for claim, of in values.items()})
        for index, at in enumerate(points)
    ]
    return Searched(name, 2, 1.0, "b", tuple(tried))


def test_the_joint_set_up_has_most_claims_together_and_ties_stay_literal() -> None:
    # Flows 2, 5, 10, 20 for an ACK a packet, then for two: 98.6 is the paper's.
    ours = searched("fig6", fig6=[50, 98.6, 98.6, 98.6, 98.6, 50, 50, 50])
    others = replace(
        ours,
        points=tuple(
            Tried(one.at, {**one.claims, "eecn.fig6.without": value})
            for one, value in zip(ours.points, [80, 80, 50, 50, 80, 50, 50, 50], strict=True)
        ),
    )
    found = Search(EECN, {"fig6": others})
    choice = found.choice
    assert (choice.out, choice.claims, choice.points) == (2, 2, 8)
    assert (choice.ties, choice.near) == (1, 3)
    # Both have 2 claims; that with the literal ACKs is chosen.
    assert choice.point["acks"] == "2, as ns-3"
    assert choice.point["flows_seen"] == "2"
    # Settings of experiments that were not searched stay literal.
    assert choice.point["timeout"] == "1 s, as ns-3"


def test_points_that_pull_apart_are_shown() -> None:
    one = searched("fig6", fig6=[98.6, 50, 50, 50, 50, 50, 50, 50])
    two = tuple(
        Tried(each.at, {**each.claims, "eecn.fig6.without": value, "eecn.fig6.range": 95.0})
        for each, value in zip(one.points, [10, 10, 10, 10, 10, 10, 10, 80], strict=True)
    )
    found = Search(EECN, {"fig6": replace(one, points=two)})
    rows = found.apart()
    assert rows[0] == found.choice.point
    covered = set().union(*map(found.out, rows))
    assert covered == {"eecn.fig6", "eecn.fig6.without", "eecn.fig6.range"}
    assert len(rows) == 2


def test_a_search_is_kept_and_one_of_another_grid_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = replace(EECN, folder=tmp_path / "eecn")
    one = searched("fig6", fig6=[50, 98.6, 1, 1, 1, 1, 1, 1])
    more = {"eecn.fig6.without": 1.0, "eecn.fig6.range": None, "eecn.fig6.more": None}
    full = tuple(Tried(each.at, {**each.claims, **more}) for each in one.points)
    kept = Search(paper, {"fig6": replace(one, points=full)})
    search.write(kept)
    assert search.read(paper).searched == kept.searched
    assert search.read(paper).kept == kept.choice.point
    text = json.loads((tmp_path / "search.json").read_text())
    ours = text["eecn"]
    assert ours["joint"] == kept.choice.point
    # A claim that came after is named and not counted; one that is gone is left out.
    for point in ours["experiments"]["fig6"]["points"]:
        del point[1]["eecn.fig6.more"]
        point[1]["eecn.fig6.gone"] = 1.0
    (tmp_path / "search.json").write_text(json.dumps(text))
    found = search.read(paper)
    assert "eecn.fig6.more" in found.later
    assert not {"eecn.fig6.more", "eecn.fig6.gone"} & {*found.claims}
    # The chosen point stays, whatever has more claims now; a new search chooses anew.
    ours["joint"] |= {"acks": "1", "flows_seen": "20"}
    (tmp_path / "search.json").write_text(json.dumps(text))
    found = search.read(paper)
    assert found.choice.point["flows_seen"] == "20"
    assert found.choice.more > 0
    assert replace(found, kept=None).choice.more == 0
    # A grid that changed is to be searched again.
    ours["experiments"]["fig6"]["points"].pop()
    (tmp_path / "search.json").write_text(json.dumps(text))
    assert not search.read(paper).searched


def test_a_search_is_kept_in_the_source_tree_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Search(
        replace(EECN, folder=tmp_path / "eecn"), {"fig6": searched("fig6", fig6=[98.6] * 8)}
    )
    with monkeypatch.context() as patched:
        patched.setattr(tree, "PROJECT", tmp_path / "pyproject.toml")
        search.keep(found)
    assert "not kept" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    search.keep(found)
    assert f"written to {tmp_path / 'search.json'}" in capsys.readouterr().err
    assert search.read(found.paper).searched == found.searched


def test_a_search_that_is_stopped_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    kept: list[Search] = []

    def stopped(_: object, experiment: claims.Experiment, *__: object) -> Searched:
        if done:
            raise KeyboardInterrupt
        done.append(experiment.id)
        return searched(experiment.id)

    monkeypatch.setattr(search, "run", stopped)
    monkeypatch.setattr(search, "write", kept.append)
    with pytest.raises(KeyboardInterrupt):
        command._search("eecn", 1e9, Store(tmp_path / "store"))
    assert done
    assert not kept


def test_the_price_follows_grid_seeds_and_scale() -> None:
    experiment = EECN.experiments["fig9"]
    at = price.search(EECN, experiment, 4)
    rows = evidence.timed(EECN, experiment)
    a_seed_s = sum(row.core_s for row in rows) / len({row.seed for row in rows})
    a_seed_s /= len({row.profile for row in rows})
    assert at.core_s == pytest.approx(a_seed_s * experiment.search.seeds * 4)
    once = replace(experiment, search=replace(experiment.search, seeds=1))
    assert price.search(EECN, once, 4).core_s == pytest.approx(at.core_s / 2)
    total = sum(
        price.search(paper, each, len(search.grid(each))).core_s
        for paper in claims.papers().values()
        for each in paper.experiments.values()
    )
    assert total < 4 * 3600, "all papers within four core-hours"


def test_prices_rest_on_processor_times_where_rows_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = EECN.experiments["fig9"]
    jobs = experiments.jobs(EECN, experiment, replace(experiment.full, seeds=1), 1)
    new = [Row({}, 1, {}, core_s=2.0), Row({}, 2, {}, core_s=4.0)]
    old = [Row.of({"settings": {}, "seed": 3, "figures": {}, "wall_s": 90.0})]
    assert [row.passed for row in (*new, *old)] == [False, False, True]

    def missing(rows: list[Row]) -> price.Price:
        monkeypatch.setattr(evidence, "timed", lambda *_: Rows(rows))
        return price.missing(EECN, experiment, jobs, Store(tmp_path / "store"))

    assert missing(new).hours() == f"about {3.0 * len(jobs) / 3600:.2f} core-hours"
    assert missing(old).hours() == f"at most {90.0 * len(jobs) / 3600:.2f} core-hours"
    assert missing([]) == price.Price()
    # Flows of runs that end with their time are no scale.
    timed = [Row({}, 1, {"all.n": 18_750}, core_s=2.0), Row({}, 2, {"all.n": 9}, core_s=4.0)]
    assert missing(timed) == missing(new)
    # A row of another scale counts by its flows.
    fig12 = EECN.experiments["fig12"]
    many = experiments.jobs(EECN, fig12, replace(fig12.full, seeds=1), 1)
    monkeypatch.setattr(
        evidence, "timed", lambda *_: Rows([Row({}, 1, {"all.n": 500}, core_s=5.0)])
    )
    flows = sum(price.missing(EECN, fig12, [job], Store(tmp_path / "store")).core_s for job in many)
    assert flows == pytest.approx(0.01 * sum(map(price._size, many)))


def test_rows_that_judge_and_have_processor_times_are_timed_first(tmp_path: Path) -> None:
    paper = replace(EECN, folder=tmp_path)
    experiment = EECN.experiments["fig9"]
    assert not evidence.timed(paper, experiment).rows
    digest = experiment.setup.digest(JOINT)
    other = Row({}, 1, {}, profile=JOINT, setup="another", core_s=7.0)
    evidence.write(paper, experiment, [other])
    assert [row.core_s for row in evidence.timed(paper, experiment)] == [7.0]
    passed = replace(other, setup=digest, core_s=8.0, passed=True)
    evidence.write(paper, experiment, [passed])
    assert [row.passed for row in evidence.timed(paper, experiment)] == [True]
    evidence.write(paper, experiment, [passed, replace(passed, core_s=9.0, passed=False)])
    assert [row.core_s for row in evidence.timed(paper, experiment)] == [9.0]


def test_what_was_searched_is_not_run_again(tmp_path: Path) -> None:
    # Two points of the cheapest figure.
    paper = claims.papers()["cedm"]
    fig3 = paper.experiments["fig3"]
    small = replace(fig3, search=replace(fig3.search, seeds=1, sets=("run.until=12ms",)))
    (cut,) = [each for each in fig3.setup.open if each.name == "cut"]
    small = replace(small, setup=replace(fig3.setup, open=(cut,)))
    store = Store(tmp_path / "store")
    first = search.run(paper, small, store, Silent())
    assert [one.at for one in first.points] == [{"cut": name} for name in cut.grid]
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "store").rglob("*.json")}
    assert search.run(paper, small, store, Silent()) == first
    measured = {f: t for f, t in kept.items() if f.parent.name == "measured"}
    assert measured
    assert all(file.stat().st_mtime_ns == at for file, at in measured.items())


@pytest.mark.parametrize("minutes", ["nan", "inf", "1e400", "-1", "١"])
def test_a_budget_is_a_finite_number(minutes: str) -> None:
    """One that is no number was over no price, and the search ran for ever."""
    done = CliRunner().invoke(commands.reproduce, ["search", "mqecn", "--budget", minutes])
    assert done.exit_code == 2
    assert "--budget" in done.output
