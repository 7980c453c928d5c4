"""Values as TOML, for scenarios that are made in Python. The standard library only reads it."""

import json
import math
from collections.abc import Mapping
from typing import Any

from switchbed._native import Mistake


def value(key: str, item: Any) -> str:
    """A value in one line; `key` names it in messages."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float) and math.isfinite(item):
        return repr(item)
    if isinstance(item, str):
        return quoted(key, item)
    if isinstance(item, Mapping):
        return "{ " + ", ".join(_entries(key, item)) + " }"
    if isinstance(item, list | tuple | range):
        return "[" + ", ".join(value(f"{key}[{i}]", each) for i, each in enumerate(item)) + "]"
    if item is None:
        raise Mistake(f"{key} is None: leave it out to have its default")
    if hasattr(item, "item"):  # NumPy's numbers
        return value(key, item.item())
    raise Mistake(
        f"{key} is {item!r}: a text, a number, True or False, or a list or dict of these is needed"
    )


def document(values: Mapping[str, Any]) -> str:
    """A whole scenario, a line a section."""
    return "\n".join(_entries("", values)) + "\n"


def given(item: Any) -> Any:
    """A resolved scenario, or part of one, without what is not set, which TOML cannot say."""
    if isinstance(item, Mapping):
        return {key: given(each) for key, each in item.items() if each is not None}
    if isinstance(item, list):
        return [given(each) for each in item if each is not None]
    return item


def quoted(key: str, text: str) -> str:
    """A text in quotes; `key` names it in messages."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Mistake(
            f"{key} is {text!r}: character {error.start} is half of a pair (a lone surrogate), "
            "which is no text"
        ) from None
    # JSON's escapes are TOML's, which wants this one too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _entries(path: str, values: Mapping[str, Any]) -> list[str]:
    return [
        f"{quoted(path or 'a key', str(key))} = "
        + value(f"{path}.{key}" if path else str(key), item)
        for key, item in values.items()
    ]
