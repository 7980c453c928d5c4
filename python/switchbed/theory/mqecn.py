"""MQ-ECN's thresholds for queues that are backlogged all the time (Bai, Chen, Chen, Wu: Enabling
ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016)."""

from collections.abc import Sequence

from switchbed._native import Mistake
from switchbed.theory.checks import positive


def minimum(standard_bytes: float, quanta_bytes: Sequence[float]) -> list[float]:
    """Each queue's share of the standard threshold by weight, in bytes (equation 2)."""
    _quanta(quanta_bytes)
    positive(standard_bytes=standard_bytes)
    whole = sum(quanta_bytes)
    return [standard_bytes * quantum / whole for quantum in quanta_bytes]


def round_time(rate_bps: float, quanta_bytes: Sequence[float], backlogged: Sequence[int]) -> float:
    """T_round in seconds while just these queues are backlogged: each sends its quantum once
    (section 3.2.1). Queues are numbered from 0."""
    positive(rate_bps=rate_bps)
    _quanta(quanta_bytes)
    for queue in backlogged:
        if not 0 <= queue < len(quanta_bytes):
            raise Mistake(
                f"backlogged names queue {queue}: there are {len(quanta_bytes)}, numbered from 0"
            )
    return sum(quanta_bytes[queue] for queue in set(backlogged)) * 8 / rate_bps


def thresholds(
    rate_bps: float,
    standard_bytes: float,
    quanta_bytes: Sequence[float],
    backlogged: Sequence[int],
) -> list[float]:
    """K_i = min(quantum_i / T_round, C)·RTT·λ of every queue in bytes (equation 5), where
    `standard_bytes` is C·RTT·λ; those of queues that are not backlogged are what a first packet
    would meet. With nothing backlogged T_round is 0 and all have the standard threshold. So have
    queues with strict priority above (section 3.4)."""
    positive(standard_bytes=standard_bytes)
    round_s = round_time(rate_bps, quanta_bytes, backlogged)
    return [
        standard_bytes * min(quantum * 8 / round_s / rate_bps, 1.0) if round_s else standard_bytes
        for quantum in quanta_bytes
    ]


def _quanta(quanta_bytes: Sequence[float]) -> None:
    if not quanta_bytes:
        raise Mistake("quanta is empty: give each queue's quantum, such as 1500B,3000B")
    for i, quantum in enumerate(quanta_bytes):
        positive(**{f"quanta[{i}]": quantum})
