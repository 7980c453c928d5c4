"""The measured parts of docs/reliability.md."""

import json
from pathlib import Path

from evidence.robustness import fuzz, mutants
from evidence.site import fill


def write(site: Path) -> None:
    """Fills the page's blocks."""
    page = site / "reliability.md"
    fill(page, "fuzz", fuzz.render(fuzz.read()))
    fill(page, "mutants", mutants.render(json.loads(mutants.RESULTS.read_text())))
