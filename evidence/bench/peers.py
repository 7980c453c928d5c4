"""`make bench-peers`: processor time and memory of ns-3, ns-2 and Switchbed on the same
scenarios, in turn on the same machine.

Writes results.json, of which docs/performance.md has tables, and ends with 1 if the
simulators do not agree on what happened.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evidence.bench import instructions
from evidence.kept import Kept
from evidence.peers import page, simulators
from switchbed import ending
from switchbed._native import Mistake

ROUNDS = 5
SENDERS = 8
STAR_S = 0.2
LOAD = 0.5
COUNTED_S = (0.005, 0.015)
"""Two runs of a star; what one does beyond the other is counted in instructions."""
FLOWS = 120
LIST_SEED = 1
OURS = "Switchbed"

Figures = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """A scenario in one simulator: a process that prints a line of JSON."""

    simulator: str
    command: tuple[str, ...]
    flags: str
    outcome: Callable[[Figures], Figures]
    """What a run found, to compare with the others', from its JSON. Ours are lists, from runs
    of their own: first with the seed of the measured run, then with others."""
    lengths: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """The command for a short and a longer run, to count instructions between."""

    def run(self) -> tuple[Figures, Figures]:
        """What it printed, and what it cost: ours without the interpreter's start, the
        others whole; their start is some milliseconds."""
        helper = (sys.executable, "-S", "-E", str(Path(__file__).with_name("measured.py")))
        done = subprocess.run(
            [*helper, *self.command], stdout=subprocess.PIPE, cwd=simulators.WORK, check=False
        )
        if done.returncode != 0:
            raise Mistake(f"{self.simulator} failed: {' '.join(self.command)}")
        measured = json.loads(done.stdout)
        found: Figures = measured["printed"]
        cost = {
            "cpu_s": found["cpu_s"] if self.simulator == OURS else measured["cpu_s"],
            "packet_hops": found["packet_hops"],
            "peak_rss_bytes": measured["peak_rss_bytes"],
        }
        return found, cost


@dataclass(frozen=True)
class Bench:
    """A scenario in every simulator that can do it, ours first."""

    name: str
    what: str
    programs: list[Program]


def main() -> int:
    """Everything; returns the exit code. An argument is the number of rounds."""
    rounds = _rounds(sys.argv[1:])
    benches = _benches()
    found = {
        "machine": simulators.machine(),
        "switchbed": simulators.VERSION,
        "rounds": rounds,
        "load_average": round(os.getloadavg()[0], 1),
        "benches": [_measure(bench, rounds) for bench in benches],
    }
    RESULTS.write(found)
    print(f"written: {RESULTS}\n")
    print(tables(found))
    off = disagreements(found)
    for line in off:
        print(f"disagrees: {line}", file=sys.stderr)
    return 1 if off else 0


def _rounds(arguments: list[str]) -> int:
    if not arguments:
        return ROUNDS
    if len(arguments) > 1 or not arguments[0].isdecimal() or int(arguments[0]) == 0:
        raise Mistake(f"bench.peers {' '.join(arguments)}: want the number of rounds, 1 or more")
    return int(arguments[0])


def _benches() -> list[Bench]:
    ns3s = [simulators.needed(), *([wheel] if (wheel := simulators.wheel()) else [])]
    if len(ns3s) == 1:
        print("without ns-3's wheel: `make setup-peers` installs it where there is one")
    simulators.WORK.mkdir(parents=True, exist_ok=True)
    flows = simulators.flow_list(LOAD, FLOWS, LIST_SEED)
    star_ns3 = [_star_in_ns3(ns3) for ns3 in ns3s]
    fabric_ns3 = [_fabric_in_ns3(ns3, flows) for ns3 in ns3s]
    benches = [
        Bench(
            "star",
            f"{SENDERS} DCTCP senders, {STAR_S:g} s",
            [_our_star("dctcp"), *star_ns3],
        ),
        Bench(
            "leaf-spine",
            f"144 hosts, {FLOWS:,} web-search flows at load {LOAD:g}",
            [_ours(simulators.leaf_spine(flows), _times), *fabric_ns3],
        ),
    ]
    if shutil.which("ns"):
        star_ns2 = [_our_star("ecn-star"), _star_in_ns2()]
        benches.insert(1, Bench("star-ecn", f"{SENDERS} ECN* senders, {STAR_S:g} s", star_ns2))
    else:
        print("without ns-2: `make setup-peers` installs it")
    return benches


def _ours(file: Path, outcome: Callable[[Path], Figures], *sets: str) -> Program:
    command = (sys.executable, "-m", "switchbed.bench", str(file), *sets)
    return Program(OURS, command, "maturin develop --release", lambda _: outcome(file))


def _our_star(tcp: str) -> Program:
    file = _star(tcp)
    short, long = (
        _ours(file, _goodput, f"run.until={seconds * 1e3:g}ms").command for seconds in COUNTED_S
    )
    return replace(_ours(file, _goodput), lengths=(short, long))


def _star(tcp: str) -> Path:
    """Our star with one transport, without queue statistics, as a file of its own."""
    plan = f"star-{tcp}.toml"
    threshold = {"dctcp": 65, "ecn-star": 84}[tcp]
    text = (simulators.HERE / "star.toml").read_text()
    changes = {
        'kind = "dctcp"': f'kind = "{tcp}"',
        '"65pkt"': f'"{threshold}pkt"',
        "ecn_acks = true": f"ecn_acks = {str(tcp == 'dctcp').lower()}",
        'warmup = "50ms"': 'warmup = "0s"',
        'queues = ["switch:8"]': 'queues = "off"',
        'until = "250ms"': f'until = "{STAR_S * 1e3:g}ms"',
    }
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file = simulators.WORK / plan
    file.write_text(text)
    return file


def _goodput(file: Path) -> Figures:
    return {"goodput_gbps": [simulators.ours(file).summary["goodput_bps"] / 1e9]}


def _times(file: Path) -> Figures:
    """The mean of all flows; `make validate` compares the classes, on a longer list."""
    runs = [
        simulators.fct_by_class(simulators.ours(file, seed=seed).flows) for seed in simulators.SEEDS
    ]
    return {"mean_fct_us": [run["all"]["mean_us"] for run in runs]}


def _star_in_ns3(ns3: simulators.Ns3) -> Program:
    def command(seconds: float) -> tuple[str, ...]:
        arguments = [f"--senders={SENDERS}", "--warmup=0s", f"--end={seconds}s", "--sampling=0s"]
        return (str(ns3.build("star")), *arguments)

    return _peers_star(ns3.name, ns3.flags, command)


def _fabric_in_ns3(ns3: simulators.Ns3, flows: Path) -> Program:
    times = flows.with_suffix(f".{ns3.version}.csv")
    command = (str(ns3.build("leaf_spine")), f"--flows={flows}", f"--out={times}")
    return Program(ns3.name, command, ns3.flags, lambda _: _mean(flows, times))


def _mean(flows: Path, times: Path) -> Figures:
    return {"mean_fct_us": simulators.peer_fct(flows, times)["all"]["mean_us"]}


def _star_in_ns2() -> Program:
    def command(seconds: float) -> tuple[str, ...]:
        return ("ns", str(simulators.HERE / "ns2" / "star.tcl"), str(SENDERS), "84", str(seconds))

    return _peers_star("ns-2.35", "Debian's binary", command)


def _peers_star(name: str, flags: str, command: Callable[[float], tuple[str, ...]]) -> Program:
    short, long = map(command, COUNTED_S)
    return Program(name, command(STAR_S), flags, _printed_goodput, (short, long))


def _printed_goodput(found: Figures) -> Figures:
    return {"goodput_gbps": found["goodput_gbps"]}


def _measure(bench: Bench, rounds: int) -> Figures:
    """Runs the programs in turn, `rounds` times."""
    costs: dict[str, list[Figures]] = {program.simulator: [] for program in bench.programs}
    found: dict[str, Figures] = {}
    for count, program in _turns(bench, rounds):
        begin = time.monotonic()
        found[program.simulator], cost = program.run()
        costs[program.simulator].append(cost)
        print(
            f"{bench.name}: round {count} of {rounds}: {program.simulator}: "
            f"{cost['cpu_s']:.2f} s of processor time, {time.monotonic() - begin:.0f} s in all",
            flush=True,
        )
    counts = {program.simulator: _instructions(program) for program in bench.programs}
    return {
        "name": bench.name,
        "what": bench.what,
        "simulators": [
            {
                "simulator": program.simulator,
                "instructions_per_hop": counts[program.simulator],
                "flags": program.flags,
                "outcome": program.outcome(found[program.simulator]),
                "runs": costs[program.simulator],
            }
            for program in bench.programs
        ],
    }


def _instructions(program: Program) -> float | None:
    if program.lengths is None:
        return None
    print(f"counting the instructions of {program.simulator}", flush=True)
    return instructions.per_hop(*program.lengths, simulators.WORK)


def _turns(bench: Bench, rounds: int) -> Iterator[tuple[int, Program]]:
    for count in range(1, rounds + 1):
        for program in bench.programs:
            yield count, program


RESULTS = Kept(Path(__file__).parent, "peers")
MIB = 2**20

Found = dict[str, Any]

TEXT = """\
## Beside other simulators

