"""Options that several commands have, and what they do with them."""

import json
import sys
from pathlib import Path

import click

from switchbed import files, terminal

STDOUT = "-"

JSON = click.option(
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
    if to != STDOUT:
        with files.whole(Path(to)) as draft:
            draft.write_text(text, encoding="utf-8")
    elif sys.stdout.isatty():
        terminal.page(text)
    else:
        sys.stdout.write(text)  # as it is: for a program


def write_json(found: object, to: str) -> None:
    """Readable JSON, likewise."""
    write(json.dumps(found, indent=2, allow_nan=False) + "\n", to)
