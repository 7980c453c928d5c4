"""The testbed figures of the MQ-ECN paper."""

from pathlib import Path

import pytest

from switchbed import figures

ROOT = Path(__file__).parents[2]
SHORT = {
    "mqecn-fig1": ("run.until=150ms",),
    "mqecn-fig2": ("flows=50", "compare.load=[0.2, 0.4]", "compare.seed=[1]"),
    "mqecn-fig3": ("run.until=600ms",),
    "mqecn-fig6": ("run.until=800ms",),
    "mqecn-fig7": ("flows=50", "compare.load=[0.2, 0.4]", "compare.seed=[1]"),
}


@pytest.mark.parametrize("name", figures.FIGURES)
def test_each_is_drawn_and_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    path = tmp_path / f"{name}.png"
    figures.draw(name, path, SHORT[name])
    assert path.read_bytes().startswith(b"\x89PNG")
    page = (ROOT / "docs/mqecn-testbed.md").read_text()
    assert f"](mqecn/{name}.png)" in page
    assert f"switchbed.figures {name}\n" in page
    assert (ROOT / figures.FOLDER / f"{name}.png").exists()
