"""`switchbed tune`: what it asks of the simulator, what it says, what it refuses."""

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import SINGLE, Program

import switchbed as sb
from switchbed import stats
from switchbed.runner import run_one
from switchbed.tuning import advice, first, fragment, grid, race, target, tune
from switchbed.tuning.advice import Advice, Entry, Fresh
from switchbed.tuning.field import Field
from switchbed.tuning.grid import Link, Point
from switchbed.tuning.guards import Verdict

FAST = [
    *("--objective", "fct.all.mean_us", "--rtt", "30us", "--budget", "60", "--jobs", "2"),
    *("--param", "threshold=3KB,30KB,150KB", "--seeds", "5", "--set", "flows=100"),
]


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    path = tmp_path / "scenes.toml"
    path.write_text(SINGLE + "\n[compare]\nload = [0.5, 0.9]\nseed = [7, 8]\n")
    return path


def test_tune_races_reports_on_fresh_seeds_and_goes_on_for_nothing(
    switchbed: Program, scenes: Path, tmp_path: Path
) -> None:
    done = switchbed("tune", scenes, *FAST, "--picture", "tune.png", "--json", "one.json")
    assert done.stdout == ""
    found = json.loads((tmp_path / "one.json").read_text())
    assert found["scenes"] == ["load 0.5", "load 0.9"]
    assert [p["label"] for p in found["points"]] == ["3 KB", "30 KB", "97.5 KB", "150 KB"]
    assert "yours" in found["points"][1]["names"]
    fresh = {each["label"]: each for each in found["fresh"]}
    assert fresh["30 KB"]["overall_ratio_to_own"]["estimate"] == pytest.approx(1)
    assert (tmp_path / "tune.png").stat().st_size > 10_000
    rows = pl.read_parquet(tmp_path / "switchbed-store/sweeps/tune-scenes.parquet")
    assert len(rows) == found["runs"] == rows["run"].n_unique()
    # 7 is the file's first seed; the report's seeds are none of the race's.
    seeds = set(rows["seed"].to_list())
    assert {7, 8, 9, 10, 11} < seeds
    assert min(seeds - set(range(7, 12))) >= 1_000_000
    again = switchbed("tune", scenes, *FAST, "--json", "two.json")
    assert again.returncode == 0
    second = json.loads((tmp_path / "two.json").read_text())
    assert second["core_minutes"] == 0
    for each in (found, second):
        each.pop("core_minutes"), each.pop("price")
    assert found == second


def test_tune_prints_what_matters_first_then_the_price_and_one_sentence(
    switchbed: Program, single: Path
) -> None:
    acks = ["--set", "transport.ecn_acks=false"]
    done = switchbed("tune", single, *FAST, *acks)
    lines = done.stdout.splitlines()
    assert lines[0] == "Before the setting:"
    assert "ACKs are not ECN-capable (transport.ecn_acks = false)" in lines[1]
    assert done.stderr.startswith("pilot: 20 runs")
    assert "30 KB (yours" in done.stdout
    sentence = next(
        line for line in lines if line.startswith(("The seeds", "Keep", "Take", "Yours"))
    )
    assert "30 KB" in sentence
    passing = switchbed("tune", single, *FAST, *acks, "--set", "switch.unmarkable=pass")
    assert "ACKs" not in passing.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--objective", "fct.small.p99_us"], "rests on 100 flows, and 2,000 are needed"),
        (["--objective", "drops"], "is 0 in a run"),
        (["--objective", "fct.tiny"], "a summary has no tiny there; there are all, small"),
        (["--guard", "goodput_bps>=1e15"], "no point of the grid keeps it: the best"),
        (["--guard", "few drops"], "--guard few drops: such as drops=0"),
        (["--guard", "drops=-1"], "with a number of at least 0"),
        (["--guard", "fct.large.mean_us<=2*own"], "no run has that figure"),
        (["--param", "k1"], "per-queue has no such parameter; there are threshold"),
        (["--param", "mark_at=enqueue"], "which has no order to tune by"),
        (["--target", "asic"], "--target asic: is none; there are sim, tc"),
        (["--weight", "load=2"], "such as load=0.8:2 is needed"),
        (["--weight", "load=0.7:2"], "--weight load=0.7: is no scene's"),
        (["--budget", "0"], "over 0"),
        (["--seeds", "4"], "the pilot alone takes 5"),
        (["--set", "scheme.name=pie", "--target", "tc"], "--target tc: the scheme pie is no"),
        (["--set", 'compare.scheme=["per-queue", "mq-ecn"]'], "tune one at a time"),
        (["--picture", "no.xyz"], "has no format that can be drawn"),
        (["--param", "ramp=1KB:2KB:1%"], "is red's"),
        (["--param", "threshold", "--set", "scheme=none"], "none has no such parameter"),
    ],
)
def test_what_cannot_be_tuned_is_refused_in_one_line(
    switchbed: Program, single: Path, options: list[str], said: str
) -> None:
    base = [w for w in FAST if "--param" not in options or w not in FAST[8:10]]
    done = switchbed("tune", single, *base, *options, code=2)
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 or done.stderr.startswith("pilot")
    # What is refused before the first run leaves no store.
    stores = [sign.parent for sign in single.parent.glob("*/store.json")]
    assert all(any((store / "runs").iterdir()) for store in stores)


