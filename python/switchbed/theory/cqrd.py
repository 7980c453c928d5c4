"""When random drop at crosspoints loses fewer packets of a short flow, and how much memory
crosspoint queues need (Chen, Zhao, Pei: Alleviating flow interference in data center networks
through fine-grained switch queue management, Computer Networks 2015)."""

import math

from switchbed._native import Mistake
from switchbed.theory.checks import positive

DIE_MM2 = 18.0 * 18.0
"""Die area of the chip in section 5.2, in mm²."""
MEMORY_SHARE = 0.7
CELL_UM2 = 0.06
"""An SRAM cell, one bit."""


def loss_ratio_limit(queue: float, of_flow: float) -> float:
    """Equation 6: a short flow with `of_flow` packets in a crosspoint queue of `queue` packets,
    full of long flows', loses fewer with random drop than in a shared output queue if the
    crosspoint's loss rate is less than this many times the output's."""
    positive(queue=queue, of_flow=of_flow)
    if of_flow > queue:
        raise Mistake(f"of_flow is {of_flow:g}: it is a part of the queue's {queue:g} packets")
    return queue / of_flow


def loss(crosspoint_loss: float, queue: float, of_flow: float) -> float:
    """Equation 4: that flow's loss rate at the crosspoint."""
    if not 0 <= crosspoint_loss <= 1:
        raise Mistake(f"crosspoint_loss is {crosspoint_loss:g}: it must be from 0 to 1")
    return crosspoint_loss / loss_ratio_limit(queue, of_flow)


def crosspoint_bytes(bdp_bytes: float, inputs: int = 1) -> float:
    """Return the bytes that a crosspoint queue must hold to keep its output busy with long flows
    from `inputs` inputs. Their queues together hold a bandwidth-delay product (section 4.3.2)."""
    positive(bdp_bytes=bdp_bytes, inputs=inputs)
    return bdp_bytes / inputs


def memory_bytes(ports: int, each_bytes: float) -> float:
    """A queue for each pair of input and output."""
    positive(ports=ports, each_bytes=each_bytes)
    return ports * ports * each_bytes


def chip_bytes(
    die_mm2: float = DIE_MM2, share: float = MEMORY_SHARE, cell_um2: float = CELL_UM2
) -> float:
    """The memory that a chip has room for (section 5.2): 472.5 MB with its numbers."""
    positive(die_mm2=die_mm2, share=share, cell_um2=cell_um2)
    return die_mm2 * 1e6 * share / cell_um2 / 8


def ports_max(chip: float, each_bytes: float) -> int:
    """The most ports whose crosspoint queues fit."""
    positive(chip=chip, each_bytes=each_bytes)
    return math.isqrt(math.floor(chip / each_bytes))
