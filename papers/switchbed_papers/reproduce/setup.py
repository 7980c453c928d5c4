"""The joint set-up of a paper: `setup.toml` in its folder, one for all its experiments.

Each setting has its evidence:

| class | what it rests on |
| --- | --- |
| printed | a place of the paper that prints it |
| implied | a place whose text rules other values out, and what it `excludes` |
| default | what the paper names (a simulator, a kernel, the authors' code) does by default |
| assumed | nothing: our choice, without a grid |
| open | nothing: a grid, of which the joint search (`search.py`) chooses for the whole paper |

`settings` are set on every run. `states` are settings that the scenario files have themselves:
their evidence is shown with the others', and a test holds that the runs have them.

Scenario files say nothing of hosts: what a file has in `[host]` and `[transport]` is left out here,
and so is what its `[compare]` varies of them, but for what the figure itself varies. A paper is run
under several readings: `joint` (open settings as the search chose them), `literal` (their
defaults), and two other host profiles, whose hosts replace the defaults and the open settings of
hosts.
"""

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from switchbed import _native, toml
from switchbed._native import Mistake, Plan
from switchbed_papers.reproduce import places
from switchbed_papers.reproduce.places import Place

SECTIONS = ("host", "transport")
PROFILE = "host.profile"
JOINT, LITERAL = "joint", "literal"
CHOSEN = "search.json"
"""File of the papers' joint searches, and of the points that they chose (`search.py`)."""
MOST_OPEN = 6
GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it spread evenly over 0 to 1."""

Class = Literal["printed", "implied", "default", "assumed"]
PLACELESS = ("default", "assumed")
Point = Mapping[str, str]
"""Of each open setting the name of one value of its grid."""


def searches(folder: Path) -> dict[str, Any]:
    """Searches beside a paper's folder, by the name of each paper's."""
    file = folder.with_name(CHOSEN)
    if not file.exists():
        return {}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class Setting:
    """Settings that one piece of evidence settles."""

    values: Mapping[str, Any]
    by: Class
    place: Place | None
    """Where the paper says so; none for defaults and assumptions."""
    note: str
    """Of an implied setting the value that is excluded; of a default the program that has it; of an
    assumption its reason."""
    experiments: tuple[str, ...]
    """Experiments that it concerns; all if none is named."""


@dataclass(frozen=True)
class Open:
    """A setting that the paper leaves open."""

    name: str
    says: str
    experiments: tuple[str, ...]
    """Experiments that it concerns; all if none is named."""
    grid: Mapping[str, Mapping[str, Any]]
    """The values that are tried, by name."""
    literal: str
    """The value that one takes who reads the paper alone: a default."""
    joint: str
    """The value that the joint search chose; the literal one where it has not run."""


@dataclass(frozen=True)
class Range:
    """A host's delay that differs from seed to seed: its least and its greatest value."""

    key: str
    low_ps: int
    high_ps: int

    def at(self, seed: int) -> str:
        """A seed's value: spread evenly over the logarithms, however many seeds there are."""
        # A sequence of low discrepancy: five seeds cover the range as evenly as fifty do.
        turns = (seed * GOLDEN) % 1.0
        return f"{round(self.low_ps * (self.high_ps / self.low_ps) ** turns)}ps"


