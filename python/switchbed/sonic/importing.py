"""A switch's `config_db.json` as a scenario; what was left out is said, the rest kept beside it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from switchbed import beginning, foreign, quantity, toml
from switchbed._native import Mistake
from switchbed.sonic import marking, schema, unread
from switchbed.sonic.device import Device
from switchbed.sonic.finding import Findings
from switchbed.sonic.marking import Marking
from switchbed.sonic.memory import Buffers, Memory
from switchbed.sonic.reading import (
    PACKET,
    UNKNOWN_METRES,
    UNKNOWN_RATE,
    Queue,
    Reading,
    listed,
    queue,
    rows_by_port,
    runs,
)
from switchbed.sonic.trimming import trimmed, trimming

LINKS = "links"
"""The file of ports whose speeds differ, where the scenario has no name yet."""
_CLASSES = "a class is its queue's number at every port"
MAPS = {
    "dscp_to_tc_map": f"these DSCPs are of other classes there; here {_CLASSES}",
    "dot1p_to_tc_map": f"these priorities are of other classes there; here {_CLASSES}",
    "tc_to_queue_map": f"these classes are in other queues there; here {_CLASSES}",
    "tc_to_pg_map": "these classes fill other groups there; here a class has its own number's",
    "pfc_to_queue_map": "a pause stops another queue there; none of these is lossless here",
    "pfc_to_pg_map": "another group pauses there; none of these is lossless here",
    "tc_to_dscp_map": "packets are remarked otherwise there; nothing is remarked here",
}
"""Maps of a port by their fields in PORT_QOS_MAP, with what other maps at some ports change."""


@dataclass(frozen=True)
class Imported:
    """A scenario's text, what stands beside it, and what was found."""

    text: str
    device: Device
    findings: Findings
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that the scenario names, by name."""


@dataclass(frozen=True)
class Narrow:
    """Which ports an import is for."""

    ports: Sequence[str] = ()
    """Ports to import, with those that equal them in queues and speed; empty: all."""
    mbps: int | None = None
    """Speed of the ports to import, in Mbit/s; `None`: any."""


def load(
    config: Mapping[str, Any],
    where: str,
    ports: Sequence[str] = (),
    pool: int | None = None,
    *,
    mbps: int | None = None,
    stem: str = LINKS,
) -> Imported:
    """`ports` and `mbps`: which ports. `pool`: the memory, where the configuration leaves it to the
    switch. `stem`: the scenario's name, which a file beside it has, too."""
    found = _Import(Reading(config, where), Narrow(ports, mbps), pool, stem).imported()
    foreign.must_run(found.text, where, found.files)
    return found


