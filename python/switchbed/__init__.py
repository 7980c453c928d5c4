"""A test bed for data-centre switch queue management.

`Scenario` describes an experiment, `Scenario.run` gives a `Result`, `compare` compares two over
seeds. `stats` has the statistics, `theory` what the papers' analysis says. docs/python.md has a
tour.
"""

from switchbed import stats, theory
from switchbed._native import Mistake, Plan, Progress, Results, Table, __version__, plans
from switchbed.result import Comparison, Result, compare
from switchbed.scenario import Scenario
from switchbed.sweeps.ray import Ray
from switchbed.sweeps.slurm import Slurm
from switchbed.sweeps.sweep import SweepResult, sweep

__all__ = [
    "Comparison",
    "Mistake",
    "Plan",
    "Progress",
    "Ray",
    "Result",
    "Results",
    "Scenario",
    "Slurm",
    "SweepResult",
    "Table",
    "__version__",
    "compare",
    "plans",
    "stats",
    "sweep",
    "theory",
]
