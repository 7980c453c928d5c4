"""The directory that sweeps keep their runs in.

    archive.json         what this is
    runs/KEY/            a run's result directory, Parquet; machine.json tells how long it took
    failed/KEY.json      why a run failed
    sweeps/NAME.parquet  a row a run of that sweep: its key, settings, status, summary

A run is written under `.drafts` and renamed when it is whole, so a killed sweep leaves nothing
that looks finished. Runs are found by key alone: sweeps that overlap share them.
"""

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

from switchbed import store, tables
from switchbed._native import Mistake, Plan, Results
from switchbed.runner import Outcome

FORMAT = "switchbed-sweeps"
SIGN = "archive.json"


class Archive:
    """Reads and writes such a directory."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Opens it, or begins one where there is nothing."""
        self.path = path
        if not (path / SIGN).exists():
            if not create:
                raise Mistake(f"--store {path}: is no store of sweeps; switchbed sweep makes one")
            self._begin()
        elif _read(path / SIGN).get("format") != FORMAT:
            raise Mistake(f"--store {path}: its {SIGN} is another program's; name another store")
        self._drafts = path / ".drafts" / f"{socket.gethostname()}-{os.getpid()}"

    def _begin(self) -> None:
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise Mistake(f"--store {self.path}: exists and is no store of sweeps; name another")
        try:
            for folder in ("runs", "failed", "sweeps"):
                (self.path / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Mistake(f"--store {self.path}: cannot be written: {error.strerror}") from error
        _replace(self.path / SIGN, {"format": FORMAT})

    def run(self, key: str) -> Path:
        """Where the run is, or will be."""
        return self.path / "runs" / key

    def has(self, key: str) -> bool:
        """Whether the run is there, whole."""
        return self.run(key).is_dir()

    def summary(self, key: str) -> dict[str, Any]:
        """A run's headline figures."""
        return _read(self.run(key) / "summary.json")

    def keep(self, key: str, plan: Plan, results: Results, outcome: Outcome) -> None:
        """Writes a run. If another process was quicker, its results are the same."""
        draft = self._drafts / key
        draft.mkdir(parents=True)
        # What a sweep calls the run is the sweep's, not the run's.
        alone = Outcome(0, {}, outcome.scheme, outcome.summary, outcome.wall_s)
        store.write_run(draft, plan, results, alone, "parquet")
        store.write_json(draft / "machine.json", store.machine() | {"wall_s": outcome.wall_s})
        try:
            draft.rename(self.run(key))
        except OSError:
            if not self.has(key):
                raise
            shutil.rmtree(draft)
        (self.path / "failed" / f"{key}.json").unlink(missing_ok=True)

    def fail(self, key: str, plan: Plan, message: str) -> None:
        """Records that a run failed, and why."""
        known = {"message": message, "scenario": json.loads(plan.scenario)}
        _replace(self.path / "failed" / f"{key}.json", known)

    def failure(self, key: str) -> str | None:
        """Why the run failed, if it did."""
        path = self.path / "failed" / f"{key}.json"
        return str(_read(path)["message"]) if path.exists() else None

    def write_sweep(self, name: str, rows: list[dict[str, Any]]) -> None:
        """A sweep's table, whole or not at all."""
        draft = self.path / "sweeps" / f".{name}.{os.getpid()}"
        tables.write_rows(rows, draft, "parquet")
        draft.with_name(f"{draft.name}.parquet").replace(self.path / "sweeps" / f"{name}.parquet")

    def sweep(self) -> None:
        """Sweeps up what processes of this machine that no longer live have begun."""
        shutil.rmtree(self._drafts, ignore_errors=True)
        host = socket.gethostname()
        for draft in (self.path / ".drafts").glob(f"{host}-*"):
            if not _lives(int(draft.name.removeprefix(f"{host}-"))):
                shutil.rmtree(draft, ignore_errors=True)
        try:
            (self.path / ".drafts").rmdir()
        except OSError:
            return  # others are at work, or there was nothing


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise Mistake(f"{path}: cannot be read: {error}") from error


def _replace(path: Path, value: dict[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    store.write_json(draft, value)
    draft.replace(path)
