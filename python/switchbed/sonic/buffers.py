"""A scenario's memory as buffer pools and profiles."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from switchbed import _native, asic, foreign, links, quantity
from switchbed._native import Mistake
from switchbed.queues import Says
from switchbed.sonic import watchdog
from switchbed.sonic.draft import Draft
from switchbed.sonic.memory import ALL_FREE

LEAST_POWER, MOST_POWER = -8, 7
"""Range of dynamic_th."""
EGRESS, INGRESS = "egress_lossy", "ingress_lossy"
GROUP_KEYS = ("headroom", "headroom_sizes", "reserve", "threshold", "alpha", "xon", "xon_offset")
"""Keys of `switch.pfc` that the profile of lossless groups has fields for."""


def _is_usual(key: str, value: object) -> bool:
    """Whether a key of `switch.pfc` has the value that it has where a file says nothing."""
    usual = json.loads(_native.schema())["properties"]["switch"]["properties"]["pfc"]["properties"]
    default = usual[key].get("default")
    if value is None or value == default:
        return True
    if key == "reserve":
        return quantity.size(value) == 0
    if default is None:
        return False
    for read in (quantity.size, quantity.time):
        try:
            return read(value) == read(default)
        except Mistake:
            continue
    return False


@dataclass(frozen=True)
class Bound:
    """Limit on the bytes that a queue may hold."""

    kind: str = ""
    """dynamic_th, static_th, or nothing: as the device has it."""
    value: str = ""
    reserve: str | None = None


class Writer:
    """Writes the memory of all queues."""

    def __init__(self, draft: Draft) -> None:
        self.draft, self.said = draft, draft.said
        self.device, self.switch = draft.device, draft.switch
        self.policy = str(self.switch["policy"])
        self.watched: set[str] = set()
        """Keys of `switch.pfc` that PFC_WD holds."""

    def write(self) -> None:
        """Pools, profiles, and which queues have them."""
        if self.device is None and "pfc" in self.switch:
            self.said.refused(
                "switch.pfc",
                "without the device's own file (NAME.sonic.json, as import sonic leaves it) the "
                "tables would name no lossless class: put it beside the scenario, under the "
                "scenario's name, or leave switch.pfc away and keep these tables from a switch "
                "that has it",
            )
            return
        self.watched = watchdog.write(self.draft)
        if self.draft.choices.instead.get("buffer") == "device":
            self.said.approximated(
                "switch.buffer", "the device's buffers stay as they are, as --instead chose"
            )
            self.draft.keep("BUFFER_")
            return
        if self.device is None:
            self._without_device()
            return
        before = len(self.said.refusals)
        bounds = {queue: self._bound(self.draft.says[queue]) for queue in self.device.buffers}
        if len(self.said.refusals) > before:
            self.draft.keep("BUFFER_")
            return
        self._holds(bounds)
        self._pools()
        self._groups()
        self._profiles(bounds)

    def _without_device(self) -> None:
        """Pools of the scenario's own, with every queue's bound."""
        if self.policy == "asic":
            self._chip()
            return
        before = len(self.said.refusals)
        bounds = {says.index: self._bound(says) for says in self.draft.says}
        if len(self.said.refusals) > before:
            return
        size = self._size()
        mode = "static" if self.policy == "static" else "dynamic"
        # An ingress pool that never refuses first, as lossy traffic's ships.
        for side, how in (("egress", mode), ("ingress", "static")):
            self.draft.row("BUFFER_POOL", f"{side}_lossy_pool").update(
                type=side, mode=how, size=str(size)
            )
        # A group that may have all of the pool.
        self.draft.row("BUFFER_PROFILE", f"{INGRESS}_profile").update(
            pool=f"{INGRESS}_pool", size="0", static_th=str(size)
        )
        for port in self.draft.ports:
            self.draft.row("BUFFER_PG", f"{port}|0")["profile"] = f"{INGRESS}_profile"
        kinds = list(dict.fromkeys(bounds.values()))
        for bound in kinds:
            queues = [queue for queue in bounds if bounds[queue] == bound]
            last = f"_{self.draft.sonic[queues[0]]}" if bound != kinds[0] else ""
            name = f"{EGRESS}_profile{last}"
            # A queue that may have all that is free is bounded by the pool.
            value = bound.value or str(size)
            self.draft.row("BUFFER_PROFILE", name).update(
                {"pool": f"{EGRESS}_pool", "size": bound.reserve or "0", bound.kind: value}
            )
            for queue in queues:
                for row in self.draft.each_queue("BUFFER_QUEUE", queue):
                    row["profile"] = name

    def _chip(self) -> None:
        """A chip's memory is its own; where another α would go is not known without its switch."""
        alphas = [says.alpha for says in self.draft.says if says.alpha is not None]
        if alphas:
            self.said.refused(
                "switch.alpha",
                f"{alphas[0]:g}: what profile it goes into is not known: import the switch's own "
                "configuration, or --instead buffer=device",
            )
            return
        for says in self.draft.says:
            for key, size in (("limit", says.limit), ("reserve", says.reserve)):
                if size is not None:
                    self.said.refused(
                        f"switch.queue.{says.index}.{key}",
                        f"{size} bytes: what profile it goes into is not known: import the "
                        "switch's own configuration, or --instead buffer=device",
                    )
        for key in ("pool", "egress_pool"):
            if self.switch.get(key):
                self.said.left_out(
                    f"switch.{key}",
                    f"{self.switch[key]}: what pool it is of is not known: the switch's stays",
                )
        name = self.switch.get("asic", "policy = asic")
        self.said.exact("switch.asic", f"{name}: its buffers stay as they are")

    # One queue.

    def _bound(self, says: Says) -> Bound:
        reserve = None if says.reserve is None else str(says.reserve)
        if self.policy == "static":
            share = quantity.size(self.switch["buffer"]) // self.draft.count
            self._once("switch.policy", f"static: {share} bytes a queue as static_th")
            if says.limit is not None:
                share = min(share, says.limit)
                self._once(f"switch.queue.{says.index}.limit", f"{share} bytes as static_th")
            # A profile's size is beside its static_th: a part of a static policy has none.
            return Bound("static_th", str(share), reserve or "0")
        if self.policy not in ("dynamic", "asic"):
            self._refuse_policy()
            return Bound()
        if says.limit is not None:
            if says.alpha is not None and says.alpha < ALL_FREE:
                self.said.refused(
                    f"switch.queue.{says.index}.limit",
                    f"{says.limit} bytes beside alpha = {says.alpha:g}: a profile has one of "
                    f"static_th and dynamic_th: alpha = {ALL_FREE:g}, or no limit",
                )
                return Bound()
            self._once(f"switch.queue.{says.index}.limit", f"{says.limit} bytes as static_th")
            # SAI counts a queue's reserve beside its threshold.
            return Bound("static_th", str(says.limit - (says.reserve or 0)), reserve)
        if says.alpha is None:
            return Bound(reserve=reserve)
        if says.alpha >= ALL_FREE:
            self._once("switch.alpha", f"{says.alpha:g}: whatever is free, as static_th")
            return Bound("static_th", "", reserve)
        power = self._power(says.alpha)
        return Bound("dynamic_th", str(power), reserve) if power is not None else Bound()

    def _power(self, alpha: float) -> int | None:
        """log₂ of α, or of what has its effect at the chip."""
        chip = self.switch.get("asic")
        if chip is not None:
            # The nearest by ratio, as α are powers of two.
            powers = asic.alphas(asic.named(str(chip)))
            power = min(powers, key=lambda n: abs(math.log2(powers[n] / alpha)))
            has = powers[power]
        else:
            # No power of two is 0: under the least, and refused.
            power = round(math.log2(alpha)) if alpha > 0 else LEAST_POWER - 1
            has = 2.0**power
        if not LEAST_POWER <= power <= MOST_POWER:
            self.said.refused(
                "switch.alpha",
                f"{alpha:g}: dynamic_th is from {LEAST_POWER} to {MOST_POWER}: alpha from "
                f"{2.0**LEAST_POWER:g} to {2.0**MOST_POWER:g}",
            )
            return None
        if math.isclose(has, alpha, rel_tol=1e-9):
            self._once("switch.alpha", f"{alpha:g} as dynamic_th = {power}")
        else:
            self.said.approximated(
                "switch.alpha",
                f"{alpha:g} as dynamic_th = {power}, {has:g}: {has / alpha:.4g} times as much",
            )
        return power

    def _once(self, key: str, text: str) -> None:
        if not any((each.key, each.text) == (key, text) for each in self.said.all):
            self.said.exact(key, text)

    def _refuse_policy(self) -> None:
        key, why = "switch.buffer", "a chip has no memory of a port's own"
        if self.switch.get("pool"):
            key, why = "switch.policy", "SONiC's profiles have parts that are fixed or follow alpha"
        if any(each.key == key for each in self.said.refusals):
            return
        self.said.refused(
            key,
            f"policy = {self.policy}: {why}: policy = dynamic with pool and alpha, or "
            "--instead buffer=device, which leaves the device's buffers as they are",
        )

    # The device's rows.

    def _size(self) -> int:
        """Bytes of the switch's pool."""
        if self.policy != "static":
            size = quantity.size(self.switch["pool"])
            self.said.exact("switch.pool", f"{size} bytes")
            return size
        each = quantity.size(self.switch["buffer"])
        count = max(len(self.draft.ports), links.most_ports(self.draft.scenario))
        self.said.exact(
            "switch.buffer", f"{each * count} bytes of a pool: {each} for each of {count} ports"
        )
        return each * count

    def _holds(self, bounds: Mapping[int, Bound]) -> None:
        """Say where the device's pool is less than all parts of a static policy."""
        assert self.device is not None
        if self.policy != "static":
            return
        needs: dict[str, int] = {}
        for queue, name in self.device.buffers.items():
            pool = self.draft.own("BUFFER_PROFILE", name)["pool"]
            needs[pool] = needs.get(pool, 0) + int(bounds[queue].value) * len(self.draft.ports)
        for pool, need in needs.items():
            size = self.draft.own("BUFFER_POOL", pool).get("size")
            if size is None or int(size) >= need:
                self.said.exact("switch.buffer", f"{pool} holds the parts of all queues")
            else:
                self.said.approximated(
                    "switch.buffer",
                    f"{pool} has {size} bytes for {len(self.draft.ports)} ports, whose queues may "
                    f"hold {need}: a full pool refuses before a queue has its part",
                )

    def _pools(self) -> None:
        assert self.device is not None
        # A device's pool may hold more than the scenario's: reserves, headroom.
        pfc = self.switch.get("pfc") or {}
        given = {key: self.switch.get(key) for key in ("pool", "egress_pool")}
        given["headroom_pool"] = pfc.get("headroom_pool")
        if self.policy != "asic" and given["pool"] and not given["egress_pool"]:
            given["egress_pool"] = given["pool"]  # all queues share one
            given["pool"] = None
        for key, (name, less) in self.device.pools.items():
            field = "xoff" if key == "headroom_pool" else "size"
            row = self.draft.made["BUFFER_POOL"][name]
            text = given[key]
            if text is None:
                row[field] = self.device.tables["BUFFER_POOL"][name][field]
                continue
            size = quantity.size(text) + less
            row[field] = str(size)
            where = "switch.pfc.headroom_pool" if key == "headroom_pool" else f"switch.{key}"
            self.said.exact(where, f"{size} bytes of {name}")

    def _groups(self) -> None:
        """Lossless groups: their profile, and which classes they are."""
        assert self.device is not None
        pfc = self.switch.get("pfc") or {}
        classes = sorted(pfc.get("priorities", []))
        if classes != self.device.classes:
            self.said.refused(
                "switch.pfc.priorities",
                f"{classes} is not the device's {self.device.classes}: which groups are lossless "
                "is set there: change PORT_QOS_MAP's pfc_enable, and import anew",
            )
        name = self.device.groups
        written = {"priorities", *self.device.pools}
        if name is not None:
            written |= self._group(name, pfc)
        written |= self.watched | self._rooms(pfc)
        self._unwritten(pfc, written)

    def _rooms(self, pfc: Mapping[str, Any]) -> set[str]:
        """Headroom by links; the keys of `switch.pfc` that say it."""
        assert self.device is not None
        names = self.device.rooms
        sizes = [quantity.size(text) for text in pfc.get("headroom_sizes") or []]
        if not names:
            return set()
        where = "switch.pfc.headroom_sizes"
        if sizes and len(sizes) != len(names):
            which = ", ".join(map(foreign.name, names))
            self.said.refused(where, f"one for each of the device's is needed: {which}")
        elif len({*zip(names, sizes, strict=False)}) > len({*names}):
            self.said.refused(where, "is given twice for one profile of the device")
        for nth, name in enumerate(names):
            own = self.device.tables["BUFFER_PROFILE"][name]["xoff"]
            row = self.draft.made["BUFFER_PROFILE"][name]
            row["xoff"] = str(sizes[nth]) if nth < len(sizes) else own
        if sizes:
            self.said.exact(where, f"xoff of {', '.join(map(foreign.name, dict.fromkeys(names)))}")
        return {"headroom_rates", "headroom_delays", "headroom_sizes"}

    def _group(self, name: str, pfc: Mapping[str, Any]) -> set[str]:
        """The profile of lossless groups; the keys of `switch.pfc` that it holds."""
        assert self.device is not None
        written = set()
        row = self.draft.made["BUFFER_PROFILE"][name]
        sizes = {"xoff": "headroom", "size": "reserve", "static_th": "threshold"}
        for field, own in self.device.tables["BUFFER_PROFILE"][name].items():
            if not self.device.says("BUFFER_PROFILE", name, field):
                continue
            key = "alpha" if field == "dynamic_th" else sizes.get(field, field)
            written.add(key)
            value = pfc.get(key)
            if value is None:
                row[field] = own
            # SAI has 2 to a whole power.
            elif field == "dynamic_th":
                power = round(math.log2(float(value)))
                row[field] = str(power)
                text = f"{value:g} as dynamic_th = {power}"
                (self.said.exact if 2.0**power == value else self.said.approximated)(
                    "switch.pfc.alpha", text
                )
            else:
                row[field] = str(quantity.size(value))
        self.said.exact("switch.pfc", f"{name}, of lossless groups")
        return written

    def _unwritten(self, pfc: Mapping[str, Any], written: set[str]) -> None:
        """Says which keys that a scenario gives no row of the device holds."""
        assert self.device is not None
        name = self.device.groups
        where = (
            "the switch makes the profile of lossless groups itself, of its pg_profile_lookup.ini: "
            "change it there"
            if name is None
            else f"{name} has no such field: add it there, and import anew"
        )
        for key, value in pfc.items():
            if key in written or _is_usual(key, value):
                continue
            if key in GROUP_KEYS:
                self.said.refused(f"switch.pfc.{key}", f"{value}: {where}")
            else:
                self.said.left_out(
                    f"switch.pfc.{key}", f"{value}: is not in these tables: the device's stays"
                )

    def _profiles(self, bounds: dict[int, Bound]) -> None:
        assert self.device is not None
        owned = self.device.buffers
        names = dict(owned)
        for queue, name in owned.items():
            own = self.draft.own("BUFFER_PROFILE", name)
            if not bounds[queue].value and "dynamic_th" not in own:
                # Without a value nothing has to be said of the device's own kind.
                bounds[queue] = replace(bounds[queue], kind="")  # whatever is free, as it has it
            kind = bounds[queue].kind
            if kind and kind not in own:
                # A profile's kind of threshold cannot be changed: another name.
                other = f"{name}_{kind.removesuffix('_th')}"
                self.draft.row("BUFFER_PROFILE", other).update(own)
                names[queue] = other
                for row in self.draft.each_queue("BUFFER_QUEUE", queue):
                    row["profile"] = other
                self._put(self.draft.made["BUFFER_PROFILE"][name], Bound(), name)

        def put(row: dict[str, str], bound: Bound, name: str) -> None:
            # Of a name made above, the profile that it came from.
            origin = next(owned[q] for q in names if names[q] == name)
            self._put(row, bound, origin)

        self.draft.fill("BUFFER_PROFILE", names, bounds, put, ("BUFFER_QUEUE", "profile"))

    def _put(self, row: dict[str, str], bound: Bound, origin: str) -> None:
        own = self.draft.own("BUFFER_PROFILE", origin)
        row["size"] = bound.reserve if bound.reserve is not None else own["size"]
        kind = bound.kind or ("dynamic_th" if "dynamic_th" in own else "static_th")
        value = bound.value
        if not value and kind in own:
            value = own[kind]
        if not value and bound.kind:
            value = self.draft.own("BUFFER_POOL", own["pool"]).get("size", "")
        # Exactly one of the two may be there (sonic-buffer-profile.yang).
        for other in ("dynamic_th", "static_th"):
            row.pop(other, None)
        if value:
            row[kind] = value
