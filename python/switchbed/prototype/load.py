"""From a file and the names of classes to the seats of a port, and from what a class raises to
one line."""

import difflib
import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from switchbed._native import Mistake, Port
from switchbed.prototype import Buffer, Classifier, Marker, Notifier, Scheduler, sources

Methods = dict[str, Callable[..., Any]]

SEATS: dict[str, type] = {
    "classifier": Classifier,
    "buffer": Buffer,
    "marker": Marker,
    "scheduler": Scheduler,
    "notifier": Notifier,
}
REQUIRED = {
    "classifier": "classify",
    "buffer": "admit",
    "marker": "intend",
    "scheduler": "select",
    "notifier": "stored",
}
MODULE = "switchbed_prototype"
"""Module name that a user's file is imported under."""


def make(
    file: str, classes: Sequence[str], base: str, params: Mapping[str, Any], port: Port
) -> dict[str, Methods]:
    """The methods that each seat has of its own, by the names of seat and method."""
    found: dict[str, type] = {}
    for name in classes:
        cls = _class(file, name)
        seat = _seat(file, cls)
        if seat in found:
            raise Mistake(f"{_place(file, cls)} takes the {seat}'s seat, as {found[seat].__name__}")
        _hooks_are_named(file, cls, SEATS[seat])
        found[seat] = cls
    if base != "none" and "marker" in found:
        name = found["marker"].__name__
        raise Mistake(
            f"scheme.params.base is {base}: {name} sits in the marker's seat, so leave base out"
        )
    _all_taken(found, params)
    return {seat: _methods(file, seat, cls, params, port) for seat, cls in found.items()}


def _class(file: str, name: str) -> type:
    if sources.holds(file):
        kept = sources.find(file, name)
        if kept is None:
            raise Mistake(f"{file}: holds no class {name} in this process: name a file")
        return kept
    module = _module(file)
    cls: object = module
    for part in name.split("."):
        cls = getattr(cls, part, None)
    if not isinstance(cls, type):
        seats = [n for n, c in vars(module).items() if _is_seat(c) and c.__module__ == MODULE]
        there = f"it has {', '.join(seats)}" if seats else "it has none that takes a seat"
        raise Mistake(f"{file}: there is no class {name}: {there}")
    return cls


