"""Pages of the papers that the site keeps once they are made."""

from pathlib import Path

import pytest

from switchbed_papers import site


def test_two_at_the_same_time_keep_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "KEPT", tmp_path / "kept")
    made: list[str] = []

    def first(folder: Path) -> None:
        site._kept(tmp_path / "second", ["page.md"], second, "input")
        made.append("first")
        (folder / "page.md").write_text("page")

    def second(folder: Path) -> None:
        made.append("second")
        (folder / "page.md").write_text("page")

    for _ in range(2):
        site._kept(tmp_path / "first", ["page.md"], first, "input")
        assert (tmp_path / "first/page.md").read_text() == "page"
    assert made == ["second", "first"]
    assert len(list((tmp_path / "kept").iterdir())) == 1
