"""Instructions a packet-hop of one wheel's module beside another's, the plain release and the one
built by a profile, say:

    python -m evidence.bench.profile PLAIN.whl PROFILED.whl
"""

import compileall
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from evidence.bench import instructions
from switchbed._native import Mistake
from switchbed.bench import FOLDER
from switchbed.library import SCENARIOS, TEMPLATES

RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from switchbed._native import Progress, plans
plan = plans(sys.argv[2], sys.argv[3:])[0]
print(json.dumps({"packet_hops": json.loads(plan.run(Progress()).summary)["packet_hops"]}))
"""
"""One run of the module in a folder, without the package around it."""

FIG9 = FOLDER / "fig9.toml"
LARGE = ("topology.leaves=32", "topology.spines=32", "topology.hosts_per_leaf=32")
CASES: dict[str, tuple[Path, Sequence[str], str, str]] = {
    "figure 9, load 0.5": (FIG9, ("load=0.5",), "flows=8", "flows=40"),
    "figure 9, load 0.8": (FIG9, ("load=0.8",), "flows=8", "flows=40"),
    "star of 8, DCTCP": (FOLDER / "star.toml", (), "run.until=10ms", "run.until=40ms"),
    "16 hosts, linux-6.x, web search": (
        TEMPLATES / "star.toml",
        ("topology.hosts=17", "traffic.to=16", "traffic.from=0-15"),
        "flows=20",
        "flows=60",
    ),
    "RoCE on 320 hosts": (
        SCENARIOS / "roce-fabric.toml",
        ("flows=300",),
        "run.until=10us",
        "run.until=40us",
    ),
    "1,024 hosts": (FIG9, (*LARGE, "flows=1_000_000"), "run.until=0.4ms", "run.until=1.2ms"),
}
"""A scenario, its overrides, and those of a short and of a longer run."""


def main() -> None:
    """Prints a row a case."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, str(number)) for number in range(2)]
        for wheel, folder in zip(sys.argv[1:], folders, strict=True):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
            # Else the first run counted would compile what the others find compiled.
            compileall.compile_dir(folder, quiet=1)
        print("| case | instructions a packet-hop | by profile | ratio |")
        print("| --- | --- | --- | --- |")
        for case, (file, sets, short, long) in CASES.items():
            first, second = (_per_hop(folder, file, sets, short, long) for folder in folders)
            print(f"| {case} | {first:.0f} | {second:.0f} | {second / first:.2f} |", flush=True)


def _per_hop(folder: Path, file: Path, sets: Sequence[str], short: str, long: str) -> float:
    words = [sys.executable, "-I", "-S", "-c", RUN, str(folder), str(file), *sets]
    found = instructions.per_hop([*words, short], [*words, long], folder)
    if found is None:
        raise Mistake("valgrind is not installed: make setup-system")
    return found


if __name__ == "__main__":
    main()
