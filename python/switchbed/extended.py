"""Groups of commands that others add to, by entry points: `switchbed.commands`, and
`switchbed.live.commands` for what follows `live`.

They are read when they are asked for, so that a command of ours waits for nobody's.
"""

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

import click


class Group(click.Group):
    """Its own commands, and those of its group of entry points."""

    points = "switchbed.commands"

    @cached_property
    def _others(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.points)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All, by name."""
        return sorted({*super().list_commands(ctx), *self._others})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Its own come first."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in self._others:
            found = self._others[cmd_name].load()
        return found


class LiveGroup(Group):
    """`switchbed live`."""

    points = "switchbed.live.commands"
