"""Both packages away from their source tree, as their wheels are installed."""

from pathlib import Path

import away
import pytest
from click.testing import CliRunner

from switchbed import _native
from switchbed.cli import cli
from switchbed_papers import tree

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_papers_need_no_source_tree(tmp_path: Path) -> None:
    packages = {
        "switchbed": ROOT / "python/switchbed",
        "switchbed-papers": ROOT / "papers/switchbed_papers",
    }
    away.copied(tmp_path, packages)

    def run(*words: str) -> str:
        return away.run(tmp_path, "-m", "switchbed", *words)

    assert "mqecn.fig9" in run("reproduce", "list")
    found = run("reproduce", "cedm/fig3", "--quick", "--seeds", "1")
    assert "cedm.fig3" in found
    cell = ("--only", "10-40-web-search-plain")
    few = ("--flows", "60", "--seeds", "2")
    assert "10-40-web-search-plain: small" in run("fabrics", *few, *cell)


def test_what_commits_results_says_that_it_needs_the_tree(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tree, "PROJECT", tmp_path / "pyproject.toml")
    for words in ("reproduce mqecn --full --commit", "fabrics --commit", "live papers --commit"):
        with pytest.raises(_native.Mistake, match=r"--commit: .* only the source tree has"):
            CliRunner().invoke(cli, words.split(), catch_exceptions=False, standalone_mode=False)
