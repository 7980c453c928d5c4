"""Runs for figures, read from results and stores, and gathered into lines."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from switchbed import alone, comparing, files, store
from switchbed._native import Mistake
from switchbed.comparing import text
from switchbed.result import Result
from switchbed.runner import Outcome
from switchbed.series.looks import Style, of, plain_looks


@dataclass(frozen=True)
class Line:
    """Runs that belong together: a line in a figure, or a panel of it."""

    label: str
    scheme: str
    look: Style
    runs: tuple[Result, ...]
    over: str | None = None
    """The setting on its axis, in which its runs may differ."""
    panel: tuple[str, Any] | None = None
    """The setting that chooses its panel, and its value, a list as a tuple."""

    def place(self, run: Result) -> Any:
        """Where a run of it stands on the axis, a list as a tuple; `None` where there is none."""
        return None if self.over is None else _hashable(setting(run, self.over))

    @property
    def by_place(self) -> list[tuple[Any, list[Result]]]:
        """The runs at each place of the axis: seeds of one setting."""
        found: dict[Any, list[Result]] = {}
        for run in self.runs:
            found.setdefault(self.place(run), []).append(run)
        return list(found.items())


def read(
    paths: Iterable[Path], only: Iterable[str] = (), over: alone.Over = "ideal"
) -> list[Result]:
    """The runs of result directories, of comparisons, and of sweeps: STORE/sweeps/NAME.parquet,
    or a store with just one. `only` chooses among them by `KEY=VALUE`;
    their slowdowns are `over` this."""
    found = [run for path in paths for run in _read(path)]
    for chosen in only:
        key, _, value = chosen.partition("=")
        # Compared as text: the option's value has no type.
        values = {text(run.settings[key]) for run in found if key in run.settings}
        if value not in values:
            keys = ", ".join(dict.fromkeys(k for run in found for k in run.settings)) or "none"
            has = f"{key} is {', '.join(sorted(values))}" if values else f"there are {keys}"
            raise Mistake(f"--only {chosen}: no run has this setting; {has}")
        found = [run for run in found if text(run.settings.get(key)) == value]
    if not found:
        raise Mistake("there are no runs to draw")
    return [alone.over(run, over) for run in found]


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
    tables = [path] if path.suffix == ".parquet" else store.sweeps(path)
    return [
        f"{', '.join(name(key, value) for key, value in json.loads(settings).items())}: {message}"
        for table in tables
        for settings, message in store.read_sweep(table)
        .filter(pl.col("status") != "ok")
        .select("settings", "message")
        .rows()
    ]


def _read(path: Path) -> list[Result]:
    files.utf8(path)
    if path.suffix == ".parquet":
        return _sweep(path)
    if (path / "sweeps").is_dir():
        sweeps = store.sweeps(path)
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
    # A failed run has no folder in the store; `failures` lists it.
    rows = store.read_sweep(path).filter(pl.col("status") == "ok").select("run", "settings")
    return [Result.load(runs / run, dict(json.loads(settings))) for run, settings in rows.rows()]


SCHEME = "scheme"
"""Name of the scheme where settings are listed."""


def setting(run: Result, key: str) -> Any:
    """A setting of a run; the scheme by its label."""
    return run.label if key == SCHEME else run.settings.get(key)


def load_key(results: Sequence[Result]) -> str | None:
    """The setting that is a load, where loads are compared."""
    # Loads of several sources may be swept; the first by name is the axis in every figure.
    keys = {key for run in results for key in run.settings if key.split(".")[-1] == "load"}
    return next(iter(sorted(keys)), None)


def have_load(results: Sequence[Result]) -> bool:
    """Whether a source of each run offers a load."""
    return all(any(source.get("load") is not None for source in _sources(run)) for run in results)


def _sources(run: Result) -> list[dict[str, Any]]:
    return list(run.scenario["traffic"])


def swept(results: Sequence[Result]) -> list[str]:
    """The settings that differ, but for seeds; the scheme's is `scheme`."""
    found: dict[str, set[str]] = {}
    for run in results:
        for key, value in ({SCHEME: run.label} | others(run)).items():
            # Values may be tables or lists, which no set holds; JSON makes them text.
            found.setdefault(key, set()).add(json.dumps(value, sort_keys=True))
    return [key for key, values in found.items() if len(values) > 1]


def others(run: Result) -> dict[str, Any]:
    """A run's settings but for scheme and seed."""
    return {
        key: value
        for key, value in run.settings.items()
        if not comparing.is_scheme(key) and not comparing.is_seed(key)
    }


