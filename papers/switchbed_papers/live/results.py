"""Results of each figure's runs. The committed ones are in `results.json`, from which page and
pictures of the documentation are made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from switchbed_papers.live.figures import Figure
from switchbed_papers.live.picture import Drawn
from switchbed_papers.live.table import SIDES, Line, Spread, unit

FILE = Path(__file__).with_name("results.json")


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
