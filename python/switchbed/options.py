"""Options that several commands have, and what they do with them."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from switchbed import _native, files, foreign, terminal
from switchbed._native import Mistake

STDOUT = "-"
SCENARIOS = Path(__file__).parent / "data" / "scenarios"
MOST = 2**31 - 1
"""Most of a whole number that has no end of its own."""


Command = Callable[..., Any]


class Whole(click.IntRange):
    """A whole number in ASCII digits, from `min` to `max`; `instead` is what to write for more."""

    def __init__(self, least: int, most: int | None = None, instead: str = "") -> None:
        super().__init__(least, most)
        self.instead = instead

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = foreign.whole(value) if isinstance(value, str) else value
        if found is None:
            message = f"{foreign.shown(value)} is no whole number, as 12{self.instead}"
            self.fail(message, param, ctx)
        if self.max is None and isinstance(found, int) and found > MOST:
            self.fail(f"{found} is more than {MOST}", param, ctx)
        return super().convert(found, param, ctx)


class Real(click.FloatRange):
    """A finite number in ASCII digits, from `min` to `max`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            found = foreign.real(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(f"{foreign.shown(value)}: {error}", param, ctx)
        return super().convert(found, param, ctx)


class Percent(click.ParamType[float]):
    """A fraction, as `5%` or `0.05`."""

    name = "PERCENT"

    def convert(self, value: str, param: object, ctx: object) -> float:
        text = str(value)
        try:
            part = foreign.real(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
            if part > 0:
                return part
        except ValueError:
            pass
        option = getattr(param, "opts", ["it"])[0]
        raise click.UsageError(f"{option} is {foreign.shown(text)}: such as 5% is needed, over 0")


class Minutes(click.ParamType[float]):
    """A finite number over 0."""

    name = "MIN"

    def convert(self, value: object, param: click.Parameter | None, ctx: object) -> float:
        try:
            found = foreign.real(str(value))
            if found > 0:
                return found
        except ValueError:
            pass
        option = getattr(param, "opts", ["it"])[0]
        raise click.UsageError(
            f"{option} is {foreign.shown(value)}: a number of minutes over 0 is needed, as 30"
        )


def _remember(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[files.FORCE] = value


def forcing(command: Command) -> Command:
    """Gives a command that writes files `--force`, once."""
    if any(known.name == "force" for known in getattr(command, "__click_params__", ())):
        return command
    return click.option(
        "--force",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember,
        help="Replace files that are there.",
    )(command)


def _free(_: click.Context, option: click.Parameter, value: Any) -> Any:
    if value is not None and str(value) != STDOUT:
        # Only an option that stands without a value can have taken what was meant as an argument.
        if isinstance(option, click.Option) and option.flag_value == STDOUT:
            _refuse_argument(option.opts[0], str(value))
        files.free(Path(value), option.opts[-1])
    return value


def _refuse_argument(option: str, value: str) -> None:
    """Refuses a value that is the name of what a command's argument can name."""
    lists = (_native.schemes, _native.sizes, _native.profiles, _native.policies, _native.chips)
    names = (each["name"] for of in lists for each in json.loads(of()))
    # A name may be too long for any file, which pathlib raises.
    shipped = os.path.isfile(SCENARIOS / f"{value}.toml") and "/" not in value  # noqa: PTH113
    if value.startswith("@") or shipped or value in names:
        raise Mistake(
            f"{option} {value}: is a name and no file; write {value} {option}, with {option} last, "
            f"or {option}=./{value} for a file of this name"
        )


def output(*names: str, **more: Any) -> Callable[[Command], Command]:
    """An option that names a file to write, with `--force`: a file that is there is refused."""

    def give(command: Command) -> Command:
        return click.option(*names, callback=_free, **more)(forcing(command))

    return give


JSON = output(
    "--json",
    "json_to",
    is_flag=False,
    flag_value=STDOUT,
    metavar="[FILE]",
    help="As JSON, to FILE or else standard output; after the arguments.",
)
ANY_MEMORY = click.option(
    "--any-memory", is_flag=True, help="Run even if there seems to be too little memory."
)
CSV = output(
    "--csv",
    "csv_to",
    is_flag=False,
    flag_value=STDOUT,
    metavar="[FILE]",
    help="As CSV, likewise.",
)
ONLY = click.option(
    "--only", multiple=True, metavar="KEY=VALUE", help="Only runs of this setting: load=0.5."
)
OVER = click.option(
    "--over",
    type=click.Choice(["ideal", "alone"]),
    default="ideal",
    show_default=True,
    help="What slowdowns are over: the ideal FCT (line rate, no handshake), or that of the flow "
    "alone under its own transport, which is run for it.",
)
AXES = (
    click.option(
        "--x",
        metavar="KEY",
        help="What is on the axis. Default: the load if fct has one, or a number that varies.",
    ),
    click.option("--colour", metavar="KEY", help="What lines differ in. Default: the scheme."),
    click.option("--panel", metavar="KEY", help="What panels differ in."),
)
MEASURED = (
    click.option(
        "--metric",
        multiple=True,
        default=["fct.all.mean_us"],
        show_default=True,
        help="A figure of the summary, or of a table: 'fct[class=1,size<=100KB].p99.9_us'.",
    ),
    click.option(
        "--against",
        metavar="KEY=VALUE",
        help="Divide by the runs that have it, paired by seed: scheme=MQ-ECN, host.lso=false.",
    ),
    click.option(
        "--from", "--since", "since", metavar="TIME", help="Only what starts then or later: 20ms."
    ),
    click.option("--until", metavar="TIME", help="Only what starts before."),
)
"""Options that choose the metric and the setting it is drawn over."""


def measured(command: Command) -> Command:
    """Add the options in `MEASURED` to a command."""
    for option in reversed(MEASURED):
        command = option(command)
    return command


def over(command: Command) -> Command:
    """Add the options in `AXES` to a command."""
    for option in reversed(AXES):
        command = option(command)
    return command


def seconds(option: str, text: str | None) -> float | None:
    """A time of the command line."""
    from switchbed import quantity

    if text is None:
        return None
    try:
        return quantity.time(text)
    except ValueError as error:
        raise Mistake(f"{option} {text}: {error}") from error


def write(text: str, to: str) -> None:
    """To a file, or `-` for standard output."""
    if to != STDOUT:
        with files.whole(Path(to)) as draft:
            draft.write_text(text, encoding="utf-8")
    elif sys.stdout.isatty():
        terminal.page(text)
    else:
        sys.stdout.write(text)  # as it is: for a program


def write_json(found: object, to: str) -> None:
    """Write readable JSON to a file, or to standard output for `-`."""
    write(json.dumps(found, indent=2, allow_nan=False) + "\n", to)


def write_rows(rows: Sequence[dict[str, Any]], json_to: str | None, csv_to: str | None) -> None:
    """Rows with the same keys: as JSON, as CSV, or printed as a table."""
    if csv_to is not None:
        import csv
        import io

        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write(text.getvalue(), csv_to)
    if json_to is not None:
        write_json(rows, json_to)
    if csv_to is None and json_to is None:
        from switchbed import printing

        printing.print_rows(rows)
