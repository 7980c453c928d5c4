"""The pictures of the schemes' pages."""

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest
from drawn import Drawing, drawing, legend, points

from switchbed_papers import curves, pictures

__all__ = ["drawing"]
ROOT = Path(__file__).parents[2]
PANELS = {
    "cedm": ["per-queue", "cedm"],
    "cqrd": ["oq", "hcf", "cq", "cqrd", "cqrd-configured"],
    "codel": [
        "step, 65 packets",
        "CoDel, 500 us",
        "FQ-CoDel, 500 us",
        "COBALT, 500 us",
        "PIE, 50 us",
        "ECN#, 70 and 10 us",
    ],
    "buffers": ["dynamic", "abm", "fab", "lqd", "occamy"],
    "dualpi2": ["step, 65 packets", "DualPI2, 50 us"],
    "e-ecn": ["per-queue", "per-queue-dq", "e-ecn"],
    "pmsb": [
        "step a queue, 65 packets",
        "step a port, 65 packets",
        "PMSB, 65 packets",
        "TCN, 78 us",
    ],
    "red": ["step, 65 packets", "RED, weight 1", "RED, weight 0.002"],
    "s-ecn": ["1Gbps, 10us", "1Gbps, 100us", "100Mbps, 10us", "100Mbps, 100us"],
    "pfc": ["class 0", "class 3"],
    "cedm-fig3": ["ecn-star, lso off", "ecn-star, lso on", "dctcp, lso off", "dctcp, lso on"],
}
"""What each picture compares, from above."""


@pytest.mark.parametrize("name", pictures.PICTURES | pictures.QUEUES)
def test_a_panel_shows_the_queues_of_a_run(name: str, tmp_path: Path, drawing: Drawing) -> None:
    pictures.draw(name, tmp_path / "drawn.png", ROOT)
    figure, (scenario, *_) = drawing.figure, (pictures.PICTURES | pictures.QUEUES)[name]
    written = tomllib.loads((ROOT / scenario).read_text())
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


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_each_is_shown_on_its_page(name: str) -> None:
    picture = ROOT / pictures.FOLDER / f"{name}.png"
    own = picture.with_suffix(".md")
    # Policies for memory share a page, which is no scheme's.
    page = own if own.exists() else ROOT / "docs" / f"{name}.md"
    assert f"]({picture.relative_to(page.parent)})" in page.read_text()
    assert picture.exists()


@pytest.mark.parametrize("name", [*pictures.QUEUES, *pictures.CURVES])
def test_figures_of_other_pages_are_shown(name: str) -> None:
    docs = ROOT / pictures.FOLDER.parent
    assert (docs / f"{name}.png").exists()
    assert any(f"{name}.png)" in page.read_text() for page in docs.rglob("*.md"))


def test_curves_are_drawn_in_the_order_of_their_places(tmp_path: Path, drawing: Drawing) -> None:
    scenario = tmp_path / "small.toml"
    text = (ROOT / "scenarios/cedm-fig4.toml").read_text()
    head = text[: text.index("[compare]")].replace("160ms", "62ms")
    scenario.write_text(
        head + "[compare]\nhost.lso = [false, true]\n"
        'scheme.params.threshold = ["125KB", "30KB"]\ntransport.kind = ["dctcp"]\n'
    )
    figure = curves.Curves(
        scenario=scenario,
        key="scheme.params.threshold",
        x=lambda threshold: float(threshold.removesuffix("KB")),
        xlabel="threshold",
        panels={"goodput": curves.goodput_gbps, "longest queue": curves.longest},
    )
    curves.draw(figure, tmp_path / "small.png")
    drawn = drawing.figure
    assert drawn.get_suptitle() == tomllib.loads(text)["title"]
    assert legend(drawn) == ["lso off, dctcp", "lso on, dctcp"]
    assert [axes.get_ylabel() for axes in drawn.axes] == ["goodput", "longest queue"]
    results = [results for _, results in drawing.runs]
    for axes, value in zip(drawn.axes, (curves.goodput_gbps, curves.longest), strict=True):
        assert axes.get_xlabel() == "threshold"
        # A line's runs are in the file's order, and the larger threshold came first there.
        off, on = ([value(run) for run in reversed(of)] for of in (results[:2], results[2:]))
        assert [line.get_label() for line in axes.get_lines()] == legend(drawn)
        assert [points(line) for line in axes.get_lines()] == [([30, 125], off), ([30, 125], on)]
    assert all(5 < curves.goodput_gbps(run) < 9.74 for run in results)


def test_settings_are_named_in_a_few_words() -> None:
    assert curves.name("host.lso", True) == "lso on"
    assert curves.name("transport.kind", "dctcp") == "dctcp"
