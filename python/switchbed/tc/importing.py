"""Conversion of the output of `tc -d qdisc show dev DEVICE` into a scenario."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from switchbed import beginning, foreign, library, quantity, toml
from switchbed._native import Mistake
from switchbed.sonic.finding import Findings
from switchbed.tc import times
from switchbed.tc.encoding import CERTAIN, GAIN_MOST, PARTS, chance_on_device, gains_shown
from switchbed.tc.shown import SIZES, Shown, named

SHAPERS = ("tbf", "htb")
TREES = ("ets", "prio", "pfifo_fast")
STRICT_TREES = TREES[1:]
"""All of whose bands are strict."""
NO_QUEUE = "noqueue"
LEAVES = (
    *("red", "bfifo", "pfifo", "codel", "pie", "fq", "fq_codel", "fq_pie", "cake", "dualpi2"),
)
MOST_RATE = 10**13
"""In bytes a second."""
MOST_PACKETS = 10**7
LEAST_RATE = 300
"""In bytes a second: a packet takes 5 s, the longest that a scenario has."""
INTERVAL_US = 100_000
"""CoDel's, where none is shown."""
MOST_BANDS, MOST_QUEUES, MOST_FLOWS = 16, 64, 65_536
EXPORTED = "2:"
"""The handle of the tree that `export tc` writes; its filters send each class to its band, and are
not among the disciplines that `tc qdisc show` shows."""
UNKNOWN_RATE = 10**10
HOSTS = 9
"""Of the star that the scenario begins with."""
CAKE = {
    "diffserv": ("besteffort", "ets with a queue for each tin"),
    "flowmode": ("flowblind", "fq_codel, which keeps flows apart"),
}
"""Settings that cake must have, and a scenario's discipline for others."""
CAKE_OFF = {
    "ack-filter": ("disabled", "it drops ACKs"),
    "autorate": (None, "its rate follows what arrives"),
}
"""Settings of cake that must be off, and what they do."""
FRAME = 1514
"""A packet with its Ethernet header, as cake counts one."""
PIE_BURST, PIE_STEP_US = "150ms", 15_000
"""Of the kernel's pie: its burst allowance, and the target at which its step of the probability at
250 ms is a scenario's, too."""
NEVER, NEVER_IN = "1s", "2s"
"""A target that no packet waits for, and its interval."""
PACKET = 1500
"""Bytes of a packet, host.mtu's default, where the device has a limit in packets."""


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
        self.read: dict[int, Shown] = {}
        """Disciplines that were read, by their place in the file."""
        self.places = {id(one): index for index, one in enumerate(shown)}

    def text(self) -> tuple[str, Findings]:
        """The scenario, and a verdict for each key of either side."""
        text = self._text()
        for index, one in enumerate(self.shown):
            if index in self.read:
                self.read[index].rest(self.said)
            else:
                self.said.left_out(
                    named(one), "is not among the disciplines that queue packets here"
                )
        self.said.settle()
        return text, self.said

    def _of(self, one: Mapping[str, Any]) -> Shown:
        """A discipline to be read."""
        index = self.places[id(one)]
        if index not in self.read:
            self.read[index] = Shown(self.where, one)
        return self.read[index]

    def _packets(self, packets: int) -> int:
        """A limit in packets as bytes."""
        self.said.approximated(
            "switch.buffer",
            f"{packets} packets as {packets * PACKET} bytes, {PACKET} each (host.mtu): of short "
            "ones more fit",
        )
        return packets * PACKET

    def _truesize(self, limit: int) -> int:
        """A limit in the kernel's memory as bytes of packets."""
        self.said.approximated(
            "switch.buffer", f"{limit} bytes of the kernel's memory as so many of packets"
        )
        return limit

    def _text(self) -> str:
        top = self._root()
        if top.get("kind") in SHAPERS:
            shaper, top = top, self._under(top)
            if top is shaper:
                leaf = self._own(self._of(shaper))
                switch = {"queues": 1, "classify": "single", "unmarkable": leaf.unmarkable}
                return self._write(switch | {"buffer": f"{leaf.limit}B"}, leaf)
        if top.get("kind") in TREES:
            return self._write(*self._tree(top))
        if top.get("kind") == "mq":
            return self._write(*self._mq(top))
        leaf = self._leaf(top)
        switch = {"queues": 1, "classify": "single", "unmarkable": leaf.unmarkable}
        return self._write(switch | {"buffer": f"{leaf.limit}B"}, leaf)

    def _root(self) -> Mapping[str, Any]:
        """The root of the one device, or of the one that queues packets."""
        roots = [each for each in self.shown if each.get("root")]
        queueing = [each for each in roots if each.get("kind") != NO_QUEUE]
        if len(queueing) == 1:
            top = queueing[0]
            device = top.get("dev")
            if len(roots) > 1:
                self.shown = [each for each in self.shown if each.get("dev") == device]
                self.said.exact("dev", f"{foreign.name(str(device))}: no other queues packets")
            return top
        if roots and not queueing:
            raise Mistake(
                f"{self.where}: noqueue holds no packets: a device that queues is needed, as the "
                "one below a bridge, a bond or a tunnel"
            )
        names = [str(each["dev"]) for each in roots if "dev" in each]
        of = f" (of {foreign.some(names)})" if names else ""
        raise Mistake(
            f"{self.where}: {len(roots)} root disciplines{of}: one device's are needed, as of "
            "tc -j -d qdisc show dev DEVICE"
        )

    def _under(self, shaper: Mapping[str, Any]) -> Mapping[str, Any]:
        """The discipline below a shaper, or the shaper itself if that has a queue alone."""
        options = self._of(shaper)
        if "rate" in options:
            self.rate = 8 * options.number(
                "rate", LEAST_RATE, MOST_RATE
            )  # tc prints bytes a second
            self.said.exact("topology.rate", f"{quantity.gbps(self.rate)}, by {shaper['kind']}")
        else:
            self.said.left_out(
                f"{shaper['kind']}.rate",
                "tc qdisc show shows no classes, and not their rates: --rate has it",
            )
        under = self._children(shaper)
        if not under and shaper["kind"] == "tbf":
            # The kernel's own bfifo, which tc does not show.
            return shaper
        if len(under) != 1:
            raise Mistake(
                f"{self._at(shaper)}: has {len(under)} disciplines under it: one is needed"
            )
        return under[0]

    def _own(self, options: Shown) -> _Leaf:
        """The queue that tbf has by itself: tc shows its limit, or the time that it takes to send
        what is above the burst (tc/q_tbf.c)."""
        if "limit" in options:
            limit = options.number("limit", PACKET)
            self.said.exact("switch.buffer", f"{limit} bytes, tbf's own queue")
            return _Leaf("none", limit=limit)
        rate = options.number("rate", LEAST_RATE, MOST_RATE)
        lat = options.number("lat")
        burst = _bytes(options.get("burst"))
        if burst is None:
            raise Mistake(
                f"{options.at}: burst: is {foreign.shown(options.get('burst'))}: bytes are needed, "
                "as 1600b/1"
            )
        limit = rate * lat // 10**6 + burst
        if limit < PACKET:
            raise Mistake(f"{options.at}: lat: {limit} bytes hold no packet: at least {PACKET}")
        self.said.approximated(
            "switch.buffer",
            f"{limit} bytes, tbf's own queue: of lat, {lat} us, and the burst, as tc rounds them",
        )
        return _Leaf("none", limit=limit)

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
        return f"{self.where}: {named(one)}".rstrip()

    def _mq(self, top: Mapping[str, Any]) -> tuple[dict[str, Any], _Leaf]:
        """A card's hardware queues, each with a discipline of its own."""
        self._of(top)
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
        # A port of a scenario has fewer queues than some cards.
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
        # Limits of their own need a memory that holds all of them together.
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

    def _tree(self, tree: Mapping[str, Any]) -> tuple[dict[str, Any], _Leaf]:
        options = self._of(tree)
        bands = options.number("bands", 1, MOST_BANDS)
        strict = bands - 1
        if tree["kind"] == "ets":
            strict = options.number("strict", 0, bands, usual=0)
        # A strict band has no quantum; a scenario wants one for every queue.
        quanta = [PACKET] * strict + options.numbers("quanta", 1, 2**32 - 1)
        if tree["kind"] in STRICT_TREES:
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
        leaves = self._bands(tree, under, bands)
        # A leaf holds a dict, which no set takes: compared by its text.
        apart = len(set(map(str, leaves))) > 1
        whole = next((each for each in leaves if apart and library.makes_queues(each.scheme)), None)
        if whole is not None:
            raise Mistake(
                f"{self._at(tree)}: its bands differ, and {whole.scheme} takes a whole port: one "
                "discipline for all bands, or others, are needed"
            )
        leaf = leaves[0]
        priomap = options.numbers("priomap", 0, bands - 1)
        exported = self.by_class or str(tree.get("handle")) == EXPORTED
        # Without a filter all packets go where the priomap says.
        if priomap and len(set(priomap)) == 1 and not exported:
            leaf = leaves[priomap[0]]
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
            "buffer": f"{sum(each.limit for each in leaves)}B",
            "policy": "shared" if apart else "static",
            "unmarkable": leaf.unmarkable,
        }
        if apart:
            self.said.exact("switch.queue", "bands differ: each has its own scheme and limit")
            self.entries = [_entry(i, each, leaf) for i, each in enumerate(leaves)]
        return switch, leaf

    def _bands(
        self, tree: Mapping[str, Any], under: Sequence[Mapping[str, Any]], bands: int
    ) -> list[_Leaf]:
        """The queue of each band; of one without a discipline the kernel's own pfifo."""
        found: dict[int, _Leaf] = {}
        for one in under:
            # Bands are numbered from 1.
            band = int(str(one["parent"]).partition(":")[2] or "0", 16) - 1
            if not 0 <= band < bands or band in found:
                raise Mistake(
                    f"{self._at(one)}: parent: is {foreign.shown(one['parent'])}: a band of its "
                    f"own from 1 to {bands:x} is needed"
                )
            found[band] = self._leaf(one)
        bare = [band + 1 for band in range(bands) if band not in found]
        if bare:
            which = "bands" if len(bare) == bands else f"band {', '.join(map(str, bare))}"
            has = "have" if len(bare) > 1 else "has"
            self.said.approximated(
                "switch.buffer", f"{which} {has} pfifo, of which no limit is shown"
            )
            own = _Leaf("none", limit=self._packets(1000))
            found |= {band - 1: own for band in bare}
        return [found[band] for band in range(bands)]

    def _leaf(self, one: Mapping[str, Any]) -> _Leaf:
        kind = one.get("kind")
        options = self._of(one)
        if kind == "red":
            return self._red(options)
        if kind == "bfifo":
            limit = options.number("limit", 1)
            if limit < PACKET:
                raise Mistake(
                    f"{options.at}: limit: {limit} bytes hold no packet: at least {PACKET}"
                )
            return _Leaf("none", limit=limit)
        if kind == "pfifo":
            return _Leaf("none", limit=self._packets(options.number("limit", 1, MOST_PACKETS)))
        if kind == "pfifo_fast":
            self.said.left_out("pfifo_fast.bands", "below other disciplines it is one pfifo here")
            return _Leaf("none", limit=self._packets(1000))
        if kind == "codel":
            return self._codel(options)
        if kind == "pie":
            return self._pie(options)
        if kind == "fq":
            return self._fq(options)
        if kind == "fq_codel":
            return self._fq_codel(options)
        if kind == "fq_pie":
            return self._fq_pie(options)
        if kind == "cake":
            return self._cake(options)
        if kind == "dualpi2":
            return self._dualpi2(options)
        has = ", ".join((*SHAPERS, *TREES, *LEAVES))
        shown = foreign.name(str(kind))
        if kind in (*SHAPERS, *TREES, "mq") and "parent" in one:
            raise Mistake(
                f"{options.at}: under {foreign.name(str(one['parent']))}: a scenario's queues are "
                f"not shaped or divided again: one of {', '.join(LEAVES)} is needed there"
            )
        raise Mistake(f"{self.where}: {shown}: is no discipline of a scenario's; there are {has}")

    def _codel(self, options: Shown) -> _Leaf:
        limit = options.number("limit", 1, MOST_PACKETS)
        params = self._aims(options)
        self.said.exact("scheme", f"codel, limit {limit} packets")
        return _Leaf("codel", params, self._packets(limit))

    def _aims(self, options: Shown) -> dict[str, Any]:
        """CoDel's own parameters, of codel and fq_codel."""
        interval = options.number("interval", 1, usual=INTERVAL_US)
        # A scenario would be refused for such a pair, by a line that is not of this file.
        if "target" in options and options.number("target") >= interval:
            raise Mistake(
                f"{options.at}: target: is {options.get('target')} us: it must be less than "
                f"interval, {interval} us"
            )
        found: dict[str, Any] = {
            name: options.time(self.said, f"scheme.params.{name}", name, times.CODEL)
            for name in ("target", "interval", "ce_threshold")
            if name in options
        }
        return found | {"ecn": options.flag("ecn"), "sqrt": "linux"}

    def _pie(self, options: Shown) -> _Leaf:
        if options.flag("bytemode"):
            raise Mistake(
                f"{options.at}: bytemode: short packets are dropped less, which no scheme here does"
            )
        limit = options.number("limit", 1, MOST_PACKETS)
        params = self._pie_keys(options)
        if not options.flag("ecn"):
            params["ecn_up_to"] = 0
        marks = "" if "ecn_up_to" not in params else " without ECN"
        self.said.exact("scheme", f"pie{marks}, limit {limit} packets")
        return _Leaf("pie", params, self._packets(limit))

    def _pie_keys(self, options: Shown) -> dict[str, Any]:
        """PIE's own parameters, of pie and fq_pie."""
        params: dict[str, Any] = {"max_burst": PIE_BURST}
        if "target" in options:
            target = options.number("target")
            params["target"] = options.time(self.said, "scheme.params.target", "target", times.PIE)
            # Linux's step is for a wait of 250 ms whatever the target; here it scales with it.
            if target != PIE_STEP_US:
                self.said.approximated(
                    "scheme.params.target",
                    "its step of 0.02 comes at a wait of 250 ms there, and of 16.7 targets here",
                )
        if "tupdate" in options:
            params["t_update"] = options.time(
                self.said, "scheme.params.t_update", "tupdate", times.PLAIN, 1
            )
        for name in ("alpha", "beta"):
            if name in options:
                # tc shows gains in sixteenths.
                params[name] = options.number(name, 0, 32) / 16
        if options.flag("dq_rate_estimator"):
            self.said.approximated(
                "pie.dq_rate_estimator",
                "the device finds waits by the rate of departures; here each packet's is measured",
            )
        return params

    def _fq_pie(self, options: Shown) -> _Leaf:
        if options.flag("bytemode"):
            raise Mistake(
                f"{options.at}: bytemode: short packets are dropped less, which no scheme here does"
            )
        params: dict[str, Any] = {
            "flows": options.number("flows", 1, 65_536),
            "limit": options.number("limit", 1, 10**7),
            "quantum": f"{options.number('quantum', 1)}B",
        }
        params |= self._pie_keys(options)
        # Where tc does not show it, it is the kernel's tenth.
        percent = options.number("ecn_prob", 0, 100, usual=10)
        params["ecn_up_to"] = percent / 100 if options.flag("ecn") else 0
        self.said.exact("scheme", f"fq_pie, limit {params['limit']} packets")
        return _Leaf("fq-pie", params, self._truesize(options.number("memory_limit", PACKET)))

    def _fq_codel(self, options: Shown) -> _Leaf:
        params: dict[str, Any] = {
            "flows": options.number("flows", 1, 65_536),
            "limit": options.number("limit", 1, 10**7),
            "quantum": f"{options.number('quantum', 1)}B",
            "batch": options.number("drop_batch", 1, 10**6),
        }
        params |= self._aims(options)
        self.said.exact("scheme", f"fq_codel, limit {params['limit']} packets")
        memory = self._truesize(options.number("memory_limit", PACKET))
        return _Leaf("fq-codel", params, memory)

    def _fq(self, options: Shown) -> _Leaf:
        """Flows in turns, as fq-codel has them, with a target that no packet reaches."""
        limit = options.number("limit", 1, MOST_PACKETS)
        buckets = options.number("buckets", 1, 2**18)
        params: dict[str, Any] = {
            "flows": min(buckets, MOST_FLOWS),
            "limit": limit,
            "quantum": f"{options.number('quantum', 1)}B",
            "batch": 1,
            "target": NEVER,
            "interval": NEVER_IN,
        }
        if "ce_threshold" in options:
            params["ce_threshold"] = options.time(
                self.said, "scheme.params.ce_threshold", "ce_threshold", times.PLAIN
            )
        self.said.approximated(
            "scheme",
            "fq: flows in turns, as fq-codel has them, with a target that none reaches; over its "
            "limit fq loses the arrival, and here the longest queue its first packet",
        )
        self.said.approximated(
            "scheme.params.flows",
            f"fq has a queue for each flow, in {buckets} lists: here flows of one hash of "
            f"{params['flows']} share a queue",
        )
        flow_limit = options.number("flow_limit", 1, usual=100)
        self.said.left_out(
            "flow_limit", f"a flow may hold over {flow_limit} packets here: more wait, none is lost"
        )
        if "pacing" not in options or options.flag("pacing"):
            self.said.left_out(
                "pacing",
                'a sender\'s, of its own flows: host.nic = "fq" and transport.pacing have it',
            )
        return _Leaf("fq-codel", params, self._packets(limit))

    def _dualpi2(self, options: Shown) -> _Leaf:
        """By tc/q_dualpi2.c of iproute2 6.16; the kernel shows all of its settings."""
        limit = options.number("limit", 1, MOST_PACKETS)
        memory = options.number("memory-limit", usual=2**32 - 1)
        params: dict[str, Any] = {
            name: options.time(self.said, f"scheme.params.{name}", key, clock, 1)
            for name, key, clock in (
                ("target", "target", times.PLAIN),
                ("t_update", "tupdate", times.SHORT),
            )
        }
        params |= {name: self._gain(options, name) for name in ("alpha", "beta")}
        params["coupling"] = options.number("coupling", 1, 255)
        if "step-thresh-pkts" in options:
            # The kernel compares what a packet leaves, of any wait.
            params |= {"step": "0us", "th_len": options.number("step-thresh-pkts", 0, 10**6)}
            self.said.exact("scheme.params.th_len", f"{params['th_len']} packets, its step")
        else:
            params["step"] = options.time(
                self.said, "scheme.params.step", "step-thresh-us", times.SHORT
            )
        params["min_qlen_step"] = options.number("min-qlen-step", 0, 10**6, usual=0)
        params["classic_weight"] = options.number("c-protection", 0, 100) / 100
        params["drop_overload"] = self._word(options, "drop-overload", ("drop", "overflow"))
        if not self._word(options, "ecn-mask", ("l4s-ect", "any-ect")):
            raise Mistake(
                f"{options.at}: ecn-mask: is any-ect: here ECT(1) alone is in the L4S queue: "
                "l4s-ect is needed"
            )
        if not self._word(options, "drop-early", ("drop-dequeue", "drop-enqueue")):
            self.said.approximated(
                "dualpi2.drop-early",
                "drop-enqueue: classic packets are judged as they arrive there, as they leave here",
            )
        if "split-gso" not in options:
            self.said.left_out(
                "dualpi2.split-gso", "off: long segments of a sender wait as one; here as packets"
            )
        self.said.exact("scheme", f"dualpi2, limit {limit} packets")
        fewer = memory < limit * PACKET
        return _Leaf("dualpi2", params, self._truesize(memory) if fewer else self._packets(limit))

    @staticmethod
    def _word(options: Shown, name: str, words: tuple[str, str]) -> bool:
        """Whether an option is the first of two words."""
        value = options.get(name)
        if value not in words:
            found = foreign.shown(value)
            raise Mistake(f"{options.at}: {name}: is {found}: {' or '.join(words)} is needed")
        return bool(value == words[0])

    def _gain(self, options: Shown, name: str) -> float:
        """A gain, of which the device shows 256ths and tc six digits."""
        shown = options.get(name)
        if not foreign.number(shown, 0, GAIN_MOST / PARTS):
            raise Mistake(
                f"{options.at}: {name}: is {foreign.shown(shown)}: a number from 0 on is needed"
            )
        # JSON has six digits in all, and text six after the point.
        has = gains_shown(shown, max(1e-6, 10.0 ** (math.floor(math.log10(shown or 1)) - 5)))
        key = f"scheme.params.{name}"
        if len(has) == 1:
            self.said.exact(key, f"{has[0]:.6g}, shown as {shown:g}")
            return has[0]
        if not has:
            self.said.approximated(key, f"{shown:g} as shown: no gain of the kernel's shows so")
            return float(shown)
        self.said.approximated(
            key, f"{shown:g} as shown: the device has {has[0]:.6g} to {has[-1]:.6g}"
        )
        return has[0]

    def _cake(self, options: Shown) -> _Leaf:
        """One COBALT, where that is all it is."""
        rate = 0
        if options.get("bandwidth") != "unlimited":
            rate = options.number("bandwidth", LEAST_RATE, MOST_RATE)  # tc prints bytes a second
            self.rate = 8 * rate
            self.said.exact("topology.rate", f"{quantity.gbps(self.rate)}, by cake")
        for key, (value, instead) in CAKE.items():
            if options.get(key) != value:
                raise Mistake(
                    f"{self.where}: cake: {key} is {foreign.name(str(options.get(key)))}: a "
                    f"scenario has its COBALT alone: {value}, or {instead}"
                )
        for key, (off, does) in CAKE_OFF.items():
            if options.get(key) not in (None, off):
                raise Mistake(
                    f"{options.at}: {key}: is {foreign.shown(options.get(key))}: {does}, which no "
                    f"scheme here does: leave it off"
                )
        rtt = options.number("rtt", 1)
        params = self._cobalt(rtt, rate)
        self.said.exact("scheme", "cobalt: cake with one tin and one flow")
        self.said.approximated(
            "scheme.params.blue_threshold",
            "four intervals here; cake's probability rises where memory is full alone",
        )
        return _Leaf("cobalt", params, self._truesize(self._memory(options, rtt, rate)))

    @staticmethod
    def _memory(options: Shown, rtt_us: int, rate: int) -> int:
        """cake's `memlimit`; without one what the kernel takes (net/sched/sch_cake.c,
        cake_reconfigure): four intervals at its rate, from 4 MiB to 10,240 packets."""
        most = 10_240 * FRAME
        if rate:
            most = min(most, max(4 * rate * rtt_us // 10**6, 4 * 1024**2))
        return options.number("memlimit", PACKET, usual=most)

    def _cobalt(self, rtt_us: int, rate: int) -> dict[str, Any]:
        """Interval and target, which cake raises to one and a half packets of a slow line
        (net/sched/sch_cake.c, cake_set_rate)."""
        # cake takes a twentieth of the RTT in whole microseconds, then in nanoseconds.
        given = max(1, rtt_us // 20) * 1000
        packet = FRAME * 10**9 // rate if rate else 0
        # On a slow line a packet and a half takes longer than the target: cake waits for that.
        target = max(packet * 3 // 2, given)
        interval = max(rtt_us * 1000 + target - given, 2 * target)
        params = {"interval": f"{interval}ns"}
        self.said.exact("scheme.params.interval", f"{interval / 1000:g} us, of rtt {rtt_us} us")
        if interval != 20 * target:
            params["target"] = f"{target}ns"
            self.said.exact("scheme.params.target", f"{target / 1000:g} us, cake's for it")
        return params

    def _red(self, options: Shown) -> _Leaf:
        for flag, why in (("adaptive", "Floyd's adaptive RED"), ("harddrop", "dropping above max")):
            if options.flag(flag):
                raise Mistake(f"{self.where}: red: {flag}: {why} is no scheme here")
        if not options.flag("ecn"):
            raise Mistake(f"{self.where}: red without ecn: it drops, and a scenario's red marks")
        if "probability" not in options or "ewma" not in options:
            raise Mistake(
                f"{self.where}: red: no probability or ewma: tc prints them with -d alone "
                "(tc -j -d qdisc show)"
            )
        limit = options.number("limit", PACKET)
        low = options.number("min", 0, limit)
        high = options.number("max", low)
        # `nodrop` lets pass what cannot be marked.
        unmarkable = "pass" if options.flag("nodrop") else "drop"
        n = options.number("ewma", 0, 31)
        chance = options.get("probability")
        if not foreign.number(chance, 0, 1):
            raise Mistake(
                f"{options.at}: probability: is {foreign.shown(chance)}: a number from 0 to 1 "
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
            raise Mistake(f"{options.at}: max: is {high}, over limit, {limit}: no more than it")
        self.said.exact("scheme.params", f"red from {low} to {high} bytes, weight 2^-{n}")
        self._chance(low, high, float(chance))
        params = {
            "kmin": f"{low}B",
            "kmax": f"{high}B",
            "pmax": float(chance),
            "weight": 0.5**n,
        }
        return _Leaf("red", params, limit, unmarkable)

    def _chance(self, low: int, high: int, chance: float) -> None:
        """red's probability: the kernel keeps a whole number for each byte of the ramp."""
        device = chance_on_device(low, high, chance)
        if device is None or math.isclose(device, chance, rel_tol=1e-6):
            self.said.exact("scheme.params.pmax", f"{chance:g}")
        else:
            self.said.approximated(
                "scheme.params.pmax", f"{chance:g} as shown; the device marks {device:.7g} of all"
            )

    def _write(self, switch: Mapping[str, Any], leaf: _Leaf) -> str:
        rate = self.rate
        if rate is None:
            rate = UNKNOWN_RATE
            self.said.approximated("topology.rate", "tc does not show it: 10 Gbps, or give --rate")
        params = {"params": dict(leaf.params)} if leaf.params else {}
        sections = {
            "topology": {
                "kind": "star",
                "hosts": HOSTS,
                "rate": quantity.gbps(rate),
                "delay": "5us",
            },
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
        for entry in beginning.traffic([], HOSTS, rate, leaf.limit, 0):
            lines += ["", "[[traffic]]", *_lines(entry)]
        return "\n".join([*lines, ""])


def _bytes(shown: object) -> int | None:
    """A size as tc prints it, before the cell of an old kernel: `1600b/1`."""
    if isinstance(shown, int) and not isinstance(shown, bool) and shown >= 0:
        return shown
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([KMG]?b)(?:/[0-9]+)?", str(shown))
    return round(float(found[1]) * SIZES[found[2]]) if found else None


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
