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

import switchbed as sb
from switchbed import comparing, stats
from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.report import comparison, goodput, page, pauses, queues
from switchbed.run import Request, execute
from switchbed.series import runs
from switchbed.series.comparison import MEASURES, measures_of
from switchbed.series.queues import TOGETHER

BUFFERS = 'switch.buffer = ["31KB", "60KB", "300KB"]'


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison with all tables that there are charts of, whose title would be code if it were
    not escaped; one over two settings; a run."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "s.toml").write_text(
        SWEEP.replace("Small", "<script>alert(1)</script>")
        .replace("[measure]", '[measure]\ngoodput_every = "100us"')
        .replace('sizes = "30KB"', 'sizes = "30KB"\nservice = "random"')
    )
    swept = SWEEP.replace('series_every = "100us"', "").replace("seed = [1, 2]", BUFFERS)
    (folder / "swept.toml").write_text(swept)
    (folder / "single.toml").write_text(SINGLE)
    with contextlib.chdir(folder):
        execute(Request(Path("s.toml"), out=Path("compared"), jobs=2))
        execute(Request(Path("swept.toml"), out=Path("swept"), jobs=2))
        execute(Request(Path("single.toml"), out=Path("one")))
    page.write(runs.read([folder / "compared"]), folder / "report.html")
    page.write(runs.read([folder / "swept"]), folder / "swept.html")
    return folder


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


NAMES = [
    "comparison",
    "distribution",
    "queues",
    "instant",
    "goodput",
    "shares",
    "utilisation",
]
"""All charts of `compared`."""
BY_LINE = NAMES[:5]
"""Those that show all lines at once."""


def data(text: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text)
    assert found
    return list(json.loads(found[1]))


def test_the_list_of_components_has_the_librarys_version() -> None:
    folder = Path(page.__file__).parent
    (component,) = json.loads((folder / "plotly.cdx.json").read_text())["components"]
    header = (folder / page.PLOTLY).read_text(encoding="utf-8")[:100]
    assert f" v{component['version']}\n" in header
    assert component["purl"].endswith(f"{component['name']}@{component['version']}")


@pytest.mark.needs("plotly")
def test_the_library_is_what_checks_charts_here() -> None:
    from plotly import offline

    library = (Path(page.__file__).parent / page.PLOTLY).read_text()
    assert f" v{offline.get_plotlyjs_version()}\n" in library[:100]


def test_the_file_names_no_other_place(kept: Path) -> None:
    text = (kept / "report.html").read_text()
    library = (Path(page.__file__).parent / page.PLOTLY).read_text()
    assert text.count(library) == 1
    own = text.replace(library, "")
    assert not re.search(r"https?:|//\w+\.\w|<link|\bsrc=|@import|url\(", own)
    assert "default-src 'none'" in own
    assert "<script>alert" not in own


@pytest.mark.needs("plotly")
def test_charts_are_plotlys(kept: Path) -> None:
    from plotly import graph_objects

    for chart in data((kept / "report.html").read_text()):
        graph_objects.Figure({"data": chart["traces"], "layout": chart["layout"]})  # or it raises


def test_charts_have_what_was_measured(kept: Path) -> None:
    found = {chart["name"]: chart for chart in data((kept / "report.html").read_text())}
    assert list(found) == NAMES
    for chart in found.values():
        assert chart["traces"]
    results = runs.read([kept / "compared"])
    for trace in found["comparison"]["traces"]:
        if trace["meta"]["view"]["figure"] == "All flows, average: FCT (µs)":
            for x, y in zip(trace["x"], trace["y"], strict=True):
                seeds = [
                    run.summary()["fct"]["all"]["mean_us"]
                    for run in results
                    if run.label == trace["name"] and run.settings["load"] * 100 == x
                ]
                assert len(seeds) == 2
                assert y == pytest.approx(sum(seeds) / 2)
    for name in ("queues", "goodput"):
        of = [trace for trace in found[name]["traces"] if "line" in trace]
        looks = {trace["name"]: trace["line"]["color"] for trace in of}
        assert looks == {"per-queue": style.BLACK, "MQ-ECN": style.BLUE}


