"""A scenario as a fragment of `config_db.json`, checked: what `export sonic` and `tune` write."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from switchbed._native import Mistake
from switchbed.sonic import schema
from switchbed.sonic.device import Device, beside
from switchbed.sonic.draft import Choices
from switchbed.sonic.exporting import export
from switchbed.sonic.finding import Findings
from switchbed.sonic.normalised import Tables, folded


def known(scenario: Path | None, device: Path | None = None) -> Device | None:
    """The switch that a scenario came from: as `device` has it, or what stands beside its file."""
    path = device or (beside(scenario) if scenario is not None else None)
    if path is None or (device is None and not path.exists()):
        return None
    return Device.read(path)


def made(
    name: str,
    scenario: Mapping[str, Any],
    choices: Choices,
    device: Device | None,
    *,
    changes: bool,
    partial: bool = False,
) -> tuple[Tables, Findings]:
    """The rows, only those that differ from the device's with `changes`, and what was found."""
    tables, said = export(scenario, choices, device)
    own = device.tables if device is not None else {}
    if partial or not said.refusals:
        problems = schema.check({**own, **tables}, tables, own)
        if problems:
            raise Mistake(f"{name}: what would be written is not SONiC's: {problems[0]}")
    if changes:
        tables = {
            table: {key: row for key, row in rows.items() if own.get(table, {}).get(key) != row}
            for table, rows in tables.items()
        }
        tables = {table: rows for table, rows in tables.items() if rows}
    tables.pop("PORT", None)  # stays the device's
    return folded(tables), said
