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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed import _native, toml
from switchbed._native import Mistake, Plan

SECTIONS = ("host", "transport")
PROFILE = "host.profile"
GOLDEN = (math.sqrt(5) - 1) / 2
SILVER = math.sqrt(2) - 1
"""Multiples of either spread evenly over 0 to 1, and pairs of both over the square."""


@dataclass(frozen=True)
class Range:
    """A setting that nobody settles: its least and its greatest value, in the same unit."""

    key: str
    low_ps: int
    high_ps: int

    def at(self, seed: int) -> str:
        """A seed's value: spread evenly over the logarithms, however many seeds there are."""
        return f"{round(_between(self.low_ps, self.high_ps, seed * GOLDEN))}ps"


@dataclass(frozen=True)
class Factor:
    """Delays that the paper does not give: the set-up's, times something between these."""

    keys: tuple[str, ...]
    low: float
    high: float

    def lines(self, values: Mapping[str, Any], seed: int) -> Iterator[str]:
        """A seed's settings, of those keys that the set-up has."""
        factor = _between(self.low, self.high, seed * SILVER)
        for key in self.keys:
            section, _, name = key.partition(".")
            if name in values.get(section, {}):
                ps = _native.time_ps(values[section][name])
                yield f"{key}={round(factor * ps)}ps"


def _between(low: float, high: float, turns: float) -> float:
    return float(low * (high / low) ** (turns % 1.0))


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
    factor: Factor | None
    """Where the paper leaves the base round-trip time open."""
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
        lines += self.factor.lines(values, seed) if self.factor else ()
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
            # Seeds are the experiment's.
            if key != "seed" and (not _of_hosts(key) or key in varies)
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
            factor=_factor(given.get("delays")),
            changes=tuple(values.get("changes", ())),
            folder=file.parent,
        )
        for profile in hosts.profiles:
            if profile not in known and not (file.parent / profile).exists():
                raise Mistake(f"{file}: hosts.{name}: there is no profile {profile!r}")
        found[name] = hosts
    return found


def _factor(given: Mapping[str, Any] | None) -> Factor | None:
    return None if given is None else Factor(tuple(given["keys"]), *map(float, given["times"]))
