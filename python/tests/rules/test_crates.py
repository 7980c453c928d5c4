"""Rules of the crates: their tests, who knows whom in the simulator, and where `unsafe` is."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[3] / "crates"
SIM = CRATES / "sim/src"

ORDER = (
    "ids",
    "packet",
    "topology",
    "ranks",
    "ports",
    "table",
    "timeline",
    "deployed",
    "empty_network",
    "course",
    "ideal",
    "transport",
    "drill",
    "flow",
    "records",
    "observe",
    "routing",
    "engine",
    "node",
    "operations",
    "nullable",
    "jobs",
    "lookahead",
    "network",
    "build_error",
    "carriers",
    "pauses",
    "deadlock",
    "stall",
    "simulation",
    "run",
)
"""Folders and single files of `crates/sim/src`: each knows only those before it."""


KNOWS: dict[str, set[str]] = {
    "units": set(),
    "wire": set(),
    "config": {"units"},
    "qdisc": {"units", "config"},
    "congestion": {"units", "config"},
    "scenario": {"units", "config", "qdisc", "congestion"},
    "sim": {"units", "config", "wire", "qdisc", "congestion", "scenario"},
    "live": {"units", "config", "wire", "qdisc", "scenario"},
    "python": {"units", "config", "qdisc", "scenario", "sim", "live"},
}
"""Crates that each crate may know."""


def test_crates_know_those_below_them() -> None:
    for name, may in KNOWS.items():
        manifest = tomllib.loads((CRATES / name / "Cargo.toml").read_text())
        knows = {each.removeprefix("switchbed-") for each in manifest["dependencies"]}
        assert knows & KNOWS.keys() <= may, name
    assert {path.parent.name for path in CRATES.glob("*/Cargo.toml")} == KNOWS.keys()


def test_every_file_of_rust_tests_is_run() -> None:
    """Where a crate's are one program, a file that it does not name would be no test."""
    roots = [*CRATES.glob("*/tests/all.rs"), *CRATES.glob("*/tests/*/main.rs")]
    assert roots
    for root in roots:
        home = root.parents[1 if root.stem == "all" else 2]
        assert "autotests = false" in (home / "Cargo.toml").read_text()
        files = {file.stem for file in root.parent.glob("*.rs")} - {root.stem}
        files |= {folder.parent.name for folder in root.parent.glob("*/mod.rs")}
        assert {*re.findall(r"^mod (\w+);$", root.read_text(), re.M)} == files, root


def parts(folder: Path) -> dict[str, list[Path]]:
    """The files of each folder with the file that it may have beside it, and each single file."""
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.rglob("*.rs")):
        part = file.relative_to(folder).parts[0].removesuffix(".rs")
        if part != "lib":
            found.setdefault(part, []).append(file)
    return found


def first_names(tree: str) -> Iterator[str]:
    """Of what follows `crate::`: `a::{b, c}` has a, `{a::b, c}` has a and c."""
    if not tree.startswith("{"):
        yield re.split(r"\W", tree, maxsplit=1)[0]
        return
    depth, name = 0, ""
    for sign in tree:
        depth += (sign == "{") - (sign == "}")
        if depth == 0 or (depth == 1 and sign == ","):
            yield re.split(r"\W", name.strip(), maxsplit=1)[0]
            name = ""
            if depth == 0:
                return
        elif depth > 1 or sign != "{":
            name += sign


def known(text: str) -> set[str]:
    """What a file knows by a path from the crate's root, tests and links in comments included."""
    paths = (text[found.end() :] for found in re.finditer(r"(?<!\$)\bcrate::", text))
    return {name for path in paths for name in first_names(path) if name}


def wrong_way(folder: Path, order: tuple[str, ...]) -> list[str]:
    """Who knows one that does not come before it."""
    found = []
    for part, files in parts(folder).items():
        may = order[: order.index(part) + 1]
        for file in files:
            # A file of the root reaches the root's others by `super`, too.
            text = file.read_text()
            if file.parent == folder or file == folder / part / "mod.rs":
                text = re.sub(rf"(?<!::)\bsuper::(?={'|'.join(order)})\b", "crate::", text)
            name = file.relative_to(folder)
            found += [f"{name} knows {other}" for other in sorted(known(text)) if other not in may]
    return found


