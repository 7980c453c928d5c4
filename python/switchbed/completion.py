"""Completions for a shell's Tab key: keys for `--set`, scenarios by name."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from switchbed import _native, files, library, options, terminal
from switchbed._native import Mistake

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_SWITCHBED_COMPLETE"
"""Names the shell to the program as it completes."""
NEXT = {
    "bash": "it works in new shells where the package bash-completion is installed",
    "zsh": "put `fpath+=~/.zfunc` before `compinit` into ~/.zshrc",
    "fish": "it works in new shells",
}
"""Steps that are left to the user."""


def scenarios(
    _context: click.Context, _param: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """After an `@` the scenarios that come with the program, else files."""
    from click.shell_completion import CompletionItem

    if not incomplete.startswith("@"):
        return [CompletionItem(incomplete, type="file")]
    names = (f"@{name}" for name in library.names())
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def keys(
    _context: click.Context, _param: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """The keys that `--set` takes, with what they mean."""
    from click.shell_completion import CompletionItem

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


def script(shell: str, root: click.Command) -> str:
    """The script that makes a shell ask the program."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, shell
    text = kind(root, {}, "switchbed", VARIABLE).source()
    # bash takes an `@` for the end of a word.
    return "COMP_WORDBREAKS=${COMP_WORDBREAKS//@}\n" + text if shell == "bash" else text


def place(shell: str) -> Path:
    """Where the shell looks for completions of a user's own."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return {
        "bash": data / "bash-completion/completions/switchbed",
        "zsh": Path.home() / ".zfunc/_switchbed",
        "fish": config / "fish/completions/switchbed.fish",
    }[shell]


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--install", is_flag=True, help="Write it where the shell looks for it.")
@options.forcing
@click.pass_context
def command(context: click.Context, shell: str | None, install: bool) -> None:
    """Print the script that completes commands, keys and scenarios in SHELL: bash, zsh or fish.
    Default: the user's own shell."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise Mistake(f"completion: which shell? name one of {', '.join(SHELLS)}")
    text = script(name, context.find_root().command)
    if not install:
        terminal.page(text)
        return
    to = place(name)
    with files.writing(to):
        to.parent.mkdir(parents=True, exist_ok=True)
    files.free(to)
    with files.whole(to) as draft:
        draft.write_text(text, encoding="utf-8")
    terminal.say(f"written to {to}; {NEXT[name]}")
