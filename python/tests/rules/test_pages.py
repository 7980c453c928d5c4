"""Pages have short sentences and cells, and the field's words."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
]
LIMIT = 30
"""Words of a sentence or of a table's cell."""
BANNED = [
    "intake",
    "outlet",
    "stations",
    "holdings",
    "elsewhere",
    "room",
    "yard",
    "witness",
    "finding",
    "tidy",
    "orders",
    "aside",
    "patience",
    "extended",
]
WORDS = {"README.md": 800, "ARCHITECTURE.md": 1500, "docs/performance.md": 1000}


def faults(text: str) -> list[str]:
    """Long sentences, long cells and banned words of a page, code blocks left out."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    prose = re.sub(r"^\|.*$", "", text, flags=re.M)
    found = []
    for line in re.findall(r"^\|(.*)\|$", text, re.M):
        found += [f"cell: {cell}" for cell in line.split("|") if len(cell.split()) > LIMIT]
    for paragraph in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", prose):
        joined = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        sentences = re.split(r"(?<=[.!?:;])\s+(?=[A-Z`])", joined)
        found += [f"sentence: {each}" for each in sentences if len(each.split()) > LIMIT]
    return found + [f"word: {word}" for word in BANNED if re.search(rf"\b{word}\b", text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_in_plain_words(page: Path) -> None:
    assert faults(page.read_text("utf-8")) == []


@pytest.mark.parametrize(("name", "most"), WORDS.items())
def test_a_page_that_is_read_first_is_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_text("utf-8").split()) <= most


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("word " * 31, 1),
        ("word " * 30, 0),
        ("Some words. " * 31, 0),
        ("- " + "word " * 16 + "\n- " + "word " * 16, 0),
        ("| head |\n| --- |\n| " + "word " * 31 + "|", 1),
        ("```text\n" + "word " * 31 + "\n```", 0),
        ("A frame goes elsewhere.", 1),
    ],
)
def test_what_is_long_is_found(text: str, number: int) -> None:
    assert len(faults(text)) == number
