"""Figures of the last full runs, kept in results.json for docs/reliability.md."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evidence.kept import Kept

HERE = Path(__file__).parent


def write(name: str, found: dict[str, Any]) -> None:
    """Keeps what a full run found, with its date."""
    date = datetime.now(UTC).date().isoformat()
    Kept(HERE, name).write(found | {"date": date})


def read(name: str) -> dict[str, Any]:
    """Figures of the last full run."""
    found: dict[str, Any] = Kept(HERE, name).read()
    return found


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
