"""The commands that the papers add to `switchbed`, by entry points (pyproject.toml)."""

from pathlib import Path

import click

from switchbed import options

path_argument = click.Path(path_type=Path)


@click.command()
@click.option(
    "--out",
    type=path_argument,
    default=Path("demo-results"),
    show_default=True,
    metavar="DIR",
    help="Where results and the figure go; what the demo left there before is replaced.",
)
def demo(out: Path) -> None:
    """Run a part of MQ-ECN's figure 9, print its FCTs beside the paper's and draw them."""
    from switchbed_papers import demo as command

    command.demo(out=out)


@click.command()
@click.option("--seeds", type=options.Whole(1), default=6, show_default=True)
@click.option("--flows", type=options.Whole(1), help="In each run, for a quick look.")
@click.option("--only", default="", metavar="TEXT", help="Cells whose name has this.")
@click.option("--jobs", type=options.Whole(1), help="Runs at a time (default: all cores).")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("switchbed-store"),
    show_default=True,
    metavar="DIR",
    help="What has run stays here, and is not run again.",
)
@click.option(
    "--commit",
    is_flag=True,
    help="Make it the committed results.",
)
@click.option("--page", "shown", is_flag=True, help="Instead: print the committed results.")
@click.option(
    "--linux",
    is_flag=True,
    help="With the AQMs and hosts as Linux 6.x, loads of 0.3, 0.6 and 0.8, up to 100/400 Gbps.",
)
def fabrics(
    seeds: int,
    flows: int | None,
    only: str,
    jobs: int | None,
    store: Path,
    commit: bool,
    shown: bool,
    linux: bool,
) -> None:
    """Run every scheme on the same fabrics and say who wins: a cell is a fabric, a workload and a
    condition. What has run is not run again."""
    from switchbed_papers.fabrics import command

    if shown:
        command.page(linux=linux)
    else:
        command.run(seeds, flows, only, jobs, store, commit=commit, linux=linux)


@click.command()
@click.argument("which", metavar="PAPER[/FIGURE]|all|list|page|report|search|show")
@click.argument("of", metavar="[PAPER|CLAIM]", required=False)
@click.option("--quick/--full", default=True, help="Small runs (default), or the papers' own.")
@options.JSON
@click.option(
    "--out",
    type=path_argument,
    metavar="PATH",
    help="Draw the figures into this folder; of `page` and `report`, write this file.",
)
@click.option(
    "--first-seed", type=options.Whole(0), default=1, show_default=True, help="Of the seeds."
)
@click.option(
    "--seeds", type=options.Whole(1), metavar="N", help="Instead of each experiment's own number."
)
@click.option(
    "--profile",
    metavar="NAME|all",
    help="Reading: joint, literal or other hosts of the paper (default: joint).",
)
@click.option("--commit", is_flag=True, help="Make the results the committed ones (--full).")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("switchbed-store"),
    show_default=True,
    metavar="DIR",
    help="What has run stays here, and is not run again.",
)
@options.ANY_MEMORY
@click.option(
    "--budget",
    "budget_min",
    type=options.Real(min=0),
    default=60.0,
    show_default=True,
    metavar="MINUTES",
    help="Of `search`: core-minutes at most; what has run is not counted.",
)
def reproduce(
    which: str,
    of: str | None,
    quick: bool,
    json_to: str | None,
    out: Path | None,
    first_seed: int,
    seeds: int | None,
    profile: str | None,
    commit: bool,
    store: Path,
    any_memory: bool,
    budget_min: float,
) -> int:
    """Run the experiments of the PAPERs again and judge each of their claims.

    `list` shows the verdicts of the committed full results; `page` prints them as a page, in
    Markdown; `report [PAPER]` writes it as one HTML file with its pictures; `all` stands for every
    paper. `show CLAIM` prints one claim with all its evidence. `search [PAPER]` runs a paper over
    the grid of the settings that it leaves open and picks its joint set-up; it prints its price
    first, and goes on where it was stopped.
    """
    from switchbed_papers.reproduce import command

    return command.reproduce(
        which,
        quick,
        json_to,
        out,
        first_seed,
        seeds,
        profile,
        commit,
        store,
        any_memory,
        of,
        budget_min,
    )


@click.command()
@click.option(
    "--out",
    type=path_argument,
    metavar="DIR",
    default=Path("results/live-papers"),
    show_default=True,
    help="Where runs are kept and report.html is written.",
)
@click.option("--runs", type=options.Whole(1), default=3, show_default=True, help="Of each figure.")
@click.option("--only", multiple=True, metavar="FIGURE", help="Such as mqecn-fig6.")
@click.option("--commit", is_flag=True, help="Make it the committed results.")
def papers(out: Path, runs: int, only: tuple[str, ...], commit: bool) -> None:
    """Run the papers' testbed figures as labs, and put paper, simulation and lab side by side.
    What has run in DIR is not run again."""
    from switchbed_papers import tree
    from switchbed_papers.live import command, results

    if commit:
        tree.check("--commit")
    command.run(command.Request(out, runs, only, results.FILE if commit else None))
