"""Combinations of what the product's registries list, as scenarios of a few flows: topology,
scheme, memory, transport, host profile, network card and offload, each word of a key. The lists
come from the product; only sizes that suit a run of microseconds are written here."""

import copy
import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from switchbed import _native, toml

Scenario = dict[str, Any]
Choice = tuple[str, Any]
"""A dotted path, such as switch.policy, and its value."""


@dataclass(frozen=True)
class Shape:
    """A topology of a few hosts."""

    keys: Mapping[str, Any]
    hosts: int
    group: int
    """Hosts on each of the switches that have hosts."""
    grows: str | None = None
    """The key that adds an idle host to each of these, or to the last one."""


SHAPES: dict[str, Shape] = {
    "star": Shape({"hosts": 6}, 6, 6, "hosts"),
    "dumbbell": Shape({"left": 4, "right": 2, "bottleneck_delay": "3us"}, 6, 4, "left"),
    "parking-lot": Shape({"switches": 3, "hosts_per_switch": 2}, 6, 2, "hosts_per_switch"),
    "ring": Shape({"switches": 4, "hosts_per_switch": 2}, 8, 2, "hosts_per_switch"),
    "leaf-spine": Shape({"leaves": 2, "spines": 2, "hosts_per_leaf": 3}, 6, 3, "hosts_per_leaf"),
    "fat-tree": Shape({"k": 4}, 16, 2),
    "clos": Shape(
        {"pods": 2, "edges_per_pod": 2, "aggregations_per_pod": 2, "cores": 2, "hosts_per_edge": 2},
        8,
        2,
        "hosts_per_edge",
    ),
}
READ = "file"
"""A kind that has no shape of its own: its networks and their relations are the simulator's tests
(crates/sim/tests/files/topologies.rs)."""
RATE, DELAY = "10Gbps", "2us"
BUFFER, POOL = "45KB", "90KB"

PLAIN = "as the profile has it"
SIZED = {"a size": "9KB", "a time": "12us", "a rate": "1Gbps"}
"""A required parameter's value by its kind."""
TUNED: dict[str, dict[str, Any]] = {
    "red": {"kmax": "24KB", "weight": 0.5},
    "cedm": {"k2": "20KB"},
    "e-ecn": {"base_rtt": "12us"},
    "s-ecn": {"slope_share": 1},
    "codel": {"interval": "100us"},
    "fq-codel": {"interval": "100us"},
    "cobalt": {"interval": "100us"},
    "pie": {"target": "30us"},
    "dualpi2": {"target": "30us"},
    "af-qcn": {"active_threshold": "8KB", "q_eq": "12KB"},
    "qcn": {"q_eq": "12KB"},
}
"""Parameters without which a scheme has nothing to do within microseconds."""
KEPT = {"profile", "mtu", "kind", "python"}
"""Keys that are a dimension themselves."""
SAMPLES: dict[str, tuple[Choice, ...]] = {
    "host.coalesce": (("host.coalesce_frames", 8), ("host.coalesce_time", "6us")),
    "host.merge": (("host.merge_packets", 4), ("host.merge_flush", "time")),
    "host.unmerged": (("host.merge_packets", 1),),
    "host.jitter": (("host.jitter", "1us"),),
    "host.delay": (("host.delay", "1us"),),
    "switch.strict": (("switch.strict", 1),),
    "switch.queues": (("switch.queues", 1),),
    "switch.quantum": (("switch.quantum", ["1pkt", "2pkt", "3pkt", "2pkt"]),),
}
"""Settings that are numbers or tables, and so no words of the schema."""

PAUSES: dict[str, tuple[Choice, ...]] = {
    "none": (),
    "all classes": (("switch.pfc", {"priorities": [0, 1, 2, 3]}), ("switch.pool", "600KB")),
    "one class": (("switch.pfc", {"priorities": [1]}), ("switch.pool", "600KB")),
}
RARE = {"pauses": "none", "card": PLAIN, "setting": PLAIN}
"""Dimensions whose values go with few of others': half of the combinations that do not ask for one
have this."""


@dataclass(frozen=True)
class Case:
    """A value for each dimension, by the dimension's name."""

    chosen: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.chosen)

    def get(self, name: str) -> str:
        """The value's name in a dimension."""
        return dict(self.chosen)[name]


