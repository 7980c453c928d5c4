"""Experiments on causes: what the files say, what is committed of them, and the runner."""

from pathlib import Path

import pytest

from switchbed._native import Mistake
from switchbed.store import Store
from switchbed_papers.reproduce import claims, variations
from switchbed_papers.reproduce.variations import Readings, Settings

PAPERS = claims.papers()


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_each_experiment_has_its_tables_and_a_word_in_the_readme(paper: claims.Paper) -> None:
    known, committed = variations.load(paper), variations.results(paper.folder)
    assert list(known) == list(committed)
    readme = (paper.folder / "README.md").read_text()
    for name, experiment in known.items():
        assert f"`{name}`" in readme, name
        tables = committed[name]
        for asked in experiment.tables:
            for _ in asked.figures if isinstance(asked, Settings) else [asked]:
                of, *tables = tables
                names = [row[0] for row in of.rows]
                if isinstance(asked, Settings):
                    assert names == ["**the paper**", *asked.settings], name
                else:
                    others = [f"{read} on {on}" for on in asked.profiles for read in asked.readings]
                    assert names == ["**the paper**", *asked.readings, *others], name
        assert not (experiment.tables and tables), name


def test_what_is_committed_is_read_and_written_alike() -> None:
    for paper in PAPERS.values():
        file = paper.folder / "variations.json"
        assert variations.written(variations.results(paper.folder)) == file.read_text()


def test_readings_of_committed_rows_are_as_committed(tmp_path: Path) -> None:
    paper = PAPERS["eecn"]
    (asked,) = variations.load(paper)["on_others"].tables
    assert isinstance(asked, Readings)
    assert asked.tables(paper, Store(tmp_path)) == variations.results(paper.folder)["on_others"]


def test_a_measure_is_read_otherwise() -> None:
    asked = {"kind": "above", "of": "a", "base": "b", "where": {"load": 0.5}}
    swapped = variations.read_as(asked, {"swapped": True, "set": {"kind": "below"}})
    assert swapped == {**asked, "kind": "below", "of": "b", "base": "a"}
    more = variations.read_as(asked, {"where": {"scheme": "x"}})
    assert more["where"] == {"load": 0.5, "scheme": "x"}
    assert variations.read_as(asked, {"instead": {"kind": "value"}}) == {"kind": "value"}


def test_claims_are_measured_with_some_settings_of_the_hosts_changed(tmp_path: Path) -> None:
    longer = ("transport.rto_initial=1s", "transport.rto_min=200ms")
    asked = Settings(("fig2",), {"as they are": (), "longer": longer}, seeds=1)
    (table,) = asked.tables(PAPERS["cqrd"], Store(tmp_path))
    assert table.head[1] == "`cqrd.fig2.cq`"
    assert [row[0] for row in table.rows] == ["**the paper**", "as they are", "longer"]
    # What OQ's small flows wait for is a timeout.
    shorter, much = (float(row[2].split(" ")[0].replace(",", "")) for row in table.rows[1:])
    assert shorter < 20
    assert much > 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\n", "a: needs says"),
        ('[a]\nsays = "S."\nmore = 1\n', "a: needs says"),
        ('[a]\nsays = "S."\n[[a.tables]]\nfigures = ["fig2"]\n', "figures and settings"),
        (
            '[a]\nsays = "S."\n[[a.tables]]\nfigures = ["fig0"]\nsettings = {}\n',
            "tables.0.figures: cqrd has no 'fig0'",
        ),
        (
            '[a]\nsays = "S."\n[[a.tables]]\nclaims = ["cqrd.x"]\nreadings = {}\n',
            "tables.0.claims: cqrd has no 'cqrd.x'",
        ),
        ("[a\n", "is no TOML"),
    ],
)
def test_a_mistake_in_the_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    from dataclasses import replace

    (tmp_path / "variations.toml").write_text(text)
    with pytest.raises(Mistake, match=message):
        variations.load(replace(PAPERS["cqrd"], folder=tmp_path))
