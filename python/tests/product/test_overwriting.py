"""No file of the user's is overwritten silently: one rule, over all commands that write."""

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from conftest import SINGLE, SWEEP, Program
from forked import Forks

from switchbed import files
from switchbed._native import Mistake
from switchbed.cli import cli

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
