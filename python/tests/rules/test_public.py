"""Public names are those of `public.txt`: of the packages `switchbed`, its `prototype`, `stats` and
`theory` with their parameters, and commands with their options.

A change is made here too, and goes into the CHANGELOG: `SWITCHBED_ACCEPT_PUBLIC=1` writes the list
anew."""

import enum
import importlib
import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import click

import switchbed as sb
from switchbed.cli import cli

LIST = Path(__file__).with_name("public.txt")
MODULES = ("switchbed.prototype", "switchbed.stats", "switchbed.theory")

STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}


def parameters(of: object) -> str:
    """Names of a callable's parameters, those with a default with `=`."""
    try:
        found = inspect.signature(of).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    words = [
        STARS.get(each.kind.name, "")
        + each.name
        + ("=" if each.default is not inspect.Parameter.empty else "")
        for each in found
        if each.name not in ("self", "cls")
    ]
    return f"({', '.join(words)})"


def names(name: str, of: object) -> Iterator[str]:
    """Lines of an object: itself, and its public attributes where it is a class of ours."""
    if not inspect.isclass(of):
        yield f"{name}{parameters(of)}" if callable(of) else name
        return
    yield f"{name}{'' if issubclass(of, enum.Enum) else parameters(of)}"
    for attribute in sorted(vars(of)):
        if not attribute.startswith("_"):
            yield f"{name}.{attribute}{parameters(getattr(of, attribute))}"


def package() -> Iterator[str]:
    for name in sb.__all__:
        if name not in ("stats", "theory"):
            yield from names(f"switchbed.{name}", getattr(sb, name))
    for module in map(importlib.import_module, MODULES):
        own = [
            name
            for name, of in vars(module).items()
            if getattr(of, "__module__", "") == module.__name__
        ]
        listed = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
        for name in sorted(listed):
            yield from names(f"{module.__name__}.{name}", getattr(module, name))


def commands(words: tuple[str, ...], command: click.Command) -> Iterator[str]:
    taken = [
        "/".join([*each.opts, *each.secondary_opts])
        if isinstance(each, click.Option)
        else (each.name or "").upper()
        for each in command.params
        if not getattr(each, "hidden", False)
    ]
    yield " ".join([*words, *taken])
    if isinstance(command, click.Group):
        for name, each in sorted(command.commands.items()):
            if not each.hidden:
                yield from commands((*words, name), each)


def test_what_is_public_is_what_the_list_says() -> None:
    found = [*package(), *commands(("$ switchbed",), cli)]
    if os.environ.get("SWITCHBED_ACCEPT_PUBLIC"):
        LIST.write_text("\n".join(found) + "\n")
    listed = LIST.read_text().splitlines()
    gone, new = set(listed) - set(found), set(found) - set(listed)
    assert not gone, f"gone from what is public: {sorted(gone)}"
    assert not new, f"public, and not listed: {sorted(new)}"
    assert found == listed
