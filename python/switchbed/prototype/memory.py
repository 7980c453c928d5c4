"""Classes that no file holds, of a prompt or a notebook: they live in this process alone."""

from collections.abc import Sequence

PREFIX = "memory:"
"""What stands for a file's name."""
_kept: list[dict[str, type]] = []


def keep(classes: Sequence[type]) -> str:
    """Keeps the classes. Returns what stands for their file's name."""
    _kept.append({cls.__qualname__: cls for cls in classes})
    return f"{PREFIX}{len(_kept)}"


def holds(file: str) -> bool:
    """Whether that is what the name stands for."""
    return file.startswith(PREFIX)


def find(file: str, name: str) -> type | None:
    """The class of that name; `None` if it is another process's."""
    number = file.removeprefix(PREFIX)
    if not number.isdigit() or not 0 < int(number) <= len(_kept):
        return None
    return _kept[int(number) - 1].get(name)
