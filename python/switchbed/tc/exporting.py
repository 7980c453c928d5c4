"""A scenario's switch port as a script of `tc`: docs/tc.md has the mapping."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from switchbed import foreign, library, links, quantity, queues
from switchbed._native import time_ps
from switchbed.sonic.device import Device
from switchbed.sonic.finding import Findings
from switchbed.tc import times
from switchbed.tc.encoding import (
    CERTAIN,
    GAIN_MOST,
    PACKET,
    PARTS,
    burst,
    chance_on_device,
    damps,
    exponent,
    gain_on_device,
    gain_parts,
    parts_nearest,
    weight_fits,
)

BANDS = 16
BANDWIDTH_MOST = 34 * 10**9
"""`red` takes a `bandwidth` of 32 bits of bytes a second."""
PIE_MOST = 32
LIMIT_MOST = 2**32 - 1
LEAST_QUANTUM = 256
"""Of ets: a quantum of 1 was read back as this, on Linux 6.1."""
QUANTUM_MOST = 2**20
"""Of fq_codel, which takes less than `LEAST_QUANTUM` for that (net/sched/sch_fq_codel.c)."""
PIE_ECN_UP_TO, PIE_BURST, PIE_STEP = 0.1, "150ms", "15ms"
"""Of the kernel's pie: ECN up to a tenth, the burst allowance, and the target at which a step of
the probability comes at a wait of 250 ms in a scenario, too (net/sched/sch_pie.c)."""
TBF, TREE = "1:", "2:"
SHARING = ("shared", "dynamic", "asic")
"""Policies under which `--instead buffer=static` gives each queue an equal part of the memory."""


@dataclass(frozen=True)
class Choices:
    """Options of an export: values that the user chose, and losses that the user accepts."""

    device: str = "eth0"
    rate: int | None = None
    """Shape the port to this, in bits a second: the queue is then the discipline's, not the card's.
    """
    instead: Mapping[str, str] = field(default_factory=dict)
    """`scheme`: a static one in place of what `tc` lacks; `buffer`: `static`, equal parts."""


def export(
    scenario: Mapping[str, Any], choices: Choices, device: Device | None = None
) -> tuple[list[str], Findings]:
    """The script's lines, after its head. `device` is the switch that the scenario came from, whose
    DSCPs have classes of their own."""
    return _Export(scenario, choices, device).lines()


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
    def __init__(
        self, scenario: Mapping[str, Any], choices: Choices, device: Device | None
    ) -> None:
        self.scenario, self.choices, self.device = scenario, choices, device
        self.switch: Mapping[str, Any] = scenario["switch"]
        self.said = Findings()
        self.made: list[str] = []
        self.whole = library.makes_queues(scenario["scheme"]["name"])
        """The scheme has queues and a buffer of its own."""
        self.memory = "switch.buffer"
        """The key of the queues' memory."""
        self.mtu = links.mtu(scenario)
        self.count = int(self.switch["queues"])
        highest = self.switch.get("strict_order") == "highest"
        self.queues = queues.by_priority(queues.said(scenario), highest=highest)
        """In the order of bands."""
        self.strict = sum(each.strict for each in self.queues)
        self.rate = choices.rate or links.host_rate(scenario["topology"])

    def lines(self) -> tuple[list[str], Findings]:
        self._absent()
        parent = "root"
        if self.choices.rate is not None:
            parent = self._shape(self.choices.rate)
        limits = self._limits()
        if self.count == 1 or self.whole:
            self._leaf(parent, self.queues[0], limits[0])
        elif self._tree(parent):
            for band, (queue, limit) in enumerate(zip(self.queues, limits, strict=True), 1):
                self._leaf(f"parent {TREE}{band:x}", queue, limit)
            self._classes()
        self.said.settle()
        return self.made, self.said

    def _absent(self) -> None:
        """Refuse what tc has nothing for."""
        if "pfc" in self.switch:
            self.said.refused(
                "switch.pfc",
                "tc has no pause frames: remove [switch.pfc] from the file, its queues then drop",
            )
        if "trimming" in self.switch:
            self.said.refused(
                "switch.trimming",
                "tc does not trim: leave switch.trimming away, its queues drop whole packets",
            )
        for index, other in enumerate(self.scenario.get("deploy") or []):
            self.said.refused(
                f"deploy.{index}",
                f"{other['switches']}: a script is one port's: export without it, and ports of the "
                "other switches from a scenario of their own",
            )

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
        buffer, policy = quantity.size(self.switch["buffer"]), self.switch["policy"]
        if self.whole:
            self.said.exact(self.memory, f"{buffer} bytes of the port, all the scheme's")
            return [buffer] * self.count
        own = [each.limit for each in self.queues]
        known = [limit for limit in own if limit is not None]
        # Rounded down: all bands together never hold more than the port.
        size = buffer // self.count
        if policy == "shared" and len(known) == self.count and sum(known) <= buffer:
            self.said.exact(self.memory, f"{buffer} bytes hold all that queues may: no limit more")
            return known
        if policy == "static" or (policy == "shared" and self.count == 1):
            self.said.exact(self.memory, f"{size} bytes a queue")
        elif policy in SHARING and self.choices.instead.get("buffer") == "static":
            self.said.approximated(
                self.memory, f"{policy} as equal parts, {size} bytes a queue, as --instead chose"
            )
        else:
            self.said.refused(
                "switch.policy",
                f"{policy}: each discipline has a limit of its own: policy = static"
                + (" or --instead buffer=static" if policy in SHARING else ""),
            )
            size = buffer
        return [size if limit is None else min(size, limit) for limit in own]

    def _packets(self, limit: int) -> int:
        """A memory in bytes for a discipline that counts packets."""
        packets = max(1, limit // self.mtu)
        self.said.approximated(
            self.memory,
            f"{limit} bytes as {packets} packets of {self.mtu} bytes (host.mtu), short ones too",
        )
        return packets

    def _truesize(self, limit: int) -> None:
        """A memory in bytes for a discipline that counts the kernel's."""
        self.said.approximated(
            self.memory, f"{limit} bytes of packets as so many of the kernel's memory"
        )

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
        # ets takes quanta for the bands that share what strict ones leave.
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
        mapped = self.device.queues_of_dscps() if self.device is not None else None
        # The band is worked out by the shell, which runs for each DSCP.
        band = "1" if how == "single" else f"$(printf %x $((dscp % {self.count} + 1)))"
        if how == "class" and order != sorted(order):
            # A class's band is in its place: 1 for the first.
            bands = " ".join(f"{order.index(queue) + 1:x}" for queue in range(self.count))
            band = f"$(echo {bands} | cut -d ' ' -f $((dscp % {self.count} + 1)))"
            self.said.exact(
                "switch.strict", f"bands are queues {', '.join(map(str, order))}: strict ones first"
            )
        if how == "class" and mapped is not None:
            name, queues_of = mapped
            # A queue that the scenario lacks has no band: the last, as of packets without a filter.
            found = [order.index(q) + 1 if q in order else self.count for q in queues_of]
            bands = " ".join(f"{each:x}" for each in found)
            band = f"$(echo {bands} | cut -d ' ' -f $((dscp + 1)))"
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
        if how == "class" and mapped is not None:
            text = f"the device's {foreign.name(name)} of DSCPs, IPv4 and IPv6; in the scenario"
            self.said.approximated(
                "switch.classify", f"{text} class modulo {self.count} is the queue"
            )
        else:
            self.said.exact(
                "switch.classify",
                f"{how}: all 64 DSCPs modulo {self.count} queues, of IPv4 and IPv6"
                if how == "class"
                else f"{how}: all 64 DSCPs, of IPv4 and IPv6",
            )

    # The leaves.

    def _leaf(self, where: str, queue: queues.Says, limit: int) -> None:
        name, params = queue.scheme, dict(queue.params)
        self.drops = queue.drops
        self._keys(queue)
        # The queue's own limit is the tighter one, so the verdict names its key.
        if queue.limit == limit and not self.whole:
            self.memory = f"switch.queue.{queue.index}.limit"
            self.said.exact(self.memory, f"{limit} bytes")
        of_it = library.definition(name)
        nearest = of_it["nearest"]
        if nearest and self.choices.instead.get("scheme") == nearest:
            key = of_it["main"]
            self.said.approximated(
                self.name,
                f"{name} as {nearest} with its {key}, {params[key]}: static",
            )
            name, params = nearest, {"threshold": params[key]}
            of_it = library.definition(name)
        if limit > LIMIT_MOST:
            self.said.refused(
                self.memory,
                f"{limit} bytes: tc's limits have 32 bits: {LIMIT_MOST} at most",
            )
            return
        kind = of_it["tc"]
        if kind == "bfifo":
            self.add(where, f"bfifo limit {limit}")
            self.said.exact(self.name, f"{name}: bfifo of {limit} bytes")
        elif kind == "step":
            quanta = sum(each.quantum for each in self.queues)
            # A threshold divided among the queues, as `per-queue-min` has it.
            share = queue.quantum / quanta if of_it["by_quantum"] else 1.0
            k = round(quantity.size(params["threshold"], self.mtu) * share)
            self._step(where, k, params, limit)
        elif kind == "red":
            self._red(where, params, limit)
        elif kind == "codel":
            self._codel(where, params, limit)
        elif kind == "pie":
            self._pie(where, params, limit)
        elif kind == "fq_codel":
            self._fq_codel(where, params, limit)
        elif kind == "fq_pie":
            self._fq_pie(where, params, limit)
        elif kind == "cake":
            self._cake(where, params, limit)
        elif kind == "dualpi2":
            self._dualpi2(where, params, limit)
        else:
            hint = f"; the nearest is --instead scheme={nearest}" if nearest else ""
            self.said.refused(self.name, f"{name}: Linux has no such discipline{hint}")

    def _keys(self, queue: queues.Says) -> None:
        """Keys of what is said of a queue: its own, where queues differ."""
        # Tables of parameters have no hash: compared as text.
        kinds = {json.dumps([q.scheme, dict(q.params), q.drops]) for q in self.queues}
        apart = len(kinds) > 1 and not self.whole
        own = f"switch.queue.{queue.index}" if apart else ""
        scheme = f"{own}.scheme" if apart else "scheme"
        self.memory = "switch.buffer"
        self.name, self.params = f"{scheme}.name", f"{scheme}.params"
        self.unmarkable = f"{own or 'switch'}.unmarkable"

    def _time(self, name: str, text: object, clock: times.Clock) -> str:
        """A time of the scheme as tc takes it."""
        return times.written(self.said, f"{self.params}.{name}", text, clock)

    def _flags(self, params: Mapping[str, Any]) -> str:
        """red's: ECN, and what becomes of packets that cannot be marked."""
        key = self.unmarkable
        if params.get("mark_at", "enqueue") == "dequeue":
            self.said.approximated(
                f"{self.params}.mark_at",
                "dequeue as enqueue: Linux's red looks as a packet comes",
            )
            self.said.exact(
                key, "ecn nodrop: a scheme that marks as packets leave passes all that it cannot"
            )
            return "ecn nodrop"
        if self.drops:
            self.said.exact(key, "drop: ecn without nodrop")
            return "ecn"
        self.said.exact(key, "pass: ecn nodrop")
        return "ecn nodrop"

    def _by_itself(self, kind: str) -> None:
        """Say that a discipline drops what is not ECN-capable whatever the switch says."""
        self.said.exact(
            self.unmarkable,
            f"{kind} drops what it cannot mark, whatever this says, here and in Linux",
        )

    def _bandwidth(self) -> str | None:
        if self.rate <= BANDWIDTH_MOST:
            return f"bandwidth {self.rate}bit"
        self.said.refused(
            "topology.rate",
            f"{quantity.gbps(self.rate)}: red's bandwidth is at most 34 Gbps: --rate below it",
        )
        return None

    def _step(self, where: str, k: int, params: Mapping[str, Any], limit: int) -> None:
        if (bandwidth := self._bandwidth()) is None:
            return
        if (count := self._burst(f"{self.params}.threshold", k, 1)) is None:
            return
        if not self._average(f"{self.params}.threshold", k + 1, 1):
            return
        self.add(
            where,
            f"red limit {limit} min {k} max {k + 1} avpkt {PACKET} burst {count} "
            f"{self._flags(params)} {bandwidth} probability {CERTAIN}",
        )
        self.said.approximated(
            f"{self.params}.threshold",
            f"{k} bytes as a ramp of one byte over an average whose weight is 1/2, the most that "
            "tc gives, in place of the present length"
            + (f"; nothing is marked, as the queue ends at {limit}" if limit <= k else ""),
        )

    def _burst(self, key: str, low: int, wanted: int) -> int | None:
        """red's `burst`, or `None` after its refusal."""
        count = burst(low, wanted)
        if count is None:
            self.said.refused(
                key,
                f"{low} bytes: tc finds no weight for a red that begins under a packet: "
                f"begin it at {PACKET} bytes or more",
            )
        return count

    def _average(self, key: str, high: int, n: int) -> bool:
        """Whether tc and the kernel take this weight, 2^-n, or else its refusal."""
        if not weight_fits(high, n):
            most = 31 - high.bit_length()
            fits = f"2^-{most} or more" if most > 0 else "thresholds under 1 GiB"
            self.said.refused(
                key,
                f"2^-{n} with a ramp that ends at {high} bytes: Linux has thresholds times the "
                f"weight's inverse in 31 bits: {fits}",
            )
        elif not damps(n, self.rate):
            self.said.refused(
                key,
                f'2^-{n}: tc finds no table for it at {quantity.gbps(self.rate)} ("failed to '
                'calculate idle damping table"): a larger weight',
            )
        else:
            return True
        return False

    def _red(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        if (bandwidth := self._bandwidth()) is None:
            return
        high = quantity.size(params["kmax"], self.mtu)
        low = quantity.size(params["kmin"], self.mtu) if "kmin" in params else high // 2
        if "rate" in params:
            share = self.rate / quantity.rate(params["rate"])
            low, high = round(low * share), round(high * share)
        if params["gentle"]:
            self.said.refused(f"{self.params}.gentle", "true: gentle = false")
            return
        weight = float(params["weight"])
        wanted = max(1, round(-math.log2(weight)))
        if (count := self._burst(f"{self.params}.kmin", low, wanted)) is None:
            return
        n = exponent(low, count) or wanted
        has = 0.5**n
        end, pmax = max(high, low + 1), float(params["pmax"])
        if not self._average(f"{self.params}.weight", end, n):
            return
        written = min(pmax, CERTAIN)
        device = chance_on_device(low, end, written)
        if device is None:
            self.said.refused(
                f"{self.params}.pmax", f"{pmax:g} over {end - low} bytes: tc refuses so flat a ramp"
            )
            return
        self.add(
            where,
            f"red limit {limit} min {low} max {end} avpkt {PACKET} burst {count} "
            f"{self._flags(params)} {bandwidth} probability {written!r}",
        )
        if limit < end:
            # The rest of the ramp is never reached.
            most = max(0.0, pmax * (limit - low) / (end - low))
            self.said.approximated(
                self.params,
                f"{low} to {high} bytes, but the queue ends at {limit}: at most {100 * most:.3g} % "
                "are marked",
            )
        elif end == high:
            self.said.exact(self.params, f"{low} to {high} bytes")
        else:
            self.said.approximated(f"{self.params}.kmax", f"{high} bytes as {end}: tc needs a ramp")
        if math.isclose(device, pmax, rel_tol=1e-6):
            self.said.exact(f"{self.params}.pmax", f"{pmax:g}")
        else:
            self.said.approximated(f"{self.params}.pmax", f"{pmax:g} as {device:.7g} on the device")
        if has == weight:
            self.said.exact(f"{self.params}.weight", f"{weight:g}")
        else:
            self.said.approximated(
                f"{self.params}.weight", f"{weight:g} as {has:g}, {has / weight:.3g} times as much"
            )
        if params["spacing"] != "uniform":
            self.said.approximated(
                f"{self.params}.spacing", f"{params['spacing']} as uniform, Linux's"
            )

    def _codel(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        self.add(
            where,
            f"codel limit {self._packets(limit)} {self._aims(params)}{self._threshold(params)}",
        )

    def _aims(self, params: Mapping[str, Any]) -> str:
        """CoDel's own parameters, for codel and fq_codel."""
        for key, has in (("sqrt", "linux"), ("next_mark", "due")):
            if params[key] == has:
                self.said.exact(f"{self.params}.{key}", has)
            else:
                self.said.approximated(f"{self.params}.{key}", f"{params[key]} as {has}, Linux's")
        self._by_itself("CoDel")
        target = self._time("target", params["target"], times.CODEL)
        interval = self._time("interval", params["interval"], times.CODEL)
        return f"target {target} interval {interval} {'ecn' if params['ecn'] else 'noecn'}"

    def _threshold(self, params: Mapping[str, Any]) -> str:
        if "ce_threshold" not in params:
            return ""
        return f" ce_threshold {self._time('ce_threshold', params['ce_threshold'], times.MARKED)}"

    def _quantum(self, kind: str, params: Mapping[str, Any]) -> int:
        """Bytes of a flow's turn."""
        given = params.get("quantum")
        quantum = self.mtu if given is None else quantity.size(given, self.mtu)
        key = f"{self.params}.quantum"
        if quantum > QUANTUM_MOST:
            self.said.refused(key, f"{quantum} bytes: {kind} takes {QUANTUM_MOST} at most")
        elif kind == "fq_codel" and quantum < LEAST_QUANTUM:
            self.said.approximated(
                key, f"{quantum} bytes as {LEAST_QUANTUM}, the least of fq_codel's"
            )
        else:
            self.said.exact(key, f"{quantum} bytes")
        return quantum

    def _fq_codel(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        quantum = self._quantum("fq_codel", params)
        self._truesize(limit)
        self.add(
            where,
            f"fq_codel limit {params['limit']} flows {params['flows']} quantum {quantum} "
            f"{self._aims(params)} memory_limit {limit}{self._threshold(params)} "
            f"drop_batch {params['batch']}",
        )
        for name in ("limit", "flows", "batch"):
            self.said.exact(f"{self.params}.{name}", f"{params[name]}")

    def _cake(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        """COBALT is inside of `cake`, which has it to itself with one tin and one flow."""
        interval, target = quantity.time(params["interval"]), quantity.time(params["target"])
        fixed = {"target": interval / 20, "increment": 1 / 256, "decrement": 1 / 4096}
        for key, value in fixed.items():
            has = target if key == "target" else float(params[key])
            if not math.isclose(has, value, rel_tol=1e-6):
                self.said.refused(
                    f"{self.params}.{key}",
                    f"{params[key]}: cake's is {'interval / 20' if key == 'target' else value}",
                )
                return
        if not params["ecn"] or "ce_threshold" in params:
            self.said.refused(f"{self.params}.ecn", "cake always marks, and has no ce_threshold")
            return
        rtt = self._time("interval", params["interval"], times.PLAIN)
        # tc has a twentieth in whole us, and at least one (tc/q_cake.c).
        times.rounded(
            self.said,
            f"{self.params}.target",
            time_ps(params["target"]),
            max(1, int(rtt.removesuffix("us")) // 20) * times.PS_PER_US,
            "tc takes a twentieth of rtt in whole us",
        )
        self._by_itself("COBALT")
        self.add(where, f"cake unlimited besteffort flowblind rtt {rtt} memlimit {limit}")
        self.said.approximated(
            self.name, "cobalt as cake without its shaper, tins and flows: one COBALT"
        )
        self._truesize(limit)
        self.said.approximated(
            f"{self.params}.blue_threshold",
            f"{params['blue_threshold']}: cake's probability rises where memory is full alone",
        )

    def _dualpi2(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        percent = 100 * float(params["classic_weight"])
        coupling = float(params["coupling"])
        for key, value in (("classic_weight", percent), ("coupling", coupling)):
            if not math.isclose(value, round(value), abs_tol=1e-9):
                self.said.refused(f"{self.params}.{key}", f"{params[key]}: tc has whole numbers")
                return
        in_packets = params["th_len"] and time_ps(params["step"]) == 0
        if params["th_len"] and not in_packets:
            self.said.refused(
                f"{self.params}.th_len",
                f"{params['th_len']}: Linux has a step in time or in packets: th_len = 0, or "
                'step = "0us"',
            )
            return
        least = f" min_qlen_step {params['min_qlen_step']}" if params["min_qlen_step"] else ""
        target = self._time("target", params["target"], times.PLAIN)
        update = self._time("t_update", params["t_update"], times.SHORT)
        if in_packets:
            step = f"{params['th_len']}p"
            self.said.exact(
                f"{self.params}.th_len", f"{params['th_len']} packets, tc's step_thresh"
            )
            self.said.exact(f"{self.params}.step", "0 us: the step is in packets")
        else:
            step = self._time("step", params["step"], times.SHORT)
        alpha, beta = (self._gain(name, float(params[name])) for name in ("alpha", "beta"))
        self.add(
            where,
            f"dualpi2 limit {self._packets(limit)} target {target} tupdate {update} "
            f"alpha {alpha} beta {beta} coupling_factor {round(coupling)} "
            f"step_thresh {step}{least} classic_protection {round(percent)} "
            f"{'drop_on_overload' if params['drop_overload'] else 'overflow'} drop_dequeue",
        )
        self._by_itself("dualpi2")
        self.said.approximated(
            self.name,
            "dualpi2 needs Linux 6.17 and iproute2 6.16; no script of it was run",
        )

    def _gain(self, name: str, gain: float) -> str:
        """A gain of dualpi2 in 256ths, nearest, in all its digits: tc cuts off what is less."""
        key = f"{self.params}.{name}"
        parts = parts_nearest(gain)
        if not 1 <= parts <= GAIN_MOST:
            self.said.refused(key, f"{gain:g}: dualpi2 takes 1/{PARTS} to {GAIN_MOST / PARTS:.10g}")
            return f"{gain:g}"
        text = f"{parts / PARTS!r}"
        has = gain_on_device(gain_parts(float(text)))
        if math.isclose(has, gain, rel_tol=1e-6):
            self.said.exact(key, f"{gain:g}")
        else:
            self.said.approximated(
                key, f"{gain:g} as {has:.6g}: tc has {PARTS}ths, and the kernel whole numbers"
            )
        return text

    def _pie(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        marks = self._pie_marks(float(params["ecn_up_to"]))
        self.add(where, f"pie limit {self._packets(limit)} {self._pie_keys(params)} {marks}")

    def _fq_pie(self, where: str, params: Mapping[str, Any], limit: int) -> None:
        quantum = self._quantum("fq_pie", params)
        self._truesize(limit)
        key, up_to = f"{self.params}.ecn_up_to", float(params["ecn_up_to"])
        percent = round(100 * up_to)
        if math.isclose(percent, 100 * up_to, abs_tol=1e-9):
            self.said.exact(key, f"{percent} %")
        else:
            self.said.approximated(key, f"{100 * up_to:g} % as {percent} %")
        self._by_itself("fq_pie")
        marks = f"ecn_prob {percent} ecn" if percent else "noecn"
        self.add(
            where,
            f"fq_pie limit {params['limit']} flows {params['flows']} quantum {quantum} "
            f"{self._pie_keys(params)} memory_limit {limit} {marks}",
        )
        for name in ("limit", "flows"):
            self.said.exact(f"{self.params}.{name}", f"{params[name]}")

    def _pie_keys(self, params: Mapping[str, Any]) -> str:
        """PIE's own parameters, for pie and fq_pie."""
        target = self._time("target", params["target"], times.PIE)
        key = self.params
        update = times.ticks(self.said, f"{key}.t_update", params.get("t_update", params["target"]))
        alpha, beta = (
            self._sixteenths(f"{key}.{name}", float(params[name])) for name in ("alpha", "beta")
        )
        burst_ps = time_ps(params["max_burst"])
        times.rounded(
            self.said,
            f"{key}.max_burst",
            burst_ps,
            time_ps(PIE_BURST),
            "the kernel has one for all",
        )
        if time_ps(params["target"]) != time_ps(PIE_STEP):
            self.said.approximated(
                f"{key}.target",
                "its step of 0.02 comes at a wait of 16.7 targets here, and of 250 ms in Linux",
            )
        if not params["derandomize"]:
            self.said.approximated(f"{key}.derandomize", "false as true, Linux's")
        return f"target {target} tupdate {update} alpha {alpha} beta {beta}"

    def _pie_marks(self, up_to: float) -> str:
        """ECN of pie, and what becomes of packets that cannot be marked."""
        key = f"{self.params}.ecn_up_to"
        if up_to == 0:
            self.said.exact(key, "0: noecn")
            self._by_itself("pie without ECN")
            return "noecn"
        if up_to == PIE_ECN_UP_TO:
            self.said.exact(key, f"{up_to:g}: ecn")
        else:
            self.said.approximated(key, f"{up_to:g} as {PIE_ECN_UP_TO}, Linux's")
        if self.drops:
            self.said.exact(self.unmarkable, "drop: ecn")
        else:
            self.said.refused(
                self.unmarkable, "pass: Linux's pie drops packets that are not ECN-capable: drop"
            )
        return "ecn"

    def _sixteenths(self, key: str, gain: float) -> int:
        """A gain of pie, of which tc takes 32 sixteenths at most, and sends no 0."""
        parts = min(PIE_MOST, round(16 * gain))
        if parts == 0:
            self.said.refused(key, f"{gain:g}: tc takes sixteenths, from 1/16 to {PIE_MOST / 16:g}")
        elif parts == 16 * gain:
            self.said.exact(key, f"{gain:g}")
        else:
            self.said.approximated(
                key,
                f"{gain:g} as {parts / 16:g}: tc has sixteenths, up to {PIE_MOST / 16:g}",
            )
        return parts
