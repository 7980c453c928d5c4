"""The hosts that a paper's claims are judged on: `hosts.toml` in its folder, declared before
anything runs under them.

Set-ups say nothing of hosts: what a scenario file has in `[host]` and `[transport]` is left out
here, and so is what its `[compare]` varies of them, but for what the figure itself varies. In
their place stand a profile, what the paper itself says of its hosts (under every profile), and,
of what neither settles, for each seed another value of a declared range.
"""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed import _native, toml
from switchbed._native import Mistake, Plan

SECTIONS = ("host", "transport")
PROFILE = "host.profile"
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Range:
    """A setting that nobody settles: its least and its greatest value, in the same unit."""

    key: str
    low_ps: int
    high_ps: int

    def at(self, seed: int) -> str:
        """A seed's value: spread evenly over the logarithms, however many seeds there are."""
        part = (seed * GOLDEN) % 1.0
        return f"{round(self.low_ps * (self.high_ps / self.low_ps) ** part)}ps"


@dataclass(frozen=True)
class Hosts:
    """A paper's hosts of one kind: those of its testbed, say."""

    name: str
    judged: str
    """The profile by which its claims are judged."""
    others: tuple[str, ...]
    """Those under which they are measured, too."""
    why: str
    """The evidence for the judged one."""
    said: Mapping[str, Any]
    """What the paper itself says, by key."""
    ranges: tuple[Range, ...]
    changes: tuple[str, ...]
    """What was declared otherwise before something ran, why, and what verdicts moved."""
    folder: Path

    @property
    def profiles(self) -> tuple[str, ...]:
        """All of them, the judged one first."""
        return (self.judged, *self.others)

    def plans(
        self, file: Path, sets: tuple[str, ...], varies: tuple[str, ...], profile: str, seed: int
    ) -> list[Plan]:
        """The runs of a set-up on such hosts."""
        values = bare(tomllib.loads(file.read_text(encoding="utf-8")), varies)
        own = self.folder / profile
        ours: dict[str, Any] = {PROFILE: str(own) if own.suffix == ".toml" else profile}
        ours |= {**self.said} | {each.key: each.at(seed) for each in self.ranges}
        given = {text.partition("=")[0].removeprefix("compare.") for text in sets}
        given |= {key.removeprefix("compare.") for key in flat(values)}
        lines = [f"{k}={toml.value(k, v)}" for k, v in ours.items() if k not in given]
        overrides = [(line, line) for line in (*lines, *sets, f"run.seed={seed}")]
        return _native.plans_of(str(file), toml.document(values), file.parent, overrides, False)

    def source(self, profile: str) -> str:
        """A profile's text, where it is the paper's own."""
        file = self.folder / profile
        return file.read_text(encoding="utf-8") if file.suffix == ".toml" else ""


def bare(values: Mapping[str, Any], varies: tuple[str, ...] = ()) -> dict[str, Any]:
    """A scenario without its hosts, but for what its figure `varies` of them."""
    kept = {name: section for name, section in values.items() if name not in SECTIONS}
    for name in SECTIONS:
        section = {k: v for k, v in values.get(name, {}).items() if f"{name}.{k}" in varies}
        kept |= {name: section} if section else {}
    if "compare" in kept:
        kept["compare"] = {
            key: given
            for key, given in flat(kept["compare"]).items()
            if not _of_hosts(key) or key in varies
        }
    return kept


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Tables in tables as dotted keys."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{before}{key}.")
        else:
            found[before + key] = value
    return found


def own_settings(file: Path, sets: tuple[str, ...], varies: tuple[str, ...]) -> list[str]:
    """What an experiment's own file and settings say of hosts, beyond what its figure varies."""
    text = tomllib.loads(file.read_text(encoding="utf-8"))
    found = [f"{name}.{key}" for name in SECTIONS for key in flat(text.get(name, {}))]
    found += flat(text.get("compare", {}))
    found += [line.partition("=")[0].removeprefix("compare.") for line in sets]
    return [key for key in found if _of_hosts(key) and key not in varies]


def _of_hosts(key: str) -> bool:
    return key.partition(".")[0] in SECTIONS


def load(file: Path) -> dict[str, Hosts]:
    """A paper's hosts by name."""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{file}: is no TOML: {error}") from error
    known = {profile["name"] for profile in json.loads(_native.profiles())}
    ranges = tuple(
        Range(key, *(_native.time_ps(end) for end in ends))
        for key, ends in values.get("range", {}).items()
    )
    found = {}
    for name, given in values["hosts"].items():
        hosts = Hosts(
            name=name,
            judged=given["judged"],
            others=tuple(values["others"]),
            why=given["why"],
            said=given.get("said", {}),
            ranges=ranges,
            changes=tuple(values.get("changes", ())),
            folder=file.parent,
        )
        for profile in hosts.profiles:
            if profile not in known and not (file.parent / profile).exists():
                raise Mistake(f"{file}: hosts.{name}: there is no profile {profile!r}")
        found[name] = hosts
    return found
