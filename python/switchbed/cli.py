"""The command line. Every command is a few lines: the work is in the module it calls.

Modules that take long to import (Polars, rich, matplotlib) are imported where they are used.
"""

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from switchbed import (
    command_groups,
    completion,
    files,
    library,
    options,
    plugged,
    signals,
    terminal,
    threads,
)
from switchbed._native import Mistake
from switchbed.ending import BAD_INPUT, complain, finish
from switchbed.sweeps import options as engines
from switchbed.tables import FORMATS, Format
from switchbed.terminal import say

if TYPE_CHECKING:
    from switchbed.alone import Over
    from switchbed.sweeps.engine import Engine

SCHEME = "scheme"
"""Kind of `switchbed new` that is no scenario."""

file_argument = click.Path(path_type=Path)
scenario_argument = click.argument(
    "file", type=file_argument, metavar="FILE", shell_complete=completion.scenarios
)

SETS = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="Replace a value of the file.",
    shell_complete=completion.keys,
)
QUIET = click.option(
    "-q", "--quiet", is_flag=True, help="Print errors alone (warnings are in the summary too)."
)

JOBS = click.option(
    "--jobs",
    type=options.Whole(1),
    default=threads.cores,
    help="Runs at a time (default: all cores).",
)


# Modules of these commands import much, which all other commands then need not wait for.
LATER = {
    "asic": (
        "devices:asic",
        "Show switch chips and their packet memory.",
    ),
    "calibrate": (
        "calibration.command:calibrate",
        "Say under which traffic the simulated switch of CONFIG (a SONiC switch's config_db.json",
    ),
    "completion": (
        "completion:command",
        "Print the script that completes commands, keys and scenarios in SHELL: bash, zsh or fish.",
    ),
    "doctor": (
        "doctor:doctor",
        "Say what this machine has of what live switches, labs, clusters and notebooks",
    ),
    "drill": (
        "drill.command:drill",
        "Play packetdrill scripts against one connection of the model.",
    ),
    "export": (
        "devices:export",
        "Write a scenario as a real switch's configuration, or a result as other tools'",
    ),
    "fct": (
        "fct:fct",
        "Write the flow completion times of the result directory DIR in the form",
    ),
    "headroom": (
        "devices:headroom",
        "Sum up what still comes in on a lossless port after it pauses its neighbour",
    ),
    "import": ("devices:import_", "Make a scenario of a real switch's configuration."),
    "live": (
        "live.commands:live",
        "Forward real frames between Linux interfaces, with any scheme at each port.",
    ),
    "plot": (
        "plots.command:plot",
        "Draw runs: RUN is a result directory, one of a comparison, or a sweep's",
    ),
    "theory": ("theory.command:theory", "Thresholds and bounds from the papers' analysis."),
    "topology": (
        "topology.commands:topology",
        "Networks: show and draw them, convert files between forms, make files.",
    ),
}
"""Modules of commands that are imported as they are used, and the beginning of each one's help."""


