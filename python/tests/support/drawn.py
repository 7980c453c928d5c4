"""What the tests of pictures share: the figures that a script saved, and the runs behind them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from switchbed import runner
from switchbed._native import Plan, Results
from switchbed.runner import Outcome


@dataclass(frozen=True)
class Drawing:
    figures: list[Figure] = field(default_factory=list)
    runs: list[tuple[Outcome, Results]] = field(default_factory=list)
    """In the order of the scenario."""

    @property
    def figure(self) -> Figure:
        """The only one."""
        (figure,) = self.figures
        return figure


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Drawing:
    """Fills as scripts run scenarios and save figures."""
    seen = Drawing()
    save, run_all = Figure.savefig, runner.run_all

    def saving(figure: Figure, path: Path, **how: Any) -> None:
        seen.figures.append(figure)
        save(figure, path, **how)

    def running(
        plans: Sequence[Plan], jobs: int, keep: Callable[..., None], progress_bar: Any
    ) -> runner.Sweep:
        found: dict[int, tuple[Outcome, Results]] = {}

        def keeping(plan: Plan, results: Results, outcome: Outcome) -> None:
            found[outcome.index] = (outcome, results)
            keep(plan, results, outcome)

        sweep = run_all(plans, jobs, keeping, progress_bar)
        assert len(found) == len(plans)
        seen.runs.extend(found[index] for index in sorted(found))
        return sweep

    monkeypatch.setattr(Figure, "savefig", saving)
    monkeypatch.setattr(runner, "run_all", running)
    return seen


def points(line: Line2D) -> tuple[list[float], list[float]]:
    """A line's xs and ys."""
    xs, ys = (np.asarray(data, dtype=float).tolist() for data in line.get_data())
    return xs, ys


def legend(of: Axes | Figure) -> list[str]:
    """The entries of a legend."""
    found = of.get_legend() if isinstance(of, Axes) else of.legends[0]
    assert found is not None
    return [text.get_text() for text in found.get_texts()]
