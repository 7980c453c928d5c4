"""Nothing in a name can do anything to a terminal: labels, files, errors, results of others."""

import io
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from conftest import SINGLE

from evidence.robustness.in_process import Done, switchbed
from switchbed import options
from switchbed.terminal import UNSEEN, clean, clean_json

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
