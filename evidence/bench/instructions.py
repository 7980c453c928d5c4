"""Instructions a packet-hop, counted by valgrind: what a busy machine cannot change."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from switchbed._native import Mistake


def per_hop(short: Sequence[str], long: Sequence[str], folder: Path) -> float | None:
    """What a hop of the long run costs beyond the short one, so that the start of the program
    and the building of the network do not count; nothing without valgrind."""
    if not shutil.which("valgrind"):
        return None
    (few, begun), (many, ended) = (_counted(command, folder) for command in (short, long))
    return (ended - begun) / (many - few)


def _counted(command: Sequence[str], folder: Path) -> tuple[int, int]:
    """Packet-hops and instructions of one run."""
    grind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run(
        [*grind, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise Mistake(f"valgrind failed on {' '.join(command)}")
    return json.loads(done.stdout)["packet_hops"], int(found[1].replace(",", ""))
