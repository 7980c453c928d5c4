"""Networks as files of each form."""

from collections.abc import Callable, Iterator
from itertools import groupby

from switchbed import quantity
from switchbed._native import Mistake
from switchbed.topology.network import Link, Network

UNITS = (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1))
NVSWITCH = "nvswitch"


def span(ps: int) -> str:
    """A delay as files have it: exact."""
    # The largest unit in which the delay is a whole number.
    unit, scale = next(each for each in UNITS if ps % each[1] == 0)
    return "0s" if ps == 0 else f"{ps // scale}{unit}"


def table(network: Network) -> str:
    """Our own form."""
    names = [node.name for node in network.nodes]
    lines = ["node,tier", *(f"{node.name},{node.tier or 'host'}" for node in network.nodes)]
    lines.append("from,to,rate,delay,count,mtu")
    # Only neighbours in the list are joined, since a link's place decides its ports' numbers.
    for link, alike in groupby(network.links):
        count = sum(1 for _ in alike)
        a, b = (names[end] for end in link.ends)
        mtu = "" if link.mtu_bytes is None else quantity.bytes_of(link.mtu_bytes)
        many = count if count > 1 else ""
        rate = quantity.gbps(link.rate_bps)
        lines.append(f"{a},{b},{rate},{span(link.delay_ps)},{many},{mtu}")
    return "\n".join(lines) + "\n"


def _numbered(network: Network) -> tuple[list[int], int]:
    """Each node's number, hosts first, then NVSwitches; and how many NVSwitches there are."""
    rank = {None: 0, NVSWITCH: 1}
    # The sort is stable, so nodes of a kind keep their order.
    order = sorted(range(len(network.nodes)), key=lambda at: rank.get(network.nodes[at].tier, 2))
    number = [0] * len(order)
    for new, at in enumerate(order):
        number[at] = new
    return number, sum(node.tier == NVSWITCH for node in network.nodes)


def _rate(bps: int) -> str:
    """A rate as ns-3 reads it, which knows no Tbps."""
    return f"{bps // 10**9}Gbps" if bps % 10**9 == 0 else f"{bps}bps"


def _rows(network: Network, head: str, number: list[int]) -> str:
    hosts = len(network.hosts())
    # HPCC's second line lists the switches; hosts were numbered first.
    lines = [head, " ".join(str(at) for at in range(hosts, len(network.nodes)))]
    for link in network.links:
        a, b = (number[end] for end in link.ends)
        lines.append(f"{a} {b} {_rate(link.rate_bps)} {span(link.delay_ps)} {link.loss or 0}")
    return "\n".join(lines) + "\n"


def hpcc(network: Network) -> str:
    """HPCC's simulator's."""
    number, _ = _numbered(network)
    nodes, links = len(network.nodes), len(network.links)
    return _rows(network, f"{nodes} {nodes - len(network.hosts())} {links}", number)


def simai(network: Network) -> str:
    """SimAI's. The GPUs of a server are the hosts of an NVSwitch."""
    number, nvswitches = _numbered(network)
    nodes, hosts, links = len(network.nodes), len(network.hosts()), len(network.links)
    first = next((at for at, node in enumerate(network.nodes) if node.tier == NVSWITCH), None)
    # SimAI has one number of GPUs for all servers: the hosts below the first NVSwitch.
    gpus = 1 if first is None else len(network.at()[first])
    switches = nodes - hosts - nvswitches
    return _rows(network, f"{nodes} {gpus} {nvswitches} {switches} {links} NONE", number)


def htsim(network: Network) -> str:
    """htsim's `.topo`, where the network is a fat-tree that it can say."""
    return FatTree(network).text()


