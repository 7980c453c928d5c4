"""Results that scripts keep for pages: a file `results.json` in each folder of scripts, an entry in
it for each of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kept:
    """An entry of a folder's results."""

    folder: Path
    name: str

    def read(self) -> Any:
        """The entry; an empty one where none has been written."""
        return self._all().get(self.name, {})

    def write(self, found: object) -> None:
        """Replaces the entry, and leaves the others."""
        text = json.dumps({**self._all(), self.name: found}, indent=1)
        part = self._file.with_suffix(".part")
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(self._file)

    def write_dated(self, found: Mapping[str, Any]) -> None:
        """Replaces the entry by this one with today's date."""
        self.write({**found, "date": datetime.now(UTC).date().isoformat()})

    def _all(self) -> dict[str, Any]:
        if not self._file.exists():
            return {}
        entries: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
        return entries

    @property
    def _file(self) -> Path:
        return self.folder / "results.json"

    def __str__(self) -> str:
        return f"{self._file}: {self.name}"
