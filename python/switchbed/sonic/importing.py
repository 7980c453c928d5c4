"""A switch's `config_db.json` as a scenario; what was left out is said, the rest kept beside it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from switchbed import foreign, quantity, toml
from switchbed._native import Mistake
from switchbed.sonic import schema
from switchbed.sonic.device import Device
from switchbed.sonic.finding import Findings
from switchbed.sonic.tidy import Tables, meant, tidy

PACKET = 1500
"""A weight's bytes in a quantum: weights are ratios."""
HOSTS = 16
"""Most hosts of the star that a scenario begins with."""
UNKNOWN_RATE = 10_000
READ = (
    *(
        "PORT",
        "SCHEDULER",
        "WRED_PROFILE",
        "QUEUE",
        "BUFFER_POOL",
        "BUFFER_PROFILE",
        "BUFFER_QUEUE",
    ),
    "PORT_QOS_MAP",
)
"""Tables that an import goes by: what is in them must be what SONiC takes."""


@dataclass(frozen=True)
class Imported:
    """A scenario's text, what stands beside it, and what was found."""

    text: str
    device: Device
    findings: Findings


@dataclass(frozen=True)
class _Queue:
    """What is set of a queue."""

    index: int
    scheduler: str | None
    strict: bool
    weight: int
    wred: str | None
    profile: str | None


def load(
    config: Mapping[str, Any], where: str, ports: Sequence[str] = (), pool: int | None = None
) -> Imported:
    """`ports`: whose queues the scenario's are, where they differ. `pool`: the memory, where the
    configuration leaves it to the switch."""
    return _Import(config, where, ports, pool).imported()


