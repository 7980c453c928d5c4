"""The Python API: scenarios from files, dicts and steps, results, comparisons, Ctrl-C."""

import doctest
import inspect
import json
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import AT_ONCE_S, SINGLE, SWEEP, Program
from hypothesis import given
from hypothesis import strategies as st

import switchbed as sb
from switchbed import stats, toml
from switchbed.result import Comparison

VALUES: dict[str, Any] = tomllib.loads(SINGLE)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)
NESTED = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab.\"' é"), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text("ab c"), NESTED))
def test_what_is_written_as_toml_reads_back(values: dict[str, Any]) -> None:
    assert tomllib.loads(toml.document(values)) == values


def test_a_dict_a_file_and_steps_are_the_same_scenario(single: Path) -> None:
    from_file = sb.Scenario.from_file(single)
    from_dict = sb.Scenario(VALUES)
    steps = sb.Scenario()
    for section, keys in VALUES.items():
        if section == "traffic":
            for source in keys:
                steps = steps.add("traffic", **source)
        elif section != "title":
            steps = steps.add(section, **keys)
    assert from_file.resolved == from_dict.resolved
    del (title := from_dict.resolved)["title"]
    found = steps.resolved
    found.pop("title", None)
    assert found == title


def test_sources_of_traffic_add_up() -> None:
    more = sb.Scenario(VALUES).add("traffic", kind="poisson", load=0.1, flows=10, sizes="1KB")
    assert len(more.resolved["traffic"]) == 2


def test_nothing_changes_a_scenario() -> None:
    base = sb.Scenario(VALUES)
    varied = base.with_({"scheme.params.threshold": "30pkt"}, seed=7).with_(load=0.2)
    assert base.resolved["run"]["seed"] == 1
    assert varied.resolved["run"]["seed"] == 7
    assert varied.resolved["scheme"] != base.resolved["scheme"]
    assert varied.resolved["traffic"][0]["load"] == 0.2
    base.add("scheme", name="red")
    assert base.resolved["scheme"]["name"] == "per-queue"


def test_a_run_gives_what_the_command_line_gives(switchbed: Program, single: Path) -> None:
    result = sb.Scenario.from_file(single).with_(seed=3).run()
    switchbed("run", single, "--seed", "3", "--out", "out")
    there = sb.Result.load(single.parent / "out")
    assert result.summary() == there.summary()
    for name in ("flows", "queues", "counters", "series"):
        frame = getattr(result, name)
        assert isinstance(frame, pl.DataFrame)
        assert len(frame) > 0
        assert frame.equals(getattr(there, name)), name
    assert result.scenario == there.scenario
    assert (result.seed, result.label) == (3, "per-queue")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_other_formats_load_too(switchbed: Program, single: Path, form: str) -> None:
    switchbed("run", single, "--out", "out", "--tables", form)
    flows = sb.Result.load(single.parent / "out").flows
    assert len(flows) == 300


def test_arrow_is_handed_over_without_a_copy() -> None:
    result = sb.Scenario(VALUES).run()
    table = result.arrow("flows")
    once, twice = pl.DataFrame(table), pl.DataFrame(table)
    # The same memory behind both.
    views = [frame["fct_s"].to_numpy(allow_copy=False) for frame in (once, twice)]
    assert np.shares_memory(views[0], views[1])


@pytest.mark.needs("pandas")
def test_pandas_on_request() -> None:
    result = sb.Scenario(VALUES).run()
    frame = result.to_pandas("flows")
    assert list(frame.columns) == result.flows.columns
    assert frame["fct_s"].sum() == pytest.approx(result.flows["fct_s"].sum())


def test_runs_are_compared_over_common_seeds() -> None:
    base = sb.Scenario(VALUES)
    marked = [base.with_(seed=s).run() for s in (1, 2, 3)]
    less = [base.with_({"scheme.params.threshold": "60pkt"}, seed=s).run() for s in (3, 2, 4)]
    found = sb.compare(less, marked)
    change = found["all", "mean_us"]
    ratios = [
        less[j].summary()["fct"]["all"]["mean_us"] / marked[i].summary()["fct"]["all"]["mean_us"]
        for i, j in ((2, 0), (1, 1))
    ]
    assert change.ratio.estimate == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    assert change.ratio.n == 2
    assert "2 seeds" in str(found)
    assert found.frame.columns[:3] == ["class", "statistic", "ratio"]
    assert sb.compare(marked, marked)["all", "mean_us"].ratio.estimate == 1


