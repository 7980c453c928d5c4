"""Comments begin with a noun or a verb, and say more than the name of what they are on."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PRONOUNS = {"What", "Who", "Whose", "Those", "That", "Its", "Their", "Likewise", "So", "They", "It"}


def rust() -> Iterator[tuple[str, str]]:
    """Doc comments of the crates, with their places."""
    for path in ROOT.glob("crates/*/src/**/*.rs"):
        block: list[str] = []
        for number, line in enumerate([*path.read_text("utf-8").splitlines(), ""], 1):
            if found := re.match(r"\s*//[/!](.*)", line):
                block.append(found[1].strip())
            elif block:
                yield f"{path.relative_to(ROOT)}:{number - len(block)}", " ".join(block)
                block = []


def python() -> Iterator[tuple[str, str]]:
    """Docstrings of the packages, with their places; those of fields are expressions."""
    for folder in ("python/switchbed", "papers/switchbed_papers"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    text = node.value.value
                    if isinstance(text, str):
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", text.split("\n\n")[0]


def test_comments_begin_with_a_noun_or_a_verb() -> None:
    found = [*rust(), *python()]
    first = [(place, re.match(r"[A-Za-z']*", text.strip())) for place, text in found]
    pronouns = [place for place, word in first if word and word[0] in PRONOUNS]
    assert len(pronouns) <= 0.01 * len(found), pronouns


def test_comments_say_more_than_a_name() -> None:
    found = [*rust(), *python()]
    short = [place for place, text in found if len(text.split()) <= 4]
    assert len(short) <= 0.12 * len(found), short
