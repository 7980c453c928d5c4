"""A scenario's switch port as a script of `tc`: docs/tc.md has the mapping."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from switchbed import library, links, quantity, queues
from switchbed.sonic.finding import Findings
from switchbed.tc.encoding import CERTAIN, chance_on_device, codel_ns
from switchbed.tc.ewma import PACKET, burst, exponent

BANDS = 16
BANDWIDTH_MOST = 34 * 10**9
"""`red` takes a `bandwidth` of 32 bits of bytes a second."""
PIE_MOST = 32
LIMIT_MOST = 2**32 - 1
LEAST_QUANTUM = 256
"""Of ets: a quantum of 1 was read back as this, on Linux 6.1."""
TBF, TREE = "1:", "2:"
PARTS = 256
"""`dualpi2` has its gains in so many parts of one."""


@dataclass(frozen=True)
class Choices:
    """Options of an export: values that the user chose, and losses that the user accepts."""

    device: str = "eth0"
    rate: int | None = None
    """Shape the port to this, in bits a second: the queue is then the discipline's, not the card's.
    """
    instead: Mapping[str, str] = field(default_factory=dict)
    """`scheme`: a static one in place of what `tc` lacks; `buffer`: `static`, equal parts."""


def export(scenario: Mapping[str, Any], choices: Choices) -> tuple[list[str], Findings]:
    """The script's lines, after its head."""
    return _Export(scenario, choices).lines()


def script(lines: Sequence[str], title: str, choices: Choices) -> str:
    """A shell script that sets the device up, or with `undo` gives it back."""
    return "\n".join(
        [
            "#!/bin/sh",
            f"# {title}, by switchbed export tc.",
            f"#   sh SCRIPT [DEVICE]        sets DEVICE ({choices.device}) up",
            "#   sh SCRIPT DEVICE undo     gives it back its own discipline",
            "set -e",
            f'dev="${{1:-{choices.device}}}"',
            'if [ "$2" = undo ]; then',
            '    tc qdisc del dev "$dev" root',
            "    exit",
            "fi",
            "trap 'tc qdisc del dev \"$dev\" root 2>/dev/null' EXIT  # all of it, or none",
            *lines,
            "trap - EXIT",
            "",
        ]
    )


