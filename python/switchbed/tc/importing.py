"""What `tc -j -d qdisc show dev DEVICE` prints as a scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from switchbed import quantity, toml
from switchbed._native import Mistake
from switchbed.sonic.finding import Findings

SHAPERS = ("tbf", "htb")
TREES = ("ets", "prio")
LEAVES = ("red", "bfifo", "pfifo", "codel", "pie", "fq_codel", "cake")
UNKNOWN_RATE = 10**10
PACKET = 1500


@dataclass(frozen=True)
class _Leaf:
    """What a queue has."""

    scheme: str
    params: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 0
    unmarkable: str = "drop"


def load(
    shown: Sequence[Mapping[str, Any]], where: str, rate: int | None = None
) -> tuple[str, Findings]:
    """A scenario's text. `rate`: the device's, in bits a second, which tc does not show."""
    return _Import(shown, where, rate).text()


class _Import:
    def __init__(self, shown: Sequence[Mapping[str, Any]], where: str, rate: int | None) -> None:
        self.where, self.shown, self.rate = where, shown, rate
        self.said = Findings()

    def text(self) -> tuple[str, Findings]:
        roots = [each for each in self.shown if each.get("root")]
        if len(roots) != 1:
            raise Mistake(
                f"{self.where}: {len(roots)} root disciplines: one device's are needed, as of "
                "tc -j -d qdisc show dev DEVICE"
            )
        top = roots[0]
        if top.get("kind") in SHAPERS:
            top = self._under(top)
        if top.get("kind") in TREES:
            return self._write(*self._tree(top)), self.said
        leaf = self._leaf(top)
        switch = {"queues": 1, "classify": "single", "unmarkable": leaf.unmarkable}
        return self._write(switch | {"buffer": f"{leaf.limit}B"}, leaf), self.said

    def _under(self, shaper: Mapping[str, Any]) -> Mapping[str, Any]:
        rate = self._options(shaper).get("rate")
        if isinstance(rate, int):
            self.rate = 8 * rate  # tc prints bytes a second
            self.said.exact("topology.rate", f"{quantity.gbps(self.rate)}, by {shaper['kind']}")
        under = self._children(shaper)
        if len(under) != 1:
            raise Mistake(
                f"{self.where}: {shaper['kind']} {shaper.get('handle')}: has {len(under)} "
                "disciplines under it: one is needed"
            )
        return under[0]

    def _children(self, parent: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        handle = str(parent.get("handle", ""))
        under = [e for e in self.shown if str(e.get("parent", "")).startswith(handle)]
        return sorted(under, key=lambda e: int(str(e["parent"]).partition(":")[2] or "0", 16))

    def _options(self, one: Mapping[str, Any]) -> Mapping[str, Any]:
        options = one.get("options", {})
        if not isinstance(options, Mapping):
            raise Mistake(f"{self.where}: {one.get('kind')}: options: an object is needed")
        return options

    def _tree(self, tree: Mapping[str, Any]) -> tuple[dict[str, Any], _Leaf]:
        options = self._options(tree)
        bands = self._number(tree, options, "bands")
        strict = bands - 1 if tree["kind"] == "prio" else int(options.get("strict", 0))
        quanta = [PACKET] * strict + [int(q) for q in options.get("quanta", [])]
        if tree["kind"] == "prio":
            quanta = [PACKET] * bands
        if strict == bands:
            strict -= 1
            quanta = [*quanta[:-1], PACKET]
        if len(quanta) != bands:
            raise Mistake(
                f"{self.where}: ets {tree.get('handle')}: {len(quanta) - strict} quanta for "
                f"{bands - strict} bands"
            )
        under = self._children(tree)
        leaves = [self._leaf(each) for each in under]
        if len(leaves) not in (0, bands):
            raise Mistake(
                f"{self.where}: {tree['kind']} {tree.get('handle')}: {len(leaves)} of {bands} "
                "bands have a discipline of their own: a scenario's queues are alike"
            )
        for leaf, each in zip(leaves[1:], under[1:], strict=True):
            if leaf != leaves[0]:
                raise Mistake(
                    f"{self.where}: {each['kind']} under {each['parent']}: differs from that under "
                    f"{under[0]['parent']}: a scenario's queues are alike"
                )
        leaf = leaves[0] if leaves else _Leaf("none", limit=1000 * PACKET)
        if not leaves:
            self.said.approximated("switch.buffer", "bands have pfifo: 1000 packets each")
        self.said.exact("switch.queues", f"{bands}, {strict} of them strict")
        self.said.left_out("priomap", "a packet's band is by its class here")
        return {
            "queues": bands,
            "classify": "class",
            "strict": strict,
            "quantum": [f"{q}B" for q in quanta],
            "buffer": f"{bands * leaf.limit}B",
            "policy": "static",
            "unmarkable": leaf.unmarkable,
        }, leaf

    def _leaf(self, one: Mapping[str, Any]) -> _Leaf:
        kind = one.get("kind")
        options = self._options(one)
        if kind == "red":
            return self._red(one, options)
        if kind in ("bfifo", "pfifo"):
            limit = self._number(one, options, "limit") * (1 if kind == "bfifo" else PACKET)
            return _Leaf("none", limit=limit)
        if kind in ("codel", "pie"):
            limit = self._number(one, options, "limit") * PACKET
            names = ("target", "interval", "ce_threshold") if kind == "codel" else ("target",)
            params: dict[str, Any] = {n: f"{int(options[n])}us" for n in names if n in options}
            if kind == "codel":
                params["ecn"] = bool(options.get("ecn", False))
            elif "tupdate" in options:
                params["t_update"] = f"{int(options['tupdate'])}us"
                params |= {n: options[n] / 16 for n in ("alpha", "beta") if n in options}
            self.said.exact("scheme", f"{kind}, limit {options['limit']} packets")
            return _Leaf(str(kind), params, limit)
        if kind == "fq_codel":
            return self._fq_codel(one, options)
        if kind == "cake":
            return self._cake(options)
        has = ", ".join((*SHAPERS, *TREES, *LEAVES))
        raise Mistake(f"{self.where}: {kind}: is no discipline of a scenario's; there are {has}")

    def _fq_codel(self, one: Mapping[str, Any], options: Mapping[str, Any]) -> _Leaf:
        params: dict[str, Any] = {n: self._number(one, options, n) for n in ("flows", "limit")}
        params["quantum"] = f"{self._number(one, options, 'quantum')}B"
        params["batch"] = self._number(one, options, "drop_batch")
        times = ("target", "interval", "ce_threshold")
        params |= {n: f"{int(options[n])}us" for n in times if n in options}
        params["ecn"] = bool(options.get("ecn", False))
        self.said.exact("scheme", f"fq_codel, limit {options['limit']} packets")
        return _Leaf("fq-codel", params, self._number(one, options, "memory_limit"))

    def _cake(self, options: Mapping[str, Any]) -> _Leaf:
        """One COBALT, where that is all it is."""
        wanted = {"diffserv": "besteffort", "flowmode": "flowblind", "bandwidth": "unlimited"}
        for key, value in wanted.items():
            if options.get(key) != value:
                raise Mistake(
                    f"{self.where}: cake: {key} is {options.get(key)}: a scenario has its COBALT "
                    f"alone: {value}"
                )
        interval = self._number({"kind": "cake"}, options, "rtt")
        self.said.exact("scheme", "cobalt: cake with one tin and one flow")
        limit = self._number({"kind": "cake"}, options, "memlimit")
        return _Leaf("cobalt", {"interval": f"{interval}us"}, limit)

    def _red(self, one: Mapping[str, Any], options: Mapping[str, Any]) -> _Leaf:
        for flag, why in (("adaptive", "Floyd's adaptive RED"), ("harddrop", "dropping above max")):
            if options.get(flag):
                raise Mistake(f"{self.where}: red: {flag}: {why} is no scheme here")
        if not options.get("ecn"):
            raise Mistake(f"{self.where}: red without ecn: it drops, and a scenario's red marks")
        if "probability" not in options or "ewma" not in options:
            raise Mistake(
                f"{self.where}: red: no probability or ewma: tc prints them with -d alone "
                "(tc -j -d qdisc show)"
            )
        low, high = (self._number(one, options, name) for name in ("min", "max"))
        limit = self._number(one, options, "limit")
        unmarkable = "pass" if options.get("nodrop") else "drop"
        n = int(options["ewma"])
        if high - low <= 1 and n == 1:
            self.said.approximated(
                "scheme.params.threshold", f"{low} bytes; Linux compares an average of weight 1/2"
            )
            return _Leaf("per-queue", {"threshold": f"{low}B"}, limit, unmarkable)
        self.said.exact("scheme.params", f"red from {low} to {high} bytes, weight 2^-{n}")
        params = {
            "kmin": f"{low}B",
            "kmax": f"{high}B",
            "pmax": float(options["probability"]),
            "weight": 0.5**n,
        }
        return _Leaf("red", params, limit, unmarkable)

    def _number(self, one: Mapping[str, Any], options: Mapping[str, Any], name: str) -> int:
        value = options.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise Mistake(f"{self.where}: {one.get('kind')}: {name}: a whole number is needed")
        return value

    def _write(self, switch: Mapping[str, Any], leaf: _Leaf) -> str:
        rate = self.rate
        if rate is None:
            rate = UNKNOWN_RATE
            self.said.approximated("topology.rate", "tc does not show it: 10 Gbps, or give --rate")
        params = {"params": dict(leaf.params)} if leaf.params else {}
        sections = {
            "topology": {"kind": "star", "hosts": 9, "rate": quantity.gbps(rate), "delay": "5us"},
            "switch": switch,
            "scheme": {"name": leaf.scheme, **params},
            "transport": {"kind": "dctcp"},
        }
        lines = [
            f"# From {self.where}: [switch] and [scheme] are the device's.",
            "# All else is a beginning to be replaced: topology, hosts and traffic are yours.",
        ]
        for name, values in sections.items():
            lines += ["", f"[{name}]", *(f"{k} = {toml.value(k, v)}" for k, v in values.items())]
        lines += [
            "",
            "[[traffic]]",
            'kind = "poisson"',
            "load = 0.5",
            "flows = 1000",
            'sizes = "web-search"',
            "",
        ]
        return "\n".join(lines)