The same scenarios on the same machine, each simulator in turn, {rounds} rounds; `make setup-peers`
(as root) and `make bench-peers` repeat it. {machine}; Switchbed {switchbed}. All run on one thread.

{tables}

Figures are medians. A **packet-hop** is one packet sent by one port, ACKs counted; the simulators
count it the same way. Processor time is the whole process's, ours without the start of Python;
memory is the peak of the whole process, Python's included. "Against ours" is the ratio of the
median processor times, and in brackets its range over the rounds. As the runs began,
{load_average:g} processes wanted a core (load average): other work moves single runs and costs the
program with the larger footprint more, so that an idle machine may give other ratios. Instructions
do not depend on that; valgrind counts them between two runs of different length.

They simulate the same thing: {agreement}. ns-3's settings are those of the
[validation](validation.md), which compares more, without traces or samples; `{flags}`.
ns-2 is Debian's binary; it has no DCTCP, hence ECN*, and its TCP is simpler: no handshake, no
checksums, no bytes."""


def render(found: Found) -> str:
    """The block's text."""
    flags = {s["flags"] for b in found["benches"] for s in b["simulators"] if "-O3" in s["flags"]}
    return TEXT.format(
        rounds=found["rounds"],
        load_average=found["load_average"],
        machine=page.machine(found["machine"]),
        switchbed=found["switchbed"],
        tables=tables(found),
        agreement=_agreement(found),
        flags="`, `".join(sorted(flags)),
    )


