"""Where runs are kept: of sweeps, of `tune`, of the papers'. One directory, and one key a run.

    store.json           what this is (archive.json in stores of 0.2 and before)
    runs/KEY/            a run's result directory, Parquet; machine.json tells how long it took
    failed/KEY.json      why a run failed
    measured/KEY.json    what was measured of a run that is not kept itself
    sweeps/NAME.parquet  a row a run of that sweep: its key, settings, status, summary

What is written is written below `.drafts` and renamed when it is whole, so a killed sweep leaves
nothing that looks finished, and many processes, on many machines, may write at once: whoever comes
second with a run drops it. Runs are found by key alone: sweeps that overlap share them.
"""

import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import directory, files, tables
from switchbed._native import Mistake, Plan, Results
from switchbed.result import read_summary
from switchbed.runner import Outcome

if TYPE_CHECKING:
    import polars as pl

FORMAT = "switchbed-sweeps"
SIGN = "store.json"
SIGN_BEFORE = "archive.json"
"""Marker file of stores written by version 0.2 and before, which are still read."""
FOLDERS = ("runs", "failed", "sweeps", ".drafts")
MEASURED = "measured"
STALE_S = 24 * 3600
"""A draft is written in seconds: another machine's that is older is a dead process's."""


class Store:
    """Reads and writes such a directory."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Opens it, or begins one where there is nothing."""
        files.utf8(path, "--store")
        self.path = path
        # A number of a process is another's on another machine, and on this one a dead one's by
        # now.
        self._me = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        """No other process's or store's, wherever the directory is shared."""
        self._drafts = path / ".drafts" / self._me
        self._begun = False
        sign = _sign(path)
        if sign is None:
            if not create:
                raise Mistake(f"--store {path}: is no store of sweeps; switchbed sweep makes one")
            self._begin()
        elif files.read_json(sign).get("format") != FORMAT:
            raise Mistake(
                f"--store {path}: its {sign.name} is another program's; name another store, or if "
                f"it is one, write {json.dumps({'format': FORMAT})} into that file"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.path,)

    def _begin(self) -> None:
        """Another process may be beginning it too."""
        # Never a folder that holds anything else: a store is swept up.
        if self.path.exists() and not (self.path.is_dir() and _is_begun(self.path)):
            raise Mistake(f"--store {self.path}: exists and is no store of sweeps; name another")
        with self._writing():
            for folder in FOLDERS:
                (self.path / folder).mkdir(parents=True, exist_ok=True)
        try:
            self._replace(self.path / SIGN, {"format": FORMAT})
        finally:
            self.end()
        self._begun = True

    def abandon(self) -> None:
        """Removes a store that was begun here, if it holds nothing."""
        if not self._begun:
            return
        # A folder that another process has filled meanwhile is not removed.
        with suppress(OSError):
            for folder in FOLDERS:
                (self.path / folder).rmdir()
            (self.path / SIGN).unlink()
            self.path.rmdir()

    def run(self, key: str) -> Path:
        """Where the run is, or will be."""
        return self.path / "runs" / key

    def has(self, key: str) -> bool:
        """Whether the run is there, whole."""
        return self.run(key).is_dir()

    def keys(self) -> tuple[set[str], set[str]]:
        """Return the keys of all runs that are there, and of all that failed."""
        runs, failed = (self.path / "runs").glob("*"), (self.path / "failed").glob("*.json")
        return {path.name for path in runs}, {path.stem for path in failed}

    def summary(self, key: str) -> dict[str, Any]:
        """Return a run's headline figures."""
        return read_summary(self.run(key))

    def keep(self, key: str, plan: Plan, results: Results, outcome: Outcome) -> None:
        """Writes a run. If another process was quicker, its results are the same."""
        draft = self._drafts / key
        with self._writing():
            draft.mkdir(parents=True)
            write(draft, plan, results, outcome)
            self._publish(key, draft)

    def keep_files(self, key: str, contents: Mapping[str, bytes]) -> None:
        """The same of a run that another machine has written: its files by their paths."""
        draft = self._drafts / key
        with self._writing():
            for name, content in contents.items():
                path = draft / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            self._publish(key, draft)

    def _publish(self, key: str, draft: Path) -> None:
        try:
            draft.rename(self.run(key))
        except OSError:
            if not self.has(key):
                raise
            shutil.rmtree(draft)
        self.forget_failure(key)

    def fail(self, key: str, plan: Plan, message: str) -> None:
        """Records that a run failed, and why."""
        known = {"message": message, "scenario": json.loads(plan.scenario)}
        self._replace(self.path / "failed" / f"{key}.json", known)

    def failure(self, key: str) -> str | None:
        """Why the run failed, if it did."""
        path = self.path / "failed" / f"{key}.json"
        if not path.exists():
            return None
        try:
            return str(files.read_json(path)["message"])
        except (Mistake, KeyError) as error:
            why = error if isinstance(error, Mistake) else f"{path}: is damaged: it has no message"
            raise Mistake(f"{why}; remove it and sweep again") from error

    def forget_failure(self, key: str) -> None:
        """Before the run is tried again."""
        (self.path / "failed" / f"{key}.json").unlink(missing_ok=True)

    def measured(self, key: str) -> dict[str, Any] | None:
        """Return the measurements of a run whose tables are not kept."""
        path = self.path / MEASURED / f"{key}.json"
        if not path.exists():
            return None
        try:
            return files.read_json(path)
        except Mistake as error:
            raise Mistake(f"{error}; remove it and measure again") from error

    def keep_measured(self, key: str, values: dict[str, Any]) -> None:
        """Keeps it, whole or not at all."""
        with self._writing():
            (self.path / MEASURED).mkdir(exist_ok=True)
        self._replace(self.path / MEASURED / f"{key}.json", values)

    def write_sweep(self, name: str, rows: list[dict[str, Any]]) -> None:
        """A sweep's table, whole or not at all."""
        with self._writing():
            self._drafts.mkdir(parents=True, exist_ok=True)
            tables.write_rows(rows, self._drafts / name, "parquet")
            draft = self._drafts / f"{name}.parquet"
            draft.replace(self.path / "sweeps" / draft.name)

    def end(self) -> None:
        """Leaves nothing that is not whole."""
        files.remove(self._drafts)

    def sweep(self) -> None:
        """Sweeps up what processes that no longer live have begun."""
        self.end()
        for draft in (self.path / ".drafts").glob("*"):
            if _is_dead(draft):
                shutil.rmtree(draft, ignore_errors=True)

    def _replace(self, path: Path, value: dict[str, Any]) -> None:
        with self._writing():
            self._drafts.mkdir(parents=True, exist_ok=True)
            draft = self._drafts / path.name
            directory.write_json(draft, value)
            draft.replace(path)

    def _writing(self) -> AbstractContextManager[None]:
        return files.writing(f"--store {self.path}")


