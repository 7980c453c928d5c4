"""Classes of claims, and the causes of those that are not reproduced."""

from dataclasses import replace
from pathlib import Path

import pytest

from switchbed._native import Mistake
from switchbed_papers.reproduce import claims, page, places, search, why
from switchbed_papers.reproduce.search import Search, Searched, Tried, grid
from switchbed_papers.reproduce.verdict import Target

PAPERS = claims.papers()


@pytest.mark.parametrize("name", PAPERS)
def test_contradictions_quote_places_that_exist(name: str) -> None:
    folder = PAPERS[name].folder
    known = places.read(folder)
    found = why.contradictions(folder)
    assert found.keys() <= PAPERS[name].claims.keys()
    for cause in found.values():
        assert cause.says.endswith(".")
        for each in cause.places:
            place = places.parse(each)
            assert place is not None
            assert places.exists(place, known), (name, each)


@pytest.mark.parametrize("name", PAPERS)
def test_each_claim_has_a_class_and_no_reproduced_one_a_cause(name: str) -> None:
    for finding in page.committed(PAPERS[name]).values():
        assert finding.class_ in why.CLASSES
        assert (finding.verdict == "holds") <= (finding.class_ in ("reproduced", "not testable"))
        assert (finding.class_ == "reproduced") <= (finding.cause is None), finding.id


@pytest.mark.parametrize("name", PAPERS)
def test_no_claim_that_comes_out_at_the_joint_set_up_contradicts_itself(name: str) -> None:
    found = search.read(PAPERS[name])
    out = found.out(found.choice.point) if found.searched else frozenset()
    assert not out & why.contradictions(PAPERS[name].folder).keys()


def test_twice_and_half_of_an_effect_are_within_a_factor_of_two() -> None:
    target = Target(30, 50, tolerance=8, null=0)
    assert [why.within_two(target, of) for of in (14, 15, 100, 101)] == [False, True, True, False]
    ratio = Target(0.6, 0.6, tolerance=0.15, null=1)
    assert [why.within_two(ratio, of) for of in (0.85, 0.8, 0.2, 0.1)] == [False, True, True, False]
    assert not why.within_two(Target(1, 1, tolerance=1, null=None), 1)
    assert not why.within_two(target, None)


def test_causes_are_of_three_kinds() -> None:
    paper = PAPERS["eecn"]
    claim = paper.claims["eecn.fig6"]
    experiment = paper.experiments["fig6"]
    points = grid(experiment)

    def searched(*values: float) -> Search:
        tried = tuple(
            Tried(at, {"eecn.fig6": value}) for at, value in zip(points, values, strict=True)
        )
        return Search(paper, {"fig6": Searched("fig6", 2, 1.0, "b", tried)})

    contradiction = why.Cause("contradicts itself", "Both cannot be.", ("IV ‹a b c›",))
    nowhere = searched(*[50.0] * len(points))
    assert why.cause(claim, {"eecn.fig6": contradiction}, nowhere) == contradiction
    assert why.cause(claim, {}, nowhere).kind == "open"
    assert why.cause(claim, {}, Search(paper, {})).kind == "unknown"
    # It comes out at the joint set-up at reduced scale, so what is open does not explain it.
    somewhere = searched(98.6, *[50.0] * (len(points) - 1))
    assert why.cause(claim, {}, somewhere).kind == "unknown"
    closed = replace(paper.experiments["fig6"], setup=replace(experiment.setup, open=()))
    shut = replace(paper, experiments={**paper.experiments, "fig6": closed})
    assert why.cause(claim, {}, replace(nowhere, paper=shut)).kind == "unknown"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["p.a"]\nsays = "So."', "needs places and says"),
        ('["p.a"]\nsays = "So."\nplaces = ["VI"]', "not a place such as"),
        ("[", "is no TOML"),
    ],
)
def test_bad_causes_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "causes.toml").write_text(text)
    with pytest.raises(Mistake, match=message):
        why.contradictions(tmp_path)
