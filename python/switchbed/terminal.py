"""Output to the terminal. Nothing in a label, a file's name or an error may move the cursor, change
the direction of text or begin a line. Every text for people passes through here, or through
`console`."""

import json
import os
import unicodedata
from collections.abc import Callable

import click

UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of controls, formats (bidi's too), surrogates, and ends of lines."""


def clean(text: str) -> str:
    r"""The text with what a terminal would obey made visible, as `\x1b`."""
    return _replace(text, lambda char: repr(char)[1:-1])


def clean_json(text: str) -> str:
    r"""JSON that means the same: `\u001b`."""
    return _replace(text, lambda char: json.dumps(char)[1:-1])


def _replace(text: str, by: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(by(char) if unicodedata.category(char) in UNSEEN else char for char in text)


def plain() -> bool:
    """The user wants no colours (https://no-color.org), or the terminal has none: then there are no
    escapes of any kind."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def say(line: object = "", *, err: bool = False, bold: bool = False) -> None:
    """Prints a line; `bold` where a terminal shows it."""
    text = clean(str(line))
    click.echo(click.style(text, bold=True) if bold and not plain() else text, err=err)


def page(text: str, *, err: bool = False) -> None:
    """Prints a text of ours that has several lines."""
    click.echo("\n".join(map(clean, text.split("\n"))), nl=False, err=err)
