"""`switchbed headroom`: the room for what still comes in after a pause, term by term, and whether a
chip's headroom pool holds it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from switchbed import _native, asic, files, foreign, quantity
from switchbed._native import Mistake
from switchbed.terminal import say

NS_PER_METRE = 5
SHORTEST = 64
"""The shortest frame of Ethernet, in bytes."""
TERMS = {
    "crossing": "the packet that crosses the threshold",
    "waiting": "the frame that the pause frame has to wait for",
    "pause_frame": "the pause frame",
    "cable": "on the cable, both ways",
    "pipeline": "from the threshold to the pause frame",
    "response": "until the peer responds",
    "under_way": "the packet that the peer has begun by then",
    "shipped": "by the switch's own table",
}
RULES = ("ieee", "nvidia", "measured")
LIGHT = 198e6
"""Metres a second on the cable, as sonic-swss has it (cfgmgr/buffer_headroom_mellanox.lua)."""
MAC_AND_PHY = 0.8 * 1024
"""Bytes, as platform/mellanox/asic_table.j2 of sonic-buildimage has them."""
LOSSLESS_MTU = 1024
"""Bytes, as LOSSLESS_TRAFFIC_PATTERN of Nvidia's configurations has it."""


@dataclass(frozen=True)
class Link:
    """A port's link."""

    bps: int
    metres: int
    mtu: int = 9100
    shortest: int = SHORTEST
    response_ps: int | None = None
    """The peer's; `None`: the standard's of the rate (IEEE 802.3, 31B.3.7)."""
    pipeline_ps: int = 0


@dataclass(frozen=True)
class Need:
    """Bytes of one group by term, and the memory that they may take."""

    terms: Mapping[str, int]
    taken: int
    """In cells that the shortest packets fill badly, where there are cells."""

    @property
    def sum(self) -> int:
        """All terms."""
        return sum(self.terms.values())


def ieee(link: Link, cell: int = 1) -> Need:
    """The sum that `switch.pfc` has: docs/pfc.md."""
    # Picoseconds, one way.
    delay = link.metres * NS_PER_METRE * 1000
    packets = (link.mtu, min(link.shortest, link.mtu))
    text = _native.headroom(link.bps, delay, link.pipeline_ps, link.response_ps, packets, cell)
    found = json.loads(text)
    return Need(dict(found["terms"]), found["cells"] * cell)


def nvidia(link: Link, cell: int, small: float = 1.0) -> Need:
    """The rule of sonic-swss's buffer_headroom_mellanox.lua, where `small` of the lossless packets
    are of 64 bytes."""
    # Large packets fill their cells; only the part of small ones takes more memory than bytes.
    occupancy = 1 - small + small * _spread(cell)
    # The script counts the cable by the speed in Mbps times 10^9, in units of 1024 bytes.
    cable = 2 * link.metres * (link.bps / 1e6) * 1e9 / LIGHT / (8 * 1024)
    response = ieee(link).terms["response"]
    return _in_kib(
        {
            "crossing": LOSSLESS_MTU,
            "waiting": link.mtu * occupancy,
            "cable": cable * occupancy,
            "pipeline": MAC_AND_PHY * occupancy,
            "response": response * occupancy,
        }
    )


def nvidia_shipped(link: Link, cell: int) -> Need:
    """The rule of the script that made the tables of Nvidia's switches: 486 of 493 rows of
    sonic-buildimage 086b03bd to the byte. Cells of 192 bytes are Spectrum 4's."""
    # Spectrum 4 and later have larger cells, and a pause response by the standard's quanta.
    newer = cell >= 192
    occupancy = _spread(cell)
    response = ieee(link).terms["response"] if newer else 3.8 * 1024
    # Newer switches take 120 ns at line rate more.
    tile = link.bps * 120e-9 / 8 if newer else 0.0
    return _in_kib(
        {
            "crossing": LOSSLESS_MTU,
            "waiting": 9216 * occupancy,
            "cable": 2 * link.metres * link.bps / (LIGHT * 8) * occupancy,
            "pipeline": (MAC_AND_PHY + tile) * occupancy,
            "response": response * occupancy,
        }
    )


def _spread(cell: int) -> float:
    """How many bytes of cells a byte of the shortest packets takes."""
    # A large cell holds one shortest packet; for smaller cells the worst packet is a byte longer
    # than one cell.
    return cell / SHORTEST if cell > 2 * SHORTEST else 2 * cell / (1 + cell)


def _in_kib(terms: Mapping[str, float]) -> Need:
    whole = {term: round(value) for term, value in terms.items()}
    return Need(whole, math.ceil(sum(terms.values()) / 1024) * 1024)


def need(rule: str, link: Link, chip: Mapping[str, Any] | None, rows: Sequence["Row"] = ()) -> Need:
    """By a rule's name. `rows`: the switch's own table, for `measured`."""
    cell = int(chip["cell_bytes"]) if chip is not None else 1
    if rule == "measured":
        return _measured(link, rows)
    return ieee(link, cell) if rule == RULES[0] else nvidia(link, cell)


