"""Reading and writing files. Whatever goes wrong is one line that names the file."""

import errno
import json
import os
import re
import shutil
import stat
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from switchbed import signals
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
        for dead in stale(place):
            remove(dead)
        with Draft(place) as scratch:
            draft = scratch.folder / place.name
            yield draft
            if forced() or _is_ours(place):
                draft.replace(place)
            else:
                _put(draft, place)


SIGN = ".switchbed-draft"
"""File that marks a draft's folder as one of ours."""
LONGEST_NAME = 200
"""Bytes of a place's name in its draft's name; file systems allow 255 in all."""


class Draft:
    """A hidden folder beside a place, where what will be at the place is written; a rename within
    a file system is one step. The folder is gone when the context ends, unless it was renamed. What
    a killed process leaves is removed by the next write to the place (`stale`)."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._folder: Path | None = None
        self._end: weakref.finalize[..., Draft] | None = None

    @property
    def folder(self) -> Path:
        """The folder, while the context lasts."""
        assert self._folder is not None
        return self._folder

    def __enter__(self) -> Self:
        try:
            with signals.held():
                while not self._begun():
                    pass
            return self
        except BaseException:  # Ctrl-C, this early
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._give_up()
        except signals.Stopped:  # before it was held; the next does not come this soon
            self._give_up()
            raise

    def _give_up(self) -> None:
        with signals.held():
            if self._end is not None:
                self._end()

    def _begun(self) -> bool:
        """Whether no other process took the folder for a dead one's while it was empty."""
        self._folder = self._made()
        # Locked before it is signed: a signed folder without a lock is a dead process's.
        lock = _locked(self._folder, wait=True)
        # Also where a signal comes between the context's last line and its end.
        self._end = weakref.finalize(self, _give_up, self._folder, lock)
        self._end.atexit = False  # a forked process's end is not the draft's
        try:
            (self._folder / SIGN).touch()
        except FileNotFoundError:
            self._end()
            return False
        return True

    def _made(self) -> Path:
        begins = f"{_hidden(self._place)}.{os.getpid()}"
        nth = 0
        while True:
            folder = self._place.parent / f"{begins}{f'.{nth}' if nth else ''}.partial"
            try:
                folder.mkdir()
            except FileExistsError:
                nth += 1  # another thread's, or of a dead process with this number
            else:
                return folder


def _give_up(folder: Path, lock: int | None) -> None:
    remove(folder)
    if lock is not None:
        os.close(lock)


def stale(place: Path, is_ours: Callable[[Path], bool] = lambda _: False) -> Iterator[Path]:
    """Drafts of a place whose processes have died, each locked until the next is asked for. A
    folder counts if it is signed, or if `is_ours` says so; others are users' with such names."""
    name = re.compile(re.escape(_hidden(place)) + r"\.(\d+)(?:\.\d+)?\.(partial|old)")
    try:
        found = [(draft, name.fullmatch(draft.name)) for draft in place.parent.iterdir()]
    except OSError:
        return  # no such directory yet, or none that can be read: said when it is written to
    for draft, named in found:
        if named is None:
            continue
        # A process that lives may have made its draft and not have locked it yet. One of our own
        # number is of somebody dead: in containers all have the same.
        if int(named[1]) != os.getpid() and lives(int(named[1])):
            continue
        lock = _locked(draft)
        if lock is not None:
            try:
                if (named[2] == "partial" and _is_signed(draft)) or is_ours(draft):
                    yield draft
            finally:
                os.close(lock)


def _is_signed(draft: Path) -> bool:
    """Whether it is our user's and signed, or empty: a process can die before it signs."""
    try:
        return _owned(draft) and ((draft / SIGN).is_file() or not any(draft.iterdir()))
    except OSError:
        return False


def _owned(path: Path) -> bool:
    # In a folder like /tmp anybody could lay out drafts for root to remove.
    return not hasattr(os, "geteuid") or path.lstat().st_uid == os.geteuid()


def _hidden(place: Path) -> str:
    """How names of a place's drafts begin."""
    return "." + os.fsencode(place.name)[:LONGEST_NAME].decode(errors="ignore")


def remove(folder: Path) -> None:
    """Removes a folder, be it that a thread which was given up still writes there."""
    # A writer may add a file between the listing and the removal.
    for _ in range(3):
        with suppress(OSError):
            # The sign last, by which the next write knows what is left if this process is killed.
            for entry in [each for each in folder.iterdir() if each.name != SIGN]:
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink()
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


def lives(pid: int) -> bool:
    """Whether there is such a process here."""
    if sys.platform == "win32":  # which does not tell, and takes signal 0 for Ctrl-C
        return True
    try:
        # Signal 0 is delivered to nobody and only asks.
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def _locked(folder: Path, *, wait: bool = False) -> int | None:
    """A lock on a directory that lasts as long as the file descriptor is open; `None` if
    another process has it and `wait` is false, or there is none to be had."""
    try:
        import fcntl
    except ImportError:  # Windows: a killed run's draft stays until somebody removes it
        return None
    try:
        found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(found, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(found)
        return None
    return found


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
