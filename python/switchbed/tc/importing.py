"""Conversion of the output of `tc -j -d qdisc show dev DEVICE` into a scenario."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from switchbed import foreign, library, quantity, toml
from switchbed._native import Mistake
from switchbed.sonic.finding import Findings
from switchbed.tc.encoding import CERTAIN, chance_on_device, codel_shown_ns

SHAPERS = ("tbf", "htb")
TREES = ("ets", "prio")
LEAVES = ("red", "bfifo", "pfifo", "codel", "pie", "fq", "fq_codel", "cake")
MOST = 2**32 - 1
"""Of bytes and microseconds: tc has 32 bits."""
MOST_RATE = 10**13
"""In bytes a second."""
MOST_PACKETS = 10**7
LEAST_RATE = 300
"""In bytes a second: a packet takes 5 s, the longest that a scenario has."""
INTERVAL_US = 100_000
"""CoDel's, where none is shown."""
MOST_BANDS, MOST_QUEUES = 16, 64
EXPORTED = "2:"
"""The handle of the tree that `export tc` writes; its filters send each class to its band, and are
not among the disciplines that `tc qdisc show` shows."""
UNKNOWN_RATE = 10**10
CAKE = {
    "diffserv": ("besteffort", "ets with a queue for each tin"),
    "flowmode": ("flowblind", "fq_codel, which keeps flows apart"),
}
"""Settings that cake must have, and a scenario's discipline for others."""
NEVER, NEVER_IN = "1s", "2s"
"""A target that no packet waits for, and its interval."""
PACKET = 1500


@dataclass(frozen=True)
class _Leaf:
    """Settings of one queue."""

    scheme: str
    params: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 0
    unmarkable: str = "drop"


def load(
    shown: Sequence[Mapping[str, Any]],
    where: str,
    rate: int | None = None,
    *,
    by_class: bool = False,
) -> tuple[str, Findings]:
    """A scenario's text. `rate`: the device's, in bits a second, which tc does not show.
    `by_class`: filters, which it does not show either, send each class to its band."""
    text, said = _Import(shown, foreign.name(where), rate, by_class=by_class).text()
    foreign.must_run(text, foreign.name(where), {})
    return text, said


