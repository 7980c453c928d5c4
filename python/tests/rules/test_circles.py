"""Files of Rust that know each other in a circle."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[3] / "crates"


def leaves(tree: str) -> list[str]:
    """The paths of a `use`: `a::{b, c::d}` has `a::b` and `a::c::d`."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if not brace:
        return [tree]
    parts, depth, part = [], 0, ""
    for sign in rest[: rest.rindex("}")]:
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += sign
    return [head + leaf for part in [*parts, part] if part.strip() for leaf in leaves(part)]


def uses(text: str) -> list[str]:
    trees = re.findall(r"^(?:pub(?:\([a-z]+\))? )?use ([^;]+);", text, re.M)
    return [leaf for tree in trees for leaf in leaves(tree)]


def known(source: Path) -> dict[str, set[str]]:
    """For each file of a crate, without its tests, the files that it knows."""
    files = {
        file.relative_to(source).with_suffix("").as_posix().removesuffix("/mod"): file
        for file in source.rglob("*.rs")
        if file.name != "lib.rs"
    }
    exported = {leaf.split("::")[-1]: leaf for leaf in uses((source / "lib.rs").read_text())}

    def file_of(path: str) -> str | None:
        parts = path.split("::")
        heads = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((head for head in heads if head in files), None)

    found = {}
    for name, file in files.items():
        text = file.read_text().split("#[cfg(test)]")[0]
        above = name.rpartition("/")[0].replace("/", "::")
        homes = {"crate": "", "super": above, "self": name.replace("/", "::")}
        others = set()
        for path in [*uses(text), *re.findall(r"\b(?:crate|super)::[\w:]+", text)]:
            root, _, rest = path.partition("::")
            if root in homes:
                full = f"{homes[root]}::{rest}".removeprefix("::")
                other = file_of(full) or file_of(exported.get(full.split("::")[0], ""))
                others |= {other} - {None, name} if other else set()
        found[name] = others
    return found


def circle(edges: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_two_files_of_scenario_know_each_other() -> None:
    assert circle(known(CRATES / "scenario/src")) == []


def test_a_circle_is_seen(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\npub use b::c::{Deep, Other as Named};\n")
    (tmp_path / "a.rs").write_text("use crate::{Deep, b};\n")
    (tmp_path / "b/mod.rs").write_text("pub mod c;\n")
    (tmp_path / "b/c.rs").write_text("use std::fmt;\n#[cfg(test)]\nmod tests { use crate::a; }\n")
    assert circle(known(tmp_path)) == []
    (tmp_path / "b/c.rs").write_text("fn f() { crate::a::g() }\n")
    assert {"a", "b/c"} <= {*circle(known(tmp_path))}


@pytest.mark.parametrize(
    ("tree", "paths"),
    [("a::b", ["a::b"]), ("a::{b, c::{d, e}}", ["a::b", "a::c::d", "a::c::e"])],
)
def test_leaves_of_a_use(tree: str, paths: list[str]) -> None:
    assert leaves(tree) == paths
