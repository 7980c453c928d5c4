"""Networks that people ask for, by their numbers."""

from dataclasses import dataclass

from switchbed._native import Mistake
from switchbed.topology.network import Link, Network


@dataclass(frozen=True)
class Wire:
    """A link's rate and delay."""

    rate_bps: int
    delay_ps: int

    def joins(self, a: int, b: int) -> Link:
        """The link between two nodes."""
        return Link((a, b), self.rate_bps, self.delay_ps)


def rail(
    servers: int,
    gpus: int,
    segment: int | None,
    spines: int,
    access: Wire,
    fabric: Wire,
    nvlink: Wire | None = None,
) -> Network:
    """A rail-optimised fabric: the g-th GPU of each server of a segment is on the segment's g-th
    leaf, and every leaf is linked to every spine. A GPU with its own card is a host; with `nvlink`,
    it also has a link to its server's NVSwitch."""
    per = segment or servers
    if servers % per:
        raise Mistake(f"--segment {per}: {servers} servers are no whole number of segments")
    made = Network("rail")
    hosts = [[made.add(f"server{s}.gpu{g}") for g in range(gpus)] for s in range(servers)]
    segments = servers // per
    leaves = [made.add(f"leaf{n}", "leaf") for n in range(segments * gpus)]
    tops = [made.add(f"spine{n}", "spine") for n in range(spines)]
    made.links += [
        access.joins(host, leaves[s // per * gpus + g])
        for s, own in enumerate(hosts)
        for g, host in enumerate(own)
    ]
    if nvlink is not None:
        inside = [made.add(f"server{s}.nvswitch", "nvswitch") for s in range(servers)]
        made.links += [nvlink.joins(host, inside[s]) for s, own in enumerate(hosts) for host in own]
    made.links += [fabric.joins(leaf, top) for leaf in leaves for top in tops]
    return made


def dual(
    pairs: int, hosts: int, spines: int, access: Wire, fabric: Wire, *, planes: bool
) -> Network:
    """Pairs of ToRs with hosts that have a link to each of the two. With planes, the first ToRs of
    pairs are linked to other spines than the second."""
    made = Network("dual-plane" if planes else "dual-tor")
    own = [[made.add(f"h{p * hosts + h}") for h in range(hosts)] for p in range(pairs)]
    tors = [[made.add(f"tor{p}.{side}", "tor") for side in "ab"] for p in range(pairs)]
    if planes:
        tops = [[made.add(f"spine{n}.{side}", "spine") for n in range(spines)] for side in "ab"]
    else:
        tops = [[made.add(f"spine{n}", "spine") for n in range(spines)]] * 2
    made.links += [
        access.joins(host, tor)
        for at, two in zip(own, tors, strict=True)
        for host in at
        for tor in two
    ]
    made.links += [
        fabric.joins(two[side], top) for two in tors for side in (0, 1) for top in tops[side]
    ]
    return made
