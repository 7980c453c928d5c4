"""The command line: exit codes, one-line errors, help, start-up. Nothing in a name can do anything
to a terminal: labels, files, errors, results of others."""

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from conftest import SINGLE, Program

import switchbed as sb
from evidence.robustness.in_process import Done, switchbed
from switchbed import command_groups, options, progress_bar
from switchbed.cli import LATER, cli
from switchbed.terminal import UNSEEN, clean, clean_json


def test_version_names_the_build(switchbed: Program) -> None:
    assert switchbed("--version").stdout.startswith("switchbed 0.")
    assert "(build " in switchbed("--version").stdout


def test_the_version_is_json_too(switchbed: Program) -> None:
    found = json.loads(switchbed("--version", "--json").stdout)
    assert switchbed("-V").stdout == f"switchbed {found['version']} (build {found['build']})\n"
    assert Path(found["package"]).samefile(Path(sb.__file__).parent)
    assert "beside --version" in switchbed("--json", code=2).stderr


def test_the_doctor_names_what_is_missing_and_how_to_get_it(switchbed: Program) -> None:
    found = json.loads(switchbed("doctor", "--json").stdout)
    by_name = {each["what"]: each for each in found["findings"]}
    # Tests see no program that they do not name (support/needs.py).
    assert by_name["tshark"]["found"] is False
    assert by_name["tshark"]["detail"] == "apt-get install tshark"
    assert int(by_name["cores"]["detail"]) >= 1
    said = switchbed("doctor").stdout.splitlines()
    assert said[0].startswith(switchbed("-V").stdout.strip())
    assert len(said) == 1 + len(by_name)
    assert any(line.split()[0] == "no" and "install iperf3" in line for line in said)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_is_installed_by_one_command(
    switchbed: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    script = switchbed("completion", shell).stdout
    assert "_SWITCHBED_COMPLETE" in script
    said = switchbed("completion", "--install").stdout
    (written,) = (path for path in tmp_path.rglob("*switchbed*") if path.is_file())
    assert str(written) in said
    assert written.read_text() == script
    assert "is there already" in switchbed("completion", "--install", code=2).stderr
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "name one of bash, zsh, fish" in switchbed("completion", code=2).stderr


def test_short_options_are_the_long_ones(switchbed: Program) -> None:
    assert switchbed("-V").stdout == switchbed("--version").stdout
    for words in ([], ["run"], ["scenario", "check"], ["live", "lab", "run"], ["theory"]):
        assert switchbed(*words, "-h").stdout == switchbed(*words, "--help").stdout


def test_quiet_says_nothing_when_all_is_well(
    switchbed: Program, single: Path, sweep: Path, tmp_path: Path
) -> None:
    few = ("--set", "flows=50", "--set", 'host.profile="linux-6.x"')
    several: list[list[str | Path]] = [
        ["run", single, "--out", "one"],
        ["run", sweep],
        ["sweep", sweep],
    ]
    for words in several:
        loud = switchbed(*words, *few, *(["--force"] if "--out" in words else []))
        assert loud.stdout
        assert "warning" in loud.stderr
        quiet = switchbed(*words, *few, "-q", *(["--force"] if "--out" in words else []))
        assert (quiet.stdout, quiet.stderr) == ("", "")
    assert (tmp_path / "one" / "manifest.json").exists()
    assert json.loads(switchbed("run", single, *few, "-q", "--json").stdout)["warnings"]
    assert "no_such" in switchbed("run", single, "-q", "--set", "no_such=1", code=2).stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sw", ["sweep"]),
        ("run @two", ["@two-flows"]),
        ("scenario check @inc", ["@incast"]),
        ("new le", ["leaf-spine"]),
        ("run x.toml --set topology.k", ["topology.kind=", "topology.k="]),
        ("sweep x.toml --set compare.traffic.0.lo", ["compare.traffic.0.load="]),
        ("run x.toml --set scheme.params.mark_", ["scheme.params.mark_at="]),
        ("run x.toml --set se", ["seed="]),
    ],
)
def test_a_shell_completes_commands_keys_and_scenarios(words: str, offered: list[str]) -> None:
    *before, last = words.split()
    found = BashComplete(cli, {}, "switchbed", "").get_completions(before, last)
    assert set(offered) <= {each.value for each in found}
    assert all(each.value.startswith(last) for each in found)


