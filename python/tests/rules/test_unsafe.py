"""No crate of ours has `unsafe` code, but for what is named here."""

import re
import tomllib
from pathlib import Path

CRATES = Path(__file__).parents[3] / "crates"
EXCEPTED: dict[str, int] = {"live": 1, "sim": 1}
"""Crates that allow it all the same, and at how many places: each says there why."""


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
