"""Files that come with the program, and reading of a scenario from a file, `@NAME` or `-`."""

import functools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from switchbed import _native, files, options
from switchbed._native import Mistake, Plan
from switchbed.terminal import say

DATA = Path(__file__).parent / "data"
SCENARIOS = DATA / "scenarios"
TEMPLATES = DATA / "templates"
STDIN = "-"

PAPERS = {
    "afd-": "AFD (Pan, Breslau, Prabhakar, Shenker; 2003)",
    "afqcn-": "AF-QCN (Kabbani, Alizadeh, Yasuda, Pan, Prabhakar; 2010)",
    "cedm-": "CEDM (Shan, Ren; INFOCOM 2017)",
    "cqrd-": "CQRD (Chen, Zhao, Pei; Computer Networks 2015)",
    "e-ecn-": "E-ECN (Wang, Han, Zhuang, Xue, Sun, Lu)",
    "eecn-": "E-ECN (Wang, Han, Zhuang, Xue, Sun, Lu)",
    "mqecn-": "MQ-ECN (Bai, Chen, Chen, Wu; NSDI 2016)",
    "red-": "RED (Floyd, Jacobson; 1993)",
    "s-ecn-": "S-ECN (Wang, Han, Zhuang, Xue, Sun, Lu)",
}
"""Authors of a scenario's idea, by the beginning of its name."""


WIDE = 78
"""Characters of a line of a catalogue that is shown."""
TALL = 20
"""Entries of one that are shown."""


class Catalogue(list[dict[str, Any]]):
    """Entries that are shown as a line each, as far as a screen has room."""

    def __init__(self, entries: Sequence[dict[str, Any]], about: str) -> None:
        super().__init__(entries)
        self._about = about

    def __repr__(self) -> str:
        """An entry's name and what it is; `entry["name"]` and its other keys have all."""
        width = max((len(entry["name"]) for entry in self), default=0)
        rows = [f"{entry['name']:{width}}  {entry[self._about]}" for entry in self[:TALL]]
        rows = [row if len(row) <= WIDE else row[: WIDE - 1] + "…" for row in rows]
        more = len(self) - TALL
        return "\n".join([*rows, *([f"… and {more} more"] if more > 0 else [])])


def names() -> list[str]:
    """List the names of the scenarios that come with the program."""
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def scenarios() -> list[dict[str, Any]]:
    """List the scenarios that come with switchbed.

    Returns:
        Dicts with `name`, which `Scenario.from_file("@NAME")` takes, `title`, and `paper`, whose
        idea it shows, or `None`.

    Example:
        >>> [entry["name"] for entry in sb.scenarios()]
    """
    return Catalogue([_entry(name) for name in names()], "title")


def _entry(name: str) -> dict[str, Any]:
    import tomllib

    title = tomllib.loads((SCENARIOS / f"{name}.toml").read_text(encoding="utf-8"))["title"]
    paper = next((paper for begin, paper in PAPERS.items() if name.startswith(begin)), None)
    return {"name": name, "title": title, "paper": paper}


def schemes() -> list[dict[str, Any]]:
    """List the schemes.

    Returns:
        Dicts with `name`, `paper`, `summary`, `seats` (what the scheme decides), `parameters` with
        the values that each takes, `main` (the parameter that one asks about) and what other
        systems have in its place (`tc`, `wred`, `nearest`).

    Example:
        >>> next(s for s in sb.schemes() if s["name"] == "mq-ecn")["parameters"]
    """
    return Catalogue(json.loads(_native.schemes()), "summary")


def named(names: Sequence[str], schemes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The schemes of these names, in their order."""
    # A near name turns a slip into a hint.
    known = {scheme["name"]: scheme for scheme in schemes}
    for name in names:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, 1)
            meant = f"did you mean {near[0]}?" if near else "switchbed schemes lists them"
            raise Mistake(f"{name}: there is no such scheme: {meant}")
    return [known[name] for name in names]


@functools.cache
def definition(name: str | None) -> Mapping[str, Any]:
    """Return what `schemes` has of one; of a name that is none of them, what a scheme has that no
    other system knows."""
    unknown = {
        "main": "",
        "compared": "queue",
        "by_quantum": False,
        "tc": "",
        "wred": "",
        "no_wred": "",
        "nearest": "",
        "seats": {},
        "parameters": [],
    }
    return next((scheme for scheme in schemes() if scheme["name"] == name), unknown)


def makes_queues(name: str) -> bool:
    """Whether the scheme makes a port's queues and serves them itself."""
    return bool(definition(name)["seats"].get("scheduler", "any") != "any")


def policies() -> list[dict[str, Any]]:
    """List the buffer policies of a switch.

    Returns:
        Dicts with `name`, `key` (`switch.policy`, which chooses it), `paper`, `summary`,
        `source`, and `parameters`.
    """
    return Catalogue(json.loads(_native.policies()), "summary")


def hosts() -> list[dict[str, Any]]:
    """List the host profiles.

    Returns:
        Dicts with `name`, `about`, `based_on`, and `default`, whether new scenarios get it.

    Example:
        >>> [profile["name"] for profile in sb.hosts()]
    """
    return Catalogue(json.loads(_native.profiles()), "about")


def chips() -> list[dict[str, Any]]:
    """List the switch chips whose memory is known.

    Returns:
        Dicts with the sizes that vendors' files show, in bytes (`memory_bytes`, `cell_bytes`),
        what they come to in cells, and counts `observed` on switches. `None`: not known.

    Example:
        >>> next(c for c in sb.chips() if c["name"] == "tomahawk-3")["memory_bytes"]
    """
    return Catalogue(json.loads(_native.chips()), "switch")


def sizes() -> list[dict[str, Any]]:
    """List the built-in flow-size tables.

    Returns:
        Dicts with `name`, `source`, `mean_bytes`, by which a load becomes a rate of flows, the
        mean of the sizes as drawn, `percentiles_bytes`, and `points`.

    Example:
        >>> {table["name"]: table["mean_bytes"] for table in sb.sizes()}
    """
    return Catalogue(json.loads(_native.sizes()), "source")


def print_scenarios(found: Sequence[dict[str, Any]]) -> None:
    """A line each, those of a paper together."""
    width = max(len(each["name"]) for each in found) + 1
    for paper in (None, *sorted({each["paper"] for each in found} - {None})):
        say(paper or "One idea each")
        for each in found:
            if each["paper"] == paper:
                say(f"  {'@' + each['name']:{width}}  {each['title']}")


def print_sizes(tables: Sequence[dict[str, Any]]) -> None:
    """A line each, then whose they are."""
    shares = ("p10", "p50", "p90", "p99", "p100")
    width = max(len(table["name"]) for table in tables)
    say(" ".join([f"{'flow sizes':{width}}", *(f"{head:>9}" for head in ("mean", *shares))]))
    for table in tables:
        values = [table["mean_bytes"], *(table["percentiles_bytes"][share] for share in shares)]
        say(" ".join([f"{table['name']:{width}}", *(f"{_size(value):>9}" for value in values)]))
    say()
    for table in tables:
        say(f"{table['name']:{width}} {table['source']}")


def _size(count: float) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} B"


