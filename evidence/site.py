"""Generated parts and pictures, put into the documentation site (docs/generate.py)."""

import functools
import hashlib
import inspect
import os
import shutil
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DRAWN = ROOT / "target" / "site-pictures"
"""Pictures by what they were drawn from; `make clean` removes them."""


def fill(page: Path, name: str, text: str) -> None:
    """Puts the text in place of the page's line `<!-- generated: NAME -->`."""
    marker = f"<!-- generated: {name} -->\n"
    written = page.read_text(encoding="utf-8")
    if written.count(marker) != 1:
        raise ValueError(
            f"{page}: has the line {marker.strip()!r} {written.count(marker)} times, not once"
        )
    page.write_text(written.replace(marker, text.strip("\n") + "\n"), encoding="utf-8")


def picture(file: Path, draw: Callable[[Path], None], *inputs: Path | str) -> None:
    """Draws the file, unless the same code has drawn it from the same inputs before."""
    called = draw.func if isinstance(draw, functools.partial) else draw
    source = inspect.getsourcefile(called)
    assert source is not None, draw
    digest = hashlib.sha256(Path(source).read_bytes())
    for each in inputs:
        digest.update(b"\0" + (each.encode() if isinstance(each, str) else each.read_bytes()))
    kept = DRAWN / f"{file.stem}-{digest.hexdigest()[:16]}{file.suffix}"
    if not kept.exists():
        DRAWN.mkdir(parents=True, exist_ok=True)
        part = kept.with_stem(f".{kept.stem}-{os.getpid()}")
        draw(part)
        part.replace(kept)
    shutil.copy2(kept, file)