class _Export:
    def __init__(self, scenario: Mapping[str, Any], choices: Choices) -> None:
        self.scenario, self.choices = scenario, choices
        self.switch: Mapping[str, Any] = scenario["switch"]
        self.said = Findings()
        self.made: list[str] = []
        self.mtu = quantity.size(scenario["host"]["mtu"])
        self.count = int(self.switch["queues"])
        highest = self.switch.get("strict_order") == "highest"
        self.queues = queues.by_priority(queues.said(scenario), highest=highest)
        """In the order of bands."""
        self.strict = sum(each.strict for each in self.queues)
        self.rate = choices.rate or links.host_rate(scenario["topology"])

    def lines(self) -> tuple[list[str], Findings]:
        if "pfc" in self.switch:
            self.said.refused(
                "switch.pfc", "tc has no pause frames: leave switch.pfc away, its queues drop"
            )
        parent = "root"
        if self.choices.rate is not None:
            parent = self._shape(self.choices.rate)
        limits = self._limits()
        # Disciplines with flow queues of their own are not put into bands.
        if self.count == 1 or library.makes_queues(self.scenario["scheme"]["name"]):
            self._leaf(parent, self.queues[0], limits[0])
            return self.made, self.said
        if self._tree(parent):
            # Bands are counted from 1 in handles, and in hexadecimal digits.
            for band, (queue, limit) in enumerate(zip(self.queues, limits, strict=True), 1):
                self._leaf(f"parent {TREE}{band:x}", queue, limit)
            self._classes()
        self.said.all = list(dict.fromkeys(self.said.all))  # of queues alike it is said once
        return self.made, self.said

    def add(self, where: str, what: str) -> None:
        """A discipline."""
        # `replace` works whether or not the device has a root discipline already.
        verb = "replace" if where == "root" else "add"
        self.made.append(f'tc qdisc {verb} dev "$dev" {where} {what}')

    def _shape(self, rate: int) -> str:
        # Two packets at least: tbf drops what is longer than its bucket.
        bucket = max(2 * self.mtu, rate // 8 // 1000)  # what a millisecond brings
        self.add("root", f"handle {TBF} tbf rate {rate}bit burst {bucket} limit {bucket + 10**6}")
        by = f"by tbf, with bursts of {bucket} B"
        # `tc`'s rates are bytes a second.
        if rate % 8 == 0:
            self.said.exact("topology.rate", f"{quantity.gbps(rate)} {by}")
        else:
            has = quantity.gbps(rate // 8 * 8)
            self.said.approximated(
                "topology.rate", f"{quantity.gbps(rate)} as {has} {by}: tc has whole bytes a second"
            )
        return f"parent {TBF}1"

    def _limits(self) -> list[int]:
        """Each band's memory."""
        limits = [each.limit for each in self.queues]
        known = [limit for limit in limits if limit is not None]
        policy = self.switch["policy"]
        if len(known) == self.count and policy in ("shared", "static"):
            self.said.exact("switch.queue.limit", f"{', '.join(map(str, known))} bytes by band")
            return known
        whole = library.makes_queues(self.scenario["scheme"]["name"])
        if policy == "shared" and whole:
            size = quantity.size(self.switch["buffer"])
            self.said.approximated(
                "switch.buffer", f"{size} bytes of packets as so many of the kernel's memory"
            )
        elif policy == "static" or (policy == "shared" and self.count == 1):
            size = quantity.size(self.switch["buffer"]) // self.count
            self.said.exact("switch.buffer", f"{size} bytes a queue")
        elif policy == "shared" and self.choices.instead.get("buffer") == "static":
            size = quantity.size(self.switch["buffer"]) // self.count
            self.said.approximated(
                "switch.buffer", f"shared as equal parts, {size} bytes a queue, as --instead chose"
            )
        else:
            self.said.refused(
                "switch.policy",
                f"{policy}: each discipline has a limit of its own: policy = static, or for a "
                "port's shared buffer --instead buffer=static",
            )
            size = quantity.size(self.switch["buffer"])
        return [size if limit is None else min(size, limit) for limit in limits]

    # The tree.

    def _tree(self, parent: str) -> bool:
        discipline = self.switch["discipline"]
        if self.count > BANDS:
            self.said.refused("switch.queues", f"{self.count}: tc has at most {BANDS} bands")
            return False
        if discipline == "fifo":
            self.said.refused("switch.discipline", "fifo over several queues: queues = 1, or dwrr")
            return False
        # Packets that no filter knows go last.
        priomap = " ".join([str(self.count - 1)] * 16)
        if self.strict == self.count - 1:
            self.add(parent, f"handle {TREE} prio bands {self.count} priomap {priomap}")
            self.said.exact("switch.strict", "all of them: prio, whose first band goes first")
            return True
        quanta = [each.quantum for each in self.queues if not each.strict]
        if discipline in ("wfq", "round-robin"):
            quanta = quanta if discipline == "wfq" else [self.mtu] * len(quanta)
            self.said.approximated("switch.discipline", f"{discipline} as ets, which is DRR")
        else:
            note = "" if discipline == "dwrr" else ": it keeps a deficit that wrr drops"
            say = self.said.exact if discipline == "dwrr" else self.said.approximated
            say("switch.discipline", f"{discipline} as ets, which is DRR{note}")
        strict = f" strict {self.strict}" if self.strict else ""
        self.add(
            parent,
            f"handle {TREE} ets bands {self.count}{strict} quanta "
            f"{' '.join(map(str, quanta))} priomap {priomap}",
        )
        if min(quanta) < LEAST_QUANTUM:
            self.said.approximated(
                "switch.quantum",
                f"{', '.join(map(str, quanta))}: under {LEAST_QUANTUM} the kernel stored "
                f"{LEAST_QUANTUM}",
            )
        else:
            self.said.exact("switch.quantum", ", ".join(map(str, quanta)))
        return True

    def _classes(self) -> None:
        how = self.switch["classify"]
        if how not in ("class", "single"):
            self.said.refused("switch.classify", f"{how}: bands are by DSCP: classify = class")
            return
        order = [each.index for each in self.queues]
        # The band is worked out by the shell, which runs for each DSCP.
        band = "1" if how == "single" else f"$(printf %x $((dscp % {self.count} + 1)))"
        if how == "class" and order != sorted(order):
            # A class's band is in its place: 1 for the first.
            bands = " ".join(f"{order.index(queue) + 1:x}" for queue in range(self.count))
            band = f"$(echo {bands} | cut -d ' ' -f $((dscp % {self.count} + 1)))"
            self.said.exact(
                "switch.strict", f"bands are queues {', '.join(map(str, order))}: strict ones first"
            )
        self.made += [
            "for dscp in $(seq 0 63); do",
            # The DSCP is the upper six bits of the TOS byte: times 4, mask 0xfc.
            "    tos=$(printf 0x%x/0xfc $((dscp * 4)))",
            *(
                f'    echo "filter add dev $dev parent {TREE} protocol {family} prio {prio} '
                f'flower ip_tos $tos classid {TREE}{band}"'
                # A `flower` filter has one protocol, and each protocol needs a priority of its own.
                for prio, family in ((1, "ip"), (2, "ipv6"))
            ),
            # One `tc` for all filters: 128 processes would take seconds.
            "done | tc -batch -",
        ]
        self.said.exact("switch.classify", f"{how}: all 64 DSCPs, of IPv4 and IPv6")

    # The leaves.

    def _leaf(self, where: str, queue: queues.Says, limit: int) -> None:
        name, params = queue.scheme, dict(queue.params)
        self.drops = queue.drops
        of_it = library.definition(name)
        nearest = of_it["nearest"]
        if nearest and self.choices.instead.get("scheme") == nearest:
            key = of_it["main"]
            self.said.approximated(
                "scheme.name", f"{name} as {nearest} with its {key}, {params[key]}: static"
            )
            name, params = nearest, {"threshold": params[key]}
            of_it = library.definition(name)
        if limit > LIMIT_MOST:
            self.said.refused(
                "switch.buffer",
                f"{limit} bytes: tc's limits have 32 bits: {LIMIT_MOST} at most",
            )
            return
        kind = of_it["tc"]
        if kind == "bfifo":
            self.add(where, f"bfifo limit {limit}")
            self.said.exact("scheme.name", f"{name}: bfifo of {limit} bytes")
        elif kind == "step":
            quanta = sum(each.quantum for each in self.queues)
            share = queue.quantum / quanta if of_it["by_quantum"] else 1.0
            self._step(where, round(quantity.size(params["threshold"], self.mtu) * share), limit)
        elif kind == "red":
            self._red(where, params, limit)
        elif kind == "codel":
            self._codel(where, params, limit)
        elif kind == "pie":
            self._pie(where, params, limit)
        elif kind == "fq_codel":
            self._fq_codel(where, params, limit)
        elif kind == "cake":
            self._cake(where, params, limit)
        elif kind == "dualpi2":
            self._dualpi2(where, params, limit)
        else:
            hint = f"; the nearest is --instead scheme={nearest}" if nearest else ""
            self.said.refused("scheme.name", f"{name}: Linux has no such discipline{hint}")

    def _flags(self) -> str:
        if self.drops:
            self.said.exact("switch.unmarkable", "drop: ecn without nodrop")
            return "ecn"
        self.said.exact("switch.unmarkable", "pass: ecn nodrop")
        return "ecn nodrop"

    def _bandwidth(self) -> str | None:
        if self.rate <= BANDWIDTH_MOST:
            return f"bandwidth {self.rate}bit"
        self.said.refused(
            "topology.rate",
            f"{quantity.gbps(self.rate)}: red's bandwidth is at most 34 Gbps: --rate below it",
        )
        return None

    def _step(self, where: str, k: int, limit: int) -> None:
        if (bandwidth := self._bandwidth()) is None:
            return
        self.add(
            where,
            f"red limit {limit} min {k} max {k + 1} avpkt {PACKET} burst {burst(k, 1)} "
            f"{self._flags()} {bandwidth} probability {CERTAIN}",
        )
        self.said.approximated(
            "scheme.params.threshold",
            f"{k} bytes as a ramp of one byte over an average whose weight is 1/2, the most that "
            "tc gives, in place of the present length",
        )

    def _red(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        if (bandwidth := self._bandwidth()) is None:
            return
        high = quantity.size(params["kmax"], self.mtu)
        low = quantity.size(params["kmin"], self.mtu) if "kmin" in params else high // 2
        if "rate" in params:
            share = self.rate / quantity.rate(params["rate"])
            low, high = round(low * share), round(high * share)
        if params["gentle"]:
            self.said.refused("scheme.params.gentle", "true: gentle = false")
            return
        weight = float(params["weight"])
        wanted = max(1, round(-math.log2(weight)))
        count = burst(low, wanted)
        has = 0.5 ** (exponent(low, count) or wanted)
        end, pmax = max(high, low + 1), float(params["pmax"])
        written = min(pmax, CERTAIN)
        device = chance_on_device(low, end, written)
        if device is None:
            self.said.refused(
                "scheme.params.pmax", f"{pmax:g} over {end - low} bytes: tc refuses so flat a ramp"
            )
            return
        self.add(
            where,
            f"red limit {limit} min {low} max {end} avpkt {PACKET} burst {count} "
            f"{self._flags()} {bandwidth} probability {written!r}",
        )
        if end == high:
            self.said.exact("scheme.params", f"{low} to {high} bytes")
        else:
            self.said.approximated("scheme.params.kmax", f"{high} bytes as {end}: tc needs a ramp")
        if math.isclose(device, pmax, rel_tol=1e-6):
            self.said.exact("scheme.params.pmax", f"{pmax:g}")
        else:
            self.said.approximated("scheme.params.pmax", f"{pmax:g} as {device:.7g} on the device")
        if has == weight:
            self.said.exact("scheme.params.weight", f"{weight:g}")
        else:
            self.said.approximated(
                "scheme.params.weight", f"{weight:g} as {has:g}, {has / weight:.3g} times as much"
            )
        if params["spacing"] != "uniform":
            self.said.approximated(
                "scheme.params.spacing", f"{params['spacing']} as uniform, Linux's"
            )

    def _codel(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        interval = quantity.time(params["interval"])
        # RFC 8289: a target of 5 ms for an interval of 100 ms.
        target = quantity.time(params["target"]) if "target" in params else interval / 20
        ce = f" ce_threshold {_us(params['ce_threshold'])}" if "ce_threshold" in params else ""
        ecn = "ecn" if params["ecn"] else "noecn"
        # `codel` and `pie` count packets, whatever their length.
        packets = max(1, limit // self.mtu)
        self.add(
            where,
            f"codel limit {packets} target {round(target * 1e6)}us "
            f"interval {round(interval * 1e6)}us {ecn}{ce}",
        )
        self.said.approximated("switch.buffer", f"{limit} bytes as {packets} packets")
        self._times({"target": target, "interval": interval}, params)

    def _times(self, times: Mapping[str, float], params: Mapping[str, Any]) -> None:
        """CoDel's, which the kernel has in units of 1.024 us."""
        given = dict(times)
        if "ce_threshold" in params:
            given["ce_threshold"] = quantity.time(params["ce_threshold"])
        for key, seconds in given.items():
            has = codel_ns(seconds)
            if has == round(seconds * 1e9):
                self.said.exact(f"scheme.params.{key}", f"{has} ns")
            else:
                self.said.approximated(
                    f"scheme.params.{key}",
                    f"{seconds * 1e6:g} us as {has / 1000:g} us: the kernel has units of 1.024 us",
                )

    def _fq_codel(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        given = params.get("quantum")
        quantum = self.mtu if given is None else quantity.size(given, self.mtu)
        ce = f" ce_threshold {_us(params['ce_threshold'])}" if "ce_threshold" in params else ""
        self.add(
            where,
            f"fq_codel limit {params['limit']} flows {params['flows']} quantum {quantum} "
            f"target {_us(params['target'])} interval {_us(params['interval'])} "
            f"memory_limit {limit} {'ecn' if params['ecn'] else 'noecn'}{ce} "
            f"drop_batch {params['batch']}",
        )
        names = ("target", "interval")
        self._times({name: quantity.time(params[name]) for name in names}, params)

    def _cake(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        """COBALT is inside of `cake`, which has it to itself with one tin and one flow."""
        interval, target = quantity.time(params["interval"]), quantity.time(params["target"])
        fixed = {"target": interval / 20, "increment": 1 / 256, "decrement": 1 / 4096}
        for key, value in fixed.items():
            has = target if key == "target" else float(params[key])
            if not math.isclose(has, value, rel_tol=1e-6):
                self.said.refused(
                    f"scheme.params.{key}",
                    f"{params[key]}: cake's is {'interval / 20' if key == 'target' else value}",
                )
                return
        if not params["ecn"] or "ce_threshold" in params:
            self.said.refused("scheme.params.ecn", "cake always marks, and has no ce_threshold")
            return
        self.add(
            where,
            f"cake unlimited besteffort flowblind rtt {_us(params['interval'])} memlimit {limit}",
        )
        self.said.approximated(
            "scheme.name", "cobalt as cake without its shaper, tins and flows: one COBALT"
        )
        self.said.approximated("switch.buffer", f"{limit} bytes of packets as the kernel's memory")
        self.said.approximated(
            "scheme.params.blue_threshold",
            f"{params['blue_threshold']}: cake's probability rises where memory is full alone",
        )

    def _dualpi2(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        gains = {name: float(params[name]) for name in ("alpha", "beta")}
        has = {name: round(PARTS * value) / PARTS for name, value in gains.items()}
        percent = 100 * float(params["classic_weight"])
        coupling = float(params["coupling"])
        for key, value in (("classic_weight", percent), ("coupling", coupling)):
            if not math.isclose(value, round(value), abs_tol=1e-9):
                self.said.refused(f"scheme.params.{key}", f"{params[key]}: tc has whole numbers")
                return
        if params["th_len"]:
            self.said.refused(
                "scheme.params.th_len",
                f"{params['th_len']}: Linux has min_qlen_step, by what a packet finds: th_len = 0",
            )
            return
        least = f" min_qlen_step {params['min_qlen_step']}" if params["min_qlen_step"] else ""
        packets = max(1, limit // self.mtu)
        self.add(
            where,
            f"dualpi2 limit {packets} target {_us(params['target'])} "
            f"tupdate {_us(params['t_update'])} alpha {has['alpha']:g} beta {has['beta']:g} "
            f"coupling_factor {round(coupling)} step_thresh {_us(params['step'])}{least} "
            f"classic_protection {round(percent)} "
            f"{'drop_on_overload' if params['drop_overload'] else 'overflow'} drop_dequeue",
        )
        self.said.approximated(
            "scheme.name", "dualpi2 needs Linux 6.17 and iproute2 6.16; no script of it was run"
        )
        for name, value in gains.items():
            if value != has[name]:
                self.said.approximated(
                    f"scheme.params.{name}", f"{value:g} as {has[name]:g}: tc has 256ths"
                )

    def _pie(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        target = quantity.time(params["target"])
        update = quantity.time(params["t_update"]) if "t_update" in params else target
        packets = max(1, limit // self.mtu)
        alpha, beta = (float(params[name]) for name in ("alpha", "beta"))
        # In sixteenths, of which tc takes 32 at most.
        a, b = (min(PIE_MOST, round(16 * each)) for each in (alpha, beta))
        self.add(
            where,
            f"pie limit {packets} target {round(target * 1e6)}us "
            f"tupdate {round(update * 1e6)}us alpha {a} beta {b} ecn",
        )
        self.said.approximated("switch.buffer", f"{limit} bytes as {packets} packets")
        self.said.approximated("scheme.params.t_update", "in whole ticks of the kernel, 1 to 10 ms")
        if (a, b) != (16 * alpha, 16 * beta):
            self.said.approximated(
                "scheme.params.alpha",
                f"alpha {alpha:g} as {a / 16:g}, beta {beta:g} as {b / 16:g}: tc has sixteenths, "
                f"up to {PIE_MOST / 16:g}",
            )


def _us(text: object) -> str:
    return f"{round(quantity.time(text) * 1e6)}us"
