"""`switchbed drill`: files and folders of packetdrill scripts, a line for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from switchbed import _native, files, options
from switchbed._native import Mistake
from switchbed.drill import hosts, parser, player
from switchbed.drill.hosts import Profile
from switchbed.drill.script import BadScriptError, DepartsError, SkippedError
from switchbed.drill.sysctls import Settings
from switchbed.terminal import say

PASSED, DEPARTED, BAD_SCRIPT, SKIPPED = 0, 1, 2, 77
LARGEST = 1 << 22
"""Bytes of a file at most."""


@dataclass(frozen=True)
class Outcome:
    """A script's outcome: `passed`, `departed`, `skipped` or `bad`."""

    file: str
    outcome: str
    line: int | None = None
    problem: str = ""
    expected: str = ""
    got: str = ""
    printed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The outcome as JSON has it."""
        return {
            "file": self.file,
            "outcome": self.outcome,
            "line": self.line,
            "problem": self.problem or None,
            "expected": self.expected or None,
            "got": self.got or None,
            "printed": list(self.printed),
            "ignored": list(self.ignored),
        }

    def lines(self) -> list[str]:
        """The outcome as a user reads it."""
        if self.outcome == "passed":
            return [f"passed   {self.file}"]
        place = f"{self.file}:{self.line}"
        if self.outcome == "skipped":
            return [f"skipped  {place}: the model has no {self.problem}"]
        lines = [f"{self.outcome:8} {place}: {self.problem}"]
        if self.expected or self.got:
            lines += [f"  {place}: expected {self.expected}", f"  {place}: got      {self.got}"]
        return lines


def played(
    path: Path,
    profile: Profile,
    sets: tuple[str, ...] = (),
    given: Mapping[str, str] = MappingProxyType({}),
) -> Outcome:
    """Plays the script in a file; `given` are definitions, as `--define` has them."""
    name = str(path)
    try:
        files.check(path)
        if path.stat().st_size > LARGEST:
            raise BadScriptError(1, f"the file has more than {LARGEST} bytes")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return Outcome(name, "bad", 1, error.strerror or "it cannot be read")
    except Mistake as mistake:
        return Outcome(name, "bad", 1, str(mistake).removeprefix(f"{path}: "))
    except BadScriptError as bad:
        return Outcome(name, "bad", bad.line, str(bad))
    return played_text(text, profile, name, path.parent, sets, given)


def played_text(
    text: str,
    profile: Profile,
    name: str,
    folder: Path,
    sets: tuple[str, ...] = (),
    given: Mapping[str, str] = MappingProxyType({}),
) -> Outcome:
    """Plays a script."""
    run: player.Player | None = None
    made: dict[str, Any] = {}

    def noted() -> dict[str, Any]:
        if run is None:
            return made
        return {"printed": tuple(run.asserts.printed), "ignored": tuple(run.settings.ignored)}

    try:
        script = parser.parse(text, given)
        run = player.Player(script, profile, Settings(folder=folder), sets)
        run.play()
    except SkippedError as skip:
        return Outcome(name, "skipped", skip.line, str(skip), **noted())
    except BadScriptError as bad:
        return Outcome(name, "bad", bad.line, str(bad), **noted())
    except Mistake as mistake:
        return Outcome(name, "bad", 1, str(mistake), **noted())
    except DepartsError as departs:
        found = (departs.expected, departs.got)
        return Outcome(name, "departed", departs.line, str(departs), *found, **noted())
    return Outcome(name, "passed", **noted())


def scripts(paths: tuple[Path, ...]) -> list[Path]:
    """The files among paths, and the scripts in folders."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.rglob("*.pkt")) if path.is_dir() else [path]
    return found


def code(outcomes: list[Outcome]) -> int:
    """The command's exit code."""
    kinds = {outcome.outcome for outcome in outcomes}
    if "bad" in kinds or not kinds:
        return BAD_SCRIPT
    if "departed" in kinds:
        return DEPARTED
    return SKIPPED if kinds == {"skipped"} else PASSED


@click.command()
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@click.option(
    "--profile",
    default="linux-6.x",
    show_default=True,
    metavar="NAME",
    help="Host profile, or a file of one's own (switchbed host list).",
)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a key of [host] or [transport], as transport.timer_slack=10ms.",
)
@click.option(
    "-D",
    "--define",
    "words",
    multiple=True,
    metavar="WORD=VALUE",
    help="Let a word in scripts stand for a value, as packetdrill's option does.",
)
@options.JSON
def drill(
    paths: tuple[Path, ...],
    profile: str,
    sets: tuple[str, ...],
    words: tuple[str, ...],
    json_to: str | None,
) -> int:
    """Play packetdrill scripts against one connection of the model.

    FILE is a script or a folder of them (*.pkt). A script passes, departs (with the line, what
    it expected and what the model did), or is skipped with the name of what the model has not.

    Exit code: 0 all passed, skipped ones apart; 1 one departed; 2 one is wrong; 77 all were
    skipped."""
    host = Profile.of(profile)
    given = {}
    for text in words:
        if not (found := parser.definition(text)):
            raise click.UsageError(f"--define is {text!r}: write WORD=VALUE")
        given[found[0]] = found[1]
    # Keys that no host takes are refused before any script is played.
    keys = hosts.overrides(host, Settings(), player.UNAGREED, sets)
    _native.Drill(hosts.SCENARIO, keys)
    files = scripts(paths)
    if not files:
        raise click.UsageError(f"{paths[0]} has no scripts: files that end in .pkt are needed")
    outcomes = []
    for path in files:
        outcomes.append(played(path, host, sets, given))
        if json_to is None:
            for line in outcomes[-1].lines():
                say(line)
            for line in outcomes[-1].printed:
                say(f"  {line}")
    if json_to is not None:
        options.write_json([outcome.document() for outcome in outcomes], json_to)
    elif len(outcomes) > 1:
        counts = {kind: sum(o.outcome == kind for o in outcomes) for kind in KINDS}
        say(", ".join(f"{count} {kind}" for kind, count in counts.items() if count))
    return code(outcomes)


KINDS = ("passed", "departed", "skipped", "bad")