@click.group(
    cls=command_groups.Group,
    commands=command_groups.Later(LATER),
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("-V", "--version", is_flag=True, help="Show the version and exit.")
@click.option("--json", "as_json", is_flag=True, help="With --version: as JSON.")
@click.pass_context
def cli(context: click.Context, version: bool, as_json: bool) -> None:
    """A test bed for data-centre switch queue management."""
    if version:
        from switchbed import doctor

        if as_json:
            options.write_json(doctor.version(), options.STDOUT)
        else:
            say(doctor.named())
        context.exit()
    if as_json:
        raise click.UsageError("--json stands after a command, or beside --version")
    # Help is longer than a screen, so it goes through the pager where there is a terminal.
    if context.invoked_subcommand is None:
        terminal.page(context.get_help() + "\n")


@cli.command()
@scenario_argument
@SETS
@click.option(
    "--seed",
    type=options.Whole(0, 2**63 - 1, instead=" (switchbed sweep --seeds runs several)"),
    help="Replace the seed of the file.",
)
@options.JSON
@click.option(
    "--out", type=file_argument, metavar="DIR", help="Write tables, summary and manifest."
)
@click.option(
    "--tables",
    "form",
    type=click.Choice(FORMATS),
    default="parquet",
    show_default=True,
    help="Format of the tables in DIR.",
)
@JOBS
@click.option(
    "--threads",
    type=options.Whole(1),
    default=1,
    show_default=True,
    help="Threads of each run; its results are the same on any number.",
)
@click.option(
    "--any-threads",
    is_flag=True,
    help="Take them even where runs at a time, times threads, are more than the cores.",
)
@options.ANY_MEMORY
@QUIET
def run(
    file: Path,
    sets: tuple[str, ...],
    seed: int | None,
    json_to: str | None,
    out: Path | None,
    form: Format,
    jobs: int,
    threads: int,
    any_threads: bool,
    any_memory: bool,
    quiet: bool,
) -> int:
    """Run the scenario FILE; with [compare] in it, every combination on all cores.

    FILE is a file, @NAME for a scenario that comes with switchbed, or - for standard input."""
    from switchbed.run import Request
    from switchbed.run import run as command

    return command(
        Request(
            file,
            sets,
            seed,
            json_to,
            out,
            files.forced(),
            form,
            jobs,
            any_memory,
            threads,
            any_threads,
            quiet,
        )
    )


STORE = click.option(
    "--store",
    type=file_argument,
    default="switchbed-store",
    show_default=True,
    help="Directory of sweeps.",
)


@cli.command()
@scenario_argument
@SETS
@STORE
@click.option("--name", help="The sweep's name. Default: the file's.")
@click.option("--seeds", type=options.Whole(1), help="Number of seeds, from the file's first on.")
@click.option(
    "--precision", type=options.Percent(), help="Add seeds until --metric is that precise: 5%."
)
@click.option(
    "--metric", default="fct.all.mean_us", show_default=True, help="A figure of the summary."
)
@click.option(
    "--against",
    metavar="SCHEME",
    help="Make --precision about ratios to this scheme, paired by seed.",
)
@click.option(
    "--max-seeds",
    type=options.Whole(1, 10**6),
    default=30,
    show_default=True,
    help="Most seeds for --precision.",
)
@click.option("--retry", is_flag=True, help="Run again what failed before.")
@QUIET
@engines.engine
def sweep(
    file: Path,
    sets: tuple[str, ...],
    store: Path,
    name: str | None,
    seeds: int | None,
    precision: float | None,
    metric: str,
    against: str | None,
    max_seeds: int,
    retry: bool,
    quiet: bool,
    engine: "Engine",
) -> int:
    """Run what the store does not have of FILE's [compare] × seeds, and keep it there.

    FILE is as for `switchbed run`."""
    from switchbed.sweeps import command
    from switchbed.sweeps.stopping import Rule

    rule = Rule.of(metric, precision, against, max_seeds)
    return command.sweep(file, sets, store, name, seeds, rule, engine, retry=retry, quiet=quiet)


@cli.command()
@click.argument(
    "file",
    type=file_argument,
    metavar="[FILE]",
    required=False,
    shell_complete=completion.scenarios,
)
@SETS
@click.option(
    "--rate", metavar="RATE[/RATE]", help="Without FILE: rates of links, hosts' / fabric's."
)
@click.option("--buffer", metavar="SIZE", help="Without FILE: memory that ports share.")
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="NAME[:W]",
    help="Without FILE: flow sizes, and their weight. Default: web-search.",
)
@click.option("--load", "loads", metavar="L,L", help="Without FILE: loads. Default: 0.3,0.6,0.8.")
@click.option("--scheme", metavar="NAME", help="Without FILE: the scheme. Default: per-queue.")
@click.option(
    "--flows",
    type=options.Whole(1, 10**9),
    metavar="N",
    help="Without FILE: flows of a run, besides its incast. Default: 4000.",
)
@click.option("--profile", metavar="NAME", help="Without FILE: host profile. Default: linux-6.x.")
@options.output(
    "--out", type=file_argument, metavar="FILE", help="Without FILE: keep the scenario there."
)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="KEY[=V,V]",
    help="Key to tune, with its values or a grid around C·RTT. Default: the scheme's threshold.",
)
@click.option(
    "--objective",
    default="fct.small.p99_us",
    show_default=True,
    help="Figure to optimise: small-p99, query, query-p99, job, pauses, headroom, throughput, or a "
    "figure of a summary or table to minimise, as fct[class=1].mean_us.",
)
@click.option(
    "--guard",
    "guards",
    multiple=True,
    metavar="BOUND",
    help="Condition: drops=0, goodput_bps>=0.99*own. Default: slowdown.large.mean<=1.05*best.",
)
@click.option(
    "--target",
    default="sim",
    show_default=True,
    help="System that is to hold the setting: sim, tc, sonic, or a chip (`asic list`).",
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="SCENE:W",
    help="Weight of a scene: load=0.8:2. The mean counts then, not the worst regret.",
)
@click.option(
    "--budget",
    type=options.Minutes(),
    default=30.0,
    show_default=True,
    metavar="MIN",
    help="Most minutes of a core for runs that the store lacks.",
)
@click.option(
    "--delta",
    type=options.Percent(),
    help="Difference that counts as equal: 5% of a tail, 1% of a mean.",
)
@click.option(
    "--seeds",
    type=options.Whole(1, 10**6),
    default=40,
    show_default=True,
    help="Most seeds of the race.",
)
@click.option("--rtt", metavar="TIME", help="Round trip in the empty network. Default: measured.")
@options.output(
    "--fragment",
    type=file_argument,
    metavar="FILE",
    help="Write the advised setting as --target takes it: rows of config_db.json, or tc's script.",
)
@STORE
@click.option("--name", help="The sweep's name. Default: tune- and the file's.")
@options.output(
    "--picture", type=file_argument, metavar="FILE", help="Draw the result: .pdf, .png or .svg."
)
@options.JSON
@QUIET
@engines.engine
def tune(
    file: Path | None,
    sets: tuple[str, ...],
    params: tuple[str, ...],
    objective: str,
    guards: tuple[str, ...],
    target: str,
    weights: tuple[str, ...],
    budget: float,
    delta: float | None,
    seeds: int,
    rtt: str | None,
    fragment: Path | None,
    store: Path,
    name: str | None,
    picture: Path | None,
    json_to: str | None,
    quiet: bool,
    engine: "Engine",
    **outline: Any,
) -> int:
    """Advise a setting of FILE's scheme. A grid, published settings and the file's own race over
    paired seeds, under all workloads of the file's [compare].

    FILE is as for `switchbed run`. Without FILE, --rate, --rtt, --buffer (or a chip as --target)
    and --workload describe the network. Runs are kept as a sweep's: the same command continues."""
    from switchbed.tuning import command
    from switchbed.tuning.tune import Question

    given, weighed = command.given(file, outline, rtt, target)
    asked = Question(
        params,
        objective,
        guards or None,
        target,
        budget,
        delta,
        command.weights([*weighed, *weights]),
        seeds,
        rtt,
        fragment is not None,
    )
    return command.tune(
        given, sets, asked, store, name, engine, picture, fragment, json_to, quiet=quiet
    )


