"""Relations between runs that hold whatever is right: tried over every scheme, memory policy, chip,
transport, topology, host profile and offload that the product lists.

    python -m evidence.robustness.metamorphic [--more TIMES] [--cases N] [--seed N] [--jobs N]

It ends with the figure "N runs, M comparisons, none bad" under a table of the relations; the exit
code is 1 if any is bad, and each bad one leaves scenario files below results/metamorphic that
repeat it.

A relation that ties may decide says so in the column "undecided": there the same run with its flows
begun some picoseconds earlier or later differs as much.
"""

import argparse
import collections
import json
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from evidence.robustness import combinations, transformed
from evidence.robustness.combinations import Case, Scenario
from switchbed import _native, toml

ROOT = Path(__file__).resolve().parents[2]
FAILURES = ROOT / "results" / "metamorphic"
CASES = 5_000
"""Combinations by default: they take some minutes on two cores."""
A_COMBINATION_S = 0.1
"""Of the processor, on the machine of docs/performance.md."""
SECONDS = 20.0
"""A run that takes longer is stopped and counts as bad."""

Row = dict[str, object]
HELD, UNDECIDED, BAD = "held", "undecided", "bad"


@dataclass(frozen=True)
class Outcome:
    """A run's tables."""

    tree: Scenario
    summary: dict[str, object]
    flows: list[Row]
    ports: list[Row]
    tables: frozenset[str]

    def switch_ports(self) -> list[Row]:
        """Ports of switches."""
        return [port for port in self.ports if not str(port["port"]).startswith("host")]

    def results(self) -> list[tuple[object, ...]]:
        """Outcome of each flow."""
        return [tuple(flow[key] for key in COMPARED) for flow in self.flows]


COMPARED = ("row", "fct_s", "received_bytes", "timeouts", "retransmissions", "ecn_cuts", "failed")
DROPS = (
    "drops_full",
    "drops_not_ecn_capable",
    "drops_early",
    "drops_pushed_out",
    "drops_at_departure",
)


class StoppedError(Exception):
    """A run that takes too long."""


@dataclass(frozen=True)
class Found:
    """Outcome of a relation on a combination."""

    relation: str
    verdict: str
    comparisons: int = 1
    why: str = ""
    trees: tuple[Scenario, ...] = ()


@dataclass
class Tally:
    """A combination's relations and how many runs they took."""

    case: Case
    runs: int = 0
    found: list[Found] = field(default_factory=list)


def run(tree: Scenario) -> Outcome:
    """Runs a scenario to its end."""
    import polars as pl

    plan = combinations.plan(tree)
    progress = _native.Progress()
    watch = threading.Timer(SECONDS, progress.cancel)
    watch.start()
    try:
        results = plan.run(progress)
    finally:
        watch.cancel()
    if results is None:
        raise StoppedError
    return Outcome(
        tree,
        json.loads(results.summary),
        sorted(pl.DataFrame(results.flows).to_dicts(), key=lambda flow: _int(flow["row"])),
        pl.DataFrame(results.ports).to_dicts(),
        frozenset(results.monitors),
    )


# Of one run.


def fct_over_ideal(case: Case, of: Outcome) -> Iterator[str | None]:
    """No flow is faster than its bytes on its host's line and the delay of two links."""
    if of.tree.get("event"):
        return
    lines = of.tree["topology"]
    delay_s = _native.time_ps(lines.get("delay") or lines["host_delay"]) / 1e12
    rate = _native.rate_bps(lines.get("rate") or lines["host_rate"])
    for flow in of.flows:
        fct, size = _float(flow["fct_s"]), _float(flow["size_bytes"])
        if math.isnan(fct) or (case.get("transport") == "udp" and flow["received_bytes"] != size):
            continue
        least = size * 8 / rate + 2 * delay_s
        slow = _float(flow["slowdown"])
        yield (
            None
            if fct >= least and (slow >= 1 - 1e-9 or case.get("transport") == "udp")
            else f"flow {flow['row']} took {fct} s, {slow} times its ideal, and its bytes {least} s"
        )


def utilisation_is_a_share(_: Case, of: Outcome) -> Iterator[str | None]:
    """A line sends for a part of the time."""
    for port in of.ports:
        used = _float(port["utilisation"])
        yield None if 0 <= used <= 1 else f"{port['port']} is used {used}"


