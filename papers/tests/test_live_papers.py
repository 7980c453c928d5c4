"""The papers' figures as labs: the file that says which, the table, and the pages."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from drawn import Drawing, drawing, points

from switchbed import _native
from switchbed._native import Mistake
from switchbed_papers.live import command, figures, page, picture, results
from switchbed_papers.live.figures import Figure, Metric

__all__ = ["drawing"]
ROOT = Path(__file__).parents[2]
FILE = ROOT / figures.FILE


def test_every_metric_is_of_one_combination_of_a_scenario_that_a_lab_can_run() -> None:
    for figure in figures.load(FILE):
        plans = _native.plans(figure.scenario, figure.sets, 1)
        settings = [dict(json.loads(plan.settings)) for plan in plans]
        assert len(figure.lines) == len(plans), figure.name
        for metric in figure.metrics:
            for wanted in filter(None, (metric.of, metric.base)):
                fits = [each for each in settings if wanted.items() <= each.items()]
                assert len(fits) == 1, (figure.name, metric.name)
        assert json.loads(plans[0].scenario)["topology"]["kind"] == "star"


def figure_of(*metrics: Metric, scale: float = 0.1) -> Figure:
    return Figure("f", "F", Path("f.toml"), scale, "rtt", ("a", "b"), metrics)


def measured(rtt_us: float | None, goodputs: dict[str, float]) -> dict[str, Any]:
    return {"rtt": {"mean_us": rtt_us}, "goodput_mbps": goodputs}


def run_of(a: float, b: float | None) -> list[dict[str, Any]]:
    return [
        {"settings": {"scheme": "a"}, "simulated": measured(a, {"0": 10.0, "1": 20.0})},
        {"settings": {"scheme": "b"}, "simulated": measured(b, {"0": 10.0})},
    ]


@pytest.mark.parametrize(
    ("metric", "value", "unit"),
    [
        (Metric("m", "", "rtt.mean_us", {"scheme": "a"}), 400.0, "µs"),
        (Metric("m", "", "goodput_mbps", {"scheme": "a"}), 300.0, "Mbps"),
        (Metric("m", "", "goodput_mbps.1", {"scheme": "a"}), 200.0, "Mbps"),
        (
            Metric("m", "", "rtt.mean_us", {"scheme": "b"}, {"scheme": "a"}, form="below"),
            25.0,
            "%",
        ),
        (
            Metric("m", "", "rtt.mean_us", {"scheme": "a"}, {"scheme": "b"}, form="above"),
            100 / 3,
            "%",
        ),
        (
            Metric(
                "m",
                "",
                "goodput_mbps.1",
                {"scheme": "a"},
                {"scheme": "a"},
                over="goodput_mbps.0",
                form="times",
            ),
            2.0,
            "×",
        ),
    ],
)
def test_metrics_are_at_the_papers_speed(metric: Metric, value: float, unit: str) -> None:
    found = results.value(figure_of(metric), metric, run_of(4000.0, 3000.0), "simulated")
    assert found == pytest.approx(value)
    assert results.unit(metric) == unit


def test_a_line_is_the_median_between_the_extremes_of_what_was_measured() -> None:
    metric = Metric("m", "", "rtt.mean_us", {"scheme": "b"})
    runs = [run_of(1.0, b) for b in (5000.0, None, 3000.0, 4000.0)]
    assert results.value(figure_of(metric), metric, runs[1], "simulated") is None
    spread = results._spread(
        [results.value(figure_of(metric), metric, run, "simulated") for run in runs]
    )
    assert spread == results.Spread(400.0, 300.0, 500.0)
    assert results.text(spread, "µs") == "400 (300 to 500)"
    assert results.text(None, "µs") == "–"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[figure]]\nname = 'a'\nsize = 1", "figure a: got an unexpected keyword argument 'size'"),
        ("[[figure]", "live.toml: "),
        (
            "[[figure]]\nname = 'a'\n[[figure.metric]]\nname = 'm'\npaper = ''\nmetric = 'x'\n"
            "of = {}\nform = 'below'",
            "metric 'm': base: needed",
        ),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "live.toml"
    file.write_text(text)
    with pytest.raises(Mistake, match=complaint.replace("[", r"\[")):
        figures.load(file)


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(Mistake, match="fig99: no figure; there are mqecn-fig1, "):
        figures.chosen(figures.load(FILE), ("fig99",))


def test_the_page_is_of_the_committed_results() -> None:
    text = page.render()
    for figure in figures.load():
        for line in results.read()[figure.name].lines(figure):
            assert f"| {' | '.join(page.cells(line))} |" in text


def test_ends_that_print_alike_are_left_out() -> None:
    assert results.text(results.Spread(973.2, 972.9, 973.4), "Mbps") == "973"


@pytest.mark.parametrize("draw", figures.DRAWN)
def test_both_sides_are_drawn_by_the_functions_of_the_papers_figures(
    draw: str, tmp_path: Path, drawing: Drawing
) -> None:
    figure = Figure("a", "A", Path("a.toml"), 0.1, draw, ("one", "two"), ())
    values: list[Any] = [[5, 4, 7], [8, 8, 8]] if draw == "goodput" else [1.0, 2.0, 4.0]
    drawn = {side: {"x": values, "y": values} for side in results.SIDES}
    picture.draw(figure, ["per-queue", "mq-ecn"], drawn, tmp_path / "a.png")
    assert [axes.get_title() for axes in drawing.figure.axes] == [*results.SIDES]
    for axes in drawing.figure.axes:
        if draw == "goodput":
            heights = [bar.get_height() for bars in axes.containers[1::2] for bar in bars]
            assert heights == [5, 8, 5, 8]
        else:
            assert [points(line) for line in axes.get_lines()] == [(values, [0, 0.5, 1])] * 2


@pytest.mark.long
@pytest.mark.needs("namespaces")
def test_a_figure_runs_and_goes_into_the_report_and_the_results(tmp_path: Path) -> None:
    """Figure 3 for a moment, once; then nothing is left to run."""
    text = FILE.read_text()
    begin = text.index('[[figure]]\nname = "mqecn-fig3"')
    part = text[begin : text.index('[[figure]]\nname = "mqecn-fig6"')]
    scenario = ROOT / "scenarios/mqecn-fig3.toml"
    # Of this process: others may test at the same time.
    name = f"t{os.getpid()}"
    part = part.replace('"mqecn-fig3"', f'"{name}"')
    part = part.replace("../scenarios/mqecn-fig3.toml", str(scenario))
    part = part.replace("run.until=1s", "run.until=400ms").replace("warmup=0.3s", "warmup=40ms")
    file = tmp_path / "live.toml"
    file.write_text(part)
    out, kept = tmp_path / "out", tmp_path / "results.json"
    request = command.Request(out, 1, commit=kept, file=file)
    command.run(request)
    report = (out / page.REPORT).read_text()
    assert report.count("data:image/png;base64,") == 1
    assert "<td>service 2, 1:8 flows, Mbps</td><td>688 Mbps</td>" in report
    result = results.read(kept)[name]
    assert [len(values) for values in (result.drawn or {})["live"].values()] == [3, 3]
    (figure,) = figures.load(file)
    assert page.cells(result.lines(figure)[2])[:2] == ("service 2, 1:8 flows, Mbps", "688 Mbps")
    picture.draw(figure, result.schemes, result.drawn or {}, tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == (out / f"{name}.png").read_bytes()
    (found,) = json.loads((out / f"{name}/1/runs.json").read_text())["found"][2:]
    # Eight flows get more than one. A moment of a busy machine shows no more than that
    # frames crossed; that it holds there too, test_live_labs.py shows.
    simulated, live = (found[side]["goodput_mbps"] for side in ("simulated", "live"))
    assert simulated["1"] > 1.5 * simulated["0"]
    assert min(live["0"], live["1"]) > 0
    done = (out / f"{name}/1/runs.json").stat().st_mtime_ns
    command.run(request)
    assert (out / f"{name}/1/runs.json").stat().st_mtime_ns == done
