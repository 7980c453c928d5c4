"""Files that a run reads beside its scenario's: flow lists, and a topology's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from switchbed import files
from switchbed._native import Mistake


def named(scenario: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The sections of a resolved scenario that name such a file, each with its key."""
    if "path" in scenario["topology"]:
        yield scenario["topology"], "path"
    for traffic in scenario["traffic"]:
        yield from ((traffic, key) for key in ("file", "matrix") if key in traffic)


def digest(path: Path) -> str:
    """A hash of what is in a file."""
    try:
        files.check(path)
        with path.open("rb") as file:
            import hashlib

            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from error


def digests(scenario: dict[str, Any]) -> dict[str, str]:
    """Return a hash for each input file."""
    paths = (Path(section[key]) for section, key in named(scenario))
    return {str(path): digest(path) for path in paths}
