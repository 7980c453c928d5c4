"""The commands of `switchbed topology`."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from switchbed import command_groups, completion, options, quantity
from switchbed._native import Mistake
from switchbed.terminal import say
from switchbed.topology import forms, network
from switchbed.topology.network import Network

PATH = click.Path(path_type=Path)
FILE = click.argument("file", type=PATH, metavar="FILE|@NAME", shell_complete=completion.scenarios)
FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(("auto", *network.FORMS)),
    default="auto",
    show_default=True,
    help="The form of FILE.",
)
SETS = click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Replace a value of a scenario."
)
OUT = options.output("--out", type=PATH, metavar="FILE", help="Where to. Default: standard output.")


@click.group(cls=command_groups.Nested)
def topology() -> None:
    """Networks: show and draw them, convert files between forms, make files."""


@topology.command()
@FILE
@FORMAT
@SETS
@options.output("--out", "picture", type=PATH, metavar="FILE.svg", help="Draw it by tiers.")
@options.JSON
def show(
    file: Path, form: str, sets: Sequence[str], picture: Path | None, json_to: str | None
) -> None:
    """Say what a network comes to: hosts, ports, bisection, oversubscription, diameter, ideal RTT.

    FILE is a topology's file, or a scenario (.toml, @NAME)."""
    from switchbed.topology import drawing

    if picture is not None and picture.suffix != ".svg":
        raise Mistake(f"--out {picture}: only .svg is drawn")
    found = network.read(file, form, sets)
    if picture is not None:
        options.write(drawing.svg(found), str(picture))
    if json_to is not None:
        options.write_json({"name": found.name, **found.measures}, json_to)
    else:
        _print(found)


@topology.command()
@FILE
@FORMAT
@SETS
@click.option(
    "--to", type=click.Choice(network.FORMS), default="table", show_default=True, help="The form."
)
@click.option("--without", metavar="TIER", help="Leave a tier and its links out.")
@click.option(
    "--nics", is_flag=True, help="Put a switch of the tier nic before hosts with several links."
)
@OUT
def convert(
    file: Path,
    form: str,
    sets: Sequence[str],
    to: str,
    without: str | None,
    nics: bool,
    out: Path | None,
) -> None:
    """Write a network in another form. What that does not say is named.

    FILE is as for `show`."""
    found = network.read(file, form, sets)
    if without is not None:
        found = network.without(found, without)
    if nics:
        found = network.with_nics(found)
    text = forms.WRITERS[to](found)
    for what in forms.lost(found, to):
        say(f"{file}: not in the form {to}: {what}", err=True)
    options.write(text, str(out) if out is not None else options.STDOUT)


@topology.group(cls=command_groups.Nested)
def new() -> None:
    """Write a network's file by its numbers."""


