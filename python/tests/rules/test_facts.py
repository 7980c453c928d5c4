"""Facts about schemes and topologies stand in their definitions in Rust: no Python file of the
product has a name of one as a key or in a comparison."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from switchbed import _native

SOURCES = Path(_native.__file__).parent
SCHEMA = json.loads(_native.schema())["properties"]
NAMES = {
    *(scheme["name"] for scheme in json.loads(_native.schemes())),
    *SCHEMA["topology"]["properties"]["kind"]["enum"],
} - {"file"}
"""Of schemes and topologies; a topology's `file` is a word of every program."""
OTHERS = {
    ("calibration/answer.py", "star"),  # one switch, alone
    ("calibration/limits.py", "none"),
    ("directory.py", "python"),  # a key of a manifest: the interpreter's version
    ("doctor.py", "python"),  # likewise, of `--version --json`
    ("fct.py", "mq-ecn"),  # a form of files: its authors' simulator writes it
    ("live/lab.py", "star"),  # what a lab is
    ("live/switch.py", "none"),  # a column
    ("prototype/load.py", "none"),  # a value of the parameter base
    *(("tc/exporting.py", kind) for kind in ("red", "codel", "pie", "dualpi2")),  # tc's disciplines
    *(("tc/importing.py", kind) for kind in ("red", "codel", "pie", "dualpi2")),
    ("tc/shown.py", "dualpi2"),
    ("theory/plot.py", "e-ecn"),  # pictures of papers
    ("theory/plot.py", "cedm"),
}
"""Words that are no scheme's or topology's there."""


CALLS = {"get", "pop", "setdefault", "startswith", "endswith", "removeprefix", "removesuffix"}
"""Methods that look a key up, or compare."""


def words(tree: ast.AST) -> Iterator[str]:
    """Texts that are a key, are in a set, or are compared."""
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=keys):
                parts = [key for key in keys if key is not None]
            case ast.Compare(left=left, comparators=others):
                parts = [left, *others]
            case ast.MatchValue(value=value):
                parts = [value]
            case ast.Subscript(slice=ast.Constant() as key):
                parts = [key]
            case ast.Call(func=ast.Attribute(attr=attr), args=args) if attr in CALLS:
                parts = args[:1]
            case ast.Call(func=ast.Name("dict"), keywords=given):
                parts = [ast.Constant(each.arg) for each in given]
            case ast.Set(elts=elts):
                parts = elts
            case _:
                continue
        for part in parts:
            for each in ast.walk(part) if isinstance(part, ast.Tuple | ast.Set) else [part]:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def test_names_are_found_where_they_decide() -> None:
    source = """
KEYS = {"tcn": 1}
found = name == "star" or name in ("red", "pie") or table["cedm"]
match name:
    case "afd":
        pass
found = KEYS.get("ring", "pool") or name.startswith("fat-tree") or dict(tcn=1)
TREES = frozenset({"three-tier"})
label = "codel"
"""
    assert sorted(words(ast.parse(source))) == [
        "afd",
        "cedm",
        "fat-tree",
        "pie",
        "red",
        "ring",
        "star",
        "tcn",
        "tcn",
        "three-tier",
    ]


@pytest.mark.parametrize(
    "file", sorted(SOURCES.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCES))
)
def test_no_name_of_a_scheme_or_topology_decides(file: Path) -> None:
    place = file.relative_to(SOURCES).as_posix()
    found = {word for word in words(ast.parse(file.read_text())) if word in NAMES}
    assert {word for word in found if (place, word) not in OTHERS} == set()
