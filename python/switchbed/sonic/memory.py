"""Buffer pools and profiles as `[switch]`'s memory: a chip's, or one without cells."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from switchbed import asic, foreign, headroom, quantity
from switchbed._native import Mistake
from switchbed.sonic import unread, watchdog
from switchbed.sonic.device import Device
from switchbed.sonic.normalised import LOSSLESS_POOL
from switchbed.sonic.reading import PACKET, UNKNOWN_METRES, Queue, Reading, listed
from switchbed.sonic.schema import dynamic

ALL_FREE = 1000.0
"""alpha of a queue that no threshold follows: the largest."""
LISTS = ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")
MOST_POOL = 10**12
"""Bytes of a scenario's memory."""


@dataclass
class Pfc:
    """Lossless classes as the ports have them."""

    classes: Sequence[int] = ()
    profile: str | None = None
    """The profile of most of their groups, where the configuration has it."""
    pool: str | None = None
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Groups that have another profile, by its name."""
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """All groups, by the name of their profile, empty where there is none."""


@dataclass
class Memory:
    """Keys of `[switch]` and of its queues."""

    switch: dict[str, Any] = field(default_factory=dict)
    pfc: dict[str, Any] = field(default_factory=dict)
    queues: dict[int, dict[str, Any]] = field(default_factory=dict)
    limit: int | None = None
    """The most bytes that thresholds may be at."""
    lossless: dict[int, int] = field(default_factory=dict)
    """The same of lossless queues."""
    chip: Mapping[str, Any] | None = None


def chip_of(reading: Reading) -> Mapping[str, Any] | None:
    """The chip of the device, if a table tells."""
    about = reading.about
    names = [str(about.get(key, "")) for key in ("platform", "hwsku")]
    found = asic.of_switch(names)
    if found is None:
        device = ", ".join(foreign.name(name) for name in names if name)
        reading.said.approximated(
            "switch.asic",
            (f"no chip is known for {device}" if device else "DEVICE_METADATA names no device")
            + ": memory without cells, partitions and a chip's reserves",
        )
        return None
    reading.said.exact("switch.asic", f"{found['name']}, by DEVICE_METADATA")
    return found


class Buffers:
    """The memory of ports that are alike."""

    def __init__(
        self, reading: Reading, ports: Sequence[str], queues: Sequence[Queue], pool: int | None
    ) -> None:
        self.reading, self.said = reading, reading.said
        self.ports, self.queues, self.given = ports, queues, pool
        self.chip = chip_of(reading)
        self.shared: list[str] = []
        """Pools that the scenario has."""
        self.pools = reading.full.get("BUFFER_POOL", {})
        self.profiles = reading.full.get("BUFFER_PROFILE", {})

    def memory(self, device: Device) -> Memory:
        """Write all of it; `device` records the fields that the scenario says."""
        found = Memory(chip=self.chip)
        if self.chip is not None:
            found.switch["asic"] = self.chip["name"]
        else:
            found.switch["policy"] = "asic"
        pfc = self._lossless()
        lossy = [queue for queue in self.queues if queue.index not in pfc.classes]
        egress = self._egress(lossy)
        self._pools(found, pfc, egress, device)
        if pfc.classes:
            self._groups(found, pfc, device)
        self._queues(found, lossy, egress, device)
        self._left_out(pfc)
        return found

    # Lossless classes.

    def _lossless(self) -> Pfc:
        """The classes that the ports' neighbours are paused for."""
        row = self.reading.of_port(self.ports[0])
        enabled = [int(each) for each in row.get("pfc_enable", "").split(",") if each]
        if not enabled:
            return Pfc()
        to_queue = self._map("MAP_PFC_PRIORITY_TO_QUEUE", row.get("pfc_to_queue_map"))
        to_group = self._map("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", row.get("pfc_to_pg_map"))
        of_class = self._map("TC_TO_PRIORITY_GROUP_MAP", row.get("tc_to_pg_map"))
        for priority in enabled:
            # Without a map of its own a priority pauses for the group of its traffic class. A
            # switch makes headroom for groups of the priorities' own numbers.
            found = of_class.get(priority, priority)
            if self._lossless_group(found) and not self._lossless_group(priority):
                to_group.setdefault(priority, found)
        classes: list[int] = []
        groups: dict[str, list[str]] = {}
        for priority in enabled:
            # Without a map a priority is its own queue's and group's.
            queue, group = to_queue.get(priority, priority), to_group.get(priority, priority)
            where = f"PORT_QOS_MAP|{foreign.name(self.ports[0])}|pfc_enable"
            of = {port: self._group(port, group) for port in self.ports}
            names = set(of.values())
            made = [name for name in names if name and self._has_headroom(name)]
            if not made and names != {None}:
                other = foreign.name(str(next(name for name in names if name)))
                self.said.left_out(
                    where, f"{priority}: group {group} has {other}, without xoff: it never pauses"
                )
                continue
            if not made and LOSSLESS_POOL not in self.pools:
                self.said.left_out(
                    where,
                    f"{priority}: there is no {LOSSLESS_POOL}, so no headroom: it never pauses",
                )
                continue
            # PFC has eight priorities (IEEE 802.1Qbb).
            if queue > 7:
                self.said.left_out(where, f"{priority}: queue {queue} is over 7, where no class is")
                continue
            if queue != priority:
                self.said.approximated(
                    where, f"priority {priority} is queue {queue}'s: here class {queue} is paused"
                )
            classes.append(queue)
            for port, name in of.items():
                if made:
                    groups.setdefault(name or "", []).append(f"{port}|{group}")
        if not classes:
            return Pfc()
        # Of equally many the first by name: the same at every import. A switch makes the profile of
        # groups that have none, if it has the pool.
        lossless = [name for name in groups if name and self._has_headroom(name)]
        if LOSSLESS_POOL in self.pools and "" in groups:
            lossless.append("")
        profile = min(lossless, key=lambda name: (-len(groups[name]), name), default="") or None
        pool = self.profiles[profile]["pool"] if profile else LOSSLESS_POOL
        self.said.exact("switch.pfc", f"classes {listed(classes)} are lossless")
        others = {
            name: keys
            for name, keys in sorted(groups.items())
            if self._settings(name) != self._settings(profile)
        }
        return Pfc(sorted(set(classes)), profile, pool, others, groups)

    def _lossless_group(self, group: int) -> bool:
        """Whether a group of some port has a profile with headroom."""
        names = {self._group(port, group) for port in self.ports}
        return any(name is not None and self._has_headroom(name) for name in names)

    def _has_headroom(self, profile: str) -> bool:
        """Whether a profile makes a group lossless: by `xoff`, what it may still take after a
        pause, or by headroom that the switch computes."""
        row = self.profiles[profile]
        return "xoff" in row or dynamic(row)

    def _settings(self, profile: str | None) -> tuple[tuple[str, str], ...] | None:
        """A profile's content, since two of other names may say the same."""
        return tuple(sorted(self.profiles[profile].items())) if profile else None

    def _map(self, table: str, name: str | None) -> dict[int, int]:
        row = self.reading.full.get(table, {}).get(name or "", {})
        return {int(key): int(value) for key, value in row.items()}

    def _group(self, port: str, group: int) -> str | None:
        row = self.reading.full.get("BUFFER_PG", {}).get(f"{port}|{group}", {})
        name = row.get("profile")
        return name if name in self.profiles else None

    def _groups(self, found: Memory, pfc: Pfc, device: Device) -> None:
        """Thresholds and headroom of the lossless groups."""
        found.pfc = {"priorities": list(pfc.classes), **found.pfc}
        device.classes = list(pfc.classes)
        watched = watchdog.read(self.reading, self.ports, device)
        self._thresholds(found, pfc, device)
        found.pfc |= watched

    def _rooms(self, found: Memory, pfc: Pfc, device: Device) -> set[str]:
        """Headroom by the links' rates and cables, where a switch has a profile for each; the names
        of profiles whose groups all have their own here."""
        counted: dict[tuple[int, int], Counter[str]] = {}
        kinds: dict[str, set[tuple[int, int]]] = {}
        for name, keys in pfc.groups.items():
            for key in keys:
                kind = self.reading.link(key.rpartition("|")[0])
                counted.setdefault(kind, Counter())[name] += 1
                kinds.setdefault(name, set()).add(kind)
        usual = self._xoff(pfc.profile)
        rooms = {}
        for kind, names in sorted(counted.items()):
            # Of equally many the first by name: the same at every import.
            chosen = min(names, key=lambda name: (-names[name], name))
            if self._xoff(chosen) not in (0, usual):
                rooms[kind] = chosen
        if rooms:
            found.pfc["headroom_rates"] = [quantity.gbps(mbps * 10**6) for mbps, _ in rooms]
            found.pfc["headroom_delays"] = [f"{ns}ns" for _, ns in rooms]
            found.pfc["headroom_sizes"] = [f"{self._xoff(name)}B" for name in rooms.values()]
            device.rooms = list(rooms.values())
            named = dict.fromkeys(rooms.values())
            device.modelled += [("BUFFER_PROFILE", name, "xoff") for name in named]
        return {
            name
            for name, mine in kinds.items()
            if self._xoff(name)
            and all(self._xoff(rooms.get(kind, pfc.profile)) == self._xoff(name) for kind in mine)
        }

    def _xoff(self, profile: str | None) -> int:
        return int(self.profiles[profile].get("xoff", "0")) if profile else 0

    def _thresholds(self, found: Memory, pfc: Pfc, device: Device) -> None:
        here = self._rooms(found, pfc, device)
        if pfc.profile is None:
            for other, keys in pfc.others.items():
                self._differ(other, keys, None, here)
            self.said.approximated(
                "BUFFER_PG",
                "lossless groups have no profile here: the switch makes it of its "
                "pg_profile_lookup.ini; here headroom is what rate and cable need (switchbed "
                f"headroom has the sum), and alpha {self._usual_alpha()}",
            )
            return
        row, where = self.profiles[pfc.profile], f"BUFFER_PROFILE|{foreign.name(pfc.profile)}"
        if int(row.get("xoff", "0")):
            found.pfc["headroom"] = f"{row['xoff']}B"
        elif dynamic(row):
            self.said.approximated(
                where, "the switch computes the headroom: here it is what rate and cable need"
            )
        found.pfc["reserve"] = f"{row.get('size', '0')}B"
        for key in ("xon_offset", "xon"):
            if key in row:
                found.pfc[key] = f"{row[key]}B"
        if "dynamic_th" in row:
            found.pfc["alpha"] = 2.0 ** int(row["dynamic_th"])
        elif "static_th" in row:
            found.pfc["threshold"] = f"{row['static_th']}B"
        self.said.exact(where, f"lossless groups: {_texts(row)}")
        if "dynamic_th" not in row and "static_th" not in row:
            self.said.approximated(
                where, f"neither dynamic_th nor static_th: here alpha is {self._usual_alpha()}"
            )
        for other, keys in pfc.others.items():
            self._differ(other, keys, pfc.profile, here)
        device.groups = pfc.profile
        for key in ("xoff", "size", "xon_offset", "xon", "dynamic_th", "static_th"):
            if key in row and not (key == "xoff" and not int(row[key])):
                device.modelled.append(("BUFFER_PROFILE", pfc.profile, key))

    def _usual_alpha(self) -> str:
        return "switch.pfc.alpha's default" if self.chip is None else "the chip's"

    def _differ(
        self, other: str, keys: Sequence[str], usual: str | None, rooms: Container[str]
    ) -> None:
        """Say that groups have another profile than most; of those in `rooms` links have the
        headroom."""
        row = self.profiles[other] if other else {}
        has = f"{foreign.some(keys)}: {foreign.name(other) if other else 'none'}"
        if other in rooms:
            beside = {
                key: value
                for key, value in row.items()
                if key not in ("xoff", "pool")
                and value != (self.profiles[usual].get(key) if usual else None)
            }
            has += f", xoff {row['xoff']} by the links' rate and cable"
            if not beside and usual and self.profiles[usual].keys() == row.keys():
                self.said.exact("BUFFER_PG", has)
                return
            has += f"; {_texts(beside)} is not here" if beside else ""
        elif row:
            has += f" ({_texts(row)})"
        here = f"has {foreign.name(usual)}" if usual else "is as the groups without a profile"
        but = " but for its headroom" if other in rooms else ""
        self.said.approximated(
            "BUFFER_PG",
            f"{has}; here every lossless group {here}{but}: without switch.pfc.headroom each port "
            "has what its rate and cable need",
        )

    # Pools.

    def _egress(self, lossy: Sequence[Queue]) -> str | None:
        """The pool of most lossy queues; else the largest of outputs."""
        counted = Counter(
            self.profiles[queue.profile]["pool"] for queue in lossy if queue.profile is not None
        )
        if counted:
            chosen = min(counted, key=lambda name: (-counted[name], name))
            for other in sorted(set(counted) - {chosen}):
                self.said.approximated(
                    f"BUFFER_POOL|{foreign.name(other)}",
                    f"lossy queues have it beside {foreign.name(chosen)}; here all share that, and "
                    "WRED above its end is off",
                )
            return chosen
        outputs = [name for name, row in self.pools.items() if row.get("type") != "ingress"]
        return max(outputs, key=lambda name: (self._size(name) or 0, name), default=None)

    def _size(self, pool: str) -> int | None:
        row = self.reading.named("BUFFER_POOL", pool)
        for key in ("size", "xoff"):
            if int(row.get(key, "0")) > MOST_POOL:
                raise Mistake(
                    f"{self.reading.where}: BUFFER_POOL|{foreign.name(pool)}|{key}: is {row[key]} "
                    "bytes: at most 1000GB is needed"
                )
        # Dynamic buffer models leave sizes to the switch.
        return int(row["size"]) if "size" in row else None

    def _ingress(self, pfc: Pfc) -> str | None:
        """The pool of the inputs: of lossless groups, or else of most groups."""
        if pfc.pool is not None:
            return pfc.pool
        groups = self.reading.full.get("BUFFER_PG", {})
        mine = set(self.ports)
        counted = Counter(
            self.profiles[row["profile"]]["pool"]
            for key, row in groups.items()
            if key.partition("|")[0] in mine and row.get("profile") in self.profiles
        )
        if counted:
            return min(counted, key=lambda name: (-counted[name], name))
        inputs = [name for name, row in self.pools.items() if row.get("type") == "ingress"]
        return max(inputs, key=lambda name: (self._size(name) or 0, name), default=None)

    def _pools(self, found: Memory, pfc: Pfc, egress: str | None, device: Device) -> None:
        ingress = self._ingress(pfc)
        self.shared = [name for name in (ingress, egress) if name is not None]
        sizes = {name: self._size(name) for name in self.shared}
        out = sizes.get(egress) if egress is not None else None
        into = sizes.get(ingress) if ingress is not None else None
        out, into = (self.given if size is None else size for size in (out, into))
        if out is None and into is None and self.chip is None:
            raise Mistake(self._no_memory(ingress or egress))
        xoff = int(self.pools[ingress].get("xoff", "0")) if ingress is not None else 0
        held = 0
        shared: int | None = None
        self._whole()
        if into is None:
            # A configuration of outputs alone: the inputs share the same memory.
            into = out if self.chip is None else None
        if into is not None:
            shared, room = self._inputs(into, xoff, pfc)
            # Beside headroom, which the pool may hold, packets need room, too.
            self._fits("switch.pool", ingress or egress, min(shared, into), into)
            found.switch["pool"] = f"{shared}B"
            # Without a chip the pool holds the headroom already.
            held = shared + (room if self.chip is not None else 0)
            if ingress is not None and sizes[ingress] is not None:
                # The difference is put back by an export.
                device.pools["pool"] = (ingress, into - shared)
                device.modelled.append(("BUFFER_POOL", ingress, "size"))
            if room:
                found.pfc["headroom_pool"] = f"{room}B"
                if ingress is not None and room == xoff:
                    device.pools["headroom_pool"] = (ingress, 0)
                    device.modelled.append(("BUFFER_POOL", ingress, "xoff"))
        if out is not None:
            self._fits("switch.egress_pool", egress, out, out)
            # One pool for both needs one key.
            if egress != ingress or into is None:
                found.switch["egress_pool"] = f"{out}B"
                if egress is not None and sizes[egress] is not None:
                    device.pools["egress_pool"] = (egress, 0)
                    device.modelled.append(("BUFFER_POOL", egress, "size"))
        # A packet needs room in both.
        limit = min((each for each in (out, shared) if each is not None), default=None)
        if self.chip is not None and limit is None:
            limit = self.chip["lossy_bytes"]
        # Thresholds count whole cells.
        cell = int(self.chip["cell_bytes"]) if self.chip is not None else 1
        if limit is not None:
            found.limit = limit - limit % cell
            for queue in self.queues:
                if queue.index in pfc.classes:
                    most = min(held or limit, self._outputs(queue) or held or limit)
                    found.lossless[queue.index] = most - most % cell
        unsized = [name for name, size in sizes.items() if size is None]
        if unsized and self.given is None and self.chip is not None:
            self.said.approximated(
                f"BUFFER_POOL|{foreign.some(unsized)}",
                f"no size (the switch finds it): here {self.chip['name']}'s memory; --pool has it",
            )
        shown = [f"{foreign.name(str(n))} {quantity.kb(s)}" for n, s in sizes.items() if s]
        if shown:
            self.said.exact("BUFFER_POOL", f"{', '.join(shown)}: shared by all ports of the switch")

    def _outputs(self, queue: Queue) -> int | None:
        """Bytes of the pool that a queue's buffer profile is in."""
        if queue.profile is None:
            return None
        size = self._size(self.profiles[queue.profile]["pool"])
        return self.given if size is None else size

    def _fits(self, key: str, pool: str | None, size: int, given: int) -> None:
        """Refuses a pool without room for two packets; `given`: its size in the file."""
        if size >= 2 * PACKET:
            return
        where = f"BUFFER_POOL|{foreign.name(str(pool))}|size" if pool else key
        if size < given:
            # Headroom and reserves leave the rest to be shared.
            text = (
                f"is {given}: this chip takes headroom (xoff) and reserves, {given - size} bytes, "
                f"out of it: at least {given - size + 2 * PACKET} is needed"
            )
        else:
            text = f"{size} bytes hold no two packets: at least {2 * PACKET}"
        raise Mistake(f"{self.reading.where}: {where}: {text}")

    def _no_memory(self, pool: str | None) -> str:
        if pool is None:
            return (
                f"{self.reading.where}: BUFFER_POOL: has no pool of these queues, so no memory: "
                "give it by --pool SIZE"
            )
        return (
            f"{self.reading.where}: BUFFER_POOL|{foreign.name(pool)}: has no size (the switch "
            "finds it): give it by --pool SIZE"
        )

    def _inputs(self, size: int, xoff: int, pfc: Pfc) -> tuple[int, int]:
        """Bytes of `switch.pool`, and of all headroom where it is known."""
        if self.chip is None:
            # Without a chip the scenario's pool holds the headroom.
            room = xoff if pfc.classes and xoff else self._every(pfc)
            if room:
                self.said.exact(
                    "switch.pool",
                    f"{quantity.kb(size + room)}: the inputs' {quantity.kb(size)} and headroom of "
                    f"{quantity.kb(room)}, which a pool holds where no chip is known",
                )
            return size + room, room
        if not self.chip["ingress_is_gross"]:
            return size, xoff
        cell = int(self.chip["cell_bytes"])
        parts = self.chip["partitions"] or 1
        group = int(self.chip["group_reserve_bytes"] or 0) // cell
        own = int(self.chip["queue_reserve_bytes"] or 0) // cell
        lossy = len(self.queues) - len(pfc.classes)
        ports = len(self.reading.full.get("PORT", {})) or len(self.ports)
        # On these chips a pool's size is gross: headroom and reserves come out of it.
        cells = (size - xoff) // cell - ports * (len(pfc.classes) * group + parts * lossy * own)
        self.said.exact(
            "switch.pool",
            f"{quantity.kb(cells * cell)} of {quantity.kb(size)}: on this chip a pool's size holds "
            f"headroom ({quantity.kb(xoff)}) and reserves",
        )
        return cells * cell, xoff

    def _every(self, pfc: Pfc) -> int:
        """Headroom of all groups together, where no pool has it."""
        if not pfc.classes:
            return 0
        own = int(self.profiles[pfc.profile].get("xoff", "0")) if pfc.profile else 0
        # Every class may be paused at every port at once.
        each = [own or needed(self.reading, port) for port in self.ports]
        return len(pfc.classes) * sum(each)

    def _whole(self) -> None:
        """Says where the inputs' pools and their headroom are more than the chip has."""
        inputs = [row for row in self.pools.values() if row.get("type") == "ingress"]
        size = sum(int(row.get("size", "0")) for row in inputs)
        xoff = sum(int(row.get("xoff", "0")) for row in inputs)
        if self.chip is None:
            if size + xoff:
                self.said.approximated(
                    "BUFFER_POOL",
                    f"inputs have {quantity.kb(size)} and headroom of {quantity.kb(xoff)} beside "
                    "it: no table tells what the chip has, or whether size holds the headroom",
                )
            return
        there = int(self.chip["memory_bytes"])
        if size + xoff > there:
            gross = self.chip["ingress_is_gross"] and size <= there
            self.said.approximated(
                "BUFFER_POOL",
                f"size and xoff of inputs come to {quantity.kb(size + xoff)}, more than "
                f"{self.chip['name']}'s {quantity.kb(there)} ({self.chip['memory_is']}): "
                + ("size holds the headroom there" if gross else "the file promises too much"),
            )

    # Queues.

    def _queues(
        self, found: Memory, lossy: Sequence[Queue], egress: str | None, device: Device
    ) -> None:
        """α, reserve and limit of lossy queues."""
        rules = {queue.index: self._rules(queue, found) for queue in lossy if queue.profile}
        bare = [queue.index for queue in lossy if not queue.profile]
        alphas = Counter(own["alpha"] for own in rules.values())
        usual = min(alphas, key=lambda alpha: (-alphas[alpha], alpha)) if alphas else None
        if usual is not None:
            found.switch["alpha"] = usual
        if bare and len(self.queues) > 1:
            what = "the usual alpha" if usual is not None else "the chip's own"
            self.said.approximated(
                "BUFFER_QUEUE", f"queue {listed(bare)}: no buffer profile: {what}, no reserve"
            )
        reserved = sum(quantity.size(own.get("reserve", "0B")) for own in rules.values())
        too_much = (
            found.limit is not None
            # One packet that is sent and one that waits, beside all reserves.
            and len(self.ports) * reserved + 2 * PACKET > found.limit
            and reserved > 0
        )
        if too_much:
            self.said.left_out(
                "BUFFER_PROFILE",
                f"reserves of {reserved} bytes a port are more than the pool has for all ports",
            )
        for queue in lossy:
            own = rules.get(queue.index)
            if own is None or queue.profile is None:
                continue
            if too_much:
                own.pop("reserve", None)
            row, profile = self.profiles[queue.profile], queue.profile
            device.buffers[queue.index] = profile
            kind = "dynamic_th" if "dynamic_th" in row else "static_th"
            if kind in row and (kind == "dynamic_th" or "limit" in own):
                device.modelled.append(("BUFFER_PROFILE", profile, kind))
            if "reserve" in own:
                device.modelled.append(("BUFFER_PROFILE", profile, "size"))
            # Most queues' alpha stands in [switch] alone.
            if own["alpha"] == usual:
                del own["alpha"]
            found.queues[queue.index] = own

    def _rules(self, queue: Queue, found: Memory) -> dict[str, Any]:
        """One queue's."""
        name = str(queue.profile)
        row, where = self.profiles[name], f"BUFFER_PROFILE|{foreign.name(name)}"
        reserve = int(row.get("size", "0"))
        own: dict[str, Any] = {}
        chips = (self.chip or {}).get("queue_reserve_bytes")
        if reserve != (chips or 0):
            own["reserve"] = f"{reserve}B"
        if "dynamic_th" in row:
            power = int(row["dynamic_th"])
            own["alpha"] = asic.alphas(self.chip)[power] if self.chip else 2.0**power
            text = f"dynamic_th {power}: alpha {own['alpha']:.4g}"
        else:
            own["alpha"] = ALL_FREE
            # A queue holds its reserve beside its share.
            most = int(row.get("static_th", "0")) + reserve
            if "static_th" not in row:
                self.said.approximated(
                    where, "neither dynamic_th nor static_th: the chip's own; here whatever is free"
                )
                return own
            if found.limit is not None and most >= found.limit:
                text = "static_th is all of the pool: whatever is free"
            elif most < PACKET:
                raise Mistake(
                    f"{self.reading.where}: {where}|static_th: {most} bytes hold no packet: at "
                    f"least {PACKET}"
                )
            else:
                own["limit"] = f"{most}B"
                text = f"static_th and size: at most {most} bytes a queue"
        self.said.exact(where, text + (f", {reserve} bytes of its own" if reserve else ""))
        return own

    def _left_out(self, pfc: Pfc) -> None:
        """Says what of the buffers has no place in a scenario."""
        lossless = sorted({q.profile for q in self.queues if q.index in pfc.classes and q.profile})
        for name in lossless:
            row = self.profiles[name]
            pool = self.pools.get(row.get("pool", ""), {})
            most = int(row.get("static_th", "0")) if "static_th" in row else None
            # A profile as large as its pool never bounds: as lossless queues ship.
            if "dynamic_th" in row or (most is not None and most < int(pool.get("size", "0"))):
                self.said.left_out(
                    f"BUFFER_PROFILE|{foreign.name(name)}",
                    "bounds lossless queues at the output, where it would drop; here their groups "
                    "at the inputs alone count",
                )
            elif int(row.get("size", "0")):
                self.said.left_out(
                    f"BUFFER_PROFILE|{foreign.name(name)}",
                    f"size {row['size']}: reserved for lossless queues at the output; here their "
                    "groups alone have reserves",
                )
        groups = {self._group(port, group) for port in self.ports for group in range(8)}
        for group in sorted(each for each in groups if each is not None):
            if self._has_headroom(group):
                continue
            row = self.profiles[group]
            where = f"BUFFER_PROFILE|{foreign.name(group)}"
            pool = self.pools.get(row.get("pool", ""), {})
            thresholds: tuple[str, ...] = ("dynamic_th", "size", "static_th")
            bounds = {key: row[key] for key in thresholds if key in row}
            if bounds.get("size") == "0":
                del bounds["size"]
            # As large as its pool, as lossy groups ship, it bounds nothing.
            if "size" in pool and int(bounds.get("static_th", "0")) >= int(pool["size"]):
                bounds.pop("static_th", None)
            if bounds:
                text = f"{_texts(bounds)} of lossy groups at the inputs"
                self.said.left_out(where, f"{text}: here only their pool's end refuses them")
            if pfc.pool is not None and row.get("pool") != pfc.pool:
                shown = foreign.name(row.get("pool", ""))
                self.said.approximated(where, f"lossy groups have {shown}; here the lossless pool")
        self._idle()
        for table in LISTS:
            if self.reading.full.get(table):
                self.said.left_out(
                    table,
                    "bounds of a port as a whole; here a queue's alone count"
                    + (" (with its port's alpha where it multiplies)" if self.chip else ""),
                )

    def _idle(self) -> None:
        """Says which profiles and pools no queue, group or list of these ports names."""
        full, ports = self.reading.full, set(self.ports)
        used = {
            name
            for table in ("BUFFER_QUEUE", "BUFFER_PG", *LISTS)
            for key, row in full.get(table, {}).items()
            if key.partition("|")[0] in ports
            for name in row.get("profile", row.get("profile_list", "")).split(",")
        }
        unread.unused(full, "BUFFER_PROFILE", used, self.said, "queue or group")
        pools = {self.profiles[name].get("pool", "") for name in used if name in self.profiles}
        idle = sorted(set(self.pools) - pools - set(self.shared))
        if idle:
            self.said.left_out(
                f"BUFFER_POOL|{foreign.some(idle)}", "no queue or group of these ports has it"
            )


def _texts(row: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {row[key]}" for key in sorted(row) if key != "pool")


def needed(reading: Reading, port: str) -> int:
    """Bytes that still come in on a port after a pause, as `switch.pfc` computes it."""
    rate = (reading.speed(port) or 10_000) * 10**6
    metres = reading.metres(port)
    return headroom.ieee(
        headroom.Link(rate, UNKNOWN_METRES if metres is None else max(metres, 1), PACKET)
    ).sum