def test_what_a_switch_lacks_is_compared_with_what_it_has(
    switchbed: Program, single: Path, tmp_path: Path
) -> None:
    lacks = ["--set", "scheme=mq-ecn", "--target", "sonic"]
    switchbed("tune", single, *FAST, *lacks, "--json", "x.json")
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["scheme"] == "per-queue-min"
    last = found["fresh"][-1]
    assert last["names"] == ["mq-ecn, which sonic lacks"]
    assert last["settings"] == {}
    assert found["lost"].startswith("mq-ecn, which sonic lacks, has ")
    assert found["lost"].endswith(("lost.", "shown."))
    # Beside itself a scheme loses nothing: the user's own on fresh seeds is the static one's.
    own = next(each for each in found["fresh"] if "yours" in each["names"])
    assert own["settings"] == {"scheme.params.threshold": "30000B"}
    assert last["objective"][0]["estimate"] != own["objective"][0]["estimate"]


def test_a_pilot_over_the_budget_is_refused_with_its_price(
    switchbed: Program, single: Path
) -> None:
    done = switchbed("tune", single, *FAST, "--budget", "1e-9", code=2)
    assert "the pilot (4 points, 1 scenes, 5 seeds) takes at least" in done.stderr


def test_runs_that_a_store_has_cost_nothing(
    switchbed: Program, single: Path, tmp_path: Path
) -> None:
    def tuned(thresholds: str, budget: str, *, code: int = 0) -> str:
        asked = ["--param", f"threshold={thresholds}", "--budget", budget]
        few = ["--objective", "fct.all.mean_us", "--rtt", "30us", "--set", "flows=100"]
        told = ["--seeds", "5", "--json", "found.json", "--force"]
        return switchbed("tune", single, *few, *asked, *told, code=code).stderr

    tuned("3KB,30KB,150KB", "60")
    first = json.loads((tmp_path / "found.json").read_text())
    # Fresh seeds of the store are as many as before, however little may be spent.
    tuned("3KB,30KB,150KB", "1e-9")
    again = json.loads((tmp_path / "found.json").read_text())
    assert again["core_minutes"] == 0
    for each in (first, again):
        each.pop("core_minutes"), each.pop("price")
    assert first == again
    # Runs took 1,000 s: of one point more the pilot lacks five, and fresh seeds five at most.
    for path in tmp_path.glob("switchbed-store/runs/*/machine.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"processor_s": 1000.0}))
    lacking = tuned("3KB,30KB,150KB,200KB", "80", code=2)
    assert "takes about 83.3 core-minutes" in lacking
    tuned("3KB,30KB,150KB,200KB", "170")
    found = json.loads((tmp_path / "found.json").read_text())
    assert [point["label"] for point in found["points"]][-1] == "200 KB"
    assert 0 < found["core_minutes"] < 60


def test_what_takes_hours_is_refused_before_it_is_begun(switchbed: Program, single: Path) -> None:
    long = ["--set", "flows=2_000_000", "--budget", "1", "--any-memory"]
    done = switchbed("tune", single, *FAST[:-2], *long, code=2)
    assert "takes at least" in done.stderr
    # What a run begins is kept in the store.
    assert not list(single.parent.glob("switchbed-store/runs/*"))


def test_the_grid_has_published_settings_and_is_round_the_link() -> None:
    scenario = (
        sb.Scenario.from_file("@mqecn-fig9")
        .with_({"compare.scheme": ["per-queue"], "compare.load": [0.5]})
        .resolved
    )
    link = Link(10**10, 85.2e-6, 1500)
    found = grid.build(scenario, (), link, lambda k: -(-k // 208) * 208)
    named = {name: p.place[0] for p in found.points for name in p.names}
    assert named["yours"] == 97500  # as it is
    assert named["DCTCP (65 packets)"] == 97552  # in whole cells of 208 bytes
    assert named["HPCC's DCTCP (30 KB per 10 Gbps)"] == 30160
    places = [p.place[0] for p in found.points]
    assert places == sorted(places)
    assert max(places) == pytest.approx(8 * 106_500, rel=1e-3)
    assert all(place % 208 == 0 for place in places if place != 97500)


def test_a_parameter_of_a_class_in_python_is_what_its_own_value_is() -> None:
    scenario = {"scheme": {"name": "python", "params": {"wait": "78us", "size": "9KB", "n": 3}}}
    takes = [grid._key(scenario, name) for name in ("wait", "scheme.params.size", "n")]
    assert takes == [
        ("scheme.params.wait", "a time"),
        ("scheme.params.size", "a size"),
        ("scheme.params.n", "a number"),
    ]
    with pytest.raises(sb.Mistake, match="--param other: python has no such parameter; there are"):
        grid._key(scenario, "other")


def test_too_many_settings_are_refused_at_once(switchbed: Program) -> None:
    values = ",".join(f"{n + 1}B" for n in range(19_999))
    begun = time.monotonic()
    said = switchbed("tune", "@star-dctcp", "--param", f"threshold={values}", code=2).stderr
    assert said == (
        "switchbed: --param: its values make 19,999 settings, and a race compares 1,000 at most; "
        "give fewer values\n"
    )
    # Seconds, start of the program included: each setting that is planned takes milliseconds.
    assert time.monotonic() - begun < 30
    scenario = sb.Scenario.from_file("@star-dctcp").resolved
    few = ",".join(f"{n + 1}" for n in range(40))
    with pytest.raises(sb.Mistake, match=r"make 1,600 settings"):
        grid.build(
            scenario,
            [f"alpha={few}", f"threshold={','.join(f'{n}KB' for n in few.split(','))}"],
            Link(10**10, 85.2e-6, 1500),
            lambda k: k,
            shipped=0.5,
        )


def test_a_ramps_grid_has_wreds_three_numbers_and_steps() -> None:
    scenario = (
        sb.Scenario.from_file("@mqecn-fig9")
        .with_({"compare.scheme": ["per-queue"], "compare.load": [0.5]})
        .resolved
    )
    scenario["scheme"] = {"name": "red", "params": {"kmin": "30KB", "kmax": "90KB", "pmax": 0.1}}
    found = grid.build(scenario, (), Link(10**10, 85.2e-6, 1500), lambda k: k)
    assert [k.rpartition(".")[2] for k in found.keys] == ["kmin", "kmax", "pmax"]
    listed = grid.build(
        scenario, ["ramp=20pkt:20pkt:100%,15KB:45KB:1%"], Link(10**10, 85.2e-6, 1500), lambda k: k
    )
    assert {(3e4, 3e4, 1.0), (15e3, 45e3, 0.01)} <= {p.place for p in listed.points}
    assert len(listed.points) == 7  # HPCC's 30 KB is 20 packets
    link = Link(10**10, 85.2e-6, 1500)
    both = grid.build(scenario, ["alpha=1,2", "ramp=15KB:45KB:1%"], link, lambda k: k, shipped=0.5)
    assert both.keys == (*found.keys, "switch.alpha")
    places = {(k, a) for k in (15e3, 30e3) for a in (0.5, 1.0, 2.0)}
    assert {(p.place[0], p.place[3]) for p in both.points} == places
    assert both.points[both.own].place == (3e4, 9e4, 0.1, 0.5)
    with pytest.raises(sb.Mistake, match="twice; ramp has kmin, kmax and pmax"):
        grid.build(scenario, ["ramp=15KB:45KB:1%", "kmin=20KB,30KB"], link, lambda k: k)
    labels = [p.label for p in found.points]
    assert "1.049 MB / 2.097 MB / 5 %" in labels
    assert found.points[found.own].label == "30 KB / 90 KB / 10 %"
    assert sum(p.place[0] == p.place[1] for p in found.points) >= 6


def test_the_size_of_trimmed_packets_is_tuned_by_listed_values() -> None:
    link = Link(10**10, 1e-4, 1500)
    plain = sb.Scenario.from_file("@star-dctcp").resolved
    trimming = {"size": "128B", "dscp": 1}
    trims = {**plain, "switch": {**plain["switch"], "trimming": trimming}}
    found = grid.build(trims, ["switch.trimming.size=64B,256B"], link, lambda k: k)
    assert [p.place for p in found.points] == [(64.0,), (128.0,), (256.0,)]
    assert found.keys == ("switch.trimming.size",)
    assert found.own == 1
    with pytest.raises(sb.Mistake, match=r"say which, as --param switch\.trimming\.size=VALUE"):
        grid.build(trims, ["switch.trimming.size"], link, lambda k: k)
    with pytest.raises(sb.Mistake, match=r"has no switch\.trimming\.size"):
        grid.build(plain, ["trimming.size=64B"], link, lambda k: k)


def test_a_ramp_that_would_end_before_it_begins_is_no_point() -> None:
    scenario = sb.Scenario.from_file("@star-dctcp").resolved
    scenario["scheme"] = {"name": "red", "params": {"kmin": "30KB", "kmax": "90KB", "pmax": 0.1}}
    wanted = ("kmin=20KB,60KB", "kmax=40KB,90KB")
    found = grid.build(scenario, wanted, Link(10**10, 1e-4, 1500), lambda k: k)
    assert [p.place for p in found.points] == [(2e4, 4e4), (2e4, 9e4), (3e4, 9e4), (6e4, 9e4)]


def test_a_target_refuses_what_it_cannot_hold() -> None:
    key = "scheme.params.threshold"
    sonic, tc = target.of("sonic"), target.of("tc")
    assert "less than a packet" in str(sonic.refuses(Point({key: "1000B"}, (1e3,)), 10**10, 1500))
    assert "over 2147483647" in str(sonic.refuses(Point({key: "3GB"}, (3e9,)), 10**10, 1500))
    assert "34 Gbit/s" in str(tc.refuses(Point({key: "90KB"}, (9e4,)), 4 * 10**10, 1500))
    third = Point({"switch.alpha": 0.3}, (0.3,))
    assert "none of its own, powers of two from 0.00391 to 128" in str(
        sonic.refuses(third, 10**10, 1500)
    )
    assert "no alpha" in str(tc.refuses(third, 10**10, 1500))
    trident = target.of("trident-3")
    assert trident.hold(97_500) == 381 * 256
    over = Point({key: "30MB"}, (3e7,))
    assert "its dynamic threshold ends at 28.98 MB" in str(trident.refuses(over, 10**11, 1500))
    # With an alpha of a half a queue has a third of the memory: no threshold is over that.
    low = Point({key: "20MB", "switch.alpha": 0.5}, (2e7, 0.5))
    assert "its dynamic threshold ends at 10.87 MB" in str(trident.refuses(low, 10**11, 1500))
    assert trident.refuses(Point({key: "20MB"}, (2e7,)), 10**11, 1500) is None
    assert "ends at 10.87 MB" in str(
        trident.refuses(Point({key: "20MB"}, (2e7,)), 10**11, 1500, alpha=0.5)
    )
    half = Point({"scheme.params.pmax": 0.005}, (0.005,))
    assert "no whole percent" in str(sonic.refuses(half, 10**10, 1500))
    assert target.of("sim").refuses(Point({key: "1B"}, (1.0,)), 10**12, 1500) is None


def test_a_target_looks_at_the_queues_that_mark() -> None:
    none, step = {"name": "none"}, {"name": "per-queue"}
    held = target.of("sonic")
    held.check({"scheme": none | {"queues": [none, step]}})
    for scheme in (none, step | {"queues": [step, {"name": "codel"}]}):
        with pytest.raises(sb.Mistake, match="no threshold or ramp of a queue"):
            held.check({"scheme": scheme})
    # A queue's own threshold is held as the scheme's is.
    for key in ("scheme.params.threshold", "switch.queue.1.scheme.params.threshold"):
        found = held.refuses(Point({key: "1000B"}, (1.0,)), 10**9, 1500)
        assert found == "1 KB is less than a packet, 1.5 KB", key


def test_the_round_trip_is_measured_on_the_empty_network() -> None:
    made = sb.Scenario.from_file("@star-dctcp")
    found = first.link(made.resolved, None)
    # 100 us of cables, and a packet of 1500 bytes four times on a line of 10 Gbps.
    assert found.rtt == pytest.approx(104.8e-6)
    assert found.product == pytest.approx(131_000)


def said(
    advised: bool,
    own: str,
    left: list[str],
    lead: str = "20 KB",
    over: tuple[str, ...] = (),
    lost: str = "worse",
    fresh: dict[str, tuple[float, float, float]] | None = None,
) -> str:
    """The sentence where of three points these are left, and some are over a guard, not surely."""
    points = {
        name: Point(
            {"threshold": f"{name[:2]}000B"}, (float(name[:2]),), ("yours",) * (name == own)
        )
        for name in ("10 KB", "20 KB", "40 KB")
    }
    entries = [
        Entry(
            p,
            lost if name not in left else "as good",
            guards={"drops=0": Verdict(1.0, 0.5 if name in over else -1.0, surely=False)},
        )
        for name, p in points.items()
    ]
    return Advice(
        *("file", "per-queue", "sim", "fct.small.p99_us", (), 0.05, ("one",), (), ""),
        entries=entries,
        leader=points[lead],
        advised=points[lead] if advised else None,
        separated=advised,
        left=[points[name] for name in left],
        fresh=[
            Fresh(points[name], (), (), stats.Interval(*ends, 7, 0.95), {})
            for name, ends in (fresh or {}).items()
        ],
        fragment=None,
        lost="",
        robust=(),
        rests_on=(),
        runs=1,
        core_minutes=1,
    ).sentence


def test_the_sentence_names_a_winner_only_where_the_seeds_show_one() -> None:
    all_three = ["10 KB", "20 KB", "40 KB"]
    assert said(True, "20 KB", ["20 KB"]).startswith("Keep 20 KB: no other setting is better")
    # One that breaks a guard may be better.
    broken = said(True, "20 KB", ["20 KB"], lost="breaks")
    assert broken.startswith("Keep 20 KB: no other setting that keeps the guards is better")
    assert said(True, "40 KB", ["20 KB"]) == "Take 20 KB; yours, 40 KB, is worse."
    assert "is as good as any within 5 %" in said(True, "40 KB", all_three)
    told = said(False, "40 KB", all_three)
    assert told.startswith("The seeds do not tell 3 settings apart (10 KB to 40 KB)")
    assert told.endswith("yours, 40 KB, is worse: keep it.")
    assert "20 KB" not in told
    assert "is worse. More --budget" in said(False, "40 KB", ["10 KB", "20 KB"])


def test_the_sentence_follows_the_fresh_seeds() -> None:
    all_three, better = ["10 KB", "20 KB", "40 KB"], (0.939, 0.914, 0.965)
    # The user's own leads the race, and a published setting is better on fresh seeds.
    fresh = {"20 KB": (1.0, 1.0, 1.0), "40 KB": better}
    told = said(False, "20 KB", all_three, fresh=fresh)
    assert "worse" not in told
    assert told.endswith("40 KB has 0.94 times its fct.small.p99_us (0.91 to 0.96).")
    # One that breaks a guard is no setting to take.
    told = said(False, "20 KB", all_three, over=("40 KB",), fresh=fresh)
    assert told.endswith("is worse: keep it.")
    # A difference that counts as equal contradicts no winner, a larger one does.
    keep = said(True, "20 KB", ["20 KB"], fresh=fresh)
    assert keep.endswith("by more than 5 %.")
    keep = said(True, "20 KB", ["20 KB"], fresh={"40 KB": (0.8, 0.7, 0.9)})
    assert "But on fresh seeds 40 KB has 0.80 times its" in keep


def test_the_sentence_says_what_guard_may_be_broken() -> None:
    both = ["10 KB", "20 KB"]
    assert "keep drops" not in said(False, "40 KB", both, over=("10 KB",))
    told = said(False, "40 KB", both, over=("20 KB",))
    assert "On average 20 KB does not keep drops=0, 10 KB does; the seeds are too few" in told
    assert "keep drops=0; the seeds" in said(True, "40 KB", ["20 KB"], over=("20 KB",))
    unkept = said(False, "40 KB", ["20 KB"], over=("20 KB",))
    assert "none keeps drops=0 on average" in unkept
    assert unkept.endswith("--guard takes a looser bound.")


def test_the_sentence_says_where_the_best_is_the_end_of_the_range() -> None:
    least = said(True, "20 KB", ["10 KB"], lead="10 KB")
    assert least.endswith(" 10 KB is the least that was tried: --param KEY=V,V tries lower ones.")
    most = said(False, "20 KB", ["20 KB", "40 KB"], lead="40 KB")
    assert "40 KB is the greatest that was tried: --param KEY=V,V tries higher ones." in most
    assert "was tried" not in said(True, "40 KB", ["20 KB"])


def test_the_advised_is_as_good_as_the_leader_and_keeps_the_guards() -> None:
    found = race.Race(3, 1, 0.05, None, 0.95)
    for block in range(12):
        apart = 0.01 + (0.012 if block % 2 else -0.012)
        for point, value in enumerate((0.0, apart, 0.4)):
            found.add(point, [value])
    found.look()
    assert (found.leader, found.live, found.over) == (0, {0, 1}, True)
    places = (10.0, 20.0, 40.0)
    assert tune.advised(found, [True] * 3, None) == 0
    assert tune.advised(found, [False, True, True], places) == 1
    # The third keeps the guards and is surely worse, or if not told from others not as good.
    assert tune.advised(found, [False, False, True], places) is None
    found.live.add(2)
    assert tune.advised(found, [False, False, True], places) is None
    assert tune.advised(found, [False, True, True], None) == 1


def test_alpha_is_tuned_by_what_the_chip_has() -> None:
    scenario = sb.Scenario.from_file("@star-dctcp").resolved
    scenario["scheme"] = {"name": "per-queue", "params": {"threshold": "65pkt"}}
    scenario["switch"] = {"queues": 1, "policy": "asic", "asic": "trident-3"}

    def alphas(name: str) -> tuple[list[float], float]:
        held = target.of(name)
        found = grid.build(
            scenario, ["alpha"], Link(10**10, 1e-4, 1500), held.hold, *held.grid(scenario)
        )
        return [p.place[0] for p in found.points], found.points[found.own].place[0]

    powers = [2.0**n for n in range(-4, 4)]
    assert alphas("trident-3") == (powers, 8.0)  # which it ships with
    assert alphas("sim") == (powers, 8.0)
    # Spectrum's multiply with the port's, 2^7: half of it where the queue's own is 1.
    scenario["switch"]["asic"] = "spectrum-4"
    tried, own = alphas("spectrum-4")
    assert own == pytest.approx(128 * 8 / 9)
    assert 64.0 in tried
    assert len(tried) == 8


def test_the_budget_is_in_processor_time(single: Path, tmp_path: Path) -> None:
    """On a machine that others use, runs take longer by the clock, and cost no more."""

    def tuned(**given: Any) -> Advice:
        return sb.tune(
            sb.Scenario.from_file(single).with_(flows=40),
            params=["threshold=3KB,30KB"],
            objective="fct.all.mean_us",
            rtt="30us",
            store=tmp_path / "store",
            **given,
        )

    first = tuned(seeds=5, delta=0.9)
    assert 0 < first.core_minutes < 1
    for path in tmp_path.glob("store/runs/*/machine.json"):
        known = json.loads(path.read_text())
        assert 0 < known["processor_s"] < 60
        path.write_text(json.dumps(known | {"wall_s": 1e6}))
    again = tuned(seeds=7, delta=0.0001)
    assert max(entry.blocks for entry in again.entries) == 7


@pytest.mark.long
def test_without_a_file_a_few_numbers_make_one(switchbed: Program, tmp_path: Path) -> None:
    numbers = ["--rate", "10Gbps/40Gbps", "--rtt", "80us", "--buffer", "2MB", "--load", "0.5,0.8"]
    traffic = ["--workload", "web-search:2", "--workload", "hadoop", "--flows", "40"]
    race = ["--objective", "fct.all.mean_us", "--param", "threshold=15KB", "--delta", "90%"]
    done = switchbed(
        "tune", *numbers, *traffic, *race, "--seeds", "5", "--out", "mine.toml", "--json"
    )
    found = json.loads(done.stdout)
    assert found["scheme"] == "per-queue"
    assert found["scenes"] == [
        f"load {load}, sizes {sizes}" for load in (0.5, 0.8) for sizes in ("web-search", "hadoop")
    ]
    assert "empty RTT 80 us: C·RTT = 100 KB" in found["rests_on"][1]
    # Weighted, as --workload says: no regrets.
    assert all(point["worst_regret"] is None for point in found["points"])
    made = sb.Scenario.from_file(tmp_path / "mine.toml")
    plan = made.with_({"compare.traffic.0.load": [0.5], "compare.traffic.0.sizes": ["hadoop"]})
    assert plan.resolved["topology"]["spines"] == 2  # 8 hosts of 10 Gbps are 2 times 40
    assert first.link(plan.resolved, None).rtt == pytest.approx(80e-6, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "FILE is missing"),
        (["--rate", "10Gbps", "--rtt", "80us"], "--buffer: what the switch's ports share"),
        (["--rate", "10", "--rtt", "80us", "--buffer", "1MB"], "--rate 10: "),
        (["--rate", "1Gbps", "--rtt", "9us", "--buffer", "1MB"], "48 us on the wire alone"),
        (["@star-dctcp", "--load", "0.5"], "--load: is for a scenario without FILE"),
        (
            ["--rate", "1Gbps", "--rtt", "1ms", "--buffer", "1MB", "--scheme", "ecn-sharp"],
            "--scheme ecn-sharp: needs ins_target",
        ),
        (["@star-dctcp", "--fragment", "x.json"], "--target sim takes none"),
    ],
)
def test_numbers_that_make_no_scenario_are_refused(
    switchbed: Program, options: list[str], said: str
) -> None:
    assert said in switchbed("tune", *options, code=2).stderr


def test_a_threshold_over_the_tutorials_buffer_is_left_out_and_said(
    switchbed: Program, tmp_path: Path
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "tutorial.md").read_text()
    text = page.split("```toml\n", 1)[1].split("```", 1)[0]
    (tmp_path / "fan-in.toml").write_text(text)
    few = ["--objective", "fct.all.mean_us", "--budget", "60", "--seeds", "5", "--set", "flows=20"]
    done = switchbed("tune", "fan-in.toml", *few, "--param", "threshold=30KB,424KB", "--json", "-")
    points = {each["label"]: each for each in json.loads(done.stdout)["points"]}
    assert "over the buffer" not in json.dumps(points["30 KB"])
    assert points["424 KB"]["verdict"] == "cannot be held"
    assert "over the buffer, 400KB" in json.dumps(points["424 KB"])


def test_what_the_target_holds_as_yours_is_yours() -> None:
    # Neither is whole cells of 208 bytes, and the switch has both already.
    scheme = {"name": "red", "params": {"kmin": "250000B", "kmax": "2097152B", "pmax": 0.05}}
    scenario = {"scheme": scheme, "switch": {}, "topology": {}}
    found = grid.build(
        scenario,
        ["kmin=30KB,250000B", "kmax=2097152B,2100000B"],
        grid.Link(10**11, 5e-6, 1500),
        target.of("tomahawk").hold,
    )
    ends = [tuple(point.settings.values()) for point in found.points]
    # 30,000 and 2,100,000 go up to 145 and 10,097 cells.
    assert ends == [
        *(("30160B", "2097152B"), ("30160B", "2100176B")),
        *(("250000B", "2097152B"), ("250000B", "2100176B")),
    ]
    assert found.own == 2


def test_what_is_said_first_is_of_the_transports_that_flows_have() -> None:
    tcp = {"kind": "dctcp", "ecn": True, "ecn_acks": False, "rto_min": "200ms"}
    roce = {"kind": "dcqcn", "ecn": True, "rto": "4ms", "rto_low": "4ms"}
    flows: dict[str, Any] = {"kind": "poisson"}
    switch = {
        **{"unmarkable": "drop", "queues": 4, "quantum": "1500B", "strict": 0},
        "classify": "class",
    }
    scheme = {"name": "per-queue", "params": {}}
    base: dict[str, Any] = {
        **{"transport": tcp, "switch": switch, "scheme": scheme},
        **{"traffic": [flows], "host": {}},
    }
    run = {"timeouts": 3, "drops_by_reason": {"not_ecn_capable": 9, "full": 0}}
    held = target.of("tomahawk")
    of_tcp = first.said(base, held, [run])
    assert len(of_tcp) == 2
    assert of_tcp[0].startswith("ACKs are not ECN-capable")
    # Queue pairs' ACKs and CNPs are ECN-capable, and their timer is not TCP's.
    assert first.said(base | {"roce": roce}, held, [run]) == []
    off = first.said(base | {"roce": roce | {"ecn": False}}, held, [run])
    assert [line.partition(":")[0] for line in off] == ["roce.ecn is false"]
    # Queues that mark nothing, or pass what they cannot mark, drop none of it.
    cubic = {**tcp, "kind": "cubic", "ecn": False, "ecn_acks": True}
    mixed = [flows | {"classes": [0], "transport": cubic}, flows | {"classes": [1]}]
    own = {"queues": [{"name": "none", "params": {}}, *[scheme] * 3]}
    (line, *_) = first.said(base | {"traffic": mixed, "scheme": scheme | own}, held, [run])
    assert line.startswith("ACKs are not ECN-capable")
    (line, *_) = first.said(base | {"traffic": mixed}, held, [run])
    assert line.startswith("transport.ecn is false: of traffic 0 (cubic) in queue 0 (per-queue) ")
    passes = base["switch"] | {"queue": [{"queue": "0", "unmarkable": "pass"}]}
    (line, *_) = first.said(base | {"traffic": mixed, "switch": passes}, held, [run])
    assert line.startswith("ACKs are not ECN-capable")
    # Both, by class or by source.
    both = [
        base | {"roce": roce | {"classes": [3]}},
        base | {"traffic": [flows, flows | {"transport": roce}, {"kind": "probe"}]},
    ]
    for scenario in both:
        assert first.said(scenario, held, [run])[0].startswith("ACKs are not ECN-capable")
        rests = first.rests_on(scenario, grid.Link(10**9, 1e-5, 1500), 1, 1)[0]
        assert "dctcp, rto_min" in rests
        assert "dcqcn, rto" in rests


def test_no_verdict_contradicts_its_interval(
    single: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures are drawn: leaders change and guards fall as seeds come. Where the budget ends
    first, a setting that came back lacks seeds."""
    given = sb.Scenario.from_file(single)
    verdicts: set[str] = set()
    for draw in (*range(20), 32, 70):
        verdicts |= _verdicts_of_drawn(given, draw, tmp_path, monkeypatch)
    assert {advice.WORSE, advice.BREAKS, advice.UNTOLD, advice.GONE} <= verdicts


def _verdicts_of_drawn(
    given: sb.Scenario, draw: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> set[str]:
    objectives, guarded = np.random.default_rng(draw).normal(0, [[0.2], [0.15]], (2, 17))

    def ran(place: Field, points: list[Point], seeds: list[int]) -> float:
        for point in points:
            p = int(point.place[0]) % 17
            for seed in seeds:
                one, other = np.random.default_rng((draw, p, seed)).normal(0, 0.2, 2)
                fct = {
                    "all": {"mean_us": float(np.exp(objectives[p] + one))},
                    "small": {"mean_us": float(np.exp(guarded[p] + other))},
                }
                summary = {"flows": {"all": 100, "finished": 100}, "fct": fct}
                place.summaries[point, place.scenes[0], seed] = summary
        return float(len(points) * len(seeds))

    monkeypatch.setattr(Field, "run", ran)
    monkeypatch.setattr(Field, "run_s", 1.0)
    monkeypatch.setattr(first, "said", lambda *_: [])
    found = sb.tune(
        given,
        params=["threshold=1KB,2KB,3KB,4KB,5KB,6KB,7KB,8KB"],
        objective="fct.all.mean_us",
        guards=["fct.small.mean_us<=1.1*best"],
        rtt="30us",
        budget=1.7 + draw / 20,
        store=folder / "store",
    )
    for entry in found.entries:
        assert entry.against is not None
        low, high = entry.against.low or 0.0, entry.against.high or math.inf
        broken = any(verdict.surely for verdict in entry.guards.values())
        assert (entry.verdict == advice.BREAKS) == broken
        if entry.verdict == advice.WORSE:
            assert low > 1
        elif not broken:
            assert low <= 1
        if entry.verdict == advice.AS_GOOD:
            assert high < 1 + found.delta or entry.point == found.leader
    lead = next(entry for entry in found.entries if entry.point == found.leader)
    assert lead.verdict not in (advice.WORSE, advice.GONE)
    return {entry.verdict for entry in found.entries}


def test_a_fragment_for_a_switch_that_nobody_showed_has_the_thresholds_alone() -> None:
    scenario = sb.Scenario.from_file("@star-dctcp").resolved
    writer = fragment.Writer("star", target.of("sonic"))
    found = writer.made(scenario, {"scheme.params.threshold": "65pkt"})
    assert isinstance(found, dict)
    assert set(found) == {"QUEUE", "WRED_PROFILE"}
    assert {key for row in found["QUEUE"].values() for key in row} == {"wred_profile"}
    # Memory that was tuned is exported, which refuses what no chip has.
    with pytest.raises(sb.Mistake, match=r"switch\.buffer: policy = shared"):
        writer.made(scenario, {"switch.buffer": "300KB"})


@pytest.mark.parametrize("name", ["@pfc-deadlock", "@pfc-incast", "@roce-leaf-spine", "@fat-tree"])
def test_the_round_trip_is_measured_whatever_the_switches_do(name: str) -> None:
    scenario = json.loads(sb.Scenario.from_file(name).plans[0].scenario)
    assert 1e-6 < first.link(scenario, None).rtt < 1e-3


def test_the_furthest_host_of_a_ring_is_half_round() -> None:
    made = sb.Scenario(
        {
            "topology": {"kind": "ring", "switches": 6, "hosts_per_switch": 1}
            | {"rate": "10Gbps", "delay": "1us", "ring_delay": "10us"},
            "switch": {"queues": 1, "buffer": "100KB"},
            "scheme": {"name": "per-queue", "params": {"threshold": "20KB"}},
            "transport": {"kind": "dctcp"},
            "traffic": [{"kind": "incast", "from": [0], "to": 1, "sizes": "10KB"}],
        }
    )
    # Three links of the ring and two of hosts there and back, 64 us; ten times a packet, 12 us.
    assert first.link(made.resolved, None).rtt == pytest.approx(76e-6, rel=0.05)


def test_a_curve_and_a_rate_are_taken_apart_without_a_change() -> None:
    given = sb.Scenario.from_file("@roce-incast")
    plan = given.plans[0]
    free = grid.unbound(json.loads(plan.scenario))
    assert "curve" not in free["scheme"]["params"]
    tuned = given.with_(free)
    summaries = [
        run_one(0, each, sb._native.Progress())[1].summary for each in (plan, tuned.plans[0])
    ]
    for summary in summaries:
        summary.pop("warnings")
    assert summaries[0] == summaries[1]
    # A compared parameter is of the scheme that was set.
    low = tuned.with_({"compare.scheme.params.kmin": ["5000B"]}).plans[0]
    assert json.loads(low.scenario)["scheme"]["params"]["kmin"] in ("5KB", "5000B")


def test_points_over_the_buffer_are_refused_and_the_others_run(tmp_path: Any) -> None:
    small = sb.Scenario(
        {
            "topology": {"kind": "star", "hosts": 3, "rate": "10Gbps", "delay": "25us"},
            "switch": {"queues": 1, "buffer": "120KB"},
            "scheme": {"name": "per-queue", "params": {"threshold": "65pkt"}},
            "transport": {"kind": "dctcp"},
            "traffic": [{"kind": "incast", "from": [0, 1], "to": 2, "sizes": "200KB"}],
        }
    )
    found = sb.tune(
        small,
        objective="fct.all.mean_us",
        guards=(),
        params=["threshold=20KB,60KB,300KB"],
        seeds=5,
        store=tmp_path / "store",
    )
    verdicts = {entry.point.label: entry for entry in found.entries}
    assert verdicts["300 KB"].verdict == advice.REFUSED
    assert "120" in verdicts["300 KB"].why
    assert verdicts["20 KB"].verdict != advice.REFUSED


def test_a_store_says_what_a_run_takes_of_a_core(tmp_path: Any) -> None:
    scenario = sb.Scenario.from_file("@star-dctcp").with_({"measure.queues": "all"})
    found = sb.sweep(scenario, tmp_path / "store", name="s")
    machine = json.loads(next(tmp_path.glob("store/runs/*/machine.json")).read_text())
    assert found.ran == 1
    if "processor_s" in machine:
        # All of the run is on one thread: on a machine that is free, the two are alike.
        assert machine["processor_s"] > 0.02 * machine["wall_s"]
        assert machine["processor_s"] < 1.2 * machine["wall_s"] + 0.05
