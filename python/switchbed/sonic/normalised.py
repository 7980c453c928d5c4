"""Configurations that say the same made equal: rows of ranges and lists taken apart, blanks and old
brackets gone, missing fields as what they mean."""

import re
from collections.abc import Mapping
from typing import Any

from switchbed import foreign
from switchbed._native import Mistake
from switchbed.sonic.schema import DEFAULTS, TABLES, Config, dynamic

RANGED = ("QUEUE", "BUFFER_QUEUE", "BUFFER_PG")
PORTED = (
    *RANGED,
    "PORT_QOS_MAP",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_PORT_EGRESS_PROFILE_LIST",
    "PFC_WD",
)
LOSSLESS_POOL = "ingress_lossless_pool"
"""The pool of profiles that a switch makes for lossless groups (sonic-swss, buffermgr)."""
MOST_INDEX = 63
"""Of a queue or a group; a CPU's port has the most queues."""
LISTS = ("adv_speeds", "adv_interface_types", "profile_list")
"""Fields that SONiC's tools write as a list, too."""
Tables = dict[str, dict[str, dict[str, str]]]


def normalised(config: Config, where: str = "config") -> Tables:
    """Our tables alone, a row a port and queue."""
    found: Tables = {}
    for name in config:
        if name not in TABLES:
            continue
        if not isinstance(config[name], Mapping):
            raise Mistake(f"{where}: {name}: an object of rows is needed")
        rows = found.setdefault(name, {})
        for key, row in config[name].items():
            if not isinstance(row, Mapping):
                raise Mistake(f"{where}: {name}|{foreign.name(key)}: an object of fields is needed")
            tidied = _row(name, key, row, where)
            for one in _keys(name, key, where):
                rows.setdefault(one, {}).update(tidied)
    return found


def unfolded(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Tables of a dump of the data base (`sonic-db-dump`), whose keys are `TABLE|row`."""
    if not any("|" in key for key in config):
        return config
    found: dict[str, Any] = {key: row for key, row in config.items() if "|" not in key}
    for key, row in config.items():
        table, bar, name = key.partition("|")
        if not bar:
            continue
        fields = row.get("value", row) if isinstance(row, Mapping) else row
        if isinstance(fields, Mapping):
            # A list is a text with commas there, and its field's name ends so.
            fields = {field.removesuffix("@"): value for field, value in fields.items()}
        rows = found.setdefault(table, {})
        if isinstance(rows, dict):
            rows[name] = fields
    return found


def meant(tables: Tables) -> Tables:
    """With what missing fields mean; tables without rows are no tables."""
    return {
        name: {key: _missing(name, row) | row for key, row in rows.items()}
        for name, rows in tables.items()
        if rows
    }


def _missing(table: str, row: Mapping[str, str]) -> dict[str, str]:
    """Values of fields that a row may lack."""
    if table == "BUFFER_PROFILE" and dynamic(row):
        # The switch computes them (sonic-swss, buffermgrdyn).
        return {"pool": LOSSLESS_POOL, "size": "0"}
    return DEFAULTS.get(table, {})


def _row(table: str, key: str, row: Mapping[str, Any], where: str) -> dict[str, str]:
    tidied = {}
    for name, given in row.items():
        if name == "NULL":  # how its data base writes a row without fields
            continue
        value = _as_text(given) if name in LISTS and isinstance(given, list) else given
        if not isinstance(value, str):
            place = f"{table}|{foreign.name(key)}|{foreign.name(name)}"
            raise Mistake(
                f"{where}: {place}: is {foreign.shown(value)}, and SONiC has texts alone: "
                f'"{foreign.name(_as_text(value))}"'
            )
        tidied[name] = _value(value)
    return tidied


def _as_text(value: object) -> str:
    """A value as SONiC writes it: lists joined, words in small letters."""
    return ",".join(map(_as_text, value)) if isinstance(value, list) else str(value).lower()


def _value(text: str) -> str:
    """` 166912` and `[BUFFER_POOL|x]` ship."""
    plain = text.strip()
    found = re.fullmatch(r"\[[A-Z0-9_]+\|([^,\]]+)\]", plain)
    return found[1] if found else ",".join(map(_one, plain.split(",")))


def _one(text: str) -> str:
    found = re.fullmatch(r"\s*\[[A-Z0-9_]+\|(.+)\]\s*", text)
    return found[1] if found else text.strip()


def _keys(table: str, key: str, where: str) -> list[str]:
    """`Ethernet0,Ethernet4|0-2` is six rows."""
    if table not in PORTED:
        return [key]
    ports, bar, rest = key.partition("|")
    queues = _range(rest, f"{where}: {table}|{foreign.name(key)}") if table in RANGED else [rest]
    return [f"{port.strip()}{bar}{queue}" for port in ports.split(",") for queue in queues]


def _range(text: str, where: str) -> list[str]:
    plain = re.sub(r"\s", "", text)
    first, dash, last = plain.partition("-")
    ends = [foreign.whole(first), foreign.whole(last if dash else first)]
    low, high = ends
    if low is None or high is None or not 0 <= low <= high <= MOST_INDEX:
        raise Mistake(
            f"{where}: {foreign.shown(text)} is no queue or range of queues: from 0 to "
            f"{MOST_INDEX}, as 3 or 0-2"
        )
    return [str(i) for i in range(low, high + 1)]


def folded(tables: Tables) -> Tables:
    """Rows of neighbouring queues that say the same as one: `Ethernet0|0-2`."""
    found: Tables = {}
    for name, rows in tables.items():
        if name not in RANGED:
            found[name] = rows
            continue
        made = found.setdefault(name, {})
        ports: dict[str, dict[int, dict[str, str]]] = {}
        for key, row in rows.items():
            port, _, queue = key.partition("|")
            ports.setdefault(port, {})[int(queue)] = row
        for port, queues in ports.items():
            run: list[int] = []
            for index in sorted(queues):
                if run and (index != run[-1] + 1 or queues[index] != queues[run[0]]):
                    made[_folded(port, run)] = queues[run[0]]
                    run = []
                run.append(index)
            if run:
                made[_folded(port, run)] = queues[run[0]]
    return found


def _folded(port: str, run: list[int]) -> str:
    return f"{port}|{run[0]}" if len(run) == 1 else f"{port}|{run[0]}-{run[-1]}"