def wires(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of links, and of the file."""
    for option in (
        OUT,
        click.option("--fabric-delay", metavar="TIME", help="Default: --delay."),
        click.option("--fabric-rate", metavar="RATE", help="Between switches. Default: --rate."),
        click.option("--delay", default="500ns", show_default=True, help="Of a host's link."),
        click.option("--rate", default="400Gbps", show_default=True, help="Of a host's link."),
    ):
        command = option(command)
    return command


NVLINK_DELAY = "25ns"
"""SimAI's default."""


def _count(name: str, default: int, text: str) -> Callable[..., Any]:
    kind = options.Whole(1, 65_535)
    return click.option(name, type=kind, default=default, show_default=True, help=text)


def _wire(name: str, rate: str, delay: str) -> network.Wire:
    def read(key: str, text: str, of: Callable[[object], float]) -> float:
        try:
            return of(text)
        except Mistake as mistake:
            raise Mistake(f"--{name}{key} {text}: {mistake}") from mistake

    seconds = read("delay", delay, quantity.time)
    return network.Wire(int(read("rate", rate, quantity.rate)), round(seconds * 1e12))


def _both(
    rate: str, delay: str, fabric_rate: str | None, fabric_delay: str | None
) -> tuple[network.Wire, network.Wire]:
    access = _wire("", rate, delay)
    return access, _wire("fabric-", fabric_rate or rate, fabric_delay or delay)


def _write(made: network.Network, out: Path | None) -> None:
    options.write(forms.table(made), str(out) if out is not None else options.STDOUT)
    if out is not None:
        say(f"written to {out}; switchbed topology show {shlex.quote(str(out))} shows it")


@new.command()
@_count("--servers", 32, "Servers.")
@_count("--gpus", 8, "GPUs of a server, each with a card; as many rails.")
@click.option("--segment", type=options.Whole(1), help="Servers of a segment. Default: all.")
@_count("--spines", 8, "Spines.")
@click.option(
    "--nvlink",
    metavar="RATE",
    help="Also a link from each GPU to its server's NVSwitch, such as 2880Gbps (of 25ns).",
)
@wires
def rail(
    servers: int,
    gpus: int,
    segment: int | None,
    spines: int,
    nvlink: str | None,
    out: Path | None,
    **links: Any,
) -> None:
    """Rail-optimised: the g-th GPU of each server of a segment is on the segment's g-th leaf."""
    inside = None if nvlink is None else _wire("nvlink-", nvlink, NVLINK_DELAY)
    _write(network.rail(servers, gpus, segment, spines, *_both(**links), inside), out)


@new.command("dual-tor")
@_count("--pairs", 4, "Pairs of ToRs.")
@_count("--hosts", 16, "Hosts of a pair, each with a link to both ToRs.")
@_count("--spines", 8, "Spines, linked to all ToRs.")
@wires
def dual_tor(pairs: int, hosts: int, spines: int, out: Path | None, **links: Any) -> None:
    """Hosts with a link to each of two ToRs, whose spines are the same."""
    _write(network.dual(pairs, hosts, spines, *_both(**links), planes=False), out)


@new.command("dual-plane")
@_count("--pairs", 4, "Pairs of ToRs.")
@_count("--hosts", 16, "Hosts of a pair, each with a link to both ToRs.")
@_count("--spines", 8, "Spines of a plane.")
@wires
def dual_plane(pairs: int, hosts: int, spines: int, out: Path | None, **links: Any) -> None:
    """Hosts with a link to each of two planes, whose ToRs and spines have no links between them."""
    _write(network.dual(pairs, hosts, spines, *_both(**links), planes=True), out)


def _print(network: Network) -> None:
    """Counts, tiers, bisection, diameter, ideal round trip."""
    found = network.measures
    say(
        f"{network.name}: {found['hosts']:,} hosts, {found['switches']:,} switches with "
        f"{found['switch_ports']:,} ports, {found['links']:,} links"
    )
    width = max(len("tier"), *(len(tier["name"]) for tier in found["tiers"]))
    say(f"  {'tier':{width}} {'switches':>8} {'ports':>6} {'down':>10} {'up':>10} oversubscribed")
    for tier in found["tiers"]:
        up = quantity.gbps(tier["up_bps"]) if tier["up_bps"] else "-"
        over = "-" if tier["oversubscription"] is None else _ratio(tier["oversubscription"])
        say(
            f"  {tier['name']:{width}} {tier['switches']:>8,} {tier['ports']:>6,} "
            f"{quantity.gbps(tier['down_bps']):>10} {up:>10} {over}"
        )
    half = _ratio(found["oversubscription"]) if found["bisection_bps"] else "none"
    say(f"  bisection   {quantity.gbps(found['bisection_bps'])} (oversubscribed {half})")
    if found["diameter_links"] is None:
        say("  diameter    none: some hosts cannot reach others")
        return
    say(f"  diameter    {found['diameter_links']} links, {_us(found['propagation_ps'])} one way")
    say(
        f"  ideal RTT   {_us(found['rtt_ps'])} between the hosts farthest apart: "
        f"{found['packet_bytes']:,} B there, {found['ack_bytes']} B back"
    )


def _ratio(value: float) -> str:
    """3 is 3:1."""
    return f"{value:.4g}:1"


def _us(ps: int) -> str:
    return quantity.us(ps / 1e12)
