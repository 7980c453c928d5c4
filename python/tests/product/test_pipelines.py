"""Results in pipelines and notebooks: pickled, compared, shown, drawn, made in other processes."""

import importlib.util
import json
import multiprocessing
import pickle
import tomllib
import xml.etree.ElementTree as ET
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import SINGLE, Program

import switchbed as sb
from switchbed.plots.command import plot

FEW = {"flows": 60}


@pytest.fixture
def run(single: Path) -> sb.Result:
    return sb.Scenario.from_file(single).with_(FEW).run()


@pytest.fixture
def runs(sweep: Path) -> list[sb.Result]:
    return sb.Scenario.from_file(sweep).with_(FEW).run_all()


class Page(HTMLParser):
    """What is open at its end, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.said = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """`<rect/>`."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


def shown(thing: object) -> str:
    """Its HTML, which is well formed, as its drawings are."""
    text: str = thing._repr_html_()  # type: ignore[attr-defined]
    assert not Page(text).open
    for part in text.split("<svg")[1:]:
        ET.fromstring("<svg" + part.partition("</svg>")[0] + "</svg>")
    return text


def test_a_run_is_the_same_after_pickling(run: sb.Result, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(run))
    assert again == run
    assert (again.seed, again.label, again.settings) == (run.seed, run.label, run.settings)
    assert again.flows.equals(run.flows)
    assert again.series.equals(run.series)
    assert pickle.loads(pickle.dumps(again)) == run
    assert hash(again) == hash(run)


def test_a_run_equals_itself_from_disk_and_no_other(
    switchbed: Program, single: Path, tmp_path: Path, run: sb.Result
) -> None:
    switchbed("run", single, "--set", "flows=60", "--out", "here")
    loaded = sb.Result.load(tmp_path / "here")
    assert loaded == run
    assert pickle.loads(pickle.dumps(loaded)) == run
    whole = sb.Scenario.from_file(single)
    for changes in ({"seed": 2}, {"scheme.params.threshold": "21pkt"}, {"switch.buffer": "301KB"}):
        assert whole.with_(FEW | changes).run() != run
    assert run != "a run"


def test_equal_runs_write_equal_json_but_for_the_time(switchbed: Program, single: Path) -> None:
    words = ("run", single, "--set", "flows=60", "--json")
    one, other = (json.loads(switchbed(*words).stdout) for _ in range(2))
    assert one.pop("wall_s") > 0
    assert other.pop("wall_s") > 0
    assert one == other


def test_scenarios_are_compared_and_pickled(single: Path) -> None:
    one = sb.Scenario.from_file(single)
    assert one == sb.Scenario.from_file(single)
    assert one != one.with_(seed=2)
    assert pickle.loads(pickle.dumps(one.with_(seed=2))) == one.with_(seed=2)
    assert len({one, sb.Scenario.from_file(single)}) == 1


def test_a_sweep_is_the_same_after_pickling_and_when_it_is_kept(
    sweep: Path, tmp_path: Path
) -> None:
    varied = sb.Scenario.from_file(sweep).with_(FEW)
    found = sb.sweep(varied, tmp_path / "store")
    again = pickle.loads(pickle.dumps(found))
    assert again == found == sb.sweep(varied, tmp_path / "store")
    assert again.frame.equals(found.frame)
    assert found != sb.sweep(varied.with_(flows=61), tmp_path / "store")
    said = Page(shown(found)).said
    assert "8 runs" in said
    assert "MQ-ECN" in said
    assert shown(found).count("<rect") == 4


def test_a_run_shows_its_fcts_and_their_distribution(run: sb.Result) -> None:
    text = shown(run)
    assert text.count("<polyline") == 1  # flows of one size class
    assert "60 of 60 flows finished" in Page(text).said
    assert "share of flows over FCT" in text


def test_a_run_without_ends_shows_its_queue() -> None:
    text = shown(sb.Scenario.from_file("@star-dctcp").with_({"run.until": "45ms"}).run())
    assert "queue (KB) over time" in text
    assert "switch:8" in Page(text).said


def test_a_run_that_measured_nothing_is_shown_too(single: Path) -> None:
    nothing = {"run.until": "1us", "measure.series_every": "1ms"}
    assert "0 of 1 flows finished" in shown(
        sb.Scenario.from_file(single).with_(FEW | nothing).run()
    )


def test_a_comparison_shows_its_ratios(runs: list[sb.Result]) -> None:
    found = sb.compare(runs[:2], runs[4:6])
    text = shown(found)
    assert text.count("<circle") == len(found.changes)
    assert pickle.loads(pickle.dumps(found)) == found
    assert "nan" not in shown(sb.compare(runs[0], runs[4]))


def test_what_others_wrote_is_text(single: Path) -> None:
    label = {"scheme.label": "<script>alert(1)</script>"}
    assert "<script" not in shown(sb.Scenario.from_file(single).with_(FEW | label).run())


def test_plots_are_the_command_lines(runs: list[sb.Result], sweep: Path, tmp_path: Path) -> None:
    assert set(plot.commands) == {name for name in vars(sb.Plots) if not name.startswith("_")}
    drawn = sb.Plots(runs)
    for kind, panels in (("fct", 3), ("cdf", 2), ("queue", 8)):
        figure = getattr(drawn, kind)(title="T")
        assert figure.get_suptitle().startswith("T")
        assert len([axes for axes in figure.axes if axes.lines]) == panels, kind
    assert drawn.heatmap(x="load", y="scheme").axes
    assert len(runs[0].plot.queue(window=(0, 1)).axes) == 1
    found = sb.sweep(sb.Scenario.from_file(sweep).with_(FEW), tmp_path / "s")
    labels = {text.get_text() for text in found.plot.fct(value="us").legends[0].get_texts()}
    assert labels == {"per-queue", "MQ-ECN"}
    assert runs[0].plot.utilisation().axes
    with pytest.raises(sb.Mistake, match="no runs to draw"):
        sb.Plots([]).cdf()


def seeded(seed: int) -> sb.Result:
    """What a worker does."""
    return sb.Scenario.from_file("@flow-list").with_(seed=seed).run()


def test_runs_are_made_in_a_process_pool() -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(seeded, (1, 2)))
    assert found == [seeded(1), seeded(2)]
    assert [run.seed for run in found] == [1, 2]


@pytest.mark.long
@pytest.mark.needs("dask", "joblib")
def test_runs_are_made_by_joblib_and_dask() -> None:
    joblib: Any = importlib.import_module("joblib")
    dask: Any = importlib.import_module("dask")
    expected = [seeded(1), seeded(2)]
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(seeded)(n) for n in (1, 2)) == expected
    found = dask.compute(*(dask.delayed(seeded)(n) for n in (1, 2)), scheduler="processes")
    assert list(found) == expected


@pytest.mark.needs("dask")
def test_results_pass_through_what_joblib_and_dask_pickle_with(run: sb.Result) -> None:
    """They send functions of the notebook by value, and results as they come."""
    cloudpickle = importlib.import_module("cloudpickle")
    scenario = sb.Scenario(tomllib.loads(SINGLE)).with_(FEW)
    work = pickle.loads(cloudpickle.dumps(lambda: (scenario, run)))
    assert work() == (scenario, run)
