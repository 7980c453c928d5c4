"""Text before the setting: what matters more, and the assumptions of the advice."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from switchbed import library, links, quantity, queues, toml
from switchbed._native import Mistake
from switchbed.scenario import Scenario
from switchbed.tuning.grid import Link
from switchbed.tuning.target import Target

TIMER = 0.05
"""A floor of the retransmission timer that is long beside any data-centre's round trip."""


def link(scenario: Mapping[str, Any], rtt: str | None) -> Link:
    """A host's link, and the round trip between the hosts furthest apart with nothing on the way,
    by a probe as long as a packet unless it is given."""
    rate = links.host_rate(scenario["topology"])
    mtu = links.mtu(scenario)
    return Link(rate, quantity.time(rtt) if rtt else _probed(scenario, mtu), mtu)


def _probed(scenario: Mapping[str, Any], mtu: int) -> float:
    """Return the RTT by links' and hosts' delay alone, without queueing, marks or pauses."""
    framing = {k: v for k, v in scenario["transport"].items() if k in ("mss", "header") and v}
    plain = {
        # All that queues, marks or pauses is left out: the round trip is that of links and hosts.
        "topology": toml.given(scenario["topology"]),
        "host": {key: links.usual_host(scenario)[key] for key in ("delay", "mtu")},
        "switch": {"queues": 1, "buffer": f"{10 * mtu}B"},
        "scheme": {"name": "none"},
        "transport": {"kind": "reno"} | framing,
    }
    try:
        hosts = Scenario(plain | {"traffic": [_probe(1, mtu)]}).plans[0].host_count
        # The last host is the furthest from the first, but on a ring, where the middle is. Each
        # probe has a run of its own: probes of one host would wait for each other.
        furthest = {hosts - 1, hosts // 2, (hosts - 1) // 2} - {0}
        runs = [Scenario(plain | {"traffic": [_probe(host, mtu)]}).run() for host in furthest]
        return max(float(run.summary()["probes"][0]["p50_us"]) for run in runs) / 1e6
    except (Mistake, LookupError, TypeError, ValueError) as error:
        raise Mistake(f"--rtt: must be given, for none could be measured: {error}") from error


def _probe(last: int, mtu: int) -> dict[str, Any]:
    return {
        "kind": "probe",
        "from": "0",
        "to": last,
        "every": "1ms",
        "stop": "5ms",
        "size": f"{mtu}B",
    }


def said(
    scenario: Mapping[str, Any], held: Target, pilot: Sequence[Mapping[str, Any]]
) -> list[str]:
    """List what affects tails more than any threshold in this scenario. `pilot` are runs of the
    user's own setting."""
    tcp, _ = links.transports(scenario)
    lines = []
    dropped = [each for each in links.flows(scenario) if _drops(scenario, each)]
    lost = _mean(pilot, "drops_by_reason", "not_ecn_capable")
    wred = "" if held.is_sim else f" on {held.name}"
    without = [each for each in dropped if not each.of.get("ecn", True)]
    marked = [each.of for each in dropped if "rto_min" in each.of]
    if without:
        keys = dict.fromkeys(f"{each.key}.ecn" for each in without)
        met = dict.fromkeys(f"{each.name} in {_drops(scenario, each)}" for each in without)
        lines.append(
            f"{' and '.join(keys)} is false: of {', '.join(met)} whatever is to be marked is "
            "dropped. Turning ECN on at the hosts comes before any threshold."
        )
    elif not all(of.get("ecn_acks", True) for of in marked):
        lines.append(
            f"ACKs are not ECN-capable (transport.ecn_acks = false) and are dropped where data is "
            f"marked{wred}: {lost:,.0f} packets a run. It moves small flows' p99 more than any "
            "threshold: let hosts send them ECN-capable (Linux's DCTCP does), let the switch pass "
            'them (switch.unmarkable = "pass": on SONiC wred_green_enable = false where the '
            "chip marks then, as Nvidia's do), or give ACKs a class without WRED."
        )
    elif marked:
        lines.append(
            "Here ACKs are ECN-capable (transport.ecn_acks = true, as Linux's DCTCP sends them). "
            "Hosts that send others lose them where data is marked, which costs small flows' p99 "
            "more than any threshold saves: check with --set transport.ecn_acks=false."
        )
    floor = max((quantity.time(of["rto_min"]) for of in tcp), default=0.0)
    timeouts = _mean(pilot, "timeouts")
    if timeouts >= 1 and floor >= TIMER:
        lines.append(
            f"{timeouts:,.3g} retransmission timeouts a run, each at least transport.rto_min = "
            f"{quantity.us(floor)}: a tail of that length is the timer's. Lower it at the hosts "
            "(ip route … rto_min 5ms) before the threshold."
        )
    full = _mean(pilot, "drops_by_reason", "full")
    if full >= 1:
        lines.append(
            f"{full:,.0f} packets a run find the buffer full with your setting: no threshold "
            "replaces memory, or a smaller initial window."
        )
    return lines


def _drops(scenario: Mapping[str, Any], flows: links.Flows) -> str:
    """Name the queues of some flows that drop what they would mark; empty: there is none."""
    switch = scenario["switch"]
    count = int(switch["queues"])
    classes = flows.classes if switch["classify"] == "class" else None
    mine = range(count) if classes is None else {each % count for each in classes}
    found = [
        f"queue {each.index} ({each.scheme})"
        for each in queues.said(scenario)
        if each.index in mine and each.drops and library.definition(each.scheme)["wred"] != "off"
    ]
    return " and ".join(found)


def rests_on(scenario: Mapping[str, Any], used: Link, blocks: int, fresh: int) -> list[str]:
    """List the assumptions of the advice."""
    tcp, pairs = links.transports(scenario)
    timers = [f"{of['kind']}, rto_min {quantity.us(quantity.time(of['rto_min']))}" for of in tcp]
    timers += [f"{of['kind']}, rto {quantity.us(quantity.time(of['rto']))}" for of in pairs]
    return [
        f"hosts: {links.usual_host(scenario).get('profile', 'none')}, {'; '.join(timers)}",
        f"C = {quantity.gbps(used.rate)}, empty RTT {quantity.us(used.rtt)}: C·RTT = "
        f"{quantity.kb(used.product)}",
        f"{blocks} paired seeds in the race, {fresh} fresh ones in the report; all intervals of "
        "the race hold together at 95 %",
    ]


def _mean(runs: Sequence[Mapping[str, Any]], *path: str) -> float:
    values = []
    for run in runs:
        value: Any = run
        for part in path:
            value = value[part]
        values.append(float(value))
    return math.fsum(values) / len(values) if values else 0.0
