"""Options that several commands have, and what they do with them."""

import json
from pathlib import Path

import click

STDOUT = "-"

JSON = click.option(
    "--json",
    "json_to",
    is_flag=False,
    flag_value=STDOUT,
    metavar="[FILE]",
    help="As JSON, to FILE or else standard output; after the arguments.",
)
CSV = click.option(
    "--csv",
    "csv_to",
    is_flag=False,
    flag_value=STDOUT,
    metavar="[FILE]",
    help="As CSV, likewise.",
)


def write(text: str, to: str) -> None:
    """To a file, or `-` for standard output."""
    if to == STDOUT:
        click.echo(text, nl=False)
    else:
        Path(to).write_text(text)


def write_json(found: object, to: str) -> None:
    """Readable JSON, likewise."""
    write(json.dumps(found, indent=2, allow_nan=False) + "\n", to)
