"""Links, hosts and transports of a resolved scenario."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from switchbed import quantity, toml
from switchbed._native import Mistake, link_rates, plans_of


def host_rate(topology: Mapping[str, Any]) -> int:
    """The rate of the hosts' links in bits a second, where all have the same."""
    if "path" not in topology:
        return quantity.rate(topology.get("host_rate") or topology["rate"])
    first, *others = link_rates(Path(topology["path"]), topology["format"], hosts=True)
    if others:
        slowest, fastest = quantity.gbps(first), quantity.gbps(others[-1])
        raise Mistake(
            f"{topology['path']}: hosts' links have {slowest} to {fastest}: this needs one rate"
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