OF_FLOWS = ("transport", "hosts", "traffic", "class")
"""Columns of the table `flows` by which figures of single flows tell lines or panels apart."""


def divided(results: Sequence[Result], *keys: str | None) -> list[Result]:
    """The runs, each divided by those of the keys that are columns of its flows."""
    found = list(results)
    for key in keys:
        if key in OF_FLOWS:
            found = [part for run in found for part in _divided(run, key)]
    return found


def _divided(run: Result, key: str) -> list[Result]:
    flows = run.flows
    if key not in flows.columns:
        return [run]
    return [
        run.with_flows(
            replace(run.outcome, settings=run.outcome.settings | {key: value}),
            flows.filter(flows[key] == value),
            run.over,
        )
        for value in flows[key].drop_nulls().unique().sort()
    ]


def check(results: Sequence[Result], **asked: str | None) -> None:
    """Refuses keys that were not swept, each by the option that gave it."""
    for option, key in asked.items():
        if key is not None and key not in (varied := swept(results)):
            has = ", ".join(varied) or "none"
            raise Mistake(f"--{option} {key}: was not swept in these runs; there is {has}")


def lines(
    results: Sequence[Result],
    *,
    over: str | None = None,
    colour: str | None = None,
    panel: str | None = None,
) -> list[Line]:
    """Gathers the runs, in their order: those that differ in seed alone, or in the setting `over`
    too. A label tells a line from the others of its panel by what differs: scheme and settings, the
    one that is to be seen in `colour` first."""
    varied = [key for key in swept(results) if key not in (over, panel)]
    # The coloured setting comes first in a label, and once: `dict.fromkeys` drops its second place.
    keys = [colour, *varied] if colour else varied
    groups: dict[tuple[str, str], list[Result]] = {}
    for run in results:
        told = [named(key, setting(run, key)) for key in dict.fromkeys(keys) if key != over]
        where = json.dumps(setting(run, panel)) if panel else ""
        groups.setdefault((where, ", ".join(told) or run.label), []).append(run)
    # Looks are by label over all panels, so a line looks the same in each.
    every = [(label, found[0].outcome.scheme) for (_, label), found in groups.items()]
    # A scheme has its own colour in every figure; values of another setting take colours in turn.
    # Lines of one scheme would all have its colour.
    one = colour is None and len(dict(every)) > 1 == len({scheme for _, scheme in every})
    looks = of(every) if colour in (None, SCHEME) and not one else plain_looks(every)
    return [
        Line(
            label,
            found[0].outcome.scheme,
            looks[label],
            tuple(found),
            over,
            (panel, _hashable(setting(found[0], panel))) if panel else None,
        )
        for (_, label), found in groups.items()
    ]


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def named(key: str, value: Any) -> str:
    """A setting in a legend, a scheme by its label alone."""
    return str(value) if key == SCHEME else name(key, value)


def outcomes(drawn: Sequence[Line]) -> list[Outcome]:
    """The lines as a comparison of schemes over load and seed."""
    return [
        Outcome(
            0,
            {"scheme": line.label, "load": offered(line, run), "seed": run.seed},
            line.scheme,
            run.summary(),
            0.0,
        )
        for line in drawn
        for run in line.runs
    ]


def offered(line: Line, run: Result) -> float:
    """The load that the run of the line is compared at: the one that was swept, or else the
    first."""
    swept_to = line.place(run)
    return float(swept_to) if isinstance(swept_to, int | float) else load(run)


def load(run: Result) -> float:
    """The load that the first source which has one offers."""
    for source in _sources(run):
        if source.get("load") is not None:
            return float(source["load"])
    why = "offers no load, so it has no place on an axis of loads; --x KEY names another"
    raise Mistake(f"{run}: {why}")


def _short(key: str) -> str:
    """The end of a key that says which it is: `routing` of routing.kind, as every section has a
    kind."""
    *before, last = (part for part in key.split(".") if not part.isdigit())
    return before[-1] if before and last in ("kind", "name") else last


def words(key: str) -> str:
    """A setting in words: `initial window` for transport.initial_window."""
    return _short(key).replace("_", " ")


def name(key: str, value: Any) -> str:
    """A setting in a legend: `threshold 20pkt`."""
    shown = value if isinstance(value, str) else json.dumps(value)
    return f"{_short(key)} {shown}"
