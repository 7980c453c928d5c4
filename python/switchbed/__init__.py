"""A test bed for data-centre switch queue management.

`Scenario` describes an experiment, `Scenario.run` gives a `Result`, `compare` compares two over
seeds. `stats` has the statistics, `theory` what the papers' analysis says. docs/python.md has a
tour.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from switchbed import plugged

plugged.extend(__path__)

if TYPE_CHECKING:
    from switchbed import stats, theory
    from switchbed._native import Mistake, Plan, Progress, Results, Table, __version__, plans
    from switchbed.library import chips, hosts, scenarios, schemes, sizes
    from switchbed.plots.methods import Plots
    from switchbed.plots.style import look
    from switchbed.result import Comparison, Result, compare
    from switchbed.scenario import Scenario
    from switchbed.sweeps.ray import Ray
    from switchbed.sweeps.slurm import Slurm
    from switchbed.sweeps.sweep import SweepResult, sweep
    from switchbed.tuning.advice import Advice
    from switchbed.tuning.tune import tune

__all__ = [
    "Advice",
    "Comparison",
    "Mistake",
    "Plan",
    "Plots",
    "Progress",
    "Ray",
    "Result",
    "Results",
    "Scenario",
    "Slurm",
    "SweepResult",
    "Table",
    "__version__",
    "chips",
    "compare",
    "hosts",
    "look",
    "plans",
    "scenarios",
    "schemes",
    "sizes",
    "stats",
    "sweep",
    "theory",
    "tune",
]


def __getattr__(name: str) -> object:
    """Read at its first use: the program must be able to end before all of this is there."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("stats", "theory"):
        return import_module(f"{__name__}.{name}")
    from switchbed import api

    plugged.check()
    import warnings

    for why in plugged.LEFT_OUT.values():
        warnings.warn(why, stacklevel=2)
    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
