"""Tests of the product that a change of Python files can break, for `make check`.

`python affected.py FILE …` prints the test files to run. A changed test file is run itself. A
changed module of the product selects the tests that name it, those that are called by it or its
folder, and all tests if many modules import it. Tests of docs, papers and labs are left to
`make test`.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "python/switchbed"
TESTS = ROOT / "python/tests/product"
WIDELY_USED = 12
"""A module that at least this many others import can break any test."""
SMOKE = ("test_cli.py", "test_api.py")
"""Test files that are run for each change of the product."""


def affected(changed: Iterable[Path]) -> list[Path]:
    """Test files that a change of these files can break, sorted."""
    every = set(TESTS.glob("test_*.py"))
    found: set[Path] = set()
    graph = None
    for file in changed:
        if file.is_relative_to(ROOT / "python/tests"):
            if file.parent == TESTS:
                found |= {file} & every
            elif file.parent.name in ("support", "tests"):
                return sorted(every)
        elif file.is_relative_to(PACKAGE):
            graph = graph or grimp.build_graph("switchbed")
            module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
            module = module.removesuffix(".__init__")
            if module not in graph.modules:  # deleted
                return sorted(every)
            if len(graph.find_modules_that_directly_import(module)) >= WIDELY_USED:
                return sorted(every)
            found |= {TESTS / name for name in SMOKE}
            found |= {test for test in every if _about(test, module)}
    return sorted(found)


def _about(test: Path, module: str) -> bool:
    """Whether a test file names a module, or is called by it or by a folder that it is in."""
    _, *folders, name = module.split(".")
    called = {part.rstrip("s") for part in test.stem.split("_")}
    by_name = re.search(rf"\b{name.rstrip('s')}s?\b", test.read_text())
    return by_name is not None or any(part.rstrip("s") in called for part in folders)


if __name__ == "__main__":
    files = affected(Path(word).resolve() for word in sys.argv[1:])
    # Without a file, pytest would run all tests; the options select none.
    print(*(files or ("--collect-only", "-qq", TESTS / SMOKE[0])))