@cache
def dimensions() -> dict[str, dict[str, tuple[Choice, ...]]]:
    """The settings of each value of each dimension."""
    schema = json.loads(_native.schema())["properties"]
    kinds = [kind for kind in schema["topology"]["properties"]["kind"]["enum"] if kind != READ]
    if missing := set(kinds) ^ set(SHAPES):
        raise AssertionError(f"topologies without a shape here, or gone: {missing}")
    found: dict[str, dict[str, tuple[Choice, ...]]] = {
        "topology": {kind: (("topology", topology(kind)),) for kind in kinds},
        "scheme": dict(_schemes()),
        "memory": dict(_memories()),
        "transport": {
            kind: (("transport.kind", kind),)
            for kind in schema["transport"]["properties"]["kind"]["enum"]
            if kind != "ecn*"  # ecn-star by another name
        },
        "profile": {
            each["name"]: (("host.profile", each["name"]),)
            for each in json.loads(_native.profiles())
        },
    }
    settings: dict[str, tuple[Choice, ...]] = {PLAIN: ()}
    cards: dict[str, tuple[Choice, ...]] = {PLAIN: ()}
    for section in ("switch", "host", "transport", "roce"):
        into = cards if section == "host" else settings
        for key, kind in schema[section]["properties"].items():
            if key in KEPT | {"asic", "policy"}:
                continue
            for word in words(kind):
                into[f"{section}.{key} = {json.dumps(word)}"] = ((f"{section}.{key}", word),)
    for name, choice in SAMPLES.items():
        (cards if name.startswith("host") else settings)[name] = choice
    return found | {"pauses": PAUSES, "card": cards, "setting": settings}


def topology(kind: str, more: int = 0) -> Scenario:
    """The section, with so many more hosts on each switch that has hosts, or on the first."""
    shape = SHAPES[kind]
    rates = {"host_rate": RATE, "host_delay": DELAY}
    if kind in ("star", "dumbbell", "parking-lot", "ring"):
        rates = {"rate": RATE, "delay": DELAY}
    keys = {"kind": kind, **shape.keys, **rates}
    if more and shape.grows:
        keys[shape.grows] += more
    return keys


def words(kind: Mapping[str, Any]) -> list[Any]:
    """A key's words, or both of a switch's."""
    if kind.get("type") == "boolean":
        return [False, True]
    found = list(kind.get("enum", ()))
    return found + list(itertools.chain.from_iterable(map(words, kind.get("anyOf", ()))))


def _schemes() -> Iterator[tuple[str, tuple[Choice, ...]]]:
    for scheme in json.loads(_native.schemes()):
        name = scheme["name"]
        if name == "python":
            continue
        needed = {
            each["name"]: next(value for kind, value in SIZED.items() if kind in each["takes"])
            for each in scheme["parameters"]
            if each["required"]
        }
        params = needed | TUNED.get(name, {})
        yield name, (("scheme", {"name": name, "params": params}),)
        for each in scheme["parameters"]:
            for word in _words_of(each["takes"]):
                # A curve has thresholds already.
                others = params if each["name"] != "curve" else {}
                with_word = {"name": name, "params": others | {each["name"]: word}}
                yield f"{name}, {each['name']} = {json.dumps(word)}", (("scheme", with_word),)


def _words_of(takes: str) -> list[Any]:
    """The words that a parameter's description lists."""
    if takes == "true or false":
        return [False, True]
    if takes.startswith(("a ", "an ")):
        return []
    return takes.replace(" or ", ", ").split(", ")


def _memories() -> Iterator[tuple[str, tuple[Choice, ...]]]:
    for policy in json.loads(_native.policies()):
        name = policy["name"]
        if policy["key"] != "switch.policy":
            continue
        if name == "asic":
            continue
        keys = {each["name"] for each in policy["parameters"]}
        memory: Choice = ("switch.pool", POOL) if "pool" in keys else ("switch.buffer", BUFFER)
        yield name, (("switch.policy", name), memory, ("switch.buffer", BUFFER))
    for chip in json.loads(_native.chips()):
        if chip["lossy_bytes"] is None:  # how it shares its memory is not published
            continue
        yield chip["name"], (("switch.asic", chip["name"]),)


