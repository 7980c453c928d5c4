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


OURS = "drawn by switchbed"
"""The mark of figures and reports, which may be drawn again without `--force`."""
FIGURES_DATA = b"panel,line,x,y,low,high"
"""The first line of the data beside a figure."""
SEEN = 4096
"""Bytes at either end of a file that are looked at for the mark."""
FORCE = "switchbed.force"
"""Where a command's context has whether `--force` was given; a command without it may replace."""


def utf8(path: Path, option: str = "") -> None:
    """Refuses a place whose name is no UTF-8 text, which Parquet and JSON cannot hold."""
    whole = path.absolute()
    try:
        str(whole).encode()
    except UnicodeEncodeError:
        named = f"{option} {os.fsencode(whole)!r}".lstrip()
        raise Mistake(f"{named}: is no UTF-8 path; name another place, or rename it") from None


def forced() -> bool:
    """Whether files that are there may be replaced: outside the command line they may."""
    import click

    context = click.get_current_context(silent=True)
    return context is None or bool(context.meta.get(FORCE, True))


def free(path: Path, option: str = "") -> None:
    """Refuses a place that a file of the user's has, unless `--force` is given; and as root one
    that is a link, for it may lead anywhere."""
    utf8(path, option)
    where = f"{option} {path}".lstrip()
    if _is_stream(path):
        return
    if path.is_symlink() and _is_root():
        raise Mistake(f"{where}: is a link, which root does not follow; name the file itself")
    if path.is_dir():
        raise Mistake(f"{where}: is a directory; name a file")
    if not forced() and (path.exists() or path.is_symlink()) and not _is_ours(path):
        raise Mistake(f"{where}: is there already; name another, or give --force to replace it")


def _is_ours(path: Path) -> bool:
    """Whether it is a figure or report that says that switchbed made it, or a figure's data."""
    try:
        with path.open("rb") as file:
            head = file.read(SEEN)
            file.seek(-min(SEEN, path.stat().st_size), os.SEEK_END)
            # Formats keep such a mark near their beginning or near their end.
            ends = head + file.read()
    except OSError:
        return False
    known = head.startswith((b"%PDF", b"\x89PNG", b"<?xml", b"<!DOCTYPE html>"))
    return (known and OURS.encode() in ends) or head.startswith(FIGURES_DATA)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _is_stream(path: Path) -> bool:
    """`/dev/stderr`, a pipe: written to as it is."""
    # `/dev/stdout` may be redirected into a regular file, which is written to and not replaced.
    named = path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",))
    return named or (path.exists() and not path.is_file() and not path.is_dir())


@contextmanager
def whole(path: Path, option: str = "") -> Iterator[Path]:
    """Where to write a file that will be at `path`, whole or not at all; `option` named it. Nobody
    else's file is replaced, neither at `path` (`free`) nor beside it."""
    free(path, option)
    with writing(f"{option} {path}".lstrip()):
        if _is_stream(path):
            yield path
            return
        # A link stays one; `Path.resolve` raises no OSError where links go round in a circle.
        place = Path(os.path.realpath(path))
        import tempfile

        with tempfile.TemporaryDirectory(prefix=f".{place.stem}.", dir=place.parent) as scratch:
            draft = Path(scratch) / place.name
            yield draft
            if forced() or _is_ours(place):
                draft.replace(place)
            else:
                _put(draft, place)


def _put(draft: Path, place: Path) -> None:
    """Gives the draft its name, but for one that somebody has taken meanwhile."""
    try:
        # A link fails if the name exists, in one step; a rename would replace what another process
        # wrote since `free`.
        os.link(draft, place)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        draft.replace(place)


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without the byte order mark that some editors add."""
    try:
        check(path)
        return path.read_text(encoding="utf-8").removeprefix("\ufeff")
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {why(error)}") from error
    except UnicodeDecodeError as error:
        # The first bytes of a gzip file (RFC 1952, section 2.3.1).
        packed = error.object[:2] == b"\x1f\x8b"
        line = 1 + error.object[: error.start].count(b"\n")
        damaged = f"damaged: line {line} is no UTF-8 text"
        faults = "compressed by gzip: unpack it" if packed else damaged
        raise Mistake(f"{path}: is {faults}") from error


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
            # A name with brackets or stars is a name, never a pattern.
            return pl.read_csv(path, schema_overrides=types, glob=False)
        if path.suffix == ".json":
            rows = pl.read_json(path, schema_overrides=types)
            # An empty list in JSON has no columns of its own.
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
    """Return the exceptions of Polars and others. Called only once something was raised, because
    importing Polars takes long."""
    from polars.exceptions import PanicException, PolarsError

    return (*others, PolarsError, PanicException)


def why(error: BaseException) -> str:
    """An error of the system in words."""
    return _reason(error)[1]


def _reason(error: BaseException) -> tuple[int, str]:
    """Return the error's number and words, unwrapped where Polars has wrapped it."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno, os.strerror(error.errno)
    # Polars passes Rust's text of the error, with the number at its end.
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number is not None:
        return int(number[1]), os.strerror(int(number[1]))
    return 0, _last_words(error)


def _last_words(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0]
