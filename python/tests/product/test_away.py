"""The package away from its source tree: a copy of what a wheel has of it, in another place.
`evidence.robustness.wheels` builds the wheels and tries them in environments of their own."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from click.testing import CliRunner

from switchbed import _native
from switchbed.cli import cli

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is installed; its `work` is where commands run."""
    place = tmp_path_factory.mktemp("away")
    ignored = shutil.ignore_patterns("__pycache__", "*.png")
    shutil.copytree(ROOT / "python/switchbed", place / "site/switchbed", ignore=ignored)
    about = place / "site" / f"switchbed-{distribution('switchbed').version}.dist-info"
    about.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (about / name).write_text(distribution("switchbed").read_text(name) or "")
    (place / "work").mkdir()
    return place


def run(away: Path, *words: str) -> str:
    ours = {"PYTHONPATH": str(away / "site"), "PYTHONSAFEPATH": "1"}
    program = [sys.executable, "-m", "switchbed", *words]
    done = subprocess.run(
        program,
        check=False,
        cwd=away / "work",
        env=os.environ | ours,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def test_it_is_the_copy_that_runs(away: Path) -> None:
    code = "import switchbed; print(switchbed.__file__)"
    ours = {"PYTHONPATH": str(away / "site")}
    words = [sys.executable, "-c", code]
    found = subprocess.run(words, check=True, env=os.environ | ours, capture_output=True, text=True)
    assert Path(found.stdout.strip()).is_relative_to(away)


def test_main_commands_need_no_source_tree(away: Path) -> None:
    run(away, "new", "star")
    short = ("--set", "flows=50")
    run(away, "run", "star.toml", *short, "--out", "run")
    run(away, "sweep", "star.toml", *short, "--set", 'compare.scheme=["per-queue", "none"]')
    run(away, "plot", "cdf", "run", "--out", "cdf.svg")
    run(away, "report", "run")
    assert "flows" in run(away, "query", "select count(*) as flows from flows")


def test_papers_need_no_source_tree(away: Path) -> None:
    assert "mqecn.fig9" in run(away, "reproduce", "list")
    found = run(away, "reproduce", "cedm/fig3", "--quick", "--seeds", "1")
    assert "cedm.fig3" in found
    assert "10-40-web-search-plain: small" in run(
        away, *["fabrics", "--flows", "150", "--seeds", "2", "--only", "10-40-web-search-plain"]
    )


def test_what_writes_the_documentation_says_that_it_needs_the_tree(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from switchbed.papers import tree

    monkeypatch.setattr(tree, "DOCS", tmp_path / "docs")
    for words in ("reproduce mqecn --full --commit", "fabrics --commit"):
        with pytest.raises(_native.Mistake, match=r"--commit: .* only the source tree has"):
            CliRunner().invoke(cli, words.split(), catch_exceptions=False, standalone_mode=False)


def test_a_build_without_the_live_switch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_native, "live_plan")
    with pytest.raises(_native.Mistake, match="built without the live switch"):
        CliRunner().invoke(cli, ["live", "keys"], catch_exceptions=False, standalone_mode=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(_native.Mistake, match="needs Linux"):
        CliRunner().invoke(cli, ["live", "keys"], catch_exceptions=False, standalone_mode=False)
