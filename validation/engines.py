"""`make bench-sizes`, its second part: what a packet-hop costs beside the engine before this one
(built from its commit), by size, what two threads gain, and what more could at most. Writes
results/bench-engines.json, docs/performance-engines.png and its block of docs/performance.md.

    engines.py [REPEATS]

Needs the repository's history, and for the largest fabric some minutes and 1.5 GB.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

import performance
from switchbed import _native
from switchbed.bench import FOLDER
from switchbed.directory import machine

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / "target" / "engine-before"
COMMIT = "d0a9107146d2ff0783db9becafddf3e8b729b737"
"""The last with one arena, one generator and one event queue."""
IN_ITS_WORDS = {
    'profile = "switchbed-0.1"\n': "",
    "ecn_syn = true\necn_retransmits = true\n": "ecn_control = true\n",
}
"""What the scenarios have said since, and how that engine is told the same."""
RESULTS = Path(__file__).parent / "results" / "bench-engines.json"
PICTURE = performance.FILE.with_name("performance-engines.png")
LARGE = ROOT / "scenarios" / "fat-tree-65536.toml"
SHARDS = (2, 4, 8, 16, 32)

Found = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """A fabric."""

    hosts: int
    file: Path
    sets: tuple[str, ...]
    repeats: int
    demanded: float
    """At most that of the time of the engine before."""


SIZES = (
    Size(144, FOLDER / "fig9.toml", ("flows=1500",), 10, 1.05),
    Size(1_024, LARGE, ("topology.k=16",), 20, 0.7),
    Size(8_192, LARGE, ("topology.k=32",), 5, 0.2),
    Size(65_536, LARGE, ("topology.k=64",), 2, 0.2),
)

TEXT = """\
<!-- engines:begin -->
## Beside the engine before

<!-- Written by `make bench-sizes` from validation/results/bench-engines.json; edit
validation/engines.py. -->

![Cost of a packet-hop by hosts, before and now](performance-engines.png)

Processor time a packet-hop, building the network included, the two engines in turn (the one before
is commit `{commit}`), the least of the repeats: other work only adds. Fat-trees at 10 Gbps and 1 us
a link for 2 ms (`scenarios/fat-tree-65536.toml`, smaller by `topology.k`), 144 hosts as
`switchbed bench`'s `fig9.toml` with 1,500 flows; all at load 0.5 with MQ-ECN on eight DWRR queues
and DCTCP. {machine}; {load:.1f} processes wanted a core as it began; Switchbed {switchbed}. `make
bench-sizes` repeats it.

| hosts | packet-hops | before, ns | now, ns | ratio | wanted | peak memory now |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

Two threads against one, by the clock, and what as many threads as shards could gain at most if each
window lasted as long as its busiest shard, by events (65,536 hosts: of the first 0.2 ms):

