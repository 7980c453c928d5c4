"""A switch's tables as an import leaves them beside its scenario: everything that the scenario does
not say, and the names of what it does. An export fills in what the scenario says."""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from switchbed import files
from switchbed._native import Mistake
from switchbed.sonic.normalised import Tables

FORMAT = "switchbed-sonic-device-2"


@dataclass
class Device:
    """The sidecar of an imported scenario. Queues have the same numbers there and here."""

    tables: Tables
    modelled: list[tuple[str, str, str]] = field(default_factory=list)
    """Fields that the scenario says: table, row, field."""
    ports: list[str] = field(default_factory=list)
    """Ports whose queues the scenario describes."""
    count: int = 0
    """Queues of a port in the scenario."""
    schedulers: dict[int, str] = field(default_factory=dict)
    """Scheduler of each queue that has one."""
    marks: dict[int, str] = field(default_factory=dict)
    """WRED profiles of the queues whose schemes say them."""
    buffers: dict[int, str] = field(default_factory=dict)
    """Buffer profiles of lossy queues."""
    pools: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Pools by the scenario's key that is their size, and by how much that is less than theirs."""
    groups: str | None = None
    """The buffer profile of lossless groups, where the configuration has it."""
    rooms: list[str] = field(default_factory=list)
    """Profiles whose headroom the scenario gives by links, in its order."""
    classes: list[int] = field(default_factory=list)
    """Priorities that are lossless."""
    nvidia: bool = False
    """Whether the switch has an NVIDIA chip."""

    @property
    def rest(self) -> Tables:
        """The tables without what the scenario says."""
        found = copy.deepcopy(self.tables)
        for table, row, name in self.modelled:
            found[table][row].pop(name, None)
        return found

    def queues_of_dscps(self) -> tuple[str, list[int]] | None:
        """The name of the ports' map of DSCPs, and the queue of each; `None` without a map."""
        rows = self.tables.get("PORT_QOS_MAP", {})
        own = {**rows.get("global", {}), **(rows.get(self.ports[0], {}) if self.ports else {})}

        def named(field: str, table: str) -> dict[str, str]:
            return dict(self.tables.get(table, {}).get(own.get(field, ""), {}))

        classes = named("dscp_to_tc_map", "DSCP_TO_TC_MAP")
        if not classes:
            return None
        queues = named("tc_to_queue_map", "TC_TO_QUEUE_MAP")
        # A DSCP outside of the map is of class 0; without a map a class is its queue's number.
        found = [classes.get(str(dscp), "0") for dscp in range(64)]
        return own["dscp_to_tc_map"], [int(queues.get(tc, tc)) for tc in found]

    def says(self, table: str, row: str, name: str) -> bool:
        """Whether the scenario says a field."""
        return (table, row, name) in self.modelled

    def says_table(self, table: str) -> bool:
        """Whether the scenario says any field of a table."""
        return any(each == table for each, _, _ in self.modelled)

    def write(self, path: Path) -> None:
        """Write the file beside the scenario."""
        with files.whole(path) as draft:
            draft.write_text(json.dumps({"format": FORMAT} | vars(self), indent=1), "utf-8")

    @classmethod
    def read(cls, path: Path) -> "Device":
        """Read a file that `write` wrote."""
        found: dict[str, Any] = files.read_json(path)
        if found.pop("format", None) != FORMAT:
            raise Mistake(f"{path}: is no {FORMAT}: import the configuration again")
        try:
            made = cls(**found)
            # JSON has lists for tuples, and texts for the keys of objects.
            made.modelled = [(table, row, name) for table, row, name in made.modelled]
            made.pools = {key: (name, int(less)) for key, (name, less) in made.pools.items()}
            for of in ("schedulers", "marks", "buffers"):
                setattr(made, of, {int(q): name for q, name in getattr(made, of).items()})
        except (TypeError, ValueError, AttributeError) as error:
            raise Mistake(f"{path}: is damaged: {error}; import the configuration again") from error
        return made


def beside(scenario: Path) -> Path:
    """Where an imported scenario's is."""
    return scenario.with_suffix(".sonic.json")
