"""Files of other programs: read with a line for whatever is wrong in them, however large."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from switchbed import _native, files
from switchbed._native import Mistake

SCENARIO = "scenario"
"""Name of an import before it has a file."""
MOST = 60
"""Characters of a value that a message shows."""


def shown(value: object) -> str:
    """A value in a message: in quotes if it is a text, on one line, and cut."""
    text = repr(value)
    return text if len(text) <= MOST else f"{text[:MOST]}… ({len(text)} characters)"


def name(text: str) -> str:
    """A name of theirs in a message or a comment: on one line, and cut."""
    plain = "".join(each if each.isprintable() else "?" for each in text)
    if not plain:
        return "''"
    return plain if len(plain) <= 2 * MOST else f"{plain[: 2 * MOST]}…"


def some(names: Iterable[str]) -> str:
    """The first of their names in a message, as many as a line holds."""
    first = [name(each) for each in islice(names, 5)]
    if not first:
        return "an empty table"
    return ", ".join(first[:4]) + (", …" if len(first) > 4 else "")


def whole(text: str) -> int | None:
    """A whole number in ASCII digits, as programs in C read it; else `None`."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= MOST else None


def integer(text: str) -> int:
    """The same; else a ValueError."""
    found = whole(text)
    if found is None:
        raise ValueError("a whole number is needed, as 12")
    return found


def number(value: object, low: float, high: float) -> bool:
    """Check that the value is a JSON number from low to high."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def read(path: Path) -> Any:
    """Read a JSON file. A key that stands twice in an object is refused, since the second would
    hide the first."""

    def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = sorted(key for key, _ in pairs)
            twice = next(key for key, after in pairwise(keys) if key == after)
            raise Mistake(
                f"{path}: the key {shown(twice)} stands twice in one object: once is right"
            )
        return found

    def digits(text: str) -> int:
        # Python reads no more digits than some thousands.
        if len(text) > MOST:
            raise Mistake(f"{path}: a number has {len(text)} digits: at most {MOST} are needed")
        return int(text)

    def constant(text: str) -> None:
        raise Mistake(f"{path}: {text} is no number of JSON: a finite one is needed")

    text = files.read_text(path)
    try:
        return json.loads(text, object_pairs_hook=once, parse_int=digits, parse_constant=constant)
    except RecursionError as error:
        raise Mistake(f"{path}: is no JSON that is read: it is nested too deeply") from error
    except ValueError as error:
        if isinstance(error, Mistake):
            raise
        raise Mistake(f"{path}: is no JSON: {name(str(error))}") from error


def real(text: str) -> float:
    """A finite number in ASCII digits, as `0.5` or `1e-3`; else a ValueError."""
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", text, re.IGNORECASE):
        raise ValueError("a number is needed, as 0.5")
    found = float(text)
    if not isfinite(found):
        raise ValueError("it is over all numbers: a finite one is needed")
    return found


def fraction(text: str) -> float:
    """The same, or one over another, as `7/24`."""
    over, bar, under = text.partition("/")
    return real(over) / real(under) if bar else real(over)


def must_run(text: str, where: str, files: Mapping[str, str]) -> None:
    """Refuse an import whose scenario, with the files beside it, the check would refuse."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_text(content, encoding="utf-8")
        try:
            _native.plans_of(SCENARIO, text, folder, [], lines=True)
        except Mistake as mistake:
            why = re.sub(rf"^{SCENARIO}:(\d+: )?", "", str(mistake))
            raise Mistake(f"{where}: no scenario can be this switch: {why}") from mistake