class _Import:
    def __init__(
        self, shown: Sequence[Mapping[str, Any]], where: str, rate: int | None, *, by_class: bool
    ) -> None:
        self.where, self.shown, self.rate, self.by_class = where, shown, rate, by_class
        self.said = Findings()
        self.entries: list[dict[str, Any]] = []
        """Of `[[switch.queue]]`, where bands differ."""

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
        if top.get("kind") == "mq":
            return self._write(*self._mq(top)), self.said
        leaf = self._leaf(top)
        switch = {"queues": 1, "classify": "single", "unmarkable": leaf.unmarkable}
        return self._write(switch | {"buffer": f"{leaf.limit}B"}, leaf), self.said

    def _under(self, shaper: Mapping[str, Any]) -> Mapping[str, Any]:
        options = self._options(shaper)
        if "rate" in options:
            self.rate = 8 * self._number(
                shaper, options, "rate", LEAST_RATE, MOST_RATE
            )  # tc prints bytes a second
            self.said.exact("topology.rate", f"{quantity.gbps(self.rate)}, by {shaper['kind']}")
        under = self._children(shaper)
        if len(under) != 1:
            raise Mistake(
                f"{self._at(shaper)}: has {len(under)} disciplines under it: one is needed"
            )
        return under[0]

    def _children(self, parent: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        handle = str(parent.get("handle", ""))
        # Handles end in a colon: `1:` begins the parents `1:1` and `1:2`.
        under = [e for e in self.shown if str(e.get("parent", "")).startswith(handle) and handle]

        def minor(one: Mapping[str, Any]) -> int:
            text = str(one["parent"]).partition(":")[2] or "0"
            if not re.fullmatch("[0-9a-fA-F]{1,4}", text):
                raise Mistake(
                    f"{self._at(one)}: parent: is {foreign.shown(one['parent'])}: a handle and a "
                    "number in hexadecimal digits is needed, as 1:a"
                )
            return int(text, 16)

        return sorted(under, key=minor)

    def _at(self, one: Mapping[str, Any]) -> str:
        """Where a discipline stands."""
        kind, handle = (foreign.name(str(one.get(key, ""))) for key in ("kind", "handle"))
        return f"{self.where}: {kind} {handle}".rstrip()

    def _mq(self, top: Mapping[str, Any]) -> tuple[dict[str, Any], _Leaf]:
        """A card's hardware queues, each with a discipline of its own."""
        handle = str(top.get("handle", ""))
        # The kernel's own `mq` has the handle `0:`, and its children show `:1`, `:2`, ….
        parents = re.compile(
            rf"(?:{re.escape(handle)}|:|{re.escape(handle.rstrip('0:'))}:)[0-9a-f]+"
        )
        under = [each for each in self.shown if parents.fullmatch(str(each.get("parent", "")))]
        if not under:
            raise Mistake(f"{self._at(top)}: has no discipline under it: tc shows one a queue")
        leaves = [self._leaf(each) for each in under]
        leaf = leaves[0]
        apart = any(each != leaf for each in leaves)
        if apart and (
            any(library.makes_queues(each.scheme) for each in leaves) or len(under) > MOST_QUEUES
        ):
            # Flows in queues of their own take the whole port, and a port has so many queues.
            self._alike(leaves, under)
        count = min(len(under), MOST_QUEUES)
        if library.makes_queues(leaf.scheme):
            self.said.approximated(
                "mq", f"{len(under)} hardware queues, a {leaf.scheme} each: here one, the port's"
            )
            switch: dict[str, Any] = {"queues": 1, "classify": "single"}
            return switch | {"buffer": f"{leaf.limit}B", "unmarkable": leaf.unmarkable}, leaf
        self.said.approximated(
            "mq", f"{len(under)} hardware queues: here {count}, by a hash of the flow, in turns"
        )
        if apart:
            self.said.exact("switch.queue", "queues differ: each has its own scheme and limit")
            self.entries = [_entry(i, each, leaf) for i, each in enumerate(leaves)]
        whole = sum(each.limit for each in leaves) if apart else count * leaf.limit
        return {
            "queues": count,
            "classify": "hash" if count > 1 else "single",
            "discipline": "round-robin",
            "buffer": f"{whole}B",
            "policy": "shared" if apart else "static",
            "unmarkable": leaf.unmarkable,
        }, leaf

    def _alike(self, leaves: list[_Leaf], under: Sequence[Mapping[str, Any]]) -> list[_Leaf]:
        for leaf, each in zip(leaves[1:], under[1:], strict=True):
            if leaf != leaves[0]:
                raise Mistake(
                    f"{self.where}: {foreign.name(str(each.get('kind')))} under {each['parent']}: "
                    f"differs from that under {under[0]['parent']}: a scenario's queues are alike"
                )
        return leaves

    def _options(self, one: Mapping[str, Any]) -> Mapping[str, Any]:
        options = one.get("options", {})
        if not isinstance(options, Mapping):
            raise Mistake(f"{self._at(one)}: options: an object is needed")
        return options

    def _tree(self, tree: Mapping[str, Any]) -> tuple[dict[str, Any], _Leaf]:
        options = self._options(tree)
        bands = self._number(tree, options, "bands", 1, MOST_BANDS)
        # `prio`'s bands are all strict, one above the other.
        strict = bands - 1
        if tree["kind"] == "ets":
            strict = self._number(tree, options, "strict", 0, bands) if "strict" in options else 0
        quanta = [PACKET] * strict + self._numbers(tree, options, "quanta", 1, 2**32 - 1)
        if tree["kind"] == "prio":
            quanta = [PACKET] * bands
        # With nobody below it, the last strict band is as good as a free one.
        if strict == bands:
            strict -= 1
            quanta = [*quanta[:strict], PACKET]
        # `ets` shows quanta of its free bands alone.
        if len(quanta) != bands:
            raise Mistake(
                f"{self._at(tree)}: quanta: {len(quanta) - strict} for {bands - strict} bands"
            )
        under = self._children(tree)
        leaves = [self._leaf(each) for each in under]
        if len(leaves) not in (0, bands):
            raise Mistake(
                f"{self._at(tree)}: {len(leaves)} of {bands} bands have a discipline of their own: "
                "a scenario's queues are alike"
            )
        apart = len(set(map(str, leaves))) > 1
        whole = next((each for each in leaves if apart and library.makes_queues(each.scheme)), None)
        if whole is not None:
            self._alike(leaves, under)
        leaf = leaves[0] if leaves else _Leaf("none", limit=1000 * PACKET)
        if not leaves:
            self.said.approximated("switch.buffer", "bands have pfifo: 1000 packets each")
        priomap = self._numbers(tree, options, "priomap", 0, bands - 1)
        exported = self.by_class or str(tree.get("handle")) == EXPORTED
        # Without a filter all packets go where the priomap says.
        if priomap and len(set(priomap)) == 1 and not exported:
            leaf = leaves[priomap[0]] if leaves else leaf
            self.said.exact(
                "priomap",
                f"all traffic goes to band {priomap[0] + 1} of {bands}, and no filter is shown: "
                "one queue with that band's discipline (--by-class, if filters go by class)",
            )
            switch = {"queues": 1, "classify": "single", "unmarkable": leaf.unmarkable}
            return switch | {"buffer": f"{leaf.limit}B"}, leaf
        self.said.exact("switch.queues", f"{bands}, {strict} of them strict")
        if len(set(priomap)) > 1:
            self.said.approximated(
                "priomap",
                f"{' '.join(map(str, priomap))}, by the kernel's priority: here a packet's band is "
                "its class",
            )
        else:
            self.said.left_out(
                "priomap", "a packet's band is by its class here, as filters have it"
            )
        switch = {
            "queues": bands,
            "classify": "class",
            "strict": strict,
            "quantum": [f"{q}B" for q in quanta],
            "buffer": f"{sum(each.limit for each in leaves) or bands * leaf.limit}B",
            "policy": "shared" if apart else "static",
            "unmarkable": leaf.unmarkable,
        }
        if apart:
            self.said.exact("switch.queue", "bands differ: each has its own scheme and limit")
            self.entries = [_entry(i, each, leaf) for i, each in enumerate(leaves)]
        return switch, leaf

    def _leaf(self, one: Mapping[str, Any]) -> _Leaf:
        kind = one.get("kind")
        options = self._options(one)
        if kind == "red":
            return self._red(one, options)
        if kind in ("bfifo", "pfifo"):
            most, each = (MOST, 1) if kind == "bfifo" else (MOST_PACKETS, PACKET)
            limit = self._number(one, options, "limit", 1, most) * each
            if limit < PACKET:
                raise Mistake(
                    f"{self._at(one)}: limit: {limit} bytes hold no packet: at least {PACKET}"
                )
            return _Leaf("none", limit=limit)
        if kind in ("codel", "pie"):
            limit = self._number(one, options, "limit", 1, MOST_PACKETS) * PACKET
            if kind == "codel":
                params = self._codel_times(one, options)
                params["ecn"] = self._flag(one, options, "ecn")
            else:
                times = {"target": "target", "t_update": "tupdate"}
                params = {
                    key: f"{self._number(one, options, name, 1)}us"
                    for key, name in times.items()
                    if name in options
                }
                for name in ("alpha", "beta"):
                    if name in options:
                        # `pie`'s gains are shown in sixteenths.
                        params[name] = self._number(one, options, name, 0, 32) / 16
            self.said.exact("scheme", f"{kind}, limit {options['limit']} packets")
            return _Leaf(str(kind), params, limit)
        if kind == "fq":
            return self._fq(one, options)
        if kind == "fq_codel":
            return self._fq_codel(one, options)
        if kind == "cake":
            return self._cake(options)
        has = ", ".join((*SHAPERS, *TREES, *LEAVES))
        shown = foreign.name(str(kind))
        raise Mistake(f"{self.where}: {shown}: is no discipline of a scenario's; there are {has}")

    def _fq_codel(self, one: Mapping[str, Any], options: Mapping[str, Any]) -> _Leaf:
        params: dict[str, Any] = {
            "flows": self._number(one, options, "flows", 1, 65_536),
            "limit": self._number(one, options, "limit", 1, 10**7),
            "quantum": f"{self._number(one, options, 'quantum', 1)}B",
            "batch": self._number(one, options, "drop_batch", 1, 10**6),
        }
        params |= self._codel_times(one, options)
        params["ecn"] = self._flag(one, options, "ecn")
        self.said.exact("scheme", f"fq_codel, limit {options['limit']} packets")
        return _Leaf("fq-codel", params, self._number(one, options, "memory_limit", PACKET))

    def _fq(self, one: Mapping[str, Any], options: Mapping[str, Any]) -> _Leaf:
        """Flows in turns, as fq-codel has them, with a target that no packet reaches."""
        limit = self._number(one, options, "limit", 1, MOST_PACKETS)
        params: dict[str, Any] = {
            "flows": min(self._number(one, options, "buckets", 1, 2**18), 65_536),
            "limit": limit,
            "quantum": f"{self._number(one, options, 'quantum', 1)}B",
            "target": NEVER,
            "interval": NEVER_IN,
        }
        if "ce_threshold" in options:
            params["ce_threshold"] = f"{self._number(one, options, 'ce_threshold', 1)}us"
        self.said.approximated(
            "scheme", "fq: flows in turns, as fq-codel has them, with a target that none reaches"
        )
        # The kernel's default, which tc leaves out.
        flow_limit = self._number({"flow_limit": 100} | dict(one), options, "flow_limit", 1)
        self.said.left_out(
            "flow_limit", f"a flow may hold over {flow_limit} packets here: more wait, none is lost"
        )
        self.said.left_out(
            "pacing", 'a sender\'s, of its own flows: host.nic = "fq" and transport.pacing have it'
        )
        return _Leaf("fq-codel", params, limit * PACKET)

    def _codel_times(self, one: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """CoDel's as tc shows them, in whole microseconds."""
        interval = self._number(one, {"interval": INTERVAL_US} | dict(options), "interval", 1)
        if "target" in options and self._number(one, options, "target", 1) >= interval:
            raise Mistake(
                f"{self._at(one)}: target: is {options['target']} us: it must be less than "
                f"interval, {interval} us"
            )
        found: dict[str, Any] = {}
        for name in ("target", "interval", "ce_threshold"):
            if name in options:
                shown = self._number(one, options, name, 1)
                found[name] = f"{shown}us"
                self.said.approximated(
                    f"scheme.params.{name}",
                    f"{shown} us as shown; the device has {codel_shown_ns(shown) / 1000:g} us",
                )
        return found

    def _cake(self, options: Mapping[str, Any]) -> _Leaf:
        """One COBALT, where that is all it is."""
        rate = options.get("bandwidth")
        if rate != "unlimited":
            self.rate = 8 * self._number(
                {"kind": "cake"}, options, "bandwidth", LEAST_RATE, MOST_RATE
            )  # tc prints bytes a second
            self.said.exact("topology.rate", f"{quantity.gbps(self.rate)}, by cake")
        for key, (value, instead) in CAKE.items():
            if options.get(key) != value:
                raise Mistake(
                    f"{self.where}: cake: {key} is {foreign.name(str(options.get(key)))}: a "
                    f"scenario has its COBALT alone: {value}, or {instead}"
                )
        interval = self._number({"kind": "cake"}, options, "rtt", 1)
        self.said.exact("scheme", "cobalt: cake with one tin and one flow")
        limit = self._number({"kind": "cake"}, options, "memlimit", PACKET)
        return _Leaf("cobalt", {"interval": f"{interval}us"}, limit)

    def _red(self, one: Mapping[str, Any], options: Mapping[str, Any]) -> _Leaf:
        for flag, why in (("adaptive", "Floyd's adaptive RED"), ("harddrop", "dropping above max")):
            if self._flag(one, options, flag):
                raise Mistake(f"{self.where}: red: {flag}: {why} is no scheme here")
        if not self._flag(one, options, "ecn"):
            raise Mistake(f"{self.where}: red without ecn: it drops, and a scenario's red marks")
        if "probability" not in options or "ewma" not in options:
            raise Mistake(
                f"{self.where}: red: no probability or ewma: tc prints them with -d alone "
                "(tc -j -d qdisc show)"
            )
        limit = self._number(one, options, "limit", PACKET)
        low = self._number(one, options, "min", 0, limit)
        high = self._number(one, options, "max", low)
        unmarkable = "pass" if self._flag(one, options, "nodrop") else "drop"
        n = self._number(one, options, "ewma", 0, 31)
        chance = options["probability"]
        if not foreign.number(chance, 0, 1):
            raise Mistake(
                f"{self._at(one)}: probability: is {foreign.shown(chance)}: a number from 0 to 1 "
                "is needed"
            )
        # A device that was given 1 shows what 32 bits made of it, rounded by tc.
        certain = chance_on_device(low, high, 1.0)
        if certain is not None and certain < CERTAIN and abs(chance - certain) < 1e-6:
            self.said.approximated(
                "scheme.params.pmax",
                f"{chance:g} is what a device makes of probability 1, which 32 bits cannot hold: "
                f"it marks at {chance:g} there, and the scenario too; {CERTAIN} would mark all",
            )
        # `min` and `max` a byte apart, and weight 1/2: a step as `export tc` writes it.
        if high - low <= 1 and n == 1:
            self.said.approximated(
                "scheme.params.threshold", f"{low} bytes; Linux compares an average of weight 1/2"
            )
            return _Leaf("per-queue", {"threshold": f"{low}B"}, limit, unmarkable)
        if high > limit:
            raise Mistake(f"{self._at(one)}: max: is {high}, over limit, {limit}: no more than it")
        self.said.exact("scheme.params", f"red from {low} to {high} bytes, weight 2^-{n}")
        params = {
            "kmin": f"{low}B",
            "kmax": f"{high}B",
            "pmax": float(chance),
            "weight": 0.5**n,
        }
        return _Leaf("red", params, limit, unmarkable)

    def _number(
        self,
        one: Mapping[str, Any],
        options: Mapping[str, Any],
        name: str,
        least: int = 0,
        most: int = MOST,
    ) -> int:
        return self._whole(one, name, options.get(name), (least, most))

    def _whole(self, one: Mapping[str, Any], name: str, value: Any, ends: tuple[int, int]) -> int:
        # `True` is an `int` in Python.
        if not isinstance(value, int) or isinstance(value, bool):
            found = "" if value is None else f" {foreign.shown(value)} is none"
            raise Mistake(
                f"{self.where}: {foreign.name(str(one.get('kind')))}: {name}: a whole number is "
                f"needed{';' if found else ''}{found}"
            )
        if not ends[0] <= value <= ends[1]:
            raise Mistake(
                f"{self._at(one)}: {name}: is {foreign.shown(value)}: it must be from {ends[0]} to "
                f"{ends[1]}"
            )
        return value

    def _numbers(
        self, one: Mapping[str, Any], options: Mapping[str, Any], name: str, least: int, most: int
    ) -> list[int]:
        values = options.get(name, [])
        if not isinstance(values, list):
            raise Mistake(f"{self._at(one)}: {name}: a list of whole numbers is needed")
        return [self._whole(one, name, value, (least, most)) for value in values]

    def _flag(self, one: Mapping[str, Any], options: Mapping[str, Any], name: str) -> bool:
        value = options.get(name, False)
        if value is None or isinstance(value, bool):
            return value is not False  # tc prints some flags as null
        raise Mistake(
            f"{self._at(one)}: {name}: is {foreign.shown(value)}: true or false is needed"
        )

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
            lines += ["", f"[{name}]", *_lines(values)]
            if name == "switch":
                for entry in self.entries:
                    lines += ["", "[[switch.queue]]", *_lines(entry)]
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


def _entry(queue: int, leaf: _Leaf, usual: _Leaf) -> dict[str, Any]:
    """A band that differs from the rest."""
    entry: dict[str, Any] = {"queue": queue, "limit": f"{leaf.limit}B"}
    if (leaf.scheme, leaf.params) != (usual.scheme, usual.params):
        entry["scheme"] = {"name": leaf.scheme} | (
            {"params": dict(leaf.params)} if leaf.params else {}
        )
    if leaf.unmarkable != usual.unmarkable:
        entry["unmarkable"] = leaf.unmarkable
    return entry


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml.value(key, value)}" for key, value in values.items()]
