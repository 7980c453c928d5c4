"""The flows and paths of the MQ-ECN paper's own simulations of figures 9 to 12.

The authors published how they were drawn (ns-2 scripts and a patch, HKUST-SING/MQ-ECN-NS2 on
GitHub): each ordered pair of hosts has two random streams whose seeds follow from the hosts'
numbers, so that the 50,000 flows can be drawn again, the same for all schemes and loads; and a
switch chooses among its twelve uplinks by a simple hash of source, destination and connection.
`python -m switchbed_papers.mqecn.published FLOWS.csv --paths` writes a list of flows.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HOSTS = 144
HOSTS_PER_LEAF = 12
SPINES = 12
PACKET_BYTES = 1460
HOST_BPS = 10e9

Table = tuple[tuple[int, float], ...]
"""Flow sizes in packets with their cumulative probabilities."""

WORKLOADS: tuple[tuple[float, Table], ...] = (
    # By service modulo 4: the mean that turns a load into flows a second, in bytes, and the sizes.
    (  # Cache.
        913_703,
        (
            *((1, 0.0), (1, 0.35), (2, 0.4), (7, 0.46), (13, 0.5), (67, 0.6), (133, 0.7)),
            *((667, 0.78), (1333, 0.8), (2000, 0.9), (2667, 0.99), (33333, 1.0)),
        ),
    ),
    (  # Web search.
        1_671_357,
        (
            *((6, 0.0), (6, 0.15), (13, 0.2), (19, 0.3), (33, 0.4), (53, 0.53), (133, 0.6)),
            *((667, 0.7), (1333, 0.8), (3333, 0.9), (6667, 0.97), (20000, 1.0)),
        ),
    ),
    (  # Hadoop.
        4_149_016,
        (
            *((1, 0.0), (24, 0.1), (30, 0.2), (33, 0.3), (33, 0.4), (50, 0.5), (53, 0.6)),
            *((67, 0.7), (120, 0.8), (160, 0.9), (200, 0.95), (667, 0.96), (6667, 0.97)),
            *((66667, 0.99), (333333, 1.0)),
        ),
    ),
    (  # Data mining.
        7_495_019,
        (
            *((1, 0.0), (1, 0.5), (2, 0.6), (3, 0.7), (7, 0.8), (267, 0.9), (2107, 0.95)),
            *((66667, 0.99), (666667, 1.0)),
        ),
    ),
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DRAWS = 60
"""Of each stream: more than any pair has flows among the first 50,000."""


def write(file: Path, load: float, services: int, count: int, *, paths: bool) -> None:
    """Writes the first `count` flows at a load as a list for `traffic.kind = "list"`, with the
    published paths or without any, so that they are drawn."""
    source, destination = pairs()
    service = ((destination + 1) * HOSTS + source + 1) % services
    means = np.array([mean for mean, _ in WORKLOADS])[service % len(WORKLOADS)]
    gap_s = means * 8 * (HOSTS - 1) / (HOST_BPS * load)
    starts = np.cumsum(
        -np.log(draws(17 * source + 1244 * destination)) * gap_s[:, None], axis=1, dtype=float
    )
    chances = draws(33 * source + 4369 * destination)
    sizes = np.zeros(chances.shape, dtype=np.int64)
    for index, (_, table) in enumerate(WORKLOADS):
        of = service % len(WORKLOADS) == index
        sizes[of] = packets(chances[of], table)
    order = np.argsort(starts, axis=None, kind="stable")[:count]
    pair, place = np.unravel_index(order, starts.shape)
    if int(place.max()) == DRAWS - 1:
        raise ValueError(f"{count} flows need more than {DRAWS} draws of a stream")
    columns: list[Iterable[object]] = [
        (f"{start:.9f}" for start in starts[pair, place]),
        *(values[pair] for values in (source, destination)),
        sizes[pair, place],
        service[pair],
    ]
    head = ["start_s", "src", "dst", "packets", "class"]
    if paths:
        columns.append(uplink(source, destination)[pair])
        head.append("path")
    lines = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    file.write_text("\n".join([",".join(head), *lines]) + "\n")


def pairs() -> tuple[Ints, Ints]:
    """The ordered pairs of hosts, sources and destinations."""
    source, destination = np.meshgrid(np.arange(HOSTS), np.arange(HOSTS), indexing="ij")
    other = source != destination
    return source[other], destination[other]


def draws(seeds: Ints) -> Floats:
    """Uniform numbers, a row for each seed: L'Ecuyer's MRG32k3a (Operations Research 47, 1999,
    159), all six words of whose state are the seed."""
    moduli = (4_294_967_087, 4_294_944_443)
    first, second = ([seeds.astype(np.int64)] * 3 for _ in moduli)
    found = []
    for _ in range(DRAWS):
        # Products of two words below 2^32 by factors below 2^21: no overflow.
        one = (1_403_580 * first[1] - 810_728 * first[0]) % moduli[0]
        two = (527_612 * second[2] - 1_370_589 * second[0]) % moduli[1]
        first, second = [*first[1:], one], [*second[1:], two]
        found.append(np.where(one > two, one - two, one - two + moduli[0]) / (moduli[0] + 1))
    return np.array(found).T


def packets(chances: Floats, table: Table) -> Ints:
    """The table's inverse, linear between its points, rounded up."""
    sizes, cumulative = (np.array(column) for column in zip(*table, strict=True))
    above = np.clip(np.searchsorted(cumulative, chances), 1, len(table) - 1)
    step = cumulative[above] - cumulative[above - 1]
    part = (chances - cumulative[above - 1]) / np.where(step > 0, step, 1)
    exact = sizes[above - 1] + part * (sizes[above] - sizes[above - 1])
    # Rounding must not lift a whole number by one.
    found: Ints = np.ceil(exact - 1e-9).astype(np.int64)
    return found


def uplink(source: Ints, destination: Ints) -> Ints:
    """Which of its leaf's uplinks a pair's first connection takes.

    The hash runs over the bytes of source, destination and connection (numbered by destination,
    then source), nine times what it has plus the next as a signed byte, in 32 bits."""
    connection = destination * (HOSTS - 1) + source - (source > destination)
    found = np.zeros_like(source)
    for word in (source, destination, connection):
        for shift in (0, 8, 16, 24):
            byte = (word >> shift) & 0xFF
            found = (9 * found + np.where(byte > 0x7F, byte - 0x100, byte)) & 0xFFFF_FFFF
    return found % SPINES


def main() -> None:
    """Writes a list of flows."""
    parser = argparse.ArgumentParser(prog="published", description="Writes the published flows.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--services", type=int, default=8)
    parser.add_argument("--paths", action="store_true", help="with the published paths")
    asked = parser.parse_args()
    write(asked.file, asked.load, asked.services, 50_000, paths=asked.paths)


if __name__ == "__main__":
    main()