def test_the_order_names_all_of_the_simulator() -> None:
    assert sorted(ORDER) == sorted(parts(SIM))
    folders = re.findall(r"^//! \| \[?`(\w+)`\]? \|", (SIM / "lib.rs").read_text(), re.M)
    assert folders == [part for part in ORDER if part in folders]
    # A folder beside a file of its name has more of this file.
    own = [part for part in SIM.iterdir() if part.is_dir() and not part.with_suffix(".rs").exists()]
    assert {part.name for part in own} == {*folders}


def test_a_folder_of_the_simulator_knows_only_those_before_it() -> None:
    assert wrong_way(SIM, ORDER) == []


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        ("transport/tcp/mod.rs", "use crate::node::host;", "transport/tcp/mod.rs knows node"),
        ("observe/mod.rs", "use super::engine::Ran;", "observe/mod.rs knows engine"),
        ("flow.rs", "use crate::{observe::series, ids::*};", "flow.rs knows observe"),
        ("transport/tcp.rs", "crate::network::Division,", "transport/tcp.rs knows network"),
        (
            "packet/mod.rs",
            "mod t {\n use crate::{\n  ids,\n  node::{a, b},\n };\n}",
            "packet/mod.rs knows node",
        ),
        ("node/mod.rs", "use crate::{node::host, engine::{Event, tie::Ties}, packet};", None),
        ("engine/mod.rs", "use crate::FlowRecord;", "engine/mod.rs knows FlowRecord"),
    ],
)
def test_the_wrong_way_is_seen(tmp_path: Path, file: str, line: str, says: str | None) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line + "\n")
    assert wrong_way(tmp_path, ORDER) == ([says] if says else [])


EXCEPTED: dict[str, int] = {"live": 1, "python": 1, "sim": 1}
"""Crates that allow it all the same, and at how many places: each says there why."""


def missing(root: Path) -> Iterator[str]:
    """Rows of modules' tables of files that no file has."""
    for path in root.rglob("*.rs"):
        rows = re.findall(r"^//! \| `(\w+)` \|", path.read_text(), re.M)
        for name in rows if path.name in ("lib.rs", "mod.rs") else ():
            if not (path.parent / f"{name}.rs").exists() and not (path.parent / name).is_dir():
                yield f"{path.relative_to(root)}: {name}"


def test_tables_of_files_name_those_that_are_there(tmp_path: Path) -> None:
    assert list(missing(CRATES)) == []
    (tmp_path / "mod.rs").write_text("//! | `here` | one |\n//! | `gone` | another |\n")
    (tmp_path / "here.rs").touch()
    assert list(missing(tmp_path)) == ["mod.rs: gone"]


def test_crates_forbid_unsafe_code() -> None:
    for crate in sorted(path.parent for path in CRATES.glob("*/Cargo.toml")):
        sources = {file: file.read_text() for file in crate.rglob("*.rs")}
        level = "deny" if crate.name in EXCEPTED else "forbid"
        assert f"#![{level}(unsafe_code)]\n" in sources[crate / "src" / "lib.rs"], crate
        allowed = sum(len(re.findall(r"\(unsafe_code", text)) for text in sources.values()) - 1
        assert allowed == EXCEPTED.get(crate.name, 0), crate


def test_what_is_beside_the_libraries_denies_it() -> None:
    """Tests and benches are crates of their own: the workspace's lints hold for them."""
    workspace = tomllib.loads((CRATES.parent / "Cargo.toml").read_text())
    assert workspace["workspace"]["lints"]["rust"]["unsafe_code"] == "deny"
    for crate in CRATES.glob("*/Cargo.toml"):
        assert tomllib.loads(crate.read_text())["lints"] == {"workspace": True}, crate
