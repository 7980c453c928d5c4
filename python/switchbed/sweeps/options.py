"""`--engine` and the options that go with one engine only."""

from collections.abc import Callable
from typing import Any

import click

from switchbed._native import Mistake
from switchbed.sweeps.engine import Engine

ENGINES = ("threads", "ray")

OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="threads",
        show_default=True,
        help="Where runs take place: this machine's cores, a Ray cluster.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        help="Runs at a time. Default: all cores.",
    ),
    click.option(
        "--address",
        metavar="ADDRESS",
        help="Ray: the cluster's; auto: this machine's. Default: start one here.",
    ),
)
OF_RAY = ("address",)


def engine(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives the command these options, and the engine that they mean as `engine`."""

    def chosen(engine: str, jobs: int | None, **values: Any) -> Any:
        given = {name: values.pop(name) for name in OF_RAY}
        given = {name: value for name, value in given.items() if value}
        return command(engine=_engine(engine, jobs, given), **values)

    chosen.__doc__ = command.__doc__
    chosen.__name__ = command.__name__
    chosen.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(OPTIONS):
        chosen = option(chosen)
    return chosen


def _engine(name: str, jobs: int | None, given: dict[str, Any]) -> Engine:
    for option in given:
        if name != "ray":
            raise Mistake(f"--{option}: is for --engine ray")
    if name == "ray":
        from switchbed.sweeps.ray import Ray

        return Ray(jobs=jobs, **given)
    from switchbed.sweeps.threads import Threads

    return Threads(jobs)
