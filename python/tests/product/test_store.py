"""Result directories: what is in them, that they are whole, and never overwritten by mistake."""

import base64
import contextlib
import json
import os
import re
import runpy
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from conftest import SLOW, Program

from switchbed import Plan, Progress, plans
from switchbed.directory import SIGN


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder but the machine's own."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if p.name != "machine.json"}


def test_one_run_writes_manifest_tables_and_summary(
    switchbed: Program, monitored: Path, tmp_path: Path
) -> None:
    switchbed("run", monitored, "--out", "out")
    out = tmp_path / "out"
    manifest = json.loads((out / "manifest.json").read_text())
    assert {"scenario", "version", "build", "schema_version", "seed"} <= manifest.keys()
    machine = json.loads((out / "machine.json").read_text())
    assert {"wall_s", "threads", "processor", "cores"} <= machine.keys()
    assert "wall_s" not in json.loads((out / "summary.json").read_text())
    flows = pl.read_parquet(out / "flows.parquet")
    assert flows.columns == [column["name"] for column in manifest["tables"]["flows"]]


def test_parquet_columns_say_their_unit_and_meaning(
    switchbed: Program, monitored: Path, tmp_path: Path
) -> None:
    switchbed("run", monitored, "--out", "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    schema = pl.read_parquet_metadata(tmp_path / "out/flows.parquet")["ARROW:schema"]
    for column in manifest["tables"]["flows"]:
        assert column["meaning"]
        assert column["meaning"].encode() in base64.b64decode(schema)


def test_the_documentation_has_every_column(
    switchbed: Program, monitored: Path, tmp_path: Path
) -> None:
    switchbed("run", monitored, "--out", "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    docs = Path(__file__).parents[3] / "docs"
    written: str = runpy.run_path(str(docs / "product.py"))["columns"]()
    sections = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^#|\Z)", written, re.M | re.S))
    for name, columns in manifest["tables"].items():
        for c in columns:
            assert f"| `{c['name']}` | {c['unit']} | {c['meaning']} |\n" in sections[name]
    page = (docs / "results.md").read_text()
    assert [name for name in sections if f"`{name}`" not in page] == []


@pytest.mark.parametrize("form", ["csv", "json"])
def test_tables_in_other_formats_hold_the_same(
    switchbed: Program, monitored: Path, tmp_path: Path, form: str
) -> None:
    switchbed("run", monitored, "--out", "a")
    switchbed("run", monitored, "--out", "b", "--tables", form)
    read = pl.read_csv if form == "csv" else pl.read_json
    names = ("flows", "queues", "ports", "series", "changes", "bursts", "convergence", "rates")
    for name in names:
        table = pl.read_parquet(tmp_path / f"a/{name}.parquet")
        assert len(table) > 0
        assert read(tmp_path / f"b/{name}.{form}").cast(table.schema).equals(table)


def test_the_same_bytes_whatever_the_threads(
    switchbed: Program, sweep: Path, tmp_path: Path
) -> None:
    switchbed("run", sweep, "--out", "one", "--jobs", "1")
    switchbed("run", sweep, "--out", "four", "--jobs", "4")
    one, four = contents(tmp_path / "one"), contents(tmp_path / "four")
    assert one.keys() == four.keys()
    assert [name for name in one if one[name] != four[name]] == []


def test_a_sweep_has_a_folder_a_run_and_a_table_of_them(
    switchbed: Program, sweep: Path, tmp_path: Path
) -> None:
    switchbed("run", sweep, "--out", "out")
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["complete"] is True
    runs = pl.read_parquet(tmp_path / "out/runs.parquet")
    assert len(runs) == len(summary["runs"]) == summary["planned"]
    assert runs["fct_all_mean_us"].to_list() == [
        run["fct"]["all"]["mean_us"] for run in summary["runs"]
    ]
    for folder in runs["folder"]:
        assert (tmp_path / "out" / folder / "flows.parquet").exists()


def test_any_value_may_be_compared(switchbed: Program, single: Path, tmp_path: Path) -> None:
    axes = {
        "switch.quantum": '["1500B", ["1500B", "3000B"]]',
        "load": "[0.5, 1]",
        "transport.ecn_acks": "[true, false]",
    }
    sets = [word for key, values in axes.items() for word in ("--set", f"compare.{key}={values}")]
    printed = switchbed("run", single, *sets, "--out", "out").stdout
    assert '["1500B", "3000B"]' in printed
    runs = pl.read_parquet(tmp_path / "out/runs.parquet")
    assert runs["load"].to_list() == [0.5, 0.5, 1, 1] * 2
    assert runs["switch.quantum"][7] == '["1500B", "3000B"]'
    assert runs["transport.ecn_acks"].to_list() == ["true", "false"] * 4


def test_what_exists_is_replaced_with_force_only(
    switchbed: Program, single: Path, tmp_path: Path
) -> None:
    switchbed("run", single, "--out", "out")
    before = contents(tmp_path / "out")
    done = switchbed("run", single, "--out", "out", "--seed", "9", code=2)
    assert "--force" in done.stderr
    assert contents(tmp_path / "out") == before
    switchbed("run", single, "--out", "out", "--seed", "9", "--force")
    assert contents(tmp_path / "out") != before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


def test_what_killed_runs_left_is_removed_and_nothing_else(
    command: list[str], switchbed: Program, single: Path, tmp_path: Path
) -> None:
    drafts = re.compile(r"\.out\.\d+\.partial")
    arguments = [*command, "run", str(single), "--out", "out"]

    def left() -> set[str]:
        return {path.name for path in tmp_path.iterdir() if drafts.fullmatch(path.name)}

    def running(*more: str) -> tuple[subprocess.Popen[bytes], str]:
        before = left()
        process = started.enter_context(subprocess.Popen([*arguments, *SLOW, *more], cwd=tmp_path))
        started.callback(process.kill)
        # A draft without its sign may be a user's directory: it is left alone.
        while not (draft := left() - before) or not (tmp_path / min(draft) / SIGN).exists():
            assert process.poll() is None
            time.sleep(0.01)
        return process, draft.pop()

    with contextlib.ExitStack() as started:
        killed, draft = running()
        killed.kill()
        killed.wait()
        assert left() == {draft}
        # Others' names are left alone, and so is the draft of a run that goes on.
        alike = [".out.x.partial", ".other.1.partial", ".out.1.partial.tex"]
        # As is one that its process has not locked yet.
        early = f".out.{os.getpid()}.partial"
        (tmp_path / early).mkdir()
        for name in alike:
            (tmp_path / name).mkdir()
        goes_on, draft = running("--force")
        goes_on.send_signal(signal.SIGSTOP)
        switchbed("run", single, "--out", "out")
        assert left() == {draft, early}
        goes_on.send_signal(signal.SIGCONT)
        assert goes_on.wait() == 0
        assert left() == {early}
        assert all((tmp_path / name).exists() for name in alike)


def test_force_does_not_replace_what_is_not_ours(
    switchbed: Program, single: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "out/thesis.tex"
    precious.parent.mkdir()
    precious.write_text("years")
    (tmp_path / "out/manifest.json").write_text('{"name": "another program"}')
    switchbed("run", single, "--out", "out", "--force", code=2)
    assert precious.read_text() == "years"
    (tmp_path / "empty").mkdir()
    switchbed("run", single, "--out", "empty", code=2)
    switchbed("run", single, "--out", "empty", "--force")
    assert (tmp_path / "empty/manifest.json").exists()


def flows_of(plan: Plan) -> pl.DataFrame:
    """The flows of a run that nobody cancels."""
    results = plan.run(Progress())
    assert results is not None
    return pl.DataFrame(results.flows)


def test_tables_reach_polars_without_a_file(single: Path) -> None:
    (plan,) = plans(single)
    flows = flows_of(plan)
    assert len(flows) == 300
    expected = ["row", "src", "dst", "class", "size_bytes", "start_s", "fct_s", "timeouts"]
    assert [name for name in flows.columns if name in expected] == expected


def test_what_does_not_exist_is_null(single: Path) -> None:
    (plan,) = plans(single, ["run.until=1ms"])
    flows = flows_of(plan)
    assert 0 < flows["fct_s"].null_count() < len(flows)
    assert flows["fct_s"].is_nan().sum() == 0
