"""A scenario of a few numbers, for who has no file: rates, a round trip, memory, workloads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from switchbed import asic, foreign, library, quantity, toml
from switchbed._native import Mistake

HOSTS, LEAVES = 8, 2
"""Of a leaf; and of a fabric. Without a fabric's rate all hosts are at one switch."""
MTU = 1500
LOADS = "0.3,0.6,0.8"
INCAST = 0.1
"""Load of the incast's rounds on the receiver's link."""
STEP = "65pkt"
"""Yours unless you say another (DCTCP's)."""


@dataclass(frozen=True)
class Outline:
    """Known properties of a network."""

    rate: str
    """Of hosts' links; or `10Gbps/40Gbps`, and of those between switches."""
    rtt: str
    """The empty network's, between the hosts furthest apart."""
    buffer: str | None = None
    """Memory that a switch's ports share; `None`: the chip's."""
    chip: str | None = None
    workloads: Sequence[str] = ("web-search",)
    """`NAME` or `NAME:WEIGHT` of flow sizes."""
    loads: str = LOADS
    scheme: str = "per-queue"
    flows: int = 4000
    profile: str | None = None
    """Host profile of the network."""

    def text(self) -> str:
        """The scenario, as a file has it."""
        sections: dict[str, Mapping[str, Any]] = {
            "topology": self._topology(),
            "switch": {"queues": 1, "classify": "single", **self._memory()},
            "scheme": self._scheme(),
            "host": {} if self.profile is None else {"profile": self.profile},
            "transport": {"kind": "dctcp"},
            "measure": {"queues": "off"},
            "compare": self._compare(),
        }
        lines = [
            "# By switchbed tune, of a few numbers: change what is otherwise with you.",
            f"title = {toml.value('title', f'{self.rate}, {self.rtt}: by switchbed tune')}",
        ]
        for name, keys in sections.items():
            if keys:
                entries = (f"{_key(key)} = {toml.value(key, each)}" for key, each in keys.items())
                lines += ["", f"[{name}]", *entries]
        traffic = {
            "kind": "poisson",
            "load": self._loads()[0],
            "flows": self.flows,
            "sizes": self._sizes()[0],
        }
        for entry in (traffic, self._incast()):
            entries = (f"{key} = {toml.value(key, each)}" for key, each in entry.items())
            lines += ["", "[[traffic]]", *entries]
        return "\n".join([*lines, ""])

    def _incast(self) -> dict[str, Any]:
        """All others to one, together half of the shared memory: what one port may hold of it with
        an α of 1. Rounds come while the other flows do."""
        senders = LEAVES * HOSTS - 1
        rate = quantity.rate(self.rate.partition("/")[0])
        if self.buffer is None:
            memory = asic.named(str(self.chip))["memory_bytes"]
        else:
            memory = quantity.size(self.buffer)
        # At least one packet: a small memory divided among the senders could come to less.
        size = max(MTU, round(memory / 2 / senders))
        # Seconds between rounds at which they come to INCAST of the receiver's link.
        every = senders * size * 8 / (INCAST * rate)
        mean = max(map(_mean, self._sizes()))
        # Seconds that flows of the largest mean size take at the largest load: one number of rounds
        # serves all scenes.
        lasts = self.flows * mean * 8 / (max(self._loads()) * LEAVES * HOSTS * rate)
        return {
            "kind": "incast",
            "to": 0,
            "sizes": f"{size}B",
            "every": f"{round(every * 1e9)}ns",
            "rounds": max(1, round(lasts / every)),
        }

    @property
    def weights(self) -> list[str]:
        """As `--weight` has them; empty where no workload has one."""
        split = [each.partition(":") for each in self.workloads]
        if not any(weight for _, _, weight in split):
            return []
        for name, _, weight in split:
            if weight and not _over_nought(weight):
                raise Mistake(
                    f"--workload {foreign.name(f'{name}:{weight}')}: a weight is a number over 0, "
                    "as in web-search:2"
                )
        return [f"sizes={name}:{weight or 1}" for name, _, weight in split]

    def _topology(self) -> dict[str, Any]:
        hosts, _, fabric = self.rate.partition("/")
        rate = _number("--rate", hosts, quantity.rate)
        rtt = _number("--rtt", self.rtt, quantity.time)
        links = [rate, rate]
        if fabric:
            links += [_number("--rate", fabric, quantity.rate)] * 2
        # A full packet there and one back, stored and forwarded at each hop.
        wire = 2 * sum(8 * MTU / each for each in links)
        # The rest of the round trip is propagation, in equal parts over all links, both ways.
        delay = (rtt - wire) / (2 * len(links))
        if delay < 0:
            raise Mistake(
                f"--rtt {self.rtt}: a packet and its answer are {quantity.us(wire)} on the wire "
                f"alone at {self.rate}"
            )
        each = f"{round(delay * 1e9)}ns"
        if not fabric:
            return {"kind": "star", "hosts": LEAVES * HOSTS, "rate": hosts, "delay": each}
        return {
            "kind": "leaf-spine",
            "leaves": LEAVES,
            "spines": max(1, -(-HOSTS * rate // links[-1])),  # nothing is oversubscribed
            "hosts_per_leaf": HOSTS,
            "host_rate": hosts,
            "host_delay": each,
            "fabric_rate": fabric,
            "fabric_delay": each,
        }

    def _memory(self) -> dict[str, Any]:
        if self.buffer is not None:
            _number("--buffer", self.buffer, quantity.size)
            # With an α of 1 a lone queue may hold half of the memory.
            return {"policy": "dynamic", "buffer": self.buffer, "pool": self.buffer, "alpha": 1}
        if self.chip is None:
            raise Mistake("--buffer: what the switch's ports share must be given, or --target CHIP")
        return {"asic": self.chip}

    def _scheme(self) -> dict[str, Any]:
        step = {"kmin": STEP, "kmax": STEP, "pmax": 1.0, "weight": 1, "spacing": "geometric"}
        of_it = library.definition(self.scheme)
        # A ramp whose ends coincide is the step, so `red` begins with the same threshold as `per-
        # queue`.
        if of_it["wred"] == "ramp":
            return {"name": self.scheme, "params": step}
        needed = {p["name"]: p["takes"] for p in of_it["parameters"] if p["required"]}
        sized = [name for name in needed if name == of_it["main"]]
        if len(sized) < len(needed):
            raise Mistake(
                f"--scheme {self.scheme}: needs {', '.join(needed)}: write a file (--out FILE of "
                "another scheme makes one to change)"
            )
        # A threshold in time is a round trip, one in bytes DCTCP's step.
        values = {name: self.rtt if needed[name].startswith("a time") else STEP for name in sized}
        return {"name": self.scheme, "params": values}

    def _compare(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if len(self._loads()) > 1:
            found["traffic.0.load"] = self._loads()  # the incast's is its own
        if len(self._sizes()) > 1:
            found["traffic.0.sizes"] = self._sizes()
        return found

    def _loads(self) -> list[float]:
        try:
            found = [foreign.real(each) for each in self.loads.split(",")]
        except ValueError:
            found = []
        if not found or not all(0 < load <= 1 for load in found):
            raise Mistake(
                f"--load {foreign.name(self.loads)}: such as {LOADS} is needed, over 0 and up to 1"
            )
        return found

    def _sizes(self) -> list[str]:
        return [each.partition(":")[0] for each in self.workloads]


def _over_nought(text: str) -> bool:
    try:
        return foreign.real(text) > 0
    except ValueError:
        return False


def _mean(name: str) -> float:
    """Mean size in bytes: of a table, or the size that stands in its place."""
    for table in library.sizes():
        if table["name"] == name:
            return float(table["mean_bytes"])
    try:
        found = quantity.size(name)
    except Mistake:
        found = 0
    if found < 1:
        raise Mistake(
            f"--workload {foreign.name(name)}: is neither a table of flow sizes (switchbed sizes) "
            "nor a size such as 64KB"
        )
    return found


def _key(key: str) -> str:
    return f'"{key}"' if "." in key else key


def _number(option: str, text: str, read: Any) -> Any:
    try:
        return read(text)
    except Mistake as error:
        raise Mistake(f"{option} {text}: {error}") from error
