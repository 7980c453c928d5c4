"""What figures are drawn from: runs read from results and stores, gathered into lines."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed import comparing, files
from switchbed._native import Mistake
from switchbed.plots import style
from switchbed.plots.style import Style
from switchbed.result import Result
from switchbed.runner import Outcome
from switchbed.sweeps import archive


@dataclass(frozen=True)
class Line:
    """Runs that belong together: a line in a figure, or a panel of it."""

    label: str
    scheme: str
    look: Style
    runs: tuple[Result, ...]


def read(paths: Iterable[Path], only: Iterable[str] = ()) -> list[Result]:
    """The runs of result directories, of comparisons, and of sweeps: STORE/sweeps/NAME.parquet,
    or a store with just one. `only` chooses among them by `KEY=VALUE`."""
    found = [run for path in paths for run in _read(path)]
    for chosen in only:
        key, _, value = chosen.partition("=")
        values = {text(run.settings[key]) for run in found if key in run.settings}
        if value not in values:
            has = ", ".join(sorted(values)) or "none of that name"
            raise Mistake(f"--only {chosen}: no run has this setting; there are {has}")
        found = [run for run in found if text(run.settings.get(key)) == value]
    if not found:
        raise Mistake("there are no runs to draw")
    return found


def failures(path: Path) -> list[str]:
    """The runs of a sweep that have no results: settings, and why; of a comparison that was
    stopped, how many."""
    import polars as pl

    if (path / "summary.json").exists():
        summary = files.read_json(path / "summary.json")
        if summary.get("complete", True):
            return []
        missing = summary["planned"] - len(summary["runs"])
        return [f"{missing} of {summary['planned']} runs, which the comparison was stopped before"]
    tables = [path] if path.suffix == ".parquet" else archive.sweeps(path)
    return [
        f"{', '.join(name(key, value) for key, value in json.loads(settings).items())}: {message}"
        for table in tables
        for settings, message in archive.read_sweep(table)
        .filter(pl.col("status") != "ok")
        .select("settings", "message")
        .rows()
    ]


def text(value: Any) -> str:
    """A setting as it is typed."""
    return value if isinstance(value, str) else json.dumps(value)


def _read(path: Path) -> list[Result]:
    if path.suffix == ".parquet":
        return _sweep(path)
    if (path / "sweeps").is_dir():
        sweeps = archive.sweeps(path)
        if len(sweeps) != 1:
            names = ", ".join(sweep.name for sweep in sweeps) or "none"
            raise Mistake(f"{path}: has several sweeps or none; name one of its sweeps/: {names}")
        return _sweep(sweeps[0])
    if not (path / "manifest.json").exists():
        raise Mistake(f"{path}: is neither a result directory nor a store of sweeps")
    manifest = files.read_json(path / "manifest.json")
    if "runs" in manifest:
        if not isinstance(manifest["runs"], dict):
            raise Mistake(
                f"{path / 'manifest.json'}: is damaged: its runs are no object; run it again"
            )
        return [Result.load(path / folder) for folder in manifest["runs"]]
    return [Result.load(path)]


def _sweep(path: Path) -> list[Result]:
    import polars as pl

    runs = path.absolute().parent.parent / "runs"
    rows = archive.read_sweep(path).filter(pl.col("status") == "ok").select("run", "settings")
    return [Result.load(runs / run, dict(json.loads(settings))) for run, settings in rows.rows()]


def lines(results: Sequence[Result], *, over_load: bool = False) -> list[Line]:
    """Gathers the runs, in their order: those that differ in seed alone, or for a figure
    `over_load` in load too. A label tells a line from the others by what differs: scheme and
    settings."""
    others = [_others(run, over_load) for run in results]
    varied = {
        key
        for key in {key for settings in others for key in settings}
        if len({json.dumps(settings.get(key)) for settings in others}) > 1
    }
    schemes = {run.label for run in results}
    groups: dict[str, list[Result]] = {}
    for run, settings in zip(results, others, strict=True):
        told = [name(key, value) for key, value in settings.items() if key in varied]
        if len(schemes) > 1 or not told:
            told.insert(0, run.label)
        groups.setdefault(", ".join(told), []).append(run)
    looks = style.of((label, runs[0].outcome.scheme) for label, runs in groups.items())
    return [
        Line(label, runs[0].outcome.scheme, looks[label], tuple(runs))
        for label, runs in groups.items()
    ]


def outcomes(drawn: Sequence[Line]) -> list[Outcome]:
    """The lines as a comparison of schemes over load and seed."""
    return [
        Outcome(
            0,
            {"scheme": line.label, "load": load(run), "seed": run.seed},
            line.scheme,
            run.summary(),
            0.0,
        )
        for line in drawn
        for run in line.runs
    ]


def load(run: Result) -> float:
    """The load that the first source which has one offers."""
    for source in run.scenario["traffic"]:
        if source.get("load") is not None:
            return float(source["load"])
    raise Mistake(f"{run}: offers no load, so it has no place on an axis of loads")


def name(key: str, value: Any) -> str:
    """A setting in a legend: `threshold 20pkt`."""
    shown = value if isinstance(value, str) else json.dumps(value)
    return f"{key.rsplit('.', maxsplit=1)[-1]} {shown}"


def _others(run: Result, over_load: bool) -> dict[str, Any]:
    return {
        key: value
        for key, value in run.settings.items()
        if not comparing.is_scheme(key)
        and not comparing.is_seed(key)
        and not (over_load and key.split(".")[-1] == "load")
    }
