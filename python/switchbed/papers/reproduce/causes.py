"""Why a claim does not hold: what the scripts `papers/*/causes.py` share.

Each function of such a script varies what a paper leaves open, draws `causes/NAME.png` and gives
the measured effects as a table, which becomes `causes/NAME.md`; the paper's README says what
follows. `python -m switchbed.papers.PAPER.causes [NAME …]` repeats all of them, or some.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed.plots import style
from switchbed.result import Result
from switchbed.scenario import Scenario
from switchbed.terminal import page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = style.IN_TURN


def runs(file: str | Path, sets: Mapping[str, Any]) -> list[Result]:
    """A scenario's runs with some of its keys set."""
    return Scenario.from_file(file).with_(sets).run_all()


def panels(title: str, count: int, height: float = 3.2) -> "tuple[Figure, Sequence[Axes]]":
    """A figure with so many panels in a row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1 + 4 * count, height), layout="constrained", dpi=100)
    figure.suptitle(title, fontsize="medium")
    return figure, list(figure.subplots(1, count, squeeze=False).flat)


def queue(axes: "Axes", run: Result, unit_bytes: float, **look: Any) -> None:
    """A run's only queue over time, in ms and units of so many bytes."""
    series = run.series
    axes.plot(1e3 * series["time_s"], series["bytes"] / unit_bytes, linewidth=0.8, **look)
    axes.set_xlabel("time (ms)")
    axes.set_ylim(bottom=0)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; numbers with three digits that count."""
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def main(script: str, findings: Sequence[Callable[[Path], str]]) -> None:
    """Draws the findings named on the command line, or all."""
    folder = Path(script).parent / "causes"
    known = {finding.__name__: finding for finding in findings}
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"{name}: no such cause; there is {', '.join(known)}")
        text = known[name](folder / f"{name}.png")
        (folder / f"{name}.md").write_text(text)
        page(f"{name}\n\n{text}\n")