@cli.command()
@click.argument("sql")
@STORE
@options.JSON
@options.CSV
def query(sql: str, store: Path, json_to: str | None, csv_to: str | None) -> None:
    """Ask a store of sweeps in SQL: runs, flows, queues, ports, series are its tables."""
    from switchbed.sweeps import command

    command.query(store, sql, json_to, csv_to)


@cli.command()
@click.argument("paths", nargs=-1, required=True, type=file_argument, metavar="RUN...")
@options.ONLY
@options.measured
@options.OVER
@options.JSON
@options.CSV
def table(
    paths: tuple[Path, ...],
    over: "Over",
    only: tuple[str, ...],
    metric: tuple[str, ...],
    against: str | None,
    since: str | None,
    until: str | None,
    json_to: str | None,
    csv_to: str | None,
) -> None:
    """Print any figures over any settings, with intervals over seeds; two settings are compared by
    --against, seed by seed. RUN is as for `switchbed plot`."""
    from switchbed import comparing
    from switchbed.series import curves, runs

    # None leaves the ends to the metric: series begin at the warm-up's end.
    window = options.seconds("--from", since), options.seconds("--until", until)
    asked = curves.Asked(metric, against=against, window=window)
    with files.believing(paths):
        found = runs.read(paths, only, over)
        rows = curves.table(found, asked)
    options.write_rows(rows, json_to, csv_to)
    if json_to is None and csv_to is None:
        for note in (*curves.notes(rows), *comparing.identical(run.outcome for run in found)):
            say(note)
    from switchbed import printing

    printing.print_timers([run.outcome for run in found])