def test_the_program_answers_a_shell(command: list[str]) -> None:
    asked = {"COMP_WORDS": "switchbed run @two", "COMP_CWORD": "2"}
    environment = {**os.environ, **asked, "_SWITCHBED_COMPLETE": "bash_complete"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "plain,@two-flows\n"


def test_without_colour_a_terminal_gets_no_escape(command: list[str], single: Path) -> None:
    for variables, escapes in (({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({}, True)):
        ours, theirs = pty.openpty()
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
        done = subprocess.Popen(
            [*command, "run", str(single), "--set", "flows=50"],
            env={**environment, "TERM": "xterm-256color", **variables},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # at its end
            while chunk := os.read(ours, 1 << 16):
                shown += chunk
        os.close(ours)
        assert done.wait() == 0
        assert b"flows finished" in shown
        assert (b"\x1b" in shown) is escapes, shown


def test_without_a_command_it_prints_its_help(switchbed: Program) -> None:
    assert "run" in switchbed().stdout


@pytest.mark.parametrize("group", [["scenario"], ["live"], ["live", "dctcp"], ["plot"], ["theory"]])
def test_a_group_without_a_command_prints_its_help(switchbed: Program, group: list[str]) -> None:
    assert switchbed(*group, code=2).stderr == switchbed(*group, "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "FILE"),
        (["run", "missing.toml"], "missing.toml"),
        (["run", "/dev/null"], "/dev/null: cannot read the scenario: it is no file"),
        (["live", "check", "/dev/null"], "/dev/null: cannot be read: it is no file"),
        (["run", "latin.toml"], "latin.toml: cannot read the scenario: line 2 is no UTF-8 text"),
        (["host", "show", "latin.toml"], "latin.toml: is damaged: line 2 is no UTF-8 text"),
        (["conformance", ""], '"": there is no such scheme in Rust'),
        (["run", "huge.toml"], "huge.toml: cannot read the scenario: it is larger than 64 MiB"),
        (["run", "single.toml", "--jobs", "0"], "--jobs"),
        (["run", "single.toml", "--seed", "-1"], "--seed"),
        (["run", "single.toml", "--seed", str(2**63)], "0<=x<=9223372036854775807"),
        (["run", "single.toml", "--set", 'title="\udcff"'], "is no UTF-8 text"),
        (["run", "single.toml", "--set", "no_such_key=1"], "no_such_key"),
        (["run", "single.toml", "--tables", "xls"], "parquet"),
        (["run", "single.toml", "--json", "no/such/folder.json"], "no/such"),
        (["run", "single.toml", "--json", "."], "directory"),
        (["run", "single.toml", "--out", "single.toml"], "not a directory"),
        (["run", "single.toml", "--out", "single.toml/below"], "--out"),
        (["frobnicate"], "frobnicate"),
        (["scenario", "check"], "FILE"),
        (["bench", "--scenario", "none-such"], "none-such"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    switchbed: Program, single: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    (tmp_path / "latin.toml").write_bytes(b'title = 1\nabout = "f\xfcr"\n')
    with (tmp_path / "huge.toml").open("w") as file:
        file.truncate(10**8)
    done = switchbed(*arguments, code=2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("switchbed: ")
    assert says in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["theory", "standard", "--rate", "LONG", "--rtt", "85us"],
        ["theory", "cedm", "--rate", "10Gbps", "--rtt", "1us" + " LONG"],
        ["headroom", "--speed", "100Gbps", "--cable", "LONG"],
        ["host", "show", "LONG"],
        ["schemes", "--json", "LONG"],
        ["run", "single.toml", "--set", "scheme.name=LONG"],
        ["tune", "single.toml", "--target", "LONG"],
        ["LONG"],
    ],
)
@pytest.mark.parametrize("long", ["x" * 10_000, "x y " * 2_500])
def test_long_values_are_cut_in_messages(
    switchbed: Program, single: Path, arguments: list[str], long: str
) -> None:
    words = [each.replace("LONG", long) for each in arguments]
    said = switchbed(*words, code=2).stderr
    assert len(said.splitlines()) == 1
    assert len(said) < 2200


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_done_without(
    command: list[str], single: Path, tmp_path: Path, closed: str
) -> None:
    words = [*command, "run", str(single), "--set", "flows=20", "--json", "found.json"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    done = subprocess.run([*shell, *words], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"error" not in done.stderr
    assert json.loads((tmp_path / "found.json").read_text())["flows"]["finished"] == 20


def test_what_cannot_be_written_is_refused_before_anything_runs(
    switchbed: Program, single: Path, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    switchbed("run", single, "--out", "single.toml", code=2)
    assert sorted(tmp_path.iterdir()) == before


def test_schemes_as_json_have_the_fields_that_scripts_read(
    switchbed: Program, tmp_path: Path
) -> None:
    schemes = json.loads(switchbed("schemes", "--json").stdout)
    switchbed("schemes", "--json", "schemes.json")
    assert json.loads((tmp_path / "schemes.json").read_text()) == schemes
    assert schemes
    for scheme in schemes:
        assert {"name", "paper", "parameters"} <= scheme.keys()
    listing = switchbed("schemes").stdout
    assert all(scheme["name"] in listing for scheme in schemes)


def test_schemes_of_a_name_are_printed_alone(switchbed: Program) -> None:
    listing = switchbed("schemes", "tcn", "red").stdout
    assert [line for line in listing.splitlines() if line[:1].strip()] == ["tcn", "red"]
    assert [each["name"] for each in json.loads(switchbed("schemes", "tcn", "--json").stdout)] == [
        "tcn"
    ]
    assert (
        "codle: there is no such scheme: did you mean codel?"
        in switchbed("schemes", "codle", code=2).stderr
    )


def test_check_speaks_for_each_file(switchbed: Program, single: Path, sweep: Path) -> None:
    assert switchbed("scenario", "check", single, sweep).stdout.count(": ok, ") == 2
    done = switchbed("scenario", "check", single, "missing.toml", sweep, code=2)
    assert done.stdout.count(": ok, ") == 2
    assert "missing.toml" in done.stderr


def test_check_expects_the_packet_hops_of_a_run(switchbed: Program, single: Path) -> None:
    (checked,) = json.loads(switchbed("scenario", "check", single, "--json").stdout)
    hops = json.loads(switchbed("run", single, "--json").stdout)["packet_hops"]
    assert hops / 2 < checked["packet_hops"] < 2 * hops
    assert "packet-hops: below" in switchbed("scenario", "check", single).stderr


def test_a_file_is_checked_with_other_values(switchbed: Program, single: Path) -> None:
    more = ("--set", "compare.seed=[1, 2, 3]")
    assert ": ok, 3 runs" in switchbed("scenario", "check", single, *more).stdout
    refused = switchbed("scenario", "check", single, "--set", "switch.queues=0", code=2)
    assert "--set switch.queues=0: switch.queues is 0" in refused.stderr


def test_keys_of_a_kind_are_printed_alone(switchbed: Program) -> None:
    ring = switchbed("scenario", "keys", "topology.kind=ring", "tcn").stdout
    assert "| `ring_rate` |" in ring
    assert "### `tcn`" in ring
    assert "| `leaves` |" not in ring
    refused = switchbed("scenario", "keys", "topology.kind=mesh", code=2)
    assert "topology.kind must be star," in refused.stderr


def test_the_package_shows_its_api_alone() -> None:
    assert dir(sb) == sorted(sb.__all__)


def test_the_schema_is_json_schema(switchbed: Program) -> None:
    schema = json.loads(switchbed("scenario", "schema").stdout)
    assert "json-schema.org" in schema["$schema"]


def test_a_reader_that_leaves_early_sees_no_traceback(command: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(
            [*command, "scenario", "schema"], stdout=closed, stderr=subprocess.PIPE, check=False
        )
    assert done.stderr == b""


SLOW = {
    *("duckdb", "matplotlib", "numpy", "polars", "rich", "ray"),
    *("fractions", "hashlib", "multiprocessing", "statistics", "tempfile", "tomllib"),
    *("click.shell_completion", "concurrent.futures", "csv", "logging", "shlex"),
    *(f"switchbed.{name}" for name in ("directory", "drill", "live", "result", "theory")),
    *("switchbed.topology", "switchbed.devices", "switchbed.series", "switchbed.stats"),
    *("switchbed.links", "switchbed.plots.command"),
}
"""Modules that take as long to import as a short run takes, or that other commands are for."""
LOADED = """
import atexit, sys
from switchbed.__main__ import main
atexit.register(lambda: print(*sys.modules, sep="\\n", file=sys.stderr))
main()
"""
"""Prints the modules at the end: -X importtime misses those of `importlib.import_module`."""


@pytest.mark.parametrize("command", ["run", "--version", "--help", "run --help"])
def test_slow_modules_stay_out_of_start_up(command: str, single: Path) -> None:
    arguments = [*command.split(), *([str(single)] if command == "run" else [])]
    interpreter = [sys.executable, "-c", LOADED]
    done = subprocess.run([*interpreter, *arguments], capture_output=True, text=True, check=True)
    imported = set(done.stderr.splitlines())
    assert "switchbed.cli" in imported
    # For entry points of others, whose commands the list of commands has.
    allowed = {"csv", "tempfile"} if command == "--help" else set()
    assert not SLOW & imported - allowed
    if command == "run":
        assert "FCT" in done.stdout


@pytest.mark.parametrize("room", [10, 40, 63])
def test_the_list_of_commands_has_the_beginning_of_each_ones_help(room: int) -> None:
    # A list is 80 columns wide at most, and 63 are left beside the longest name.
    for name, listed in command_groups.Later(LATER).named().items():
        assert listed.get_short_help_str(room) == cli.commands[name].get_short_help_str(room)


@pytest.mark.long
def test_bench_measures_in_a_process_of_its_own(switchbed: Program) -> None:
    arguments = ["bench", "--json", "--scenario", "star", "--repeat", "1"]
    (found,) = json.loads(switchbed(*arguments).stdout)
    assert found["scenario"] == "star"
    assert found["threads"] == 1
    each = found["cpu_s"] * 1e9 / found["packet_hops"]
    assert found["ns_per_packet_hop"] == pytest.approx(each)
    assert found["events"] > 0
    off = found["queues_off"]
    assert off["packet_hops"] == found["packet_hops"]
    assert off["ns_per_packet_hop"] > 0
    assert 1e6 < found["peak_rss_bytes"] < 500e6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "@star-dctcp"], r"^switchbed: \d+% · [\d,]+/[\d,]+ flows · [\d.,]+ ms · "),
        (["run", "@star-dctcp", "--quiet"], None),
        (["sweep", "@star-dctcp", "--seeds", "2"], r"^switchbed: \d+% · \d/2 runs"),
        (["sweep", "@star-dctcp", "--seeds", "2", "--quiet"], None),
    ],
)
def test_without_a_terminal_progress_is_a_line_now_and_then(
    arguments: list[str],
    said: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress_bar, "PERIOD_S", 0.0)
    with contextlib.suppress(SystemExit):
        cli.main([*arguments, "--set", "run.until=60ms"])
    err = capfd.readouterr().err
    assert re.search(said, err, re.MULTILINE) if said else "%" not in err, err


def test_the_api_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    star = sb.Scenario.from_file("@star-dctcp").with_({"run.until": "60ms"})
    star.run()
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(progress_bar, "PERIOD_S", 0.0)
    star.run()
    assert " flows · " in capfd.readouterr().err


HOSTILE = (
    "a\x1b[31m\x1b]0;b\x07\u202ec\u2066d\nswitchbed: forged\r\x9b2J\u2028e\u200f[bold]$\\frac$"
)
"""Colours, a title, text turned round, a line of its own, and what rich and matplotlib obey."""
TOML = json.dumps(HOSTILE).replace("\x9b", "\\u009b").replace("\x7f", "\\u007f")
"""The same in a scenario, where it is escaped."""


def clean_ending(done: Done, code: int = 0) -> Done:
    """The command's, after a look at all that it printed."""
    assert done.code == code, done.err
    assert not done.faults(), done.err
    for text in (done.out, done.err):
        raw = {char for char in text if unicodedata.category(char) in UNSEEN} - {"\n"}
        assert not raw, (raw, text)
        assert not any(line.startswith("switchbed: forged") for line in text.split("\n"))
    return done


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """A scenario whose title and labels are hostile."""
    text = SINGLE.replace("Small flows among four hosts", TOML[1:-1]).replace("300", "30")
    schemes = f'{{ name = "mq-ecn", label = {TOML} }}, {{ name = "mq-ecn", label = "[/x]" }}'
    path = tmp_path / "compared.toml"
    path.write_text(f"{text}\n[compare]\nscheme = [{schemes}]\nload = [0.4, 0.8]\n")
    return path


def test_what_a_terminal_obeys_is_made_visible() -> None:
    assert clean("Größe 5 µs – 漢字") == "Größe 5 µs – 漢字"
    assert clean("\x1b[0m\n\u202e\udcff\u200b") == r"\x1b[0m\n\u202e\udcff\u200b"
    value = {"a": HOSTILE, "b": ["\U000e0001", "漢"]}
    text = clean_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert "\U000e0001" not in text
    assert "漢" in text


def test_to_show_it_takes_nothing_that_is_not_loaded() -> None:
    """A live switch has given up the right to read it."""
    code = (
        "import sys\nfrom switchbed.terminal import clean, clean_json\nsys.meta_path.clear()\n"
        r"assert (clean('\x1b'), clean_json('\u202e')) == (r'\x1b', r'\u202e')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_labels_of_runs_and_sweeps(compared: Path, tmp_path: Path) -> None:
    done = clean_ending(switchbed("run", compared, "--out", tmp_path / "out"))
    assert r"\x1b[31m" in done.out
    assert r"\nswitchbed: forged" in done.out
    assert "[bold]" in done.out, "rich's markup is text like any other"
    assert "[/x]" in done.out
    store = ("--store", tmp_path / "store")
    assert r"\u202e" in clean_ending(switchbed("sweep", compared, *store)).out
    sql = f"select scheme as \"{HOSTILE}\", 'x\x1b' as x from runs"
    clean_ending(switchbed("query", sql, *store))
    found = clean_ending(switchbed("query", sql, *store, "--json"))
    assert HOSTILE in {row[HOSTILE] for row in json.loads(found.out)}
    clean_ending(switchbed("query", f'select "{HOSTILE}" from runs', *store), 2)
    clean_ending(switchbed("query", "select 1", "--store", tmp_path / HOSTILE), 2)


def test_rows_for_programs_are_exact_but_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for kind, shown in ((io.StringIO, "a\n\x1b\n"), (Terminal, "a\n\\x1b\n")):
        monkeypatch.setattr("sys.stdout", stdout := kind())
        options.write("a\n\x1b\n", options.STDOUT)
        assert stdout.getvalue() == shown


def test_labels_of_reports_and_figures(compared: Path, tmp_path: Path) -> None:
    out = tmp_path / HOSTILE.replace("/", "")
    clean_ending(switchbed("run", compared, "--out", out))
    clean_ending(switchbed("report", out, "--out", out / "report.html", "--title", HOSTILE))
    for kind in ("fct", "cdf", "queue", "utilisation"):
        figure = out / f"{HOSTILE}.svg"
        clean_ending(switchbed("plot", kind, out, "--out", figure, "--title", HOSTILE))
        assert figure.exists()
    only = ("--only", f"scheme={HOSTILE}x")
    clean_ending(switchbed("plot", "cdf", out, "--out", tmp_path / "x.svg", *only), 2)
    clean_ending(switchbed("fct", tmp_path / "none" / HOSTILE, "--form", "hpcc"), 2)
    (out / "manifest.json").write_text(json.dumps({"runs": {HOSTILE: {}}}))
    clean_ending(switchbed("report", out, "--out", tmp_path / "x.html"), 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "per-queue"', f"name = {TOML}"),
        ('kind = "star"', f"kind = {TOML}"),
        ("hosts = 4", f"hosts = 4\n{TOML} = 1"),
        ('sizes = "30KB"', f"sizes = {TOML}"),
        ("[transport]", f"[{TOML}]\n[transport]"),
        ('threshold = "20pkt"', f"{TOML} = 1"),
        ('kind = "poisson"', f'kind = "list"\nfile = {TOML}'),
        ('rate = "10Gbps"', 'rate = "10Gbps\x1b"'),
        ("hosts = 4", "hosts = \u202e4"),
    ],
)
def test_errors_of_scenarios(tmp_path: Path, old: str, new: str) -> None:
    assert old in SINGLE
    path = tmp_path / f"{HOSTILE}.toml".replace("/", "")
    path.write_text(SINGLE.replace(old, new))
    clean_ending(switchbed("run", path), 2)
    clean_ending(switchbed("scenario", "check", path), 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", f"none/{HOSTILE}.toml"],
        ["run", "single.toml", "--set", f"{HOSTILE}=1"],
        ["run", "single.toml", "--set", f"load={HOSTILE}"],
        ["run", "single.toml", "--json", f"none/{HOSTILE}"],
        ["run", "single.toml", "--out", f"single.toml/{HOSTILE}"],
        ["run", "single.toml", f"--{HOSTILE}"],
        ["sweep", "single.toml", "--name", HOSTILE],
        ["bench", "--scenario", HOSTILE],
        ["live", "check", f"none/{HOSTILE}"],
        [HOSTILE],
        ["run", "\udcff.toml"],
    ],
)
def test_errors_of_commands(
    single: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(single.parent)
    clean_ending(switchbed(*arguments), 2)


def test_errors_of_schemes_in_python(single: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from switchbed.prototype import Marker\n"
        "class Mine(Marker):\n"
        "    def intend(self, view, queue, packet, rng):\n"
        f"        raise ValueError({HOSTILE!r})\n"
    )
    text = SINGLE.replace('name = "per-queue"', 'name = "python"').replace(
        'threshold = "20pkt"', 'file = "mine.py", class = "Mine"'
    )
    single.write_text(text)
    done = clean_ending(switchbed("run", single), 2)
    assert r"\x1b" in done.err
    clean_ending(switchbed("sweep", single, "--store", tmp_path / "store"), 1)
