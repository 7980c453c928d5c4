"""Answers to mistakes: each names what is wrong and leads to what would be right."""

import errno
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SINGLE, SWEEP, Program

import switchbed as sb
from switchbed import comparing, library
from switchbed._native import SCHEMA_VERSION, Mistake
from switchbed.ending import _system
from switchbed.plots.methods import Plots

PYTHON = """
from switchbed.prototype import Intent, Marker

class Mine(Marker):
    def __init__(self, port, kmin=20_000, who="me"):
        self.kmin = kmin

    def intend(self, view, *_):
        return Intent.Pass
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(PYTHON)
    file = tmp_path / "one.toml"
    file.write_text(SINGLE.replace("flows = 300", "flows = 30"))
    return file


def test_a_scheme_set_as_a_table_is_that_of_an_edited_file(switchbed: Program, mine: Path) -> None:
    python = '{name="python", params={file="mine.py", class="Mine", kmin="30KB"}}'
    switchbed("run", mine, "--set", f"scheme={python}")
    given = {"name": "python", "params": {"file": "mine.py", "class": "Mine", "kmin": "30KB"}}
    found = sb.Scenario.from_file(mine).with_(scheme=given).resolved["scheme"]["params"]
    assert "threshold" not in found
    red = sb.Scenario.from_file(mine).with_(
        scheme={"name": "red", "params": {"kmin": "30KB", "kmax": "90KB"}}
    )
    assert "threshold" not in red.resolved["scheme"]["params"]
    # Of the same name, too: what is not given has its default.
    ramp = red.with_(scheme={"name": "red", "params": {"kmax": "80KB", "pmax": 0.5}})
    assert ramp.resolved["scheme"]["params"]["kmax"] == "80KB"
    assert ramp.resolved["scheme"]["params"].get("kmin") != "30KB"
    # A name alone keeps what the file has, as in [compare].
    kept = sb.Scenario.from_file(mine).with_(scheme="mq-ecn").resolved["scheme"]["params"]
    assert "threshold" in kept


@pytest.mark.parametrize("text", ["20kb", "20Kb", "3 mbps", "10gbps", "5US"])
def test_a_parameter_of_ones_own_with_a_wrong_unit_is_refused(
    switchbed: Program, mine: Path, text: str
) -> None:
    given = f'scheme={{name="python", params={{file="mine.py", class="Mine", kmin="{text}"}}}}'
    refused = switchbed("run", mine, "--set", given, code=2)
    assert "did you mean" in refused.stderr
    assert "kmin" in refused.stderr
    word = given.replace("kmin", "who").replace(text, "2nd of them")
    switchbed("run", mine, "--set", word)


@pytest.mark.parametrize("text", ["5usec", "twenty", "1e3 B/s", ""])
def test_a_text_for_a_parameter_that_is_a_number_is_refused(
    switchbed: Program, mine: Path, text: str
) -> None:
    given = f'scheme={{name="python", params={{file="mine.py", class="Mine", kmin="{text}"}}}}'
    said = switchbed("run", mine, "--set", given, code=2).stderr
    assert f'scheme.params.kmin is "{text}": ' in said
    assert len(said.splitlines()) == 1
    switchbed("run", mine, "--set", given.replace("kmin", "who"))
    # By annotation alone, also one that is not evaluated.
    source = mine.parent / "mine.py"
    for head in ("", "from __future__ import annotations"):
        source.write_text(head + PYTHON.replace("kmin=20_000", "kmin: int"))
        assert switchbed("run", mine, "--set", given, code=2).stderr == said.replace(
            "a number, such as 20000, or", "a number or"
        )


def test_the_figure_of_one_scheme_has_values(mine: Path) -> None:
    run = sb.Scenario.from_file(mine).with_(load=0.3).run()
    axes = Plots([run]).fct().axes[0]
    assert axes.get_ylabel() == "FCT (µs)"
    drawn = [y for line in axes.get_lines() for y in np.asarray(line.get_ydata())]
    assert run.summary()["fct"]["all"]["mean_us"] in drawn


def test_an_unknown_port_is_answered_with_all_ports(switchbed: Program, mine: Path) -> None:
    event = '\n[[event]]\nat = "1ms"\nport = "{}"\nrate = "1Gbps"\n'
    for port in ("leaf0:9", "switch:4", "host4", "switch", "spine"):
        mine.write_text(SINGLE + event.format(port))
        said = switchbed("scenario", "check", mine, code=2).stderr
        assert "switch:0 to switch:3, host0 to host3" in said
    for port in ("agg0:9", "host999", "leaf99:0"):
        sets = ("--set", f'measure.queues=["{port}"]')
        said = switchbed("run", "@mqecn-fig9", *sets, code=2).stderr
        assert "leaf0:0 to leaf11:23, spine0:0 to spine11:11, host0 to host143" in said


def test_what_another_command_has_is_named(switchbed: Program, mine: Path) -> None:
    said = switchbed("run", mine, "--seeds", "5", code=2).stderr
    assert "run has no option --seeds" in said
    assert "switchbed sweep" in said
    assert "switchbed sweep has it" in switchbed("run", mine, "--retry", code=2).stderr
    assert "switchbed run" in switchbed("report", "x", "--any-threads", code=2).stderr


@pytest.mark.parametrize(
    ("set_to", "hint"),
    [
        ("measure.series=10us", "did you mean series_every?"),
        ("measure.goodput=10us", "did you mean goodput_every?"),
        ("compare.load=0.3,0.6", "write compare.load=[0.3,0.6]"),
        ("compare.scheme=red", "write compare.scheme=[red]"),
    ],
)
def test_what_was_meant_is_shown(switchbed: Program, mine: Path, set_to: str, hint: str) -> None:
    assert hint in switchbed("run", mine, "--set", set_to, code=2).stderr


def test_codels_interval_is_named_where_it_is_why_nothing_was_marked(mine: Path) -> None:
    for name in ("codel", "cobalt"):
        run = sb.Scenario.from_file(mine).with_(scheme={"name": name, "params": {}}, load=0.8).run()
        told = [text for text in run.summary()["warnings"] if "marked nothing" in text]
        assert "no packet waited over the target, 5ms" in told[0]
        assert "scheme.params.interval, 100ms" in told[0]
        given = {"name": name, "params": {"target": "5us"}}
        run = sb.Scenario.from_file(mine).with_(scheme=given, load=0.8).run()
        told = [text for text in run.summary()["warnings"] if "marked nothing" in text]
        assert "but never throughout scheme.params.interval, 100ms" in told[0]


def test_a_query_keeps_its_sql_and_lists_what_there_is(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "several.toml").write_text(SWEEP.replace("flows = 300", "flows = 20"))
    switchbed("sweep", "several.toml")
    before = sorted(path for path in tmp_path.rglob("*"))
    out = switchbed("query", "--csv", "select count(*) as n from runs").stdout
    assert out == "n\n8\n"
    out = switchbed("query", "--json", "select count(*) as n from runs").stdout
    assert json.loads(out) == [{"n": 8}]
    wrong = switchbed("query", "select speed from flows", code=2).stderr
    assert "columns of flows are" in wrong
    assert "size_bytes" in wrong
    assert "tables are" in switchbed("query", "select * from flow", code=2).stderr
    for sql in (
        "copy (select 1) to 'x.csv'",
        "attach 'y.db'",
        "install httpfs",
        "create table t as select 1",
        "set threads = 1",
        "select 1; copy (select 1) to 'x.csv'",
        "explain analyze copy (select 1) to 'x.csv'",
    ):
        assert "select" in switchbed("query", sql, code=2).stderr
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("schema.sql", "load.sql"):
        (outside / name).write_text("select 1 as it_was_read")
    switchbed("query", "select * from 'several.toml'", code=2)
    for sql in ("select * from read_text('/etc/passwd')", f"import database '{outside}'"):
        assert "Cannot access" in switchbed("query", sql, code=2).stderr
    for kind in ("interval", "blob", "bit", "map(int, int)", "union(a int)", "interval[]"):
        said = switchbed("query", f"select null::{kind} as x", code=2).stderr
        assert "query: the column x is " in said
        assert "ask for it as text, by ::varchar" in said
    assert "two columns are named a" in switchbed("query", "select 1 a, 2 a", code=2).stderr
    nested = "select [1, 2] as x, {'a': [true]} as y, null as z"
    assert "--json holds it" in switchbed("query", "--csv", "-", nested, code=2).stderr
    out = switchbed("query", "--json", "-", nested).stdout
    assert json.loads(out) == [{"x": [1, 2], "y": {"a": [True]}, "z": None}]
    switchbed("query", nested)
    shutil.rmtree(outside)
    assert sorted(path for path in tmp_path.rglob("*")) == before
    manifest = next(tmp_path.glob("switchbed-store/runs/*/manifest.json"))
    run = str(manifest.parent)
    version = f'"schema_version": {SCHEMA_VERSION}'
    assert version in manifest.read_text()
    readers = (
        ["query", "select 1 from runs"],
        ["table", "switchbed-store"],
        ["report", "switchbed-store", "--out", "refused.html"],
        ["plot", "fct", "switchbed-store", "--out", "refused.svg"],
        ["table", run],
        ["report", run, "--out", "refused.html"],
        ["plot", "cdf", run, "--out", "refused.svg"],
        ["fct", run, "--form", "hpcc"],
    )
    for other, several in ((1, readers), (SCHEMA_VERSION + 1, readers[:1])):
        manifest.write_text(manifest.read_text().replace(version, f'"schema_version": {other}'))
        version = f'"schema_version": {other}'
        for words in several:
            said = switchbed(*words, code=2).stderr
            assert f"is of schema_version {other}, and this program reads {SCHEMA_VERSION}" in said
        with pytest.raises(sb.Mistake, match=f"schema_version {other}"):
            sb.Result.load(manifest.parent)
    assert not list(tmp_path.glob("refused.*"))


@pytest.mark.parametrize(
    "words",
    [
        ["query", "--store", "kept"],
        ["query", "--csv", "--store", "kept"],
        ["fct", "--form", "hpcc"],
        ["fct", "--to", "made.txt", "--form", "hpcc"],
        ["table", "--only", "scheme=red"],
        ["plot", "fct", "--out", "made.svg"],
    ],
)
def test_a_missing_argument_is_said_whatever_option_stands_there(
    switchbed: Program, tmp_path: Path, words: list[str]
) -> None:
    said = switchbed(*words, code=2).stderr
    assert "Missing argument" in said
    assert not list(tmp_path.iterdir())


def test_a_sweep_printed_fits_a_screen(tmp_path: Path) -> None:
    file = tmp_path / "several.toml"
    file.write_text(SWEEP.replace("flows = 300", "flows = 10"))
    loads = [round(0.1 + 0.02 * n, 2) for n in range(30)]
    found = sb.sweep(
        sb.Scenario.from_file(file).with_({"compare.load": loads}), tmp_path / "store", seeds=1
    )
    lines = repr(found).splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert "60 runs" in lines[0]
    assert lines[-1] == "  … and 45 more"


OTHERS = {
    "flow.txt": "2\n0 1 3 100 20000 0.001\n1 2 3 100 1000 0.002\n",
    "two.cm": "Nodes 3\nConnections 2\n0->1 start 0 size 20000\n1->2 start 5000 size 1000\n",
}


@pytest.mark.parametrize("whose", OTHERS)
def test_a_list_of_others_is_read(switchbed: Program, mine: Path, whose: str) -> None:
    (mine.parent / whose).write_text(OTHERS[whose])
    lists = f'[{{kind="list", file="{whose}"}}]'
    switchbed("run", mine, "--set", f"traffic={lists}", "--out", "ran")
    flows = sb.Result.load(mine.parent / "ran").flows
    assert flows["size_bytes"].to_list() == [20000, 1000]


def test_homas_size_table_is_named(switchbed: Program, mine: Path) -> None:
    (mine.parent / "W1.txt").write_text("1730.5\n1 0.2\n300 0.7\n3000 1.0\n")
    said = switchbed("run", mine, "--set", 'traffic.0.sizes={file="W1.txt"}', code=2).stderr
    assert "Homa" in said
    assert "W1.txt:1:" in said


def test_compared_settings_with_identical_results_are_named(
    switchbed: Program, tmp_path: Path
) -> None:
    file = tmp_path / "several.toml"
    file.write_text(
        SINGLE.replace("flows = 300", "flows = 20")
        + '[compare]\n"switch.quantum" = ["3000B", "6000B"]\nload = [0.1, 0.5]\nseed = [1, 2]\n'
    )
    line = "switch.quantum: 3000B and 6000B gave identical results"
    printed = switchbed("run", file, "--out", "ran").stdout
    assert line in printed
    assert "load: " not in printed.replace("load: payload", "")
    assert line in switchbed("sweep", file).stdout
    assert line in switchbed("table", "ran").stdout
    assert line in json.loads((tmp_path / "ran/summary.json").read_text())["identical"]
    assert "identical" not in switchbed("run", file, "--set", "switch.quantum=3000B").stdout


def test_results_that_differ_in_a_classs_number_alone_are_identical(tmp_path: Path) -> None:
    star = sb.Scenario.from_file("@star-dctcp").with_(
        {"switch.queues": 4, "run.until": "20ms", "measure.warmup": "5ms"}
    )
    probe = {"kind": "probe", "from": 0, "to": 8, "every": "1ms", "classes": [0], "stop": "19ms"}
    several = star.with_({"traffic": [*star.resolved["traffic"], probe]})

    def said(by: dict[str, Any]) -> list[str]:
        runs = several.with_({f"compare.{key}": values for key, values in by.items()}).run_all()
        return comparing.identical(run.outcome for run in runs)

    # The class of all flows and of the probes, as numbers of queues that are alike.
    assert said({"traffic.1.classes": [[0], [2], [3]]}) == [
        "traffic.1.classes: [2] and [3] gave identical results"
    ]
    assert said({"traffic.0.classes": [[1], [2], [1, 2]], "seed": [1, 2]}) == [
        "traffic.0.classes: [1] and [2] gave identical results"
    ]


def test_a_checks_file_executes_nothing(switchbed: Program, mine: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n" + PYTHON)
    python = 'scheme={name="python", params={file="mine.py", class="Mine"}}'
    text = SINGLE.replace('name = "per-queue"', 'name = "python"').replace(
        'threshold = "20pkt"', 'file = "mine.py", class = "Mine"'
    )
    mine.write_text(text)
    said = switchbed("scenario", "check", mine)
    assert "ok, 1 run" in said.stdout
    assert "--allow-python" in said.stderr
    switchbed("export", "tc", mine, "--partial", "--out", "x.sh")
    assert not (tmp_path / "executed").exists()
    switchbed("scenario", "check", mine, "--allow-python")
    assert (tmp_path / "executed").exists()
    assert python
    mine.write_text(text.replace("Mine", "Yours"))
    assert (
        "there is no class Yours: it has Mine"
        in switchbed("scenario", "check", mine, code=2).stderr
    )


def test_a_place_that_is_no_text_is_refused_at_once(switchbed: Program, mine: Path) -> None:
    for option, words in (("--out", "run"), ("--json", "run")):
        said = switchbed(words, mine, option, b"r\xff".decode("utf-8", "surrogateescape"), code=2)
        assert "no UTF-8 path" in said.stderr
    folder = mine.parent / b"r\xff".decode("utf-8", "surrogateescape")
    with pytest.raises(Mistake, match="no UTF-8"):
        sb.Result.load(folder)
    # A store whose tables are whole, and a scenario with a file beside it.
    kept = folder.with_name("kept")
    switchbed("sweep", mine, "--set", "flows=20", "--seeds", "1", "--store", kept)
    kept.rename(folder)
    for command in (["table"], ["report"], ["plot", "fct", "--out", "x.svg"]):
        said = switchbed(*command, folder, code=2)
        assert "no UTF-8 path" in said.stderr
    (folder / "listed.csv").write_text("start_s,src,dst,size_bytes\n0,0,1,100\n")
    lists = 'traffic=[{kind="list", file="listed.csv"}]'
    (folder / "x.toml").write_text(mine.read_text())
    said = switchbed("run", folder / "x.toml", "--set", lists, code=2)
    assert "is no UTF-8: rename it" in said.stderr


@pytest.mark.parametrize("name", [each["name"] for each in sb.scenarios()])
def test_a_resolved_scenario_is_a_scenario(name: str) -> None:
    from switchbed import _native, library, toml

    made = sb.Scenario.from_file(f"@{name}")
    for plan in made.plans[:1]:
        resolved = json.loads(plan.scenario)
        text = toml.document(toml.given(resolved))
        again = _native.plans_of("again", text, library.SCENARIOS, [], True)[0]
        assert json.loads(again.scenario) == resolved


def test_an_error_of_the_system_says_what_was_done_and_where(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Shut:
        @property
        def buffer(self) -> None:
            raise OSError(errno.EPERM, "no matter")

    monkeypatch.setattr("sys.stdin", Shut())
    with pytest.raises(OSError, match="no matter") as caught:
        library.given("-")
    said = _system(caught.value)
    assert said.startswith("standard input (library.py:")
    assert "Operation not permitted; it needs rights that this user lacks" in said
    named = OSError(errno.EACCES, "no matter", "some.file")
    assert _system(named) == "some.file: Permission denied"


TIMERS = """
topology = { kind = "star", hosts = 4, rate = "10Gbps", delay = "5us" }
switch.queues = 2
switch.buffer = "400KB"
scheme.name = "none"
transport.kind = "cubic"
[[traffic]]
kind = "poisson"
load = 0.1
flows = 200
sizes = "2KB"
from = "0"
to = "1"
connections = "persistent"
[[traffic]]
kind = "incast"
from = "2"
to = 3
classes = [1]
sizes = "2KB"
transport = "reno"
[[event]]
at = "0s"
port = "host2"
lose = [1]
"""


def test_timers_are_named_in_every_row_that_they_decide(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "timers.toml").write_text(TIMERS)
    run = switchbed("run", "timers.toml")
    # The rows of the table: each is a second in every column.
    for row in ("class 1", "incast, traffic 1", "reno", "queries of incast, traffic 1"):
        assert row in run.stdout
    told = [line for line in run.stderr.splitlines() if "FCTs are mostly idle waits" in line]
    assert len(told) == 1
    for name in ("class 1", "traffic 1 (incast)", "transport reno", "queries of traffic 1"):
        assert name in told[0]
    assert "of all flows (mean" in told[0]
    assert "a lost SYN, traffic.1.transport.rto_initial, 1s" in told[0]
    lines = run.stdout.splitlines()
    for label in ("reno: ", "201 flows"):
        line = next(line for line in lines if label in line)
        assert "1 timeouts (1 for lost SYNs)" in line


def test_a_comparison_is_narrowed_by_its_own_keys(switchbed: Program, tmp_path: Path) -> None:
    text = "[compare]\nrun.seed = [1, 2]\ntraffic.1.classes = [[1], [0]]\n"
    (tmp_path / "several.toml").write_text(TIMERS + text)
    told = switchbed("export", "tc", "several.toml", code=2).stderr
    assert told.endswith(
        "has 4 runs in [compare]: choose one, such as --set 'run.seed=1' "
        "--set 'traffic.1.classes=[1]'\n"
    )
    chosen = ("--set", "run.seed=1", "--set", "traffic.1.classes=[1]")
    assert "[compare]" not in switchbed("export", "tc", "several.toml", *chosen, code=2).stderr


def test_a_table_that_is_not_there_is_no_damaged_one(switchbed: Program) -> None:
    told = switchbed("table", "fig1.parquet", code=2).stderr
    assert told == "switchbed: fig1.parquet: cannot be read: No such file or directory\n"
    told = switchbed("run", "missing.toml", code=2).stderr
    assert "os error" not in told
    assert "No such file or directory" in told


def test_tables_and_figures_of_fcts_name_the_timers_under_them(
    switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "timers.toml").write_text(TIMERS)
    told = switchbed("run", "timers.toml", "--out", "out").stderr
    line = next(line for line in told.splitlines() if "FCTs are mostly idle waits" in line)
    for words in (
        ("table", "out", "--metric", "fct.all.p99_us"),
        ("table", "out", "--csv"),
        ("plot", "cdf", "out", "--out", "cdf.png"),
    ):
        assert line in switchbed(*words).stderr.splitlines(), words
    assert (
        "mostly idle waits" not in switchbed("plot", "utilisation", "out", "--out", "u.png").stderr
    )


CUT_OFF = """
topology = { kind = "star", hosts = 5, rate = "10Gbps", delay = "5us" }
switch.buffer = "300KB"
scheme.name = "none"
[[traffic]]
kind = "poisson"
load = 0.3
flows = 200
sizes = "web-search"
[[event]]
at = "1ms"
link = "host0-switch"
up = false
detect = "50us"
converge = "1ms"
"""


@pytest.mark.parametrize("transport", ["dcqcn", "nscc"])
def test_flows_of_a_host_without_a_line_are_not_put_down_to_udp(
    transport: str, switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(f'transport.kind = "{transport}"\n{CUT_OFF}')
    run = switchbed("run", "x.toml", "--json", "x.json")
    assert "; their hosts' links are down ([[event]]); FCTs are of the others" in run.stderr
    assert "udp" not in run.stderr
    assert "want of room" not in run.stderr
    # The port of the link that went down after 1 ms was busy for a third of that.
    bottleneck = json.loads((tmp_path / "x.json").read_text())["bottleneck"]
    assert bottleneck["port"] != "switch:0"


def test_waits_and_timeouts_of_one_line_are_of_one_time(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "timers.toml").write_text(
        TIMERS.replace('transport = "reno"\n', "")
        + '[[event]]\nat = "1900ms"\nport = "host2"\nlose = [1]\n'
        + '[measure]\nwarmup = "1500ms"\n'
        + '[[traffic]]\nkind = "incast"\nfrom = "2"\nto = 1\nsizes = "2KB"\nstart = "2s"\n'
    )
    summary = json.loads(switchbed("run", "timers.toml", "--json").stdout)
    # The first SYN was lost and sent again before the warm-up ended, another one after it.
    assert summary["timeouts"] == 1
    waits = summary["waits"]
    assert waits["syn"] + waits["rto_initial"] + waits["rto"] == 1


def test_a_compressed_configuration_is_named_as_such(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "config_db.json.gz").write_bytes(gzip.compress(b"{}"))
    told = switchbed("import", "sonic", "config_db.json.gz", code=2).stderr
    assert "config_db.json.gz: is compressed by gzip" in told


def test_packets_that_links_lose_stand_beside_drops(switchbed: Program, tmp_path: Path) -> None:
    # The event of `TIMERS` loses two packets.
    lines = TIMERS
    (tmp_path / "lost.toml").write_text(lines)
    assert "0 drops · 1 lost on links" in switchbed("run", "lost.toml").stdout
    (tmp_path / "lost.toml").write_text(lines + "[compare]\nseed = [1, 2]\n")
    assert "lost" in switchbed("run", "lost.toml").stdout.split()


def test_reordering_is_printed_where_nothing_was_lost(switchbed: Program, tmp_path: Path) -> None:
    ways = ("--set", "traffic.0.rounds=2", "--set", 'compare.routing.kind=["ecmp", "spray"]')
    head, ecmp, spray = (
        line.split()
        for line in switchbed("run", "@spray-incast", *ways).stdout.splitlines()
        if "routing.kind" in line or line.strip().startswith(("ecmp", "spray"))
    )
    assert head[-2:] == ["packets", "reordered"]
    assert (ecmp[-1], int(spray[-1].replace(",", "")) > 0) == ("0", True)
    # Behind a hole, a packet may only seem to be early.
    small = ("--set", "switch.buffer=50KB", "--set", "scheme=none")
    assert "reordered" not in switchbed("run", "@spray-incast", *ways, *small).stdout


def test_a_threshold_under_a_packet_is_said_with_its_queue(
    switchbed: Program, tmp_path: Path
) -> None:
    tcn = '{ name = "tcn", label = "low", params.threshold = "1us" }'
    queue = f"switch.queue = [{{ queue = 1, scheme = {tcn} }}]"
    (tmp_path / "small.toml").write_text(f"{queue}\n{TIMERS}")
    said = switchbed("scenario", "check", "small.toml").stderr
    assert "low's threshold (tcn, queue 1) is 1us, less than a packet's time at 10Gbps" in said
