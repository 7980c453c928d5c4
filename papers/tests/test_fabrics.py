"""The comparison on the same fabrics: who is said to be beaten, its settings, a quick form of it,
and the committed page."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from switchbed import _native, stats
from switchbed._native import Mistake
from switchbed.stats import Interval
from switchbed_papers.commands import fabrics
from switchbed_papers.fabrics import experiment, linux_page, page, picture, synthesis
from switchbed_papers.fabrics.cells import (
    CELLS,
    FABRICS,
    LINUX,
    LINUX_FABRICS,
    LOADS,
    MEMORY,
    POLICIES,
    WORKLOADS,
    Cell,
)
from switchbed_papers.fabrics.front import LARGE, SMALL, Standing
from switchbed_papers.fabrics.synthesis import BASE, BESIDE, MEASURES, Ask
from switchbed_papers.reproduce import claims, places

PLAIN = CELLS[0]
Figures = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Each scheme's small p99 and large average, seed by seed."""


def standing(figures: Figures) -> Standing:
    """A cell with these figures."""
    rows = [
        {"label": label, "scheme": label, "seed": seed, SMALL: p99, LARGE: mean}
        for label, (small, large) in figures.items()
        for seed, (p99, mean) in enumerate(zip(small, large, strict=True))
    ]
    return Standing(pl.DataFrame(rows))


SEEDS = ([100, 130, 90, 110], [1000, 1500, 900, 1200])


def times(by: float, values: Sequence[float]) -> list[float]:
    """Nearly so many times the values: seeds differ a little."""
    return [value * by * (1 + 0.001 * (-1) ** seed) for seed, value in enumerate(values)]


def test_who_is_better_in_one_and_no_worse_in_the_other_beats() -> None:
    found = standing({"old": SEEDS, "new": (times(0.8, SEEDS[0]), times(1.0, SEEDS[1]))})
    assert found.beats("new", "old")
    assert not found.beats("old", "new")
    assert found.front == ["new"]


def test_a_trade_beats_nobody() -> None:
    found = standing({"old": SEEDS, "new": (times(0.8, SEEDS[0]), times(1.1, SEEDS[1]))})
    assert found.front == ["old", "new"]


def test_seeds_are_paired() -> None:
    """Between seeds figures differ more than between the schemes."""
    found = standing({"old": SEEDS, "new": (times(0.97, SEEDS[0]), times(0.97, SEEDS[1]))})
    assert found.front == ["new"]


def test_what_seeds_do_not_tell_beats_nobody() -> None:
    noisy = [value * factor for value, factor in zip(SEEDS[0], (0.4, 1.4, 0.5, 1.1), strict=True)]
    found = standing({"old": SEEDS, "new": (noisy, times(0.99, SEEDS[1]))})
    assert found.mean("new", SMALL) < found.mean("old", SMALL)
    assert (found.front, found.open) == (["new"], ["old"])
    assert found.best(SMALL) == ("new", ["old"])
    assert found.best(LARGE) == ("new", [])


def test_conditions_are_compared_over_the_seeds_of_both() -> None:
    more = standing({"old": SEEDS})
    fewer = standing({"old": (SEEDS[0][1:], SEEDS[1][1:])})
    assert more.also_in(fewer).seeds == fewer.also_in(more).seeds == 3


def test_one_seed_tells_nothing() -> None:
    found = standing({"old": ([100], [1000]), "new": ([10], [100])})
    assert (found.front, found.open) == (["new"], ["old"])


def scenarios() -> list[dict[str, Any]]:
    """A resolved one for each scheme of each fabric."""
    cells = [Cell(fabric, "web-search", "plain") for fabric in (*FABRICS, *LINUX_FABRICS)]
    return [json.loads(plan.scenario) for cell in cells for plan in cell.scenario().plans]


@pytest.mark.long
def test_the_page_says_which_schemes_it_has() -> None:
    """The same on every fabric. A new scheme is none of them, until it has its lines and runs."""
    known = {scheme["name"] for scheme in json.loads(_native.schemes())}
    has = page.schemes(page.committed(CELLS))
    assert len(has) >= 19
    assert f"has**: {', '.join(f'`{name}`' for name in has)}." in page.render()
    for fabric in FABRICS:
        plans = Cell(fabric, "web-search", "plain").scenario().plans
        named = [json.loads(plan.scenario)["scheme"]["name"] for plan in plans]
        assert list(dict.fromkeys(named)) == has
        assert known.issuperset(named)


