"""Labs: the kernel's TCP through the live switch. Margins are wide and medians of several runs
count, as the machine has other things to do."""

import shutil
import statistics
from pathlib import Path

import pytest
from live_lab import (
    DCTCP,
    ECN,
    MQ_ECN,
    NO_ECN,
    NOTHING,
    RUNS,
    STEP,
    bulk,
    can_run,
    lab,
    median,
)

from switchbed.live import dctcp

__all__ = ["can_run"]
pytestmark = pytest.mark.usefixtures("can_run")


def test_marks_reach_the_receiver_and_come_back(tmp_path: Path) -> None:
    found = lab(tmp_path, STEP, bulk("0-1", 2, 0), transport=ECN)
    assert found["marks"] > 20
    assert found["ce_received"] >= 0.9 * found["marks"]
    assert found["ece_delivered"] > 0
    assert found["drops"] < found["marks"]


def test_without_ecn_nothing_is_marked(tmp_path: Path) -> None:
    found = lab(tmp_path, STEP, bulk("0-1", 2, 0), transport=NO_ECN)
    assert (found["marks"], found["ce_received"], found["ece_delivered"]) == (0, 0, 0)
    # Marking drops what is not ECN-capable (RFC 3168).
    assert found["drops"] > 0


def test_step_marking_keeps_the_queue_short_and_the_link_full(tmp_path: Path) -> None:
    traffic = bulk("0-1", 2, 0)
    marked = [lab(tmp_path, STEP, traffic) for _ in range(RUNS)]
    full = [lab(tmp_path, NOTHING, traffic) for _ in range(RUNS)]

    def queue(runs: list[dict[str, dict[str, float]]]) -> float:
        return statistics.median(run["bottleneck"]["mean_bytes"] for run in runs)

    def goodput(runs: list[dict[str, dict[str, float]]]) -> float:
        return statistics.median(run["goodput_mbps"]["0"] for run in runs)

    assert queue(marked) < queue(full) / 3
    assert goodput(marked) > 0.9 * goodput(full)
    assert goodput(full) > 80


@pytest.mark.parametrize(("quanta", "share"), [((1500, 1500), 1.0), ((4500, 1500), 3.0)])
def test_dwrr_shares_the_link_by_quanta(
    tmp_path: Path, quanta: tuple[int, int], share: float
) -> None:
    # Four flows against one, so that an equal share is not each flow's.
    traffic = bulk("0", 2, 0) + bulk("1", 2, 1, each=4)

    def measured() -> float:
        found = lab(tmp_path, STEP, traffic, quanta=quanta)["goodput_mbps"]
        return float(found["0"]) / float(found["1"])

    assert 0.75 * share < median(measured) < 1.33 * share


def test_mq_ecn_halves_the_queues_of_busy_classes_at_the_same_goodput(tmp_path: Path) -> None:
    traffic = "".join(bulk(str(i), 4, i, each=2) for i in range(4))

    def both(scheme: str) -> tuple[float, float]:
        runs = [lab(tmp_path, scheme, traffic, hosts=5, quanta=(1500,) * 4) for _ in range(RUNS)]
        queue = statistics.median(run["bottleneck"]["mean_bytes"] for run in runs)
        goodput = statistics.median(sum(run["goodput_mbps"].values()) for run in runs)
        return queue, goodput

    (standard, full), (mq_ecn, other) = both(STEP), both(MQ_ECN)
    assert mq_ecn < 0.7 * standard
    assert 0.93 < other / full < 1.07


def test_the_output_never_exceeds_its_rate(tmp_path: Path) -> None:
    found = lab(tmp_path, NOTHING, bulk("0-1", 2, 0))
    assert 85 < found["peak_mbps"] <= 102


def test_our_dctcp_keeps_the_queue_at_its_threshold(tmp_path: Path) -> None:
    if not dctcp.TYPES.exists():
        pytest.skip("this kernel has no BTF types")
    if any(shutil.which(tool) is None for tool in ("clang", "bpftool")):
        pytest.skip("clang or bpftool is missing: make setup-system")
    loaded = dctcp.load()
    try:
        runs = [lab(tmp_path, STEP, bulk("0-1", 2, 0), transport=DCTCP) for _ in range(RUNS)]
    finally:
        if loaded:
            assert dctcp.unload()
            assert dctcp.NAME not in dctcp.available()
    queue = statistics.median(run["bottleneck"]["mean_bytes"] for run in runs)
    # 20 packets are 30 KB; Reno, which halves, stays well below on average.
    assert 20_000 < queue < 45_000
    assert statistics.median(run["goodput_mbps"]["0"] for run in runs) > 85
    assert all(run["ece_delivered"] > 20 for run in runs)
