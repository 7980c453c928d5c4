"""Options that several commands have, and what they do with them."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def write_rows(rows: Sequence[dict[str, Any]], json_to: str | None, csv_to: str | None) -> None:
    """Rows with the same keys: as JSON, as CSV, or printed as a table."""
    if csv_to is not None:
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
