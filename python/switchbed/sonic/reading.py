"""A configuration that is being read: its tables, and a line for whatever is wrong in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from switchbed import foreign
from switchbed._native import Mistake
from switchbed.headroom import NS_PER_METRE
from switchbed.sonic import schema, unread
from switchbed.sonic.finding import Findings
from switchbed.sonic.normalised import Tables, meant, normalised, unfolded

PACKET = 1500
"""Bytes of a weight of 1 in a quantum, since weights are ratios; and the least memory."""
UNKNOWN_RATE = 10_000
"""Mbps of a port without a speed."""
UNKNOWN_METRES = 1_000
"""Of a cable that CABLE_LENGTH lacks."""


@dataclass
class Reading:
    """A `config_db.json` and what was found in it."""

    config: Mapping[str, Any]
    where: str
    said: Findings = field(default_factory=Findings)
    tables: Tables = field(init=False)
    full: Tables = field(init=False)
    """With what missing fields mean."""

    def __post_init__(self) -> None:
        self.where = foreign.name(self.where)
        self.config = unfolded(self.config)
        _one_chip(self.config, self.where)
        _no_chassis(self.config, self.where)
        self.tables = normalised(self.config, self.where)
        applied = unread.applied(self.tables, self.said)
        for problem in schema.check(applied, open_=True):
            raise Mistake(f"{self.where}: {problem}")
        self.full = meant(applied)

    @property
    def about(self) -> Mapping[str, Any]:
        """DEVICE_METADATA of the device, as far as there is any."""
        return _about(self.config)

    def named(self, table: str, name: str) -> Mapping[str, str]:
        """The row of a table that another row names."""
        row = self.full.get(table, {}).get(name)
        if row is None:
            raise Mistake(
                f"{self.where}: {table}: has no {foreign.name(name)}, which a queue names"
            )
        return row

    def number(
        self, table: str, name: str | None, row: Mapping[str, str], key: str, default: int
    ) -> int:
        """A whole number of a row."""
        found = foreign.whole(row.get(key, str(default)))
        if found is None:
            where = f"{table}|{foreign.name(str(name))}|{key}"
            raise Mistake(
                f"{self.where}: {where}: is {foreign.shown(row[key])}: a whole number is needed"
            )
        return found

    def content(self, table: str, name: str | None) -> Any:
        """Return a row's content without its name."""
        row = self.full.get(table, {}).get(name or "")
        return None if row is None else tuple(sorted(row.items()))

    def of_port(self, port: str) -> Mapping[str, str]:
        """PORT_QOS_MAP's row of a port, over the one of all ports."""
        rows = self.full.get("PORT_QOS_MAP", {})
        # The port's own fields win.
        return {**rows.get("global", {}), **rows.get(port, {})}

    def map_of(self, port: str, name: str) -> dict[str, str] | None:
        """The map that a field of PORT_QOS_MAP names for a port, in the order of its numbers."""
        named, to = self.of_port(port).get(name), schema.TABLES["PORT_QOS_MAP"].fields[name].to
        if named in (None, "NULL") or to is None:
            return None
        row = self.full.get(to, {}).get(str(named), {})
        return {key: row[key] for key in sorted(row, key=int)}

    def speed(self, port: str) -> int | None:
        """Mbps of a port."""
        text = self.full.get("PORT", {}).get(port, {}).get("speed", "")
        return int(text) if text.isdigit() else None

    def metres(self, port: str) -> int | None:
        """Length of a port's cable."""
        for row in self.full.get("CABLE_LENGTH", {}).values():
            if port in row:
                # Lengths are written `40m`.
                return int(row[port].removesuffix("m"))
        return None

    def link(self, port: str) -> tuple[int, int]:
        """Mbps of a port's link, and its delay in nanoseconds; guesses where nothing is told."""
        metres = self.metres(port)
        metres = UNKNOWN_METRES if metres is None else max(metres, 1)
        return self.speed(port) or UNKNOWN_RATE, metres * NS_PER_METRE


def _about(config: Mapping[str, Any]) -> Mapping[str, Any]:
    about: Any = config.get("DEVICE_METADATA", {})
    about = about.get("localhost", {}) if isinstance(about, Mapping) else {}
    return about if isinstance(about, Mapping) else {}


def _one_chip(config: Mapping[str, Any], where: str) -> None:
    """Refuses all chips of a switch in one file."""
    chips = sorted(
        name
        for name, tables in config.items()
        if isinstance(tables, Mapping) and isinstance(tables.get("PORT"), Mapping)
    )
    if chips and "PORT" not in config:
        raise Mistake(
            f"{where}: has {foreign.some(chips)}, a switch of several chips: one chip's tables are "
            "needed, as of show runningconfiguration all -n asic0"
        )


def _no_chassis(config: Mapping[str, Any], where: str) -> None:
    """Refuses a line card whose queues stand at other line cards."""
    kind = str(_about(config).get("switch_type", ""))
    tables = [name for name in ("SYSTEM_PORT", "VOQ_INBAND_INTERFACE") if config.get(name)]
    rows = config.get("QUEUE", {})
    # Queues of a VOQ chassis have keys HOST|ASIC|PORT|QUEUE.
    far = [key for key in rows if key.count("|") > 1] if isinstance(rows, Mapping) else []
    if kind not in ("voq", "fabric", "chassis-packet") and not tables and not far:
        return
    if kind:
        sign = f"DEVICE_METADATA|localhost|switch_type is {foreign.name(kind)}"
    else:
        sign = f"it has {tables[0]}" if tables else f"QUEUE has {foreign.name(far[0])}"
    raise Mistake(
        f"{where}: {sign}: this is a part of a VOQ chassis, whose packets wait at the line card "
        "that they came in on until the fabric grants them; a scenario's switches queue at their "
        "outputs: a switch of one chip is needed"
    )


@dataclass(frozen=True)
class Queue:
    """Settings of one queue."""

    index: int
    scheduler: str | None = None
    strict: bool = False
    weight: int = 1
    wred: str | None = None
    profile: str | None = None


def rows_by_port(full: Tables) -> dict[str, dict[int, dict[str, str]]]:
    """Return the settings of each port's queues."""
    found: dict[str, dict[int, dict[str, str]]] = {}
    for table in ("QUEUE", "BUFFER_QUEUE"):
        for key, row in full.get(table, {}).items():
            port, _, index = key.partition("|")
            # Both tables describe the same queue: one row of them.
            found.setdefault(port, {}).setdefault(int(index), {}).update(row)
    return found


def queue(reading: Reading, index: int, row: Mapping[str, str]) -> Queue:
    """One that a row of QUEUE and one of BUFFER_QUEUE make."""
    name = row.get("scheduler")
    scheduler = reading.named("SCHEDULER", name) if name else {}
    for table, key in (("WRED_PROFILE", "wred_profile"), ("BUFFER_PROFILE", "profile")):
        if row.get(key):
            reading.named(table, row[key])
    return Queue(
        index,
        name,
        strict=scheduler.get("type") == "STRICT",
        weight=reading.number("SCHEDULER", name, scheduler, "weight", 1),
        wred=row.get("wred_profile"),
        profile=row.get("profile"),
    )


def listed(queues: Sequence[int]) -> str:
    """Queues in a message: `0 to 2, 5`."""
    return ", ".join(
        str(first) if first == last else f"{first} to {last}" for first, last in runs(queues)
    )


def runs(queues: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring numbers together: the first and the last of each run."""
    found: list[tuple[int, int]] = []
    for index in sorted(queues):
        if found and found[-1][1] == index - 1:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return found