def _is_chip(memory: str) -> bool:
    return any(path == "switch.asic" for path, _ in dimensions()["memory"][memory])


START_PS = 2_000_000
FLOWS: tuple[tuple[int, int, int, int, int], ...] = (
    # nth sender (the last host receives), its size in bytes, class, start in ns, odd picoseconds
    (0, 61_000, 0, 0, 2),
    (1, 47_300, 1, 700, 38),
    (2, 83_900, 2, 1_300, 174),
    (3, 52_100, 0, 2_900, 326),
    (0, 1_100, 3, 9_700, 482),
    (2, 9_300, 1, 31_000, 574),
    (1, 30_700, 3, 60_000, 646),
)
BACK = (23_300, 1, 5_000, 758)
"""A flow from the receiver to the first sender."""


def scenario(case: Case) -> Scenario:
    """The combination as a scenario file's tree."""
    made: Scenario = {
        "switch": {"queues": 4, "buffer": BUFFER},
        "scheme": {"name": "none"},
        "run": {"seed": 1},
    }
    named = dimensions()
    for dimension, value in case.chosen:
        for path, setting in named[dimension][value]:
            put(made, path, copy.deepcopy(setting))
    switch = made["switch"]
    if "asic" in switch:
        switch.pop("buffer", None)
        switch.pop("pool", None)
    elif "pfc" in switch:
        switch.pop("buffer", None)
    if made["scheme"]["name"] == "per-pool" and "asic" not in switch:
        switch.setdefault("pool", POOL)
    made["traffic"] = traffic(SHAPES[case.get("topology")].hosts, made["switch"]["queues"])
    return made


def traffic(hosts: int, queues: int) -> list[Scenario]:
    """The flows; the last host receives all but one."""
    last = hosts - 1
    flows = [(nth, last, *rest) for nth, *rest in FLOWS] + [(last, 0, *BACK)]
    return [
        {
            "kind": "incast",
            "from": source,
            "to": to,
            "sizes": f"{size}B",
            "classes": [min(of, queues - 1)],
            "start": f"{START_PS + 1000 * ns + odd}ps",
        }
        for source, to, size, of, ns, odd in flows
    ]


def put(tree: Scenario, path: str, value: Any) -> None:
    """Sets the value at a dotted path."""
    *way, last = path.split(".")
    for key in way:
        tree = tree.setdefault(key, {})
    if isinstance(value, dict) and isinstance(tree.get(last), dict):
        tree[last].update(value)
    else:
        tree[last] = value


def plan(tree: Mapping[str, Any], name: str = "combination.toml") -> _native.Plan:
    """The one run of it; a `Mistake` if the product refuses it."""
    return _native.plans_of(name, toml.document(tree), Path(), [], False)[0]


def cases(count: int, seed: int, accepts: Callable[[Case], bool]) -> Iterator[Case]:
    """Combinations that the product accepts, in an order that meets every value, then every
    pair of values, as early as chance allows."""
    draw = random.Random(seed)
    named = {name: list(values) for name, values in dimensions().items()}
    chips = [name for name in named["memory"] if _is_chip(name)]
    policies = [name for name in named["memory"] if name not in chips]
    singles = [((name, value),) for name, values in named.items() for value in values]
    pairs = [
        ((a, one), (b, other))
        for a, b in itertools.combinations(named, 2)
        for one in named[a]
        for other in named[b]
    ]
    draw.shuffle(singles)
    draw.shuffle(pairs)
    met: set[tuple[tuple[str, str], ...]] = set()
    given = 0
    for wanted in itertools.chain(singles, pairs):
        if given == count:
            return
        if wanted in met:
            continue
        for _ in range(TRIES):
            fixed = dict(wanted)
            for name, value in RARE.items():
                fixed.setdefault(name, draw.choice((value, draw.choice(named[name]))))
            # Chips are many and much alike.
            fixed.setdefault("memory", draw.choice((draw.choice(policies), draw.choice(chips))))
            chosen = {name: fixed.get(name, draw.choice(named[name])) for name in named}
            case = Case(tuple(chosen.items()))
            if accepts(case):
                break
        else:
            continue
        met.update((each,) for each in case.chosen)
        met.update(itertools.combinations(case.chosen, 2))
        given += 1
        yield case


TRIES = 40
