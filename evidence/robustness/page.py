"""The measured parts of docs/reliability.md."""

from pathlib import Path
from typing import Any

from evidence.kept import Kept
from evidence.robustness import fuzz, mutants
from evidence.site import fill


def foreign(found: dict[str, Any]) -> str:
    """A sentence for the page."""
    return (
        f"{found['date']}: {found['files']:,} files ({found['imported']:,} imported, "
        f"{found['refused']:,} refused in a line) and {found['lines']:,} command lines; "
        f"{found['bad']} bad."
    )


def texts(found: dict[str, Any]) -> str:
    """A sentence for the page."""
    return (
        f"{found['date']}: {found['texts']:,} texts ({found['read']:,} read, "
        f"{found['refused']:,} refused in a line); {found['bad']} bad."
    )


def writers(found: dict[str, Any]) -> str:
    """A sentence for the page."""
    return (
        f"{found['date']}: {found['rounds']} sweeps by {found['writers']} processes at a time; "
        "all stores identical, no run in them twice."
    )


FIGURES = {"foreign": foreign, "texts": texts, "writers": writers}
"""Sentences by their block of the page."""


def write(site: Path) -> None:
    """Fills the page's blocks."""
    page = site / "reliability.md"
    fill(page, "fuzz", fuzz.render(fuzz.read()))
    for name, say in FIGURES.items():
        fill(page, name, say(Kept(Path(__file__).parent, name).read()))
    fill(page, "mutants", mutants.render(mutants.RESULTS.read()))
