"""The source of schemes in Python: what a run depends on, and what a result directory keeps.
Classes of a prompt or a notebook have no file: they live in this process, and in those that a
cluster's engine sends them to."""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from switchbed._native import Mistake

OWN = "python"
"""Name in a file of the schemes whose rule is a class of Python's."""


def schemes(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemes in Python of a resolved scenario: `[scheme]`'s and those of `[[deploy]]`."""
    deployed = [entry.get("scheme") for entry in scenario.get("deploy", [])]
    found = [scenario["scheme"], *deployed]
    return [scheme for scheme in found if scheme is not None and scheme["name"] == OWN]


def files(scenario: dict[str, Any]) -> list[Path]:
    """Return the source files of the scenario's Python schemes, each once."""
    names = set(map(_file, schemes(scenario)))
    return sorted(Path(name) for name in names if not holds(name))


def unknown(scenario: dict[str, Any]) -> set[str]:
    """Return placeholders for the schemes whose source is in no file."""
    return {name for name in map(_file, schemes(scenario)) if holds(name)}


def known(scenario: dict[str, Any]) -> bool:
    """Whether all of them are in files."""
    return not unknown(scenario)


def of(file: Path) -> dict[str, bytes]:
    """A file's content, and that of the modules beside it that it imports, by their names from
    its folder. What is installed is not looked at."""
    found: dict[str, bytes] = {}
    todo = [file]
    while todo:
        path = todo.pop()
        name = path.relative_to(file.parent).as_posix()
        if name not in found:
            found[name] = _read(path)
            todo += _imported(found[name], path.parent, file.parent)
    return dict(sorted(found.items()))


def parsed(params: dict[str, Any]) -> None:
    """Refuses a file that is no Python, or that defines no class of a name that is wanted, by its
    text alone."""
    file = str(params["file"])
    if holds(file):
        return
    try:
        tree = ast.parse(_read(Path(file)))
    except SyntaxError as error:
        raise Mistake(f"{file}:{error.lineno}: this is no Python: {error.msg}") from None
    except ValueError as error:
        raise Mistake(f"{file}: this is no Python: {error}") from None
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    wanted = params["class"] if isinstance(params["class"], list) else [params["class"]]
    # A name that is imported or assigned may be a class as well.
    plain = all(
        isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Expr | ast.Import)
        or (isinstance(node, ast.ImportFrom) and all(alias.name != "*" for alias in node.names))
        for node in tree.body
    )
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for name in wanted:
        if plain and "." not in name and name not in {*classes, *imported}:
            there = f"it has {', '.join(classes)}" if classes else "it has none"
            raise Mistake(f"{file}: there is no class {name}: {there}")


def digest(file: Path) -> str:
    """A hash of all of it."""
    known = hashlib.sha256()
    for name, content in of(file).items():
        known.update(f"{name} {len(content)}\n".encode() + content)
    return known.hexdigest()


def _file(scheme: dict[str, Any]) -> str:
    return str(scheme["params"]["file"])


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        # A pipe would be waited for without an end.
        raise Mistake(f"{path}: cannot be read: it is no file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from error


def _imported(source: bytes, here: Path, folder: Path) -> Iterator[Path]:
    """The modules of the folder that a source imports, wherever in it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return  # said as the file is imported
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(folder, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            top = here.joinpath(*[".."] * (node.level - 1)).resolve() if node.level else folder
            module = f"{node.module}." if node.module else ""
            names = [(top, f"{module}{alias.name}") for alias in node.names]
        else:
            continue
        for place, name in names:
            path = place
            for part in name.split("."):
                path = path / part
                for candidate in (path.with_name(f"{part}.py"), path / "__init__.py"):
                    if candidate.is_file() and candidate.is_relative_to(folder):
                        yield candidate


PREFIX = "memory:"
"""Prefix that stands in place of a file's name."""
Classes = Mapping[str, type]
_kept: dict[str, Classes] = {}


def keep(classes: Sequence[type]) -> str:
    """Keeps the classes. Returns what stands for their file's name."""
    file = f"{PREFIX}{len(_kept) + 1}"
    _kept[file] = {cls.__qualname__: cls for cls in classes}
    return file


def holds(file: str) -> bool:
    """Whether that is what the name stands for."""
    return file.startswith(PREFIX)


def find(file: str, name: str) -> type | None:
    """The class of that name; `None` if it is another process's."""
    return _kept.get(file, {}).get(name)


def lend(files: Iterable[str]) -> dict[str, Classes]:
    """The classes behind these names, for another process."""
    return {file: _kept[file] for file in files if file in _kept}


def borrow(lent: Mapping[str, Classes]) -> None:
    """Has the classes of another process, under its names."""
    _kept.update(lent)
