"""A network: nodes and links, and what they come to. Networks that people ask for, by their
numbers."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from switchbed import _native, library
from switchbed._native import Mistake

FORMS = ("table", "hpcc", "simai", "htsim")
PACKET_BYTES = 1500
"""The packet of a file's ideal round trip; a scenario's has `host.mtu`."""
NIC = "nic"
"""The tier of switches that stand for network cards with several ports."""


@dataclass(frozen=True)
class Node:
    """A host or a switch."""

    name: str
    tier: str | None
    """`None`: a host."""


@dataclass(frozen=True)
class Link:
    """A link: both directions have its rate and its delay."""

    ends: tuple[int, int]
    """Places among the nodes."""
    rate_bps: int
    delay_ps: int
    mtu_bytes: int | None = None
    loss: float = 0.0
    """The fraction of packets that it loses, either way."""


@dataclass
class Network:
    """Nodes, links, and what they come to where that is known."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    measures: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, tier: str | None = None) -> int:
        """A node; its place."""
        self.nodes.append(Node(name, tier))
        return len(self.nodes) - 1

    def hosts(self) -> list[int]:
        """The places of hosts."""
        return [at for at, node in enumerate(self.nodes) if node.tier is None]

    def at(self) -> list[list[Link]]:
        """The links of each node, in order."""
        own: list[list[Link]] = [[] for _ in self.nodes]
        for link in self.links:
            for end in link.ends:
                own[end].append(link)
        return own


def read(file: Path, form: str, sets: Sequence[str] = ()) -> Network:
    """The network of a topology's file, or of a scenario (`.toml`, `@NAME`, `-`)."""
    if str(file).startswith("@") or str(file) == library.STDIN or file.suffix == ".toml":
        if form != "auto":
            raise Mistake(f"--format {form}: {file} is a scenario, whose topology.format says it")
        return _of_scenario(file, sets)
    if sets:
        raise Mistake(f"--set: {file} is no scenario, which alone has keys")
    return _network(str(file), _native.topology(file, form, PACKET_BYTES))


def _of_scenario(file: Path, sets: Sequence[str]) -> Network:
    given = library.given(file)
    plans = given.plans(sets)
    differ = {json.dumps(json.loads(plan.scenario)["topology"]) for plan in plans}
    if len(differ) > 1:
        raise Mistake(
            f"{given.name}: has {len(differ)} topologies in [compare]: choose one by --set, such "
            "as --set 'compare.topology.spines=[2]'"
        )
    return _network(given.name, plans[0].topology)


def _network(name: str, text: str) -> Network:
    found = json.loads(text)
    nodes = [Node(**node) for node in found["nodes"]]
    links = [Link(**{**link, "ends": tuple(link["ends"])}) for link in found["links"]]
    return Network(name, nodes, links, found["measures"])


def without(network: Network, tier: str) -> Network:
    """The network without a tier's switches and their links."""
    tiers = dict.fromkeys(node.tier for node in network.nodes if node.tier is not None)
    if tier not in tiers:
        raise Mistake(f"--without {tier}: {network.name} has the tiers {', '.join(tiers)}")
    kept = [at for at, node in enumerate(network.nodes) if node.tier != tier]
    place = {at: new for new, at in enumerate(kept)}
    links = [
        replace(link, ends=(place[a], place[b]))
        for link in network.links
        for a, b in [link.ends]
        if a in place and b in place
    ]
    linked = {end for link in links for end in link.ends}
    for new, at in enumerate(kept):
        if new not in linked:
            name = network.nodes[at].name
            raise Mistake(f"--without {tier}: leaves {name} without a link")
    return Network(network.name, [network.nodes[at] for at in kept], links)


def with_nics(network: Network) -> Network:
    """The network with a switch of the tier `nic` between each host of several links and these: the
    host's link has their rates together and half the shortest delay, which theirs have no more."""
    names = {node.name for node in network.nodes}
    found = Network(network.name, list(network.nodes))
    nics: dict[int, tuple[int, int]] = {}
    for host, own in enumerate(network.at()):
        if network.nodes[host].tier is not None or len(own) < 2:
            continue
        name = f"{network.nodes[host].name}.{NIC}"
        if name in names:
            raise Mistake(f"--nics: {network.name} has a node {name} already")
        half = min(link.delay_ps for link in own) // 2
        nic = found.add(name, NIC)
        nics[host] = (nic, half)
        mtus = [link.mtu_bytes for link in own if link.mtu_bytes is not None]
        rate = sum(link.rate_bps for link in own)
        found.links.append(Link((host, nic), rate, half, min(mtus, default=None)))
    for link in network.links:
        a, b = (nics.get(end, (end, 0)) for end in link.ends)
        delay = link.delay_ps - a[1] - b[1]
        found.links.append(replace(link, ends=(a[0], b[0]), delay_ps=delay))
    return found


def between(network: Network) -> dict[tuple[str | None, str | None], Counter[int]]:
    """The links between two tiers, by rate; `None` is hosts. Tiers are in the nodes' order."""
    order: dict[str | None, int] = {None: -1}
    for node in network.nodes:
        order.setdefault(node.tier, len(order))
    found: dict[tuple[str | None, str | None], Counter[int]] = {}
    for link in network.links:
        a, b = sorted((network.nodes[end].tier for end in link.ends), key=lambda tier: order[tier])
        found.setdefault((a, b), Counter())[link.rate_bps] += 1
    return found


@dataclass(frozen=True)
class Wire:
    """A link's rate and delay."""

    rate_bps: int
    delay_ps: int

    def joins(self, a: int, b: int) -> Link:
        """The link between two nodes."""
        return Link((a, b), self.rate_bps, self.delay_ps)


MOST_HOSTS, MOST_PORTS = 65_535, 2**20 - 1
"""Of a scenario's topology."""


def _fits(hosts: int, links: int) -> None:
    """Refuse a network that no scenario can have, before its nodes are made."""
    for count, most, of in ((hosts, MOST_HOSTS, "hosts"), (2 * links, MOST_PORTS, "ports")):
        if count > most:
            raise Mistake(f"the network would have {count} {of}: at most {most}")


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
    inner = servers * gpus if nvlink is not None else 0
    _fits(servers * gpus, servers * gpus + inner + servers // per * gpus * spines)
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
    _fits(pairs * hosts, 2 * pairs * (hosts + spines))
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
