"""Valid contents of SONiC's tables of queues and buffers.

From its YANG models (sonic-buildimage 086b03bd), and from what the daemon does beyond them
(orchagent, sonic-swss e6b0c5b5): it refuses a scheduler with a `priority`, and reads thresholds
into 32 bits with a sign. Every value is a text.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from switchbed import foreign

Config = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Tables by name, rows by key, fields by name."""

Rows = Mapping[str, Mapping[str, Any]]
"""A table's."""

Check = Callable[[str], str | None]
"""Function that describes a bad value, or returns `None`."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
PORT = re.compile(r"[A-Za-z][\w./-]*")
INT_MAX = 2**31 - 1
COLOURS = ("green", "yellow", "red")
ECN = ("none", "green", "yellow", "red", "green_yellow", "green_red", "yellow_red", "all")


def whole(low: int, high: int) -> Check:
    """A whole number from low to high."""

    def check(text: str) -> str | None:
        # At most twenty digits, as in 2^64; no zeros in front, as YANG has it.
        if re.fullmatch(r"0|-?[1-9][0-9]{0,19}", text) and low <= int(text) <= high:
            return None
        return f"a whole number from {low} to {high} is needed"

    return check


def word(*words: str) -> Check:
    """One of these."""

    def check(text: str) -> str | None:
        return None if text in words else f"one of {', '.join(words)} is needed"

    return check


def shaped(pattern: str, what: str) -> Check:
    """A text of such a form."""

    def check(text: str) -> str | None:
        return None if re.fullmatch(pattern, text) else f"{what} is needed"

    return check


def free(_: str) -> str | None:
    """Anything."""
    return None


def never(_: Mapping[str, str]) -> bool:
    """No row."""
    return False


def always(_: Mapping[str, str]) -> bool:
    """Every row."""
    return True


def dynamic(row: Mapping[str, str]) -> bool:
    """Buffer profiles of lossless groups whose sizes the switch computes."""
    return row.get("headroom_type") == "dynamic"


UINT32, UINT64 = whole(0, 2**32 - 1), whole(0, 2**64 - 1)
THRESHOLD = whole(0, INT_MAX)
BOOLEAN = word("true", "false")
SWITCHED = word("on", "off")
DIGITS = shaped(r"([0-7](,[0-7])*)?", "digits 0 to 7 with commas and no blanks between them,")
RANGE = r"(?:{n}|{n}-{n})"


@dataclass(frozen=True)
class Field:
    """A field of a row."""

    check: Check
    required: bool = False
    to: str | None = None
    """The table whose row it names."""
    several: bool = False
    """Whether it names several rows, with commas."""
    makes: str = r"(?!)"
    """Pattern of rows that the switch makes by itself, which a file may lack; usually none."""
    lax: Callable[[Mapping[str, str]], bool] = never
    """Rows of a device that may lack the field."""


@dataclass(frozen=True)
class Table:
    """A table."""

    key: str
    """Pattern that a whole key must match."""
    fields: Mapping[str, Field] = field(default_factory=dict)
    mapping: tuple[Check, Check] | None = None
    """Of a map: its fields' names, and their values."""
    rule: Callable[[Mapping[str, str]], Iterator[str]] | None = None
    clash: Callable[[Mapping[str, str]], Iterator[str]] | None = None
    """Of an open check, which knows not all that a device may leave out: what no reading fits."""
    ports: bool = False
    """The key begins with a port's name, which PORT must have, if it is there."""


def _wred(row: Mapping[str, str]) -> Iterator[str]:
    for colour in COLOURS:
        low, high = (row.get(f"{colour}_{end}_threshold") for end in ("min", "max"))
        if high is not None and low is None:
            yield f"{colour}_max_threshold: needs {colour}_min_threshold"
        if low is not None and high is not None and int(high) < int(low):
            yield f"{colour}_max_threshold: {high} is less than {colour}_min_threshold, {low}"


