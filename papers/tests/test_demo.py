"""The demo."""

from pathlib import Path

import pytest

from switchbed_papers.demo import SCENARIO, demo


def test_the_demo_draws_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo(SCENARIO, tmp_path / "out", flows=30)
    printed = capsys.readouterr().out
    assert "not comparable" in printed
    assert "0.959" in printed
    assert (tmp_path / "out/fct-over-load.png").stat().st_size > 10_000