@cli.command()
@click.argument("path", type=file_argument, metavar="RUN|SWEEP")
@options.output(
    "--out", type=file_argument, default="report.html", show_default=True, help="File to write."
)
@click.option("--title", default="", help="Title. Default: the scenario's.")
@options.ONLY
@options.over
@options.OVER
@click.option(
    "--against",
    metavar="KEY=VALUE",
    help="What others are compared with, paired by seed. Default: the first scheme.",
)
def report(
    path: Path,
    out: Path,
    title: str,
    only: tuple[str, ...],
    over: "Over",
    against: str | None,
    **keys: str,
) -> None:
    """Write a report as one HTML file that works offline. RUN is a result directory, of one run or
    a comparison; SWEEP a STORE/sweeps/NAME.parquet."""
    from switchbed.report import page
    from switchbed.series import runs

    page.check(out)
    with files.believing([path]):
        asked = page.Asked(against=against, name=path.stem, **keys)
        page.write(runs.read([path], only, over), out, title, runs.failures(path), asked)
    say(f"written to {out}")


@cli.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.JSON
def schemes(names: tuple[str, ...], json_to: str | None) -> None:
    """List the schemes, or those of the NAMEs: seats, parameters with units and defaults, source;
    and the classes of installed packages that have a scheme's name. With --json and no NAME the
    policies of a switch's memory too, with their key."""
    usable = sorted(plugged.usable().items())
    classes = [plugged.described(name, of) for name, of in usable if not names or name in names]
    # A class of an installed package hides nothing: its name cannot be that of a built-in scheme.
    built_in = [name for name in names if name not in dict(usable)]
    every = library.schemes()
    found = library.named(built_in, every) if names else every
    policies = [] if names else library.policies()
    if json_to is not None:
        options.write_json([*found, *classes, *policies], json_to)
    else:
        from switchbed import printing

        printing.print_schemes(found)
        printing.print_classes(classes)
        if policies:
            say(f"switch.policy: {', '.join(policy['name'] for policy in policies)}")


@cli.command()
@options.JSON
def sizes(json_to: str | None) -> None:
    """List the built-in flow-size tables: mean, percentiles, source."""
    found = library.sizes()
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        library.print_sizes(found)


@cli.command()
@click.argument(
    "kind", type=click.Choice([*library.templates(), SCHEME]), default="star", metavar="[KIND]"
)
@click.argument("name", required=False, metavar="[NAME]")
@options.output(
    "--out",
    type=file_argument,
    metavar="FILE",
    help="Where to, - for standard output. Default: KIND.toml; of a scheme the folder NAME.",
)
@click.option(
    "--source", type=file_argument, metavar="TREE", help="Of a scheme: Switchbed's source tree."
)
def new(kind: str, name: str | None, out: Path | None, source: Path | None) -> None:
    """Write a commented scenario that runs at once, to begin one of your own with; or, with scheme
    NAME, a crate of one file with a scheme in Rust.

    KIND is star (the default), leaf-spine, incast or dumbbell."""
    if kind != SCHEME:
        if name is not None or source is not None:
            # Both arguments are a scheme's alone, though click parses them for every kind.
            raise Mistake(f"switchbed new {kind}: a scenario has no NAME and no --source")
        library.write_new(kind, out)
        return
    from switchbed import building

    if name is None:
        raise Mistake("switchbed new scheme: a name is missing: switchbed new scheme my-scheme")
    building.write_new(name, out, source)


@cli.command()
@click.argument("folder", type=file_argument, metavar="DIR")
@click.option("--dev", is_flag=True, help="Build in less time; the scheme runs slower.")
@click.option("--source", type=file_argument, metavar="TREE", help="Switchbed's source tree.")
def build(folder: Path, dev: bool, source: Path | None) -> None:
    """Build the crate in DIR, which `new scheme` wrote, into a wheel in DIR/dist. Installed, it
    adds the crate's schemes to Switchbed's."""
    from switchbed import building

    wheel = building.build(folder, source, dev=dev)
    say(f"written to {wheel}; install it into {sys.prefix}")


@cli.command()
@click.argument("name", metavar="SCHEME")
@click.option(
    "--sequences",
    type=options.Whole(1),
    default=20,
    show_default=True,
    help="Sequences of each case.",
)
@click.option("--seed", type=options.Whole(0, 2**63 - 1), default=1, show_default=True)
@options.JSON
def conformance(name: str, sequences: int, seed: int, json_to: str | None) -> int:
    """Check that a scheme in Rust keeps every promise of a port, on random sequences of operations:
    with each word and flag of its parameters, and under each policy of memory."""
    from switchbed import _native, printing

    found = json.loads(_native.conformance(name, sequences, seed))
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        printing.print_conformance(found)
    return int(found["failure"] is not None)