def _scheduler(row: Mapping[str, str]) -> Iterator[str]:
    cir, pir = (int(row.get(name, "0")) for name in ("cir", "pir"))
    if ("pir" in row or "cbs" in row) and cir == 0:
        yield "cir: must be above 0 where there are pir or cbs"
    if "pir" in row and pir < cir:
        yield f"pir: {pir} is less than cir, {cir}"
    if "pbs" in row and "pir" not in row:
        yield "pbs: needs pir"
    if "pbs" in row and "cbs" in row and int(row["pbs"]) < int(row["cbs"]):
        yield f"pbs: {row['pbs']} is less than cbs, {row['cbs']}"
    if "priority" in row:
        yield "priority: SONiC's daemon (orchagent) refuses a scheduler that has it"


def _pool(row: Mapping[str, str]) -> Iterator[str]:
    if "size" in row and "percentage" in row:
        yield "percentage: cannot be beside size"


ONE_THRESHOLD = "dynamic_th: exactly one of dynamic_th and static_th is needed"


def _profile(row: Mapping[str, str]) -> Iterator[str]:
    if ("dynamic_th" in row) == ("static_th" in row):
        yield ONE_THRESHOLD


def _clash(row: Mapping[str, str]) -> Iterator[str]:
    if "dynamic_th" in row and "static_th" in row:
        yield ONE_THRESHOLD