def test_linux_hosts_meet_every_scheme_at_every_load() -> None:
    # fq-pie came after the committed rows were run.
    later = {"python", "fq-pie"}
    known = {scheme["name"] for scheme in json.loads(_native.schemes())} - later
    for cell in LINUX:
        plans = [json.loads(plan.scenario) for plan in cell.scenario(100).plans]
        assert {plan["scheme"]["name"] for plan in plans} == known
        assert {plan["traffic"][0]["load"] for plan in plans} == {float(cell.load)}
        assert plans[0]["host"]["profile"] == "linux-6.x"
        assert plans[0]["host"]["lso"] is True, "as the profile has it"
    assert {cell.load for cell in LINUX} == set(LOADS)


def test_every_policy_of_shared_memory_meets_every_load() -> None:
    known = {entry["name"] for entry in json.loads(_native.policies())}
    assert set(POLICIES) == known - {"static"}
    for cell in MEMORY:
        plans = [json.loads(plan.scenario) for plan in cell.scenario(100).plans]
        assert [plan["switch"]["policy"] for plan in plans] == POLICIES
        assert {plan["scheme"]["name"] for plan in plans} == {"per-queue"}
        assert {plan["traffic"][0]["load"] for plan in plans} == {float(cell.load)}


def test_thresholds_follow_the_rule() -> None:
    """K = 0.917·C·RTT, or 0.17·C·RTT; q_eq by the rate."""
    for scenario in scenarios():
        topology, params = scenario["topology"], scenario["scheme"]["params"]
        hosts, fabric = (_native.rate_bps(topology[f"{tier}_rate"]) for tier in ("host", "fabric"))
        ways = [
            (_native.time_ps(topology[f"{t}_delay"]) / 1e12, r)
            for t, r in (("host", hosts), ("fabric", fabric))
        ]
        rtt_s = sum(4 * delay + 2 * 8 * (1500 + 40) / rate for delay, rate in ways)
        bdp = hosts * rtt_s / 8
        share = 0.17 if "0.17" in scenario["scheme"].get("label", "") else 0.917
        k1 = next(
            (params[key] for key in ("k1", "threshold", "kmax", "q_ref") if key in params), ""
        )
        if isinstance(k1, str) and k1 and scenario["scheme"]["name"] != "tcn":
            assert _native.size_bytes(k1) == pytest.approx(share * bdp, abs=750)
        if "k2" in params:
            k2 = 5 / 4 * _native.size_bytes(k1) + bdp / 4
            assert _native.size_bytes(params["k2"]) == pytest.approx(k2, abs=750)
        if "q_eq" in params:
            assert _native.size_bytes(params["q_eq"]) == pytest.approx(26e3 * hosts / 10e9)
        if scenario["scheme"]["name"] == "e-ecn":
            assert _native.time_ps(params["t_a"]) == pytest.approx(3 * rtt_s * 1e12, rel=0.002)


def test_only_the_incast_is_left_out_of_the_other_cells() -> None:
    incast = Cell("10-40", "data-mining", "incast").scenario().plans
    for condition, lso in (("plain", False), ("lso", True)):
        other = Cell("10-40", "data-mining", condition).scenario().plans
        for ours, theirs in zip(other, incast, strict=True):
            one, both = json.loads(ours.scenario), json.loads(theirs.scenario)
            assert one["traffic"] == both["traffic"][:1]
            assert both["traffic"][1]["rounds"] == WORKLOADS["data-mining"][1]
            assert one["host"] == both["host"] | {"lso": lso}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Cell, pl.DataFrame]]:
    """The comparison with few flows, and its store."""
    store = tmp_path_factory.mktemp("fabrics") / "store"
    cells = [Cell("25-100", "web-search", condition) for condition in ("plain", "incast")]
    return store, experiment.run(cells, store, seeds=2, jobs=None, flows=50)


@pytest.mark.long
def test_schemes_meet_the_same_flows(quick: tuple[Path, dict[Cell, pl.DataFrame]]) -> None:
    for cell, table in quick[1].items():
        assert table.height == 2 * len(cell.scenario().plans)
        for seed in (1, 2):
            counts = table.filter(pl.col("seed") == seed).select("small_flows", "large_flows")
            assert counts.unique().height == 1
        assert table["incast_p99_us"].is_null().all() == (cell.condition != "incast")
        assert table["small_p99_us"].n_unique() > table.height / 2