class _Import:
    def __init__(
        self, config: Mapping[str, Any], where: str, ports: Sequence[str], pool: int | None
    ) -> None:
        self.where, self.config = foreign.name(where), config
        self.tables: Tables = tidy(config, self.where)
        for problem in schema.check(self.tables, READ, open_=True):
            raise Mistake(f"{self.where}: {problem}")
        self.full = meant(self.tables)
        self.rows = _by_port(self.full)
        self.pool = pool
        self.said = Findings()
        self.wanted = list(ports)
        self.nvidia = _nvidia(config)

    def imported(self) -> Imported:
        ports, *others = self._ports()
        queues = self._ordered(self._queues(ports[0]))
        device = Device(
            self.tables, ports=ports, queues=[q.index for q in queues], nvidia=self.nvidia
        )
        device.schedulers = {q.index: q.scheduler for q in queues if q.scheduler is not None}
        switch = self._switch(queues, device)
        scheme = self._scheme(queues, device, switch)
        self._buffer(queues, device, switch)
        deployed = [self._deployed(group, device, switch) for group in others]
        self._left_out(queues)
        return Imported(
            self._text([ports, *others], switch, [scheme, *deployed]), device, self.said
        )

    def _deployed(
        self, ports: Sequence[str], device: Device, switch: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """The scheme of ports that differ in WRED alone."""
        part, own = Device(self.tables), dict(switch)
        queues = self._ordered(self._queues(ports[0]))
        scheme = self._scheme(queues, part, own)
        if own.get("unmarkable") != switch.get("unmarkable") and scheme[0] != "none":
            where = f"WRED_PROFILE|{foreign.name(str(part.wred))}"
            raise Mistake(
                f"{self.where}: {where}: wred_green_enable is not the other ports': name one whose "
                f"it shall be: --port {foreign.name(ports[0])}"
            )
        device.modelled += [field for field in part.modelled if field not in device.modelled]
        device.others[f"leaf{len(device.others) + 1}"] = part.wred
        return scheme

    # Which ports.

    def _ports(self) -> list[list[str]]:
        """Those that are alike together; several such groups only if they differ in WRED alone."""
        named = set(self.rows) | set(self.full.get("PORT", {}))
        if not named:
            raise Mistake(
                f"{self.where}: has no PORT, QUEUE or BUFFER_QUEUE: nothing to make ports of"
            )
        for port in self.wanted:
            if port not in named:
                raise Mistake(f"--port {foreign.name(port)}: {self.where} has no such port")
        groups: dict[tuple[Any, ...], list[str]] = {}
        for port in sorted(named, key=_natural):
            groups.setdefault(self._signature(port), []).append(port)
        if self.wanted:
            mine = [group for group in groups.values() if self.wanted[0] in group]
            other = next((p for p in self.wanted if p not in mine[0]), None)
            if other is not None:
                raise Mistake(
                    f"--port {foreign.name(other)}: its queues differ from "
                    f"{foreign.name(self.wanted[0])}'s: a scenario's ports are alike"
                )
            if len(groups) > 1:
                rest = sum(map(len, groups.values())) - len(mine[0])
                self.said.left_out("QUEUE", f"{rest} ports whose queues differ stay as they are")
            return mine
        found = list(groups.values())
        first = foreign.name(found[0][0])
        for group in found[1:]:
            if self._unmarked(group[0]) != self._unmarked(found[0][0]):
                raise Mistake(
                    f"{self.where}: QUEUE|{foreign.name(group[0])}: its queues differ from "
                    f"{first}'s in more than WRED, and a scenario's ports are alike: name one "
                    f"whose they shall be: --port {first}"
                )
        if len(found) > 1:
            self.said.approximated(
                "QUEUE",
                f"{len(found)} kinds of port, by WRED: each a leaf of its own, whose scheme is in "
                "[[deploy]]; their memories are apart here",
            )
        return found

    def _unmarked(self, port: str) -> list[tuple[Any, ...]]:
        """What is set of its queues but WRED."""
        return [(*each[:3], *each[4:]) for each in self._signature(port)]

    def _signature(self, port: str) -> tuple[Any, ...]:
        """What must be alike: what is set of each queue, not by what name."""
        return tuple(
            (
                q.index,
                q.strict,
                q.weight,
                self._row("WRED_PROFILE", q.wred),
                self._limits(q.profile),
            )
            for q in self._queues(port)
        )

    def _row(self, table: str, name: str | None) -> Any:
        row = self.full.get(table, {}).get(name or "")
        return None if row is None else tuple(sorted(row.items()))

    def _limits(self, profile: str | None) -> Any:
        return self._row("BUFFER_PROFILE", profile)

    def _queues(self, port: str) -> list[_Queue]:
        found = self.rows.get(port, {})
        return [self._queue(index, row) for index, row in sorted(found.items())] or [
            _Queue(0, None, strict=False, weight=1, wred=None, profile=None)
        ]

    def _queue(self, index: int, row: Mapping[str, str]) -> _Queue:
        name = row.get("scheduler")
        scheduler = self._named("SCHEDULER", name) if name else {}
        for table, field in (("WRED_PROFILE", "wred_profile"), ("BUFFER_PROFILE", "profile")):
            if row.get(field):
                self._named(table, row[field])
        return _Queue(
            index,
            name,
            strict=scheduler.get("type") == "STRICT",
            weight=self._number("SCHEDULER", name, scheduler, "weight", 1),
            wred=row.get("wred_profile"),
            profile=row.get("profile"),
        )

    def _named(self, table: str, name: str) -> Mapping[str, str]:
        row = self.full.get(table, {}).get(name)
        if row is None:
            raise Mistake(
                f"{self.where}: {table}: has no {foreign.name(name)}, which a queue names"
            )
        return row

    def _number(
        self, table: str, name: str | None, row: Mapping[str, str], field: str, default: int
    ) -> int:
        found = foreign.whole(row.get(field, str(default)))
        if found is None:
            where = f"{table}|{foreign.name(str(name))}|{field}"
            raise Mistake(
                f"{self.where}: {where}: is {foreign.shown(row[field])}: a whole number is needed"
            )
        return found

    def _ordered(self, queues: Sequence[_Queue]) -> list[_Queue]:
        """As a scenario has them: strict ones first, whose highest index goes first."""
        strict = sorted((q for q in queues if q.strict), key=lambda q: -q.index)
        return [*strict, *(q for q in queues if not q.strict)]

    # The switch.

    def _switch(self, queues: Sequence[_Queue], device: Device) -> dict[str, Any]:
        strict = sum(q.strict for q in queues)
        if strict == len(queues):
            strict -= 1  # the last has nobody below it
        weights = [1 if q.strict else q.weight for q in queues]
        for q in queues:
            if q.scheduler is None:
                if len(queues) > 1:
                    self.said.approximated(
                        "QUEUE", f"queue {q.index} has no scheduler: the chip's own, here weight 1"
                    )
                continue
            kind = self.full["SCHEDULER"][q.scheduler]["type"]
            row = self.tables["SCHEDULER"][q.scheduler]
            if kind == "WRR" and len(queues) > 1:
                self.said.approximated(
                    f"SCHEDULER|{q.scheduler}|type",
                    "WRR counts packets; here it is dwrr, which counts bytes",
                )
            elif kind == "DWRR":
                device.modelled.append(("SCHEDULER", q.scheduler, "type"))
            if kind != "STRICT" and "weight" in row:
                device.modelled.append(("SCHEDULER", q.scheduler, "weight"))
            for name in row:
                if name not in ("type", "weight"):
                    self.said.left_out(
                        f"SCHEDULER|{foreign.name(q.scheduler)}|{foreign.name(name)}",
                        foreign.name(row[name]),
                    )
        device.modelled = list(dict.fromkeys(device.modelled))
        if len(queues) > 1:
            places = ", ".join(f"{i} is {q.index}" for i, q in enumerate(queues))
            self.said.exact("QUEUE", f"{len(queues)} queues (the scenario's {places})")
        return {
            "queues": len(queues),
            "classify": "class" if len(queues) > 1 else "single",
            "discipline": "dwrr",
            "strict": strict,
            "quantum": [f"{w * PACKET}B" for w in weights],
        }

    def _scheme(
        self, queues: Sequence[_Queue], device: Device, switch: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """That of most queues that have WRED, by what it says and not by its name."""
        named = [q.wred for q in queues if q.wred is not None]
        if not named:
            self.said.exact("WRED_PROFILE", "no queue has any")
            return "none", {}
        says = {each: self._row("WRED_PROFILE", each) for each in named}
        counted = Counter(says[each] for each in named)
        counts = {each: (counted[says[each]], each) for each in named}
        name = max(counts, key=lambda each: counts[each])
        alike = sorted(each for each in says if says[each] == says[name] and each != name)
        marked = [q for q in queues if q.wred is not None and says[q.wred] == says[name]]
        others = [q for q in queues if q not in marked]
        row, own = self._named("WRED_PROFILE", name), self.tables["WRED_PROFILE"][name]
        shown = foreign.name(name)
        where = f"WRED_PROFILE|{shown}"
        apart = sorted(field for field in own if field.startswith("ecn_"))
        if apart:
            raise Mistake(
                f"{self.where}: {where}: {apart[0]}: marks have thresholds of their own (SONiC's "
                "models since June 2026), and a scenario has one ramp for marks and drops: leave "
                "the profile's ecn_ fields out, or have them in place of those of the same colour"
            )
        low = self._number("WRED_PROFILE", name, row, "green_min_threshold", 0)
        if "green_min_threshold" in row and "green_max_threshold" not in row:
            raise Mistake(
                f"{self.where}: {where}: green_max_threshold is missing: green_min_threshold, "
                f"{low}, needs it, as large or larger"
            )
        high = self._number("WRED_PROFILE", name, row, "green_max_threshold", low)
        chance = self._number("WRED_PROFILE", name, row, "green_drop_probability", 100)
        if high < low:
            raise Mistake(
                f"{self.where}: {where}: green_max_threshold, {high}, is less than "
                f"green_min_threshold, {low}"
            )
        self._colours(where, row)
        if "green" not in row["ecn"].removeprefix("ecn_").split("_") and row["ecn"] != "ecn_all":
            self.said.left_out(where, f"ecn is {row['ecn']}: green is dropped early, not marked")
            return "none", {}
        enabled = row["wred_green_enable"] == "true"
        if not enabled and not self.nvidia:
            self.said.left_out(
                where,
                "wred_green_enable is not true: nothing is marked or dropped, but on Nvidia's "
                "chips, which mark then (DEVICE_METADATA names another, or none)",
            )
            return "none", {}
        if "buffer" in switch:
            size: int | None = quantity.size(switch["buffer"])
        else:
            size = self._memory(marked, len(queues))
        if size is not None and low >= size:
            self.said.left_out(where, f"begins at {low}, above the memory, {size}: it is off")
            return "none", {}
        device.wred, device.marked = name, [q.index for q in marked]
        device.alike = alike
        fields = ["green_min_threshold", "green_max_threshold", "wred_green_enable"]
        for q in sorted(others, key=lambda each: each.index):
            self.said.approximated(
                f"QUEUE {q.index}", f"{self._marks(q.wred)}; here it marks as {shown}, as all do"
            )
        says_exact = self.said.exact
        odd = [field for field in own if field not in schema.TABLES["WRED_PROFILE"].fields]
        if odd:
            marks = any(re.search("thresh|prob|enable|ec[nt]|min|max", each) for each in odd)
            says_exact = self.said.approximated if marks else says_exact
            for each in odd:
                text = f"{foreign.shown(own[each])}: no key of SONiC's published model"
                text += "; it may change what is marked" if marks else ""
                self.said.left_out(f"{where}|{foreign.name(each)}", text)
        switch["unmarkable"] = "drop" if enabled else "pass"
        if low == high:
            params: dict[str, Any] = {"threshold": f"{low}B"}
            says_exact(where, f"min = max: a threshold of {low} bytes")
            scheme = "per-queue"
        else:
            pmax = chance / 100
            if size is not None and high > size:
                # A queue ends at the memory: there the ramp has come so far.
                pmax = pmax * (size - low) / (high - low)
                self.said.approximated(
                    where, f"ends at {high}, above the memory, {size}: there at {100 * pmax:.4g} %"
                )
                end = size
            else:
                end = high
                fields.append("green_drop_probability")
            params = {
                "kmin": f"{low}B",
                "kmax": f"{end}B",
                "pmax": pmax,
                "weight": 1,
                "spacing": "geometric",
            }
            says_exact(where, f"a ramp from {low} to {high} bytes, {chance} %")
            scheme = "red"
            if end != high:
                fields.remove("green_max_threshold")
        device.modelled += [
            ("WRED_PROFILE", each, field)
            for each in (name, *alike)
            for field in fields
            if field in self.tables["WRED_PROFILE"][each]
        ]
        if enabled:
            self.said.exact(where, "what is not ECN-capable, as many an ACK, is dropped there too")
        return scheme, params

    def _marks(self, wred: str | None) -> str:
        """What a queue's profile does, in a line."""
        if wred is None:
            return "has no WRED profile and marks nothing"
        row = self._named("WRED_PROFILE", wred)
        low, high = (row.get(f"green_{end}_threshold", "none") for end in ("min", "max"))
        chance = row["green_drop_probability"]
        return f"has {foreign.name(wred)}: {low} to {high} bytes, {chance} %, {row['ecn']}"

    def _colours(self, where: str, row: Mapping[str, str]) -> None:
        for colour in ("yellow", "red"):
            for part in ("min_threshold", "max_threshold", "drop_probability"):
                if row.get(f"{colour}_{part}") != row.get(f"green_{part}"):
                    self.said.left_out(where, f"{colour} differs from green, which counts")
                    break

    def _size_of(self, profile: str | None) -> int | None:
        if profile is None:
            return None
        row = self._named("BUFFER_PROFILE", profile)
        pool = self._named("BUFFER_POOL", row.get("pool", ""))
        if "size" not in pool:
            return self.pool
        size = int(pool["size"])
        if size < PACKET:
            where = f"BUFFER_POOL|{foreign.name(row.get('pool', ''))}|size"
            raise Mistake(f"{self.where}: {where}: {size} bytes hold no packet: at least {PACKET}")
        return size

    def _memory(self, marked: Sequence[_Queue], queues: int) -> int | None:
        """The bytes that a port of so many queues has, where those of these queues count."""
        name = _profile(marked)
        size = self.pool if name is None else self._size_of(name)
        row = {} if name is None else self._named("BUFFER_PROFILE", name)
        if size is None or "dynamic_th" in row:
            return size
        limit = self._number("BUFFER_PROFILE", name, row, "static_th", size)
        if limit >= size:
            return size
        if limit < PACKET:
            limit += self._number("BUFFER_PROFILE", name, row, "size", 0)
        return limit * queues

    def _buffer(self, queues: Sequence[_Queue], device: Device, switch: dict[str, Any]) -> None:
        """That of most of the marked queues."""
        among = [q for q in queues if not device.marked or q.index in device.marked]
        name = _profile(among)
        if name is None:
            size = self.pool
            if size is None:
                raise Mistake(
                    f"{self.where}: BUFFER_QUEUE: has no profile of these queues, so no memory: "
                    "give it by --pool SIZE"
                )
            switch.update(buffer=f"{size}B", policy="shared")
            self.said.approximated("BUFFER_QUEUE", f"none: {size} bytes a port, by --pool")
            return
        row = self._named("BUFFER_PROFILE", name)
        where = f"BUFFER_PROFILE|{foreign.name(name)}"
        pool = row.get("pool", "")
        size = self._size_of(name)
        if size is None:
            raise Mistake(
                f"{self.where}: BUFFER_POOL|{foreign.name(pool)}: has no size (the switch finds "
                "it): give it by --pool SIZE"
            )
        device.profile = name
        device.buffered = [q.index for q in queues if q.profile == name]
        other = sorted(q.index for q in queues if q.profile != name)
        if other:
            self.said.approximated(
                "BUFFER_QUEUE",
                f"queues {', '.join(map(str, other))} have other profiles; the scenario gives all "
                f"{foreign.name(name)}",
            )
        if "size" in self.tables["BUFFER_POOL"][pool]:
            device.modelled.append(("BUFFER_POOL", pool, "size"))
        if row.get("size", "0") != "0":
            self.said.left_out(where, f"a reserve of {row['size']} bytes")
        if "dynamic_th" in row:
            power = self._number("BUFFER_PROFILE", name, row, "dynamic_th", 0)
            device.modelled.append(("BUFFER_PROFILE", name, "dynamic_th"))
            switch.update(buffer=f"{size}B", policy="dynamic", pool=f"{size}B", alpha=2.0**power)
            self.said.exact(where, f"dynamic_th {power}: alpha {2.0**power:g} of {size} bytes")
            return
        limit = self._number("BUFFER_PROFILE", name, row, "static_th", size)
        if limit >= size:
            switch.update(buffer=f"{size}B", policy="shared")
            self.said.approximated(
                where, f"static_th is all of the pool: here each port has {size} bytes of its own"
            )
            return
        reserve = self._number("BUFFER_PROFILE", name, row, "size", 0)
        if limit < PACKET <= reserve + limit:
            device.profile = None
            size_said = ("BUFFER_POOL", pool, "size")
            device.modelled = [each for each in device.modelled if each != size_said]
            limit += reserve
            switch.update(buffer=f"{limit * len(queues)}B", policy="static")
            self.said.approximated(where, f"static_th and reserve: {limit} bytes a queue")
            return
        if limit < PACKET:
            raise Mistake(
                f"{self.where}: {where}|static_th: {limit} bytes hold no packet: at least {PACKET}"
            )
        device.modelled.append(("BUFFER_PROFILE", name, "static_th"))
        switch.update(buffer=f"{limit * len(queues)}B", policy="static", pool=f"{size}B")
        self.said.exact(where, f"static_th: {limit} bytes a queue")

    def _left_out(self, queues: Sequence[_Queue]) -> None:
        for key, row in self.full.get("PORT_QOS_MAP", {}).items():
            if row.get("pfc_enable"):
                self.said.left_out(
                    f"PORT_QOS_MAP|{foreign.name(key)}|pfc_enable",
                    f"{row['pfc_enable']}: priority flow control is not in the scenario",
                )
                break
        for table, why in (
            ("DSCP_TO_TC_MAP", "a scenario's class is its queue's number"),
            ("DOT1P_TO_TC_MAP", "a scenario's class is its queue's number"),
            ("BUFFER_PG", "ingress accounts and headroom"),
            ("PFC_WD", "the watchdog"),
            ("SWITCH_TRIMMING", "trimming"),
        ):
            if self.full.get(table):
                self.said.left_out(table, why)
        ours = set(self.tables)
        for table, key, fields in schema.unknown(self.tables):
            if table not in ("SCHEDULER", "WRED_PROFILE"):
                names = ", ".join(map(foreign.name, fields))
                self.said.left_out(
                    f"{table}|{foreign.name(key)}",
                    f"{names}: no key of SONiC's published model: kept",
                )
        unknown = sorted(name for name in self.config if name not in ours)
        if unknown:
            self.said.left_out("tables", foreign.name(", ".join(unknown)))

    # The file.

    def _text(
        self,
        groups: Sequence[Sequence[str]],
        switch: Mapping[str, Any],
        schemes: Sequence[tuple[str, dict[str, Any]]],
    ) -> str:
        ports = [port for group in groups for port in group]
        speeds = [
            int(self.full["PORT"][p]["speed"])
            for p in ports
            if self.full.get("PORT", {}).get(p, {}).get("speed", "").isdigit()
        ]
        mbps = min(speeds) if speeds else UNKNOWN_RATE
        if not speeds:
            self.said.approximated("PORT", f"no speed is given: {UNKNOWN_RATE} Mbps is a guess")
        elif len(set(speeds)) > 1:
            self.said.approximated("PORT", f"speeds differ: all are the slowest, {mbps} Mbps")
        name, params = schemes[0]
        whose = [f"{foreign.name(each[0])} to {foreign.name(each[-1])}" for each in groups]
        lines = [
            f"# From {self.where}: [switch] and [scheme] are the switch's, as its ports "
            f"{whose[0]} have them.",
            "# All else is a beginning to be replaced: topology, delays, hosts and traffic are "
            "yours to say.",
            "",
            f'title = "A switch of SONiC\'s, {quantity.gbps(mbps * 10**6)} ports"',
            "",
            "[topology]",
            *_topology(groups, quantity.gbps(mbps * 10**6)),
            "",
            "[switch]",
            *_lines(switch),
            "",
            "[scheme]",
            f'name = "{name}"',
            *([f"params = {_inline(params)}"] if params else []),
            "",
            *(
                line
                for place, (other, own) in enumerate(schemes[1:], 1)
                for line in (
                    f"# As {whose[place]} have it.",
                    "[[deploy]]",
                    f'switches = "leaf{place}"',
                    f"scheme = {_inline({'name': other} | ({'params': own} if own else {}))}",
                    "",
                )
            ),
            "[transport]",
            'kind = "dctcp"',
            "",
            "[[traffic]]",
            'kind = "poisson"',
            "load = 0.5",
            "flows = 1000",
            'sizes = "web-search"',
            "",
            "[measure]",
            'queues = "off"',
            "",
        ]
        return "\n".join(lines)


def _topology(groups: Sequence[Sequence[str]], rate: str) -> list[str]:
    """A star; of ports that differ a leaf a kind, where nothing is oversubscribed."""
    if len(groups) == 1:
        hosts = max(2, min(len(groups[0]), HOSTS))
        return ['kind = "star"', f"hosts = {hosts}", f'rate = "{rate}"', 'delay = "5us"']
    each = max(2, min(max(map(len, groups)), HOSTS // 2))
    return [
        'kind = "leaf-spine"',
        f"leaves = {len(groups)}",
        f"spines = {each}",
        f"hosts_per_leaf = {each}",
        f'host_rate = "{rate}"',
        'host_delay = "5us"',
        f'fabric_rate = "{rate}"',
        'fabric_delay = "5us"',
    ]


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml.value(key, value)}" for key, value in values.items()]


def _inline(values: Mapping[str, Any]) -> str:
    return toml.value("params", values)


def _profile(queues: Sequence[_Queue]) -> str | None:
    """The buffer profile of most of these queues, if any has one."""
    counted = Counter(q.profile for q in queues if q.profile is not None)
    return max(counted, key=lambda each: (counted[each], each), default=None)


def _nvidia(config: Mapping[str, Any]) -> bool:
    """Whose chip it is, as far as the configuration tells."""
    about: Any = config.get("DEVICE_METADATA", {})
    about = about.get("localhost", {}) if isinstance(about, Mapping) else {}
    about = about if isinstance(about, Mapping) else {}
    told = f"{about.get('asic_type', '')} {about.get('platform', '')} {about.get('hwsku', '')}"
    return any(each in told.lower() for each in ("mellanox", "mlnx", "nvidia"))


def _by_port(full: Tables) -> dict[str, dict[int, dict[str, str]]]:
    """What is set of each port's queues."""
    found: dict[str, dict[int, dict[str, str]]] = {}
    for table in ("QUEUE", "BUFFER_QUEUE"):
        for key, row in full.get(table, {}).items():
            port, _, index = key.partition("|")
            found.setdefault(port, {}).setdefault(int(index), {}).update(row)
    return found


def _natural(port: str) -> tuple[str, int]:
    head = port.rstrip("0123456789")
    tail = port[len(head) :]
    return head, foreign.whole(tail) or 0
