"""`switchbed bench`: the simulator's speed and memory on the scenarios beside this file,
each run in a process of its own so that processor time and peak memory are its own."""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from switchbed._native import Mistake

FOLDER = Path(__file__).parent
OFF = "measure.queues=off"
"""The override that leaves queue statistics out."""


def scenarios() -> dict[str, Path]:
    """The built-in scenarios by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def measure(only: str | None, repeat: int) -> list[dict[str, Any]]:
    """Runs each scenario `repeat` times, as it is and without queue statistics (`queues_off`) in
    turn; of each the run with the median processor time counts."""
    found = scenarios()
    if only is not None and only not in found:
        raise Mistake(f"--scenario {only}: no such benchmark; there is {', '.join(found)}")
    names = [only] if only else list(found)
    return [{"scenario": name} | _both(found[name], repeat) for name in names]


def _both(path: Path, repeat: int) -> dict[str, Any]:
    runs = [(once(path), once(path, [OFF])) for _ in range(repeat)]
    default, off = (_median([pair[i] for pair in runs]) for i in range(2))
    return default | {"queues_off": off}


def _median(runs: list[dict[str, Any]]) -> dict[str, Any]:
    middle = statistics.median_low(run["cpu_s"] for run in runs)
    return next(run for run in runs if run["cpu_s"] == middle)


def once(path: Path, sets: Sequence[str] = ()) -> dict[str, Any]:
    """Measures one run of a scenario under overrides."""
    child = [sys.executable, "-m", "switchbed.bench", str(path), *sets]
    done = subprocess.run(child, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Mistake(f"the benchmark {path.stem} failed with exit code {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
