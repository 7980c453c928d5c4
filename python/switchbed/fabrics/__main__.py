"""`python -m switchbed.fabrics`: runs what is missing of the comparison, and says who wins."""

from pathlib import Path

import click

from switchbed.cli import finish
from switchbed.fabrics import experiment, page
from switchbed.fabrics.cells import CELLS
from switchbed.fabrics.front import LARGE, SMALL, Standing
from switchbed.terminal import say

SEEDS = 6


@click.command()
@click.option("--seeds", type=click.IntRange(1), default=SEEDS, show_default=True)
@click.option("--flows", type=click.IntRange(1), help="In each run, for a quick look.")
@click.option("--only", default="", metavar="TEXT", help="Cells whose name has this.")
@click.option("--jobs", type=click.IntRange(1), help="Runs at a time (default: all cores).")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=experiment.STORE,
    show_default=True,
    help="What has run stays here, and is not run again.",
)
@click.option(
    "--commit", is_flag=True, help="Make it the committed results; write docs/fabrics.md."
)
def main(
    seeds: int, flows: int | None, only: str, jobs: int | None, store: Path, commit: bool
) -> None:
    """Run every scheme of comparisons/fabrics in every cell: fabric, workload, condition."""
    chosen = [cell for cell in CELLS if only in cell.name]
    if not chosen:
        raise click.UsageError(f"--only {only}: no such cell; there is {CELLS[0].name} and others")
    if commit and flows is not None:
        raise click.UsageError("--commit: takes the full number of flows, without --flows")
    tables = experiment.run(chosen, store, seeds, jobs, flows)
    found = {cell: Standing(table) for cell, table in tables.items()}
    for cell, standing in found.items():
        small, large = standing.best(SMALL)[0], standing.best(LARGE)[0]
        say(f"{cell.name}: small {small}, large {large}; front: {', '.join(standing.front)}")
    if commit:
        page.commit(found)


if __name__ == "__main__":
    finish(lambda: main.main(prog_name="python -m switchbed.fabrics", standalone_mode=False))