QUEUES = RANGE.format(n="[0-9]")
NAMED = NAME.pattern
TABLES: dict[str, Table] = {
    "PORT": Table(
        PORT.pattern,
        {
            # Before 2019 a switch took both from its port_config.ini.
            "lanes": Field(free, required=True, lax=always),
            "speed": Field(whole(1, 1600000), required=True, lax=always),
            "mtu": Field(whole(68, 9216)),
            "admin_status": Field(word("up", "down")),
            "fec": Field(word("rs", "fc", "none", "auto")),
            "autoneg": Field(SWITCHED),
            "link_training": Field(SWITCHED),
            "pfc_asym": Field(SWITCHED),
            "subport": Field(whole(0, 8)),
            "index": Field(whole(0, 2**31 - 1)),
            **{
                name: Field(free)
                for name in (
                    *("alias", "description", "role", "tpid", "adv_speeds", "interface_type"),
                    *("adv_interface_types", "asic_port_name", "num_voq", "core_id", "mode"),
                    *("core_port_id", "mux_cable", "dom_polling", "media_type", "laser_freq"),
                    *("tx_power", "coreId", "corePortId", "numVoq", "macsec"),
                )
            },
        },
    ),
    "DSCP_TO_TC_MAP": Table(NAMED, mapping=(whole(0, 63), whole(0, 15))),
    "DOT1P_TO_TC_MAP": Table(NAMED, mapping=(whole(0, 7), whole(0, 15))),
    "TC_TO_QUEUE_MAP": Table(NAMED, mapping=(whole(0, 15), whole(0, 9))),
    "TC_TO_PRIORITY_GROUP_MAP": Table(NAMED, mapping=(whole(0, 15), whole(0, 7))),
    "MAP_PFC_PRIORITY_TO_QUEUE": Table(NAMED, mapping=(whole(0, 7), whole(0, 7))),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": Table(NAMED, mapping=(whole(0, 7), whole(0, 7))),
    "TC_TO_DSCP_MAP": Table(NAMED, mapping=(whole(0, 15), whole(0, 63))),
    "SCHEDULER": Table(
        r".+",
        {
            "type": Field(word("DWRR", "WRR", "STRICT")),
            "weight": Field(whole(1, 100)),
            "meter_type": Field(word("packets", "bytes")),
            **{name: Field(UINT64) for name in ("cir", "pir", "cbs", "pbs")},
            "priority": Field(whole(0, 9)),
        },
        rule=_scheduler,
    ),
    "WRED_PROFILE": Table(
        NAMED,
        {
            f"{colour}_{name}": Field(check)
            for colour in COLOURS
            for name, check in (
                ("min_threshold", THRESHOLD),
                ("max_threshold", THRESHOLD),
                ("drop_probability", whole(0, 100)),
            )
        }
        | {f"wred_{colour}_enable": Field(BOOLEAN) for colour in COLOURS}
        | {"ecn": Field(word(*(f"ecn_{name}" for name in ECN)))},
        rule=_wred,
    ),
    "QUEUE": Table(
        rf"{PORT.pattern}\|{QUEUES}",
        {
            "scheduler": Field(free, to="SCHEDULER"),
            "wred_profile": Field(free, to="WRED_PROFILE"),
        },
        ports=True,
    ),
    "BUFFER_POOL": Table(
        r".+",
        {
            "type": Field(word("ingress", "egress", "both"), required=True),
            "mode": Field(word("static", "dynamic"), required=True),
            "size": Field(UINT64),
            "xoff": Field(UINT64),
            "percentage": Field(whole(0, 100)),
        },
        rule=_pool,
    ),
    "BUFFER_PROFILE": Table(
        r".+",
        {
            "pool": Field(free, required=True, to="BUFFER_POOL", lax=dynamic),
            "size": Field(UINT64, required=True, lax=dynamic),
            "dynamic_th": Field(whole(-8, 7)),
            **{n: Field(UINT64) for n in ("static_th", "xon", "xoff", "xon_offset")},
            "headroom_type": Field(word("static", "dynamic")),
            "packet_discard_action": Field(word("drop", "trim")),
        },
        rule=_profile,
        clash=_clash,
    ),
    "BUFFER_QUEUE": Table(
        rf"{PORT.pattern}\|{RANGE.format(n=r'(?:1[0-5]|[0-9])')}",
        {"profile": Field(free, required=True, to="BUFFER_PROFILE")},
        ports=True,
    ),
    "BUFFER_PG": Table(
        rf"{PORT.pattern}\|{RANGE.format(n='[0-7]')}",
        {
            # By speed and cable, from pg_profile_lookup.ini (sonic-swss, buffermgr).
            "profile": Field(
                free, required=True, to="BUFFER_PROFILE", makes=r"pg_lossless_\w+_profile"
            )
        },
        ports=True,
    ),
    **{
        f"BUFFER_PORT_{side}_PROFILE_LIST": Table(
            PORT.pattern,
            {"profile_list": Field(free, required=True, to="BUFFER_PROFILE", several=True)},
            ports=True,
        )
        for side in ("INGRESS", "EGRESS")
    },
    "PORT_QOS_MAP": Table(
        rf"global|{PORT.pattern}",
        {
            "dscp_to_tc_map": Field(free, to="DSCP_TO_TC_MAP"),
            "dot1p_to_tc_map": Field(free, to="DOT1P_TO_TC_MAP"),
            "tc_to_queue_map": Field(free, to="TC_TO_QUEUE_MAP"),
            "tc_to_pg_map": Field(free, to="TC_TO_PRIORITY_GROUP_MAP"),
            "pfc_to_queue_map": Field(free, to="MAP_PFC_PRIORITY_TO_QUEUE"),
            "pfc_to_pg_map": Field(free, to="PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
            "tc_to_dscp_map": Field(free, to="TC_TO_DSCP_MAP"),
            "scheduler": Field(free, to="SCHEDULER"),
            "pfc_enable": Field(DIGITS),
            "pfcwd_sw_enable": Field(DIGITS),
        },
        ports=True,
    ),
    "LOSSLESS_TRAFFIC_PATTERN": Table(
        r".+",
        {
            "mtu": Field(whole(1, 9216), required=True),
            "small_packet_percentage": Field(whole(0, 100), required=True),
        },
    ),
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": Table(
        r".+",
        {
            "default_dynamic_th": Field(whole(-8, 7), required=True),
            "over_subscribe_ratio": Field(whole(0, 100)),
        },
    ),
    "SWITCH_TRIMMING": Table(
        "GLOBAL",
        {
            "size": Field(UINT32),
            "dscp_value": Field(shaped(r"from-tc|[0-9]|[1-5][0-9]|6[0-3]", "0 to 63 or from-tc")),
            "tc_value": Field(whole(0, 15)),
            "queue_index": Field(shaped(r"dynamic|[0-9]+", "a queue or dynamic")),
        },
    ),
    "PFC_WD": Table(
        rf"GLOBAL|{PORT.pattern}",
        {
            "action": Field(word("drop", "forward", "alert")),
            "detection_time": Field(whole(100, 5000)),
            "restoration_time": Field(whole(100, 60000)),
            "POLL_INTERVAL": Field(whole(100, 1000)),
        },
        ports=True,
    ),
    "CABLE_LENGTH": Table(
        NAMED, mapping=(shaped(PORT.pattern, "a port"), shaped(r"[0-9]+m", "whole metres, as 40m,"))
    ),
}
DEFAULTS: dict[str, dict[str, str]] = {
    "SCHEDULER": {"type": "WRR", "weight": "1"},
    "WRED_PROFILE": {f"{colour}_drop_probability": "100" for colour in COLOURS}
    | {f"wred_{colour}_enable": "false" for colour in COLOURS}
    | {"ecn": "ecn_none"},
}
"""Values that missing fields stand for."""


