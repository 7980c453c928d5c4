"""`switchbed tune` by operators' names: objectives, guards, any key; and when it is stopped."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Program

import switchbed as sb
from switchbed.store import Store
from switchbed.sweeps.threads import Threads
from switchbed.tuning import advice, tune
from switchbed.tuning.advice import Entry
from switchbed.tuning.guards import Verdict
from switchbed.tuning.objective import NAMES, Guard, Objective, named

QUEUES = """
topology = { kind = "star", hosts = 5, rate = "10Gbps", delay = "5us" }
scheme = { name = "per-queue", params = { threshold = "100KB" } }
transport.kind = "dctcp"

[switch]
queues = 2
buffer = "1MB"
[[switch.queue]]
queue = 1
scheme = { params = { threshold = "30KB" } }

[[traffic]]
kind = "incast"
to = 4
sizes = "30KB"
rounds = 20
every = "500us"
classes = [0, 1]
"""
FEW = ("--seeds", "5", "--rtt", "30us", "--jobs", "2")


@pytest.fixture
def queues(tmp_path: Path) -> Path:
    path = tmp_path / "queues.toml"
    path.write_text(QUEUES)
    return path


def summary(**more: Any) -> dict[str, Any]:
    times = {"n": 5000, "mean_us": 20.0, "p99_us": 90.0}
    return {
        "fct": {"small": times},
        "by_traffic": [
            {"query": None},
            {"query": {"n": 40, "mean_us": 300.0, "p99_us": 900.0}},
            {"query": {"n": 30, "mean_us": 200.0, "p99_us": 950.0}},
        ],
        "jobs": [{"time_us": 5.0}, {"time_us": None}],
        "pauses": {"held_s": 0.0, "headroom_max_bytes": 6000},
        "goodput_bps": 4e9,
    } | more


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("small-p99", 90.0),
        ("query", 300.0),  # the worst entry's
        ("query-p99", 950.0),
        ("job", 5.0),
        ("pauses", 1e-6),
        ("headroom", 7500.0),
        ("throughput", 1 / 4e9),
    ],
)
def test_a_name_is_a_figure_of_the_summary(name: str, value: float) -> None:
    assert Objective(name).of(summary()) == pytest.approx(value)
    assert set(NAMES) >= {name}
    assert Guard.parse(f"{name}<=2*best").metric == name


def test_a_guard_has_the_plain_figure() -> None:
    assert Guard.parse("pauses=0").value(summary()) == 0.0
    assert Guard.parse("throughput>=0.99*own").value(summary()) == 4e9


def test_percentiles_of_queries_need_queries() -> None:
    assert named("query-p99").group(summary())["n"] == 30
    with pytest.raises(sb.Mistake, match="rests on 30 flows, and 2,000 are needed"):
        Objective("query-p99").check(summary(), None)
    Objective("small-p99").check(summary(), None)
    Objective("query").check(summary(), None)


def test_an_unknown_guard_is_refused_after_one_run(
    switchbed: Program, queues: Path, tmp_path: Path
) -> None:
    options = (*FEW, "--objective", "query", "--param", "threshold=15KB,60KB")
    said = switchbed("tune", queues, *options, "--guard", "dropz=0", code=2).stderr
    assert "a summary has no dropz there; there are flows," in said
    assert "small-p99, query, query-p99, job, pauses, headroom, throughput" in said
    assert len(list((tmp_path / "switchbed-store/runs").iterdir())) == 1
    said = switchbed("tune", queues, *options, "--guard", "pauses=0", code=2).stderr
    assert "--guard pauses: the scenario's runs tell no time that pauses held ports" in said


def test_a_metric_of_tables_is_an_objective_and_a_guard(switchbed: Program, queues: Path) -> None:
    metric, guard = "fct[size<=100KB].mean_us", "slowdown[class=1].mean<=2*own"
    assert Guard.parse(guard).metric == "slowdown[class=1].mean"
    options = (*FEW, "--param", "threshold=15KB,60KB", "--guard", guard, "--json")
    found = json.loads(switchbed("tune", queues, *options, "--objective", metric).stdout)
    assert found["objective"] == metric
    values = [point["guards"][guard]["value"] for point in found["points"]]
    assert all(value >= 1 for value in values)
    said = switchbed("tune", queues, *options, "--objective", "fct[size<=1KB].mean_us", code=2)
    assert "--objective fct[size<=1KB].mean_us: a run has none" in said.stderr
    said = switchbed("tune", queues, *options, "--objective", "fct[sise<=1KB].mean_us", code=2)
    assert said.stderr.count("--objective fct[sise<=1KB].mean_us: ") == 1
    # A percentile of a table rests on as many flows as one of a summary.
    of = summary(tables={"fct[class=1].p99.9_us": {"value": 3.0, "n": 40}})
    assert Objective("fct[class=1].p99.9_us").of(of) == 3.0
    assert Objective("fct[class=1].p99.9_us").is_tail
    with pytest.raises(sb.Mistake, match="rests on 40 flows, and 2,000 are needed"):
        Objective("fct[class=1].p99.9_us").check(of, None)


def test_any_key_is_tuned_by_its_path(switchbed: Program, queues: Path) -> None:
    def tuned(param: str) -> list[tuple[str, bool]]:
        options = (*FEW, "--objective", "query", "--param", param, "--json")
        found = json.loads(switchbed("tune", queues, *options).stdout)
        schemes.append(found["scheme"])
        return [(point["label"], "yours" in point["names"]) for point in found["points"]]

    schemes: list[str] = []
    threshold = tuned("switch.queue.0.scheme.params.threshold=15KB,60KB")
    assert [each for each in threshold if each[1]] == [("30 KB", True)]
    assert {label for label, _ in threshold} >= {"15 KB", "30 KB", "60 KB"}
    window = tuned("transport.initial_window=4,20")
    assert schemes == ["per-queue of queue 1", "per-queue"]
    assert [label for label, _ in window] == ["4", "10", "20"]
    assert window[1] == ("10", True)
    assert [label for label, _ in tuned("topology.rate=5Gbps,20Gbps")] == [
        "5Gbps",
        "10Gbps",
        "20Gbps",
    ]


def test_a_queue_s_weight_is_tuned_where_others_have_another(
    switchbed: Program, tmp_path: Path
) -> None:
    # As weights of trimmed packets; at 1500 B all queues are alike.
    path = tmp_path / "weights.toml"
    weight = 'queue = 1\nquantum = "500B"'
    text = QUEUES.replace("queue = 1", weight).replace("buffer", 'quantum = "1500B"\nbuffer')
    path.write_text(text)
    options = (*FEW, "--objective", "query", "--json")
    param = ("--param", "switch.queue.0.quantum=1500B,3000B")
    found = json.loads(switchbed("tune", path, *options, *param).stdout)
    points = [(point["label"], "yours" in point["names"]) for point in found["points"]]
    assert points == [("500 B", True), ("1.5 KB", False), ("3 KB", False)]


@pytest.mark.parametrize(
    ("param", "said"),
    [
        ("transport.initial_window", "say which values"),
        ("transport.initial_windo=4", "is unknown: did you mean initial_window"),
        ("transport.restart=keep", "'keep' is not a number"),
    ],
)
def test_what_cannot_be_tuned_by_its_path(
    switchbed: Program, queues: Path, param: str, said: str
) -> None:
    options = (*FEW, "--objective", "query", "--param", param)
    assert said in switchbed("tune", queues, *options, code=2).stderr


def test_a_guard_that_is_not_kept_on_average_is_not_advised(queues: Path, tmp_path: Path) -> None:
    def tuned(guard: str) -> advice.Advice:
        return sb.tune(
            queues,
            params=["switch.queue.0.scheme.params.threshold=15KB,60KB"],
            objective="throughput",
            guards=[guard],
            seeds=5,
            rtt="30us",
            store=tmp_path / "store",
        )

    free = tuned("throughput>=0.5*own")
    assert free.advised is not None
    entry = next(each for each in free.entries if each.point == free.advised)
    assert not entry.missed
    assert free.larger


def test_what_is_known_is_printed_when_it_is_stopped(
    queues: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from switchbed.tuning import printing

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tune._Tuning, "_race", stop)
    found = sb.tune(
        queues,
        params=["threshold=15KB,60KB"],
        objective="query",
        seeds=8,
        rtt="30us",
        store=tmp_path / "store",
    )
    assert isinstance(found.stopped_by, KeyboardInterrupt)
    assert found.advised is None
    assert found.fresh == []
    assert found.sentence.startswith("Interrupted, so nothing is advised yet.")
    assert found.to_json()["interrupted"] is True
    printing.show(found)
    printed = capsys.readouterr().out
    assert "15 KB" in printed
    over = Verdict(4.0, 4.0, surely=False)
    # Points may have unequal seeds: a column of means alone would not tell by how much.
    missed = Entry(found.entries[0].point, "worse", guards={"drops=0": over})
    assert printing._guard(missed, Guard.parse("drops=0")) == "4 (missed by 4, not surely)"
    assert "fresh seeds " not in printed


def test_a_pilot_that_is_stopped_says_what_is_kept(
    queues: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    # The price of the pilot takes a run of each scene.
    monkeypatch.setattr(tune._Tuning, "_block", stop)
    told: list[str] = []
    given = sb.Scenario.from_file(queues)
    asked = tune.Question(["threshold=15KB,60KB"], "query", seeds=8, rtt="30us")
    store = Store(tmp_path / "store")
    with pytest.raises(KeyboardInterrupt):
        tune.run(
            *(lambda settings: given.with_(settings).plans, given.name, asked, store, "t"),
            Threads(1),
            tell=told.append,
        )
    assert told[-1].startswith("interrupted in the pilot: 1 of its 25 runs are kept")


def test_without_a_file_an_incast_comes_at_half_of_the_memory(tmp_path: Path) -> None:
    from switchbed.tuning.outline import Outline

    text = Outline(rate="10Gbps", rtt="80us", buffer="12MB", loads="0.5").text()
    (tmp_path / "o.toml").write_text(text)
    scenario = sb.Scenario.from_file(tmp_path / "o.toml").resolved
    workload, incast = scenario["traffic"]
    assert workload["flows"] == 4000
    # Fifteen of sixteen hosts send 6 MB together, every 48 ms: a tenth of 10 Gbps.
    assert 'sizes = "400000B"' in text
    assert 'every = "48000000ns"' in text
    assert incast["rounds"] >= 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--target", "trident3"], "--target trident3: is none; did you mean trident-3?"),
        (["--target", "x"], "--target x: is none; there are sim, tc, sonic, and chips"),
        (["--buffer", "1MB", "--workload", "nope"], "--workload nope: is neither a table"),
        (["--buffer", "1MB", "--workload", "0KB"], "--workload 0KB: is neither a table"),
        (
            ["--buffer", "1MB", "--workload", "hadoop:x"],
            "--workload hadoop:x: a weight is a number",
        ),
        (
            ["--buffer", "1MB", "--workload", "hadoop:0"],
            "--workload hadoop:0: a weight is a number",
        ),
        (["--buffer", "1MB", "--load", "0"], "--load 0: such as 0.3,0.6,0.8 is needed"),
        (["--buffer", "1MB", "--load", "0.5,1.2"], "--load 0.5,1.2: such as"),
        (["--buffer", "1MB", "--load", "-0.1"], "--load -0.1: such as"),
    ],
)
def test_numbers_without_a_file_are_checked(
    switchbed: Program, arguments: list[str], says: str
) -> None:
    rates = ["--rate", "25Gbps", "--rtt", "30us"]
    assert says in switchbed("tune", *rates, *arguments, code=2).stderr
