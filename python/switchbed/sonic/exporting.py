"""A scenario as SONiC's QoS and buffer tables: docs/sonic.md has the mapping, line by line."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from switchbed import asic, links, quantity
from switchbed.sonic.device import Device
from switchbed.sonic.finding import Findings
from switchbed.sonic.schema import INT_MAX
from switchbed.sonic.tidy import Tables
from switchbed.sonic.weights import LEAST_SHARE, WARN, weights, worst

SHIPPED_QUEUES, MOST_QUEUES = 8, 10
LEAST_POWER, MOST_POWER = -8, 7
"""Of dynamic_th."""
NAME = "SWITCHBED"
EGRESS, INGRESS = "egress_lossy", "ingress_lossy"

NEAREST = {
    "mq-ecn": ("per-queue-min", "threshold"),
    "per-port": ("per-queue-min", "threshold"),
    "per-pool": ("per-queue-min", "threshold"),
    "e-ecn": ("per-queue", "threshold"),
    "cedm": ("per-queue", "k1"),
}
"""The static scheme next to one that switches lack, and the parameter that is its threshold."""
WHY = {
    "mq-ecn": "its threshold follows the round time, which no table holds",
    "per-port": "WRED is a queue's: no table counts a port's queues together",
    "per-pool": "WRED is a queue's: no table counts a pool's queues together",
    "cqrd-configured": "one queue an input is no classifier of SONiC's",
}


@dataclass(frozen=True)
class Choices:
    """What the user accepts or asks for."""

    ports: Sequence[str] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    """`scheme`: a static scheme in place of one that the switch lacks; `buffer`: `device`, which
    leaves the device's buffers as they are."""
    ramp: int = 0
    """A threshold's WRED ends so many bytes above where it begins."""
    nvidia: bool = False
    """Whose chip: `wred_green_enable` = false marks there, and does nothing elsewhere."""
    cell: int = 1


@dataclass
class _Wred:
    low: int
    high: int
    chance: int | None
    """Percent; `None`: a step, whose chance says nothing."""
    enable: bool
    shares: Sequence[float] | None = None
    """A profile a queue, of these parts of the threshold."""


def export(
    scenario: Mapping[str, Any], choices: Choices, device: Device | None = None
) -> tuple[Tables, Findings]:
    """The tables of a resolved scenario; with `device` these as its own, by its own names."""
    return _Export(scenario, choices, device).tables()


def of_chip(choices: Choices, name: str) -> Choices:
    """What the scenario's chip says of itself."""
    cell = int(asic.named(name)["cell_bytes"])
    return replace(choices, cell=cell, nvidia=choices.nvidia or name.startswith("spectrum"))


