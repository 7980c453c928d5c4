"""Fields of SONiC's models that no scenario has a place for, and what they may change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from switchbed import foreign
from switchbed.sonic.finding import Findings
from switchbed.sonic.tidy import Tables


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
    Unread("PORT", "mtu", "packets are of host.mtu here, whatever a port takes"),
    Unread("PORT", "admin_status", "a port that is down carries nothing; here it does", ("up",)),
    Unread("PORT", "autoneg", "the speed may be another than it says", ("off",)),
    Unread("PORT", "pfc_asym", "pauses go one way alone; here both ways", ("off",)),
    Unread("PORT_QOS_MAP", "scheduler", "the port is shaped; here it sends at the line's rate"),
    Unread(
        "PORT_QOS_MAP",
        "pfcwd_sw_enable",
        "the watchdog's classes: switch.pfc.watchdog has it, and poll and poll_rule SONiC's looks",
    ),
    Unread("BUFFER_POOL", "percentage", "a part of what the switch finds is free: --pool has it"),
    Unread("BUFFER_PROFILE", "headroom_type", "headroom that the switch computes", ("static",)),
)
OF_PORTS = ("PORT", "PORT_QOS_MAP")


def name(tables: Tables, ports: list[str], said: Findings) -> None:
    """Name each of them that rows of these ports have, once."""
    mine = {*ports, "global"}
    for each in UNREAD:
        values = dict.fromkeys(_values(each, tables, mine))
        if values:
            said.left_out(f"{each.table}|{each.name}", f"{foreign.some(values)}: {each.means}")


def _values(each: Unread, tables: Tables, ports: set[str]) -> Iterator[str]:
    rows: Mapping[str, Mapping[str, str]] = tables.get(each.table, {})
    for key, row in rows.items():
        mine = each.table not in OF_PORTS or key in ports
        if mine and each.name in row and row[each.name] not in each.idle:
            yield row[each.name]


def unused(tables: Tables, table: str, used: set[str], said: Findings) -> None:
    """Say which rows of a table no queue of the ports has."""
    idle = sorted(set(tables.get(table, {})) - used)
    if idle:
        said.left_out(table, f"no queue of these ports has {foreign.some(idle)}")
