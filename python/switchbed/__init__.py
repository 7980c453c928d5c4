"""A test bed for data-centre switch queue management."""

from switchbed._native import Mistake, Plan, Progress, Results, Table, __version__, plans

__all__ = ["Mistake", "Plan", "Progress", "Results", "Table", "__version__", "plans"]
