"""Each claim that does not hold has its cause, and what is committed shows it."""

from pathlib import Path

import pytest

from switchbed._native import Mistake
from switchbed_papers.reproduce import claims, page, variations, why
from switchbed_papers.reproduce.variations import Table

TABLES = [
    Table(
        ["hosts that judge, and", "`p.a`", "`p.b`"],
        [
            ["**the paper**", "5, holds", "7"],
            ["as they are", "1 %, fails", "7 (6 to 8) %, holds"],
            ["an ACK for each packet", "5 (4 to 6) %, holds", "9 %, direction"],
        ],
    ),
    Table(
        ["hosts that judge, at", "`p.c`"],
        [["**the paper**", "few"], ["5 flows", "3, undecided"]],
    ),
    Table(["setting", "`p.d`"], [["as it is", "1"]]),
]


@pytest.mark.parametrize("name", claims.papers())
def test_each_claim_that_does_not_hold_has_its_cause(name: str) -> None:
    paper = claims.papers()[name]
    causes = why.causes(paper.folder)
    assert causes.keys() <= paper.claims.keys()
    for finding in page.committed(paper).values():
        if finding.profiles:
            assert (finding.verdict != "holds") == (finding.id in causes), finding.id


@pytest.mark.parametrize("name", claims.papers())
def test_causes_are_shown_by_what_is_committed(name: str) -> None:
    paper = claims.papers()[name]
    found = page.committed(paper)
    for cause in why.causes(paper.folder).values():
        there = {}
        if cause.table:
            there = why.cells(variations.results(paper.folder)[cause.table], cause.claim)
            assert there, cause.claim
        match cause.kind:
            case "setting":
                assert why.holds(there[cause.row or ""]), cause.claim
            case "hosts":
                assert found[cause.claim].profiles[cause.profile or ""] == "holds", cause.claim
            case "open":
                assert not any(map(why.holds, there.values())), cause.claim
        assert cause.says.strip("."), cause.claim
        assert cause.says.endswith("."), cause.claim


def test_tables_are_read_by_claim_and_setting() -> None:
    found = why.cells(TABLES, "p.a")
    assert found == {"as they are": "1 %, fails", "an ACK for each packet": "5 (4 to 6) %, holds"}
    assert [row for row, cell in found.items() if why.holds(cell)] == ["an ACK for each packet"]
    assert why.cells(TABLES, "p.c") == {"5 flows": "3, undecided"}
    assert not why.cells(TABLES, "p.d")


def test_causes_are_read(tmp_path: Path) -> None:
    assert not why.causes(tmp_path)
    (tmp_path / "variations.json").write_text(variations.written({"acks": TABLES}))
    file = tmp_path / "causes.toml"
    entry = (
        '["p.a"]\nkind = "setting"\ntable = "acks"\nrow = "an ACK for each packet"\nsays = "So."'
    )
    file.write_text(entry)
    cause = why.causes(tmp_path)["p.a"]
    words = "`p.a`: holds with *an ACK for each packet*: 5 (4 to 6) %. So. "
    assert cause.in_words() == f"{words}([acks](reproductions-causes.md#p-acks))"
    assert cause.as_json()["shows"] == "5 (4 to 6) %"
    for wrong, message in (
        (entry.replace("setting", "luck"), "kind is one of"),
        (entry.replace("each packet", "none"), "has no row"),
        (entry.replace("setting", "hosts"), "needs kind, profile, says"),
    ):
        file.write_text(wrong)
        with pytest.raises(Mistake, match=message):
            why.causes(tmp_path)
