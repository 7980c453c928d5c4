"""`switchbed report`: one file that needs nothing else, whose charts have what was measured, and
which a browser shows without a complaint."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import Page, browser
from conftest import SINGLE, SWEEP, Program
from plotly import graph_objects, offline

import switchbed as sb
from switchbed.html import charts, page
from switchbed.plots import runs, style
from switchbed.run import Request, execute


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison with series, and a run; the title would be code if it were not escaped."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "s.toml").write_text(SWEEP.replace("Small", "<script>alert(1)</script>"))
    (folder / "single.toml").write_text(SINGLE)
    with contextlib.chdir(folder):
        execute(Request(Path("s.toml"), out=Path("compared"), jobs=2))
        execute(Request(Path("single.toml"), out=Path("one")))
    page.write(runs.read([folder / "compared"]), folder / "report.html")
    return folder


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


def data(text: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text)
    assert found
    return list(json.loads(found[1]))


def test_the_file_names_no_other_place(kept: Path) -> None:
    text = (kept / "report.html").read_text()
    library = offline.get_plotlyjs()
    assert text.count(library) == 1
    own = text.replace(library, "")
    assert not re.search(r"https?:|//\w+\.\w|<link|\bsrc=|@import|url\(", own)
    assert "default-src 'none'" in own
    assert "<script>alert" not in own


def test_charts_are_plotlys_and_have_what_was_measured(kept: Path) -> None:
    found = {chart["name"]: chart for chart in data((kept / "report.html").read_text())}
    assert list(found) == ["comparison", "distribution", "queues", "instant"]
    for chart in found.values():
        assert chart["traces"]
        graph_objects.Figure({"data": chart["traces"], "layout": chart["layout"]})  # or it raises
    results = runs.read([kept / "compared"])
    for trace in found["comparison"]["traces"]:
        if trace["meta"]["view"]["figure"] == "All flows, average: FCT (us)":
            for x, y in zip(trace["x"], trace["y"], strict=True):
                seeds = [
                    run.summary()["fct"]["all"]["mean_us"]
                    for run in results
                    if run.label == trace["name"] and run.settings["load"] * 100 == x
                ]
                assert len(seeds) == 2
                assert y == pytest.approx(sum(seeds) / 2)
    looks = {trace["name"]: trace["line"]["color"] for trace in found["queues"]["traces"]}
    assert looks == {"per-queue": style.BLACK, "MQ-ECN": style.BLUE}


def test_the_longest_queue_stays_when_samples_are_thinned(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = runs.read([kept / "one"])
    series = results[0].series
    monkeypatch.setattr(charts, "MOST_SAMPLES", 7)
    over_time, instant = charts.queues(runs.lines(results))
    trace = over_time.traces[0]
    port = re.search(r"port (\S+) ", over_time.note)
    assert port
    total = series.filter(pl.col("port") == port[1]).group_by("time_s").agg(pl.col("bytes").sum())
    assert len(trace["x"]) <= 7 < len(total)
    assert max(trace["y"]) == pytest.approx(float(total["bytes"].max() or 0) / 1e3, rel=1e-4)  # type: ignore[arg-type]
    assert len(instant.traces[0]["x"]) == 2


def test_the_scenario_of_a_report_repeats_the_run(kept: Path) -> None:
    run = runs.read([kept / "compared"])[-1]
    path = kept / "again.toml"
    path.write_text(page.repeatable(run))
    again = sb.Scenario.from_file(path).with_(seed=run.seed).run()
    assert again.summary() == run.summary()


def test_the_command_writes_runs_and_sweeps(switchbed: Program, sweep: Path) -> None:
    switchbed("sweep", sweep)
    switchbed("report", "switchbed-store", "--out", "a.html", "--title", "A & B")
    text = sweep.with_name("a.html").read_text()
    assert "<h1>A &amp; B</h1>" in text
    assert "MQ-ECN against per-queue, FCT of all mean" in text
    assert "report is an HTML file" in switchbed("report", "x", "--out", "a.pdf", code=2).stderr
    missing = switchbed("report", "nowhere", "--out", "b.html", code=2).stderr
    assert "neither a result directory nor a store" in missing
    assert not sweep.with_name("b.html").exists()


def test_runs_without_results_are_told(kept: Path, switchbed: Program, sweep: Path) -> None:
    switchbed("sweep", sweep)
    table = sweep.with_name("switchbed-store") / "sweeps" / "sweep.parquet"
    assert runs.failures(table) == []
    broken = pl.col("seed") == 2
    pl.read_parquet(table).with_columns(
        status=pl.when(broken).then(pl.lit("failed")).otherwise("status"),
        message=pl.when(broken).then(pl.lit("out of memory")).otherwise("message"),
    ).write_parquet(table)
    found = runs.failures(table)
    assert len(found) == 4
    assert found[0] == "scheme per-queue, load 0.4, seed 2: out of memory"

    assert runs.failures(kept / "compared") == runs.failures(kept / "one") == []
    stopped = sweep.with_name("stopped")
    stopped.mkdir()
    (stopped / "summary.json").write_text('{"complete": false, "planned": 8, "runs": [{}, {}]}')
    assert runs.failures(stopped)[0].startswith("6 of 8 runs")

    text = page.page(runs.read([kept / "one"]), failed=["load 0.9: <broken>"])
    assert "<li>failed: load 0.9: &lt;broken&gt;</li>" in text


VISIBLE = "document.getElementById('{}').data.filter(t => t.visible).map(t => t.name)"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_it_without_a_complaint(kept: Path, tab: Page, width: int) -> None:
    tab.requests.clear()
    tab.open(kept / "report.html", width)
    assert tab.ask("document.documentElement.scrollWidth") <= width
    drawn = "[...document.querySelectorAll('.chart')].map(c => c.querySelectorAll('.trace').length)"
    assert all(count > 0 for count in tab.ask(drawn)), tab.ask(drawn)
    assert len(tab.ask(drawn)) == 4

    # A scheme's switch hides it in every chart and table.
    for name in ("comparison", "distribution", "queues", "instant"):
        assert tab.ask(VISIBLE.format(name)) == ["per-queue", "MQ-ECN"], name
    tab.ask("document.querySelector('#lines input').click()")
    for name in ("comparison", "distribution", "queues", "instant"):
        assert tab.ask(VISIBLE.format(name)) == ["MQ-ECN"], name
    rows = "[...document.querySelectorAll('#runs tbody tr')].filter(r => !r.hidden).length"
    assert tab.ask(rows) == 4
    tab.ask("document.querySelector('#lines input').click()")
    assert tab.ask(rows) == 8

    # Choosing a figure shows its data.
    y = "document.getElementById('comparison').data.find(t => t.visible).y"
    before = tab.ask(y)
    tab.ask("""(() => { const s = document.querySelector('#about-comparison select');
        s.value = 'Marks'; s.dispatchEvent(new Event('change')); })()""")
    assert tab.ask(y) != before

    # The slider's bars are the samples at its time.
    bars = tab.ask("""(() => {
        const s = document.querySelector('.slider input');
        const trace = document.getElementById('instant').data[0];
        const longest = trace.customdata.map(c => Math.max(...c));
        const queue = longest.indexOf(Math.max(...longest));
        s.value = trace.customdata[queue].indexOf(longest[queue]);
        s.dispatchEvent(new Event('input'));
        return [trace.y, trace.customdata.map(c => c[s.value])]; })()""")
    assert bars[0] == bars[1]
    assert any(bars[0])

    # A column sorts up, then down.
    header = "[...document.querySelectorAll('#runs th button')].find(b => b.textContent == 'marks')"
    cells = f"""(i => [...document.querySelectorAll('#runs tbody tr')]
        .map(r => Number(r.cells[i].dataset.key)))({header}.parentElement.cellIndex)"""
    tab.ask(f"{header}.click()")
    assert tab.ask(cells) == sorted(tab.ask(cells))
    tab.ask(f"{header}.click()")
    assert tab.ask(cells) == sorted(tab.ask(cells), reverse=True)
    assert len(set(tab.ask(cells))) > 1

    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("data:", "blob:"))] == [
        (kept / "report.html").as_uri()
    ]
