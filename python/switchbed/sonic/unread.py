"""Rows and fields of SONiC's tables that no scenario has a place for, and what they may change."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from switchbed import foreign
from switchbed.sonic.finding import Findings
from switchbed.sonic.normalised import Tables
from switchbed.sonic.schema import TABLES


@dataclass(frozen=True)
class Unread:
    """A field of a table."""

    table: str
    name: str
    means: str
    """Effect that it may have."""
    idle: tuple[str, ...] = ()
    """Values that change nothing here."""


UNREAD = (
    Unread(
        "PORT",
        "mtu",
        "packets are of host.mtu here, whatever a port takes; longer ones need more headroom than "
        'is computed or `check` counts: host.mtu = "9100B", say',
    ),
    Unread("PORT", "admin_status", "a port that is down carries nothing; here it does", ("up",)),
    Unread("PORT", "autoneg", "the speed may be another than it says", ("off",)),
    Unread("PORT", "pfc_asym", "pauses go one way alone; here both ways", ("off",)),
    Unread("PORT", "fec", "its delay and what it leaves unrepaired: topology.delay", ("none",)),
    Unread("PORT_QOS_MAP", "scheduler", "the port is shaped; here it sends at the line's rate"),
    Unread(
        "PORT_QOS_MAP",
        "pfcwd_sw_enable",
        "the watchdog's classes: switch.pfc.watchdog has it, and poll and poll_rule SONiC's looks",
        ("",),
    ),
    Unread("BUFFER_POOL", "mode", "a profile's own dynamic_th or static_th counts"),
    Unread("BUFFER_POOL", "percentage", "a part of what the switch finds is free: --pool has it"),
    Unread("BUFFER_PROFILE", "headroom_type", "headroom that the switch computes", ("static",)),
)
OF_PORTS = ("PORT", "PORT_QOS_MAP")
READ = ("speed", *(each.name for each in UNREAD if each.table == "PORT"))
"""PORT's fields that are read or named by what they may change."""


def name(tables: Tables, ports: list[str], said: Findings) -> None:
    """Name each of them that rows of these ports have, once."""
    mine = {*ports, "global"}
    for each in UNREAD:
        values = dict.fromkeys(_values(each, tables, mine))
        if values:
            said.left_out(f"{each.table}|{each.name}", f"{foreign.some(values)}: {each.means}")
    known = [field for field in TABLES["PORT"].fields if field not in READ]
    there = {field for key, row in tables.get("PORT", {}).items() if key in mine for field in row}
    rest = [field for field in known if field in there]
    if rest:
        said.left_out(f"PORT|{', '.join(rest)}", "names and wiring, on which nothing here depends")


def _values(each: Unread, tables: Tables, ports: set[str]) -> Iterator[str]:
    rows: Mapping[str, Mapping[str, str]] = tables.get(each.table, {})
    for key, row in rows.items():
        mine = each.table not in OF_PORTS or key in ports
        if mine and each.name in row and row[each.name] not in each.idle:
            yield row[each.name]


def unused(tables: Tables, table: str, used: set[str], said: Findings, by: str = "queue") -> None:
    """Say which rows of a table no queue of the ports has."""
    idle = sorted(set(tables.get(table, {})) - used)
    if idle:
        said.left_out(table, f"no {by} of these ports has {foreign.some(idle)}")


LAST_QUEUE = 9
"""The last that a traffic class leads to (sonic-tc-queue-map.yang)."""


def applied(tables: Tables, said: Findings) -> Tables:
    """Return the rows that a port's unicast queues have. Others are said: rows of ports that PORT
    lacks, of queues for multicast, and with a buffer profile that is not there."""
    found = dict(tables)
    ports = tables.get("PORT", {})
    for name, rows in tables.items():
        if not TABLES[name].ports:
            continue
        known = {*ports, "global", "GLOBAL"}
        mine = {key: row for key, row in rows.items() if not ports or _port(key) in known}
        gone = dict.fromkeys(_port(key) for key in rows if key not in mine)
        if gone:
            said.left_out(name, f"PORT has no {foreign.some(gone)}: rows of no port of these")
        if name in ("QUEUE", "BUFFER_QUEUE"):
            beyond = [key for key in mine if int(key.partition("|")[2]) > LAST_QUEUE]
            if beyond:
                said.left_out(
                    name, f"queues over {LAST_QUEUE}: no traffic class leads there, as to multicast"
                )
            mine = {key: row for key, row in mine.items() if key not in set(beyond)}
        found[name] = mine
    for name in ("BUFFER_QUEUE", "BUFFER_PG"):
        rows = found.get(name, {})
        missing = {key: row["profile"] for key, row in rows.items() if _waits(row, tables)}
        if missing:
            found[name] = {key: row for key, row in rows.items() if key not in missing}
            said.left_out(
                name,
                f"BUFFER_PROFILE has no {foreign.some(dict.fromkeys(missing.values()))}: "
                f"the switch leaves {foreign.some(missing)} alone until it has",
            )
    return found


def _port(key: str) -> str:
    """Port of a row's key."""
    return key.partition("|")[0]


def _waits(row: Mapping[str, str], tables: Tables) -> bool:
    """Whether a row names a buffer profile that is neither there nor made by the switch."""
    name = row.get("profile")
    makes = TABLES["BUFFER_PG"].fields["profile"].makes
    return bool(
        name
        and name != "NULL"
        and name not in tables.get("BUFFER_PROFILE", {})
        and not re.fullmatch(makes, name)
    )