@functools.cache
def _module(file: str) -> ModuleType:
    """The file as a module; what stands beside it can be imported."""
    # First in the path: a module beside the file goes before an installed one of its name.
    sys.path.insert(0, str(Path(file).resolve().parent))
    spec = importlib.util.spec_from_file_location(MODULE, file)
    if spec is None or spec.loader is None:
        raise Mistake(f"{file}: is no Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, as dataclasses and pickles look their module up there.
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    return module


def _is_seat(cls: object) -> bool:
    return isinstance(cls, type) and issubclass(cls, tuple(SEATS.values()))


def _seat(file: str, cls: type) -> str:
    # A class that derives from two bases would have two seats' hooks of the same object.
    seats = [seat for seat, base in SEATS.items() if issubclass(cls, base)]
    if len(seats) != 1:
        bases = "Marker, Buffer, Scheduler, Classifier or Notifier of switchbed.prototype"
        takes = "no seat" if not seats else f"{len(seats)} seats"
        raise Mistake(f"{_place(file, cls)} takes {takes}: derive it from one of {bases}")
    return seats[0]


def _hooks_are_named(file: str, cls: type, seat: type) -> None:
    """Refuses a method that is called almost like a hook, which nothing would call."""
    hooks = [name for name in dir(seat) if not name.startswith("_")]
    # Hooks that the class left as they are: a near name of an overridden one is no slip.
    free = [name for name in hooks if getattr(cls, name) is getattr(seat, name)]
    own = (name for base in cls.__mro__ for name in vars(base) if not issubclass(seat, base))
    for name in own:
        meant = difflib.get_close_matches(name, free, n=1, cutoff=0.8)
        if meant and name not in hooks and not name.startswith("_"):
            raise Mistake(
                f"{_place(file, cls)} has a method {name}, which nothing calls: {meant[0]}, or "
                f"_{name} for one of its own"
            )


def _names(cls: type) -> tuple[set[str], bool]:
    """The parameters that a class names behind `port`, and whether it takes any other."""
    signature = inspect.signature(cls)
    # The first parameter is the port.
    kinds = list(signature.parameters.values())[1:]
    named = {p.name for p in kinds if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return named, any(p.kind is p.VAR_KEYWORD for p in kinds)


def _all_taken(classes: Mapping[str, type], params: Mapping[str, Any]) -> None:
    """Refuses a parameter that no class has."""
    names = [_names(cls) for cls in classes.values()]
    known = sorted(set().union(*(named for named, _ in names)))
    # A class with **params takes every key, so none can be wrong.
    if any(any_other for _, any_other in names):
        return
    for key in params:
        if key not in known:
            who = " and ".join(cls.__name__ for cls in classes.values())
            takes = ", ".join(known) or "none"
            shared = "[scheme] params go to every scheme: move them to the entries that take them"
            raise Mistake(
                f"scheme.params.{key}: is no parameter of {who}, which takes {takes}; {shared}"
            )


NUMBERS = (int, float, "int", "float")
"""Annotations of numbers; texts where the class's file postpones their evaluation."""


def _no_texts(cls: type, params: Mapping[str, Any]) -> None:
    """Refuses a text, such as "5usec", for a number by annotation or default."""
    takes = inspect.signature(cls).parameters
    for key, value in params.items():
        if not isinstance(value, str) or key not in takes:
            continue
        default = takes[key].default
        # `bool` is an int in Python, and no quantity.
        number = isinstance(default, int | float) and not isinstance(default, bool)
        if number or takes[key].annotation in NUMBERS:
            such = f", such as {default}," if number else ""
            raise Mistake(
                f'scheme.params.{key} is "{value}": {cls.__name__} takes a number{such} or a '
                'quantity, such as "20KB", "5us" or "10Gbps"'
            )


def _methods(file: str, seat: str, cls: type, params: Mapping[str, Any], port: Port) -> Methods:
    base = SEATS[seat]
    own = [
        name
        for name, method in vars(base).items()
        if inspect.isfunction(method)
        and not name.startswith("_")
        and getattr(cls, name) is not method
    ]
    if (name := REQUIRED[seat]) not in own:
        names = ", ".join(inspect.signature(getattr(base, name)).parameters)
        raise Mistake(f"{_place(file, cls)} is a {base.__name__} and lacks {name}({names})")
    named, any_other = _names(cls)
    theirs = {key: value for key, value in params.items() if any_other or key in named}
    try:
        # Binding without a call tells a wrong argument from a TypeError that the class raises
        # itself.
        inspect.signature(cls).bind(port, **theirs)
    except TypeError as error:
        raise Mistake(
            f"{_place(file, cls)}: {error}: it is made as {cls.__name__}(port, **scheme.params)"
        ) from None
    _no_texts(cls, theirs)
    made = cls(port, **theirs)
    # Only overridden hooks are called from Rust: the others' defaults cost nothing.
    hooks = {name: getattr(made, name) for name in own}
    for name, hook in hooks.items():
        _takes_what_it_gets(file, cls, base, name, hook)
    return hooks


def _takes_what_it_gets(
    file: str, cls: type, base: type, name: str, hook: Callable[..., Any]
) -> None:
    """Refuses a hook that cannot be called with the arguments of its seat's."""
    given = list(inspect.signature(getattr(base, name)).parameters)[1:]
    try:
        inspect.signature(hook).bind(*given)
    except TypeError:
        raise Mistake(
            f"{_place(file, cls)}: {name} does not take what it is called with: "
            f"write {name}({', '.join(['self', *given])})"
        ) from None


def _place(file: str, cls: type) -> str:
    """Describe a class as in `my_marker.py:12: MyMarker`."""
    if sources.holds(file):
        return cls.__name__
    try:
        line = f":{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        line = ""
    return f"{file}{line}: {cls.__name__}"


def explain(error: BaseException, folders: Sequence[Path]) -> Mistake:
    """Turn an exception of a user's class into one line: the last line in the user's code, the
    method, the error."""
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, SyntaxError) and error.filename is not None:
        return Mistake(f"{error.filename}:{error.lineno}: this is no Python: {error.msg}")
    frames = _frames(error.__traceback__)
    # A class of a prompt has no folder: what ours called is its.
    own = [frame for frame in frames if _in(frame[0], folders)] or frames[-1:]
    if not own:
        return Mistake(said)
    file, line, _ = own[-1]
    method = next((name for _, _, name in own if name != "<module>"), "its import")
    return Mistake(f"{file}:{line}: {method}: {said}")


def _frames(traceback: TracebackType | None) -> list[tuple[str, int, str]]:
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append((code.co_filename, traceback.tb_lineno, code.co_qualname))
        traceback = traceback.tb_next
    return found


def _in(file: str, folders: Sequence[Path]) -> bool:
    path = Path(file).resolve()
    installed = "site-packages" in path.parts
    return not installed and any(path.is_relative_to(folder) for folder in folders)