def check(
    config: Config,
    tables: Collection[str] = TABLES,
    kept: Config | None = None,
    *,
    open_: bool = False,
) -> list[str]:
    """List the mistakes in these tables, a line each: `TABLE|key|field: …`. Fields that `kept` has
    alike are the device's own and pass. With `open_`, fields that the models do not know pass
    too, and most fields that do not go together."""
    found: list[str] = []
    for name in tables:
        if name in config and name in TABLES:
            found += _table(name, config, (kept or {}).get(name, {}), open_=open_)
    return found


def unknown(config: Config) -> Iterator[tuple[str, str, list[str]]]:
    """Table, row and fields that no model of ours knows."""
    for name, rows in config.items():
        table = TABLES[name]
        for key, row in rows.items():
            fields = [] if table.mapping is not None else [f for f in row if f not in table.fields]
            if fields:
                yield name, key, fields


def _table(name: str, config: Config, kept: Rows, *, open_: bool) -> Iterator[str]:
    table = TABLES[name]
    for key, row in config[name].items():
        own = kept.get(key)
        if own is not None and own == row:
            # A row that the device has already is not ours to find fault with.
            continue
        where = f"{name}|{foreign.name(key)}"
        if not re.fullmatch(table.key, key):
            yield f"{where}: is no key of {name}"
        yield from _row(where, table, row, config, own or {}, open_=open_)
        port = key.partition("|")[0]
        missing = "PORT" in config and port not in config["PORT"]
        if own is None and table.ports and missing and port not in ("global", "GLOBAL"):
            yield f"{where}: PORT has no {foreign.name(port)}"


def _row(
    where: str,
    table: Table,
    row: Mapping[str, Any],
    config: Config,
    own: Mapping[str, Any],
    *,
    open_: bool,
) -> Iterator[str]:
    sound = True
    for name, value in row.items():
        if not isinstance(value, str):
            found = foreign.shown(value)
            yield f"{where}|{foreign.name(name)}: is {found}, and every value is a text"
            sound = False
            continue
        if name in own and own[name] == value:
            continue
        if open_ and table.mapping is None and name not in table.fields:
            continue
        problem = _value(table, name, value)
        if problem is not None:
            yield f"{where}|{foreign.name(name)}: is {foreign.shown(value)}: {problem}"
            sound = False
            continue
        known = table.fields.get(name)
        if known is not None and known.to is not None and value != "NULL":
            for each in value.split(",") if known.several else [value]:
                rows = config.get(known.to, {})
                if each not in rows and not re.fullmatch(known.makes, each):
                    there = (
                        f", only {foreign.some(rows)}"
                        if rows
                        else ": the table is missing or empty"
                    )
                    yield f"{where}|{name}: {known.to} has no {foreign.name(each)}{there}"
    for name, known in table.fields.items():
        if known.required and name not in row and not (open_ and known.lax(row)):
            yield f"{where}: has no {name}"
    # Rules read numbers: only of sound values.
    rule = table.clash if open_ else table.rule
    if sound and rule is not None:
        yield from (f"{where}|{problem}" for problem in rule(row))


def _value(table: Table, name: str, value: str) -> str | None:
    if table.mapping is not None:
        problem = table.mapping[0](name)
        return f"its name: {problem}" if problem else table.mapping[1](value)
    known = table.fields.get(name)
    return known.check(value) if known is not None else "SONiC has no such field there"