def tables(found: Found) -> str:
    """A table for each scenario."""
    return "\n\n".join("\n".join(_table(bench)) for bench in found["benches"])


def _table(bench: Found) -> Iterator[str]:
    heads = ["packet-hops", "processor time, s", "ns a packet-hop", "against ours"]
    heads += ["instructions a packet-hop", "against ours", "memory, MiB", "against ours"]
    counted = any(simulator["instructions_per_hop"] for simulator in bench["simulators"])
    if not counted:
        del heads[4:6]
    yield f"| {bench['what']} | {' | '.join(heads)} |"
    yield "| --- |" + " --- |" * len(heads)
    ours = bench["simulators"][0]
    for simulator in bench["simulators"]:
        runs = simulator["runs"]
        hops, cpu_s = _median(runs, "packet_hops"), _median(runs, "cpu_s")
        cells = [f"{hops / 1e6:,.2f} M", f"{cpu_s:.2f}", f"{cpu_s * 1e9 / hops:,.0f}"]
        cells.append(_times_ours(runs, ours["runs"]))
        if counted:
            count = simulator["instructions_per_hop"]
            cells += [f"{count:,.0f}", f"{count / ours['instructions_per_hop']:.1f}"]
        peak = _median(runs, "peak_rss_bytes")
        cells += [f"{peak / MIB:,.0f}", f"{peak / _median(ours['runs'], 'peak_rss_bytes'):.1f}"]
        yield f"| {simulator['simulator']} | {' | '.join(cells)} |"


def _times_ours(runs: Sequence[Found], ours: Sequence[Found]) -> str:
    """How many times our processor time, and the range over the rounds."""
    ratios = [a["cpu_s"] / b["cpu_s"] for a, b in zip(runs, ours, strict=True)]
    ratio = _median(runs, "cpu_s") / _median(ours, "cpu_s")
    return "1" if runs is ours else f"{ratio:.3g} ({min(ratios):.3g} to {max(ratios):.3g})"


def disagreements(found: Found) -> list[str]:
    """Outcomes and packet-hops that differ from ours, as in docs/validation.md."""
    return [
        f"{bench}: {simulator}: {figure}: {theirs:g} against our {ours[0]:g}"
        for bench, simulator, figure, ours, theirs in _pairs(found)
        if not page.agrees(ours, theirs)
    ]


def _agreement(found: Found) -> str:
    """The largest differences by kind of figure."""
    worst: dict[str, float] = {}
    for _, _, figure, ours, theirs in _pairs(found):
        words = {"goodput_gbps": "goodput", "packet_hops": "packet-hops", "mean_fct_us": "mean FCT"}
        off = abs(theirs / ours[0] - 1)
        worst[words[figure]] = max(worst.get(words[figure], 0.0), off)
    return ", ".join(f"{word} within {off:.1%} of ours" for word, off in worst.items())


def _pairs(found: Found) -> Iterator[tuple[str, str, str, list[float], float]]:
    """Bench, simulator, figure, ours with each seed, theirs."""
    for bench in found["benches"]:
        ours, *others = bench["simulators"]
        hops = [_median(ours["runs"], "packet_hops")]
        for other in others:
            name = bench["name"], other["simulator"]
            for figure, values in ours["outcome"].items():
                yield *name, figure, values, other["outcome"][figure]
            yield *name, "packet_hops", hops, _median(other["runs"], "packet_hops")


def _median(runs: Sequence[Found], figure: str) -> float:
    return float(statistics.median(run[figure] for run in runs))


if __name__ == "__main__":
    ending.finish(main)