def busiest_is_busiest(_: Case, of: Outcome) -> Iterator[str | None]:
    """The summary's bottleneck is the switch port that sent for the largest part of the time."""
    named = of.summary["bottleneck"]
    assert isinstance(named, dict)
    most = max(_float(port["utilisation"]) for port in of.switch_ports())
    said = next(port for port in of.ports if port["port"] == named["port"])
    right = _float(said["utilisation"]) == most == named["utilisation"]
    yield None if right else f"{named} is named busiest, and another is used {most}"


def switches_keep_nothing(_: Case, of: Outcome) -> Iterator[str | None]:
    """Ports of a switch sent or dropped all that neighbours sent to it. The last flow begins when
    all else has drained, so that nothing is held. Bytes of drops are in no table: they are compared
    where there are none."""
    late = of.flows[-1]["start_s"] == transformed.LATE_S
    if not late or not of.summary["complete"] or of.summary["notifications"]:
        return
    brought: collections.Counter[tuple[str, str]] = collections.Counter()
    left: collections.Counter[tuple[str, str]] = collections.Counter()
    gone: collections.Counter[str] = collections.Counter()
    for port in of.ports:
        to, name = str(port["to"]), str(port["port"]).partition(":")[0]
        for unit in ("packets", "bytes"):
            brought[to, unit] += _int(port[f"sent_{unit}"])
            left[name, unit] += _int(port[f"sent_{unit}"])
        brought[to, "packets"] -= _int(port["lost_packets"])
        drops = sum(_int(port[drop]) for drop in DROPS)
        left[name, "packets"] += drops
        gone[name] += drops
        gone[to] += _int(port["lost_packets"])
    for name in {str(port["port"]).partition(":")[0] for port in of.switch_ports()}:
        for unit in ("packets",) if gone[name] else ("packets", "bytes"):
            at = (name, unit)
            same = brought[at] == left[at]
            yield None if same else f"{name} was brought {brought[at]} {unit}, and {left[at]} left"


def lossless_loses_nothing(_: Case, of: Outcome) -> Iterator[str | None]:
    """With computed headroom no packet of a lossless class is dropped."""
    pfc = of.tree["switch"].get("pfc")
    if pfc is None or len(pfc["priorities"]) < of.tree["switch"]["queues"]:
        return
    for port in of.switch_ports():
        full = _int(port["drops_full"]) + _int(port["drops_pushed_out"])
        yield None if full == 0 else f"{port['port']} dropped {full} packets for want of room"


ALONE: tuple[tuple[str, Callable[[Case, Outcome], Iterator[str | None]]], ...] = (
    ("FCT at least ideal", fct_over_ideal),
    ("utilisation in 0 to 1", utilisation_is_a_share),
    ("the port named busiest is", busiest_is_busiest),
    ("sent + dropped = arrived", switches_keep_nothing),
    ("lossless class loses nothing", lossless_loses_nothing),
)


# Of two runs.


def unmarkable_is_unmarked(case: Case, base: Outcome, again: "Again") -> Iterator[Found]:
    """Nothing is marked where nothing is ECN-capable."""
    name = "no mark without ECN"
    key = "roce" if case.get("transport") in transformed.ROCE else "transport"
    plain = transformed.without_ecn(base.tree, key)
    other = again(plain)
    if other is None:
        return
    marked = [port["port"] for port in other.ports if port["marked_packets"]]
    why = f"{marked} marked packets that are not ECN-capable" if marked else ""
    yield Found(name, BAD if marked else HELD, len(other.ports), why, (plain,))


def switches_drain(_: Case, base: Outcome, again: "Again") -> Iterator[Found]:
    """The same with a flow that begins when all else is over, for `switches_keep_nothing`."""
    again(transformed.with_late_flow(base.tree))
    yield from ()


def monitors_change_nothing(_: Case, base: Outcome, again: "Again") -> Iterator[Found]:
    """Flows and ports are the same whoever looks on."""
    port = str(base.switch_ports()[0]["port"])
    for measure in transformed.measures(port, base.summary["simulated_s"]):
        other = again({**base.tree, "measure": measure})
        if other is not None:
            yield _same("a monitor changes nothing", base, other, ports=True)


def unused_queue_changes_nothing(case: Case, base: Outcome, again: "Again") -> Iterator[Found]:
    """One more queue that no packet joins leaves flows alone, where no rule counts queues."""
    if transformed.counts_queues(case, base.tree):
        return
    other = again(transformed.with_queue(base.tree))
    if other is not None:
        yield _same("an unused queue changes nothing", base, other)


