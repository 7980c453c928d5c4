"""`switchbed live …`: the command line of the live switch."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from switchbed import _native
from switchbed._native import Mistake

if TYPE_CHECKING:
    from switchbed.live.control import Client

path_argument = click.Path(path_type=Path)
socket_option = click.option(
    "--socket",
    type=path_argument,
    metavar="PATH",
    help="The switch's control socket (default: that of the only switch that runs).",
)


@click.group()
def live() -> None:
    """Forward real frames between Linux interfaces, with any scheme at each port."""
    if not hasattr(_native, "live_plan"):
        raise Mistake("the live switch needs Linux")


@live.command()
@click.argument("file", type=path_argument)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Replace a value.")
@click.option("--socket", type=path_argument, metavar="PATH", help="Where the control socket is.")
@click.option("--out", type=path_argument, metavar="DIR", help="Write statistics and series.")
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), help="Stop then (default: at Ctrl-C)."
)
def run(
    file: Path, sets: tuple[str, ...], socket: Path | None, out: Path | None, seconds: float | None
) -> int:
    """Run the switch that FILE describes until Ctrl-C."""
    from switchbed.live import switch

    return switch.run(switch.Request(file, sets, socket, out, seconds))


@live.command()
@click.argument("file", type=path_argument)
def check(file: Path) -> None:
    """Say whether FILE is a live switch's, without running it."""
    _native.live_plan(file)
    click.echo(f"{file}: ok")


@live.command()
def keys() -> None:
    """Print every key of a live switch's file."""
    click.echo(_native.live_reference(), nl=False)


@live.command("set")
@click.argument("sets", nargs=-1, required=True, metavar="KEY=VALUE...")
@socket_option
def set_(sets: tuple[str, ...], socket: Path | None) -> None:
    """Change a switch that runs: switch.…, scheme, scheme.params.…, live.…, port.NAME.…"""
    with _client(socket) as client:
        client.ask("set", sets)


@live.command()
@socket_option
def show(socket: Path | None) -> None:
    """Print what a switch that runs is set to, as JSON."""
    with _client(socket) as client:
        click.echo(json.dumps(client.ask("show"), indent=2))


@live.command()
@socket_option
@click.option("--every", type=click.FloatRange(0.05), metavar="S", help="Again every S seconds.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="So many times.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, a line each time.")
@click.option("--prometheus", is_flag=True, help="In Prometheus' text format.")
def stats(
    socket: Path | None, every: float | None, count: int | None, as_json: bool, prometheus: bool
) -> None:
    """Print what a switch that runs has done, and its queues."""
    with _client(socket) as client:
        left = count or (1 if every is None else None)
        while left is None or left > 0:
            _print_stats(client.stats(), as_json, prometheus)
            left = None if left is None else left - 1
            if left != 0:
                time.sleep(every or 1.0)


def _print_stats(found: dict[str, Any], as_json: bool, prometheus: bool) -> None:
    if as_json:
        click.echo(json.dumps(found))
    elif prometheus:
        from switchbed.live.prometheus import text

        click.echo(text(found), nl=False)
    else:
        from rich.console import Console

        from switchbed.live.view import table

        Console().print(table(found))


@live.command()
@socket_option
def stop(socket: Path | None) -> None:
    """End a switch that runs."""
    with _client(socket) as client:
        client.ask("stop")


def _client(socket: Path | None) -> "Client":
    from switchbed.live import control

    return control.Client(control.find(socket))
