"""Files of Rust that know each other in a circle; programs that run before all is defined."""

import ast
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


def uses(text: str) -> list[tuple[bool, str]]:
    """The paths that a text's `use` lines name, each with whether it hands the name on."""
    found = re.findall(r"^\s*(pub(?:\([a-z]+\))? )?use ([^;]+);", text, re.M)
    return [(bool(public), leaf) for public, tree in found for leaf in leaves(tree)]


def known(source: Path) -> dict[str, set[str]]:
    """The files whose names each file of a crate uses, without tests; handing on is no use."""
    files = {
        file.relative_to(source).with_suffix("").as_posix().removesuffix("/mod"): file
        for file in source.rglob("*.rs")
        if file.name != "lib.rs"
    }
    texts = {
        name: re.sub(r"//.*|pub\(in [\w:]+\)", "", file.read_text().split("#[cfg(test)]")[0])
        for name, file in {**files, "": source / "lib.rs"}.items()
    }

    def full(name: str, path: str) -> list[str] | None:
        """A path from the crate's root, as the file means it; `None`: one of another crate."""
        here = name.split("/") if name else []
        first, *rest = re.sub(r" as \w+$", "", path).split("::")
        match first:
            case "crate":
                return rest
            case "self":
                return [*here, *rest]
            case "super":
                up = 1 + sum(1 for part in rest if part == "super")
                return [*here[: len(here) - up], *(part for part in rest if part != "super")]
        return [*here, first, *rest] if "/".join([*here, first]) in files else None

    handed_on = {
        (name, re.split(r"::| as ", path)[-1]): whole
        for name, text in texts.items()
        for public, path in uses(text)
        if public and (whole := full(name, path))
    }

    def file_of(parts: list[str], depth: int = 0) -> str | None:
        """The file in which a name is defined, through those that hand it on."""
        for n in range(len(parts), -1, -1):
            head = "/".join(parts[:n])
            if head in texts and n < len(parts) and depth < 9:
                whole = handed_on.get((head, parts[n]))
                if whole and (other := file_of(whole, depth + 1)):
                    return other
            if head in files:
                return head
        return None

    found = {}
    for name, text in texts.items():
        paths = [path for public, path in uses(text) if not public]
        body = re.sub(r"^\s*(?:pub(?:\([a-z]+\))? )?use [^;]+;", "", text, flags=re.M)
        paths += re.findall(r"(?<![\w:])[a-z_]+::[\w:]*\w", body)
        wholes = (whole for path in paths if (whole := full(name, path)))
        others = {other for whole in wholes if (other := file_of(whole))}
        found[name] = others - {name}
    del found[""]
    return found


def circle(edges: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def reached(edges: dict[str, set[str]], start: str) -> set[str]:
    """All that a file knows, by way of others too."""
    found, open_ = set[str](), [start]
    while open_:
        new = edges[open_.pop()] - found
        found |= new
        open_ += new
    return found


def between_folders(source: Path) -> list[tuple[str, str]]:
    """Files that know each other, by way of others too, and are in different folders."""
    edges = known(source)
    all_of = {name: reached(edges, name) for name in edges}

    def folder(name: str) -> str:
        return name if (source / name).is_dir() else name.rpartition("/")[0]

    return [
        (name, other)
        for name, others in edges.items()
        for other in sorted(others)
        if name in all_of[other] and folder(name) != folder(other)
    ]


def test_no_two_files_of_scenario_know_each_other() -> None:
    assert circle(known(CRATES / "scenario/src")) == []


@pytest.mark.parametrize(
    "crate",
    sorted(CRATES.iterdir()),
    ids=lambda crate: crate.name,
)
def test_no_circle_of_a_crate_joins_folders(crate: Path) -> None:
    assert between_folders(crate / "src") == []


def test_a_circle_is_seen(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\npub use b::c::{Deep, Other as Named};\n")
    (tmp_path / "a.rs").write_text("use crate::{Deep, b};\n")
    (tmp_path / "b/mod.rs").write_text("pub mod c;\n")
    (tmp_path / "b/c.rs").write_text("use std::fmt;\n#[cfg(test)]\nmod tests { use crate::a; }\n")
    assert circle(known(tmp_path)) == []
    assert between_folders(tmp_path) == []
    (tmp_path / "b/c.rs").write_text("fn f() { crate::a::g() }\n")
    assert {"a", "b/c"} <= {*circle(known(tmp_path))}
    assert ("b/c", "a") in between_folders(tmp_path)
    (tmp_path / "b/c.rs").write_text("fn f() { super::d::g() }\n")
    (tmp_path / "b/d.rs").write_text("fn g() { super::c::f() }\n")
    assert circle(known(tmp_path))
    assert between_folders(tmp_path) == []


@pytest.mark.parametrize(
    ("tree", "paths"),
    [("a::b", ["a::b"]), ("a::{b, c::{d, e}}", ["a::b", "a::c::d", "a::c::e"])],
)
def test_leaves_of_a_use(tree: str, paths: list[str]) -> None:
    assert leaves(tree) == paths


def behind_the_call(text: str) -> list[str]:
    """Names that a program defines behind the lines that run it, when it cannot know them yet."""
    body = ast.parse(text).body
    calls = [nth for nth, node in enumerate(body) if _runs(node)]
    return [ast.unparse(node).splitlines()[0] for node in body[calls[0] + 1 :]] if calls else []


def _runs(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def test_programs_run_once_all_their_names_are_known() -> None:
    call = 'if __name__ == "__main__":\n    main()\n'
    assert behind_the_call(f"def main(): print(X)\n{call}X = 1\n") == ["X = 1"]
    assert behind_the_call(f"X = 1\n{call}") == behind_the_call("X = 1\n") == []
    folders = ("docs", "evidence", "examples", "papers", "python")
    files = [file for folder in folders for file in (CRATES.parent / folder).rglob("*.py")]
    found = {str(file): behind_the_call(file.read_text(encoding="utf-8")) for file in files}
    assert files
    assert {file: names for file, names in found.items() if names} == {}
