"""Classes that no file holds, of a prompt or a notebook: they live in this process, and in those
that a cluster's engine sends them to."""

from collections.abc import Iterable, Mapping, Sequence

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