@cli.group()
def host() -> None:
    """Show host profiles, which give the defaults of a scenario's hosts."""


@host.command("list")
@options.JSON
def list_profiles(json_to: str | None) -> None:
    """List the profiles."""
    from switchbed import profiles

    found = library.hosts()
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        profiles.print_list(found)


@host.command()
@click.argument("name")
@SETS
@options.JSON
def show(name: str, sets: tuple[str, ...], json_to: str | None) -> None:
    """Show every key of a profile with its source, and which of the things that hosts do it
    models. NAME is a profile's, or a file of your own, ending in .toml.

    Of a scenario, @NAME or its file, show which hosts have what."""
    from switchbed import profiles

    if library.is_scenario(name):
        stacks = profiles.of_scenario(library.given(name).plans(sets)[0])
        if json_to is not None:
            options.write_json(stacks, json_to)
        else:
            profiles.print_hosts(stacks)
        return
    if sets:
        raise Mistake(f"--set: {name} is a host profile, which has no settings to override")
    found = profiles.read(name)
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        profiles.print_profile(found)


@host.command()
@click.argument("one")
@click.argument("other")
@options.JSON
def diff(one: str, other: str, json_to: str | None) -> None:
    """Show the keys that two profiles give different values."""
    from switchbed import profiles

    found = profiles.differences(one, other)
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        profiles.print_differences(one, other, found)


@cli.group()
def scenario() -> None:
    """Check scenario files, list those that come with switchbed, or print their schema."""


@scenario.command("list")
@options.JSON
def list_scenarios(json_to: str | None) -> None:
    """List the scenarios that come with switchbed, each by its @NAME."""
    found = library.scenarios()
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        library.print_scenarios(found)


@scenario.command()
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=file_argument,
    metavar="FILE...",
    shell_complete=completion.scenarios,
)
@SETS
@click.option("--memory", is_flag=True, help="Say how much memory a run takes, be it little.")
@click.option(
    "--allow-python",
    is_flag=True,
    help="Import the classes of schemes in Python and make them, as a run does: it executes them.",
)
@options.JSON
def check(
    paths: tuple[Path, ...],
    sets: tuple[str, ...],
    memory: bool,
    allow_python: bool,
    json_to: str | None,
) -> int:
    """Say of each FILE whether it would run. FILE is as for `switchbed run`. The file of a scheme
    in Python is read, and not executed unless by --allow-python."""
    from switchbed import free_memory, links, printing
    from switchbed.prototype import process

    found: list[dict[str, Any]] = []
    for path in paths:
        try:
            plans = library.given(path).plans(sets)
            unmade = process.read(plans) and not allow_python
            if allow_python:
                process.check(plans)
        except Mistake as mistake:
            found.append({"file": str(path), "ok": False, "mistake": str(mistake)})
            complain(str(mistake))
            continue
        # One run at a time: `check` says what a run takes, and `run` multiplies by its jobs.
        need = free_memory.Need.of(plans, 1)
        # Runs of a comparison mostly have the same remarks; a dict keeps their order.
        said = list(dict.fromkeys(line for plan in plans for line in plan.cautions))
        if unmade:
            said.append(
                "its classes in Python were read, not executed; --allow-python, if you trust them, "
                "makes them as a run does"
            )
        found.append(
            {
                "file": str(path),
                "ok": True,
                "runs": len(plans),
                "memory_bytes": need.bytes,
                "busiest_links": (busiest := printing.busiest_links(plans)),
                "packet_hops": (hops := links.packet_hops(plans[0])),
                "repetitions": (repeated := printing.repetitions(plans)),
                "headroom": (groups := printing.headrooms(plans)),
                "warnings": said,
            }
        )
        for caution in said if json_to is None else ():
            say(f"{path}: warning: {caution}", err=True)
        if json_to is None:
            takes = f"; {need}" if memory or need.bytes >= free_memory.LARGE else ""
            if busiest:
                say(f"{path}: {printing.in_words(busiest)}", err=True)
            for each in repeated:
                say(f"{path}: {printing.repetition(each)}", err=True)
            for line in dict.fromkeys(line for each in groups for line in printing.headroom(each)):
                say(f"{path}: {line}")
            if hops:
                say(f"{path}: {printing.expected(hops, len(plans))}", err=True)
            say(f"{path}: ok, {len(plans)} run{'s' * (len(plans) != 1)}{takes}")
    if json_to is not None:
        options.write_json(found, json_to)
    # Every file is checked before the exit code tells whether one was refused.
    return 0 if all(each["ok"] for each in found) else BAD_INPUT


