"""`switchbed export`, `import` and `asic`: to real switches, from them, and their chips."""

import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from switchbed import (
    _native,
    command_groups,
    comparing,
    completion,
    files,
    foreign,
    library,
    options,
    quantity,
)
from switchbed._native import Mistake
from switchbed.ending import BAD_INPUT
from switchbed.terminal import say

PATH = click.Path(path_type=Path)
NOTHING = "switchbed: nothing is written, for something is refused; --partial writes the rest"
CHOICES = {"scheme": ("per-queue", "per-queue-min"), "buffer": ("device", "static")}


@click.group(cls=command_groups.Nested)
def export() -> None:
    """Write a scenario as a real switch's configuration, or a result as other tools' files."""


@click.group("import", cls=command_groups.Nested)
def import_() -> None:
    """Make a scenario of a real switch's configuration."""


@click.group(cls=command_groups.Nested)
def asic() -> None:
    """Show switch chips and their packet memory."""


@asic.command("list")
@options.JSON
def list_chips(json_to: str | None) -> None:
    """List the chips."""
    from switchbed import asic as chips

    found = library.chips()
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        chips.print_list(found)


@asic.command("show")
@click.argument("name")
@options.JSON
def show_chip(name: str, json_to: str | None) -> None:
    """Show what is known of a chip's memory, what it comes to, and what was counted on a switch."""
    from switchbed import asic as chips

    found = chips.named(name)
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        chips.print_chip(found)


@click.command("headroom")
@click.option("--asic", "name", metavar="NAME", help="A chip (`asic list`): its cells and pool.")
@click.option(
    "--speed",
    "speeds",
    required=True,
    multiple=True,
    metavar="RATE",
    help="Of the ports, as 100Gbps; several times: of a switch with ports of each.",
)
@click.option(
    "--cable",
    "cables",
    multiple=True,
    metavar="LENGTH",
    help="40m or 80km; several times: each, or one for each speed.",
)
@click.option("--mtu", default="9100B", show_default=True, metavar="SIZE", help="Longest packet.")
@click.option(
    "--shortest", default="64B", show_default=True, metavar="SIZE", help="Shortest lossless packet."
)
@click.option(
    "--peer-response",
    metavar="TIME",
    help="From the pause frame to the peer's last packet. Default: what the standard allows.",
)
@click.option("--pipeline", default="0ns", metavar="TIME", help="From threshold to pause frame.")
@click.option(
    "--classes", default=2, show_default=True, type=options.Whole(1, 8), help="Lossless classes."
)
@click.option(
    "--ports",
    multiple=True,
    type=options.Whole(1, 4096),
    help="Number of ports, one for each speed. Default: the chip's, or 1.",
)
@click.option("--pool", metavar="SIZE", help="Headroom of all groups. Default: the chip's.")
@click.option(
    "--rule",
    type=click.Choice(["ieee", "nvidia", "measured"]),
    default="ieee",
    show_default=True,
    help="measured: what the table of --lookup has.",
)
@click.option(
    "--lookup", type=PATH, metavar="FILE", help="A switch's pg_profile_lookup.ini, to stand beside."
)
@options.JSON
def headroom(
    name: str | None,
    speeds: Sequence[str],
    cables: Sequence[str],
    mtu: str,
    shortest: str,
    peer_response: str | None,
    pipeline: str,
    classes: int,
    ports: Sequence[int],
    pool: str | None,
    rule: str,
    lookup: Path | None,
    json_to: str | None,
) -> None:
    """Sum up what still comes in on a lossless port after it pauses its neighbour, and say whether
    the headroom pool holds it for all ports."""
    from switchbed import headroom as rooms

    chip = rooms.chip_named(name)
    if rule == "nvidia" and chip is None:
        raise Mistake("--rule nvidia: counts in a chip's cells: name one by --asic")
    if rule == "measured" and lookup is None:
        raise Mistake("--rule measured: takes a switch's own sums: name its table by --lookup")
    rates = []
    for speed in speeds:
        bps = measured("--speed", speed, quantity.rate) or 0
        if not 10**6 <= bps <= 16 * 10**11:
            raise Mistake(f"--speed {foreign.name(speed)}: from 1Mbps to 1600Gbps")
        rates.append(bps)
    sizes = {}
    for option, text in (("--mtu", mtu), ("--shortest", shortest)):
        sizes[option] = measured(option, text, quantity.size) or 0
        if not 64 <= sizes[option] <= 65_535:
            raise Mistake(f"{option} {foreign.name(text)}: from 64B to 65535B")
    times = {}
    for option, given in (("--peer-response", peer_response), ("--pipeline", pipeline)):
        times[option] = measured(option, given, _picoseconds)
    link = rooms.Link(
        rates[0],
        0,
        sizes["--mtu"],
        min(sizes.values()),
        times["--peer-response"],
        # Without an option the peer's response stays None, the standard's; the pipeline is 0.
        times["--pipeline"] or 0,
    )
    memory = rooms.pool_of(chip, measured("--pool", pool, quantity.size))
    # Without --cable one link of 40 m is summed up.
    lengths = [rooms.metres(text) for text in cables or ("40m",)]
    kinds = _kinds(rates, lengths, ports, int(chip["ports"]) if chip is not None else 1)
    links = [(replace(link, bps=bps, metres=each), count) for bps, each, count in kinds]
    table = rooms.lookup(lookup) if lookup else []
    needs = [rooms.need(rule, each, chip, table) for each, _ in links]
    found = [
        rooms.described(each, need, memory, classes, count)
        for (each, count), need in zip(links, needs, strict=True)
    ]
    # Several cables of one speed are alternatives; several speeds are one switch.
    mixed = None
    if len(rates) > 1:
        groups = [(need.taken, count) for need, (_, count) in zip(needs, links, strict=True)]
        mixed = rooms.together(groups, memory, classes)
    # A cell of one byte rounds nothing.
    cell = int(chip["cell_bytes"]) if chip is not None else 1
    rows = [rooms.compared(row, link, cell) for row in table]
    if json_to is not None:
        whole = {"links": found, "lookup": rows}
        options.write_json(whole | ({"together": mixed} if mixed else {}), json_to)
        return
    for each in found:
        rooms.show(each, classes, alone=mixed is None)
    if mixed is not None:
        rooms.show_together(mixed)
    if rows:
        rooms.show_compared(rows)