def idle_host_changes_nothing(case: Case, base: Outcome, again: "Again") -> Iterator[Found]:
    """One more host on each switch that neither sends nor receives leaves flows alone."""
    if transformed.counts_ports(case, base.tree):
        return
    tree = transformed.with_idle_host(case, base.tree)
    other = again(tree) if tree else None
    if other is not None:
        yield _same("an idle host changes nothing", base, other)


def renumbered_hosts_permute(case: Case, base: Outcome, again: "Again") -> Iterator[Found]:
    """Two senders of one switch that change numbers change results."""
    if transformed.counts_ports(case, base.tree) or transformed.draws_by_host(base.tree):
        return
    plain = again(transformed.uneven(case, base.tree))
    tree = transformed.with_swapped_senders(case, plain.tree) if plain else None
    other = again(tree) if tree else None
    if plain is not None and other is not None:
        yield from _close("renumbered hosts permute", plain, other, 1.0, again)


def scaled(case: Case, base: Outcome, again: "Again") -> Iterator[Found]:
    """Twice the rates and half the times halve every flow's time."""
    plain = again(transformed.uneven(case, transformed.without_seconds(base.tree)))
    if plain is None or transformed.has_seconds(case, plain.summary["simulated_s"]):
        return
    other = again(transformed.faster(plain.tree))
    if other is not None:
        rounding = ROUNDED.get(case.get("transport"), 0.0)
        yield from _close("rates times 2 halve times", plain, other, 2.0, again, rounding)


Again = Callable[[Scenario | None], Outcome | None]
PAIRS = (
    switches_drain,
    unmarkable_is_unmarked,
    monitors_change_nothing,
    unused_queue_changes_nothing,
    idle_host_changes_nothing,
    renumbered_hosts_permute,
    scaled,
)
ROUNDING_S = 1e-9
"""Divisions of times are rounded to picoseconds, a few hundred times a flow."""
ROUNDED = {"dcqcn": 1e-4, "timely": 1e-4, "swift": 1e-4, "hpcc": 1e-2}
"""Queue pairs' rates are rounded, too, and HPCC's INT has times in nanoseconds: so far may a flow's
time be off."""


def _same(name: str, base: Outcome, other: Outcome, ports: bool = False) -> Found:
    """Whether two runs have the same flows, to the bit."""
    first, second = base.results(), other.results()
    why = next((f"flow {a} is {b}" for a, b in zip(first, second, strict=True) if a != b), "")
    compared = len(first)
    if ports and not why:
        unseen = {"underflow_s"}
        rows = zip(base.ports, other.ports, strict=True)
        pairs = (({k: a[k] for k in a.keys() - unseen}, b) for a, b in rows)
        why = next((f"port {a} is {b}" for a, b in pairs if any(a[k] != b[k] for k in a)), "")
        compared += len(base.ports)
    return Found(name, BAD if why else HELD, compared, why, (base.tree, other.tree))


def _apart(base: Outcome, other: Outcome, times: float, rounding: float = 0.0) -> str:
    """How the first flow that is no longer the other's differs; empty if none does."""
    for a, b in zip(base.results(), other.results(), strict=True):
        took, again = _float(a[1]), _float(b[1]) * times
        endless = math.isnan(took) and math.isnan(again)
        near = endless or abs(took - again) <= ROUNDING_S + rounding * took
        if not near or a[2:] != b[2:]:
            return f"flow {a} is {b}"
    return ""


def _close(
    name: str, base: Outcome, other: Outcome, times: float, again: Again, rounding: float = 0.0
) -> Iterator[Found]:
    """Whether two runs are the same to rounding; if not, whether picoseconds decide."""
    trees = (base.tree, other.tree)
    why = _apart(base, other, times, rounding)
    if not why:
        yield Found(name, HELD, len(base.flows), "", trees)
        return
    for moved in transformed.moved(base.tree):
        shifted = again(moved)
        if shifted is not None and _apart(base, shifted, 1.0):
            yield Found(name, UNDECIDED, len(base.flows), why, trees)
            return
    yield Found(name, BAD, len(base.flows), why, trees)


