"""Groups of commands that others add to, by entry points: `switchbed.commands`, and
`switchbed.live.commands` for what follows `live`.

They are read when they are asked for, so that a command of ours waits for nobody's.
"""

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

import click


class Nested(click.Group):
    """Commands whose options with an optional value (`--json`) take none that is an argument."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, and what is for it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, rest if command is None else _given_back(command, ctx, rest)


def _given_back(command: click.Command, ctx: click.Context, args: list[str]) -> list[str]:
    """The arguments with `--csv SQL` as `--csv=- SQL` where the command else lacks an argument."""
    for i in reversed(range(len(args) - 1)):
        option = _optional(command, args[i])
        if option is None or args[i + 1].startswith("-"):
            continue
        if not _lacks(command, ctx, args):
            break
        args = [*args[:i], f"{args[i]}={option.flag_value}", *args[i + 1 :]]
    return args


def _optional(command: click.Command, word: str) -> click.Option | None:
    """The option of that name that can stand without a value."""
    for each in command.params:
        if isinstance(each, click.Option) and word in each.opts:
            # Without a flag's value click has a sentinel there.
            return each if isinstance(each.flag_value, str) and not each.is_flag else None
    return None


def _lacks(command: click.Command, ctx: click.Context, args: list[str]) -> bool:
    """Whether a required argument has nothing."""
    within = click.Context(command, info_name=command.name, parent=ctx)
    try:
        found, _, _ = command.make_parser(within).parse_args(args=list(args))
    except click.UsageError:
        return False
    return any(
        isinstance(each, click.Argument)
        and each.required
        and (not isinstance(value := found.get(each.name or ""), str | tuple) or not value)
        for each in command.params
    )


class Group(Nested):
    """Group of commands, with those of its group of entry points."""

    points = "switchbed.commands"
    group_class = Nested

    @cached_property
    def _others(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.points)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._others})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command; the group's own come before those of entry points."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in self._others:
            found = self._others[cmd_name].load()
        return found


class LiveGroup(Group):
    points = "switchbed.live.commands"
