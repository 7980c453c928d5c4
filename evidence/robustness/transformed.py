"""Scenarios changed in ways that results follow by a known rule."""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from evidence.robustness import combinations
from evidence.robustness.combinations import SHAPES, Case, Scenario
from switchbed import _native, toml

ROCE = ("dcqcn", "timely", "hpcc", "swift", "roce", "nscc", "rccc", "nscc-rccc")


def resolved(tree: Scenario) -> Scenario | None:
    """The scenario with every key that it has by default; none if the product refuses it."""
    try:
        found = toml.given(json.loads(combinations.plan(tree).scenario))
    except _native.Mistake:
        return None
    assert isinstance(found, dict)
    found.pop("title", None)
    return found


def without_ecn(tree: Scenario, section: str) -> Scenario:
    """No packet is ECN-capable."""
    made = copy.deepcopy(tree)
    for key in ("ecn", "ecn_acks", "ecn_syn"):
        if key in made.get(section, {}):
            made[section][key] = False
    return made


def measures(port: str, simulated_s: object) -> Iterator[Scenario]:
    """Sections of measurements that decide nothing, with some hundred samples of the run."""
    assert isinstance(simulated_s, float)
    every_ns = max(3000, round(simulated_s * 1e9 / 300))
    yield {"queues": "off"}
    yield {
        "series_every": f"{every_ns}ns",
        "goodput_every": f"{2 * every_ns + 1}ns",
        "capture": ["host0", port],
        "changes": {"ports": [port], "until": "100us"},
        "bursts": {"ports": [port]},
        "convergence": {"port": port, "window": f"{every_ns}ns"},
        "underflow": [port],
        "giant": "50KB",
    }


def counts_queues(case: Case, tree: Scenario) -> bool:
    """Whether a rule depends on how many queues a port has, used or not."""
    switch = tree["switch"]
    scheme = tree["scheme"]["name"]
    return (
        # A queue has an equal part of memory or line, a reserve, or a share of the quanta's sum.
        case.get("memory") in ("static", "abm")
        or "asic" in switch
        or scheme in ("per-queue-min", "pmsb", "oq", "cq", "cqrd", "cqrd-configured", "hcf")
        # Packets are spread over all queues.
        or switch["classify"] in ("hash", "ingress")
    )


def with_queue(tree: Scenario) -> Scenario:
    """One queue more, the last, that no class joins."""
    made = copy.deepcopy(tree)
    switch = made["switch"]
    switch["queues"] += 1
    if isinstance(switch["quantum"], list):
        switch["quantum"].append(switch["quantum"][0])
    return made


def counts_ports(case: Case, tree: Scenario) -> bool:
    """Whether a rule depends on how many ports a switch has, or on their numbers."""
    switch = tree["switch"]
    return (
        "memory" in switch
        or "asic" in switch
        or switch["classify"] == "ingress"
        # Its queues lose packets at the rate of all ports together.
        or (switch["policy"] == "occamy" and "expulsion" not in switch)
        # Every input's headroom comes out of the pool.
        or "pfc" in switch
        or tree["scheme"]["name"] in ("cq", "cqrd", "cqrd-configured", "oq", "hcf")
    )


def with_idle_host(case: Case, tree: Scenario) -> Scenario | None:
    """A host more on each switch that has hosts (of a dumbbell, on the left one)."""
    kind = case.get("topology")
    shape = SHAPES[kind]
    if shape.grows is None:
        return None
    made = copy.deepcopy(tree)
    made["topology"][shape.grows] += 1

    def place(host: int) -> int:
        if kind == "star":
            return host
        if kind == "dumbbell":
            return host if host < shape.keys["left"] else host + 1
        return host + host // shape.group

    return _renumbered(made, place)


def draws_by_host(tree: Scenario) -> bool:
    """Whether hosts draw, each from its stream: for jitter, or for a scheme in their cards."""
    host: Scenario = tree["host"]
    return bool(host["jitter"] != "0ps" or host["nic"] == "switch")


def with_swapped_senders(case: Case, tree: Scenario) -> Scenario | None:
    """The first two hosts, which share a switch, change places."""
    return _renumbered(copy.deepcopy(tree), lambda host: {0: 1, 1: 0}.get(host, host))


def _renumbered(tree: Scenario, place: Any) -> Scenario:
    for flow in tree["traffic"]:
        flow["from"] = place(_host(flow["from"]))
        flow["to"] = place(_host(flow["to"]))
    for event in tree.get("event", ()):
        if event["port"].startswith("host"):
            event["port"] = f"host{place(int(event['port'][4:]))}"
    return tree


LATE_S = 10.0
"""When everything else is over."""


def with_late_flow(tree: Scenario) -> Scenario:
    """The same with a flow that begins late."""
    made = copy.deepcopy(tree)
    made["traffic"].append({**made["traffic"][0], "start": f"{LATE_S:.0f}s"})
    return made


def _host(given: Any) -> int:
    """The one host of a resolved key."""
    return int(given[0] if isinstance(given, list) else given)


UNEVEN = ("10Gbps", "8Gbps", "6400Mbps", "5Gbps", "4Gbps", "3200Mbps")
"""Rates of hosts' cards at which packets take whole picoseconds, also at twice the rate."""


def uneven(case: Case, tree: Scenario) -> Scenario:
    """The same with senders of different rates, whose packets seldom meet at one instant."""
    if case.get("transport") in ROCE:
        # HPCC's INT knows few rates.
        return tree
    made = copy.deepcopy(tree)
    senders = sorted({_host(flow["from"]) for flow in made["traffic"]})
    made["event"] = [
        {"at": "0ps", "port": f"host{host}", "rate": UNEVEN[nth % len(UNEVEN)]}
        for nth, host in enumerate(senders)
    ]
    return made


