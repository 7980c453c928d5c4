"""The documentation site: it builds without a warning, which a dead link or a lost page is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import switchbed
from switchbed import _native

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.needs("sphinx")
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    site, trees = tmp_path / "site", tmp_path / "trees"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-WqEb", "html", "--keep-going", "-d", trees, DOCS, site],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    commands = (site / "commands.html").read_text()
    for path in ("switchbed run", "switchbed live lab run", "switchbed reproduce"):
        assert f"{path}<a" in commands, path
    reference = (site / "api.html").read_text()
    for name in switchbed.__all__:
        if name != "__version__":
            assert (
                f'id="switchbed.{name}"' in reference
                or f'id="module-switchbed.{name}"' in reference
            ), name


def test_every_scheme_has_a_page() -> None:
    titles = " ".join(page.read_text().splitlines()[0] for page in DOCS.glob("schemes/*.md"))
    for scheme in json.loads(_native.schemes()):
        # One marks nothing; the other is the reader's.
        assert f"`{scheme['name']}`" in titles or scheme["name"] in ("none", "python")