def _kinds(
    rates: Sequence[int], lengths: Sequence[int], ports: Sequence[int], usual: int
) -> list[tuple[int, int, int]]:
    """Rate, cable and number of each kind of port."""
    if len(rates) == 1:
        if len(ports) > 1:
            raise Mistake(f"--ports: is given {len(ports)} times: one for each --speed is needed")
        return [(rates[0], each, ports[0] if ports else usual) for each in lengths]
    for option, given in (("--cable", lengths), ("--ports", ports)):
        # One cable is that of all.
        if len(given) != len(rates) and not (option == "--cable" and len(given) == 1):
            raise Mistake(
                f"{option}: is given {len(given)} times, and --speed {len(rates)} times: one for "
                "each speed is needed"
            )
    lengths = lengths if len(lengths) > 1 else [lengths[0]] * len(rates)
    return list(zip(rates, lengths, ports, strict=True))


def _picoseconds(text: object) -> int:
    found = round(quantity.time(text) * 1e12)
    # 10 ms in picoseconds: longer than any pause that the standard allows for.
    if found > 10**10:
        raise Mistake("at most 10 ms")
    return found


@export.command("sonic")
@click.argument("file", type=PATH, metavar="FILE", shell_complete=completion.scenarios)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Replace a value.")
@options.output("--out", type=PATH, metavar="FILE", help="File to write. Default: standard output.")
@click.option(
    "--port", "ports", multiple=True, metavar="NAME", help="Ports that the fragment is for."
)
@click.option(
    "--device",
    type=PATH,
    metavar="FILE",
    help="What `import sonic` left beside its scenario. Default: that beside FILE, if it is there.",
)
@click.option("--changes", is_flag=True, help="Only rows that differ from the device's.")
@click.option("--partial", is_flag=True, help="Write what can be, though something is refused.")
@click.option(
    "--instead",
    multiple=True,
    metavar="KEY=CHOICE",
    help="Take scheme=per-queue-min for mq-ecn, say, or leave the buffers: buffer=device.",
)
@click.option("--ramp", metavar="SIZE", help="Let a threshold's WRED end so much above it.")
@click.option(
    "--vendor",
    type=click.Choice(["nvidia"]),
    help="Maker of the chip, where verdicts depend on it.",
)
def export_sonic(
    file: Path,
    sets: Sequence[str],
    out: Path | None,
    ports: Sequence[str],
    device: Path | None,
    changes: bool,
    partial: bool,
    instead: Sequence[str],
    ramp: str | None,
    vendor: str | None,
) -> int:
    """Write FILE as a fragment of SONiC's config_db.json: queues, schedulers, WRED, buffers.

    Each key gets a verdict: exact, approximated, left out or refused."""
    from switchbed.sonic import fragment
    from switchbed.sonic.draft import Choices

    # Checked before the work, so that a refused place costs no time.
    findings = out and out.with_suffix(".findings.json")
    if findings:
        files.free(findings, "--out")
    given = library.given(file)
    known = fragment.known(given.path, device)
    if changes and known is None:
        raise Mistake("--changes: from what? name the device's file by --device")
    choices = Choices(
        ports,
        chosen(instead),
        measured("--ramp", ramp, quantity.size) or 0,
        nvidia=vendor == "nvidia",
    )
    tables, said = fragment.made(
        given.name, scenario(given, sets), choices, known, changes=changes, partial=partial
    )
    for finding in said.all:
        say(finding, err=True)
    if said.refusals and not partial:
        say(NOTHING, err=True)
        return BAD_INPUT
    options.write_json(tables, str(out) if out is not None else options.STDOUT)
    if findings:
        options.write_json([finding.to_json() for finding in said.all], str(findings))
    return 0


