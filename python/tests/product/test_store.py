"""Result directories: what is in them, and that they are whole. No file of the user's is
overwritten silently: one rule, over all commands that write."""

import base64
import contextlib
import json
import os
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import polars as pl
import pytest
from conftest import SINGLE, SLOW, SWEEP, Program
from forked import Forks

from switchbed import Plan, Progress, files, plans
from switchbed._native import Mistake
from switchbed.cli import cli
from switchbed.files import SIGN


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


def test_a_whole_draft_that_was_not_put_in_place_is_removed_too(
    switchbed: Program, single: Path, tmp_path: Path
) -> None:
    # Killed between the removal of the draft's sign and the rename; no process has this number.
    draft, mine = (tmp_path / f".out.{2**31 - 2}.partial", tmp_path / f".out.{2**31 - 3}.partial")
    switchbed("run", single, "--out", draft)
    shutil.copytree(draft, mine)
    (mine / "notes.txt").write_text("a user's")
    switchbed("run", single, "--out", "out")
    assert not draft.exists()
    assert (mine / "notes.txt").read_text() == "a user's"


def test_a_name_that_is_too_long_is_named(switchbed: Program, tmp_path: Path) -> None:
    name = "a" * 290
    for words in (["schemes", "--json", name], ["export", "tc", "@star-dctcp", "--out", name]):
        said = switchbed(*words, code=2).stderr
        assert said == f"switchbed: {name}: File name too long\n"


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


PRECIOUS = b"mine\n"
SONIC = Path(__file__).parents[1] / "support/sonic_configs.py"