@dataclass(frozen=True)
class Setup:
    """The set-up of one kind of a paper's experiments, such as its testbed's."""

    name: str
    profile: str
    """Hosts whose values hold where nothing else is said."""
    others: tuple[str, ...]
    """Other host profiles under which claims are measured, too."""
    by: Setting
    """The evidence for the profile."""
    settings: tuple[Setting, ...]
    states: tuple[Setting, ...]
    """Settings that the scenario files have, with their evidence; they change no run."""
    open: tuple[Open, ...]
    ranges: tuple[Range, ...]
    folder: Path

    @property
    def readings(self) -> tuple[str, ...]:
        """All of them, the joint set-up first."""
        return (JOINT, LITERAL, *self.others)

    @property
    def joint(self) -> dict[str, str]:
        """Return the point of the joint set-up."""
        return {each.name: each.joint for each in self.open}

    @property
    def literal(self) -> dict[str, str]:
        """The point of the paper's letter."""
        return {each.name: each.literal for each in self.open}

    @property
    def is_literal(self) -> bool:
        """Whether the joint set-up is the literal one."""
        return self.digest(JOINT) == self.digest(LITERAL)

    def of(self, experiment: str) -> "Setup":
        """The part that concerns an experiment."""

        def concerns(each: Setting | Open) -> bool:
            return not each.experiments or experiment in each.experiments

        return replace(
            self,
            settings=tuple(filter(concerns, self.settings)),
            states=tuple(filter(concerns, self.states)),
            open=tuple(filter(concerns, self.open)),
        )

    def values(self, reading: str, point: Point | None = None) -> dict[str, Any]:
        """Settings by key under a reading, at a point of the grid or at the reading's own."""
        other = reading not in (JOINT, LITERAL)
        if point is None:
            point = self.literal if reading == LITERAL else self.joint
        own = self.folder / (reading if other else self.profile)
        found: dict[str, Any] = {PROFILE: str(own) if own.suffix == ".toml" else own.name}
        for each in self.settings:
            # Another host profile replaces defaults alone: settings that the paper prints stay.
            if not other or each.by != "default":
                found |= each.values
        for setting in self.open:
            values = setting.grid[point[setting.name]]
            # Open settings of hosts are the other profile's to say; those of switches stay.
            found |= {k: v for k, v in values.items() if not other or not of_hosts(k)}
        return found

    def plans(
        self,
        file: Path,
        sets: tuple[str, ...],
        varies: tuple[str, ...],
        reading: str,
        seed: int,
        point: Point | None = None,
    ) -> list[Plan]:
        """The runs of a scenario under a reading."""
        scenario = bare(tomllib.loads(file.read_text(encoding="utf-8")), varies)
        ours = {each.key: each.at(seed) for each in self.ranges} | self.values(reading, point)
        # A key that the experiment sets or compares is not set by the set-up.
        given = {text.partition("=")[0].removeprefix("compare.") for text in sets}
        given |= flat(scenario.get("compare", {})).keys()
        given |= {key for key in flat(scenario) if of_hosts(key)}
        lines = [f"{k}={toml.value(k, v)}" for k, v in ours.items() if k not in given]
        overrides = [(line, line) for line in (*lines, *sets, f"run.seed={seed}")]
        return _native.plans_of(str(file), toml.document(scenario), file.parent, overrides, False)

    def digest(self, reading: str) -> str:
        """All that the set-up settles under a reading; rows of this set-up carry the same."""
        values = self.values(reading)
        # A profile counts by its text and not by its path, which differs from machine to machine.
        values[PROFILE] = Path(str(values[PROFILE])).name + self.source(reading)
        ranges = [(each.key, each.low_ps, each.high_ps) for each in self.ranges]
        text = json.dumps([values, ranges], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def source(self, reading: str) -> str:
        """A profile's text, where it is the paper's own."""
        own = self.profile if reading in (JOINT, LITERAL) else reading
        file = self.folder / own
        return file.read_text(encoding="utf-8") if file.suffix == ".toml" else ""


def bare(values: Mapping[str, Any], varies: tuple[str, ...] = ()) -> dict[str, Any]:
    """A scenario without its hosts, but for what its figure `varies` of them. Of `[[host]]` these
    are the entries that name hosts: the set-up has all others."""
    kept = {name: section for name, section in values.items() if name not in SECTIONS}
    for name in SECTIONS:
        given = values.get(name, {})
        if isinstance(given, list):
            if name not in varies:
                raise Mistake(
                    f'[[{name}]]: hosts differ, which a set-up leaves out: varies = ["{name}"] '
                    "keeps those that an entry names"
                )
            named = [each for each in given if each.keys() & {"hosts", "share"}]
            # The set-up's keys of hosts go into the entry for all others.
            kept |= {name: [{}, *named]} if named else {}
            continue
        section = {k: v for k, v in given.items() if f"{name}.{k}" in varies}
        kept |= {name: section} if section else {}
    if "compare" in kept:
        kept["compare"] = {
            key: given
            for key, given in flat(kept["compare"]).items()
            # Seeds are the experiment's.
            if key != "seed" and (not of_hosts(key) or key in varies or key.split(".")[0] in varies)
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


def of_hosts(key: str) -> bool:
    """Whether a setting is one of hosts."""
    return key.partition(".")[0] in SECTIONS


def load(folder: Path) -> dict[str, Setup]:
    """A paper's set-ups by the kind of experiment."""
    file = folder / "setup.toml"
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{file}: is no TOML: {error}") from error
    return _Reader(file).setups(values)


@dataclass(frozen=True)
class _Reader:
    file: Path

    def mistake(self, at: str, what: str) -> Mistake:
        return Mistake(f"{self.file}: {at}: {what}")

    def setups(self, values: dict[str, Any]) -> dict[str, Setup]:
        self._keys("the file", values, {"others", "kind"}, {"open", "range"})
        opened = values.get("open", {})
        if len(opened) > MOST_OPEN:
            raise self.mistake("open", f"{len(opened)} settings; at most {MOST_OPEN} may be open")
        chosen = self._chosen(opened)
        open_ = tuple(self._open(name, each, chosen) for name, each in opened.items())
        ranges = tuple(
            Range(key, *(_native.time_ps(end) for end in ends))
            for key, ends in values.get("range", {}).items()
        )
        found = {}
        for name, given in values["kind"].items():
            at = f"kind.{name}"
            needed = {"profile"}
            lists = ("settings", "states")
            self._keys(at, given, needed, {*lists, *get_args(Class), "excludes"})
            # The kind's own keys are the evidence for its profile.
            by = {key: each for key, each in given.items() if key not in (*needed, *lists)}
            both = {
                name: tuple(
                    self._setting(f"{at}.{name}.{index}", each)
                    for index, each in enumerate(given.get(name, ()))
                )
                for name in lists
            }
            setup = Setup(
                name=name,
                profile=given["profile"],
                others=tuple(values["others"]),
                by=self._setting(at, {"set": {}, **by}),
                settings=both["settings"],
                states=both["states"],
                open=open_,
                ranges=ranges,
                folder=self.file.parent,
            )
            for profile in (setup.profile, *setup.others):
                self._profile(at, profile)
            found[name] = setup
        return found

    def _profile(self, at: str, name: str) -> None:
        known = [profile["name"] for profile in json.loads(_native.profiles())]
        if name not in known and not (self.file.parent / name).exists():
            raise self.mistake(at, f"no profile {name!r}; there is {', '.join(known)}")

    def _setting(self, at: str, given: Mapping[str, Any]) -> Setting:
        classes = [name for name in get_args(Class) if name in given]
        if len(classes) != 1:
            raise self.mistake(at, f"needs one of {', '.join(get_args(Class))} as its evidence")
        by: Class = classes[0]
        needed = {"set", by} | ({"excludes"} if by == "implied" else set())
        self._keys(at, given, needed, {"experiments"})
        place = None
        if by not in PLACELESS:
            place = places.parse(given[by])
            if place is None:
                wanted = "a place such as 'II-C.3 ‹In order to›', three words at least"
                raise self.mistake(f"{at}.{by}", f"{given[by]!r} is not {wanted}")
        note = given[by] if by in PLACELESS else given.get("excludes", "")
        return Setting(given["set"], by, place, note, tuple(given.get("experiments", ())))

    def _open(self, name: str, given: Mapping[str, Any], chosen: Mapping[str, str]) -> Open:
        at = f"open.{name}"
        self._keys(at, given, {"says", "literal", "grid"}, {"experiments"})
        grid = given["grid"]
        if len(grid) < 2:
            raise self.mistake(f"{at}.grid", "needs two values at least")
        for value, where in ((given["literal"], f"{at}.literal"), (chosen.get(name), CHOSEN)):
            if value is not None and value not in grid:
                raise self.mistake(where, f"no {value!r} in the grid: {', '.join(grid)}")
        return Open(
            name=name,
            says=given["says"],
            experiments=tuple(given.get("experiments", ())),
            grid=grid,
            literal=given["literal"],
            joint=chosen.get(name, given["literal"]),
        )

    def _chosen(self, opened: Mapping[str, Any]) -> dict[str, str]:
        folder = self.file.parent
        kept = searches(folder).get(folder.name)
        if kept is None:
            return {}
        found: dict[str, str] = kept["joint"]
        # A search over other settings says nothing of today's.
        if found.keys() != opened.keys():
            raise Mistake(
                f"{folder.with_name(CHOSEN)}: {folder.name}.joint: chose {', '.join(found)}, but "
                f"{self.file.name} leaves {', '.join(opened)} open; run the search again"
            )
        return found

    def _keys(self, at: str, given: Mapping[str, Any], needed: set[str], more: set[str]) -> None:
        if missing := needed - given.keys():
            raise self.mistake(at, f"needs {', '.join(sorted(missing))}")
        if unknown := given.keys() - needed - more:
            can = ", ".join(sorted(needed | more))
            raise self.mistake(at, f"does not know {', '.join(sorted(unknown))}; takes {can}")
