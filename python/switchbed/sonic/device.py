"""A switch's tables as an import leaves them beside its scenario: everything that the scenario does
not say, and the names of what it does. An export fills in what the scenario says."""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from switchbed import files
from switchbed._native import Mistake
from switchbed.sonic.tidy import Tables

FORMAT = "switchbed-sonic-device"


@dataclass
class Device:
    """The sidecar of an imported scenario."""

    tables: Tables
    modelled: list[tuple[str, str, str]] = field(default_factory=list)
    """Fields that the scenario says: table, row, field."""
    ports: list[str] = field(default_factory=list)
    """Whose queues the scenario's are."""
    queues: list[int] = field(default_factory=list)
    """SONiC's index of each of the scenario's queues."""
    schedulers: dict[int, str] = field(default_factory=dict)
    """By SONiC's index."""
    wred: str | None = None
    """The profile that the scenario's scheme is."""
    alike: list[str] = field(default_factory=list)
    """Profiles that say the same as that one, by other names."""
    marked: list[int] = field(default_factory=list)
    """Which of SONiC's queues have it."""
    profile: str | None = None
    """The buffer profile of a queue that the scenario's buffer is."""
    buffered: list[int] = field(default_factory=list)
    others: dict[str, str | None] = field(default_factory=dict)
    """Of ports that differ in WRED: their profile, by the scenario's switch of `[[deploy]]`."""
    nvidia: bool = False
    """Whose chip it is."""

    @property
    def rest(self) -> Tables:
        """The tables without what the scenario says."""
        found = copy.deepcopy(self.tables)
        for table, row, name in self.modelled:
            found[table][row].pop(name, None)
        return found

    def write(self, path: Path) -> None:
        """Beside the scenario."""
        with files.whole(path) as draft:
            draft.write_text(json.dumps({"format": FORMAT} | vars(self), indent=1), "utf-8")

    @classmethod
    def read(cls, path: Path) -> "Device":
        """What `write` wrote."""
        found: dict[str, Any] = files.read_json(path)
        if found.pop("format", None) != FORMAT:
            raise Mistake(f"{path}: is no {FORMAT}: switchbed import sonic writes one")
        try:
            made = cls(**found)
            made.modelled = [(table, row, name) for table, row, name in made.modelled]
            made.schedulers = {int(q): name for q, name in made.schedulers.items()}
        except (TypeError, ValueError, AttributeError) as error:
            raise Mistake(f"{path}: is damaged: {error}; import the configuration again") from error
        return made


def beside(scenario: Path) -> Path:
    """Where an imported scenario's is."""
    return scenario.with_suffix(".sonic.json")
