"""`switchbed fabrics`: runs what is missing of the comparison, and says who wins."""

from pathlib import Path

import click

from switchbed.papers import tree
from switchbed.papers.fabrics import experiment, page
from switchbed.papers.fabrics.cells import CELLS
from switchbed.papers.fabrics.front import LARGE, SMALL, Standing
from switchbed.terminal import say


def run(
    seeds: int, flows: int | None, only: str, jobs: int | None, store: Path, *, commit: bool
) -> None:
    """Runs every scheme in the cells whose name has `only`."""
    chosen = [cell for cell in CELLS if only in cell.name]
    if not chosen:
        raise click.UsageError(f"--only {only}: no such cell; there is {CELLS[0].name} and others")
    if commit and flows is not None:
        raise click.UsageError("--commit: takes the full number of flows, without --flows")
    if commit:
        tree.check("--commit")
    tables = experiment.run(chosen, store, seeds, jobs, flows)
    found = {cell: Standing(table) for cell, table in tables.items()}
    for cell, standing in found.items():
        small, large = standing.best(SMALL)[0], standing.best(LARGE)[0]
        say(f"{cell.name}: small {small}, large {large}; front: {', '.join(standing.front)}")
    if commit:
        page.commit(found)
