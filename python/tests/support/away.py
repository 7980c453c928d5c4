"""Packages away from their source tree: copies of what wheels have of them, in another place."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path


def copied(place: Path, packages: dict[str, Path]) -> None:
    """Puts these distributions, each with the folder of its package, where `run` finds them."""
    ignored = shutil.ignore_patterns("__pycache__", "*.png")
    for name, folder in packages.items():
        shutil.copytree(folder, place / "site" / folder.name, ignore=ignored)
        found = distribution(name)
        about = place / "site" / f"{name.replace('-', '_')}-{found.version}.dist-info"
        about.mkdir()
        for file in ("METADATA", "entry_points.txt"):
            (about / file).write_text(found.read_text(file) or "")
    (place / "work").mkdir()


def run(place: Path, *words: str) -> str:
    """What python prints there with these words."""
    ours = {"PYTHONPATH": str(place / "site"), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, *words],
        check=False,
        cwd=place / "work",
        env=os.environ | ours,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout
