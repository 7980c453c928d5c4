"""`switchbed live …`: the command line of the live switch."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import click

from switchbed import _native, command_groups, library, options, terminal
from switchbed._native import Mistake
from switchbed.live import control
from switchbed.terminal import say

path_argument = click.Path(path_type=Path)
socket_option = click.option(
    "--socket",
    type=path_argument,
    metavar="PATH",
    help="The switch's control socket (default: that of the only switch that runs).",
)


@click.group(cls=command_groups.LiveGroup)
def live() -> None:
    """Forward real frames between Linux interfaces, with any scheme at each port."""
    if sys.platform != "linux":
        raise Mistake("the live switch needs Linux")
    if not hasattr(_native, "live_plan"):
        why = "this switchbed was built without the live switch (cargo's feature `live`)"
        raise Mistake(why)


@live.command()
@click.argument("file", type=path_argument)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Replace a value.")
@click.option("--socket", type=path_argument, metavar="PATH", help="Where the control socket is.")
@click.option("--out", type=path_argument, metavar="DIR", help="Write statistics and series.")
@click.option(
    "--seconds", type=options.Real(0, min_open=True), help="Stop then (default: at Ctrl-C)."
)
@options.forcing
def run(
    file: Path, sets: tuple[str, ...], socket: Path | None, out: Path | None, seconds: float | None
) -> int:
    """Run the switch that FILE describes until Ctrl-C."""
    from switchbed.live import switch

    return switch.run(switch.Request(file, sets, socket, out, seconds))


@live.command()
@click.argument("line", metavar="INTERFACE")
@click.option("--rate", required=True, help="Of the interface's line, such as 1Gbps.")
@click.option("--address", metavar="ADDRESS/LENGTH", help="The host's, on its new interface.")
@click.option("--host", default="sb0", show_default=True, help="Name of the new interface.")
@click.option("--netns", help="The network namespace to put the new interface in.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="reaction.…, live.…")
@click.option("--socket", type=path_argument, metavar="PATH", help="Where the control socket is.")
@click.option(
    "--seconds", type=options.Real(0, min_open=True), help="Stop then (default: at Ctrl-C)."
)
def react(
    line: str,
    rate: str,
    address: str | None,
    host: str,
    netns: str | None,
    sets: tuple[str, ...],
    socket: Path | None,
    seconds: float | None,
) -> int:
    """Be a sending host's network card on INTERFACE that obeys the messages of QCN and AF-QCN.

    The host gets a new interface; what it sends there leaves by INTERFACE, at the rates that
    congestion notifications (802.1Qau) allow."""
    from switchbed.live import react as card

    return card.run(card.Card(line, rate, address, host, netns), sets, socket, seconds)


@live.command()
@click.argument("file", type=path_argument)
def check(file: Path) -> None:
    """Say whether FILE is a live switch's, without running it."""
    _native.live_plan(file)
    say(f"{file}: ok")


@live.command()
def keys() -> None:
    """Print every key of a live switch's file."""
    terminal.page(_native.live_reference())


@live.command("set")
@click.argument("sets", nargs=-1, required=True, metavar="KEY=VALUE...")
@socket_option
def set_(sets: tuple[str, ...], socket: Path | None) -> None:
    """Change a switch that runs: switch.…, scheme, scheme.params.…, live.…, port.NAME.…"""
    control.ask(control.find(socket), "set", sets)


@live.command()
@socket_option
def show(socket: Path | None) -> None:
    """Print what a switch that runs is set to, as JSON."""
    options.write_json(control.ask(control.find(socket), "show"), options.STDOUT)


@live.command()
@socket_option
@click.option("--every", type=options.Real(0.05), metavar="S", help="Again every S seconds.")
@click.option("--count", type=options.Whole(1), metavar="N", help="So many times.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, a line each time.")
@click.option("--prometheus", is_flag=True, help="In Prometheus' text format.")
def stats(
    socket: Path | None, every: float | None, count: int | None, as_json: bool, prometheus: bool
) -> None:
    """Print what a switch that runs has done, and its queues."""
    path = control.find(socket)
    left = count or (1 if every is None else None)
    while left is None or left > 0:
        _print_stats(control.stats(path), as_json, prometheus)
        left = None if left is None else left - 1
        if left != 0:
            time.sleep(every or 1.0)


def _print_stats(found: dict[str, Any], as_json: bool, prometheus: bool) -> None:
    if as_json:
        say(json.dumps(found))
    elif prometheus:
        from switchbed.live.prometheus import text

        terminal.page(text(found))
    else:
        from switchbed.console import Console
        from switchbed.live.view import table

        Console().print(table(found))


@live.command()
@socket_option
@click.option(
    "--listen",
    default="127.0.0.1:9464",
    show_default=True,
    metavar="ADDRESS",
    help="HOST:PORT, or unix:PATH.",
)
@click.option("--dashboard", is_flag=True, help="Print a dashboard for Grafana, and end.")
def metrics(socket: Path | None, listen: str, dashboard: bool) -> None:
    """Answer Prometheus at http://ADDRESS/metrics, in OpenMetrics or its text format, until
    Ctrl-C."""
    from switchbed.live import exporter

    if dashboard:
        terminal.page((library.DATA / "grafana.json").read_text(encoding="utf-8"))
        return
    exporter.serve(listen, socket)


@live.command()
@socket_option
@click.option("--port", "ports", multiple=True, metavar="NAME", help="Default: all ports.")
@click.option(
    "--direction", type=click.Choice(["in", "out"]), help="Only frames that come in, or go out."
)
@click.option("--count", type=options.Whole(1), metavar="N", help="End after N frames.")
@click.option(
    "--duration", type=options.Real(0, min_open=True), metavar="S", help="End after S seconds."
)
@click.option("--snaplen", type=options.Whole(1, 16384), metavar="B", help="B bytes of each frame.")
@options.output("--out", required=True, metavar="FILE", help="The pcapng file; - is a pipe.")
def capture(
    socket: Path | None,
    ports: tuple[str, ...],
    direction: str | None,
    count: int | None,
    duration: float | None,
    snaplen: int | None,
    out: str,
) -> None:
    """Capture frames of a switch that runs, as pcapng, each with its port's decision as a
    comment, until Ctrl-C."""
    from switchbed.live import capture as command

    command.run(command.Request(out, ports, direction, count, duration, snaplen), socket)


@live.command()
@socket_option
def stop(socket: Path | None) -> None:
    """End a switch that runs."""
    control.ask(control.find(socket), "stop")


@live.group()
def dctcp() -> None:
    """Give a kernel without DCTCP ours, as a BPF program (needs clang and bpftool)."""


@dctcp.command()
def load() -> None:
    """Compile it and hand it to the kernel, as sb_dctcp."""
    from switchbed.live import dctcp as ours

    say(f"{ours.NAME} is {'loaded' if ours.load() else 'there already'}")


@dctcp.command()
def unload() -> None:
    """Take it back."""
    from switchbed.live import dctcp as ours

    say(f"{ours.NAME} is {'unloaded' if ours.unload() else 'not there'}")


@live.command()
@socket_option
def view(socket: Path | None) -> None:
    """Watch a switch that runs: queues, thresholds, round times, marks, drops, rates."""
    from switchbed.live.view import watch

    watch(control.find(socket))


class _Labs(click.Group):
    """`lab FILE` stands for `lab run FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


@live.group(cls=_Labs)
def lab() -> None:
    """Run a scenario on the kernel's TCP between network namespaces: lab FILE.toml, lab @NAME."""


@lab.command("run")
@click.argument("file", type=path_argument)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Replace a value.")
@click.option("--seed", type=options.Whole(0, 2**63 - 1), help="Replace the seed of the file.")
@click.option(
    "--scale",
    type=options.Real(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Divide rates and multiply times: 0.01 makes 100 Mbps of 10 Gbps.",
)
@click.option("--iperf3", is_flag=True, help="Flows without an end are sent by iperf3.")
@click.option("--name", help="Of the lab and its namespaces (default: the file's).")
@options.JSON
@click.option("--out", type=path_argument, metavar="DIR", help="Write tables and summary.")
def lab_run(
    file: Path,
    sets: tuple[str, ...],
    seed: int | None,
    scale: float,
    iperf3: bool,
    name: str | None,
    json_to: str | None,
    out: Path | None,
) -> None:
    """Run the scenario FILE, or @NAME of one that comes with switchbed: simulated, then live, with
    the same flows."""
    from switchbed.live import lab as command

    found = command.run(command.Request(file, sets, scale, name, out, seed, iperf3))
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        from switchbed.live import view

        view.print_labs(found)


@lab.command()
@click.option("--all", "all_labs", is_flag=True, help="Labs that run are ended too.")
def clean(all_labs: bool) -> None:
    """Remove what labs left that were killed."""
    from switchbed.live import netns

    removed, kept = netns.clean(all_labs=all_labs)
    for name in removed:
        say(f"removed lab {name}")
    for name in kept:
        say(f"kept lab {name}, which runs (--all ends it)")
    if not removed and not kept:
        say("nothing to clean")