class _Import:
    def __init__(self, reading: Reading, narrow: Narrow, pool: int | None, stem: str) -> None:
        self.reading, self.said, self.where = reading, reading.said, reading.where
        self.narrow, self.pool, self.stem = narrow, pool, stem
        self.rows = rows_by_port(reading.full)

    def imported(self) -> Imported:
        ports = self._ports()
        # The ports are alike: the first stands for all.
        queues = self._queues(ports[0])
        self._maps(ports)
        device = Device(self.reading.tables, ports=list(ports), count=len(queues))
        device.nvidia = _nvidia(self.reading.about)
        switch, rules = self._scheduling(queues, device)
        memory = Buffers(self.reading, ports, queues, self.pool).memory(device)
        marks = self._marking(queues, device, memory)
        usual = _usual(marks)
        for index, own in memory.queues.items():
            rules.setdefault(index, {}).update(own)
        if usual.drops is not None:
            switch["unmarkable"] = _unmarkable(usual)
        for mine in queues:
            mark = marks[mine.index]
            if mark != usual:
                rules.setdefault(mine.index, {})["scheme"] = _scheme(mark)
            if mark.drops is not None and mark.drops != usual.drops:
                rules[mine.index]["unmarkable"] = _unmarkable(mark)
        switch |= memory.switch
        cut = trimming(self.reading, ports[0], queues)
        device.modelled = list(dict.fromkeys(device.modelled))
        if "priorities" in memory.pfc and not cut:
            classes = ", ".join(map(str, memory.pfc["priorities"]))
            self.said.approximated(
                "transport.kind",
                f"dctcp: a switch's configuration names no hosts, and classes {classes} are "
                "lossless: dcqcn where they send RoCE",
            )
        self._left_out(ports, device)
        self.said.settle()
        files: dict[str, str] = {}
        text = "\n".join(
            [
                *self._head(ports),
                *self._topology(ports, files),
                "",
                "[switch]",
                *_lines(switch),
                "",
                *(["[switch.pfc]", *_lines(memory.pfc), ""] if "priorities" in memory.pfc else []),
                *(["[switch.trimming]", *_lines(cut), ""] if cut else []),
                *_entries(rules),
                "[scheme]",
                *_lines(_scheme(usual)),
                "",
                "[transport]",
                f'kind = "{"nscc" if cut else "dctcp"}"',
                "",
                *self._traffic(ports, marks, usual, memory),
                "[measure]",
                'queues = "off"',
                "",
            ]
        )
        return Imported(text, device, self.said, files)

    # Which ports.

    def _ports(self) -> list[str]:
        """Ports whose queues are set alike: those that are asked for, or else the most."""
        named = set(self.rows) | set(self.reading.full.get("PORT", {}))
        if not named:
            raise Mistake(
                f"{self.where}: has no PORT, QUEUE or BUFFER_QUEUE: nothing to make ports of; "
                "a switch of several chips has a file of each, as config_db0.json"
            )
        for port in self.narrow.ports:
            if port not in named:
                raise Mistake(f"--port {foreign.name(port)}: {self.where} has no such port")
            if self.narrow.mbps not in (None, self.reading.speed(port)):
                raise Mistake(f"--port {foreign.name(port)}: --like asks for another speed")
        among = sorted(named, key=_natural)
        if self.narrow.ports:
            speeds = {self.reading.speed(port) for port in self.narrow.ports}
            among = [port for port in among if self.reading.speed(port) in speeds]
        if self.narrow.mbps is not None:
            among = [port for port in among if self.reading.speed(port) == self.narrow.mbps]
            if not among:
                there = {self.reading.speed(port) for port in named}
                shown = ", ".join(_rate(mbps) for mbps in sorted(filter(None, there)))
                raise Mistake(
                    f"--like {_rate(self.narrow.mbps)}: {self.where} has no port of that speed: "
                    f"there are {shown or 'none with a speed'}"
                )
        # By content, since profiles of other names may say the same.
        groups: dict[tuple[Any, ...], list[str]] = {}
        for port in among:
            groups.setdefault(self._signature(port), []).append(port)
        if self.narrow.ports:
            first = self.narrow.ports[0]
            found = next(each for each in groups.values() if first in each)
            other = next((port for port in self.narrow.ports if port not in found), None)
            if other is not None:
                raise Mistake(
                    f"--port {foreign.name(other)}: its queues differ from "
                    f"{foreign.name(first)}'s: a scenario's ports are alike"
                )
        else:
            # Of equally many the first by number.
            found = max(groups.values(), key=len)
        for each in groups.values():
            if each is not found:
                self.said.left_out(
                    "QUEUE",
                    f"{len(each)} ports ({foreign.some(each)}) whose queues or PFC differ from "
                    f"{foreign.name(found[0])}'s: --port {foreign.name(each[0])} imports these",
                )
        rest = len(named) - len(among)
        if rest:
            self.said.left_out("PORT", f"{rest} ports of other speeds stay as they are")
        return found

    def _signature(self, port: str) -> tuple[Any, ...]:
        """Return the settings of a port's queues, in a form that is equal for equal settings under
        other names."""
        content = self.reading.content
        queues = tuple(
            (
                each.index,
                each.strict,
                each.weight,
                content("WRED_PROFILE", each.wred),
                content("BUFFER_PROFILE", each.profile),
            )
            for each in self._set(port)
        )
        return queues, self._pauses(port), trimmed(self.reading, port)

    def _pauses(self, port: str) -> tuple[Any, ...]:
        """Return the priorities that pause at a port, each with the queue that it stops and the
        group that it is for."""
        of = self.reading.map_of
        queues, groups, classes = (
            of(port, name) or {} for name in ("pfc_to_queue_map", "pfc_to_pg_map", "tc_to_pg_map")
        )
        enabled = self.reading.of_port(port).get("pfc_enable", "").split(",")
        return tuple(
            (each, queues.get(each, each), groups.get(each), classes.get(each, each))
            for each in sorted(set(enabled))
        )

    def _set(self, port: str) -> list[Queue]:
        """The queues that the configuration has of a port."""
        return [queue(self.reading, i, row) for i, row in sorted(self.rows.get(port, {}).items())]

    def _queues(self, port: str) -> list[Queue]:
        """All queues from 0 to the last that is set or lossless."""
        found = {each.index: each for each in self._set(port)}
        row = self.reading.of_port(port) if found else {}
        enabled = [each for each in row.get("pfc_enable", "").split(",") if each]
        stops = self.reading.map_of(port, "pfc_to_queue_map") or {}
        # A lossless class is a queue, though no row may name it: at its own number or the map's.
        lossless = [int(each) for each in (*enabled, *(stops.get(each, each) for each in enabled))]
        last = max([0, *found, *lossless])
        between = [index for index in range(last) if index not in found and found]
        if between:
            self.said.approximated(
                "QUEUE", f"queue {listed(between)}: nothing is set: the chip's own, here weight 1"
            )
        return [found.get(index, Queue(index)) for index in range(last + 1)]

    # The switch.

    def _scheduling(
        self, queues: Sequence[Queue], device: Device
    ) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
        strict = [each.index for each in queues if each.strict]
        if len(strict) == len(queues):
            strict = strict[1:]  # the lowest has nobody below it
        bare = [q.index for q in queues if q.scheduler is None and (q.wred or q.profile)]
        if bare and len(queues) > 1:
            self.said.approximated(
                "QUEUE", f"queue {listed(bare)}: no scheduler: the chip's own, here weight 1"
            )
        device.schedulers = {q.index: q.scheduler for q in queues if q.scheduler is not None}
        for name in dict.fromkeys(device.schedulers.values()):
            self._scheduler(name, device, alone=len(queues) == 1)
        used = {*device.schedulers.values()}
        unread.unused(self.reading.tables, "SCHEDULER", used, self.said)
        if len(queues) > 1:
            order = f"; strict: {listed(strict)}, the highest first" if strict else ""
            weights = ", ".join(str(q.weight) for q in queues if q.index not in strict)
            self.said.exact("QUEUE", f"{len(queues)} queues, weights {weights}{order}")
        switch = {
            "queues": len(queues),
            "classify": "class" if len(queues) > 1 else "single",
            "discipline": "dwrr",
            # A strict queue's quantum says nothing: the least.
            "quantum": [f"{(1 if q.index in strict else q.weight) * PACKET}B" for q in queues],
        }
        if strict:
            switch["strict_order"] = "highest"
        return switch, {index: {"strict": True} for index in strict}

    def _scheduler(self, name: str, device: Device, *, alone: bool) -> None:
        kind = self.reading.full["SCHEDULER"][name]["type"]
        row = self.reading.tables["SCHEDULER"][name]
        if kind == "WRR" and not alone:
            self.said.approximated(
                f"SCHEDULER|{foreign.name(name)}|type",
                "WRR counts packets; here it is dwrr, which counts bytes",
            )
        elif kind == "DWRR":
            device.modelled.append(("SCHEDULER", name, "type"))
        if kind != "STRICT" and "weight" in row:
            device.modelled.append(("SCHEDULER", name, "weight"))
        for key in row:
            if key not in ("type", "weight"):
                text = foreign.name(row[key])
                if key in ("cir", "pir", "cbs", "pbs"):
                    text += ": queues are not shaped here, and may send at the line's rate"
                self.said.left_out(f"SCHEDULER|{foreign.name(name)}|{foreign.name(key)}", text)

    def _marking(
        self, queues: Sequence[Queue], device: Device, memory: Memory
    ) -> dict[int, Marking]:
        """Read the WRED settings of each queue."""
        used = {each.wred for each in queues if each.wred is not None}
        if not used:
            self.said.exact("WRED_PROFILE", "no queue has any: nothing is marked")
        unread.unused(self.reading.tables, "WRED_PROFILE", used, self.said)
        of: dict[str, Marking] = {}
        for name in sorted(used):
            mine = [q.index for q in queues if q.wred == name]
            limits = [memory.lossless.get(index, memory.limit) for index in mine]
            # A queue of several may hold the most.
            most = max((each for each in limits if each is not None), default=None)
            of[name] = marking.of_profile(self.reading, name, most, nvidia=device.nvidia)
            device.modelled += [("WRED_PROFILE", name, key) for key in of[name].fields]
        found: dict[int, Marking] = {}
        for each in queues:
            mark = of[each.wred] if each.wred is not None else Marking()
            # Two profiles of one content have one scheme.
            found[each.index] = replace(mark, fields=())
            if each.wred is not None and mark.scheme != marking.NO_MARKS:
                device.marks[each.index] = each.wred
        kinds: dict[str, list[int]] = {}
        for index, mark in found.items():
            kinds.setdefault(str(_scheme(mark)), []).append(index)
        if len(kinds) > 1:
            for mine in kinds.values():
                name = foreign.name(str(queues[mine[0]].wred))
                text = (
                    "no marks"
                    if found[mine[0]].scheme == marking.NO_MARKS
                    else f"marks as {name}'s"
                )
                self.said.exact("QUEUE", f"queue {listed(mine)}: {text}")
        return found

    def _maps(self, ports: Sequence[str]) -> None:
        """Says where a class is not its queue, or not in its queue's group, and which ports have
        other maps than most."""
        usual: dict[str, str] = {}
        for name, changes in MAPS.items():
            kinds: dict[str, list[str]] = {}
            for port in ports:
                # By content, since maps of other names may say the same.
                kinds.setdefault(str(self.reading.map_of(port, name)), []).append(port)
            most = max(kinds.values(), key=len)
            usual[name] = most[0]
            for mine in kinds.values():
                if mine is not most:
                    differ = self._differ(name, mine, most[0])
                    self.said.approximated(f"PORT_QOS_MAP|{name}", f"{differ}: {changes}")
        port = usual["tc_to_queue_map"]
        classes = self.reading.map_of(port, "tc_to_queue_map") or {}
        moved = [f"{tc} to {to}" for tc, to in classes.items() if tc != to]
        if moved:
            name = self.reading.of_port(port)["tc_to_queue_map"]
            self.said.approximated(
                f"TC_TO_QUEUE_MAP|{foreign.name(name)}",
                f"traffic class {foreign.some(moved)}: a scenario's class is its queue's number",
            )
        self._groups_of(usual["tc_to_pg_map"])

    def _differ(self, name: str, ports: Sequence[str], most: str) -> str:
        """Return which map some ports have, and its fields that another port's has otherwise."""
        mine, usual = (self.reading.map_of(port, name) for port in (ports[0], most))
        has = f"{foreign.some(ports)} {'has' if len(ports) == 1 else 'have'}"
        if mine is None:
            return f"{has} none"
        keys = sorted({*mine, *(usual or {})}, key=int)
        values = [(key, mine.get(key, "none"), (usual or {}).get(key, "none")) for key in keys]
        text = foreign.some(f"{key} to {a} (elsewhere {b})" for key, a, b in values if a != b)
        return f"{has} {foreign.name(self.reading.of_port(ports[0])[name])}: {text}"

    def _groups_of(self, port: str) -> None:
        """Says which lossless classes are counted in other groups, or lossy ones in theirs."""
        row = self.reading.of_port(port)
        groups = self.reading.map_of(port, "tc_to_pg_map") or {}
        enabled = [each for each in row.get("pfc_enable", "").split(",") if each]
        mixed = [
            f"{tc} to {group}"
            for tc, group in groups.items()
            if tc != group and (tc in enabled or group in enabled)
        ]
        if mixed:
            self.said.approximated(
                f"TC_TO_PRIORITY_GROUP_MAP|{foreign.name(row['tc_to_pg_map'])}",
                f"traffic class {foreign.some(mixed)}: here a lossless class has the group of its "
                "own number, and no other class is in it",
            )

    def _left_out(self, ports: Sequence[str], device: Device) -> None:
        unread.name(self.reading.tables, list(ports), self.said)
        for table, why in (
            ("DSCP_TO_TC_MAP", "a scenario's class is its queue's number"),
            ("DOT1P_TO_TC_MAP", "a scenario's class is its queue's number"),
            ("TC_TO_DSCP_MAP", "nothing is remarked here"),
            (
                "PFC_WD",
                "the watchdog, which drops or forwards in a storm: switch.pfc.watchdog has it",
            ),
            ("LOSSLESS_TRAFFIC_PATTERN", "headroom here is for packets of the scenario's lengths"),
            (
                "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
                "what the switch computes headroom by itself from",
            ),
        ):
            if self.reading.full.get(table) and not device.says_table(table):
                self.said.left_out(table, why)
        # Newer fields are in the rows of all ports: one line for those that are alike.
        rows: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for table, key, fields in schema.unknown(self.reading.tables):
            if table not in ("SCHEDULER", "WRED_PROFILE"):
                rows.setdefault((table, tuple(fields)), []).append(key)
        for (table, alike), keys in rows.items():
            names = ", ".join(map(foreign.name, alike))
            self.said.left_out(
                f"{table}|{foreign.some(keys)}",
                f"{names}: no key of SONiC's published model: kept",
            )
        known = {*self.reading.tables, "DEVICE_METADATA"}
        unknown = sorted(name for name in self.reading.config if name not in known)
        if unknown:
            self.said.left_out("tables", foreign.name(", ".join(unknown)))

    # The file.

    def _head(self, ports: Sequence[str]) -> list[str]:
        whose = f"{foreign.name(ports[0])} to {foreign.name(ports[-1])}"
        speeds = sorted({_rate(self._mbps(port)) for port in ports}, key=quantity.rate)
        return [
            f"# From {self.where}: [switch], its queues and [scheme] are the switch's, as its "
            f"ports {whose} have them.",
            "# All else is a beginning to be replaced: delays, hosts and traffic are yours to say.",
            "",
            f'title = "A switch of SONiC\'s, {" and ".join(speeds)} ports"',
            "",
        ]

    def _mbps(self, port: str) -> int:
        return self.reading.link(port)[0]

    def _delay(self, port: str) -> str:
        return f"{self.reading.link(port)[1]}ns"

    def _topology(self, ports: Sequence[str], files: dict[str, str]) -> list[str]:
        """A star of the ports' rates; of several rates by a file."""
        bare = [port for port in ports if self.reading.speed(port) is None]
        if bare:
            which = "" if len(bare) == len(ports) else f"{foreign.some(bare)}: "
            self.said.approximated(
                "PORT", f"{which}no speed is given: {UNKNOWN_RATE} Mbps is a guess"
            )
        if all(self.reading.metres(port) is None for port in ports):
            self.said.approximated(
                "CABLE_LENGTH",
                f"none is given: {UNKNOWN_METRES} m, {self._delay(ports[0])}, are a guess",
            )
        lines = {(self._mbps(port), self._delay(port)) for port in ports}
        if len(lines) == 1:
            ((mbps, delay),) = lines
            return [
                "[topology]",
                'kind = "star"',
                f"hosts = {max(2, len(ports))}",
                f'rate = "{_rate(mbps)}"',
                f'delay = "{delay}"',
            ]
        speeds = Counter(self._mbps(port) for port in ports)
        shown = ", ".join(f"{count} of {_rate(mbps)}" for mbps, count in sorted(speeds.items()))
        self.said.exact("PORT", f"{shown}: each port has its own rate and cable")
        name = f"{self.stem}.csv"
        hosts = [_host(port) for port in ports]
        rows = zip(hosts, ports, strict=True)
        files[name] = "\n".join(
            [
                "node,tier",
                *(f"{host},host" for host in hosts),
                "switch,switch",
                "from,to,rate,delay",
                *(f"{h},switch,{_rate(self._mbps(p))},{self._delay(p)}" for h, p in rows),
                "",
            ]
        )
        return ["[topology]", 'kind = "file"', f"path = {toml.value('path', name)}"]

    def _traffic(
        self, ports: Sequence[str], marks: Mapping[int, Marking], usual: Marking, memory: Memory
    ) -> list[str]:
        """Flows among the ports of the most common speed, in the first class that marks."""
        marked = next((i for i, mark in marks.items() if mark == usual), 0)
        speeds = Counter(self._mbps(port) for port in ports)
        # Of equally many the fastest.
        mbps = max(speeds, key=lambda each: (speeds[each], each))
        hosts = [i for i, port in enumerate(ports) if self._mbps(port) == mbps]
        among = [f"{a}-{b}" if a != b else str(a) for a, b in runs(hosts)]
        parts = int((memory.chip or {}).get("partitions") or 1)
        shared = memory.lossless.get(marked, memory.limit) or 0
        found = beginning.traffic(
            among if len(speeds) > 1 else [], len(hosts), mbps * 10**6, shared // parts, marked
        )
        if len(speeds) > 1 and len(hosts) == 1:
            # No two ports are alike: from a slow one, which cannot overload a fast one.
            slow = min(range(len(ports)), key=lambda i: self._mbps(ports[i]))
            found[0]["from"] = [str(slow)]
        if len(found) == 1:
            self.said.left_out(
                "traffic", f"{len(hosts)} ports of one speed: no incast, for which three are needed"
            )
        return [line for each in found for line in ("[[traffic]]", *_lines(each), "")]