@scenario.command()
@click.argument("paths", nargs=-1, required=True, type=file_argument, metavar="FILE...")
def migrate(paths: tuple[Path, ...]) -> None:
    """Name the host profile switchbed-0.1 in each FILE that names none, so that its results stay
    the same. All else in the file stays."""
    from switchbed import profiles

    for path in paths:
        changed = profiles.migrate(library.own(path))
        say(f"{path}: {'host.profile is now named' if changed else 'names its host profile'}")


@scenario.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    from switchbed import _native

    options.write_json(json.loads(_native.schema()), options.STDOUT)


@scenario.command()
@click.argument("of", nargs=-1, metavar="[SECTION|SECTION.KEY=WORD|SCHEME]...")
def keys(of: tuple[str, ...]) -> None:
    """Print every key of scenario files, with unit, default and meaning.

    Of a section (`topology`), of what applies to a kind (`topology.kind=clos`) or of a scheme
    (`mq-ecn`), its keys alone.
    """
    from switchbed import _native

    parts = [_native.reference_of(part) for part in of]
    terminal.page("\n".join(parts) if parts else _native.reference())


@cli.group()
def traffic() -> None:
    """Show what hosts do for a scenario's traffic."""


@traffic.command("show")
@scenario_argument
@SETS
@click.option(
    "--entry",
    type=options.Whole(0),
    help="Place among [[traffic]], from 0.  [default: the first that has operations]",
)
def show_traffic(file: Path, sets: tuple[str, ...], entry: int | None) -> None:
    """Print a collective, a GOAL file or a list with `after` of the scenario FILE as GOAL's text:
    who sends what to whom, and what waits for what, in one repetition."""
    plan = library.given(file).plans(sets)[0]
    count = len(json.loads(plan.scenario)["traffic"])
    if entry is not None and entry >= count:
        raise Mistake(f"--entry {entry}: {file} has {count} [[traffic]], numbered from 0")
    places = range(count) if entry is None else [entry]
    # Without --entry the first entry that is a program of operations is printed.
    found = next(filter(None, map(plan.goal, places)), None)
    if found is None:
        which = "traffic" if entry is None else f"traffic.{entry}"
        raise Mistake(f"{file}: {which} has no operations that wait: its flows start by time")
    terminal.page(found)


@traffic.command("critical")
@click.argument("folder", type=click.Path(path_type=Path), metavar="RESULT")
@click.option(
    "--entry", type=options.Whole(0), help="Place among [[traffic]].  [default: the first]"
)
@click.option("--repetition", type=options.Whole(0), help="Which one, from 0.  [default: the last]")
@options.JSON
def critical(folder: Path, entry: int | None, repetition: int | None, json_to: str | None) -> None:
    """Show what the time of a collective went to: the operations of RESULT that each waited for
    the one before, up to the last (measure.operations)."""
    from switchbed import path as paths
    from switchbed.result import Result
    from switchbed.series import operations

    with files.believing([folder]):
        found = operations.critical(Result.load(folder), entry, repetition)
    if json_to is not None:
        options.write_json(paths.described(found), json_to)
    else:
        paths.show(found)


@cli.command()
@options.JSON
@click.option("--scenario", "only", metavar="NAME", help="Only this one.")
@click.option(
    "--repeat",
    type=options.Whole(1),
    default=3,
    show_default=True,
    help="Runs of each; the median counts.",
)
def bench(json_to: str | None, only: str | None, repeat: int) -> None:
    """Measure the simulator's speed and memory on its built-in scenarios."""
    from switchbed import bench as command

    found = command.measure(only, repeat)
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        from switchbed import printing

        printing.print_bench(found)


def main() -> NoReturn:
    """Run the program and end the process with its exit code."""
    # Closed by whoever began us: what is opened next would take their numbers.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # of an encoding that may lack a character
            stream.reconfigure(errors="backslashreplace")

    def work() -> object:
        signals.install()
        plugged.check()
        for why in plugged.LEFT_OUT.values():
            say(f"warning: {why}", err=True)
        return cli.main(prog_name="switchbed", standalone_mode=False)

    finish(work)