@import_.command("sonic")
@click.argument("file", type=PATH, metavar="CONFIG_DB.json")
@click.argument("more", type=PATH, nargs=-1, metavar="")
@options.output(
    "--out", type=PATH, metavar="FILE", help="The scenario. Default: FILE's name .toml."
)
@click.option("--port", "ports", multiple=True, metavar="NAME", help="Only ports as this one.")
@click.option("--like", metavar="SPEED", help="Only ports of this speed.")
@click.option("--pool", metavar="SIZE", help="The memory, where the file leaves it to the switch.")
def import_sonic(
    file: Path,
    more: Sequence[Path],
    out: Path | None,
    ports: Sequence[str],
    like: str | None,
    pool: str | None,
) -> None:
    """Make a scenario of a SONiC switch's CONFIG_DB.json, and leave beside it what it does not say
    (FILE.sonic.json), by which `export sonic` writes the switch's own names; and where ports differ
    in speed their links (FILE.csv)."""
    from switchbed.sonic import device as devices
    from switchbed.sonic import importing

    if more:
        raise Mistake(
            f"{more[0]}: is one file too many: a chip's, as config_db0.json, is imported by itself;"
            " one chip's tables in several, as buffers.json and qos.json, are joined first, as by"
            " jq -s add"
        )
    config = foreign.read(file)
    if not isinstance(config, dict):
        raise Mistake(f"{file}: is no config_db.json: an object of tables is needed")
    to = out or Path(f"{file.stem}.toml")
    bps = measured("--like", like, quantity.rate)
    found = importing.load(
        config,
        str(file),
        ports,
        measured("--pool", pool, quantity.size),
        mbps=None if bps is None else bps // 10**6,
        stem=to.stem,
    )
    others = {to.with_name(name): text for name, text in found.files.items()}
    for path in (to, devices.beside(to), *others):
        files.free(path, "--out")
    with tempfile.TemporaryDirectory() as folder:
        for path, text in others.items():
            (Path(folder) / path.name).write_text(text, "utf-8")
        # The scenario is checked beside its files of links, before anything is written to its
        # place.
        runs(found.text, file, folder)
    for finding in found.findings.all:
        say(finding, err=True)
    for path, text in others.items():
        options.write(text, str(path))
    # The scenario comes after the files that it names: an interrupted import leaves none that lacks
    # them.
    options.write(found.text, str(to))
    found.device.write(devices.beside(to))
    beside = " and ".join(path.name for path in (devices.beside(to), *others))
    say(f"written to {to}, and beside it {beside}; switchbed run {to} runs it")


@export.command("tc")
@click.argument("file", type=PATH, metavar="FILE", shell_complete=completion.scenarios)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Replace a value.")
@options.output("--out", type=PATH, metavar="FILE", help="File to write. Default: standard output.")
@click.option("--port", default="eth0", show_default=True, metavar="NAME", help="The device.")
@click.option("--rate", metavar="RATE", help="Shape the device to this, a little below its line's.")
@click.option("--partial", is_flag=True, help="Write what can be, though something is refused.")
@click.option(
    "--instead",
    multiple=True,
    metavar="KEY=CHOICE",
    help="Take scheme=per-queue-min for mq-ecn, say, or equal parts of a buffer: buffer=static.",
)
def export_tc(
    file: Path,
    sets: Sequence[str],
    out: Path | None,
    port: str,
    rate: str | None,
    partial: bool,
    instead: Sequence[str],
) -> int:
    """Write FILE's switch port as a shell script of Linux's tc, with its undo."""
    from switchbed.sonic import fragment
    from switchbed.tc import exporting

    given = library.given(file)
    if not re.fullmatch(r"[\w.:@-]{1,15}", port):
        raise Mistake(f"--port {port}: is no name of a device")
    choices = exporting.Choices(port, measured("--rate", rate, quantity.rate), chosen(instead))
    lines, said = exporting.export(scenario(given, sets), choices, fragment.known(given.path))
    for finding in said.all:
        say(finding, err=True)
    if said.refusals and not partial:
        say(NOTHING, err=True)
        return BAD_INPUT
    # The title becomes a shell comment, where a line break would begin a command.
    title = given.name if given.name.isprintable() else "a scenario"
    text = exporting.script(lines, title, choices)
    options.write(text, str(out) if out is not None else options.STDOUT)
    return 0


