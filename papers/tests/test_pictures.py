"""The pictures of the schemes' pages, the demo's, and pages that the site keeps."""

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest
from drawn import Drawing, drawing, points

from switchbed import library
from switchbed_papers import pictures, shares, site
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


@pytest.mark.parametrize("name", [*pictures.PICTURES, *shares.PICTURES])
def test_each_is_shown_on_a_page(name: str) -> None:
    pages = (ROOT / "docs").rglob("*.md")
    shown = {(page.parent / link).resolve() for page in pages for link in links(page)}
    assert ROOT / "docs" / f"{name}.png" in shown


def links(page: Path) -> list[str]:
    return re.findall(r"\]\((\S+\.png)\)", page.read_text())


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
