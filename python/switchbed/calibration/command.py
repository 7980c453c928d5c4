"""The command `switchbed calibrate`."""

from collections.abc import Sequence
from pathlib import Path

import click

from switchbed import options

PATH = click.Path(path_type=Path)
LOADS = "0.1,0.3,0.5,0.7,0.9"
DEGREES = "0,4,16"
MOST_SEEDS = 20


@click.command()
@click.argument("config", type=PATH, metavar="CONFIG")
@click.option(
    "--watermarks",
    "paths",
    type=PATH,
    multiple=True,
    required=True,
    metavar="FILE",
    help="What show commands printed, or JSON; may be given again.",
)
@click.option("--port", "ports", multiple=True, metavar="NAME", help="Only ports as this one.")
@click.option("--loads", default=LOADS, show_default=True, metavar="LIST", help="To try.")
@click.option(
    "--degrees", default=DEGREES, show_default=True, metavar="LIST", help="Of incast, to try."
)
@click.option("--seeds", default=3, show_default=True, type=options.Whole(1, MOST_SEEDS))
@click.option("--time", "time", default="5ms", show_default=True, help="Simulated, of each run.")
@click.option("--jobs", type=options.Whole(1), help="Runs at a time.")
@options.JSON
def calibrate(
    config: Path,
    paths: Sequence[Path],
    ports: Sequence[str],
    loads: str,
    degrees: str,
    seeds: int,
    time: str,
    jobs: int | None,
    json_to: str | None,
) -> None:
    """Say under which traffic the simulated switch of CONFIG (a SONiC switch's config_db.json, or a
    scenario with a star) holds what the real one's watermarks say, and where its counters
    contradict the simulated switch."""
    from switchbed.calibration.answer import answer

    found = answer(config, paths, ports, (loads, degrees, time), seeds, jobs)
    if json_to is not None:
        options.write_json(found.described(), json_to)
    else:
        found.show()