class FatTree:
    """A network as a fat-tree of two or three tiers, checked link by link."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.own = network.at()
        levels = [network.hosts()]
        # Breadth first from the hosts: a node's level is its least distance from one.
        level = dict.fromkeys(levels[0], 0)
        while levels[-1]:
            above = dict.fromkeys(
                to for at in levels[-1] for to in self._near(at) if to not in level
            )
            level.update(dict.fromkeys(above, len(levels)))
            levels.append(list(above))
        # The loop ends with an empty level.
        self.levels, self.level = levels[:-1], level
        if len(self.levels) not in (3, 4):
            self._refuse(f"it has {len(self.levels) - 1} tiers of switches, and htsim's 2 or 3")

    def _refuse(self, why: str) -> None:
        raise Mistake(f"{self.network.name}: is no fat-tree that htsim's form can say: {why}")

    def _near(self, at: int) -> list[int]:
        return [b if a == at else a for a, b in (link.ends for link in self.own[at])]

    def _one(self, what: str, found: Iterator[int]) -> int:
        # htsim's form has one number for a whole tier, so all nodes must agree.
        values = set(found)
        if len(values) != 1:
            some = ", ".join(str(value) for value in sorted(values)[:3])
            self._refuse(f"{what} must be the same for all, and there are {some}")
        return values.pop()

    def _toward(self, at: int, step: int) -> list[int]:
        return [to for to in self._near(at) if self.level[to] == self.level[at] + step]

    def _links(self, upper: int) -> Iterator[Link]:
        for at in self.levels[upper]:
            for link, to in zip(self.own[at], self._near(at), strict=True):
                if self.level[to] == upper - 1:
                    yield link

    def text(self) -> str:
        """The file."""
        top = len(self.levels) - 1
        for link in self.network.links:
            a, b = (self.level[end] for end in link.ends)
            if abs(a - b) != 1:
                names = " and ".join(self.network.nodes[end].name for end in link.ends)
                self._refuse(f"{names} are linked, which are not in tiers one above the other")
        # Index 0 is the hosts', so that index n is the n-th tier of switches.
        down, up, bundle = [0], [0], [1]
        for n in range(1, top + 1):
            name = f"switches of tier {n - 1}"
            down.append(self._one(f"links down of {name}", self._counts(n, -1)))
            up.append(self._one(f"links up of {name}", self._counts(n, 1)))
            pairs = (
                self._toward(at, -1).count(to)
                for at in self.levels[n]
                for to in set(self._toward(at, -1))
            )
            bundle.append(self._one(f"parallel links of {name} to one below", pairs))
        links = self._one("links of hosts", self._counts(0, 1))
        if links != bundle[1]:
            self._refuse(f"a host has {links} links to different switches, and there to one")
        podsize = self._pods(top)
        lines = [f"Nodes {len(self.levels[0])}", f"Tiers {top}", f"Podsize {podsize}"]
        for n in range(1, top + 1):
            rate = self._one(f"rates below tier {n - 1}", (k.rate_bps for k in self._links(n)))
            delay = self._one(f"delays below tier {n - 1}", (k.delay_ps for k in self._links(n)))
            # The form has whole Gbps and whole ns.
            if rate % 10**9 or delay % 10**3 or delay == 0:
                self._refuse("rates are whole Gbps there, and delays whole ns over 0")
            lines += [f"Tier {n - 1}", f"Downlink_speed_Gbps {rate // 10**9}"]
            lines += [f"Radix_Down {down[n]}"]
            if n < top:
                above = self._one("rates", (k.rate_bps for k in self._links(n + 1)))
                # Capacity down over capacity up, which readers check against the links.
                over = max(down[n] * rate // (up[n] * above), 1)
                lines += [f"Radix_Up {up[n]}", *([f"Oversubscribed {over}"] if over > 1 else [])]
            if bundle[n] > 1:
                lines.append(f"Bundle {bundle[n]}")
            lines.append(f"Downlink_Latency_ns {delay // 10**3}")
        return "\n".join(lines) + "\n"

    def _counts(self, n: int, step: int) -> Iterator[int]:
        return (len(self._toward(at, step)) for at in self.levels[n])

    def _pods(self, top: int) -> int:
        """Hosts of a pod. Each of its ToRs is linked to each of its aggregations; in three tiers
        aggregations of different pods have all cores in common, or none."""
        sizes, pods, seen = set(), [], set[int]()
        for tor in self.levels[1]:
            if tor in seen:
                continue
            aggs = set(self._toward(tor, 1))
            tors = {down for agg in aggs for down in self._toward(agg, -1)}
            if any(set(self._toward(other, 1)) != aggs for other in tors):
                self._refuse("each ToR of a pod must be linked to each aggregation of it")
            # A pod is found from each of its ToRs; the others are skipped.
            seen |= tors
            sizes.add(sum(len(set(self._toward(other, -1))) for other in tors))
            pods.append(aggs)
        size = self._one("hosts of a pod", iter(sizes))
        if top == 2 and len(pods) > 1:
            self._refuse("it is in parts")
        if top == 3:
            # A plane is the set of cores that one aggregation of each pod shares.
            planes = {frozenset(self._toward(agg, 1)) for aggs in pods for agg in aggs}
            cores = sum(len(plane) for plane in planes)
            if cores != len(self.levels[3]) or any(len(aggs) != len(planes) for aggs in pods):
                self._refuse("each core must be linked to one aggregation of each pod")
        return size


WRITERS: dict[str, Callable[[Network], str]] = {
    "table": table,
    "hpcc": hpcc,
    "simai": simai,
    "htsim": htsim,
}


def lost(network: Network, form: str) -> Iterator[str]:
    """List the properties that a form cannot express."""
    if form in ("table", "htsim") and any(link.loss for link in network.links):
        yield "error rates of links"
    if form == "table":
        return
    hosts = "ToR by ToR" if form == "htsim" else "first"
    yield f"names and tiers of nodes: they are numbered, hosts {hosts}"
    if any(link.mtu_bytes is not None for link in network.links):
        yield "the MTUs of links"
    ends = [tuple(sorted(link.ends)) for link in network.links]
    if form != "htsim" and len(set(ends)) < len(ends):
        yield "parallel links, of which simulators that read this form keep the last"