def test_completion_times_of_queries_can_be_chosen() -> None:
    made = sb.Scenario.from_file("@incast").with_({"traffic.0.rounds": 2, "measure.warmup": "0ms"})
    run, *_ = made.run_all()
    (query,) = (each["query"] for each in run.summary()["by_traffic"])
    found = measures_of([run])
    shown = {name: measure(run) for name, measure in found.items() if name.startswith("Queries")}
    assert shown == {
        "Queries, average: completion time (µs)": query["mean_us"],
        "Queries, 99th percentile: completion time (µs)": query["p99_us"],
    }
    assert query["n"] == 2
    assert list(measures_of([])) == list(MEASURES)


def test_a_queue_has_its_threshold_and_marks(kept: Path) -> None:
    (run,) = runs.read([kept / "one"])
    over_time, instant = queues.charts(runs.lines([run]))
    first = [t for t in over_time.traces if t["meta"]["view"]["queue"] == "queue 0"]
    length, threshold, marks = first
    assert set(threshold["y"]) == {30.0}  # 20 packets
    assert threshold["line"]["dash"] == "dot"
    assert threshold["x"][0] == length["x"][0]
    assert threshold["x"][-1] >= length["x"][-1]
    port = re.search(r"Port (\S+),", over_time.note)
    assert port
    (marked,) = run.counters.filter(pl.col("port") == port[1])["marked_packets"]
    assert sum(marks["customdata"]) == marked > 0
    # All queues together have no threshold, but for one that is the port's.
    together = [t for t in over_time.traces if t["meta"]["view"]["queue"] == TOGETHER]
    assert together == [together[0], {**marks, "meta": together[0]["meta"]}]
    section = run.scenario["scheme"] | {"name": "per-port"}
    run.scenario["scheme"] = section
    per_port, _ = queues.charts(runs.lines([run]))
    dotted = [
        t["meta"]["view"]["queue"]
        for t in per_port.traces
        if t.get("line", {}).get("dash") == "dot"
    ]
    assert dotted == [TOGETHER]
    assert {base for t in instant.traces for base in t.get("base", [])} == {30.0}


def test_goodput_and_its_shares_are_the_tables(kept: Path) -> None:
    run = runs.read([kept / "compared"])[0]
    over_time, shares = goodput.charts(runs.lines([run]))
    by_name = {t["meta"]["view"]["of"]: t for t in over_time.traces}
    total = run.goodput.group_by("time_s", maintain_order=True).agg(pl.col("goodput_bps").sum())
    assert by_name[TOGETHER]["y"] == pytest.approx(list(total["goodput_bps"] / 1e9), rel=1e-4)
    classes = [t["y"] for t in shares.traces]
    assert len(classes) == 2
    for bps, *parts in zip(total["goodput_bps"], *classes, strict=True):
        assert parts == [None, None] if bps == 0 else sum(parts) == pytest.approx(100, rel=1e-4)


def test_a_heat_map_has_a_sweeps_means(kept: Path) -> None:
    results = runs.read([kept / "swept"])
    chart = comparison.sweep(results)
    assert chart.choices["of"] == ["per-queue", "MQ-ECN"]
    (drops,) = (
        t
        for t in chart.traces
        if t["meta"]["view"] | {"settings": ""}
        == {"figure": "Drops", "settings": "", "of": "MQ-ECN"}
    )
    assert (drops["x"], drops["y"]) == (["0.4", "0.8"], ["31KB", "60KB", "300KB"])
    for i, buffer in enumerate(drops["y"]):
        for j, load in enumerate(drops["x"]):
            (run,) = (
                r
                for r in results
                if r.label == "MQ-ECN"
                and r.settings["switch.buffer"] == buffer
                and r.settings["load"] == float(load)
            )
            assert drops["z"][i][j] == run.summary()["drops"]
    assert len({value for row in drops["z"] for value in row}) > 2
    assert not comparison.sweep(runs.read([kept / "compared"])).traces


