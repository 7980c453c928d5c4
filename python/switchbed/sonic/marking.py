"""A WRED profile as a scheme of one queue."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from switchbed import foreign
from switchbed._native import Mistake
from switchbed.sonic import schema
from switchbed.sonic.reading import Reading

NO_MARKS = "none"


@dataclass(frozen=True)
class Marking:
    """Effect of a WRED profile on a queue."""

    scheme: str = NO_MARKS
    params: Mapping[str, Any] | None = None
    drops: bool | None = None
    """Whether arrivals that cannot be marked are dropped; `None` where nothing is marked."""
    fields: tuple[str, ...] = ()
    """Fields of the profile that the scheme says."""


def of_profile(reading: Reading, name: str, memory: int | None, *, nvidia: bool) -> Marking:
    """The marking of a profile at a queue that can hold at most `memory` bytes."""
    row, own = reading.named("WRED_PROFILE", name), reading.tables["WRED_PROFILE"][name]
    where = f"WRED_PROFILE|{foreign.name(name)}"
    low, high = _ends(reading, name, row, own, where)
    chance = reading.number("WRED_PROFILE", name, row, "green_drop_probability", 100)
    said = reading.said
    _colours(reading, where, row)
    # `ecn_green_red` and the like name the colours that are marked.
    if row["ecn"] != "ecn_all" and "green" not in row["ecn"].removeprefix("ecn_").split("_"):
        said.left_out(where, f"ecn is {row['ecn']}: green is dropped early, not marked")
        return Marking()
    # SAI's profile is off without it; Nvidia's SDK marks all the same.
    enabled = row["wred_green_enable"] == "true"
    if not enabled and not nvidia:
        said.left_out(
            where,
            "wred_green_enable is not true: nothing is marked or dropped, but on Nvidia's "
            "chips, which mark then (DEVICE_METADATA names another, or none)",
        )
        return Marking()
    if memory is not None and low >= memory:
        said.left_out(where, f"begins at {low}, above the memory, {memory}: it is off")
        return Marking()
    if high == 0:  # SAI: 0 is the default, the largest buffer size
        said.left_out(
            where, "has no thresholds, or thresholds of 0, which are the whole memory: off"
        )
        return Marking()
    # A field that no model has may change what is marked: then nothing is exact.
    says = said.approximated if _odd(reading, where, own) else said.exact
    fields = ["green_min_threshold", "green_max_threshold", "wred_green_enable"]
    scheme = "per-queue"
    params: dict[str, Any] = {"threshold": f"{low}B"}
    if low == high:
        says(where, f"min = max: a threshold of {low} bytes")
    else:
        scheme, end, pmax = "red", high, chance / 100
        if memory is not None and high > memory:
            # A queue ends at the memory: there the ramp has come so far.
            end, pmax = memory, pmax * (memory - low) / (high - low)
            fields.remove("green_max_threshold")
            said.approximated(
                where, f"ends at {high}, above the memory, {memory}: there at {100 * pmax:.4g} %"
            )
        else:
            fields.append("green_drop_probability")
        params = {
            "kmin": f"{low}B",
            "kmax": f"{end}B",
            "pmax": pmax,
            "weight": 1,
            "spacing": "geometric",
        }
        says(where, f"a ramp from {low} to {high} bytes, {chance} %")
    if enabled:
        said.exact(where, "what is not ECN-capable, as many an ACK, is dropped there too")
    return Marking(scheme, params, enabled, tuple(each for each in fields if each in own))


def _ends(
    reading: Reading,
    name: str,
    row: Mapping[str, str],
    own: Mapping[str, str],
    where: str,
) -> tuple[int, int]:
    apart = sorted(key for key in own if key.startswith("ecn_"))
    if apart:
        raise Mistake(
            f"{reading.where}: {where}: {apart[0]}: marks have thresholds of their own (SONiC's "
            "models since June 2026), and a scenario has one ramp for marks and drops: leave "
            "the profile's ecn_ fields out, or have them in place of those of the same colour"
        )
    low = reading.number("WRED_PROFILE", name, row, "green_min_threshold", 0)
    if "green_min_threshold" in row and "green_max_threshold" not in row:
        raise Mistake(
            f"{reading.where}: {where}: green_max_threshold is missing: green_min_threshold, "
            f"{low}, needs it, as large or larger"
        )
    high = reading.number("WRED_PROFILE", name, row, "green_max_threshold", low)
    if high < low:
        raise Mistake(
            f"{reading.where}: {where}: green_max_threshold, {high}, is less than "
            f"green_min_threshold, {low}"
        )
    return low, high


def _odd(reading: Reading, where: str, own: Mapping[str, str]) -> bool:
    """Says which fields no published model has; whether any may change what is marked."""
    odd = [each for each in own if each not in schema.TABLES["WRED_PROFILE"].fields]
    marks = any(re.search("thresh|prob|enable|ec[nt]|min|max", each) for each in odd)
    for each in odd:
        text = f"{foreign.shown(own[each])}: no key of SONiC's published model"
        text += "; it may change what is marked" if marks else ""
        reading.said.left_out(f"{where}|{foreign.name(each)}", text)
    return marks


def _colours(reading: Reading, where: str, row: Mapping[str, str]) -> None:
    for colour in ("yellow", "red"):
        if not any(f"{colour}_{end}_threshold" in row for end in ("min", "max")):
            continue
        for part in ("min_threshold", "max_threshold", "drop_probability"):
            if row.get(f"{colour}_{part}") != row.get(f"green_{part}"):
                reading.said.left_out(
                    f"{where}|{colour}", f"differs from green; all packets have green's {part}"
                )
                break
        if row.get(f"wred_{colour}_enable") != row["wred_green_enable"]:
            reading.said.left_out(
                f"{where}|{colour}",
                "differs from green; all packets have green's wred_green_enable",
            )
