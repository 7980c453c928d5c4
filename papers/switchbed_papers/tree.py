"""Files that are in the source tree only: results are committed there and not installed."""

from pathlib import Path

from switchbed._native import Mistake

PAPERS = Path(__file__).parents[1]
PROJECT = PAPERS / "pyproject.toml"


def check(option: str) -> None:
    """Refuses an option that commits results where there is no source tree."""
    if not PROJECT.is_file():
        raise Mistake(f"{option}: writes the committed results, which only the source tree has")
