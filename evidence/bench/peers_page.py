"""The peers' block of docs/performance.md from results.json, and what counts as agreement
there."""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evidence.kept import Kept
from evidence.peers import page

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
        cells.append(_times(runs, ours["runs"]))
        if counted:
            count = simulator["instructions_per_hop"]
            cells += [f"{count:,.0f}", f"{count / ours['instructions_per_hop']:.1f}"]
        peak = _median(runs, "peak_rss_bytes")
        cells += [f"{peak / MIB:,.0f}", f"{peak / _median(ours['runs'], 'peak_rss_bytes'):.1f}"]
        yield f"| {simulator['simulator']} | {' | '.join(cells)} |"


def _times(runs: Sequence[Found], ours: Sequence[Found]) -> str:
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
