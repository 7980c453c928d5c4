"""The testbed figures of the MQ-ECN paper: each shows what its runs measured."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from drawn import Drawing, drawing, legend, points
from matplotlib.axes import Axes
from matplotlib.container import BarContainer, ErrorbarContainer

from switchbed._native import Results
from switchbed.plots.fct import PANELS
from switchbed_papers import figures

__all__ = ["drawing"]
ROOT = Path(__file__).parents[2]
SHORT = {
    "mqecn-fig1": ("run.until=150ms",),
    "mqecn-fig2": ("flows=50", "compare.load=[0.2, 0.4]", "compare.seed=[1]"),
    "mqecn-fig3": ("run.until=600ms",),
    "mqecn-fig6": ("run.until=800ms",),
    "mqecn-fig7": ("flows=50", "compare.load=[0.2, 0.4]", "compare.seed=[1]"),
}


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def draw(name: str, tmp_path: Path, drawing: Drawing) -> list[dict[str, Any]]:
    """The summaries of the figure's runs, once it is drawn."""
    figures.draw(name, tmp_path / "drawn.png", SHORT[name])
    title = tomllib.loads((ROOT / f"scenarios/{name}.toml").read_text())["title"]
    assert drawing.figure.get_suptitle() == title
    return [json.loads(results.summary) for _, results in drawing.runs]


def test_each_is_on_its_page() -> None:
    page = (ROOT / "docs/mqecn-testbed.md").read_text()
    assert re.findall(r"\]\(mqecn/(.*)\.png\)", page) == list(figures.FIGURES)
    assert re.findall(r"switchbed_papers\.figures (.*)\n", page) == list(figures.FIGURES)
    assert all((ROOT / figures.FOLDER / f"{name}.png").exists() for name in figures.FIGURES)


def is_distribution(axes: Axes, results: list[Results], labels: list[str]) -> None:
    """Of each run's probes, under these labels."""
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round-trip time (us)", "share of probes")
    drawn = axes.get_lines()
    assert legend(axes) == [str(line.get_label()) for line in drawn]
    for line, run, label in zip(drawn, results, labels, strict=True):
        rtts_us = sorted(pl.DataFrame(run.probes)["rtt_s"].drop_nulls() * 1e6)
        n = len(rtts_us)
        assert n > 40
        assert points(line) == (rtts_us, [(i + 1) / n for i in range(n)])
        mean = sum(rtts_us) / n
        assert str(line.get_label()).startswith(f"{label}: mean {mean:.0f}, p99 ")


def test_figure_1_has_a_distribution_a_number_of_queues(tmp_path: Path, drawing: Drawing) -> None:
    draw("mqecn-fig1", tmp_path, drawing)
    (axes,) = drawing.figure.axes
    labels = ["1 queue", "2 queues", "4 queues", "8 queues"]
    is_distribution(axes, [results for _, results in drawing.runs], labels)
    # More queues take turns.
    middle = [xs[len(xs) // 2] for xs, _ in map(points, axes.get_lines())]
    assert middle == sorted(middle)


def goodput_mbps(summary: dict[str, Any], service: int) -> float:
    (found,) = (each for each in summary["classes"] if each["class"] == service)
    return float(found["goodput_bps"]) / 1e6


def test_figure_3_has_two_bars_a_number_of_flows(tmp_path: Path, drawing: Drawing) -> None:
    summaries = draw("mqecn-fig3", tmp_path, drawing)
    (axes,) = drawing.figure.axes
    assert axes.get_xlabel() == "flows of service 1 : flows of service 2"
    assert axes.get_ylabel() == "goodput (Mbps)"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1 : 1", "1 : 4", "1 : 8"]
    assert legend(axes) == ["service 1", "service 2"]
    heights = []
    for bars in axes.containers:
        assert isinstance(bars, BarContainer)
        heights.append([bar.get_height() for bar in bars])
    assert heights == [[goodput_mbps(s, service) for s in summaries] for service in (0, 1)]
    assert all(0 < mbps < 1000 for of in heights for mbps in of)


def test_figure_6_has_goodput_over_time_and_distributions(tmp_path: Path, drawing: Drawing) -> None:
    last = draw("mqecn-fig6", tmp_path, drawing)[-1]
    left, right = drawing.figure.axes
    assert left.get_title() == "goodput, MQ-ECN"
    assert (left.get_xlabel(), left.get_ylabel()) == ("time (s)", "goodput (Mbps)")
    over_time = pl.DataFrame(drawing.runs[-1][1].goodput).sort("time_s")
    of = [over_time.filter(pl.col("class") == service) for service in (0, 1)]
    mbps = [(each["goodput_bps"] / 1e6).to_list() for each in of]
    both = [sum(pair) for pair in zip(*mbps, strict=True)]
    drawn = [points(line) for line in left.get_lines()]
    assert [xs for xs, _ in drawn] == [of[0]["time_s"].to_list()] * 3
    assert [ys for _, ys in drawn] == [pytest.approx(both), *mbps]
    assert legend(left) == [
        f"both: {last['goodput_bps'] / 1e6:.0f} Mbps",
        *(f"service {1 + n}: {goodput_mbps(last, n):.0f} Mbps" for n in (0, 1)),
    ]
    is_distribution(right, [results for _, results in drawing.runs], ["Standard", "MQ-ECN"])


@pytest.mark.parametrize("name", ["mqecn-fig2", "mqecn-fig7"])
def test_figures_2_and_7_divide_times_by_the_first_schemes(
    name: str, tmp_path: Path, drawing: Drawing
) -> None:
    draw(name, tmp_path, drawing)
    times = {
        (outcome.settings["scheme"], float(outcome.settings["load"])): json.loads(results.summary)[
            "fct"
        ]
        for outcome, results in drawing.runs
    }
    schemes = list(dict.fromkeys(scheme for scheme, _ in times))
    first = schemes[0]
    assert legend(drawing.figure) == schemes
    headings = [axes.get_title() for axes in drawing.figure.axes]
    assert headings == list(PANELS.values())
    for axes, (size_class, statistic) in zip(drawing.figure.axes, PANELS, strict=True):
        assert axes.get_xlabel() == "load (%)"
        assert axes.get_ylabel() == f"FCT relative to {first}"
        for bars in axes.containers:
            assert isinstance(bars, ErrorbarContainer)
            xs, ys = points(bars.lines[0])
            loads = (0.2, 0.4)
            # Points that would hide each other stand a little apart.
            assert xs == pytest.approx([20, 40], abs=3)
            assert ys == pytest.approx(
                [
                    times[bars.get_label(), load][size_class][statistic]
                    / times[first, load][size_class][statistic]
                    for load in loads
                ]
            )
