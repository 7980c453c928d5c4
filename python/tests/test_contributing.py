"""The recipes of docs/contributing name places that there are, and what they say is in them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "docs/contributing").glob("*.md"))
PLACE = re.compile(r"`((?:crates|python|examples|docs|CHANGELOG)[\w/.-]*(?:\.\w+|/))`(?! \(new)")


def names_of(row: str) -> list[str]:
    """The Rust names that a row of a recipe's table has in backticks."""
    return re.findall(r"`([A-Za-z_]{3,})`", row)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_the_places_of_a_recipe_are_there(recipe: Path) -> None:
    places = PLACE.findall(recipe.read_text())
    assert len(places) >= 2
    assert [place for place in places if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_what_a_recipe_names_is_where_it_says(recipe: Path) -> None:
    rows = re.findall(r"^\| `([\w/.-]+\.rs)` \| (.*) \|$", recipe.read_text(), re.M)
    assert rows
    for place, what in rows:
        text = (ROOT / place).read_text() if (ROOT / place).exists() else ""
        assert [name for name in names_of(what) if name not in text] == [], place


def test_the_code_of_the_recipe_is_of_the_scheme_that_is_built_and_run() -> None:
    recipe = (ROOT / "docs/contributing/scheme.md").read_text()
    scheme = (ROOT / "examples/own-scheme/src/tcn.rs").read_text().split()
    blocks = re.findall(r"^ *```rust\n(.*?)^ *```$", recipe, re.M | re.S)
    assert len(blocks) == 2
    assert [block for block in blocks if " ".join(block.split()) not in " ".join(scheme)] == []


def test_a_scheme_is_a_line_of_the_registry_and_nowhere_else_by_name() -> None:
    """Where a scheme's name stands in quotes in the crates, but for its own file and tests."""
    of = re.compile(r'name: "([a-z-]+)",\n\s+paper:')
    definitions = {
        name: file
        for file in (ROOT / "crates/qdisc/src").rglob("*.rs")
        for name in of.findall(file.read_text())
    }
    assert len(definitions) >= 19
    elsewhere = []
    for file in (ROOT / "crates").glob("*/src/**/*.rs"):
        code = file.read_text().split("#[cfg(test)]")[0]
        code = re.sub(r"//.*", "", code)
        for name, home in definitions.items():
            # Messages and defaults show names as examples; `none` is many a word.
            compared = re.search(rf'(?:==|!=)\s*"{name}"|^\s*"{name}"\s*(?:=>|\|)', code, re.M)
            if file != home and name != "none" and compared:
                elsewhere.append((name, file.name))
    assert elsewhere == []
