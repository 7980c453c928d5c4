"""Schemes of installed packages: the entry points of the group `switchbed.schemes`.

- `NAME = "switchbed_scheme_NAME"` is a wheel of `switchbed build`: Switchbed's module with schemes
  in Rust linked in.
- `NAME = "package.module:Class"` is a class of `switchbed.prototype`, which files name as
  `scheme.name = "NAME"`.

Rust has no stable ABI: a wheel has the whole module, and stands in the place of ours. So there can
be one. This is read as `switchbed` is imported. The standard library's reader of entry points takes
15 ms, so that the few lines of interest are read here.
"""

import os
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, NamedTuple

GROUP = "switchbed.schemes"
MODULE = "_native"


class Found(NamedTuple):
    """Entry points of the group."""

    native: dict[str, Path]
    """Folder of the module, by name of the distribution with its version."""
    classes: dict[str, str]
    """`package.module:Class` by name."""
    owners: dict[str, str]
    """Distribution of each class, by the class's name."""
    problem: str | None
    """Why no module of these can be used, in a line."""


def find(folders: list[str]) -> Found:
    """Look through the folders of `sys.path`, the first of each name first."""
    native: dict[str, Path] = {}
    classes: dict[str, str] = {}
    owners: dict[str, str] = {}
    ours: str | None = None
    for folder in folders:
        for about in _distributions(folder):
            if ours is None and about.startswith("switchbed-"):
                ours = _version(about)
            for name, value in _points(f"{folder}/{about}"):
                if ":" in value:
                    classes.setdefault(name, value)
                    owners.setdefault(name, _package(about))
                elif _has_module(place := Path(folder, *value.split("."))):
                    native.setdefault(about.removesuffix(".dist-info"), place)
    return Found(native, classes, owners, _problem(native, ours))


def _problem(native: dict[str, Path], ours: str | None) -> str | None:
    if len(native) > 1:
        names = sorted(_package(of) for of in native)
        return (
            f"{' and '.join(names)} are installed, and each has a module of switchbed's: keep one "
            f"(pip uninstall {names[-1]}), or build one crate with both schemes"
        )
    for of in native:
        # Behind a + stands what was built.
        if ours is not None and _version(of).partition("+")[0] != ours:
            return (
                f"{_package(of)} was built for switchbed {_version(of)}, and this is {ours}: "
                f"build it again (switchbed build), or pip uninstall {_package(of)}"
            )
    return None


def _package(about: str) -> str:
    return about.split("-", maxsplit=1)[0].replace("_", "-")


def _version(about: str) -> str:
    return about.removesuffix(".dist-info").split("-")[1]


def _distributions(folder: str) -> list[str]:
    try:
        # The working directory ('') is no place of packages.
        with os.scandir(folder or os.devnull) as entries:
            return sorted(entry.name for entry in entries if entry.name.endswith(".dist-info"))
    except OSError:
        return []


def _points(about: str) -> list[tuple[str, str]]:
    try:
        with open(f"{about}/entry_points.txt", encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return []
    if GROUP not in text:
        return []
    points, within = [], False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            within = line == f"[{GROUP}]"
        elif within and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            points.append((name.strip(), value.strip()))
    return points


def _has_module(folder: Path) -> bool:
    return any((folder / f"{MODULE}{suffix}").exists() for suffix in EXTENSION_SUFFIXES)


FOUND = find(sys.path)


def extend(package: list[str]) -> None:
    """Puts an installed module before ours on the package's path."""
    if FOUND.problem is None:
        package[:0] = [str(folder) for folder in FOUND.native.values()]


def name_into(name_class: Callable[[str, str, str], None], mistake: type[Exception]) -> None:
    """Gives scenario files the names of installed classes: the module calls it as it is loaded, in
    every process. `LEFT_OUT` has what is wrong: other schemes run all the same."""
    for name, value in FOUND.classes.items():
        module, _, of = value.partition(":")
        file = _file(module)
        if file is None:
            _warn(name, f"there is no module {module}")
            continue
        try:
            name_class(name, file, of)
        except mistake as error:
            _warn(name, str(error))


LEFT_OUT: dict[str, str] = {}
"""Why an entry point cannot be used, by its name."""


def _warn(name: str, why: str) -> None:
    value, owner = FOUND.classes[name], FOUND.owners[name]
    LEFT_OUT[name] = (
        f"the entry point {name} = {value} is left out: {why} (pip uninstall {owner} ends this)"
    )


def _file(module: str) -> str | None:
    """Return the file of a module; neither it nor its package is imported."""
    from importlib.util import find_spec

    top, *within = module.split(".")
    spec = find_spec(top)
    if spec is None:
        return None
    if not within:
        return spec.origin
    for folder in spec.submodule_search_locations or ():
        place = Path(folder, *within)
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.exists():
                return str(file)
    return None


def usable() -> dict[str, str]:
    """Return `package.module:Class` by name of the classes that files may name."""
    return {name: of for name, of in FOUND.classes.items() if name not in LEFT_OUT}


def described(name: str, of: str) -> dict[str, Any]:
    """Return what the source of `package.module:Class` says, which is read and not run: `name`,
    `key`, `class`, `summary` (the first paragraph of its doc string) and `parameters`, each with
    `name`, `default` as it is written, and `required`."""
    import ast

    about: dict[str, Any] = {"name": name, "key": "scheme.name", "class": of}
    about |= {"summary": "", "parameters": []}
    module, _, within = of.partition(":")
    try:
        found: ast.AST = ast.parse(Path(_file(module) or "").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return about
    for part in within.split("."):
        inner = (node for node in ast.iter_child_nodes(found) if isinstance(node, ast.ClassDef))
        found = next((node for node in inner if node.name == part), ast.Module([], []))
    if not isinstance(found, ast.ClassDef):
        return about
    paragraph, _, _ = (ast.get_docstring(found) or "").partition("\n\n")
    about["summary"] = " ".join(paragraph.split())
    functions = (node for node in found.body if isinstance(node, ast.FunctionDef))
    made = next((node.args for node in functions if node.name == "__init__"), None)
    if made is not None:
        # The first two are the object and its port.
        by_place = [*made.posonlyargs, *made.args]
        missing = [None] * (len(by_place) - len(made.defaults))
        both = [*zip(by_place, [*missing, *made.defaults], strict=True)][2:]
        both += zip(made.kwonlyargs, made.kw_defaults, strict=True)
        about["parameters"] = [
            {
                "name": arg.arg,
                "default": None if value is None else ast.unparse(value),
                "required": value is None,
            }
            for arg, value in both
        ]
    return about


def check() -> None:
    """Refuses installed modules that cannot be used.

    Raises:
        Mistake: It says which, and what to do.
    """
    from switchbed import _native

    if FOUND.problem is not None:
        raise _native.Mistake(FOUND.problem)
