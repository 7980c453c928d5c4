"""`switchbed fabrics`: runs what is missing of the comparison, and says who wins."""

from pathlib import Path

import click

from switchbed import terminal
from switchbed.terminal import say
from switchbed_papers import tree
from switchbed_papers.fabrics import experiment, linux_page
from switchbed_papers.fabrics import page as schemes_page
from switchbed_papers.fabrics.cells import CELLS, LINUX, MEMORY, WORKLOADS, Cell
from switchbed_papers.fabrics.front import LARGE, SMALL, Standing

RUN_S = 4.6
"""Processor time of a run with a cell's own number of flows, on average."""


def run(
    seeds: int,
    flows: int | None,
    only: str,
    jobs: int | None,
    store: Path,
    *,
    commit: bool,
    linux: bool = False,
) -> None:
    """Runs every scheme, and policy, in the cells whose name has `only`."""
    cells = (*LINUX, *MEMORY) if linux else CELLS
    chosen = [cell for cell in cells if only in cell.name]
    if not chosen:
        raise click.UsageError(f"--only {only}: no such cell; there is {cells[0].name} and others")
    if commit and flows is not None:
        raise click.UsageError("--commit: takes the full number of flows, without --flows")
    if commit:
        tree.check("--commit")
    say(_cost(chosen, seeds, flows))
    tables = experiment.run(chosen, store, seeds, jobs, flows)
    found = {cell: Standing(table) for cell, table in tables.items()}
    for cell, standing in found.items():
        small, large = standing.best(SMALL)[0], standing.best(LARGE)[0]
        say(f"{cell.name}: small {small}, large {large}; front: {', '.join(standing.front)}")
    for cell, table in tables.items() if commit else ():
        experiment.write(cell, table)


def page(*, linux: bool) -> None:
    """Prints the page of the committed results."""
    terminal.page(linux_page.render() if linux else schemes_page.render())


def _cost(cells: list[Cell], seeds: int, flows: int | None) -> str:
    """State the greatest cost of the runs before they begin."""
    runs = seeds * sum(len(cell.scenario(flows).plans) for cell in cells)
    full = sum(WORKLOADS[cell.workload][0] for cell in cells) / len(cells)
    hours = runs * RUN_S * (flows or full) / full / 3600
    return f"{runs} runs, about {hours:.1f} core-hours, less what has run"
