"""Runs from which a profile-guided build learns: `python -m switchbed.bench.train`. Other seeds and
lengths than those of the benchmarks, so that these stay a test."""

from collections.abc import Iterator
from pathlib import Path

from switchbed._native import Plan, Progress, plans
from switchbed.bench import FOLDER
from switchbed.library import SCENARIOS, TEMPLATES

SEED = 20
CASES: tuple[tuple[Path, tuple[str, ...]], ...] = (
    (FOLDER / "fig9.toml", ("flows=700", "load=0.5")),
    (FOLDER / "fig9.toml", ("flows=400", "load=0.8")),
    (FOLDER / "star.toml", ("run.until=300ms",)),
    (TEMPLATES / "star.toml", ("flows=500", "topology.hosts=17", "traffic.to=16")),
    (SCENARIOS / "roce-fabric.toml", ("flows=300", "run.until=300us")),
    (SCENARIOS / "fat-tree.toml", ("run.until=5ms",)),
    (SCENARIOS / "trim-weight.toml", ("run.until=1ms",)),
    (SCENARIOS / "all-reduce.toml", ("run.until=1ms",)),
)
"""Scenarios, and their overrides: the papers' fabric, an idle and a busy port, today's kernel, RoCE
with PFC, many hosts, trimming, and collectives."""


def chosen() -> Iterator[Plan]:
    """The runs, every combination of a scenario's `[compare]` among them."""
    for file, sets in CASES:
        yield from plans(str(file), list(sets), SEED)


def main() -> None:
    """Runs them all."""
    for plan in chosen():
        plan.run(Progress())


if __name__ == "__main__":
    main()
