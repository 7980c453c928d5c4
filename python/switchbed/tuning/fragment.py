"""The advised setting as its target takes it: rows of SONiC's `config_db.json`, or tc's script."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed import options
from switchbed._native import Mistake
from switchbed.sonic import draft, fragment
from switchbed.sonic.device import Device
from switchbed.tc import exporting as tc
from switchbed.tuning.target import Target

Fragment = dict[str, Any] | str
"""Tables of a scenario, or a script."""


@dataclass(frozen=True)
class Writer:
    """Makes fragments for a target."""

    name: str
    """Name of the scenario."""
    held: Target
    device: Device | None = None
    """The switch that the scenario was imported from."""

    def made(self, scenario: Mapping[str, Any], tuned: Mapping[str, Any]) -> Fragment:
        """Of a resolved scenario. Buffers stay the switch's unless they are `tuned`."""
        if self.held.is_sim:
            raise Mistake("--fragment: --target sim takes none: name tc, sonic or a chip")
        if self.held.name == "tc":
            choices = tc.Choices(instead={"buffer": "static"})
            lines, said = tc.export(scenario, choices, self.device)
            found: Fragment = tc.script(lines, self.name, choices)
        else:
            keeps = not any(key.startswith("switch.") for key in tuned)
            found, said = fragment.made(
                self.name,
                scenario,
                draft.Choices(
                    instead={"buffer": "device"} if keeps else {},
                    nvidia=self.held.name.startswith("spectrum"),
                    cell=self.held.cell,
                ),
                self.device,
                changes=self.device is not None,
            )
            if self.device is None and keeps:
                found = _marking(found)
        if said.refusals:
            raise Mistake(f"--fragment: {said.refusals[0]}")
        return found


def _marking(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The thresholds, and the queues that have them: a switch that nobody showed keeps the rest."""
    queues = {
        key: {"wred_profile": row["wred_profile"]}
        for key, row in tables.get("QUEUE", {}).items()
        if "wred_profile" in row
    }
    found = {"WRED_PROFILE": tables.get("WRED_PROFILE", {}), "QUEUE": queues}
    return {table: rows for table, rows in found.items() if rows}


def write(found: Fragment, to: Path) -> None:
    """Write the fragment to a file."""
    if isinstance(found, str):
        options.write(found, str(to))
    else:
        options.write_json(found, str(to))