@pytest.mark.long
def test_what_has_run_is_kept(
    quick: tuple[Path, dict[Cell, pl.DataFrame]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tables = quick
    monkeypatch.setattr("switchbed.runner._one", None)
    again = experiment.run(list(tables), store, seeds=2, jobs=None, flows=50)
    assert all(again[cell].equals(table) for cell, table in tables.items())


def test_a_page_and_pictures_follow(
    quick: tuple[Path, dict[Cell, pl.DataFrame]], tmp_path: Path
) -> None:
    found = {cell: Standing(table) for cell, table in quick[1].items()}
    page.draw(found, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"plain.png", "incast.png"}
    text = page.render(found)
    assert "100 seeds" not in text
    assert "2 seeds" in text
    for label in ("per-queue 0.17", "cqrd-configured"):
        assert f"| {label} |" in text


def test_tables_are_kept_as_they_are(
    quick: tuple[Path, dict[Cell, pl.DataFrame]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path / "results.csv")
    experiment.kept.cache_clear()
    for cell, table in quick[1].items():
        experiment.write(cell, table)
        kept = experiment.committed(cell)
        assert kept is not None
        assert kept["label"].to_list() == table["label"].to_list()
        assert kept["small_p99_us"].to_list() == pytest.approx(
            table["small_p99_us"].to_list(), abs=0.1
        )
    experiment.kept.cache_clear()


QUICK = ("linux-25-100-web-search-plain-0.3", "linux-25-100-web-search-memory-0.3")


@pytest.mark.long
def test_a_page_of_linux_hosts_follows(tmp_path: Path) -> None:
    """Of the cells that there are, and of a single seed too."""
    cells = [cell for cell in (*LINUX, *MEMORY) if cell.name in QUICK]
    tables = experiment.run(cells, tmp_path / "store", seeds=1, jobs=None, flows=30)
    found = {cell: Standing(table) for cell, table in tables.items()}
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    linux_page.draw({cell: of for cell, of in found.items() if cell in LINUX}, pictures)
    assert [file.name for file in pictures.iterdir()] == ["linux-0.3.png"]
    text = linux_page.render(found)
    assert "1 seed, 29 runs" in text
    for words in ("### Load 0.3", "| fq-codel |", "| 25/100 web-search 0.3 |"):
        assert words in text
    for words in ("1 seed, 6 runs", "| policy | small p99 against shared, % |", "| occamy |"):
        assert words in text
    assert "### Load 0.6" not in text


def test_who_is_near_the_best() -> None:
    found = standing({"old": SEEDS, "new": (times(0.98, SEEDS[0]), times(1.1, SEEDS[1]))})
    assert linux_page.behind(found, "new", SMALL) == 0
    assert linux_page.behind(found, "old", SMALL) == pytest.approx(1 / 0.98 - 1, rel=0.1)
    assert linux_page.behind(found, "new", LARGE) == pytest.approx(0.1, rel=0.1)


def test_too_few_flows_are_named() -> None:
    table = pl.DataFrame({"label": ["a"], "scheme": ["a"], "seed": [1], LARGE: [None]})
    with pytest.raises(Mistake, match="a: a seed has no flows for large_mean_us"):
        Standing(table).mean("a", LARGE)


def test_every_cell_has_committed_results() -> None:
    assert list(page.committed((*CELLS, *LINUX, *MEMORY))) == [*CELLS, *LINUX, *MEMORY]


def test_the_committed_results_are_of_the_schemes_in_the_files() -> None:
    for cell, of_it in page.committed((*CELLS, *LINUX, *MEMORY)).items():
        plans = [dict(json.loads(plan.settings)) for plan in cell.scenario().plans]
        assert of_it.labels == [plan.get("switch.policy", plan["scheme"]) for plan in plans]
        counts = of_it.table.group_by("label").len()["len"]
        assert set(counts) == {of_it.seeds}


def test_what_cannot_be_asked_for_is_said() -> None:
    def said(*arguments: str) -> str:
        return CliRunner().invoke(fabrics, arguments).output

    assert "no such cell; there is 10-40-web-search-plain" in said("--only", "100-400")
    assert "without --flows" in said("--commit", "--flows", "9")


def test_a_picture_names_its_front(tmp_path: Path) -> None:
    found = standing({"per-queue": SEEDS, "mq-ecn": (times(0.8, SEEDS[0]), SEEDS[1])})
    picture.draw({PLAIN: found}, "A test", tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 10_000


LOWER = Ask("a", "b", "all_mean_us", (0.6, 0.8), lower=True, paper="", place="")
SIGN = Ask("a", "b", "all_mean_us", None, lower=True, paper="", place="")
SAME = Ask("a", "b", "all_mean_us", None, lower=False, paper="", place="")
PRICE = Ask("a", "b", "all_mean_us", (1.0, 1.2), lower=False, paper="", place="")


@pytest.mark.parametrize(
    ("ask", "low", "estimate", "high", "verdict"),
    [
        (LOWER, 0.7, 0.8, 0.9, "survives"),
        (LOWER, 0.94, 0.95, 0.96, "survives, smaller"),
        (LOWER, 0.8, 0.9, 1.01, "not shown"),
        (LOWER, 1.01, 1.1, 1.2, "reversed"),
        (SIGN, 0.97, 0.98, 0.99, "survives"),
        (SAME, 0.95, 1.0, 1.05, "survives"),
        (SAME, 0.5, 0.6, 0.7, "survives"),
        (SAME, 0.5, 1.0, 1.05, "not shown"),
        (SAME, 0.95, 1.05, 1.2, "not shown"),
        (SAME, 1.05, 1.1, 1.2, "does not"),
        (PRICE, 0.5, 1.0, 1.2, "survives"),
        (PRICE, 1.1, 1.2, 1.3, "not shown"),
        (PRICE, 1.3, 1.4, 1.5, "does not"),
    ],
)
def test_verdict_follows_from_the_interval(
    ask: Ask, low: float, estimate: float, high: float, verdict: str
) -> None:
    assert ask.verdict(Interval(estimate, low, high, 9, 0.95)) == verdict


def test_an_interval_of_the_page_that_says_nothing_is_words() -> None:
    far = stats.paired([1.0, 300.0], [2.0, 1.0])
    assert page.change(far) == "not enough seeds"
    assert page.change(stats.paired([1.0, 1.1], [2.0, 2.1])).startswith("**−49 (")
    assert page._spread([1000.0, 9000.0]) == "5 (not enough seeds)"
    assert page._spread([1000.0, 1010.0, 990.0]) == "1 ±2 %"
    assert page._spread([1000.0]) == "1"


def test_single_cell_shows_nothing() -> None:
    assert SIGN.verdict(Interval(0.5, None, None, 1, 0.95)) == "not shown"


def test_quoted_places_exist() -> None:
    papers = claims.papers()
    asked = [ask for question in synthesis.questions() for ask in question.asks]
    for ask in asked:
        paper, _, place = ask.place.partition(" ")
        found = places.parse(place)
        assert found is not None, ask.place
        assert places.exists(found, places.read(papers[paper].folder)), ask.place
    assert {ask.place.partition(" ")[0] for ask in asked} == set(papers)


def cells(ratios: dict[str, tuple[float, float]]) -> dict[Cell, Standing]:
    """Two cells in which schemes take so many times as long as step marking."""
    found = {}
    for index, cell in enumerate(LINUX[:2]):
        labels = sorted({BASE, "per-queue-dq", "qcn", "oq", "cq", *BESIDE})
        rows = [
            {"label": label, "scheme": label, "seed": 1, "drops": 10}
            | {measure: 100.0 * ratios.get(label, (1.0, 1.0))[index] for measure in MEASURES}
            for label in labels
        ]
        found[cell] = Standing(pl.DataFrame(rows))
    return found


def test_page_has_the_cells_ratios() -> None:
    text = synthesis.render(cells({"af-qcn": (0.5, 0.51), "e-ecn": (2.0, 2.1)}))
    (line,) = [line for line in text.splitlines() if line.startswith("| AF-QCN against QCN")]
    assert "| 2 of 2 | survives |" in line
    (beside,) = [line for line in text.splitlines() if line.startswith("| e-ecn |")]
    assert "+105" in beside
    assert "1.00 ×" in beside


def test_picture_is_drawn(tmp_path: Path) -> None:
    synthesis.draw(page.committed(LINUX), tmp_path)
    assert (tmp_path / f"{synthesis.PICTURE}.png").stat().st_size > 10_000
