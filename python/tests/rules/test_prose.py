"""How we write, as far as it can be counted: `python python/tests/support/prose.py --list` has the
places."""

from pathlib import Path

import prose
import pytest

WORDS = {"README.md": 800, "ARCHITECTURE.md": 1500, "docs/performance.md": 1000}
"""The most that pages have which are read first."""


def test_comments_open_with_a_noun_or_a_verb_and_say_more_than_the_name() -> None:
    assert prose.pronouns() == []
    assert len(prose.short()) <= 0.12 * sum(1 for _ in prose.documented())


def test_pages_have_short_sentences_and_the_fields_words() -> None:
    assert prose.long() == []
    assert prose.house() == []


@pytest.mark.parametrize(("name", "most"), WORDS.items())
def test_a_page_that_is_read_first_is_short(name: str, most: int) -> None:
    assert 0 < len((prose.ROOT / name).read_text().split()) <= most


def test_links_lead_to_files_and_headings_of_the_repository(tmp_path: Path) -> None:
    assert prose.dead() == []
    assert prose.LINK.findall('[a](b.md#c) ![d](e.png) [f](g.md "h") [i](https://j)') == [
        "b.md#c",
        "e.png",
        "g.md",
    ]
    page = tmp_path / "page.md"
    page.write_text('# `AF-QCN`, and [more](x.md)\n\n<a id="here"></a>\n\n```sh\n# no\n```\n')
    assert prose.anchors(page) == {"af-qcn-and-more", "here"}


def test_subjects_of_commits_name_a_part_and_an_action() -> None:
    assert prose.subjects() == []


def test_what_is_counted_is_seen() -> None:
    # Each count must be able to fail.
    assert prose.PRONOUNS.match("What is wrong, and in which line.")
    assert any(it.text.startswith("The mistake with its line") for it in prose.openings())
    assert prose.SUBJECT.fullmatch("sim: Sample the RTT from the SYN-ACK's ACK")
    assert not prose.SUBJECT.fullmatch("sim: what is numbered is no place.")
    assert prose.HOUSE.search("the outlet of a port")
    texts = [it.text for it in prose.sentences()]
    assert max(len(text.split()) for text in texts) > 20
    assert sum(1 for _ in prose.documented()) > 5000
