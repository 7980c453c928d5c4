"""What is in the source tree alone: the documentation, which is written from here."""

from pathlib import Path

from switchbed._native import Mistake

DOCS = Path(__file__).parents[2] / "docs"


def check(option: str) -> None:
    """Refuses an option that writes there where it is not."""
    if not DOCS.is_dir():
        raise Mistake(f"{option}: writes the documentation, which only the source tree has")
