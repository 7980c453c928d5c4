"""The directory that sweeps keep their runs in.

    archive.json         what this is
    runs/KEY/            a run's result directory, Parquet; machine.json tells how long it took
    failed/KEY.json      why a run failed
    sweeps/NAME.parquet  a row a run of that sweep: its key, settings, status, summary

A run is written under `.drafts` and renamed when it is whole, so a killed sweep leaves nothing
that looks finished, and many processes, on many machines, may write at once: whoever comes second
with a run drops it. Runs are found by key alone: sweeps that overlap share them.
"""

import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from switchbed import store, tables
from switchbed._native import Mistake, Plan, Results
from switchbed.runner import Outcome

FORMAT = "switchbed-sweeps"
SIGN = "archive.json"
FOLDERS = ("runs", "failed", "sweeps")
STALE_S = 24 * 3600
"""A draft is written in seconds: another machine's that is older is a dead process's."""


class Archive:
    """Reads and writes such a directory."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Opens it, or begins one where there is nothing."""
        self.path = path
        self._me = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        """No other process's or archive's, wherever the directory is shared."""
        if not (path / SIGN).exists():
            if not create:
                raise Mistake(f"--store {path}: is no store of sweeps; switchbed sweep makes one")
            self._begin()
        elif _read(path / SIGN).get("format") != FORMAT:
            raise Mistake(f"--store {path}: its {SIGN} is another program's; name another store")
        self._drafts = path / ".drafts" / self._me

    def _begin(self) -> None:
        """Another process may be beginning it too."""
        if self.path.exists() and not (self.path.is_dir() and _is_begun(self.path)):
            raise Mistake(f"--store {self.path}: exists and is no store of sweeps; name another")
        try:
            for folder in FOLDERS:
                (self.path / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Mistake(f"--store {self.path}: cannot be written: {error.strerror}") from error
        self._replace(self.path / SIGN, {"format": FORMAT})

    def run(self, key: str) -> Path:
        """Where the run is, or will be."""
        return self.path / "runs" / key

    def has(self, key: str) -> bool:
        """Whether the run is there, whole."""
        return self.run(key).is_dir()

    def keys(self) -> tuple[set[str], set[str]]:
        """Of all runs that are there, and of all that failed."""
        runs, failed = (self.path / "runs").iterdir(), (self.path / "failed").glob("*.json")
        return {path.name for path in runs}, {path.stem for path in failed}

    def summary(self, key: str) -> dict[str, Any]:
        """A run's headline figures."""
        return _read(self.run(key) / "summary.json")

    def keep(self, key: str, plan: Plan, results: Results, outcome: Outcome) -> None:
        """Writes a run. If another process was quicker, its results are the same."""
        draft = self._drafts / key
        draft.mkdir(parents=True)
        write(draft, plan, results, outcome)
        self._publish(key, draft)

    def keep_files(self, key: str, files: Mapping[str, bytes]) -> None:
        """The same of a run that another machine has written: its files by their paths."""
        draft = self._drafts / key
        for name, content in files.items():
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
        return str(_read(path)["message"]) if path.exists() else None

    def forget_failure(self, key: str) -> None:
        """Before the run is tried again."""
        (self.path / "failed" / f"{key}.json").unlink(missing_ok=True)

    def write_sweep(self, name: str, rows: list[dict[str, Any]]) -> None:
        """A sweep's table, whole or not at all."""
        draft = self.path / "sweeps" / f".{name}.{self._me}"
        tables.write_rows(rows, draft, "parquet")
        draft.with_name(f"{draft.name}.parquet").replace(self.path / "sweeps" / f"{name}.parquet")

    def end(self) -> None:
        """Leaves nothing that is not whole."""
        shutil.rmtree(self._drafts, ignore_errors=True)

    def sweep(self) -> None:
        """Sweeps up what processes that no longer live have begun."""
        self.end()
        for draft in (self.path / ".drafts").glob("*"):
            if _is_dead(draft):
                shutil.rmtree(draft, ignore_errors=True)

    def _replace(self, path: Path, value: dict[str, Any]) -> None:
        draft = path.with_name(f".{path.name}.{self._me}")
        store.write_json(draft, value)
        draft.replace(path)


def write(folder: Path, plan: Plan, results: Results, outcome: Outcome) -> None:
    """A run's files, into a directory that is there."""
    # What a sweep calls the run is the sweep's, not the run's.
    alone = Outcome(0, {}, outcome.scheme, outcome.summary, outcome.wall_s)
    store.write_run(folder, plan, results, alone, "parquet")
    store.write_json(folder / "machine.json", store.machine() | {"wall_s": outcome.wall_s})


def _is_begun(path: Path) -> bool:
    """Whether there is nothing but what a store begins with, or by now another process's store."""
    begins = all(
        (child.name in FOLDERS or child.name.startswith(f".{SIGN}.")) for child in path.iterdir()
    )
    return begins or (path / SIGN).exists()


def _is_dead(draft: Path) -> bool:
    """Whether the process that began it is gone, as far as can be told from here."""
    host, pid, _ = ["", "", *draft.name.rsplit("-", 2)][-3:]
    if host == socket.gethostname() and pid.isdigit():
        return not store.lives(int(pid))
    try:
        return time.time() - draft.stat().st_mtime > STALE_S
    except FileNotFoundError:
        return False


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise Mistake(f"{path}: cannot be read: {error}") from error