def _measured(link: Link, rows: Sequence["Row"]) -> Need:
    """The table's row of a link's speed and cable."""
    for row in rows:
        if (row.mbps * 10**6, row.metres) == (link.bps, link.metres):
            return Need({"shipped": row.xoff}, row.xoff)
    cables = [_length(row.metres) for row in rows if row.mbps * 10**6 == link.bps]
    raise Mistake(
        f"--rule measured: --lookup has no row of {quantity.gbps(link.bps)} and "
        f"{_length(link.metres)}; its cables of that speed: {', '.join(cables) or 'none'}"
    )


@dataclass(frozen=True)
class Pool:
    """Headroom of all groups together."""

    bytes: int
    parts: int = 1

    def groups(self, each: int, groups: int) -> int:
        """How many of so many groups it holds at once: a partition's own have a partition."""
        part = self.bytes // self.parts
        # Groups of a partition, rounded up: the fullest partition decides.
        mine = -(-groups // self.parts)
        # A group without need never fills a partition.
        return min(groups, self.parts * min(mine, part // each if each else mine))


def pool_of(chip: Mapping[str, Any] | None, size: int | None) -> Pool | None:
    """The chip's, or one of another size."""
    parts = int((chip or {}).get("partitions") or 1)
    known = size if size is not None else (chip or {}).get("headroom_bytes")
    return None if known is None else Pool(int(known), parts)


def described(
    link: Link, found: Need, pool: Pool | None, classes: int, ports: int
) -> dict[str, Any]:
    """All of it, for programs."""
    groups = classes * ports
    holds = pool.groups(found.taken, groups) if pool is not None else None
    return {
        "rate_bps": link.bps,
        "metres": link.metres,
        "mtu_bytes": link.mtu,
        "terms": dict(found.terms),
        "sum_bytes": found.sum,
        "taken_bytes": found.taken,
        "groups": groups,
        "all_bytes": groups * found.taken,
        "pool_bytes": pool.bytes if pool is not None else None,
        "pool_holds_groups": holds,
        "pool_holds_ports": holds // classes if holds is not None else None,
        "over_subscription": groups * found.taken / pool.bytes if pool and pool.bytes else None,
    }


def together(kinds: Sequence[tuple[int, int]], pool: Pool | None, classes: int) -> dict[str, Any]:
    """A switch whose ports differ: bytes of a group and the number of ports, by kind. Ports are
    dealt to partitions in turn, those that need most first."""
    needs = sorted((taken for taken, count in kinds for _ in range(count)), reverse=True)
    every = classes * sum(needs)
    held: int | None = None
    if pool is not None:
        held = 0
        for part in range(pool.parts):
            left = pool.bytes // pool.parts
            for taken in needs[part :: pool.parts]:
                if classes * taken > left:
                    break
                left -= classes * taken
                held += 1
    return {
        "ports": len(needs),
        "groups": classes * len(needs),
        "all_bytes": every,
        "pool_bytes": pool.bytes if pool is not None else None,
        "pool_holds_largest_ports": held,
        "over_subscription": every / pool.bytes if pool and pool.bytes else None,
    }


def show_together(of: Mapping[str, Any]) -> None:
    """The same for people."""
    say(
        f"All {of['ports']} ports, {of['groups']} groups: {quantity.kb(of['all_bytes'])} of "
        "headroom together"
    )
    if of["pool_bytes"] is None:
        say("  No headroom pool is known: --pool SIZE")
        return
    size, held = quantity.kb(of["pool_bytes"]), of["pool_holds_largest_ports"]
    if held >= of["ports"]:
        say(f"  The headroom pool, {size}, holds all of them at once.")
        return
    say(
        f"  The headroom pool, {size}, holds the {held} ports that need most at once: "
        f"{of['over_subscription']:.3g} times over-subscribed. More that fill at once lose packets."
    )


def show(of: Mapping[str, Any], classes: int, *, alone: bool) -> None:
    """The same for people. `alone`: no other kind of port has the pool, too."""
    say(
        f"{quantity.gbps(of['rate_bps'])}, {_length(of['metres'])}, packets of up to "
        f"{of['mtu_bytes']} B"
    )
    for term, value in of["terms"].items():
        say(f"  {TERMS[term]:46} {value:>12,} B")
    say(f"  {'sum of a group':46} {of['sum_bytes']:>12,} B")
    say(f"  {'memory that it may take':46} {of['taken_bytes']:>12,} B")
    say(
        f"  {of['groups']} groups, {classes} of each of {of['groups'] // classes} ports"
        f"{'':4}{quantity.kb(of['all_bytes'])} together"
    )
    if not alone:
        return
    if of["pool_bytes"] is None:
        say("  No headroom pool is known: --pool SIZE")
        return
    size = quantity.kb(of["pool_bytes"])
    if of["pool_holds_groups"] >= of["groups"]:
        say(f"  The headroom pool, {size}, holds all of them at once.")
        return
    say(
        f"  The headroom pool, {size}, holds {of['pool_holds_groups']} groups at once, all classes "
        f"of {of['pool_holds_ports']} ports: {of['over_subscription']:.3g} times over-subscribed. "
        "More that fill at once lose packets."
    )


def _length(metres: int) -> str:
    return f"{metres / 1000:g} km" if metres >= 1000 else f"{metres} m"


def metres(text: str) -> int:
    """A cable's length: `40m`, `10km`."""
    number, scale = text.strip(), 1
    for unit, factor in (("km", 1000), ("m", 1)):
        if number.endswith(unit):
            number, scale = number.removesuffix(unit), factor
            break
    try:
        found = foreign.real(number) * scale
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1_000_000 or found != round(found):
        raise Mistake(
            f"--cable {foreign.name(text)}: is no length: whole metres up to 1000 km, as 40m"
        )
    return round(found)


# Beside a switch's own table.


@dataclass(frozen=True)
class Row:
    """A row of pg_profile_lookup.ini."""

    mbps: int
    metres: int
    xoff: int


IN_RANGE = (
    ("the speed in Mbps", 1, 1_600_000),
    ("the cable in metres", 0, 1_000_000),
    ("xoff in bytes", 0, 10**12),
)
"""Ranges of a row: speeds and cables as the command's options have them."""


def lookup(path: Path) -> list[Row]:
    """A switch's table: speed, cable, size, xon, xoff, threshold (and xon_offset) a line."""
    rows = []
    for number, line in enumerate(files.read_text(path).splitlines(), 1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        # Speed, size, xon and xoff are whole numbers; the cable is read apart, as it has a unit.
        numbers = [foreign.whole(each) for each in (fields[0], *fields[2:5])]
        length = fields[1].removesuffix("m") if len(fields) > 1 else ""
        far = foreign.whole(length)
        if (
            len(fields) not in (6, 7)
            or None in numbers
            or far is None
            or min(far, *_all(numbers)) < 0
        ):
            raise Mistake(
                f"{path}:{number}: {foreign.shown(line.strip())}: speed, cable, size, xon, xoff, "
                "threshold and xon_offset are needed, as 100000 40m 1248 2288 99264 0 2288"
            )
        mbps, _, _, xoff = _all(numbers)
        for value, (named, low, most) in zip((mbps, far, xoff), IN_RANGE, strict=True):
            if not low <= value <= most:
                raise Mistake(f"{path}:{number}: {named} is {value}: {low} to {most} are needed")
        rows.append(Row(mbps, far, xoff))
    if not rows:
        raise Mistake(f"{path}: has no row: lines as 100000 40m 1248 2288 99264 0 2288 are needed")
    return rows


def _all(numbers: Sequence[int | None]) -> list[int]:
    return [each for each in numbers if each is not None]


def compared(row: Row, link: Link, cell: int) -> dict[str, Any]:
    """A shipped row beside what rules give, and which of them it is next to."""
    here = replace(link, bps=row.mbps * 10**6, metres=row.metres)
    ours = ieee(here, cell)
    variants = {
        "the sum of ieee's terms, in whole cells of the longest packets": ours.sum,
        f"ieee's, where packets of {link.shortest} B fill the cells": ours.taken,
        **{
            f"nvidia's, {round(100 * small)} % of packets of 64 B": nvidia(here, cell, small).taken
            for small in (0.0, 0.5, 1.0)
        },
        "that of the script that made Nvidia's tables": nvidia_shipped(here, cell).taken,
    }
    # The file does not say which rule made a row, so the nearest one is named, and how far off it
    # is.
    name = min(variants, key=lambda each: abs(variants[each] - row.xoff))
    off = variants[name] / row.xoff - 1 if row.xoff else math.inf
    near = abs(off) <= 0.1
    return {
        "rate_bps": here.bps,
        "metres": row.metres,
        "shipped_bytes": row.xoff,
        "ieee_bytes": ours.taken,
        "ratio": ours.taken / row.xoff if row.xoff else None,
        "next_to": name,
        "next_bytes": variants[name],
        "reason": f"{name}: {100 * off:+.1f} %"
        if near
        else f"no rule here within 10 %: next is {name}, {100 * off:+.0f} %; the file may have "
        "been set by hand, for another response, cable or packet",
    }


def show_compared(rows: Sequence[Mapping[str, Any]]) -> None:
    """A line a row."""
    say("Beside the switch's table (xoff):")
    for row in rows:
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f} times"
        say(
            f"  {quantity.gbps(row['rate_bps']):>8} {_length(row['metres']):>7}  "
            f"{row['shipped_bytes']:>10,} B  here {row['ieee_bytes']:>10,} B, {ratio}; "
            f"{row['reason']}"
        )


def chip_named(name: str | None) -> dict[str, Any] | None:
    """A chip's facts, if one is named."""
    return asic.named(name) if name is not None else None
