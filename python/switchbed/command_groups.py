"""Groups of commands that others add to, by entry points: `switchbed.commands`, and
`switchbed.live.commands` for what follows `live`.

They are read when they are asked for, so that a command of ours waits for nobody's. Nor does it
wait for the modules of our others (`Later`).
"""

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Later(MutableMapping[str, click.Command]):
    """Commands by name, some of which are imported when they are first used."""

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        """`places` has each one's `module:attribute` in this package, and how its help begins."""
        self._places = places
        self._here: dict[str, click.Command | None] = dict.fromkeys(places)

    def __getitem__(self, name: str) -> click.Command:
        found = self._here[name]
        if found is None:
            module, _, attribute = self._places[name][0].partition(":")
            found = self._here[name] = getattr(import_module(f"switchbed.{module}"), attribute)
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._here[name] = command

    def __delitem__(self, name: str) -> None:
        del self._here[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._here)

    def __len__(self) -> int:
        return len(self._here)

    def named(self) -> dict[str, click.Command]:
        """Commands that a list shows by name and help, in place of those not imported yet."""
        names = (name for name, found in self._here.items() if found is None)
        return {name: click.Command(name, help=self._places[name][1]) for name in names}


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
    def _others(self) -> "dict[str, EntryPoint]":
        from importlib.metadata import entry_points

        return {entry.name: entry for entry in entry_points(group=self.points)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._others})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command; the group's own come before those of entry points."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in self._others:
            found = self._others[cmd_name].load()
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, without an import of those that are imported later."""
        named = self.commands.named() if isinstance(self.commands, Later) else {}
        found = {
            name: named.get(name) or self.get_command(ctx, name) for name in self.list_commands(ctx)
        }
        listed = {name: command for name, command in found.items() if command is not None}
        click.Group(commands=listed).format_commands(ctx, formatter)


class LiveGroup(Group):
    points = "switchbed.live.commands"
