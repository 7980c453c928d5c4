"""Sweeps: what is kept is not run again, kills and failures, keys, the stop rule, queries."""

import json
import os
import pty
import random
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import AT_ONCE_S, SINGLE, SWEEP, Program
from forked import HANGS_S
from test_run import read

import switchbed as sb
from switchbed import stats
from switchbed.store import Store
from switchbed.sweeps import key
from switchbed.sweeps.stopping import LEAST, Rule, figure
from switchbed.sweeps.sweep import run
from switchbed.sweeps.threads import Threads


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder but the machine's own."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if p.name != "machine.json"}


def test_a_sweep_killed_twice_and_resumed_equals_one_that_was_not(
    switchbed: Program, command: list[str], sweep: Path, tmp_path: Path
) -> None:
    many = ["--set", "flows=100", "--seeds", "20", "--jobs", "2"]
    arguments = [*command, "sweep", str(sweep), *many, "--store", "killed"]
    store = tmp_path / "killed"
    draw = random.Random()  # other points each time; an assertion that fails names them
    points = [draw.randint(1, 24), draw.randint(25, 48)]
    for point in points:
        with subprocess.Popen(
            arguments, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True
        ) as process:
            while len(list(store.glob("runs/*"))) < point:
                assert process.poll() is None, "it ended before it could be killed"
                time.sleep(0.001)
            os.killpg(process.pid, signal.SIGKILL)
    before = len(list(store.glob("runs/*")))
    assert points[1] <= before < 80, points
    assert not (store / "sweeps/sweep.parquet").exists(), "no table of half a sweep"
    resumed = switchbed("sweep", sweep, *many, "--store", "killed").stdout
    assert f"80 runs: {80 - before} ran, {before} kept from before; in killed" in resumed
    switchbed("sweep", sweep, *many, "--store", "whole")
    assert contents(store) == contents(tmp_path / "whole"), points
    assert not list((store / ".drafts").iterdir())
    rows = pl.read_parquet(store / "sweeps/sweep.parquet")
    there = sorted(path.name for path in store.glob("runs/*"))
    assert sorted(rows["run"]) == there, "every run is there, once"
    assert len(set(there)) == 80


def test_a_repeated_sweep_runs_nothing(switchbed: Program, sweep: Path, tmp_path: Path) -> None:
    switchbed("sweep", sweep)
    before = contents(tmp_path / "switchbed-store")
    assert "8 runs: 0 ran, 8 kept" in switchbed("sweep", sweep).stdout
    assert contents(tmp_path / "switchbed-store") == before


def test_a_store_by_the_name_of_before_is_the_same_store(
    switchbed: Program, sweep: Path, tmp_path: Path
) -> None:
    switchbed("sweep", sweep)
    store = tmp_path / "switchbed-store"
    (store / "store.json").rename(store / "archive.json")
    before = contents(store)
    assert "0 ran" in switchbed("sweep", sweep).stdout
    assert contents(store) == before


@pytest.mark.long
def test_sweeps_at_the_same_time_write_the_same_store(
    command: list[str], switchbed: Program, sweep: Path, tmp_path: Path
) -> None:
    arguments = [*command, "sweep", str(sweep), "--set", "flows=500", "--seeds", "10"]
    together = [subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.DEVNULL) for _ in "ab"]
    assert [process.wait(timeout=HANGS_S) for process in together] == [0, 0]
    switchbed(*arguments[1:], "--store", "alone")
    assert contents(tmp_path / "switchbed-store") == contents(tmp_path / "alone")
    assert not list((tmp_path / "switchbed-store/.drafts").iterdir())


def test_sweeps_that_overlap_share_runs(tmp_path: Path) -> None:
    scenario = sb.Scenario.from_file(_write(tmp_path, SINGLE))
    loads = {"compare.load": [0.2, 0.4]}
    first = sb.sweep(scenario.with_(loads), tmp_path / "store", name="first")
    second = sb.sweep(
        scenario.with_({"compare.load": [0.4, 0.6]}), tmp_path / "store", name="second"
    )
    assert (first.ran, second.ran, second.kept) == (2, 1, 1)
    both = second.query("select sweep, load, run from runs order by sweep, load")
    assert both["sweep"].to_list() == ["first", "first", "second", "second"]
    assert both["run"][1] == both["run"][2]


