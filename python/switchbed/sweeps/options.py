"""`--engine` and the options that go with one engine only."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from switchbed import options
from switchbed._native import Mistake

if TYPE_CHECKING:
    from switchbed.sweeps.engine import Engine

ENGINES = ("threads", "ray", "slurm")

OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="threads",
        show_default=True,
        help="Where runs take place: this machine's cores, a Ray cluster, Slurm.",
    ),
    click.option(
        "--jobs",
        type=options.Whole(1),
        help="Runs at a time (default: all cores); for Slurm, jobs at a time.",
    ),
    options.ANY_MEMORY,
    click.option(
        "--address",
        metavar="ADDRESS",
        help="Ray: the cluster's; auto: this machine's. Default: start one here.",
    ),
    click.option("--partition", metavar="NAME", help="Slurm: where jobs go."),
    click.option("--time", type=options.Whole(1), metavar="MIN", help="Slurm: a job's limit."),
    click.option("--cpus-per-task", type=options.Whole(1), metavar="N", help="Slurm: cores a job."),
    click.option("--runs-per-job", type=options.Whole(1), metavar="N", help="Slurm: runs a job."),
    click.option(
        "--slurm", multiple=True, metavar="KEY=VALUE", help="Slurm: any option of sbatch."
    ),
)
OF_RAY = ("address",)
OF_SLURM = ("partition", "time", "cpus_per_task", "runs_per_job", "slurm")


def engine(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives the command these options, and the engine that they mean as `engine`."""

    def chosen(engine: str, jobs: int | None, any_memory: bool, **values: Any) -> Any:
        given = {name: values.pop(name) for name in (*OF_RAY, *OF_SLURM)}
        given = {name: value for name, value in given.items() if value}
        return command(engine=_engine(engine, jobs, any_memory, given), **values)

    chosen.__doc__ = command.__doc__
    chosen.__name__ = command.__name__
    chosen.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(OPTIONS):
        chosen = option(chosen)
    return chosen


def _engine(name: str, jobs: int | None, any_memory: bool, given: dict[str, Any]) -> "Engine":
    for option in given:
        whose = "ray" if option in OF_RAY else "slurm"
        if whose != name:
            raise Mistake(f"--{option.replace('_', '-')}: is for --engine {whose}")
    if name == "ray":
        from switchbed.sweeps.ray import Ray

        return Ray(jobs=jobs, **given)
    if name == "slurm":
        from switchbed.sweeps.slurm import Slurm

        pairs = (item.partition("=") for item in given.pop("slurm", ()))
        more = {key: value if sign else True for key, sign, value in pairs}
        return Slurm(jobs=jobs, more=more, **given)
    from switchbed.sweeps.threads import Threads

    return Threads(jobs, any_memory)
