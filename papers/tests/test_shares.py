"""Rates over time beside fair shares."""

import tomllib
from pathlib import Path

import polars as pl
import pytest
from drawn import Drawing, drawing, points

from switchbed_papers import shares

__all__ = ["drawing"]
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
        assert len(run.queue) > 30


def test_rates_and_queues_are_drawn_over_time(
    short: Path, tmp_path: Path, drawing: Drawing
) -> None:
    shares.over_time(short, tmp_path / "time.png")
    title = tomllib.loads(short.read_text())["title"]
    assert drawing.figure.get_suptitle() == title
    rows = [drawing.figure.axes[:2], drawing.figure.axes[2:]]
    titles = [left.get_title(loc="left") for left, _ in rows]
    assert titles == ["qcn", "af-qcn"]
    assert [axes.get_xlabel() for axes in drawing.figure.axes] == ["", "", *["time (s)"] * 2]
    for (left, right), (_, results) in zip(rows, drawing.runs, strict=True):
        assert (left.get_ylabel(), right.get_ylabel()) == ("rate (Gbps)", "queue (KB)")
        goodput, series = pl.DataFrame(results.goodput), pl.DataFrame(results.series)
        expected = []
        for _, of in goodput.group_by("class", maintain_order=True):
            times = of["time_s"].to_list()
            expected += [(times, (of["goodput_bps"] / 1e9).to_list()), (times, [2.4] * len(times))]
        assert len(expected) == 2 * 4
        drawn = [points(line) for line in left.get_lines()]
        assert [xs for xs, _ in drawn] == [xs for xs, _ in expected]
        assert [ys for _, ys in drawn] == [pytest.approx(ys) for _, ys in expected]
        queue = (series["time_s"].to_list(), (series["bytes"] / 1e3).to_list())
        assert [points(line) for line in right.get_lines()] == [queue]