def test_runs_are_those_of_switchbed_run(switchbed: Program, sweep: Path, tmp_path: Path) -> None:
    switchbed("sweep", sweep)
    summaries = json.loads(switchbed("run", sweep, "--json", "-").stdout)
    rows = pl.read_parquet(tmp_path / "switchbed-store/sweeps/sweep.parquet")
    wanted = [summary["fct"]["all"]["mean_us"] for summary in summaries]
    assert rows["fct_all_mean_us"].to_list() == wanted
    assert rows["scheme"].to_list() == [s["settings"]["scheme"] for s in summaries]
    assert rows["seed"].to_list() == [1, 2] * 4


FLOWS = "start_s,src,dst,size_bytes\n0,0,1,1000\n0,0,2,1000\n"


def test_a_run_that_fails_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.csv"
    (tmp_path / "right.csv").write_text(FLOWS)
    files = [{"kind": "list", "file": name} for name in ("wrong.csv", "right.csv")]
    lists = sb.Scenario.from_file(_write(tmp_path, SINGLE)).with_(
        {"compare.traffic": [[source] for source in files], "compare.seed": [1, 2]}
    )

    def plans(_: object) -> list[sb.Plan]:
        wrong.write_text(FLOWS)
        planned = lists.plans
        # What only the run can notice.
        wrong.write_text(FLOWS.replace("0,0,2", "0,0,99"))
        return planned

    store = Store(tmp_path / "store")
    first = run(plans, store, "lists", None, None, Threads(2))
    assert (first.ran, first.failed, first.kept) == (2, 2, 0)
    rows = first.query("select status, message from runs")
    assert rows["status"].to_list() == ["failed", "failed", "ok", "ok"]
    assert "99" in rows["message"][0]
    assert rows["message"][2] == ""
    assert [len(found.flows) for found in first.results()] == [2, 2]
    # A failure is a result too, until told otherwise or the file is mended.
    again = run(plans, store, "lists", None, None, Threads(2))
    assert (again.ran, again.failed, again.kept, len(again.failures)) == (0, 0, 4, 2)
    retried = run(plans, store, "lists", None, None, Threads(2), retry=True)
    assert (retried.ran, retried.failed, retried.kept) == (0, 2, 2)
    wrong.write_text(FLOWS.replace("0,0,2", "0,0,3"))
    mended = sb.sweep(lists, tmp_path / "store", name="lists")
    assert (mended.ran, mended.failed, mended.kept) == (2, 0, 2)


