"""Rates over time beside fair shares."""

from pathlib import Path

import pytest

from switchbed import pictures, shares

ROOT = Path(__file__).parents[2]


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """Figure 6's first 40 ms, of which the rates are measured every 2."""
    text = (ROOT / "scenarios/afqcn-fig6.toml").read_text()
    head, tail = text[: text.index("# The rate at which")], text[text.index("[measure]") :]
    tail = tail.replace("100ms", "10ms").replace('"10ms"\ngood', '"1ms"\ngood')
    tail = tail.replace('goodput_every = "10ms"', 'goodput_every = "2ms"').replace("6s", "40ms")
    path = tmp_path / "short.toml"
    path.write_text(head + tail)
    return path


def test_rates_come_with_their_fair_shares(short: Path) -> None:
    runs = shares.runs(short)
    assert [run.label for run in runs] == ["qcn", "af-qcn"]
    for run in runs:
        assert len(run.rates) == 20 * 4
        # Four flows share 10 Gbps, 96 % of it payload.
        assert set(run.rates["fair_bps"].round(3)) == {2.4e9}
        total = run.rates.filter(run.rates["time_s"] > 0.02)["goodput_bps"].sum() / 10
        assert 8e9 < total <= 9.61e9
        ratios = shares.ratio(run, 0.02)
        assert len(ratios) == 10 * 4
        assert ratios == sorted(ratios)
        assert len(run.queue) > 30


def test_both_kinds_of_picture_are_drawn(short: Path, tmp_path: Path) -> None:
    shares.over_time(short, tmp_path / "time.png")
    shares.over_fair(short, tmp_path / "fair.png", 0.02)
    for name in ("time", "fair"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", [*shares.PICTURES, *shares.DISTRIBUTIONS])
def test_each_is_on_a_page(name: str) -> None:
    folder = ROOT / pictures.FOLDER
    assert (folder / f"{name}.png").exists()
    assert any(f"]({name}.png)" in page.read_text() for page in folder.glob("*.md"))