class _Export:
    def __init__(
        self, scenario: Mapping[str, Any], choices: Choices, device: Device | None
    ) -> None:
        self.switch: Mapping[str, Any] = scenario["switch"]
        if "asic" in self.switch:
            choices = of_chip(choices, str(self.switch["asic"]))
        self.scenario, self.choices, self.device = scenario, choices, device
        self.said = Findings()
        self.made: Tables = {} if device is None else device.rest
        self.mtu = quantity.size(scenario["host"]["mtu"])
        self.count = int(self.switch["queues"])
        self.strict = int(self.switch["strict"])
        own = device.ports if device is not None else ["Ethernet0"]
        self.ports = list(choices.ports) or own

    def tables(self) -> tuple[Tables, Findings]:
        for index, other in enumerate(self.scenario.get("deploy", [])):
            if self._deployed(other):
                continue
            self.said.refused(
                f"deploy.{index}",
                f"{other['switches']}: a fragment is one switch's: export without it, and the "
                "other switches from a scenario of their own",
            )
        queues = self._queues()
        if queues is not None:
            self._classes(queues)
            self._schedulers(queues)
            self._marking(queues)
            self._buffers(queues)
        return {name: rows for name, rows in self.made.items() if rows}, self.said

    def _deployed(self, other: Mapping[str, Any]) -> bool:
        """Whether it is ports of the device that differ in WRED, whose profile it then fills."""
        known = self.device.others if self.device is not None else {}
        leaves, scheme = other["switches"], other.get("scheme")
        if len(leaves) != 1 or leaves[0] not in known or scheme is None or "memory" in other:
            return False
        name = known[leaves[0]]
        if name is None:
            return bool(scheme["name"] == "none")
        part = _Export({**self.scenario, "scheme": scheme}, self.choices, self.device)
        wred = part._wred()
        self.said.all += part.said.all
        if wred is None or wred.shares is not None or self.device is None:
            return False
        known_rows = self.device.tables["WRED_PROFILE"]
        own = known_rows[name]
        self._fill(self.made["WRED_PROFILE"][name], wred, own)
        return True

    def row(self, table: str, key: str) -> dict[str, str]:
        """To be filled in."""
        return self.made.setdefault(table, {}).setdefault(key, {})

    # Queues and classes.

    def _queues(self) -> list[int] | None:
        """SONiC's index of each queue."""
        if self.device is not None and len(self.device.queues) == self.count:
            return list(self.device.queues)
        if self.device is not None:
            self.said.refused(
                "switch.queues",
                f"the device's ports have {len(self.device.queues)} queues and the scenario "
                f"{self.count}: import the device's configuration anew, or export without it",
            )
            return None
        if self.count > MOST_QUEUES:
            self.said.refused(
                "switch.queues",
                f"{self.count} queues: SONiC's maps end at queue {MOST_QUEUES - 1}: at most "
                f"{MOST_QUEUES}",
            )
            return None
        if self.count > SHIPPED_QUEUES:
            self.said.approximated(
                "switch.queues",
                f"{self.count} queues: every switch that SONiC ships for has {SHIPPED_QUEUES}",
            )
        else:
            self.said.exact("switch.queues", f"{self.count}")
        last = self.count - 1
        found = [last - i if i < self.strict else i - self.strict for i in range(self.count)]
        if self.strict:
            order = ", ".join(f"{i} is {q}" for i, q in enumerate(found))
            self.said.exact(
                "switch.strict",
                "among SONiC's strict queues the highest index goes first, so indices turn "
                f"round (the scenario's {order})",
            )
        return found

    def _classes(self, queues: Sequence[int]) -> None:
        """Every DSCP has its class, and every class its queue."""
        how = self.switch["classify"]
        if how not in ("class", "single") and self.count > 1:
            self.said.refused(
                "switch.classify",
                f"{how}: SONiC queues packets by DSCP alone: classify = class would do",
            )
            return
        if self.device is not None:
            self.said.exact("switch.classify", "the device's maps stay as they are")
            return
        single = how == "single"
        for dscp in range(64):
            tc = 0 if single else dscp % self.count
            self.row("DSCP_TO_TC_MAP", NAME)[str(dscp)] = str(tc)
        for tc, queue in enumerate(queues):
            self.row("TC_TO_QUEUE_MAP", NAME)[str(tc)] = str(queue)
        for port in self.ports:
            self.row("PORT_QOS_MAP", port).update(dscp_to_tc_map=NAME, tc_to_queue_map=NAME)
        self.said.exact(
            "switch.classify", f"{how}: all 64 DSCPs, by class modulo {self.count} queues"
        )

    # Scheduling.

    def _schedulers(self, queues: Sequence[int]) -> None:
        discipline = self.switch["discipline"]
        if discipline == "fifo" and self.count - self.strict > 1:
            self.said.refused(
                "switch.discipline",
                "fifo over several queues: SONiC has none: queues = 1, or dwrr",
            )
            return
        quanta = self._quanta()
        free = quanta[self.strict :]
        if discipline in ("round-robin", "fifo"):
            free = [1] * len(free)
        made = weights(free)
        total, sum_made = sum(free), sum(made)
        shares = [q / total for q in free]
        if min(shares) < LEAST_SHARE:
            self.said.refused(
                "switch.quantum",
                f"a share of {100 * min(shares):.2g} % is less than weights of 1 to 100 can give "
                f"({100 * LEAST_SHARE:g} %): raise the least quantum",
            )
            return
        off = worst(shares, made)
        parts = ", ".join(
            f"{100 * share:.4g} % as {w} ({100 * w / sum_made:.4g} %)"
            for share, w in zip(shares, made, strict=True)
        )
        if off > 1e-9:
            warn = ": over a hundredth of a share" if off > WARN else ""
            self.said.approximated(
                "switch.quantum", f"{parts}; a share is off by up to {100 * off:.2g} % of it{warn}"
            )
        elif len(free) > 1:
            self.said.exact("switch.quantum", parts)
        if discipline in ("wfq", "round-robin") and len(free) > 1:
            self.said.approximated(
                "switch.discipline",
                f"{discipline} as DWRR: the same shares, in rounds of the chip's length",
            )
        elif len(free) > 1:
            self.said.exact("switch.discipline", f"{discipline} as DWRR; a round is the chip's")
        for place, queue in enumerate(queues):
            strict = place < self.strict or self._lowest(queue)
            self._scheduler(queue, None if strict else made[place - self.strict])

    def _lowest(self, queue: int) -> bool:
        """It is the last of queues that are all strict, which a scenario cannot say."""
        if self.device is None or self.count - self.strict != 1:
            return False
        known = self.device.schedulers.get(queue)
        return known is not None and self.made["SCHEDULER"][known].get("type") == "STRICT"

    def _scheduler(self, queue: int, weight: int | None) -> None:
        """A queue's, by the device's name if that says the same of all that have it."""
        name = f"{NAME}_STRICT" if weight is None else f"{NAME}_{weight}"
        device = self.device
        if device is not None:
            known = device.schedulers.get(queue)
            if known is None and weight == 1:
                return  # as the device has it: by default
            if known is not None:
                row = self.made["SCHEDULER"][known]
                said = ("SCHEDULER", known, "type") in device.modelled  # then it was DWRR
                strict = not said and row.get("type") == "STRICT"
                free = row.get("weight", str(weight)) == str(weight)
                if strict and weight is None:
                    return
                if not strict and weight is not None and free:
                    row["weight"] = str(weight)
                    if said:
                        row["type"] = "DWRR"
                    return
                name = f"{known}_q{queue}"
        row = self.row("SCHEDULER", name)
        row.update(
            {"type": "STRICT"} if weight is None else {"type": "DWRR", "weight": str(weight)}
        )
        for port in self.ports:
            self.row("QUEUE", f"{port}|{queue}")["scheduler"] = name

    def _quanta(self) -> list[int]:
        given = self.switch["quantum"]
        each = given if isinstance(given, list) else [given] * self.count
        return [quantity.size(text) for text in each]

    # Marking.

    def _marking(self, queues: Sequence[int]) -> None:
        wred = self._wred()
        device = self.device
        if wred is None:
            if device is not None and device.wred is not None:
                self._unmark(device.marked)
            return
        for low, high in [(wred.low, wred.high)]:
            if high > INT_MAX:
                self.said.refused(
                    "scheme.params", f"{high} bytes: SONiC's daemon reads up to {INT_MAX}"
                )
                return
            if self.choices.cell > 1 and (low % self.choices.cell or high % self.choices.cell):
                self.said.approximated(
                    "scheme.params",
                    f"the chip counts cells of {self.choices.cell} bytes: {low} bytes are "
                    f"{low / self.choices.cell:.2f} cells",
                )
        if wred.shares is not None:
            for queue, share in zip(queues, wred.shares, strict=True):
                k = round(wred.low * share)
                part = _Wred(k, k + self.choices.ramp, None, wred.enable)
                self._profile(f"{NAME}_{queue}", part, [queue])
            return
        if device is not None and device.wred is not None:
            for name in (device.wred, *device.alike):
                own = device.tables["WRED_PROFILE"][name]
                self._fill(self.made["WRED_PROFILE"][name], wred, own)
            return
        self._profile(NAME, wred, device.marked or queues if device else queues)

    def _wred(self) -> _Wred | None:
        """The scheme as WRED, if it can be one."""
        name, params = self.scenario["scheme"]["name"], dict(self.scenario["scheme"]["params"])
        other = self.choices.instead.get("scheme")
        if name in NEAREST and other == NEAREST[name][0]:
            key = NEAREST[name][1]
            self.said.approximated(
                "scheme.name",
                f"{name} as {other} with its {key}, {params[key]}: static, as --instead chose",
            )
            name, params = str(other), {"threshold": params[key]}
        enable = self._enable()
        if name == "none":
            self.said.exact("scheme.name", "none: no WRED")
            return None
        if name in ("per-queue", "per-queue-min", "per-queue-dq"):
            return self._step(name, params, enable=enable)
        if name == "red":
            return self._ramp(params, enable=enable)
        hint = ""
        if name in NEAREST:
            hint = f"; the nearest is --instead scheme={NEAREST[name][0]}"
        why = WHY.get(name, "no such state is in SONiC's tables, which have a ramp a queue (WRED)")
        self.said.refused("scheme.name", f"{name}: {why}{hint}")
        return None

    def _enable(self) -> bool:
        """Whether what cannot be marked is dropped."""
        drops = bool(self.switch["unmarkable"] == "drop")
        if self.scenario["scheme"]["name"] == "none":
            return True
        if drops:
            self.said.exact(
                "switch.unmarkable",
                "drop: wred_green_enable = true. ACKs and SYNs that are not ECN-capable are "
                "dropped where data is marked",
            )
        elif self.choices.nvidia or (self.device is not None and self.device.nvidia):
            self.said.exact("switch.unmarkable", "pass: wred_green_enable = false, as Nvidia ships")
        else:
            self.said.refused(
                "switch.unmarkable",
                "pass: wred_green_enable = false marks on Nvidia's chips (--vendor nvidia) and "
                "does nothing on others: drop, with ACKs in a class without WRED",
            )
        return drops

    def _step(self, name: str, params: Mapping[str, Any], *, enable: bool) -> _Wred:
        k = quantity.size(params["threshold"], self.mtu)
        dequeue = name == "per-queue-dq" or params.get("mark_at") == "dequeue"
        if dequeue:
            self.said.approximated(
                "scheme.params.mark_at",
                "whether a chip looks as a packet comes or leaves is the chip's: no table says it",
            )
        shares = None
        if name == "per-queue-min":
            quanta = self._quanta()
            shares = [q / sum(quanta) for q in quanta]
        ramp = self.choices.ramp
        if ramp:
            self.said.approximated(
                "scheme.params.threshold", f"{k} bytes as a ramp from {k} to {k + ramp}"
            )
        else:
            each = "" if shares is None else ", a profile a queue by its quantum's share"
            self.said.exact(
                "scheme.params.threshold",
                f"{k} bytes as min = max, probability 100{each} (whether a chip takes min = max as "
                "a step is to be tried; --ramp CELL makes a ramp of it)",
            )
        return _Wred(k, k + ramp, None, enable, shares)

    def _ramp(self, params: Mapping[str, Any], *, enable: bool) -> _Wred | None:
        high = quantity.size(params["kmax"], self.mtu)
        low = quantity.size(params["kmin"], self.mtu) if "kmin" in params else high // 2
        if "rate" in params:
            speeds = links.rates(self.scenario["topology"])
            if len(speeds) > 1:
                self.said.refused(
                    "scheme.params.rate",
                    f"{params['rate']}: lines differ, and thresholds with them: kmin and kmax of "
                    "one speed, without rate and curve",
                )
                return None
            share = speeds.pop() / quantity.rate(params["rate"])
            low, high = round(low * share), round(high * share)
        percent = 100 * float(params["pmax"])
        end = self._beyond_memory()
        if end is not None and low < high < end:
            percent, high = percent * (end - low) / (high - low), end
        if abs(percent - round(percent)) > 1e-6:
            self.said.refused(
                "scheme.params.pmax",
                f"{params['pmax']:g} is no whole percent: {max(1, round(percent)) / 100:g} "
                "would do",
            )
            return None
        if float(params["weight"]) != 1:
            self.said.refused(
                "scheme.params.weight",
                f"{params['weight']:g}: SONiC always compares the present length: weight = 1",
            )
            return None
        if params["gentle"]:
            self.said.refused(
                "scheme.params.gentle", "true: above max everything is marked: gentle = false"
            )
            return None
        self.said.exact("scheme.params", f"{low} to {high} bytes, {round(percent)} %")
        if params["spacing"] != "geometric":
            self.said.approximated(
                "scheme.params.spacing",
                f"{params['spacing']}: chips draw for each packet by itself (geometric)",
            )
        return _Wred(low, high, round(percent), enable)

    def _beyond_memory(self) -> int | None:
        """Where the device's ramp ends, if that is above its memory: a scenario ends there."""
        device = self.device
        if device is None or device.wred is None:
            return None
        if ("WRED_PROFILE", device.wred, "green_max_threshold") in device.modelled:
            return None
        end = device.tables["WRED_PROFILE"][device.wred].get("green_max_threshold")
        return None if end is None else int(end)

    def _fill(
        self, row: dict[str, str], wred: _Wred, own: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`own`: the row as the device has it, whose missing chance means 100."""
        row["green_min_threshold"], row["green_max_threshold"] = str(wred.low), str(wred.high)
        if wred.chance is not None:
            row["green_drop_probability"] = str(wred.chance)
        chance = row.setdefault("green_drop_probability", "100")
        if own and "green_drop_probability" not in own and chance == "100":
            del row["green_drop_probability"]
        row["wred_green_enable"] = "true" if wred.enable else "false"
        row.setdefault("ecn", "ecn_all")

    def _profile(self, name: str, wred: _Wred, queues: Sequence[int]) -> None:
        """A new one; yellow and red are green's copies, as they ship."""
        row = self.row("WRED_PROFILE", name)
        self._fill(row, wred)
        for colour in ("yellow", "red"):
            for part in ("min_threshold", "max_threshold", "drop_probability"):
                row[f"{colour}_{part}"] = row[f"green_{part}"]
            row[f"wred_{colour}_enable"] = row["wred_green_enable"]
        for port in self.ports:
            for queue in queues:
                self.row("QUEUE", f"{port}|{queue}")["wred_profile"] = name

    def _unmark(self, queues: Sequence[int]) -> None:
        for port in self.ports:
            for queue in queues:
                self.row("QUEUE", f"{port}|{queue}").pop("wred_profile", None)

    # Buffers.

    def _buffers(self, queues: Sequence[int]) -> None:
        policy = self.switch["policy"]
        if "pfc" in self.switch:
            self.said.refused(
                "switch.pfc",
                "tables of lossless groups and headroom are not written yet: leave switch.pfc "
                "away, and the device's stay as they are",
            )
            return
        if self.choices.instead.get("buffer") == "device":
            self.said.approximated(
                "switch.buffer", "the device's buffers stay as they are, as --instead chose"
            )
            self._keep_buffers()
            return
        if policy == "asic":
            self._chip(str(self.switch["asic"]), self.switch.get("alpha"))
            return
        if self.device is not None and self.device.profile is None:
            self.said.exact("switch.buffer", "the device's buffers stay as they are")
            return
        if policy == "dynamic":
            self._dynamic(queues)
        elif policy == "static":
            share = quantity.size(self.switch["buffer"]) // self.count
            self._threshold(queues, "static", {"static_th": str(share)}, self._pool_size())
            self.said.exact("switch.policy", f"static: {share} bytes a queue as static_th")
        elif self.device is not None and policy == "shared":
            size = quantity.size(self.switch["buffer"])
            self._threshold(queues, "static", {"static_th": str(size)}, size)
            self.said.exact("switch.policy", f"shared: a queue may fill the pool, {size} bytes")
        else:
            self.said.refused(
                "switch.buffer",
                f"policy = {policy}: a chip has no memory of a port's own: policy = dynamic with "
                "pool and alpha, or --instead buffer=device, which leaves the device's buffers "
                "as they are",
            )

    def _keep_buffers(self) -> None:
        """As the device has them, what the scenario says of them included."""
        if self.device is not None:
            for table, row, name in self.device.modelled:
                if table.startswith("BUFFER_"):
                    self.made[table][row][name] = self.device.tables[table][row][name]

    def _chip(self, chip: str, alpha: float | None) -> None:
        """Its memory is its own; α may be another than it ships with."""
        if alpha is None:
            self.said.exact("switch.asic", f"{chip}: its buffers stay as they are")
            self._keep_buffers()
            return
        self._keep_buffers()
        known = self.device.profile if self.device is not None else None
        row = self.made["BUFFER_PROFILE"][known] if known is not None else {}
        original = self.device.tables["BUFFER_PROFILE"][known] if self.device and known else {}
        if "dynamic_th" not in original:
            self.said.refused(
                "switch.alpha",
                f"{alpha:g}: what profile of {chip}'s it goes into is not known: import the "
                "switch's own configuration, or --instead buffer=device",
            )
            return
        powers = asic.alphas(asic.named(chip))
        power = min(powers, key=lambda n: abs(math.log2(powers[n] / alpha)))
        row["dynamic_th"] = str(power)
        has = powers[power]
        if math.isclose(has, alpha, rel_tol=1e-9):
            self.said.exact("switch.alpha", f"{alpha:g} as dynamic_th = {power}")
        else:
            self.said.approximated(
                "switch.alpha", f"{alpha:g} as dynamic_th = {power}, which is {has:g}"
            )

    def _dynamic(self, queues: Sequence[int]) -> None:
        alpha = float(self.switch["alpha"])
        power = round(math.log2(alpha)) if alpha > 0 else LEAST_POWER - 1
        if not LEAST_POWER <= power <= MOST_POWER:
            self.said.refused(
                "switch.alpha",
                f"{alpha:g}: dynamic_th is from {LEAST_POWER} to {MOST_POWER}: alpha from "
                f"{2.0**LEAST_POWER:g} to {2.0**MOST_POWER:g}",
            )
            return
        if 2.0**power == alpha:
            self.said.exact("switch.alpha", f"{alpha:g} as dynamic_th = {power}")
        else:
            self.said.approximated(
                "switch.alpha",
                f"{alpha:g} as 2^{power} = {2.0**power:g}, {2.0**power / alpha:.3g} times as much",
            )
        size = self._pool_size()
        self.said.exact("switch.pool", f"{size} bytes")
        self._threshold(queues, "dynamic", {"dynamic_th": str(power)}, size)

    def _pool_size(self) -> int:
        given = self.switch.get("pool") or self.switch["buffer"]
        return quantity.size(given)

    def _threshold(
        self, queues: Sequence[int], mode: str, threshold: Mapping[str, str], size: int
    ) -> None:
        device = self.device
        if device is None or device.profile is None:
            self._new_buffers(queues, mode, threshold, size)
            return
        original = device.tables["BUFFER_PROFILE"][device.profile]
        pool = original["pool"]
        kind = "dynamic_th" if mode == "dynamic" else "static_th"
        row = self.made["BUFFER_PROFILE"][device.profile]
        pool_row = self.made["BUFFER_POOL"][pool]
        if ("BUFFER_POOL", pool, "size") in device.modelled:
            pool_row["size"] = str(size)
        if kind in original:
            kept = row.get("static_th")  # a queue may have had more than all of the pool
            if kept is None or int(kept) < size or kind != "static_th":
                row.update(threshold)
            return
        # A profile's kind of threshold cannot be changed: another name.
        name = f"{device.profile}_{mode}"
        row.update({k: original[k] for k in ("dynamic_th", "static_th") if k in original})
        plain = {k: v for k, v in original.items() if k not in ("dynamic_th", "static_th")}
        self.row("BUFFER_PROFILE", name).update(plain | dict(threshold))
        for port in self.ports:
            for queue in device.buffered:
                self.row("BUFFER_QUEUE", f"{port}|{queue}")["profile"] = name

    def _new_buffers(
        self, queues: Sequence[int], mode: str, threshold: Mapping[str, str], size: int
    ) -> None:
        """An egress pool with the scenario's thresholds, and an ingress one that never refuses
        first, as lossy traffic's ships."""
        for side, how in (("egress", mode), ("ingress", "static")):
            self.row("BUFFER_POOL", f"{side}_lossy_pool").update(
                type=side, mode=how, size=str(size)
            )
        self.row("BUFFER_PROFILE", f"{EGRESS}_profile").update(
            {"pool": f"{EGRESS}_pool", "size": "0"} | dict(threshold)
        )
        self.row("BUFFER_PROFILE", f"{INGRESS}_profile").update(
            pool=f"{INGRESS}_pool", size="0", static_th=str(size)
        )
        for port in self.ports:
            self.row("BUFFER_PG", f"{port}|0")["profile"] = f"{INGRESS}_profile"
            for queue in queues:
                self.row("BUFFER_QUEUE", f"{port}|{queue}")["profile"] = f"{EGRESS}_profile"
