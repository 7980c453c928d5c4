"""A result directory. It is written beside its place under a hidden name and renamed when
it is whole: what a killed run leaves cannot be taken for a result, and the next run with the
same place removes it."""

import json
import os
import platform
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from switchbed import comparing, files, inputs, signals, tables
from switchbed._native import SCHEMA_VERSION, Mistake, Plan, Results, __build__, __version__
from switchbed.prototype import sources
from switchbed.runner import Outcome, Sweep

MANIFEST, SUMMARY, MACHINE = "manifest.json", "summary.json", "machine.json"
FORMAT = "switchbed-results"


class Directory:
    """Writes one result directory. As a context it leaves nothing unless committed."""

    def __init__(self, path: Path, *, force: bool, form: tables.Format, is_sweep: bool) -> None:
        """Refuses a path that cannot or must not be written, before anything runs."""
        # Refused before the runs, which may take hours.
        check(path, force=force)
        self._path = path
        self._force = force
        self._form = form
        self._is_sweep = is_sweep
        self._beside = files.Draft(path)
        remove_stale(path)

    def __enter__(self) -> Self:
        try:
            with self._writing():
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._beside.__enter__()
            return self
        except BaseException:  # Ctrl-C, this early
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self._beside.__exit__()

    @property
    def _draft(self) -> Path:
        return self._beside.folder

    def keep(self, plan: Plan, results: Results, outcome: Outcome) -> None:
        """Writes one run's files: here where it is the only one, else into its folder."""
        with self._writing():
            if self._is_sweep:
                # Whole or not at all: what is given up as it is written is not seen.
                place = self._draft / f".{folder(outcome)}"
                place.mkdir()
                write_run(place, plan, results, outcome, self._form)
                place.rename(self._draft / folder(outcome))
            else:
                write_run(self._draft, plan, results, outcome, self._form)

    def commit(self, sweep: Sweep, wall_s: float, jobs: int, threads: int) -> None:
        """Puts the directory in its place."""
        with self._writing(), signals.held():
            for unfinished in self._draft.glob(".*"):
                if unfinished.name != files.SIGN:
                    files.remove(unfinished)
            self._finish(sweep, wall_s, jobs, threads)
            # Again: something may have been put there while the runs took their time.
            check(self._path, force=self._force)
            (self._draft / files.SIGN).unlink()
            self._replace()

    def _finish(self, sweep: Sweep, wall_s: float, jobs: int, threads: int) -> None:
        """Writes what is of all runs together."""
        if self._is_sweep:
            runs = {folder(outcome): outcome.settings for outcome in sweep.outcomes}
            own = sorted([MANIFEST, SUMMARY, MACHINE, f"runs.{self._form}"])
            write_json(self._draft / MANIFEST, head() | {"files": own, "runs": runs})
            write_json(self._draft / SUMMARY, summary(sweep))
            tables.write_rows(flat(sweep.outcomes), self._draft / "runs", self._form)
        times = {folder(outcome): outcome.wall_s for outcome in sweep.outcomes}
        took = {
            "threads": jobs * threads,
            "threads_a_run": threads,
            "wall_s": wall_s,
            "runs_wall_s": times,
        }
        write_json(self._draft / MACHINE, machine() | took)

    def _replace(self) -> None:
        # Moved aside first, as a directory that is not empty cannot be renamed over.
        old = self._draft.with_suffix(".old")
        if self._path.exists():
            self._path.rename(old)
        try:
            self._draft.rename(self._path)
        except BaseException:
            if old.exists():
                old.rename(self._path)
            raise
        # The new result is in place; what cannot be removed stays under a name that `remove_stale`
        # knows.
        shutil.rmtree(old, ignore_errors=True)

    def _writing(self) -> AbstractContextManager[None]:
        return files.writing(f"--out {self._path}")


def write_run(
    place: Path, plan: Plan, results: Results, outcome: Outcome, form: tables.Format
) -> None:
    """One run's tables, manifest and summary, into a directory that is there."""
    present = {
        name: table
        for name, table in tables.of(results).items()
        if name in tables.ALWAYS or len(table)
    }
    for name, table in present.items():
        tables.write(table, place / name, form)
    scenario = json.loads(plan.scenario)
    manifest = {
        "seed": outcome.summary["seed"],
        "settings": outcome.settings,
        "scenario": scenario,
        "hosts": json.loads(plan.hosts),
        "tables": {name: tables.describe(table) for name, table in present.items()},
    }
    if read := inputs.digests(scenario):
        manifest["inputs"] = read
    if plan.python:
        manifest["sources"] = _keep_sources(place / "sources", scenario)
    for name, pcapng, _ in results.captures:
        traces = place / "captures"
        traces.mkdir(exist_ok=True)
        # A colon is not allowed in names on Windows.
        (traces / f"{name.replace(':', '-')}.pcapng").write_bytes(pcapng)
    written = (path for path in place.rglob("*") if path.is_file() and path.name != files.SIGN)
    own = [str(path.relative_to(place)) for path in written]
    listed = {"files": sorted([*own, MANIFEST, SUMMARY, MACHINE])}
    write_json(place / MANIFEST, head() | manifest | listed)
    write_json(place / SUMMARY, outcome.summary)