@pytest.fixture(scope="module")
def results(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a scenario, its results, and a comparison's."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "one.toml").write_text(SINGLE.replace("flows = 300", "flows = 100"))
    (folder / "several.toml").write_text(SWEEP.replace("flows = 300", "flows = 20"))
    for name, out in (("one.toml", "ran"), ("several.toml", "compared")):
        assert forks.run(["run", name, "--out", out], folder).returncode == 0
    return folder


@pytest.fixture
def ready(results: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(results, tmp_path, dirs_exist_ok=True)


WRITING = {
    "run --json": ["run", "one.toml", "--json", "TARGET.json"],
    "scenario check": ["scenario", "check", "one.toml", "--json", "TARGET.json"],
    "table --csv": ["table", "compared", "--csv", "TARGET.csv"],
    "table --json": ["table", "compared", "--json", "TARGET.json"],
    "report": ["report", "ran", "--out", "TARGET.html"],
    "plot": ["plot", "cdf", "ran", "--out", "TARGET.svg"],
    "plot png": ["plot", "cdf", "ran", "--out", "TARGET.png"],
    "plot --data": ["plot", "cdf", "ran", "--out", "drawn.svg", "--data"],
    "fct": ["fct", "ran", "--form", "hpcc", "--to", "TARGET.txt"],
    "new": ["new", "star", "--out", "TARGET.toml"],
    "schemes": ["schemes", "--json", "TARGET.json"],
    "export tc": ["export", "tc", "one.toml", "--partial", "--out", "TARGET.sh"],
    "export sonic": ["export", "sonic", "one.toml", "--partial", "--out", "TARGET.json"],
    "its findings": ["export", "sonic", "one.toml", "--partial", "--out", "drawn.json"],
    "tune": [
        "tune",
        "--rate",
        "10Gbps",
        "--rtt",
        "80us",
        "--buffer",
        "1MB",
        "--out",
        "TARGET.toml",
    ],
    "theory": ["theory", "standard", "--rate", "10Gbps", "--rtt", "100us", "--csv", "TARGET.csv"],
}


def target(folder: Path, arguments: list[str]) -> tuple[list[str], Path]:
    """The command, and the file that is in its way."""
    named = [word for word in arguments if word.startswith("TARGET")]
    place = folder / {"drawn.svg": "drawn.csv", "drawn.json": "drawn.findings.json"}.get(
        arguments[-2] if arguments[-1] == "--data" else arguments[-1], "".join(named)
    )
    return arguments, place


@pytest.mark.parametrize("what", WRITING)
def test_a_file_that_is_there_is_refused_without_force(
    switchbed: Program, ready: Path, what: str
) -> None:
    arguments, place = target(ready, WRITING[what])
    place.write_bytes(PRECIOUS)
    refused = switchbed(*arguments, code=2)
    assert "is there already; name another, or give --force" in refused.stderr
    assert place.name in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert place.read_bytes() == PRECIOUS
    before = set(ready.iterdir())
    if what != "tune":  # which takes minutes
        switchbed(*arguments, "--force")
        assert place.read_bytes() != PRECIOUS
    assert not {path.name for path in set(ready.iterdir()) - before if path.name[0] == "."}


@pytest.mark.parametrize("what", ["run --json", "plot", "report", "new", "export tc"])
def test_root_follows_no_link(switchbed: Program, ready: Path, what: str) -> None:
    arguments, place = target(ready, WRITING[what])
    (ready / "elsewhere").write_bytes(PRECIOUS)
    place.symlink_to("elsewhere")
    for force in ([], ["--force"]):
        if os.geteuid() == 0 or not force:
            switchbed(*arguments, *force, code=2)
            assert (ready / "elsewhere").read_bytes() == PRECIOUS
            assert place.is_symlink()


@pytest.mark.parametrize("what", ["run --json", "plot", "report", "new", "export tc"])
def test_links_in_a_circle_are_refused(switchbed: Program, ready: Path, what: str) -> None:
    arguments, place = target(ready, WRITING[what])
    (ready / "circle").symlink_to("circle")
    arguments = [word.replace(place.name, f"circle/{place.name}") for word in arguments]
    said = switchbed(*arguments, code=2).stderr
    assert "internal error" not in said
    last = said.splitlines()[-1]
    assert "circle" in last
    assert "cannot be written: " in last or "does not exist or is read-only" in last


LIVE = """\
[live]
rate = "100Mbps"
[switch]
buffer = "100KB"
[scheme]
name = "none"
[[port]]
name = "none-such-a"
pcap = "trace.pcap"
[[port]]
name = "none-such-b"
"""


def test_a_live_switchs_trace_replaces_nothing(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "switch.toml").write_text(LIVE)
    trace, mine = tmp_path / "trace.pcap", tmp_path / "mine"
    trace.write_bytes(PRECIOUS)
    said = switchbed("live", "run", "switch.toml", code=2).stderr
    assert "port.pcap trace.pcap: is there already; name another, or give --force" in said
    assert trace.read_bytes() == PRECIOUS
    mine.write_bytes(PRECIOUS)
    for leads in ("mine", "nowhere"):
        trace.unlink()
        trace.symlink_to(leads)
        said = switchbed("live", "run", "switch.toml", code=2).stderr
        assert ("which root does not follow" if os.geteuid() == 0 else "is there") in said
        if os.geteuid() == 0:
            said = switchbed("live", "run", "switch.toml", "--force", code=2).stderr
            assert "which root does not follow" in said
        assert trace.is_symlink()
    assert mine.read_bytes() == PRECIOUS
    assert not (tmp_path / "nowhere").exists()
    # A switch that does not begin takes nothing away.
    trace.unlink()
    trace.write_bytes(PRECIOUS)
    switchbed("live", "run", "switch.toml", "--force", code=2)
    assert trace.read_bytes() == PRECIOUS
    # Root could remove it: `/dev/null` is a device like that.
    pipe = tmp_path / "pipe.pcap"
    os.mkfifo(pipe)
    (tmp_path / "switch.toml").write_text(LIVE.replace("trace.pcap", "pipe.pcap"))
    for force in ([], ["--force"]):
        said = switchbed("live", "run", "switch.toml", *force, code=2).stderr
        assert "port.pcap pipe.pcap: is a device or a pipe; name a file" in said
    assert pipe.is_fifo()


def test_a_figure_and_a_report_may_be_drawn_again(switchbed: Program, ready: Path) -> None:
    for _ in range(2):
        switchbed("plot", "cdf", "ran", "--out", "again.svg", "--data")
        switchbed("report", "ran", "--out", "again.html")


def commands(of: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(of, click.Group):
        for each, command in of.commands.items():
            yield from commands(command, f"{name} {each}".strip())
    else:
        yield name, of


def test_every_command_with_a_file_to_write_has_force() -> None:
    writing = {"--json", "--csv", "--to", "--fragment", "--picture"}
    for name, command in commands(cli, ""):
        taking = [each for each in command.params if not getattr(each, "is_flag", False)]
        options = {word for each in taking for word in each.opts}
        folder = name.startswith("live") and "--out" in options
        if options & writing or ("--out" in options and not folder):
            assert any("--force" in each.opts for each in command.params), name


def test_a_draft_beside_is_nobodys(tmp_path: Path) -> None:
    for name in (f".out.{os.getpid()}.json", ".out.json", f".out.{socket.gethostname()}"):
        (tmp_path / name).write_bytes(PRECIOUS)
    with files.whole(tmp_path / "out.json") as draft:
        draft.write_text("{}")
    assert sum(path.read_bytes() == PRECIOUS for path in tmp_path.iterdir()) == 3
    assert (tmp_path / "out.json").read_text() == "{}"


def test_a_killed_writers_draft_is_removed_by_the_next_write(tmp_path: Path) -> None:
    place = tmp_path / "out.json"
    dies = "import os, sys\nfrom pathlib import Path\nfrom switchbed import files\n"
    dies += "with files.whole(Path(sys.argv[1])) as draft:\n"
    dies += "    draft.write_text('x')\n    os.kill(os.getpid(), 9)\n"
    for name in ("out.json", "other.json", "n" * 250):
        done = subprocess.run([sys.executable, "-c", dies, tmp_path / name], check=False)
        assert done.returncode == -signal.SIGKILL
    (tmp_path / f".other.json.{2**31 - 3}.partial").mkdir()  # killed before it was signed
    (mine := tmp_path / f".out.json.{2**31 - 2}.partial").mkdir()
    (mine / "out.json").write_bytes(PRECIOUS)
    left = {path.name for path in tmp_path.iterdir()}
    with files.whole(place) as draft:
        begun = {path.name for path in tmp_path.iterdir()}
        # A draft that is being written is nobody's to remove, here neither.
        with files.whole(place) as other:
            other.write_text("other")
        draft.write_text("{}")
    assert place.read_text() == "{}"
    assert {path.name for path in tmp_path.iterdir()} >= {mine.name, "out.json"}
    gone = left - begun
    assert [re.sub(r"\d+", "N", name) for name in gone] == [".out.json.N.partial"]
    assert (mine / "out.json").read_bytes() == PRECIOUS
    for name in ("other.json", "n" * 250):
        with files.whole(tmp_path / name) as draft:
            draft.write_text("{}")
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == [mine]


def test_a_directory_named_like_a_draft_survives(switchbed: Program, ready: Path) -> None:
    for name in (".mine.1234567.partial", ".mine.1234567.old"):
        (ready / name).mkdir()
        (ready / name / "thesis.tex").write_bytes(PRECIOUS)
    switchbed("run", "one.toml", "--out", "mine")
    switchbed("run", "one.toml", "--out", "mine", "--force")
    for name in (".mine.1234567.partial", ".mine.1234567.old"):
        assert (ready / name / "thesis.tex").read_bytes() == PRECIOUS


def test_a_file_that_comes_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "forced", lambda: False)
    place = tmp_path / "out.json"

    def write() -> None:
        with files.whole(place) as draft:
            draft.write_text("{}")
            place.write_bytes(PRECIOUS)

    with pytest.raises(Mistake, match="exists"):
        write()
    assert place.read_bytes() == PRECIOUS
    assert list(tmp_path.iterdir()) == [place]