def test_all_of_compare_run_in_order() -> None:
    found = sb.Scenario(tomllib.loads(SWEEP)).with_({"compare.seed": [5]}).run_all()
    settings = [tuple(run.settings.values()) for run in found]
    assert settings == [
        ("per-queue", 0.4, 5),
        ("per-queue", 0.8, 5),
        ("MQ-ECN", 0.4, 5),
        ("MQ-ECN", 0.8, 5),
    ]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda s: s.with_(load=2.0).plans, "with_(load=2.0): traffic.load is 2"),
        (lambda s: s.with_(no_such_key=1).plans, "with_(no_such_key=1): no_such_key"),
        (lambda s: s.with_(seed=None).plans, "seed is None: leave it out"),
        (lambda s: s.with_(seed=object()).plans, "a text, a number"),
        (lambda s: s.with_(title="a\ud800").plans, r"title is 'a\ud800': character 1 is half"),
        (lambda s: s.with_({"\ud800": 1}).plans, r"a key of with_() is '\ud800'"),
        (lambda s: s.add("switch", **{"\ud800": 1}).plans, r"switch is '\ud800'"),
        (lambda s: s.with_({"compare.seed": [1, 2]}).run(), "has 2 runs in [compare]"),
        (lambda s: s.add("switch", quue=3).plans, "switch.quue"),
        (lambda _: sb.Scenario.from_file("missing.toml"), "missing.toml: cannot read"),
        (lambda _: sb.Result.load("missing"), "missing: is no result directory"),
        (lambda s: s.run().to_pandas("flow"), "there is no table 'flow'"),
        (lambda s: sb.compare(s.run(), s.with_(seed=2).run()), "no seed in common: 1 and 2"),
        (lambda s: sb.compare([s.run(), s.run()], s.run()), "two runs have the same seed"),
        (
            lambda _: sb.Scenario("single.toml"),  # type: ignore[arg-type]
            "Scenario('single.toml'): takes a dict of sections; Scenario.from_file reads a file",
        ),
        (lambda _: sb.Scenario.from_file("/dev/null"), "/dev/null: cannot be read: it is no file"),
    ],
)
def test_mistakes_are_one_line_that_says_where(make: Any, says: str) -> None:
    with pytest.raises(sb.Mistake) as mistake:
        make(sb.Scenario(VALUES))
    assert says in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_a_file_keeps_its_lines_and_a_dict_has_none(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(SINGLE.replace("load = 0.6", "load = 6"))
    with pytest.raises(sb.Mistake, match=r"wrong\.toml:\d+: traffic"):
        _ = sb.Scenario.from_file(path).plans
    values = VALUES | {"traffic": [VALUES["traffic"][0] | {"load": 6}]}
    with pytest.raises(sb.Mistake, match=r"^mine: traffic"):
        _ = sb.Scenario(values, name="mine").plans


def test_other_threads_go_on_while_the_engine_runs() -> None:
    track = sb.Progress()

    def tick() -> None:
        for _ in range(50):
            time.sleep(0.001)
        track.cancel()

    thread = threading.Thread(target=tick)
    plan = sb.Scenario(VALUES).with_(flows=1_000_000).plans[0]
    thread.start()
    # Seconds of work: only a thread that goes on meanwhile keeps it from its end.
    assert plan.run(track) is None
    thread.join()


def test_ctrl_c_ends_a_run() -> None:
    code = (
        "import switchbed, sys\n"
        f"s = switchbed.Scenario({VALUES!r}).with_(flows=100_000_000)\n"
        "print('begun', flush=True)\n"
        "try:\n    s.run(any_memory=True)\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=AT_ONCE_S)
    assert rest == "interrupted\n"


@pytest.mark.parametrize(
    ("attribute", "table"),
    [
        ("flows", "flows"),
        ("queues", "queues"),
        ("counters", "ports"),
        ("series", "series"),
        ("goodput", "goodput"),
        ("probes", "probes"),
    ],
)
def test_help_names_every_column_of_a_table(attribute: str, table: str, single: Path) -> None:
    scenario = sb.Scenario.from_file(single).with_(
        {
            "measure.series_every": "1ms",
            "measure.goodput_every": "1ms",
            "measure.giant": "1MB",
            "measure.queues": "all",
        }
    )
    columns = [name for name, _, _ in scenario.run().arrow(table).columns]
    assert _helped(attribute) == columns


def _helped(attribute: str) -> list[str]:
    help_ = inspect.getdoc(getattr(sb.Result, attribute)) or ""
    return re.findall(r"^ {4}(\w+): ", help_, re.MULTILINE)


def test_plots_print_their_kinds() -> None:
    said = str(sb.Plots([]))
    assert said.startswith("Plots: .fct(), .curve(), ")
    assert all(f".{name}()" in said for name in dir(sb.Plots) if not name.startswith("_"))


def test_a_comparison_without_flows_that_ended_says_so() -> None:
    assert str(Comparison("a", "b", {})).endswith("no flow has finished in both")


def test_help_names_every_column_of_the_series_of_flows(single: Path) -> None:
    scenario = sb.Scenario.from_file(single).with_(
        {"transport.kind": "bbr", "host.profile": "linux-6.x"}
    )
    run = scenario.with_({"measure.flow_series": {"rows": [0]}}).run()
    assert run.flow_series.columns == _helped("flow_series")
    sampled = scenario.with_({"measure.flow_series": {"every": "100us"}}).run().flow_series
    assert sampled.columns == [name for name in _helped("flow_series") if name != "rtt_s"]
    assert scenario.run().flow_series.is_empty()


PUBLIC = [
    member
    for name in sb.__all__
    if inspect.isclass(of := getattr(sb, name)) or inspect.isfunction(of)
    for member in (of, *(m for n, m in vars(of).items() if inspect.isfunction(m) and n[0] != "_"))
]


@pytest.mark.parametrize("member", PUBLIC, ids=lambda of: of.__qualname__)
def test_help_describes_every_parameter(member: Any) -> None:
    help_ = inspect.getdoc(member) or ""
    assert help_
    if not inspect.isfunction(member) or "Args:" not in help_:
        # A function that takes nothing besides itself has nothing more to describe.
        assert inspect.isclass(member) or set(inspect.signature(member).parameters) <= {"self"}
        return
    named = set(re.findall(r"^ {4}(\w+): ", help_, re.MULTILINE))
    assert set(inspect.signature(member).parameters) - {"self"} <= named


@pytest.mark.parametrize(
    "member",
    [of for of in PUBLIC if inspect.isfunction(of) and "`sweep` calls" not in (of.__doc__ or "")],
    ids=lambda of: of.__qualname__,
)
def test_help_has_an_example(member: Any) -> None:
    assert "Example:\n    >>> " in (inspect.getdoc(member) or "")


def test_the_examples_of_statistics_are_right() -> None:
    found = doctest.testmod(stats, extraglobs={"stats": stats, "np": np})
    assert found.attempted >= 10
    assert not found.failed


@pytest.mark.parametrize("catalogue", [sb.schemes, sb.chips, sb.hosts, sb.sizes, sb.scenarios])
def test_a_catalogue_fits_a_screen(catalogue: Callable[[], list[dict[str, Any]]]) -> None:
    found = catalogue()
    shown = repr(found).splitlines()
    assert len(shown) <= 21
    assert max(map(len, shown)) <= 78
    assert [line.split()[0] for line in shown[:9]] == [entry["name"] for entry in found[:9]]
    assert (
        shown[-1] == f"… and {len(found) - 20} more"
        if len(found) > 20
        else len(shown) == len(found)
    )
    assert json.dumps(found).startswith('[{"')