@export.command("trace")
@click.argument("folder", type=PATH, metavar="RESULT")
@options.output("--out", type=PATH, metavar="FILE", required=True, help="The trace: .json.")
@click.option("--from", "since", metavar="TIME", help="Only what is seen then or later: 20ms.")
@click.option("--until", metavar="TIME", help="Only what is seen before.")
@click.option(
    "--every", metavar="TIME", help="Of each queue the longest sample within so long: 10us."
)
@click.option(
    "--most",
    type=options.Whole(1, 2**31 - 1),
    default=1_000_000,
    show_default=True,
    help="Refuse a trace with more events.",
)
def export_trace(
    folder: Path,
    out: Path,
    since: str | None,
    until: str | None,
    every: str | None,
    most: int,
) -> None:
    """Write a run as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing show: operations
    of ranks (measure.operations), flows, queues, marks and drops (measure.series_every), pauses."""
    from switchbed import trace
    from switchbed.options import seconds
    from switchbed.result import Result

    choice = trace.Choice(
        seconds("--from", since) or 0.0,
        seconds("--until", until) or float("inf"),
        seconds("--every", every) or 0.0,
        most,
    )
    with files.believing([folder]):
        count = trace.write(Result.load(folder), out, choice)
    say(f"written to {out}: {count} events")


@export.command("flent")
@click.argument("folder", type=PATH, metavar="RESULT")
@options.output(
    "--out", type=PATH, metavar="FILE", required=True, help="The data file: .flent or .flent.gz."
)
@click.option(
    "--of", "side", type=click.Choice(["live", "simulated"]), help="Of a lab. Default: live."
)
def export_flent(folder: Path, out: Path, side: str | None) -> None:
    """Write a run, or a lab's run, as a data file of flent: goodput of flows without an end
    (measure.flow_series) and round-trip times of probes over time."""
    from switchbed import flent

    with files.believing([folder]):
        source = flent.read(folder, side)
    flent.write(source, out)
    say(f"written to {out}")


@import_.command("tc")
@click.argument("file", type=PATH, metavar="SHOWN.json")
@options.output(
    "--out", type=PATH, metavar="FILE", help="The scenario. Default: FILE's name .toml."
)
@click.option("--rate", metavar="RATE", help="The device's, which tc does not show.")
@click.option(
    "--by-class", is_flag=True, help="Bands are by class: filters say so, which tc does not show."
)
def import_tc(file: Path, out: Path | None, rate: str | None, by_class: bool) -> None:
    """Make a scenario of SHOWN.json, what `tc -j -d qdisc show dev DEVICE` printed, with -j or
    without."""
    from switchbed.tc import importing, shown

    given = shown.read(file)
    text, said = importing.load(
        given, str(file), measured("--rate", rate, quantity.rate), by_class=by_class
    )
    # A scenario that `run` refuses is reported as the import's mistake, and no file is written.
    runs(text, file)
    said.all = list(dict.fromkeys(said.all))  # of one band it is said, for all
    to = out or Path(f"{file.stem}.toml")
    files.free(to, "--out")
    for finding in said.all:
        say(finding, err=True)
    options.write(text, str(to))
    say(f"written to {to}; switchbed run {to} runs it")


def measured(option: str, text: str | None, read: Callable[[object], int]) -> int | None:
    """An option's size or rate."""
    if text is None:
        return None
    try:
        return read(text)
    except Mistake as mistake:
        raise Mistake(f"{option} {foreign.name(text)}: {mistake}") from mistake


def runs(text: str, source: Path, folder: str = ".") -> None:
    """Refuses to write a scenario that `switchbed run` would refuse."""
    try:
        _native.plans_of("the scenario", text, folder, [], lines=True)
    except Mistake as mistake:
        raise Mistake(f"{source}: makes a scenario that does not run: {mistake}") from mistake


def scenario(given: library.Given, sets: Sequence[str]) -> dict[str, Any]:
    """The one run that the file describes, resolved."""
    plans = given.plans(sets)
    if len(plans) > 1:
        settings = " ".join(
            f"--set '{key}={comparing.text(value)}'" for key, value in json.loads(plans[0].settings)
        )
        raise Mistake(
            f"{given.name}: has {len(plans)} runs in [compare]: choose one, such as {settings}"
        )
    return dict(json.loads(plans[0].scenario))


def chosen(instead: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in instead:
        key, _, value = text.partition("=")
        if value not in CHOICES.get(key, ()):
            has = "; ".join(f"{k}={v}" for k, values in CHOICES.items() for v in values)
            raise Mistake(f"--instead {text}: there are {has}")
        found[key] = value
    return found
