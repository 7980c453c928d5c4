"""A scenario as it was written: its text and what replaces values of it. Small and plain, so
that another process can plan the same runs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from switchbed import _native
from switchbed._native import Mistake, Plan


@dataclass(frozen=True)
class Source:
    """What runs are planned from."""

    name: str
    """What messages call it."""
    text: str
    """TOML."""
    folder: Path
    """Where files that it names are looked for."""
    overrides: tuple[tuple[str, str], ...]
    """`key=value`, and what messages call that."""
    lines: bool
    """The user wrote the text, so that messages can give its line numbers."""

    @classmethod
    def of_file(cls, path: Path, sets: Sequence[str]) -> Self:
        """A scenario file under `--set` options."""
        overrides = tuple((item, f"--set {item}") for item in sets)
        return cls(str(path), read(path), path.parent, overrides, True)

    def plans(self, seeds: Sequence[int] | None = None) -> list[Plan]:
        """Its runs: one, or with `[compare]` each of the cross product; under these seeds, if
        they are given, instead of its own."""
        overrides = list(self.overrides)
        if seeds is not None:
            overrides.append((f"compare.seed={list(seeds)}", "the seeds"))
        return _native.plans_of(self.name, self.text, self.folder, overrides, self.lines)


def read(path: str | os.PathLike[str]) -> str:
    """A scenario file's text."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise Mistake(f"{path}: cannot read the scenario: {why}") from error
