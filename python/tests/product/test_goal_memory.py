"""A schedule's run takes so many bytes an operation, and its forecast is above that by little."""

import json
from pathlib import Path

from evidence.bench import memory
from switchbed import _native

RANKS = 16
SCENARIO = """
topology = { kind = "star", hosts = 16, rate = "100Gbps", delay = "1us" }
switch.buffer = "1MB"
scheme.name = "none"
transport.kind = "dctcp"
measure.queues = "off"

[[traffic]]
kind = "goal"
file = "ring.goal"
"""


def schedule(folder: Path, operations: int) -> Path:
    """A ring: each rank sends to the next and receives from the one before, step after step."""
    folder.mkdir()
    lines = [f"num_ranks {RANKS}"]
    for rank in range(RANKS):
        lines.append(f"rank {rank} {{")
        for step in range(operations // RANKS // 2):
            lines.append(f"s{step}: send 1000b to {(rank + 1) % RANKS} tag {step % 256}")
            lines.append(f"r{step}: recv 1000b from {(rank - 1) % RANKS} tag {step % 256}")
            if step:
                lines.append(f"s{step} requires r{step - 1}")
        lines.append("}")
    (folder / "ring.goal").write_text("\n".join(lines))
    (folder / "ring.toml").write_text(SCENARIO)
    return folder / "ring.toml"


def test_an_operation_takes_few_bytes_and_they_are_forecast(tmp_path: Path) -> None:
    sizes = (100_000, 400_000)
    scenarios = [schedule(tmp_path / str(operations), operations) for operations in sizes]
    few, many = (memory.peak(scenario, (), tables=False)[0] for scenario in scenarios)
    # They took over 200 before operations and records were packed.
    assert (many - few) / (sizes[1] - sizes[0]) < 130
    program = memory.alone()
    for scenario, found in zip(scenarios, (few, many), strict=True):
        (plan,) = _native.plans(scenario, [])
        said = sum(part["count"] * part["each"] for part in json.loads(plan.memory))
        # Peaks of one file differ by a tenth from run to run.
        assert 0.98 < (program + said) / found < 1.15, (scenario.parent.name, said, found - program)
