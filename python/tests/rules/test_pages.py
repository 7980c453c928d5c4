"""Pages that are read first are short."""

from pathlib import Path

import pytest

WORDS = {"README.md": 800, "ARCHITECTURE.md": 1500, "docs/performance.md": 1000}


@pytest.mark.parametrize(("name", "most"), WORDS.items())
def test_a_page_that_is_read_first_is_short(name: str, most: int) -> None:
    text = (Path(__file__).parents[3] / name).read_text("utf-8")
    assert 0 < len(text.split()) <= most
