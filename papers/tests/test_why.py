"""Classes of claims, and the causes of those that are not reproduced."""

from dataclasses import replace
from pathlib import Path

import pytest

from switchbed._native import Mistake
from switchbed_papers.reproduce import claims, page, places, search, why
from switchbed_papers.reproduce.search import Search, Searched, Tried, grid
from switchbed_papers.reproduce.verdict import Target, within_two

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


SUBJECTLESS = {"And", "So", "Nor", "Its", "It", "They", "Their", "Those", "Of", "More", "Yet"}


@pytest.mark.parametrize("name", PAPERS)
def test_each_claim_can_be_read_alone(name: str) -> None:
    for claim in PAPERS[name].claims.values():
        assert claim.meaning.split()[0] not in SUBJECTLESS, claim.id


@pytest.mark.parametrize("name", PAPERS)
def test_each_claim_has_a_class_and_no_reproduced_one_a_cause(name: str) -> None:
    for finding in page.committed(PAPERS[name]).values():
        assert finding.class_ in why.CLASSES
        assert why.in_words(finding) in why.COLUMNS
        if finding.class_ != "not testable":
            # One word for one thing: the class of a verdict that needs no cause is the verdict.
            needs_none = ("reproduced", "in direction")
            assert (finding.verdict in needs_none) == (finding.class_ in needs_none), finding.id
            assert finding.class_ not in needs_none or finding.class_ == finding.verdict
        assert (finding.class_ == "reproduced") <= (finding.cause is None), finding.id
        assert (finding.verdict == "undecided") <= (finding.class_ in ("unknown", "not testable"))
        assert (finding.class_ in ("open", "contradicts itself")) <= (
            finding.verdict == "not reproduced"
        )


@pytest.mark.parametrize("name", PAPERS)
def test_open_is_what_an_open_setting_moves(name: str) -> None:
    paper = PAPERS[name]
    found = search.read(paper)
    for finding in page.committed(paper).values():
        if finding.class_ == "open":
            points = found.searched[paper.claims[finding.id].experiment].points
            outs = [found.comes_out(finding.id, point.at) for point in points]
            assert True in outs, finding.id
            assert not found.comes_out(finding.id, found.choice.point), finding.id


@pytest.mark.parametrize("name", PAPERS)
def test_no_claim_that_comes_out_at_the_joint_set_up_contradicts_itself(name: str) -> None:
    found = search.read(PAPERS[name])
    out = found.out(found.choice.point) if found.searched else frozenset()
    assert not out & why.contradictions(PAPERS[name].folder).keys()


def test_twice_and_half_of_an_effect_are_within_a_factor_of_two() -> None:
    target = Target(30, 50, tolerance=8, null=0)
    assert [within_two(target, of) for of in (14, 15, 100, 101)] == [False, True, True, False]
    ratio = Target(0.6, 0.6, tolerance=0.15, null=1)
    assert [within_two(ratio, of) for of in (0.85, 0.8, 0.2, 0.1)] == [False, True, True, False]
    assert not within_two(Target(1, 1, tolerance=1, null=None), 1)
    assert not within_two(target, None)


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
    contradicts = {"eecn.fig6": contradiction}

    def kind(of: Search, verdict: str = "not reproduced") -> str:
        return why.cause(claim, verdict, {}, of).kind

    assert why.cause(claim, "not reproduced", contradicts, nowhere) == contradiction
    assert why.cause(claim, "undecided", contradicts, nowhere).kind == "unknown"
    # No open setting moves it, so what is open does not explain it.
    assert kind(nowhere) == "unknown"
    assert kind(Search(paper, {})) == "unknown"
    # It comes out at the joint set-up at reduced scale, so what is open does not explain it.
    assert kind(searched(98.6, *[50.0] * (len(points) - 1))) == "unknown"
    # Another claim chooses the first point, at which this one does not come out.
    tried = tuple(
        Tried(
            at,
            {
                "eecn.fig6": 98.6 if index == 1 else 50.0,
                "eecn.fig6.without": 80.0 if index != 1 else 50.0,
                "eecn.fig6.more": 18.6 if index == 0 else 50.0,
            },
        )
        for index, at in enumerate(points)
    )
    apart = Search(paper, {"fig6": Searched("fig6", 2, 1.0, "b", tried)})
    assert not apart.comes_out("eecn.fig6", apart.choice.point)
    assert kind(apart) == "open"
    assert kind(apart, "undecided") == "unknown"
    closed = replace(paper.experiments["fig6"], setup=replace(experiment.setup, open=()))
    shut = replace(paper, experiments={**paper.experiments, "fig6": closed})
    assert kind(replace(nowhere, paper=shut)) == "unknown"


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
