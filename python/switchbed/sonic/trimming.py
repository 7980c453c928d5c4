"""SWITCH_TRIMMING and `packet_discard_action`: packets that a switch cuts instead of dropping."""

from collections.abc import Sequence
from typing import Any

from switchbed import foreign, quantity
from switchbed.sonic.draft import Draft
from switchbed.sonic.reading import Queue, Reading

TRIMMED = "_trim"
"""End of the names of profiles whose queues are trimmed."""
SIZE = 128
"""Bytes of a trimmed packet where the configuration does not say (SAI)."""


def trimming(reading: Reading, port: str, queues: Sequence[Queue]) -> dict[str, Any]:
    """Return `[switch.trimming]` of a port; empty: no packet is trimmed."""
    table = "SWITCH_TRIMMING|GLOBAL"
    row = reading.full.get("SWITCH_TRIMMING", {}).get("GLOBAL", {})
    eligible = [each.index for each in queues if _trims(reading, each)]
    profiles = "BUFFER_PROFILE|packet_discard_action"
    if not row:
        if eligible:
            reading.said.left_out(profiles, "trim: SWITCH_TRIMMING does not say how: dropped here")
        return {}
    if not eligible:
        reading.said.left_out(table, "no queue's profile has packet_discard_action = trim")
        return {}
    queue = _queue(reading, port, row)
    if queue is None or queue > queues[-1].index or queue in eligible:
        why = "the queue of trimmed packets is not known, is no queue of the port, or is trimmed"
        reading.said.left_out(table, f"{why}: packets are dropped here")
        return {}
    if row.get("dscp_value") == "from-tc":
        reading.said.approximated(
            f"{table}|dscp_value",
            "from-tc: one class at all ports; switch.trimming.host_dscp tells them apart",
        )
    else:
        reading.said.approximated(f"{table}|dscp_value", "a scenario's class is its queue's number")
    size = reading.number("SWITCH_TRIMMING", "GLOBAL", row, "size", SIZE)
    return {"size": f"{size}B", "queues": eligible, "queue": queue, "dscp": queue}


def trimmed(reading: Reading, port: str) -> int | None:
    """Queue of a port's trimmed packets, as far as it is known."""
    row = reading.full.get("SWITCH_TRIMMING", {}).get("GLOBAL")
    return _queue(reading, port, row) if row else None


def _trims(reading: Reading, queue: Queue) -> bool:
    profile = reading.full.get("BUFFER_PROFILE", {}).get(queue.profile or "", {})
    return profile.get("packet_discard_action") == "trim"


def _queue(reading: Reading, port: str, row: Any) -> int | None:
    """The queue of trimmed packets: by number, or by their DSCP or traffic class."""
    index = row.get("queue_index", "dynamic")
    if index != "dynamic":
        return foreign.whole(index)
    tc = row.get("tc_value")
    if row.get("dscp_value") != "from-tc":
        classes = reading.map_of(port, "dscp_to_tc_map") or {}
        tc = classes.get(row.get("dscp_value", "0"))
    to = reading.map_of(port, "tc_to_queue_map") or {}
    return foreign.whole(to.get(tc, "")) if tc is not None else None


def write(draft: Draft) -> None:
    """Write a scenario's trimming into its fragment."""
    rules = draft.switch.get("trimming")
    if rules is None:
        return
    said = draft.said
    if draft.device is not None:
        said.approximated("switch.trimming", "the device's SWITCH_TRIMMING stays as it is")
        return
    if rules["mode"] != "switch":
        said.refused(
            "switch.trimming.mode",
            f"{rules['mode']}: no switch trims so: mode = switch, with a policy for the memory",
        )
        return
    if "host_dscp" in rules:
        said.approximated(
            "switch.trimming.host_dscp",
            f"{rules['host_dscp']}: {rules['dscp']} at all ports: from-tc needs a map by port",
        )
    for index in rules["queues"]:
        for row in draft.each_queue("BUFFER_QUEUE", index):
            profile = row.get("profile")
            if profile is None:
                said.refused("switch.trimming", f"queue {index}: no buffer profile is known for it")
                return
            own = draft.row("BUFFER_PROFILE", profile)
            name = profile if profile.endswith(TRIMMED) else f"{profile}{TRIMMED}"
            draft.row("BUFFER_PROFILE", name).update({**own, "packet_discard_action": "trim"})
            row["profile"] = name
    queue = rules.get("queue", rules["dscp"] % draft.count)
    draft.row("SWITCH_TRIMMING", "GLOBAL").update(
        size=str(quantity.size(rules["size"])),
        dscp_value=str(rules["dscp"]),
        queue_index=str(draft.sonic[queue]),
    )
    said.exact("switch.trimming", f"queue {draft.sonic[queue]}, {rules['size']}")
