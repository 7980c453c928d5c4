"""The documentation site: it builds without a warning, which a dead link or a lost page is."""

import subprocess
import sys
from pathlib import Path

import switchbed

DOCS = Path(__file__).parents[2] / "docs"


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    site, trees = tmp_path / "site", tmp_path / "trees"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-WqEb", "html", "--keep-going", "-d", trees, DOCS, site],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    reference = (site / "api.html").read_text()
    for name in switchbed.__all__:
        if name != "__version__":
            assert (
                f'id="switchbed.{name}"' in reference
                or f'id="module-switchbed.{name}"' in reference
            ), name