SECONDS: dict[str, dict[str, Any]] = {
    "host": {"lso_autosize": "off", "small_queues": False},
    "transport": {
        "pacing": "off",
        "hystart": "off",
        "curve": "exact",
        "data_retries_by": "timeouts",
        "tail_loss_probe": False,
        "undo": False,
    },
}
"""Rules of the kernel that have seconds of their own, which no key scales: segments of 1/1024 s,
HyStart's milliseconds, CUBIC's jiffies, retries counted from 200 ms, probes' clock of 1 us, time
stamps of 1 ms. Without them a run has no scale."""


UNWRITTEN: dict[str, dict[str, str]] = {
    "paper": {
        "alpha_timer": "55us",
        "cnp_interval": "50us",
        "increase_timer": "55us",
        "additive_increase": "40Mbps",
        "hyper_increase": "200Mbps",
        "min_rate": "10Mbps",
    },
    "connectx": {
        "alpha_timer": "1us",
        "cnp_interval": "4us",
        "cut_interval": "4us",
        "increase_timer": "300us",
        "min_rate": "1Mbps",
    },
}
"""DCQCN's defaults, which a resolved scenario does not write, by the variant."""
TIMED = ("bbr", "bbr3", "nscc", "rccc", "nscc-rccc")
"""Transports with seconds of their own: BBR's probes, htsim's reference RTT and its timeout's."""
SILENCE_S = 5e-3
"""FAB's and ABM's: a flow that was silent for so long is new again."""


def has_seconds(case: Case, simulated_s: object) -> bool:
    """Whether a rule's own time, which no key scales, is within the run."""
    assert isinstance(simulated_s, float)
    if case.get("transport") in TIMED:
        return True
    return case.get("memory") == "fab" and simulated_s > SILENCE_S / 2


def without_seconds(tree: Scenario) -> Scenario:
    """The same without rules that have seconds of their own."""
    made = copy.deepcopy(tree)
    for section, keys in SECONDS.items():
        for key, value in keys.items():
            if key in made.get(section, {}):
                made[section][key] = value
    if made.get("roce", {}).get("kind") == "dcqcn":
        for key, value in UNWRITTEN[made["roce"]["variant"]].items():
            made["roce"].setdefault(key, value)
    if "pfc" in made["switch"]:
        # By default what the standards allow at a rate, in no proportion to it.
        made["switch"]["pfc"].setdefault("response", "1us")
    if made["switch"].get("policy") == "abm":
        made["switch"].setdefault("drain_interval", "30us")
    if made["transport"].get("early_retransmit") == "delayed":
        made["transport"]["early_retransmit"] = "at-once"
    return made


def faster(tree: Scenario) -> Scenario:
    """Every rate doubled and every time halved; sizes stay."""
    schema = _schema()
    made: Scenario = {}
    for section, value in tree.items():
        kind = schema[section]
        if isinstance(value, list):
            made[section] = [_faster(each, kind["items"]) for each in value]
        else:
            made[section] = _faster(value, kind)
    kinds = _parameters()[tree["scheme"]["name"]]
    params = made["scheme"].get("params", {})
    made["scheme"]["params"] = {
        key: _quantity(value, kinds.get(key, "")) for key, value in params.items()
    }
    if "c" in made["transport"]:
        made["transport"]["c"] *= 8  # CUBIC's, in packets/s³
    return made


def _faster(value: Any, kind: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        keys = kind.get("properties", {})
        return {key: _faster(each, keys.get(key, {})) for key, each in value.items()}
    kinds = [kind, *kind.get("anyOf", ())]
    for each in kinds:
        name = str(each.get("$ref", "")).rpartition("/")[2]
        if name in ("time", "rate"):
            return _quantity(value, name)
    return value


def _quantity(value: Any, kind: str) -> Any:
    if isinstance(value, list):
        return [_quantity(each, kind) for each in value]
    if kind == "per second":
        return value * 2
    if not isinstance(value, str):
        return value
    if kind == "rate":
        return f"{_native.rate_bps(value) * 2}bps"
    if kind == "time":
        ps = _native.time_ps(value)
        return f"{ps // 2}ps"
    return value


@cache
def _schema() -> Any:
    return json.loads(_native.schema())["properties"]


@cache
def _parameters() -> dict[str, dict[str, str]]:
    """The kinds of schemes' parameters: time, rate, a number per second, or nothing."""
    return {
        scheme["name"]: {
            each["name"]: next(
                (kind for kind in ("time", "rate") if f"a {kind}" in each["takes"]),
                "per second" if "per second" in each["meaning"] else "",
            )
            for each in scheme["parameters"]
        }
        for scheme in json.loads(_native.schemes())
    }


SHIFTS_PS = (2, -14, 46)
"""Of one flow."""
DELAYS_PS = tuple(1_000_006 * nth for nth in range(1, 9))
"""Of all flows, for which ties are drawn anew."""


def moved(tree: Scenario) -> Iterator[Scenario]:
    """The same with one flow begun some picoseconds earlier or later, or with all flows later."""
    flows = range(len(tree["traffic"]))
    yield from (_begun(tree, [nth], by) for by in SHIFTS_PS for nth in flows)
    yield from (_begun(tree, flows, by) for by in DELAYS_PS)


def _begun(tree: Scenario, flows: Iterable[int], later_ps: int) -> Scenario:
    made = copy.deepcopy(tree)
    for nth in flows:
        flow = made["traffic"][nth]
        flow["start"] = f"{_native.time_ps(flow['start']) + later_ps}ps"
    return made
