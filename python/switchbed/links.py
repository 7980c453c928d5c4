"""Links, hosts and transports of a resolved scenario."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from switchbed import quantity, toml
from switchbed._native import Mistake, Plan, link_rates, plans_of


def host_rate(topology: Mapping[str, Any]) -> int:
    """The rate of the hosts' links in bits a second, where all have the same."""
    if "path" not in topology:
        return quantity.rate(topology.get("host_rate") or topology["rate"])
    first, *others = link_rates(Path(topology["path"]), topology["format"], hosts=True)
    if others:
        slowest, fastest = quantity.gbps(first), quantity.gbps(others[-1])
        raise Mistake(
            f"{topology['path']}: hosts' links have {slowest} to {fastest}: this needs one rate "
            f"(switchbed import sonic --like {fastest} takes the ports of one)"
        )
    return first


def usual_host(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keys of `[host]`, of the hosts that no `[[host]]` entry names."""
    host = scenario["host"]
    usual: Mapping[str, Any] = host if isinstance(host, Mapping) else host[0]
    return usual


def transports(
    scenario: Mapping[str, Any],
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """TCP's settings of the flows, and the queue pairs', each once."""
    roce, found = scenario.get("roce"), []
    for entry in scenario["traffic"]:
        if own := entry.get("transport"):
            found.append(own)
        elif entry["kind"] != "probe":
            found += [roce] if roce else []
            if not roce or roce.get("classes") is not None:
                found.append(scenario["transport"])
    host = scenario["host"]
    found += [of["transport"] for of in host if "transport" in of] if isinstance(host, list) else []
    once = [of for place, of in enumerate(found) if of not in found[:place]]
    return [of for of in once if "rto_min" in of], [of for of in once if "rto_low" in of]


class Flows(NamedTuple):
    """Flows of one transport."""

    name: str
    key: str
    """Table of the transport's keys: `transport` or `roce`."""
    of: Mapping[str, Any]
    classes: frozenset[int] | None
    """Classes that they are of; `None`: any."""


def flows(scenario: Mapping[str, Any]) -> list[Flows]:
    """The flows of each traffic by their transport, and of hosts with one of their own."""
    roce, found = scenario.get("roce"), []
    for place, entry in enumerate(scenario["traffic"]):
        own, classes = entry.get("transport"), _classes(entry)
        kinds: list[tuple[Mapping[str, Any], frozenset[int] | None]] = []
        if own:
            kinds = [(own, classes)]
        elif entry["kind"] != "probe":
            tcp = scenario["transport"]
            # Without classes of their own the queue pairs have all flows.
            paired = roce.get("classes") if roce else []
            if roce and paired is None:
                kinds = [(roce, classes)]
            elif not roce or not paired or classes is None:
                kinds = [(of, classes) for of in (roce, tcp) if of]
            else:
                parts = ((roce, classes & set(paired)), (tcp, classes - set(paired)))
                kinds = [(of, mine) for of, mine in parts if mine]
        for of, mine in kinds:
            key = "transport" if "rto_min" in of else "roce"
            found.append(Flows(f"traffic {place} ({of['kind']})", key, of, mine))
    host = scenario["host"]
    for place, each in enumerate(host if isinstance(host, list) else []):
        if "transport" in each:
            of = each["transport"]
            found.append(Flows(f"host {place} ({of['kind']})", "transport", of, None))
    return found


def _classes(entry: Mapping[str, Any]) -> frozenset[int] | None:
    """Classes of a traffic's flows; `None`: they are not in the scenario."""
    if entry.get("classes"):
        return frozenset(map(int, entry["classes"]))
    if entry.get("shares"):
        return frozenset(nth for nth, share in enumerate(entry["shares"]) if share)
    return frozenset({0}) if "classes" in entry else None


def mtu(scenario: Mapping[str, Any]) -> int:
    """The largest packet of a resolved scenario in bytes."""
    return quantity.size(usual_host(scenario)["mtu"])


def rates(topology: Mapping[str, Any]) -> set[int]:
    """The rates of all links, in bits a second."""
    if "path" in topology:
        return set(link_rates(Path(topology["path"]), topology["format"], hosts=False))
    named = (value for key, value in topology.items() if key == "rate" or key.endswith("_rate"))
    return {quantity.rate(rate) for rate in named}


def most_ports(scenario: Mapping[str, Any]) -> int:
    """The ports of the switch that has most, of a resolved scenario."""
    text = toml.document(toml.given(scenario))
    plan = plans_of("the scenario", text, ".", [], lines=False)[0]
    network = json.loads(plan.topology)
    ports = Counter(end for link in network["links"] for end in link["ends"])
    return max(
        (ports[at] for at, node in enumerate(network["nodes"]) if node["tier"] is not None),
        default=1,
    )


MOST_HOSTS = 4096
"""Hosts of a network whose paths are counted at most; more take too long."""
SAMPLED = 4
"""Hosts from which paths are counted."""
HEADERS = 52
"""Bytes of a TCP segment that are no payload, with time stamps."""
ACKS = 0.5
"""ACKs for a data packet, where every second one is acknowledged."""
HOP_S = 5e-7
"""Seconds of a core for a packet-hop; runs print theirs, 0.1 to 3 µs by machine and scheme."""


def packet_hops(plan: Plan) -> float | None:
    """Packet-hops that a run is expected to take, to a factor of two: flows times packets and their
    ACKs times the mean path. `None` where the number of flows is not given, a time ends the run, or
    the network is large."""
    scenario = json.loads(plan.scenario)
    if plan.host_count > MOST_HOSTS or scenario["run"].get("until") is not None:
        return None
    payload = mtu(scenario) - HEADERS
    packets = 0.0
    for source in scenario["traffic"]:
        flows, sizes = source.get("flows"), source.get("sizes")
        means = [each.get("mean") for each in sizes] if isinstance(sizes, list) else []
        if not isinstance(flows, int) or not means or None in means:
            return None
        # Classes draw from the list in turn: the mean of the means is near enough.
        # Means are in bytes and need not be whole.
        mean = sum(float(each.removesuffix("B")) for each in means) / len(means)
        packets += flows * max(1.0, mean / payload)
    return packets * (1 + ACKS) * _mean_path(json.loads(plan.topology))


def _mean_path(network: Mapping[str, Any]) -> float:
    """Links between two hosts, mean over all hosts from some of them."""
    joined: dict[int, set[int]] = {}
    for link in network["links"]:
        a, b = link["ends"]
        joined.setdefault(a, set()).add(b)
        joined.setdefault(b, set()).add(a)
    hosts = [number for number, node in enumerate(network["nodes"]) if node["tier"] is None]
    lengths: list[int] = []
    for start in hosts[:: max(1, len(hosts) // SAMPLED)]:
        known, front, far = {start}, {start}, 0
        while front:
            lengths += [far] * sum(each in front for each in hosts if far)
            front = {other for each in front for other in joined.get(each, ())} - known
            known |= front
            far += 1
    return sum(lengths) / len(lengths) if lengths else 0.0