def _usual(marks: Mapping[int, Marking]) -> Marking:
    """The marking of most queues that mark; of equally many that of the lowest."""
    # By text, as a marking's parameters have no hash.
    counted = Counter(str(mark) for mark in marks.values() if mark.scheme != marking.NO_MARKS)
    found = [mark for mark in marks.values() if mark.scheme != marking.NO_MARKS]
    return max(found, key=lambda mark: counted[str(mark)], default=Marking())


def _scheme(mark: Marking) -> dict[str, Any]:
    return {"name": mark.scheme} | ({"params": dict(mark.params)} if mark.params else {})


def _unmarkable(mark: Marking) -> str:
    return "drop" if mark.drops else "pass"


def _entries(rules: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """`[[switch.queue]]`, one for all queues of the same rules."""
    alike: dict[str, list[int]] = {}
    for index, own in sorted(rules.items()):
        if own:
            alike.setdefault(str(sorted(own.items())), []).append(index)
    lines = []
    for mine in alike.values():
        spans = [f"{a}-{b}" if a != b else a for a, b in runs(mine)]
        which = spans[0] if len(spans) == 1 else spans
        lines += ["[[switch.queue]]", f"queue = {toml.value('queue', which)}"]
        lines += [*_lines(rules[mine[0]]), ""]
    return lines


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml.value(key, value)}" for key, value in values.items()]


def _rate(mbps: int) -> str:
    return quantity.gbps(mbps * 10**6)


def _host(port: str) -> str:
    return port.replace("/", "_")


def _nvidia(about: Mapping[str, Any]) -> bool:
    """Return whether the chip is NVIDIA's, as far as the configuration shows."""
    words = f"{about.get('asic_type', '')} {about.get('platform', '')} {about.get('hwsku', '')}"
    return any(each in words.lower() for each in ("mellanox", "mlnx", "nvidia"))


def _natural(port: str) -> tuple[str, int]:
    head = port.rstrip("0123456789")
    # Ethernet8 before Ethernet12.
    tail = port[len(head) :]
    return head, foreign.whole(tail) or 0
