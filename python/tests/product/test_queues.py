"""Queues that differ: each holds, marks and loses what its rules say, worked out by hand."""

from pathlib import Path

import pytest

import switchbed as sb

SCENARIOS = Path(sb.__file__).parent / "data" / "scenarios"


@pytest.fixture(scope="module")
def result() -> sb.Result:
    return sb.Scenario.from_file(SCENARIOS / "five-queues.toml").run()


LOSSY, ALPHAS = 600e3, (1.0, 0.5, 0.25)
"""Lossy queues share so much: each holds α times what is left, S/(1 + Σα)."""
LENGTHS = [alpha * LOSSY / (1 + sum(ALPHAS)) for alpha in ALPHAS]
INPUTS = 1780e3 - 600e3 - sum(LENGTHS)
"""Shares of four lossless groups by α = 1/4: an eighth each, and each queue has two."""
LENGTHS += 2 * [2 * INPUTS * 0.25 / (1 + 4 * 0.25)]
MARKS = [
    0.5 * (LENGTHS[0] - 100e3) / 200e3,
    (LENGTHS[1] - 20e3) / 100e3,
    1.0,
    1.0,
    0.2 * (LENGTHS[4] - 120e3) / 160e3,
]


@pytest.mark.parametrize("queue", range(5))
def test_a_queue_holds_and_marks_what_its_rules_say(result: sb.Result, queue: int) -> None:
    port = f"switch:{10 + queue}"
    ports = {row["port"]: row for row in result.counters.to_dicts()}
    queues = {(row["port"], row["queue"]): row for row in result.queues.to_dicts()}
    length = queues[port, str(queue)]["mean_bytes"]
    assert length == pytest.approx(LENGTHS[queue], rel=0.02)
    sent = ports[port]["sent_packets"]
    assert sent == pytest.approx(12_500, abs=2)  # 15 ms at 10 Gbps
    # The ramp of a lossless queue swings with its pauses.
    assert ports[port]["marked_packets"] / sent == pytest.approx(MARKS[queue], abs=0.012)
    # Two hosts send twice what a port carries.
    lost = ports[port]["drops_full"]
    assert lost == 0 if queue > 2 else lost == pytest.approx(12_500, abs=10)


def test_the_table_has_each_queues_label(result: sb.Result) -> None:
    labels = [row["scheme"] for row in result.queues.to_dicts() if row["port"] == "switch:10"]
    assert labels == ["ramp", "steep", "step", "lossless step", "lossless ramp", "ramp"]


def test_without_differing_queues_the_table_has_no_labels() -> None:
    made = sb.Scenario(
        {
            "topology": {"kind": "star", "hosts": 3, "rate": "10Gbps", "delay": "1us"},
            "switch": {"queues": 2, "buffer": "300KB"},
            "scheme": {"name": "per-queue", "params": {"threshold": "30KB"}},
            "transport": {"kind": "dctcp"},
            "traffic": [{"kind": "long-lived", "from": "0-1", "to": 2}],
            "measure": {"queues": "all"},
            "run": {"until": "200us"},
        }
    )
    assert "scheme" not in made.run().queues.columns
