"""The pictures of the schemes' pages."""

from pathlib import Path

import pytest

from switchbed import pictures

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_each_is_drawn_and_shown(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.png"
    pictures.draw(name, path, ROOT)
    assert path.read_bytes().startswith(b"\x89PNG")
    page = ROOT / pictures.FOLDER / f"{name}.md"
    assert f"]({name}.png)" in page.read_text()
    assert page.with_suffix(".png").exists()
