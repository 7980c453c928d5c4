"""Completions for a shell's Tab key: keys for `--set`, scenarios by name."""

import json
from collections.abc import Iterator

import click
from click.shell_completion import CompletionItem

from switchbed import _native, library


def scenarios(
    _context: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """After an `@` the scenarios that come with the program, else files."""
    if not incomplete.startswith("@"):
        return [CompletionItem(incomplete, type="file")]
    names = (f"@{name}" for name in library.names())
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def keys(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The keys that `--set` takes, with what they mean."""
    compare = "compare." if incomplete.startswith("compare.") else ""
    known = {f"{compare}{key}=": meaning for key, meaning in _keys()}
    return [
        CompletionItem(key, help=meaning)
        for key, meaning in known.items()
        if key.startswith(incomplete)
    ]


def _keys() -> Iterator[tuple[str, str]]:
    """A scenario's keys, dotted; of traffic and events the first one's."""
    yield from SHORT.items()
    for name, section in json.loads(_native.schema())["properties"].items():
        listed = section.get("type") == "array"
        of_one = section["items"] if listed else section
        for key, entry in of_one.get("properties", {}).items():
            if f"{name}.{key}" != "scheme.params" and name != "compare":
                yield f"{name}{'.0' if listed else ''}.{key}", entry.get("description", "")
    for scheme in json.loads(_native.schemes()):
        for parameter in scheme["parameters"]:
            yield f"scheme.params.{parameter['name']}", parameter["meaning"]


SHORT = {
    "load": "Of every source of traffic that has one.",
    "flows": "Of every source of traffic that has a load.",
    "seed": "run.seed.",
    "scheme": "The scheme's name.",
}
