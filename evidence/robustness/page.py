"""The measured parts of docs/reliability.md."""

from pathlib import Path

from evidence.robustness import figures, fuzz, mutants
from evidence.site import fill

FIGURES = {"foreign": figures.foreign, "texts": figures.texts, "writers": figures.writers}
"""Sentences by their block of the page."""


def write(site: Path) -> None:
    """Fills the page's blocks."""
    page = site / "reliability.md"
    fill(page, "fuzz", fuzz.render(fuzz.read()))
    for name, say in FIGURES.items():
        fill(page, name, say(figures.read(name)))
    fill(page, "mutants", mutants.render(mutants.RESULTS.read()))
