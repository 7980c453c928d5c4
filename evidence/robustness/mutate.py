"""Scenario files changed at random: values, units, types, keys and the structure around them. A
mutant is its seed's and number's alone, so that one that broke something can be had again."""

import itertools
import json
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from switchbed import _native

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"
LARGE = ("fat-tree-65536",)
"""Only to build these takes longer than a mutant may."""

VALUE = re.compile(
    r'"[^"\n]*"|(?<![\w.])-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?(?![\w.])|\b(?:true|false)\b'
)
QUANTITY = re.compile(r'"(-?[\d.]+) ?([A-Za-zµ%]+)"')
PAIR = re.compile(r"^([\w.]+) = (.*)$")
UNITS = {
    unit: units
    for units in (
        ("ps", "ns", "us", "µs", "ms", "s"),
        ("bps", "kbps", "Mbps", "Gbps", "Tbps"),
        ("B", "KB", "kB", "MB", "GB", "KiB", "MiB", "GiB", "pkt"),
        ("%", ""),
    )
    for unit in units
}
UNTIL_PS = 5_000_000_000
"""How long a run lasts at most, before it is changed."""
STRANGE = (
    *(
        "0",
        "1",
        "-1",
        "2",
        "64",
        "65",
        "1e-12",
        "1e12",
        "1e308",
        "nan",
        "inf",
        "-0.0",
        "1_0",
        "0x10",
    ),
    *("9223372036854775807", "9223372036854775808", "18446744073709551615", "1000000", "0.9999999"),
    *('""', '" "', '"x"', '"\\u001b[31m"', '"\\n"', '"ä"', '"0"', '"-1us"', '"1e3us"', '".5s"'),
    *(
        '"0ps"',
        '"1ps"',
        '"99999999999999999999s"',
        '"100000s"',
        '"1bps"',
        '"0bps"',
        '"1000000Tbps"',
    ),
    *('"0B"', '"1B"', '"18446744073709551615B"', '"0pkt"', '"100%"', '"0.0000001%"', '"1000GiB"'),
    *("true", "false", "[]", "{}", "[[]]", '[""]', "[1, 'x']", "{ name = 'x' }", "1979-05-27"),
    *(
        '"flow-list.csv"',
        '"."',
        '"no-such-file"',
        '"all"',
        '"off"',
        '"0-3"',
        '"leaf1:2"',
        '"host0"',
    ),
)
"""Values for any key: at the ends of a range and past them, of another kind, of no kind."""
LETTERS = "abz09._-\"'[]{}=,# \t%µ\u202e\x00\x1b"


def mutant(seed: int, number: int) -> tuple[str, str]:
    """The name of the scenario that it comes from, and its text."""
    draw = random.Random(f"{seed}/{number}")
    name = draw.choice(sorted(texts()))
    lines = texts()[name].splitlines()
    for _ in range(draw.choice((1, 1, 1, 1, 2, 2, 4))):
        draw.choice(EDITS)(lines, draw)
    return name, "\n".join(lines) + "\n"


@cache
def texts() -> dict[str, str]:
    """The scenarios that come with Switchbed, with few flows and little time, without remarks."""
    files = (file for file in SCENARIOS.glob("*.toml") if file.stem not in LARGE)
    return {file.stem: shortened(file.read_text()) for file in files}


def shortened(text: str) -> str:
    """The same scenario in a run of milliseconds."""
    text = re.sub(r"^\s*#.*\n|\s+# .*$", "", text, flags=re.M)
    text = re.sub(r"\n{2,}", "\n", text)
    text = re.sub(r"^flows = [\d_]+", "flows = 20", text, flags=re.M)
    times = re.compile(r'\b(until|warmup|at|start|stop|stagger) = "([^"]+)"')
    scale = max(
        [1.0, *(_native.time_ps(m[2]) / UNTIL_PS for m in times.finditer(text) if m[1] == "until")]
    )
    return times.sub(lambda m: f'{m[1]} = "{_native.time_ps(m[2]) / scale / 1000:.0f}ns"', text)


@cache
def vocabulary() -> dict[str, dict[str, tuple[str, ...]]]:
    """What each section's keys may be given: all the schema's words and bounds, and whatever a
    scenario gives to a key of this name."""
    schema = json.loads(_native.schema())
    given: dict[str, set[str]] = {}
    for text in texts().values():
        for line in text.splitlines():
            if pair := PAIR.match(line):
                given.setdefault(pair[1], set()).add(pair[2])
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for section, what in schema["properties"].items():
        keys = what.get("items", what).get("properties", {})
        for key, kind in keys.items():
            values = {*samples(kind), *given.get(key, ())}
            found.setdefault(section, {})[key] = tuple(sorted(values))
    return found


def samples(kind: dict[str, Any]) -> list[str]:
    """Values of a kind of the schema: each of its words, and its least and greatest."""
    kinds = kind.get("anyOf", [])
    found = [json.dumps(word) for word in kind.get("enum", ())]
    found += [str(kind[end]) for end in ("minimum", "maximum") if end in kind]
    found += [f"[{sample}]" for sample in samples(kind.get("items", {}))] if kind else []
    return found + list(itertools.chain.from_iterable(samples(each) for each in kinds))


Lines = list[str]
Edit = Callable[[Lines, random.Random], None]


def other_value(lines: Lines, draw: random.Random) -> None:
    """One value becomes a strange one, or what another key holds."""
    if place := _token(lines, draw, VALUE):
        at, found = place
        others = [v[0] for line in lines for v in VALUE.finditer(line)]
        _put(lines, at, found, draw.choice((draw.choice(STRANGE), draw.choice(others))))