def sweeps(path: Path) -> list[Path]:
    """The tables of a store's sweeps. What is hidden is none: a killed sweep's draft, once."""
    return sorted(p for p in path.glob("sweeps/*.parquet") if not p.name.startswith("."))


def read_sweep(path: Path) -> "pl.DataFrame":
    """Return a sweep's table as a data frame."""
    import polars as pl

    try:
        frame = files.read_table(path)
        if any(frame.schema.get(name) != pl.String for name in COLUMNS):
            raise Mistake(f"{path}: is no table of a sweep, which has {', '.join(COLUMNS)}")
    except Mistake as error:
        again = "; remove it, and its sweep writes it again" if path.exists() else ""
        raise Mistake(f"{error}{again}") from error
    return frame


COLUMNS = ("run", "settings", "status", "message")
"""Columns of every sweep's table that hold text."""


def write(folder: Path, plan: Plan, results: Results, outcome: Outcome) -> None:
    """A run's files, into a directory that is there."""
    # A sweep's name for the run is the sweep's, not the run's.
    alone = Outcome(0, {}, outcome.scheme, outcome.summary, outcome.wall_s)
    directory.write_run(folder, plan, results, alone, "parquet")
    took = {"wall_s": outcome.wall_s}
    if outcome.processor_s is not None:
        took["processor_s"] = outcome.processor_s
    directory.write_json(folder / directory.MACHINE, directory.machine() | took)


def is_store(path: Path) -> bool:
    """Whether a directory says that it is one."""
    return _sign(path) is not None


def _sign(path: Path) -> Path | None:
    """The file that says so."""
    return next((path / name for name in (SIGN, SIGN_BEFORE) if (path / name).exists()), None)


def _is_begun(path: Path) -> bool:
    """Whether there is nothing but what a store begins with, or by now another process's store."""
    begins = all(
        (child.name in FOLDERS or child.name.startswith(f".{SIGN}.")) for child in path.iterdir()
    )
    return begins or is_store(path)


def _is_dead(draft: Path) -> bool:
    """Whether the process that began it is gone, as far as this machine can see."""
    # Host names may have dashes, so the parts are counted from the end.
    host, pid, _ = ["", "", *draft.name.rsplit("-", 2)][-3:]
    # Of another machine only the age of a draft can be seen.
    if host == socket.gethostname() and pid.isdigit():
        return not files.lives(int(pid))
    try:
        return time.time() - draft.stat().st_mtime > STALE_S
    except FileNotFoundError:
        return False