def test_the_fabrics_squares_are_the_ports_means_over_seeds(kept: Path) -> None:
    drawn = runs.lines(runs.read([kept / "compared"]), over="load")
    trace = comparison.fabric(drawn).traces[0]
    seeds = [run for run in drawn[0].runs if run.settings["load"] == 0.4]
    ports = pl.concat(
        run.counters.filter(pl.col("port") == "switch:1")["utilisation"] for run in seeds
    )
    assert len(ports) == 2
    assert trace["z"][0][1] == pytest.approx(50 * ports.sum(), rel=1e-4)


def test_a_report_takes_any_setting_as_axis_and_pairs_any_two(kept: Path) -> None:
    results = runs.read([kept / "compared"])
    asked = page.Asked(x="scheme", colour="load", against="load=0.8")
    text = page.page(results, asked=asked)
    assert "load 0.4 against 0.8, FCT of all mean" in text
    chart = comparison.chart(runs.lines(results, over="scheme", colour="load"))
    trace = next(t for t in chart.traces if t["name"] == "load 0.4")
    assert trace["x"] == ["per-queue", "MQ-ECN"]
    panels = comparison.chart(runs.lines(results, over="load", panel="scheme"))
    assert panels.choices["scheme"] == ["per-queue", "MQ-ECN"]
    with pytest.raises(Mistake, match=r"--against load=7: no run has it; load is 0\.4, 0\.8"):
        page.page(results, asked=page.Asked(against="load=7"))


