"""`make validate`: the same scenarios in ns-3 and in Switchbed.

Stars of long-lived senders (queue, goodput, fairness) and a leaf-spine fabric with one list
of flows (completion times by size class). Writes results.json, from which
docs/validation.md is made, and ends with 1 if a figure is neither within the tolerance nor
explained.

    python -m evidence.peers.ns3_scenarios --ours    ours anew, beside what ns-3 found before
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evidence.kept import Kept
from evidence.peers import page, simulators
from switchbed import ending

RESULTS = Kept(simulators.HERE, "ns3")
JOBS = 4
PACKET_BYTES = 1500
STARS = (
    ("dctcp", 2, 65),
    ("dctcp", 8, 65),
    ("dctcp", 20, 65),
    ("ecn-star", 8, 84),
    ("ecn-star", 20, 84),
)
"""Transport, senders, marking threshold in packets."""
LOADS = (0.5, 0.8)
FLOWS = 1000
LIST_SEED = 1

Figures = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A run of a peer that takes long."""

    name: str
    work: Callable[[], Figures]


def main() -> int:
    """Everything; returns the exit code."""
    parser = argparse.ArgumentParser(description="The same scenarios in ns-3 and in Switchbed.")
    parser.add_argument("--ours", action="store_true", help="keep what ns-3 found before")
    ours_alone = parser.parse_args().ours
    lists = [simulators.flow_list(load, FLOWS, LIST_SEED) for load in LOADS]
    found = RESULTS.read() if ours_alone else _ns3(lists)
    for star in found["stars"]:
        star["ours"] = _our_star(star["tcp"], star["senders"], star["k_pkt"])
    for fabric, file in zip(found["leaf_spine"], lists, strict=True):
        fabric["ours"] = _our_fabric(file)
    found["switchbed"] = simulators.VERSION
    RESULTS.write(found)
    print(f"written: {RESULTS}\n")
    print(page.tables(found))
    off = page.disagreements(found)
    for line in off:
        print(f"disagrees: {line}", file=sys.stderr)
    return 1 if off else 0


def _ns3(lists: Sequence[Path]) -> Figures:
    """What ns-3 finds, in the form of the results."""
    ns3 = simulators.needed()
    star, fabric = ns3.build("star"), ns3.build("leaf_spine")
    jobs = [
        Job(f"leaf-spine, load {load}, floor: {floor}", _fabric_job(fabric, file, floor))
        for load, file in zip(LOADS, lists, strict=True)
        for floor in (True, False)
    ]
    jobs += [
        Job(f"{senders} {tcp} senders, {recovery}", _star_job(star, case, recovery))
        for case in STARS
        for tcp, senders, _ in [case]
        for recovery in ("classic", "prr")
    ]
    theirs = iter(_all(jobs))
    fabrics = [{"floored": next(theirs), "own": next(theirs)} for _ in LOADS]
    return {
        "ns3": ns3.version,
        "machine": simulators.machine(),
        "stars": [
            {
                "tcp": tcp,
                "senders": senders,
                "k_pkt": k,
                "ns3": {"classic": next(theirs), "prr": next(theirs)},
            }
            for tcp, senders, k in STARS
        ],
        "leaf_spine": [
            {"load": load, "flows": FLOWS, "ns3": fct}
            for load, fct in zip(LOADS, fabrics, strict=True)
        ],
    }


def _star_job(program: Path, case: tuple[str, int, int], recovery: str) -> Callable[[], Figures]:
    tcp, senders, k = case
    arguments = (f"--tcp={tcp}", f"--senders={senders}", f"--k={k}", f"--recovery={recovery}")
    return lambda: _figures(simulators.run(program, *arguments))


def _figures(found: Figures) -> Figures:
    names = ("queue_mean_pkt", "queue_p99_pkt", "goodput_gbps", "jain", "cuts")
    return {name: found[name] for name in names}


def _fabric_job(program: Path, flows: Path, floor: bool) -> Callable[[], Figures]:
    def work() -> Figures:
        times = flows.with_suffix(f".floor-{floor}.csv")
        simulators.run(program, f"--flows={flows}", f"--out={times}", f"--floor={floor}".lower())
        return simulators.peer_fct(flows, times)

    return work


def _our_star(tcp: str, senders: int, k: int) -> Figures:
    sets = (
        f"topology.hosts={senders + 1}",
        f"scheme.params.threshold={k}pkt",
        f"transport.kind={tcp}",
        # ns-3 sends ECN* by RFC 3168: ACKs and SYNs are not ECN-capable.
        f"transport.ecn_acks={str(tcp == 'dctcp').lower()}",
        f"traffic.from=0-{senders - 1}",
        f"traffic.to={senders}",
        f'measure.queues=["switch:{senders}"]',
    )
    summary = simulators.ours(simulators.HERE / "star.toml", sets).summary
    return {
        "queue_mean_pkt": summary["bottleneck"]["mean_bytes"] / PACKET_BYTES,
        "queue_p99_pkt": summary["bottleneck"]["p99_bytes"] / PACKET_BYTES,
        "goodput_gbps": summary["goodput_bps"] / 1e9,
        "jain": summary["endless"]["jain"],
    }


def _our_fabric(flows: Path) -> list[Figures]:
    """The completion times by class for each seed."""
    file = simulators.leaf_spine(flows)

    def one(seed: int) -> Figures:
        return simulators.fct_by_class(simulators.ours(file, seed=seed).flows)

    with ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(one, simulators.SEEDS))


def _all(jobs: list[Job]) -> list[Figures]:
    """Runs the jobs side by side, the longest first, and says what is done."""
    begin = time.monotonic()
    done = 0

    def ended(name: str, _: Future[Figures]) -> None:
        nonlocal done
        done += 1
        print(f"[{done:2}/{len(jobs)}] {time.monotonic() - begin:5.0f} s  {name}", flush=True)

    print(f"{len(jobs)} runs of ns-3, {JOBS} at a time: 5 to 15 minutes", flush=True)
    with ThreadPoolExecutor(JOBS) as pool:
        futures: list[Future[Figures]] = []
        for job in jobs:
            futures.append(pool.submit(job.work))
            futures[-1].add_done_callback(partial(ended, job.name))
        return [future.result() for future in futures]


if __name__ == "__main__":
    ending.finish(main)