| hosts | two threads, measured | bound for 2 | 4 | 8 | 16 | 32 |
| --- | --- | --- | --- | --- | --- | --- |
{bounds}
<!-- engines:end -->"""


def built(tree: Path, example: str) -> str:
    """A program of a tree."""
    build = ["cargo", "build", "--release", "--locked", "--quiet"]
    build += ["--package", "switchbed-scenario", "--example", example]
    subprocess.run(build, cwd=tree, check=True)
    return str(tree / "target" / "release" / "examples" / example)


def before() -> str:
    """The engine before, from its commit."""
    if not TREE.exists():
        add = ["git", "worktree", "add", "--quiet", "--force", "--detach", str(TREE), COMMIT]
        subprocess.run(add, cwd=ROOT, check=True)
    program = (ROOT / "crates/scenario/examples/once.rs").read_text()
    # It knows one thread, and hosts of one kind: those that are now called switchbed-0.1.
    program = program.replace(
        "run_on(&plans[0].scenario, &progress, threads)",
        "{ let _ = threads; run(&plans[0].scenario, &progress) }",
    )
    program = program.replace("plans, run_on}", "plans, run}")
    place = TREE / "crates/scenario/examples/once.rs"
    place.parent.mkdir(exist_ok=True)
    place.write_text(program)
    for file in {size.file for size in SIZES}:
        text = file.read_text()
        for now, then in IN_ITS_WORDS.items():
            text = text.replace(now, then)
        (TREE / file.name).write_text(text)
    return built(TREE, "once")


def once(program: str, size: Size, threads: int, folder: Path | None = None) -> Found:
    """One run, of the file of that name in the folder if there is one: what it printed, and what it
    took."""
    file = folder / size.file.name if folder else size.file
    command = [program, str(file), str(threads), *size.sets]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        printed = run.stdout.read()
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, command)
    found: Found = json.loads(printed)
    cpu_s = used.ru_utime + used.ru_stime
    return found | {
        "ns": cpu_s * 1e9 / found["packet_hops"],
        "peak_rss_bytes": used.ru_maxrss * 1024,
    }


def measure(size: Size, old: str, new: str, bound: str, repeats: int | None) -> Found:
    """One row, the engines in turn."""
    turns = repeats or size.repeats
    runs = [
        (once(old, size, 1, TREE), once(new, size, 1), once(new, size, 2)) for _ in range(turns)
    ]
    was, now, two = (list(kind) for kind in zip(*runs, strict=True))
    bounds = {}
    # How evenly work is divided shows soon.
    sets = [*size.sets, *(["run.until=200us"] if size.hosts > 8_192 else [])]
    for shards in SHARDS:
        printed = subprocess.check_output([bound, str(size.file), str(shards), *sets])
        bounds[str(shards)] = float(printed)
    row = {
        "hosts": size.hosts,
        "packet_hops": now[0]["packet_hops"],
        "before_ns": min(run["ns"] for run in was),
        "now_ns": min(run["ns"] for run in now),
        "demanded": size.demanded,
        "peak_rss_bytes": max(run["peak_rss_bytes"] for run in now),
        "two_threads": min(run["wall_s"] for run in now) / min(run["wall_s"] for run in two),
        "bounds": bounds,
        "runs": [[run["ns"] for run in turn] for turn in runs],
    }
    print(line(row), flush=True)
    return row


def line(row: Found) -> str:
    """A row as text."""
    return (
        f"| {row['hosts']:,} | {row['packet_hops'] / 1e6:.1f} M | {row['before_ns']:.0f} "
        f"| {row['now_ns']:.0f} | {row['now_ns'] / row['before_ns']:.2f} "
        f"| at most {row['demanded']:.2f} | {row['peak_rss_bytes'] / 2**20:,.0f} MiB |"
    )


def bound_line(row: Found) -> str:
    """What threads gain."""
    bounds = [f"{row['bounds'][str(n)]:.1f}" for n in SHARDS]
    return f"| {row['hosts']:,} | {row['two_threads']:.2f} | {' | '.join(bounds)} |"


def render(found: Found) -> str:
    """The block's text."""
    system = found["machine"]
    return TEXT.format(
        commit=found["before"][:7],
        machine=f"{system['processor']}, {system['cores']} cores, {system['system']}",
        load=found["load_average"],
        switchbed=found["switchbed"],
        rows="\n".join(map(line, found["rows"])),
        bounds="\n".join(map(bound_line, found["rows"])),
    )


def draw(found: Found) -> None:
    """The picture: ns a packet-hop by hosts."""
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    hosts = [row["hosts"] for row in found["rows"]]
    for key, name, style, colour in (
        ("before_ns", "the engine before", "s--", "#999999"),
        ("now_ns", "now", "o-", "#0072B2"),
    ):
        axes.plot(hosts, [row[key] for row in found["rows"]], style, color=colour, label=name)
    axes.set_xscale("log")
    axes.set_xticks(hosts, [f"{number:,}" for number in hosts])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("hosts")
    axes.set_ylabel("processor time a packet-hop, ns")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(PICTURE, dpi=130)
    plt.close(figure)


def main() -> None:
    """Measures and writes everything."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else None
    load = os.getloadavg()[0]
    old, new, bound = before(), built(ROOT, "once"), built(ROOT, "bound")
    rows = [measure(size, old, new, bound, repeats) for size in SIZES]
    found = {
        "machine": machine(),
        "switchbed": _native.__version__,
        "before": COMMIT,
        "load_average": load,
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    draw(found)
    page = performance.FILE
    page.write_text(performance.place(page.read_text(), render(found)))
    remove = ["git", "worktree", "remove", "--force", str(TREE)]
    subprocess.run(remove, cwd=ROOT, check=False)
    shutil.rmtree(TREE, ignore_errors=True)
    print(f"written: {RESULTS}, {PICTURE}, {page}")


if __name__ == "__main__":
    main()
