"""`figures.toml`: the figures that labs run, and what is measured of each."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from switchbed import library
from switchbed._native import Mistake

FILE = Path(__file__).with_name("figures.toml")
FORMS = ("value", "times", "below", "above")
DRAWN = ("rtt", "fct", "goodput")
T = TypeVar("T")


@dataclass(frozen=True)
class Metric:
    """A field of a lab's summary, at one combination or against another."""

    name: str
    paper: str
    """Result in the paper, with its figures."""
    metric: str
    """A field of the summary: `rtt.mean_us`."""
    of: dict[str, Any]
    """Settings of the combination in `[compare]`."""
    base: dict[str, Any] | None = None
    over: str | None = None
    """The base's field, where it is another."""
    form: str = "value"
    """`value`; `times`, of over base; `below` and `above`, in percent of base."""


@dataclass(frozen=True)
class Figure:
    """A scenario as a lab."""

    name: str
    title: str
    scenario: Path
    scale: float
    draw: str
    """`rtt` and `fct` (of small flows): their distributions; `goodput`: of each class."""
    lines: tuple[str, ...]
    """Labels of the combinations in the picture."""
    metrics: tuple[Metric, ...]
    sets: tuple[str, ...] = ()
    iperf3: bool = False
    notes: tuple[str, ...] = ()
    """How it departs from the paper's."""
    comments: tuple[str, ...] = ()
    """Remarks on the outcome, where live and simulated differ, or neither is the paper's."""


def load(file: Path = FILE) -> list[Figure]:
    """Read the figures of the file."""
    try:
        read = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Mistake(f"{file}: cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{file}: {error}") from error
    return [_figure(file, number, values) for number, values in enumerate(read.get("figure", []))]


def chosen(figures: list[Figure], only: tuple[str, ...]) -> list[Figure]:
    """Return the named figures, or all of them."""
    names = [figure.name for figure in figures]
    for name in only:
        if name not in names:
            raise Mistake(f"--only {name}: no figure; there are {', '.join(names)}")
    return [figure for figure in figures if not only or figure.name in only]


def _figure(file: Path, number: int, values: dict[str, Any]) -> Figure:
    where = f"{file}: figure {values.get('name', number)}"
    metrics = tuple(_metric(where, each) for each in values.get("metric", []))
    rest = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    rest |= {"metrics": metrics, "scenario": _scenario(file.parent, str(values.get("scenario")))}
    rest.pop("metric", None)
    figure = _made(Figure, where, rest)
    if figure.draw not in DRAWN:
        raise Mistake(f"{where}: draw: {figure.draw!r} is none of {', '.join(DRAWN)}")
    return figure


def _scenario(folder: Path, name: str) -> Path:
    """`@NAME` comes with the program; others are beside the file."""
    return library.shipped(name) if name.startswith("@") else folder / name


def _metric(where: str, values: dict[str, Any]) -> Metric:
    where = f"{where}: metric {values.get('name', '')!r}"
    metric = _made(Metric, where, values)
    if metric.form not in FORMS:
        raise Mistake(f"{where}: form: {metric.form!r} is none of {', '.join(FORMS)}")
    if (metric.base is None) != (metric.form == "value"):
        raise Mistake(f"{where}: base: needed by every form but value, and only by these")
    return metric


def _made(what: "type[T]", where: str, values: dict[str, Any]) -> "T":
    try:
        return what(**values)
    except TypeError as error:
        # The error names the key that is missing or unknown.
        raise Mistake(f"{where}: {str(error).partition(') ')[2]}") from error
