"""Reading and writing files. Whatever goes wrong is one line that names the file."""

import errno
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed._native import Mistake

if TYPE_CHECKING:
    import polars as pl

ADVICE = {
    errno.ENOSPC: "; make room and run it again",
    errno.EDQUOT: "; make room and run it again",
    errno.EROFS: "; name a place that can be written",
    errno.EACCES: "; name a place that can be written",
}


@contextmanager
def writing(where: object) -> Iterator[None]:
    """Says that it cannot be written there, and what to do."""
    try:
        yield
    except _polars(OSError) as error:
        number, words = _reason(error)
        raise Mistake(f"{where}: cannot be written: {words}{ADVICE.get(number, '')}") from error


@contextmanager
def whole(path: Path, option: str = "") -> Iterator[Path]:
    """Where to write a file that will be at `path`, whole or not at all; `option` named it."""
    with writing(f"{option} {path}".lstrip()):
        if path.exists() and not path.is_file():  # /dev/stderr, a pipe
            yield path
            return
        place = path.resolve()  # a link stays one
        draft = place.with_name(f".{place.stem}.{os.getpid()}{place.suffix}")
        try:
            yield draft
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)


def read_text(path: Path) -> str:
    """What is in a text file."""
    try:
        check(path)
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {why(error)}") from error
    except UnicodeDecodeError as error:
        raise Mistake(f"{path}: is damaged: it is no UTF-8 text") from error


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    text = read_text(path)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Mistake(f"{path}: is damaged: it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Mistake(f"{path}: is damaged: it holds no object")
    return found


def read_table(path: Path, types: "dict[str, pl.DataType] | None" = None) -> "pl.DataFrame":
    """The table in a file of the form that its ending says. A text's columns are of `types`."""
    import polars as pl

    try:
        check(path)
        if path.suffix == ".csv":
            return pl.read_csv(path, schema_overrides=types, glob=False)
        if path.suffix == ".json":
            rows = pl.read_json(path, schema_overrides=types)
            return rows if rows.columns else pl.DataFrame(schema=types)
        return pl.read_parquet(path, hive_partitioning=False, glob=False)
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {why(error)}") from error
    except _polars() as error:
        raise Mistake(f"{path}: is damaged: {_last_words(error)}") from error


UNBELIEVABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@contextmanager
def believing(paths: Iterable[object]) -> Iterator[None]:
    """Around work on results that were read: what they say may be of the right form and still be
    what no run says."""
    try:
        yield
    except Mistake:
        raise
    except _polars(*UNBELIEVABLE) as error:
        what = f"{type(error).__name__}: {_last_words(error)}"
        raise Mistake(
            f"{', '.join(map(str, paths))}: damaged, for no run says this ({what}); run it again, "
            "or if its files are as they were written, please report it"
        ) from error


def check(path: Path) -> None:
    """Refuses what is no file: a pipe might never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise Mistake(f"{path}: cannot be read: it is no file")


def _polars(*others: type[BaseException]) -> tuple[type[BaseException], ...]:
    """What Polars raises, and others. Asked for once something has been raised: it takes long."""
    from polars.exceptions import PanicException, PolarsError

    return (*others, PolarsError, PanicException)


def why(error: BaseException) -> str:
    """An error of the system in words."""
    return _reason(error)[1]


def _reason(error: BaseException) -> tuple[int, str]:
    """Its number and words, in whatever Polars has wrapped it."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno, os.strerror(error.errno)
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number is not None:
        return int(number[1]), os.strerror(int(number[1]))
    return 0, _last_words(error)


def _last_words(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0]
