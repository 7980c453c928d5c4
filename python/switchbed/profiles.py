"""Host profiles: what there is, what is in one, how two differ."""

import codecs
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from switchbed import _native, files, quantity
from switchbed._native import Plan
from switchbed.terminal import say


def read(name: str) -> dict[str, Any]:
    """A profile by name, or a file's path: `settings` (`key`, `value`, `source`, `from`) and
    `behaviours` (`behaviour`, `modelled`, `keys`, `note`)."""
    return dict(json.loads(_native.profile(name)))


def differences(one: str, other: str) -> list[dict[str, Any]]:
    """The keys to which two profiles give different values, `None` where one gives none."""
    first, second = (_values(name) for name in (one, other))
    keys = [*first, *(key for key in second if key not in first)]
    found = ((key, first.get(key), second.get(key)) for key in keys)
    return [{"key": key, one: a, other: b} for key, a, b in found if a != b]


def _values(name: str) -> dict[str, Any]:
    return {setting["key"]: setting["value"] for setting in read(name)["settings"]}


def print_list(profiles: Sequence[Mapping[str, Any]]) -> None:
    """Print the profiles, one line each."""
    width = max(len(profile["name"]) for profile in profiles)
    for profile in profiles:
        default = " (the default)" if profile["default"] else ""
        say(f"{profile['name']:{width}}  {profile['about']}{default}")


def print_profile(profile: Mapping[str, Any]) -> None:
    """Print a profile's settings with their sources, then the host behaviour that it models."""
    say(f"{profile['name']}: {profile['about']}")
    if profile["based_on"]:
        say(f"based on {profile['based_on']}; what that one gives stands with its name")
    say()
    rows = [
        (
            setting["key"],
            _shown(setting["value"]),
            setting["source"]
            + ("" if setting["from"] == profile["name"] else f" [{setting['from']}]"),
        )
        for setting in profile["settings"]
    ]
    _print_rows(rows)
    say()
    values = {setting["key"]: _shown(setting["value"]) for setting in profile["settings"]}
    say("What hosts do, and what models it:")
    _print_rows(
        [
            (
                row["behaviour"],
                ", ".join(f"{key} {values.get(key, '(follows)')}" for key in row["keys"])
                or "not modelled",
                row["note"],
            )
            for row in profile["behaviours"]
        ]
    )


def print_differences(one: str, other: str, found: Sequence[Mapping[str, Any]]) -> None:
    """Print the keys in which two profiles differ."""
    if not found:
        say(f"{one} and {other} give every key the same value")
        return
    rows = [(row["key"], _shown(row[one]), _shown(row[other])) for row in found]
    _print_rows([("key", one, other), *rows])


def _print_rows(rows: Sequence[tuple[str, str, str]]) -> None:
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    for key, value, note in rows:
        say(f"  {key:{first}}  {value:{min(second, 48)}}  {note}".rstrip())


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value)


def of_scenario(plan: Plan) -> list[dict[str, Any]]:
    """Return which hosts of a scenario have what: `label`, `count`, `hosts` (numbers as a file
    writes them), `profile`, `transport`, `ecn`, `least_delay` and `most_delay` of hosts that are
    alike."""
    return list(json.loads(plan.stacks))


def print_hosts(found: Sequence[Mapping[str, Any]]) -> None:
    """Print which hosts of a scenario have what."""
    for each in found:
        count = f"{each['count']} host{'' if each['count'] == 1 else 's'}"
        if not each["count"]:
            say(f"{each['label']}: no host")
            continue
        ends = (each["least_delay"], each["most_delay"])
        least, most = (quantity.us(quantity.time(end)) for end in ends)
        delay = least if least == most else f"{least} to {most}"
        ecn = "ECN" if each["ecn"] else "no ECN"
        say(
            f"{each['label']}: {count} ({each['hosts']}): profile {each['profile']}, "
            f"{each['transport']}, {ecn}, host delay {delay}"
        )


def migrate(path: Path) -> bool:
    """Names the profile that the scenario's hosts had before there were profiles. Whether the
    file changed: one that names a profile stays as it is."""
    text = _native.migrated(str(path), files.read_text(path))
    if text is None:
        return False
    before = path.read_bytes()
    after = text.replace("\n", "\r\n") if b"\r\n" in before else text
    mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
    with files.whole(path) as draft:
        draft.write_bytes(mark + after.encode())
        import shutil

        shutil.copymode(path, draft)
    return True


def of_plans(plans: Sequence[Plan]) -> str | None:
    """Return a remark about host settings that the user did not choose."""
    hosts = [json.loads(plan.hosts) for plan in plans]
    unnamed = {host["profile"] for host in hosts if not host["named"]}
    if not unnamed:
        return None
    return (
        f"hosts are {unnamed.pop()}, the default: host.profile names another (switchbed host list)"
    )