def test_the_longest_queue_stays_when_samples_are_thinned(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = runs.read([kept / "one"])
    series = results[0].series
    monkeypatch.setattr(queues, "MOST_SAMPLES", 7)
    over_time, instant = queues.charts(runs.lines(results))
    trace = next(t for t in over_time.traces if t["meta"]["view"]["queue"] == TOGETHER)
    port = re.search(r"Port (\S+),", over_time.note)
    assert port
    total = series.filter(pl.col("port") == port[1]).group_by("time_s").agg(pl.col("bytes").sum())
    assert len(trace["x"]) <= 7 < len(total)
    assert max(trace["y"]) == pytest.approx(float(total["bytes"].max() or 0) / 1e3, rel=1e-4)  # type: ignore[arg-type]
    assert len(instant.traces[0]["x"]) == 2


def test_a_report_says_what_bounds_queues_and_moves_flows(kept: Path) -> None:
    def facts(name: str) -> dict[str, str]:
        return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", (kept / name).read_text()))

    results = runs.read([kept / "compared"])
    scenario, said = results[0].scenario, facts("report.html")
    assert f"buffer {scenario['switch']['buffer']}" in said["switch"]
    thresholds = {run.scenario["scheme"]["params"]["threshold"] for run in results}
    assert all(f"threshold {each}" in said["schemes"] for each in thresholds)
    assert said["hosts"] == scenario["host"]["profile"]
    assert f"{scenario['traffic'][0]['kind']} (30KB)" in said["traffic"]
    # Each of the values that differ.
    assert all(f"buffer {each}" in facts("swept.html")["switch"] for each in ("31KB", "300KB"))


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


VISIBLE = "[...new Set(document.getElementById('{}').data.filter(t => t.visible).map(t => t.name))]"
SELECT = """(() => {{ const s = document.querySelector('#about-{} select[data-key={}]');
    s.value = '{}'; s.dispatchEvent(new Event('change')); }})()"""
AXES = """charts.flatMap(({ name }) => {
    const { xaxis, yaxis } = document.getElementById(name).layout;
    return [xaxis, yaxis].filter(a => !(a.title?.text)).map(a => name); })"""
COLOURS = """(() => { const style = getComputedStyle(document.documentElement);
    const chart = document.getElementById('comparison');
    return [style.backgroundColor, chart.layout.paper_bgcolor, chart.layout.font.color,
        chart.data[0].line.color]; })()"""


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", [pytest.param(390, marks=pytest.mark.long), 1280])
def test_a_browser_shows_it_without_a_complaint(kept: Path, tab: Page, width: int) -> None:
    tab.requests.clear()
    tab.open(kept / "report.html", width)
    assert tab.ask("document.documentElement.scrollWidth") <= width
    assert tab.ask(AXES) == []
    assert tab.ask(COLOURS) == ["rgb(255, 255, 255)", "#fff", "#1b1b1b", "#000000"]
    drawn = """[...document.querySelectorAll('.chart')]
        .map(c => c.querySelectorAll('.trace, .heatmaplayer image').length)"""
    assert all(count > 0 for count in tab.ask(drawn)), tab.ask(drawn)
    assert len(tab.ask(drawn)) == len(NAMES)

    # A scheme's switch hides it in every chart and table.
    for name in BY_LINE:
        assert tab.ask(VISIBLE.format(name)) == ["per-queue", "MQ-ECN"], name
    tab.ask("document.querySelector('#lines input').click()")
    for name in BY_LINE:
        assert tab.ask(VISIBLE.format(name)) == ["MQ-ECN"], name
    rows = "[...document.querySelectorAll('#runs tbody tr')].filter(r => !r.hidden).length"
    assert tab.ask(rows) == 4
    tab.ask("document.querySelector('#lines input').click()")
    assert tab.ask(rows) == 8

    # Its bar zooms and saves, and offers to send nothing.
    bar = "[...document.querySelectorAll('#queues .modebar-btn')].map(b => b.dataset.title)"
    assert {"Zoom in", "Reset axes"} <= set(tab.ask(bar))
    assert not re.search("share|cloud|send|edit", " ".join(tab.ask(bar)), re.I)
    zoom = "document.querySelector('#queues .modebar-btn[data-title=\"Zoom in\"]').click()"
    seen = "document.getElementById('queues').layout.xaxis.range"
    (low, high) = tab.ask(seen)
    tab.ask(zoom)
    (inner, outer) = tab.ask(seen)
    assert low < inner < outer < high

    # What is under the pointer tells its value and interval.
    hover = """Plotly.Fx.hover('comparison', [{curveNumber: 0, pointNumber: 0}]),
        document.querySelector('#comparison .hovertext').textContent"""
    assert re.fullmatch(
        r"per-queue, load \(%\) 40: [\d.]+ [µm]s \([\d.]+–[\d.e+]+, 2 seeds\)", tab.ask(hover)
    )

    # Choosing a figure shows its data.
    y = "document.getElementById('comparison').data.find(t => t.visible).y"
    before = tab.ask(y)
    tab.ask(SELECT.format("comparison", "figure", "Marks"))
    assert tab.ask(y) != before
    tab.ask(SELECT.format("queues", "queue", "queue 1"))
    views = (
        "document.getElementById('queues').data.filter(t => t.visible).map(t => t.meta.view.queue)"
    )
    assert set(tab.ask(views)) == {"queue 1"}
    tab.ask(SELECT.format("shares", "line", "MQ-ECN"))
    of = "document.getElementById('shares').data.filter(t => t.visible).map(t => t.meta.view.line)"
    assert tab.ask(of) == ["MQ-ECN", "MQ-ECN"]

    # The slider begins where queues are longest; its bars are the samples at its time.
    bars = "document.getElementById('instant').data.filter(t => t.visible && !t.base).map(t => t.y)"
    assert any(any(lengths) for lengths in tab.ask(bars))
    bars = tab.ask("""(() => {
        const s = document.querySelector('.slider input');
        const traces = document.getElementById('instant').data.filter(t => t.visible && !t.base);
        const trace = traces.sort((a, b) => b.meta.times_ms.length - a.meta.times_ms.length)[0];
        const longest = trace.meta.values.map(c => Math.max(...c));
        const queue = longest.indexOf(Math.max(...longest));
        s.value = trace.meta.values[queue].indexOf(longest[queue]);
        s.dispatchEvent(new Event('input'));
        return [trace.y, trace.meta.values.map(c => c[s.value])]; })()""")
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


@pytest.mark.long
@pytest.mark.needs("chromium")
def test_a_browser_shows_a_sweep_as_a_heat_map(kept: Path, tab: Page) -> None:
    tab.open(kept / "swept.html", 390)
    assert tab.ask(AXES) == []
    z = "document.getElementById('heatmap').data.filter(t => t.visible).map(t => t.z)"
    (before,) = tab.ask(z)
    tab.ask(SELECT.format("heatmap", "figure", "Drops"))
    (after,) = tab.ask(z)
    assert before != after
    titles = """[...document.querySelectorAll('#heatmap .xtitle, #heatmap .ytitle')]
        .map(t => t.textContent)"""
    assert tab.ask(titles) == ["load", "switch.buffer"]
    tab.ask("document.querySelector('#lines input').click()")
    assert tab.complaints == []


@pytest.mark.long
@pytest.mark.needs("chromium")
def test_of_many_lines_some_are_shown_until_the_reader_chooses(
    kept: Path, tab: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "MOST_SHOWN", 2)
    page.write(runs.read([kept / "swept"]), kept / "many.html")
    tab.open(kept / "many.html", 1280)
    assert len(tab.ask(VISIBLE.format("comparison"))) == 2
    tab.ask("document.querySelector('#lines button').click()")
    assert len(tab.ask(VISIBLE.format("comparison"))) == 6
    tab.ask("document.querySelectorAll('#lines button')[1].click()")
    assert tab.ask(VISIBLE.format("comparison")) == []
    assert tab.complaints == []


@pytest.mark.long
@pytest.mark.needs("chromium")
def test_it_is_dark_where_all_else_is(kept: Path, tab: Page) -> None:
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    tab.call("Emulation.setEmulatedMedia", features=[feature])
    try:
        tab.open(kept / "report.html", 1280)
        assert tab.ask(COLOURS) == ["rgb(23, 25, 28)", "#17191c", "#e6e6e6", "#e6e6e6"]
        assert tab.complaints == []
    finally:
        tab.call("Emulation.setEmulatedMedia", features=[])


def test_pauses_are_drawn_by_port_and_over_time_in_the_colour_of_their_root() -> None:
    run = sb.Scenario.from_file("@pfc-deadlock").run()
    drawn = runs.lines([run])
    ports, times = pauses.charts(drawn)
    assert ports.traces[0]["y"][:4] == ["host0", "host1", "host2", "host3"]
    held = run.table("pauses").filter(pl.col("port") == "host0")["paused_s"][0]
    assert ports.traces[0]["x"][0] == pytest.approx(held * 1e3, rel=1e-4)
    roots = {trace["name"]: trace for trace in times.traces}
    assert sorted(roots) == [f"root switch{n}:0" for n in range(4)]
    # What switch 1's queue brought about: host 1 waits, and the link to the switch.
    assert {*roots["root switch1:0"]["y"]} == {"host1", "switch0:0", None}
    summary = run.summary()["pauses"]
    assert (summary["count"], summary["deadlocks"]) == (len(run.table("pause_tree")), 1)


def test_without_pauses_there_is_no_chart_of_them() -> None:
    drawn = runs.lines([sb.Scenario.from_file("@two-flows").run()])
    assert not any(chart.traces for chart in pauses.charts(drawn))


def test_the_headline_says_where_nothing_is_shown() -> None:
    def ratio(low: float, high: float) -> comparing.Ratio:
        change = stats.Change(stats.Interval(1.0, low, high, 5))
        return comparing.Ratio("a", "b", (("load", low),), "all", "mean_us", change, 1.0, low, high)

    assert page._range([ratio(0.8, 1.2)]).startswith("no difference shown: 0.0 % lower (95 % CI")
    assert page._range([ratio(0.8, 1.2), ratio(0.7, 1.1)]).startswith("no difference shown: from ")
    assert page._range([ratio(0.8, 1.2), ratio(0.7, 0.9)]).startswith("from ")