def test_a_terminal_shows_rate_failures_and_time_remaining(
    command: list[str], tmp_path: Path
) -> None:
    flows = (f"{i / 1e5},{i % 4},{(i + 1) % 4},30000" for i in range(20_000))
    header = FLOWS.partition("\n")[0]
    (tmp_path / "right.csv").write_text("\n".join([header, *flows]))
    (tmp_path / "wrong.csv").write_text(FLOWS)
    sources = "".join(f'[{{ kind = "list", file = "{n}.csv" }}], ' for n in ("right", "wrong"))
    one_way = re.sub(r"\[\[traffic\]\].*?(?=\[measure\])", "", SINGLE, flags=re.S)
    compare = f"[compare]\nseed = [1, 2, 3, 4, 5]\ntraffic = [{sources}]\n"
    file = _write(tmp_path, one_way + compare)
    parent, child = pty.openpty()
    with subprocess.Popen(
        [*command, "sweep", str(file), "--jobs", "1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=child,
        text=True,
    ) as process:
        os.close(child)
        while not list(tmp_path.glob("switchbed-store/runs/*")):
            assert process.poll() is None
            time.sleep(0.01)
        # What only the run can notice. At one go: a run may be reading, and half a file is another
        # mistake.
        (tmp_path / "new.csv").write_text(FLOWS.replace("0,0,2", "0,0,99"))
        (tmp_path / "new.csv").replace(tmp_path / "wrong.csv")
        shown = b"".join(iter(lambda: read(parent), b"")).decode()
        printed, _ = process.communicate()
    os.close(parent)
    assert process.returncode == 1
    bar = r"\d:\d\d:\d\d\S* \S*\d/10 runs · \d failed · [\d.]+ runs/s"
    assert re.search(bar, shown), shown[-2000:]
    failures = "".join(re.findall(r"failed: seed=(\d) .*wrong.csv:3: column dst: `99`", shown))
    # All from some run on: which one, the machine says.
    assert failures
    assert "12345".endswith(failures)
    ran, failed = 10 - len(failures), len(failures)
    assert f"runs: {ran} ran, 0 kept from before, {failed} failed; in switchbed-store" in printed


def test_drafts_of_the_dead_are_swept_up_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    store, other = Store(tmp_path / "store"), Store(tmp_path / "store")
    with subprocess.Popen(["true"]) as dead:
        pass
    here, drafts = socket.gethostname(), tmp_path / "store/.drafts"
    known = {"dead": f"{here}-{dead.pid}-00", "alive": f"{here}-{os.getpid()}-00"}
    known |= {"late": "a-b-1-00", "fresh": "a-b-2-00", "strange": "x"}
    for name in known.values():
        (drafts / name / "key").mkdir(parents=True)
    os.utime(drafts / known["late"], (0, 0))
    store.sweep()
    assert {path.name for path in drafts.iterdir()} == {
        known[k] for k in ("alive", "fresh", "strange")
    }
    for each in (store, other):
        each.keep_files("k", {"summary.json": b"{}", "captures/a.pcapng": b""})
    assert contents(tmp_path / "store/runs") == {
        "k/summary.json": b"{}",
        "k/captures/a.pcapng": b"",
    }
    other.end()
    assert not list(drafts.rglob("summary.json"))


def test_ctrl_c_keeps_what_has_finished(
    switchbed: Program, command: list[str], sweep: Path
) -> None:
    slow = ["--set", "flows=60_000", "--jobs", "1"]
    store = sweep.parent / "switchbed-store"
    with subprocess.Popen(
        [*command, "sweep", str(sweep), *slow],
        cwd=sweep.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not list(store.glob("runs/*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(2)
        printed, errors = process.communicate(timeout=AT_ONCE_S)
    assert process.returncode == 130
    assert "goes on from here" in errors
    assert "Traceback" not in errors
    kept = len(list(store.glob("runs/*")))
    assert f"{kept} runs: {kept} ran" in printed


def test_a_key_changes_with_what_matters_and_with_nothing_else(tmp_path: Path) -> None:
    base = sb.Scenario.from_file(_write(tmp_path, SINGLE))

    def of(scenario: sb.Scenario) -> str:
        return key.of(scenario.plans[0])

    assert of(base) == of(base.with_(load=0.6)) == of(base.with_(seed=1, title="other"))
    assert of(base) != of(base.with_(seed=2))
    assert of(base) != of(base.with_({"scheme.params.threshold": "21pkt"}))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "flows.csv").write_text(FLOWS)
    sources = [{"kind": "list", "file": f"{folder}/flows.csv"} for folder in "ab"]
    there, copy = (of(base.with_(traffic=[source])) for source in sources)
    assert there == copy
    (tmp_path / "b/flows.csv").write_text(FLOWS.replace("1000", "1001"))
    assert of(base.with_(traffic=[sources[1]])) != there


def test_seeds_are_added_until_the_interval_is_narrow(tmp_path: Path) -> None:
    scenario = sb.Scenario.from_file(_write(tmp_path, SWEEP)).with_({"compare.seed": [1]})
    found = sb.sweep(scenario, tmp_path / "store", metric="fct.all.p99_us", precision=0.05)
    frame = found.frame
    for point in ("load", "scheme"):
        assert frame[point].n_unique() == 2
    for (load,), rows in frame.group_by("load"):
        counts = [len(group) for _, group in rows.group_by("scheme")]
        assert counts[0] == counts[1], "schemes stay paired"
        assert LEAST <= counts[0] <= 30
        for _, group in rows.group_by("scheme"):
            assert group["seed"].to_list() == list(range(1, counts[0] + 1))
            narrow = stats.mean(group["fct_all_p99_us"].to_list()).relative <= 0.05
            assert narrow or counts[0] == 30, load
    again = sb.sweep(scenario, tmp_path / "store", metric="fct.all.p99_us", precision=0.05)
    assert again.ran == 0
    assert again.frame.equals(frame)


def groups(*schemes: list[float]) -> dict[str | None, list[dict[str, float]]]:
    """Summaries of each scheme at a point, a seed each."""
    return {
        chr(ord("a") + i): [{"x": v, "seed": seed} for seed, v in enumerate(values, 1)]
        for i, values in enumerate(schemes)
    }


def test_the_rule_asks_for_no_more_than_is_allowed() -> None:
    rule = Rule("x", 0.05, 10)
    assert rule.more(groups([1.0])) == LEAST - 1
    assert rule.more(groups([9.0, 10.0, 11.0])) == 3  # 18 wanted, doubled at most
    assert rule.more(groups([9.0, 10.0, 11.0, 9.0, 10.0, 11.0, 7.0, 13.0])) == 2
    assert rule.more(groups([10.0, 10.0, 10.0])) == 0
    assert rule.more(groups([10.0, 10.1] * 5)) == 0
    # The worst scheme of the point decides.
    assert rule.more(groups([10.0, 10.0, 10.0], [9.0, 10.0, 11.0])) == 3


def test_the_paired_rule_looks_at_ratios_over_common_seeds() -> None:
    alone, paired = Rule("x", 0.05, 10), Rule("x", 0.05, 10, against="a")
    # Seeds vary by a factor of four, and the ratio hardly does.
    together = groups([10.0, 20.0, 40.0], [9.0, 18.1, 35.9])
    assert alone.more(together) == 3
    assert paired.more(together) == 0
    assert Rule("x", 0.001, 10, against="a").more(together) == 3
    # The other way round, and with a third that varies of itself.
    assert Rule("x", 0.05, 10, against="b").more(together) == 0
    assert paired.more(groups([10.0, 20.0, 40.0], [9.0, 18.1, 35.9], [9.0, 30.0, 20.0])) == 3
    # Seeds that only one of them has do not count.
    lacking = groups([10.0, 20.0, 40.0], [9.0, 18.1, 90.0])
    assert paired.more(lacking) == 3
    lacking["b"][2]["seed"] = 7
    assert paired.more(lacking) == 3, "two pairs are known well enough, and are too few"
    assert paired.more({"a": [], "b": lacking["b"]}) == 3
    assert paired.more(groups([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])) == 3


def test_the_rule_names_the_schemes_that_are_not_precise_yet() -> None:
    given = groups([10.0, 10.0, 10.0], [9.0, 10.0, 11.0], [1.0])
    unmet = Rule("x", 0.05, 10).unmet(given)
    # Student's t of two degrees of freedom, 4.303, times 1/√3: on the log scale a little more.
    assert set(unmet) == {"b", "c"}
    assert unmet["b"] == pytest.approx(0.248, abs=0.01)
    assert unmet["c"] is None
    assert set(Rule("x", 0.05, 10, against="a").unmet(given)) == {"b", "c"}
    assert Rule("x", 0.3, 10).unmet(groups([9.0, 10.0, 11.0])) == {}


def test_a_sweep_says_that_its_precision_was_not_reached(
    switchbed: Program, sweep: Path, tmp_path: Path
) -> None:
    def said(*more: str) -> str:
        options = ("--precision", "1%", "--max-seeds", "3", *more)
        return switchbed("sweep", sweep, "--store", tmp_path / "store", *options).stderr

    assert re.search(
        r"warning: fct\.all\.mean_us is within ±1 % in \d of 4 settings; the widest is ±\d.* % "
        r"after 3 seeds \(scheme [\w-]+, load 0\.\d\): raise --max-seeds",
        said(),
    )
    assert "within" not in said("--metric", "flows.count")
    assert "has no interval after 3 seeds" in said("--metric", "fct_by_met.p99_us")


def test_seeds_are_added_until_the_ratio_is_known(tmp_path: Path) -> None:
    scenario = sb.Scenario.from_file(_write(tmp_path, SWEEP)).with_({"compare.seed": [1]})
    given: dict[str, Any] = {"metric": "fct.all.mean_us", "precision": 0.03}
    found = sb.sweep(scenario, tmp_path / "store", against="per-queue", **given)
    for _, rows in found.frame.sort("seed").group_by("load"):
        of, base = (rows.filter(pl.col("scheme") == name) for name in ("MQ-ECN", "per-queue"))
        assert of["seed"].to_list() == base["seed"].to_list()
        ratio = stats.paired(of["fct_all_mean_us"].to_list(), base["fct_all_mean_us"].to_list())
        assert ratio.ratio.relative <= 0.03 or len(of) == 30
    alone = sb.sweep(scenario, tmp_path / "store", name="alone", **given)
    assert len(found.frame) < len(alone.frame), "pairs need fewer seeds"


def test_results_of_a_sweep_have_their_tables(tmp_path: Path) -> None:
    found = sb.sweep(_write(tmp_path, SWEEP), tmp_path / "store", seeds=1)
    results = list(found.results())
    assert [run.settings["load"] for run in results] == [0.4, 0.8, 0.4, 0.8]
    assert all(len(run.flows) == 300 for run in results)
    joined = found.query(
        "select scheme, load, count(*) as n from flows join runs using (run) "
        "group by all order by all"
    )
    assert joined["n"].to_list() == [300] * 4


def test_a_query_prints_rows_in_any_form(switchbed: Program, sweep: Path) -> None:
    switchbed("sweep", sweep)
    sql = "select scheme, round(avg(fct_all_mean_us)) as mean from runs group by 1 order by 1"
    assert "MQ-ECN" in switchbed("query", sql).stdout
    assert switchbed("query", sql, "--csv").stdout.splitlines()[0] == "scheme,mean"
    assert json.loads(switchbed("query", sql, "--json").stdout)[0]["scheme"] == "MQ-ECN"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["query", "select 1"], "no store of sweeps"),
        (["query", "select 1", "--store", "."], "no store of sweeps"),
        (["sweep", "sweep.toml", "--store", "."], "exists and is no store"),
        (["sweep", "sweep.toml", "--name", "../x"], "--name"),
        (["sweep", "sweep.toml", "--precision", "much"], "such as 5%"),
        (["sweep", "sweep.toml", "--precision", "500%"], "between 0 and 1"),
        (["sweep", "sweep.toml", "--precision", "5%", "--max-seeds", "2"], "at least 3"),
        (["sweep", "sweep.toml", "--against", "per-queue"], "add --precision"),
        (
            ["sweep", "sweep.toml", "--precision", "5%", "--against", "x"],
            "[compare] has per-queue, MQ-ECN",
        ),
        (["sweep", "missing.toml"], "missing.toml"),
        (["sweep", "sweep.toml", "--set", "load=3"], "load"),
    ],
)
def test_bad_input_is_one_line_and_makes_no_store(
    switchbed: Program, sweep: Path, arguments: list[str], says: str
) -> None:
    done = switchbed(*arguments, code=2)
    assert len(done.stderr.splitlines()) == 1
    assert says in done.stderr
    assert not (sweep.parent / "switchbed-store").exists()


