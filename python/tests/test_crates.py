"""What cargo is told of the Rust tests."""

import re
from pathlib import Path

CRATES = Path(__file__).parents[2] / "crates"


def test_every_file_of_rust_tests_is_run() -> None:
    """Where a crate's are one program, a file that it does not name would be no test."""
    roots = list(CRATES.glob("*/tests/all.rs"))
    assert roots
    for root in roots:
        assert "autotests = false" in (root.parents[1] / "Cargo.toml").read_text()
        files = {file.stem for file in root.parent.glob("*.rs")} - {"all"}
        files |= {folder.parent.name for folder in root.parent.glob("*/mod.rs")}
        assert {*re.findall(r"^mod (\w+);$", root.read_text(), re.M)} == files, root