def _keep_sources(place: Path, scenario: dict[str, Any]) -> dict[str, str | None]:
    """Copies the source of schemes in Python. Returns each file's hash (`sources.digest`), and
    `None` for classes that no file holds."""
    named = [scheme["params"]["file"] for scheme in sources.schemes(scenario)]
    kept: dict[str, str | None] = {file: None for file in named if sources.holds(file)}
    for i, file in enumerate(sources.files(scenario)):
        folder = f"{i}-{file.stem}"
        for name, content in sources.of(file).items():
            copy = place / folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        kept[f"sources/{folder}/{file.name}"] = sources.digest(file)
    return kept


def remove_stale(path: Path) -> None:
    """Removes the drafts of runs that were killed before they could put them at `path`, and puts
    back what one of them was killed replacing."""
    # A run that was killed as it put its draft in place had taken the sign away.
    for draft in files.stale(path, _is_ours):
        if draft.suffix == ".old" and not path.exists():
            draft.rename(path)
        else:
            shutil.rmtree(draft, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    """Whether a directory holds what its manifest lists, as one of ours, and nothing else."""
    return _manifest(path) is not None and _entries(path) <= _written(path)


def summary(sweep: Sweep) -> dict[str, Any]:
    """A sweep's summary: its runs and the paired ratios; incomplete if it was stopped."""
    return {
        "complete": len(sweep.outcomes) == sweep.planned,
        "planned": sweep.planned,
        "runs": [{"settings": o.settings} | o.summary for o in sweep.outcomes],
        "identical": comparing.identical(sweep.outcomes),
        "ratios": [ratio.to_json() for ratio in comparing.ratios(sweep.outcomes)],
    }


def flat(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A row a run: settings, then the summary with its levels joined by underscores."""
    return [
        {"folder": folder(o)} | settings | dict(leaves("", o.summary))
        for o, settings in zip(outcomes, columns([o.settings for o in outcomes]), strict=True)
    ]


def columns(settings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Settings that one column can hold: where not all values of a key are numbers, text."""
    # `type`, not `isinstance`: a column of booleans and numbers would turn `true` into 1.
    keys = {key for key in settings[0] if all(type(s[key]) in (int, float) for s in settings)}
    return [
        {
            key: value if key in keys or isinstance(value, str) else json.dumps(value)
            for key, value in each.items()
        }
        for each in settings
    ]


def leaves(prefix: str, value: object) -> Iterator[tuple[str, Any]]:
    """A summary's values by their names, levels joined by underscores."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(f"{prefix}_{key}" if prefix else key, inner)
    else:
        yield prefix, json.dumps(value) if isinstance(value, list) else value


def check(path: Path, *, force: bool) -> None:
    """Refuses to replace what exists without `force`, and with it what is not ours."""
    files.utf8(path, "--out")
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir() or path.is_symlink():
        raise Mistake(f"--out {path}: exists and is not a directory; name another")
    if not force:
        raise Mistake(f"--out {path}: exists; name another, or give --force to replace it")
    if not any(path.iterdir()):
        return
    if _manifest(path) is None:
        raise Mistake(
            f"--out {path}: --force replaces only result directories of switchbed, "
            f"and this one has no {MANIFEST} of one; name another"
        )
    others = sorted(_entries(path) - _written(path))
    if others:
        named = ", ".join(others[:MOST_NAMED]) + (", …" if len(others) > MOST_NAMED else "")
        raise Mistake(
            f"--out {path}: --force would remove what its {MANIFEST} does not list: {named}; "
            "move it away, or name another directory"
        )


MOST_NAMED = 5
"""Most files that a message names as standing in the way."""


def _manifest(path: Path) -> dict[str, Any] | None:
    """Return the manifest of a result directory, or `None` if Switchbed did not write it."""
    try:
        manifest = files.read_json(path / MANIFEST)
    except Mistake:
        return None
    return manifest if manifest.get("format") == FORMAT else None


def _written(path: Path) -> set[str]:
    """The files that a run, or a comparison and its runs, wrote there, and their directories."""
    manifest = _manifest(path) or {}
    listed, runs = manifest.get("files"), manifest.get("runs")
    own = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    for run in runs if isinstance(runs, dict) else ():
        # A damaged manifest may name a folder elsewhere, whose files would then count as ours.
        if (path / run).parent == path:
            own |= {f"{run}/{name}" for name in _written(path / run)}
    return own | {str(parent) for name in own for parent in Path(name).parents}


def _entries(path: Path) -> set[str]:
    """All that is in a directory, at any depth; a link is what it is, not where it leads."""
    return {
        str((Path(place) / name).relative_to(path))
        for place, folders, names in os.walk(path)
        for name in (*folders, *names)
    }


def folder(outcome: Outcome) -> str:
    """A run's folder in a sweep: its place, then its settings as far as a path allows."""
    words = (f"{key}={value}" for key, value in outcome.settings.items())
    # The index in front keeps names apart where the rest is cut at 120 characters.
    return re.sub(r"[^\w=.,+-]+", "_", f"{outcome.index:04}-" + ",".join(words))[:120]


def write_json(path: Path, value: object) -> None:
    """Readable, and the same bytes for the same value."""
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def head() -> dict[str, Any]:
    """Return the entries that every manifest begins with."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "build": __build__,
    }


def machine() -> dict[str, Any]:
    """Where it ran: not the same for two equal runs."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _processor() -> str:
    """The processor's name, which `platform` does not tell on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
