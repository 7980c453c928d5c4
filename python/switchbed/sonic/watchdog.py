"""The PFC watchdog: rows of PFC_WD as keys of `switch.pfc`, and back."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from switchbed import foreign, quantity
from switchbed.sonic.device import Device
from switchbed.sonic.draft import Draft
from switchbed.sonic.reading import Reading

TABLE, GLOBAL, POLL = "PFC_WD", "GLOBAL", "POLL_INTERVAL"
POLL_MS = 100
"""Until GLOBAL says another interval (sonic-swss, orchdaemon.cpp)."""
FIELDS = {"detection_time": (100, 5000), "restoration_time": (100, 60_000)}
"""Times in ms with the range of SONiC's model (sonic-pfcwd.yang)."""
KEYS = {"watchdog", "poll", "poll_rule", *FIELDS}


def read(reading: Reading, ports: Sequence[str], device: Device) -> dict[str, str]:
    """Return the keys of `switch.pfc`: what most of the ports have; none where no port has a
    watchdog."""
    rows: Mapping[str, Mapping[str, str]] = reading.full.get(TABLE, {})
    mine = {port: _acts(reading, rows.get(port)) for port in ports}
    counts = Counter(of for of in mine.values() if of is not None)
    if not counts:
        return {}
    # Of equally many the first: the same at every import.
    most = max(counts, key=counts.__getitem__)
    others = [port for port, of in mine.items() if of != most]
    alike = [port for port, of in mine.items() if of == most]
    where = f"{TABLE}|{foreign.name(alike[0])}"
    if others:
        reading.said.approximated(
            where, f"here all ports have it; {foreign.some(others)} have another, or none"
        )
    action, detection_ms, restoration_ms = most
    poll_ms = int(rows.get(GLOBAL, {}).get(POLL, POLL_MS))
    modelled = ["action", "detection_time"]
    if detection_ms < poll_ms:
        text = (
            f"detection_time {detection_ms} is under a look's {poll_ms}: found at a look, as there"
        )
        reading.said.approximated(where, text)
        detection_ms = poll_ms
        modelled.remove("detection_time")
    found = {"watchdog": action, "detection_time": f"{detection_ms}ms"}
    if restoration_ms:
        found["restoration_time"] = f"{restoration_ms}ms"
        modelled.append("restoration_time")
    else:
        text = "no restoration_time: a storm is over 200 ms after the last pause here"
        reading.said.approximated(where, text)
    found["poll"] = f"{poll_ms}ms"
    if device.nvidia:
        found["poll_rule"] = "nvidia"
    rule = "Nvidia's" if device.nvidia else "Broadcom's"
    reading.said.exact(
        where,
        f"{action}, detected after {detection_ms} ms, looked at every {poll_ms} ms by {rule} rule",
    )
    device.modelled += [
        (TABLE, port, name) for port in alike for name in modelled if name in rows[port]
    ]
    if POLL in rows.get(GLOBAL, {}):
        device.modelled.append((TABLE, GLOBAL, POLL))
    return found


def _acts(reading: Reading, row: Mapping[str, str] | None) -> tuple[str, int, int] | None:
    """Action, detection and restoration in ms of a port's watchdog; `None` without one that
    acts."""
    if row is None:
        return None
    action = row.get("action", "drop")
    if "detection_time" not in row:
        reading.said.left_out(TABLE, "no detection_time: the switch starts no watchdog")
        return None
    if action == "alert":
        reading.said.left_out(TABLE, "alert: it reports storms and does nothing")
        return None
    return action, int(row["detection_time"]), int(row.get("restoration_time", "0"))


def write(draft: Draft) -> set[str]:
    """Fill in the rows of an imported switch's ports; return the keys of `switch.pfc` that they
    hold."""
    device = draft.device
    if device is None or not device.says_table(TABLE):
        return set()
    pfc = draft.switch.get("pfc") or {}
    action = pfc.get("watchdog") or "off"
    said = dict.fromkeys(row for table, row, _ in device.modelled if table == TABLE)
    rows = [row for row in said if row != GLOBAL]
    if action == "off":
        text = "off: rows of PFC_WD cannot say it: stop it on the switch (pfcwd stop), import anew"
        draft.said.refused("switch.pfc.watchdog", text)
    for key in rows:
        row, own = draft.row(TABLE, key), draft.own(TABLE, key)
        if "action" in own or action != "drop":
            row["action"] = str(action)
        for name, within in FIELDS.items():
            if device.says(TABLE, key, name):
                _put(draft, row, own, name, within, pfc.get(name))
    _put_poll(draft, pfc)
    draft.said.exact("switch.pfc.watchdog", f"{action}, at {len(rows)} ports")
    return KEYS


def _put_poll(draft: Draft, pfc: Mapping[str, Any]) -> None:
    own = draft.own(TABLE, GLOBAL)
    given = pfc.get("poll")
    if given is None:
        text = (
            "none, which acts at the exact times: a switch looks now and then; the device's stays"
        )
        draft.said.left_out("switch.pfc.poll", text)
        if POLL in own:
            draft.row(TABLE, GLOBAL)[POLL] = own[POLL]
    elif POLL in own or round(1e3 * quantity.time(given), 6) != POLL_MS:
        _put(draft, draft.row(TABLE, GLOBAL), own, POLL, (100, 1000), given)


def _put(
    draft: Draft,
    row: dict[str, str],
    own: Mapping[str, str],
    name: str,
    within: tuple[int, int],
    given: object,
) -> None:
    """One field, in whole ms; what a scenario does not say stays as the device has it."""
    if given is None:
        if name in own:
            row[name] = own[name]
        return
    ms = round(1e3 * quantity.time(given), 6)
    low, high = within
    key = f"switch.pfc.{'poll' if name == POLL else name}"
    if ms != int(ms) or not low <= ms <= high:
        draft.said.refused(key, f"{given}: SONiC has whole milliseconds from {low} to {high}")
    row[name] = str(int(ms))
