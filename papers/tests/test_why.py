"""Classes of claims, the causes of those that are not reproduced, and warnings about measures: each
on rows that have what it warns of, and on rows that have not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from switchbed._native import Mistake
from switchbed_papers.reproduce import claims, lint, measures, page, places, search, why
from switchbed_papers.reproduce.claims import Claim, Experiment
from switchbed_papers.reproduce.rows import Row, Rows
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
        ('[contradiction."p.a"]\nsays = "So."', "needs places and says"),
        ('[contradiction."p.a"]\nsays = "So."\nplaces = ["VI"]', "not a place such as"),
        ("[", "is no TOML"),
    ],
)
def test_bad_causes_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text(text)
    with pytest.raises(Mistake, match=message):
        why.contradictions(tmp_path)


PAPER = PAPERS["eecn"]
FIG12 = PAPER.experiments["fig12"]
GOOD = {
    "small.mean_us": 300.0,
    "medium.mean_us": 2_000.0,
    "small.p99_us": 900.0,
    "drops": 5,
    "marks": 90,
}


def rows(*figures: dict[str, Any]) -> Rows:
    return Rows([Row({"scheme": "a"}, seed, of) for seed, of in enumerate(figures)])


def claim(measure: dict[str, Any]) -> Claim:
    target = Target(10, 10, tolerance=1, null=0)
    return replace(next(iter(PAPER.claims.values())), measure=measure, target=target)


def test_good_rows_have_no_warning() -> None:
    assert lint.of_rows(PAPER, FIG12, rows(GOOD, GOOD)) == []
    value = {"kind": "value", "metric": "small.mean_us"}
    assert lint.of_claim(PAPER, claim(value), rows(GOOD, GOOD)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drops": 0}, "1 of 2 runs have no drops"),
        ({"marks": 0}, "1 of 2 runs have no marks"),
        ({"small.mean_us": 2_500.0}, "small flows are slower than medium ones"),
    ],
)
def test_what_the_papers_text_has_and_orders_of_sizes(change: dict[str, Any], words: str) -> None:
    (found,) = lint.of_rows(PAPER, FIG12, rows(GOOD, GOOD | change))
    assert words in found


def test_a_percentile_that_is_a_timer_is_named() -> None:
    timers = lint.timers_us(PAPER, FIG12)
    assert "transport.rto_min" in timers
    for timer, us in timers.items():
        for off in (1.0, 1.009, 0.991):
            (found,) = lint.of_rows(PAPER, FIG12, rows(GOOD | {"small.p99_us": off * us}))
            assert found.startswith(f"small.p99_us is {timer}")
        assert not lint.of_rows(PAPER, FIG12, rows(GOOD | {"small.p99_us": 1.5 * us}))
        # A mean of times is none of them.
        assert not lint.of_rows(PAPER, FIG12, rows(GOOD | {"large.mean_us": us}))


def test_senders_without_tcp_have_no_timers() -> None:
    tcp = {"kind": "dctcp", "rto_min": "1ms"}
    traffic = [{"kind": "long-lived"}]
    without = {"transport": {**tcp, "kind": "udp"}, "traffic": traffic, "host": {}}
    assert lint.timers_of({**without, "transport": tcp}) == {"transport.rto_min": 1000.0}
    assert lint.timers_of(without) == {}


def test_an_ack_for_each_packet_waits_for_no_timer() -> None:
    def timers(ack_every: int) -> dict[str, float]:
        tcp = {"kind": "dctcp", "rto_min": "1ms", "ack_delay": "40ms", "ack_every": ack_every}
        return lint.timers_of({"transport": tcp, "traffic": [{"kind": "poisson"}], "host": {}})

    assert timers(1) == {"transport.rto_min": 1000.0}
    assert timers(2) == {"transport.rto_min": 1000.0, "transport.ack_delay": 40_000.0}


def test_runs_that_are_left_out_are_counted() -> None:
    none = GOOD | {"small.mean_us": None}
    value = {"kind": "value", "metric": "small.mean_us"}
    (found,) = lint.of_claim(PAPER, claim(value), rows(GOOD, none, GOOD))
    assert found == "1 runs have nothing to measure and are left out"


def both(of: float) -> Rows:
    runs = [Row({"scheme": "a"}, s, {"x": 1.0 + s}) for s in range(3)]
    return Rows([*runs, *(Row({"scheme": "b"}, s, {"x": of * (1.0 + s)}) for s in range(3))])


@pytest.mark.parametrize("kind", ["below", "above", "ratio"])
def test_schemes_that_did_the_same_are_named(kind: str) -> None:
    asked = claim({"kind": kind, "metric": "x", "of": "a", "base": "b"})
    (found,) = lint.of_claim(PAPER, asked, both(1.00001))
    assert "equal to four digits" in found
    assert lint.of_claim(PAPER, asked, both(1.001)) == []


def of_larger(kind: str, factor: float) -> float:
    asked = {"kind": kind, "metric": "x", "of": "b", "base": "a", "reading": "larger"}
    return measures.measure(PAPER, claim(asked), both(factor)).estimate


def test_a_percentage_of_the_larger_is_below_100_and_the_other_reading_stands_beside_it() -> None:
    # 13.2 % worse as a part of the larger is 15.2 % of the smaller.
    assert of_larger("above", 1 / 0.868) == pytest.approx(13.2)
    assert of_larger("above", 3) == pytest.approx(200 / 3)
    assert of_larger("above", 1) == 0
    # The other way round the base is the larger one.
    assert of_larger("above", 0.75) == pytest.approx(-25)
    assert of_larger("below", 0.75) == pytest.approx(25)
    asked = {"kind": "above", "metric": "x", "of": "b", "base": "a", "reading": "larger"}
    found = measures.measure(PAPER, claim(asked), both(1 / 0.868))
    assert found.note == "as a part of the smaller: 15.21 (15.21 to 15.21)"


def expecting() -> list[Experiment]:
    return [e for paper in PAPERS.values() for e in paper.experiments.values() if e.expects]


def test_expected_events_are_counts_of_runs() -> None:
    assert expecting()
    for experiment in expecting():
        assert {*experiment.expects} <= {"drops", "marks", "timeouts"}, experiment.id