def test_a_bad_query_or_metric_says_what_is_wrong(switchbed: Program, sweep: Path) -> None:
    switchbed("sweep", sweep)
    assert "nonesuch" in switchbed("query", "select nonesuch from runs", code=2).stderr
    assert "select" in switchbed("query", "create table t (x int)", code=2).stderr
    done = switchbed("sweep", sweep, "--precision", "5%", "--metric", "fct.tiny.p99_us", code=2)
    assert "no tiny there; there are all, small" in done.stderr


def test_a_sweep_says_which_runs_its_table_has_no_more(switchbed: Program, sweep: Path) -> None:
    few = ["--set", "flows=50", "--name", "mine"]
    assert "other runs" not in switchbed("sweep", sweep, *few, "--seeds", "2").stderr
    # More seeds keep what was there.
    assert "other runs" not in switchbed("sweep", sweep, *few, "--seeds", "3").stderr
    before = len(pl.read_parquet(sweep.with_name("switchbed-store") / "sweeps/mine.parquet"))
    told = switchbed("sweep", sweep, "--set", "flows=60", "--name", "mine").stderr
    assert f"warning: sweep mine had {before} other runs, which switchbed-store keeps" in told


def test_a_figure_is_found_by_its_name() -> None:
    summary: dict[str, Any] = {"fct": {"all": {"mean_us": 3}}, "endless": None, "complete": True}
    assert figure(summary, "fct.all.mean_us") == 3
    assert figure(summary, "endless.jain") is None
    with pytest.raises(sb.Mistake, match="is no number"):
        figure(summary, "complete")


def _write(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text)
    return path