def _float(value: object) -> float:
    assert isinstance(value, int | float) or value is None
    return float("nan") if value is None else float(value)


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def tried(case: Case) -> Tally:
    """Tries all relations on a combination."""
    tally = Tally(case)

    def again(tree: Scenario | None) -> Outcome | None:
        """The outcome of a scenario, its own relations tried; none if the product refuses it."""
        if tree is None:
            return None
        try:
            outcome = run(tree)
        except _native.Mistake:
            return None
        except (_native.Panic, StoppedError) as error:
            why = f"{type(error).__name__}: {error}"
            tally.found.append(Found("a run ends", BAD, 1, why, (tree,)))
            return None
        tally.runs += 1
        for name, relation in ALONE:
            said = list(relation(case, outcome))
            if said:
                wrong = next((why for why in said if why), "")
                verdict = BAD if wrong else HELD
                tally.found.append(Found(name, verdict, len(said), wrong, (tree,)))
        return outcome

    base = again(transformed.resolved(combinations.scenario(case)))
    if base is not None:
        for relation in PAIRS:
            tally.found.extend(relation(case, base, again))
    return tally


def accepted(case: Case) -> bool:
    """Whether the product takes the combination."""
    try:
        combinations.plan(combinations.scenario(case))
    except _native.Mistake:
        return False
    return True


def keep(found: Found, case: Case, number: int) -> list[Path]:
    """Writes the scenarios that repeat a bad relation."""
    FAILURES.mkdir(parents=True, exist_ok=True)
    paths = []
    for nth, tree in enumerate(found.trees):
        path = FAILURES / f"{number}-{'ab'[nth]}.toml"
        path.write_text(f"# {found.relation}: {case}\n{toml.document(tree)}")
        paths.append(path)
    return paths


SHOWN = 5
"""Bad ones of a relation that are printed."""


def main() -> int:
    """Tries all, prints a table and the figure; 1 if any is bad or a value was never tried."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--cases", type=int, default=CASES, help="combinations")
    parser.add_argument("--more", type=int, default=1, help="so many times as many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    asked = parser.parse_args()
    shutil.rmtree(FAILURES, ignore_errors=True)
    begun = time.monotonic()
    price = asked.cases * asked.more * A_COMBINATION_S / 60
    print(f"about {price:,.1f} minutes of a core", flush=True)
    cases = list(combinations.cases(asked.cases * asked.more, asked.seed, accepted))
    tallies: list[Tally] = []
    with ProcessPoolExecutor(asked.jobs) as pool:
        tallies.extend(pool.map(tried, cases, chunksize=8))
    runs = sum(tally.runs for tally in tallies)
    table: dict[str, collections.Counter[str]] = {}
    bad = 0
    for tally in tallies:
        for relation in {found.relation for found in tally.found}:
            table.setdefault(relation, collections.Counter())["combinations"] += 1
        for found in tally.found:
            counts = table[found.relation]
            counts["comparisons"] += found.comparisons
            counts[found.verdict] += 1
            if found.verdict == BAD:
                bad += 1
                files = keep(found, tally.case, bad)
                if counts[BAD] <= SHOWN:
                    where = " ".join(str(path.relative_to(ROOT)) for path in files)
                    print(f"bad: {found.relation}: {tally.case}\n  {found.why}\n  {where}")
    unmet = _unmet(cases)
    for name, value in unmet:
        print(f"bad: never tried: {name} {value}")
    print(f"{'relation':34} {'combinations':>12} {'comparisons':>12} {'undecided':>10} {'bad':>5}")
    for relation, counts in table.items():
        print(
            f"{relation:34} {counts['combinations']:12,} {counts['comparisons']:12,} "
            f"{counts[UNDECIDED]:10,} {counts[BAD]:5,}"
        )
    listed = {name: len(values) for name, values in combinations.dimensions().items()}
    print(
        f"{len(cases):,} combinations of " + ", ".join(f"{n} {name}" for name, n in listed.items())
    )
    comparisons = sum(counts["comparisons"] for counts in table.values())
    wrong = bad + len(unmet)
    print(
        f"{runs:,} runs, {comparisons:,} comparisons, {f'{wrong:,}' if wrong else 'none'} bad "
        f"({time.monotonic() - begun:.0f} s)"
    )
    return int(bool(wrong))


def _unmet(cases: list[Case]) -> list[tuple[str, str]]:
    """Values that were in no combination."""
    met = {each for case in cases for each in case.chosen}
    named = combinations.dimensions()
    return [(n, value) for n, values in named.items() for value in values if (n, value) not in met]


if __name__ == "__main__":
    sys.exit(main())