def other_size(lines: Lines, draw: random.Random) -> None:
    """A number or a quantity grows or shrinks, by a little or by much."""
    if place := _token(lines, draw, re.compile(r"(?<![\w.])\d+(?:\.\d+)?")):
        at, found = place
        by = draw.choice((0, -1, 0.5, 0.999, 1.001, 2, 10, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9))
        number = float(found[0]) * by
        whole = number.is_integer() and "." not in found[0]
        _put(lines, at, found, str(int(number)) if whole else f"{number:.12g}")


def other_unit(lines: Lines, draw: random.Random) -> None:
    """A quantity's unit becomes another, of its kind or not."""
    if place := _token(lines, draw, QUANTITY):
        at, found = place
        kin = UNITS.get(found[2], tuple(UNITS))
        _put(lines, at, found, f'"{found[1]}{draw.choice((*kin, draw.choice(tuple(UNITS))))}"')


def other_kind(lines: Lines, draw: random.Random) -> None:
    """All that a key has becomes of another type: bare, quoted, a list, a table."""
    if place := _token(lines, draw, PAIR):
        at, found = place
        key, value = found[1], found[2]
        bare = value.strip('"')
        ways = (bare, f'"{bare}"', f"[{value}]", f"[{value}, {value}]", f"{{ a = {value} }}")
        lines[at] = f"{key} = {draw.choice(ways)}"


def other_key(lines: Lines, draw: random.Random) -> None:
    """A key gets another's name, or one that is a slip of the pen."""
    if place := _token(lines, draw, PAIR):
        at, found = place
        keys = [key for section in vocabulary().values() for key in section]
        slip = draw.randrange(len(found[1]))
        slips = (found[1][:slip] + found[1][slip + 1 :], f"{found[1]}.x", f'"{found[1]}"', "")
        lines[at] = f"{draw.choice((draw.choice(keys), draw.choice(slips)))} = {found[2]}"


def one_more_key(lines: Lines, draw: random.Random) -> None:
    """A section gets a key that it may have, with a value that this may have, or one with a
    section of its own."""
    section = draw.choice(tuple(vocabulary()))
    keys = vocabulary()[section]
    if not keys:
        return
    key = draw.choice(tuple(keys))
    line = f"{key} = {draw.choice((*keys[key], draw.choice(STRANGE)))}"
    heads = [i for i, text in enumerate(lines) if text.strip("[]") == section]
    if heads:
        lines.insert(draw.choice(heads) + 1, line)
    else:
        repeated = section in ("traffic", "deploy", "event")
        lines += [f"[[{section}]]" if repeated else f"[{section}]", line]


def compared(lines: Lines, draw: random.Random) -> None:
    """A key of the file is compared."""
    section = draw.choice(tuple(vocabulary()))
    keys = vocabulary()[section]
    if keys:
        key = draw.choice(tuple(keys))
        values = draw.choices((*keys[key], *STRANGE), k=draw.randint(0, 3))
        lines.append(f"[compare.{section}]\n{key} = [{', '.join(values)}]")


def moved(lines: Lines, draw: random.Random) -> None:
    """A line goes elsewhere, twice or never."""
    at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
    line = lines[at]
    if draw.random() < 0.7:
        del lines[at]
    if draw.random() < 0.5 or not lines:
        lines.insert(to, line)


def other_head(lines: Lines, draw: random.Random) -> None:
    """A section becomes a list of sections or the reverse, another section, or a part of one."""
    heads = [i for i, line in enumerate(lines) if line.startswith("[")]
    if heads:
        at = draw.choice(heads)
        name = lines[at].strip("[]")
        names = (name, draw.choice(tuple(vocabulary())), f"{name}.params", f"x.{name}", "")
        new = draw.choice(names)
        lines[at] = draw.choice((f"[{new}]", f"[[{new}]]", f"[{new}", f"{new} = {{}}"))


def section_gone(lines: Lines, draw: random.Random) -> None:
    """A section is left out, or comes a second time."""
    heads = [i for i, line in enumerate(lines) if line.startswith("[")]
    if heads:
        first = draw.choice(heads)
        end = next((i for i in heads if i > first), len(lines))
        if draw.random() < 0.5:
            lines += lines[first:end]
        else:
            lines[first:end] = [""]


def scribbled(lines: Lines, draw: random.Random) -> None:
    """Some letters are lost, or others come between."""
    at = draw.randrange(len(lines))
    line = lines[at]
    cut = sorted(draw.randint(0, len(line)) for _ in range(2))
    new = "".join(draw.choices(LETTERS, k=draw.randint(0, 4)))
    lines[at] = line[: cut[0]] + new + line[cut[draw.randint(0, 1)] :]


def cut_short(lines: Lines, draw: random.Random) -> None:
    """The file ends early."""
    del lines[draw.randint(1, len(lines)) :]


EDITS: tuple[Edit, ...] = (
    *(other_value, other_value, other_size, other_size, other_size, other_unit, other_unit),
    *(one_more_key, one_more_key, one_more_key, other_kind, other_key, compared),
    *(moved, other_head, section_gone, scribbled, cut_short),
)
"""The commoner ones more than once: most mutants should pass the check, and run."""


def _token(
    lines: Lines, draw: random.Random, pattern: re.Pattern[str]
) -> tuple[int, re.Match[str]] | None:
    """A place where the pattern is found, and what is found there."""
    found = [(i, match) for i, line in enumerate(lines) for match in pattern.finditer(line)]
    return draw.choice(found) if found else None


def _put(lines: Lines, at: int, found: re.Match[str], new: str) -> None:
    """Puts something new in place of what was found in a line."""
    lines[at] = lines[at][: found.start()] + new + lines[at][found.end() :]
