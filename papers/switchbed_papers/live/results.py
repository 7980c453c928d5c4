"""Results of each figure's runs, and their table: each metric simulated and live, at the paper's
speed. The committed ones are in `results.json`, from which page and pictures of the documentation
are made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from switchbed._native import Mistake
from switchbed_papers.live.figures import Figure, Metric

Found = dict[str, Any]
"""A lab's summary of one combination."""
Drawn = dict[str, dict[str, list[Any]]]
"""Values to draw for each side, by legend entry. Either the 101 percentiles of all runs' times in
milliseconds, or for each combination the median, least and greatest goodput in Mbps."""
FILE = Path(__file__).with_name("results.json")
SIDES = ("simulated", "live")


@dataclass(frozen=True)
class Spread:
    """The median of several runs, and the least and the greatest."""

    median: float
    least: float
    greatest: float


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    metric: Metric
    unit: str
    simulated: Spread | None
    live: Spread | None


def lines(figure: Figure, runs: Sequence[Sequence[Found]]) -> list[Line]:
    """A figure's lines, of so many runs of all its combinations."""
    found = []
    for metric in figure.metrics:
        spreads = [_spread([value(figure, metric, run, side) for run in runs]) for side in SIDES]
        found.append(Line(metric, unit(metric), *spreads))
    return found


def unit(metric: Metric) -> str:
    """Return the unit of a metric as shown."""
    if metric.form != "value":
        return "×" if metric.form == "times" else "%"
    return {"us": "µs", "mbps": "Mbps"}.get(_kind(metric.metric), "")


def value(figure: Figure, metric: Metric, run: Sequence[Found], side: str) -> float | None:
    """A metric of one run; None where nothing was measured."""
    own = _field(figure, metric.metric, metric.of, run, side)
    if metric.base is None:
        return own
    base = _field(figure, metric.over or metric.metric, metric.base, run, side)
    if own is None or not base:
        return None
    match metric.form:
        case "times":
            return own / base
        case "below":
            return 100 * (1 - own / base)
        case _:
            return 100 * (own / base - 1)


def _field(
    figure: Figure, path: str, settings: dict[str, Any], run: Sequence[Found], side: str
) -> float | None:
    """A field at the paper's speed; classes' values together where none is named."""
    chosen = [each for each in run if settings.items() <= each["settings"].items()]
    if len(chosen) != 1:
        raise Mistake(f"{figure.name}: {settings}: {len(chosen)} combinations are so, not one")
    at = chosen[0][side]
    for key in path.split("."):
        if key not in at:
            raise Mistake(f"{figure.name}: metric: {path}: a lab's summary has no {key}")
        at = at[key]
    if isinstance(at, dict):
        at = sum(at.values())
    if at is None:
        return None
    return float(at) * {"us": figure.scale, "mbps": 1 / figure.scale}.get(_kind(path), 1.0)


def _kind(path: str) -> str:
    """Return the unit that a field's name ends with."""
    field = next(part for part in reversed(path.split(".")) if not part.isdigit())
    return field.rpartition("_")[2]


def _spread(values: Sequence[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    return Spread(median(known), min(known), max(known)) if known else None


def text(spread: Spread | None, unit: str) -> str:
    """`441 (438 to 446)`: three digits at least."""
    if spread is None:
        return "–"
    middle, *ends = (_number(v, unit) for v in (spread.median, spread.least, spread.greatest))
    return middle if ends == [middle, middle] else f"{middle} ({ends[0]} to {ends[1]})"


def _number(value: float, unit: str) -> str:
    digits = {"×": 2, "%": 1}.get(unit, 0 if abs(value) >= 100 else 1)
    return f"{value:,.{digits}f}".replace("-", "−")


@dataclass(frozen=True)
class Result:
    """Results of one figure."""

    runs: int
    rate: str
    """Rate of the links."""
    hosts: int
    congestion_control: str
    machines: list[dict[str, Any]]
    """Kernel, cores and load average of each run."""
    notes: list[str]
    """Remarks that the labs printed."""
    metrics: list[dict[str, list[float] | None]]
    """Of each metric the median, least and greatest, simulated and live."""
    schemes: list[str]
    drawn: Drawn | None
    """None where only the metrics were kept."""

    def lines(self, figure: Figure) -> list[Line]:
        """Return the lines of the table."""
        return [
            Line(metric, unit(metric), *(Spread(*of[s]) if of[s] else None for s in SIDES))  # type: ignore[misc]
            for metric, of in zip(figure.metrics, self.metrics, strict=True)
        ]


def metrics(lines: Sequence[Line]) -> list[dict[str, list[float] | None]]:
    """The table's numbers, to seven digits."""
    return [
        {side: _numbers(spread) for side, spread in zip(SIDES, (e.simulated, e.live), strict=True)}
        for e in lines
    ]


def _numbers(spread: Spread | None) -> list[float] | None:
    if spread is None:
        return None
    return [float(f"{v:.7g}") for v in (spread.median, spread.least, spread.greatest)]


def read(file: Path = FILE) -> dict[str, Result]:
    """The committed ones, by figure."""
    found = json.loads(file.read_text(encoding="utf-8"))
    return {name: Result(**values) for name, values in found.items()}


def write(results: Mapping[str, Result], file: Path = FILE) -> None:
    """Makes these the committed ones."""
    text = json.dumps({name: asdict(each) for name, each in results.items()}, ensure_ascii=False)
    file.write_text(text.replace('}, "', '},\n"') + "\n", encoding="utf-8")
