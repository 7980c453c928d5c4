"""Names of the public API, imported together at the first use of one."""

# ruff: noqa: F401
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
