"""The pictures of the schemes' pages, the demo's, and pages that the site keeps."""

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest
from drawn import Drawing, drawing, points

from switchbed import library
from switchbed_papers import pictures, site
from switchbed_papers.demo import SCENARIO, demo

__all__ = ["drawing"]
ROOT = Path(__file__).parents[2]
PANELS = {
    "schemes/cedm": ["per-queue", "cedm"],
    "schemes/cqrd": ["oq", "hcf", "cq", "cqrd", "cqrd-configured"],
    "schemes/codel": [
        "step, 65 packets",
        "CoDel, 500 us",
        "FQ-CoDel, 500 us",
        "COBALT, 500 us",
        "PIE, 50 us",
        "ECN#, 70 and 10 us",
    ],
    "schemes/buffers": ["dynamic", "abm", "fab", "lqd", "occamy"],
    "schemes/dualpi2": ["step, 65 packets", "DualPI2, 50 us"],
    "schemes/e-ecn": ["per-queue", "per-queue-dq", "e-ecn"],
    "schemes/pmsb": [
        "step a queue, 65 packets",
        "step a port, 65 packets",
        "PMSB, 65 packets",
        "TCN, 78 us",
    ],
    "schemes/red": ["step, 65 packets", "RED, weight 1", "RED, weight 0.002"],
    "schemes/s-ecn": ["1Gbps, 10us", "1Gbps, 100us", "100Mbps, 10us", "100Mbps, 100us"],
    "pfc": ["class 0", "class 3"],
}
"""What each picture compares, from above."""


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_panel_shows_the_queues_of_a_run(name: str, tmp_path: Path, drawing: Drawing) -> None:
    pictures.draw(name, tmp_path / "drawn.png")
    figure, (scenario, *_) = drawing.figure, pictures.PICTURES[name]
    written = tomllib.loads(library.shipped(scenario).read_text())
    assert figure.get_suptitle() == written["title"]
    assert figure.get_supylabel() == "queue (KB)"
    assert [axes.get_xlabel() for axes in figure.axes] == [""] * (len(figure.axes) - 1) + [
        "time (ms)"
    ]
    warmup_ms = float(written["measure"].get("warmup", "0ms").removesuffix("ms"))
    titles = [axes.get_title(loc="left").split(": ")[0] for axes in figure.axes]
    assert titles == PANELS[name]
    for axes, (_, results) in zip(figure.axes, drawing.runs, strict=True):
        series = pl.DataFrame(results.series)
        used = [of for of in series.partition_by("queue", maintain_order=True) if of["bytes"].sum()]
        *lengths, threshold = [points(line) for line in axes.get_lines()]
        if written_threshold := used[0]["threshold_bytes"][0]:
            assert {*threshold[1]} == {written_threshold / 1e3}
        else:
            lengths.append(threshold)
        assert lengths == [
            ((of["time_s"] * 1e3).to_list(), (of["bytes"] / 1e3).to_list()) for of in used
        ]
        low, high = axes.get_ylim()
        assert low == 0
        assert high >= max(max(ys) for _, ys in lengths)
        seen = re.search(r"longest (.*) KB, link (.*)% used", axes.get_title(loc="left"))
        assert seen is not None
        # Of what came after the warm-up; samples may miss the longest.
        late = [kb for xs, ys in lengths for ms, kb in zip(xs, ys, strict=True) if ms > warmup_ms]
        assert float(seen[1]) >= max(late) - 0.05
        of_port = pl.DataFrame(results.ports).filter(port=series["port"][0])
        assert float(seen[2]) == pytest.approx(100 * of_port["utilisation"].item(), abs=0.05)


@pytest.mark.parametrize("name", [*pictures.PICTURES, *pictures.RATES])
def test_each_is_shown_on_a_page(name: str) -> None:
    pages = (ROOT / "docs").rglob("*.md")
    shown = {(page.parent / link).resolve() for page in pages for link in links(page)}
    assert ROOT / "docs" / f"{name}.png" in shown


def links(page: Path) -> list[str]:
    return re.findall(r'\]\(\S*index\.md#pictures "(\S+\.png)"\)', page.read_text())


def test_the_demo_draws_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo(SCENARIO, tmp_path / "out", flows=30)
    printed = capsys.readouterr().out
    assert "not comparable" in printed
    assert "0.959" in printed
    assert (tmp_path / "out/fct-over-load.png").stat().st_size > 10_000


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
    runs = pictures.runs(short)
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
    pictures.over_time(short, tmp_path / "time.png")
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