class Given(NamedTuple):
    """A scenario as a command was given it."""

    name: str
    """Name of the scenario in messages."""
    path: Path | None = None
    """Path of the file, if there is one."""
    text: str | None = None
    """Text of the file; `None`: it is read when it is planned."""

    @property
    def stem(self) -> str:
        """Return the name of a sweep of this scenario."""
        if self.path is None:
            raise Mistake(f"{self.name} names no sweep: give it a --name")
        return self.path.stem

    def plans(self, sets: Sequence[str] = (), seed: int | None = None) -> list[Plan]:
        """Return the runs of the scenario under `--set` and `--seed`."""
        folder = Path() if self.path is None else self.path.parent
        if self.text is None:
            return _native.plans(self.name, sets, seed)
        # Each override has the words by which a mistake names it.
        overrides = [(each, f"--set {each}") for each in sets]
        if seed is not None:
            overrides.append((f"seed={seed}", f"--seed {seed}"))
        return _native.plans_of(self.name, self.text, folder, overrides, True)


def given(file: str | os.PathLike[str]) -> Given:
    """Interpret a command's FILE: a file, `@NAME` for one that comes with the program, `-` for
    standard input."""
    name = os.fspath(file)
    if name == STDIN:
        return Given("standard input", text=_standard_input())
    if name.startswith("@"):
        path = shipped(name)
        # A shipped scenario is read here, so that messages name it by its @NAME and not by its
        # path.
        return Given(name, path, files.read_text(path))
    path = Path(name)
    # A bare name of a shipped scenario most likely lacks its @.
    if path.suffix in ("", ".toml") and not path.exists() and path.stem in names():
        raise Mistake(f"{name}: there is no such file; @{path.stem} comes with switchbed")
    return Given(name, path)


def is_scenario(name: str) -> bool:
    """Whether a name is a scenario's, and not a host profile's: `@NAME`, or a file with traffic."""
    if name.startswith("@"):
        return True
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        return False
    import tomllib

    try:
        # Every scenario has traffic, and no host profile has.
        return "traffic" in tomllib.loads(files.read_text(path))
    except tomllib.TOMLDecodeError:
        return False


def shipped(name: str) -> Path:
    """Return the path of a shipped scenario, without its `@`."""
    wanted = name.removeprefix("@").removesuffix(".toml")
    if wanted not in names():
        import difflib

        near = difflib.get_close_matches(wanted, names(), 1)
        guess = f"did you mean @{near[0]}?" if near else "switchbed scenario list names them"
        raise Mistake(f"{name}: no such scenario comes with switchbed; {guess}")
    return SCENARIOS / f"{wanted}.toml"


def own(file: str | os.PathLike[str]) -> Path:
    """A file of the user's own, which may be changed."""
    name = os.fspath(file)
    if name == STDIN or name.startswith("@"):
        raise Mistake(f"{name}: is no file of yours to change; save a copy of it first")
    return Path(name)


def _standard_input() -> str:
    try:
        # Bytes, decoded as UTF-8: the locale's encoding may be another.
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise Mistake("standard input: cannot read the scenario: it is no UTF-8 text") from None


def templates() -> list[str]:
    """The kinds of scenario that `switchbed new` writes."""
    return sorted(path.stem for path in TEMPLATES.glob("*.toml"))


def write_new(kind: str, to: Path | None) -> None:
    """Writes a commented scenario that runs as it is."""
    text = (TEMPLATES / f"{kind}.toml").read_text(encoding="utf-8")
    path = to or Path(f"{kind}.toml")
    if str(path) == STDIN:
        options.write(text, STDIN)
        return
    options.write(text, str(path))
    import shlex

    say(f"written to {path}; switchbed run {shlex.quote(str(path))} runs it")
