"""Counts what can be counted of how we write: openings and lengths of comments, sentences and table
cells of pages, words that are not the field's, and subjects of commits.

    python python/tests/support/prose.py    prints the table, and with `--list` each place
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
PYTHON = ("python/switchbed", "papers/switchbed_papers")
PRONOUNS = re.compile(r"(What|Who|Whose|Those|That|Its|Their|Likewise|So|They|It)\b")
HOUSE = re.compile(
    r"\b(intake|outlet|stations|holdings|elsewhere|room|yard|witness|aside|patience|tidy|law|orders)\b"
)
"""Words that pages once had in place of the field's."""
BLOCK = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r'\]\((?!\w+:)([^)\s]+)(?: "[^"]*")?\)')
CODE = re.compile(r"`[^`]+`")
LONGEST = 30
"""Words of a sentence or a table cell."""
BASE = "333dcdc80d32"
"""The last commit before subjects had a rule."""
SUBJECT = re.compile(r"[\w./, -]+: [A-Z].{3,}[^.]")


class Place(NamedTuple):
    """A text and where it begins."""

    file: str
    line: int
    text: str


def documented() -> Iterator[Place]:
    """The first paragraph of each doc comment and docstring."""
    for file in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        found: list[str] = []
        for number, line in enumerate([*file.read_text().split("\n"), ""], 1):
            text = line.strip()
            if text.startswith(("///", "//!")):
                found.append(text[3:].strip())
            elif found:
                yield Place(_name(file), number - len(found), _paragraph("\n".join(found)))
                found = []
    for file in python():
        for node in ast.walk(ast.parse(file.read_text())):
            body = getattr(node, "body", None)
            for before, each in (
                zip([node, *body], body, strict=False) if isinstance(body, list) else ()
            ):
                if (
                    isinstance(each, ast.Expr)
                    and isinstance(each.value, ast.Constant)
                    and isinstance(each.value.value, str)
                    and isinstance(before, ast.Assign | ast.AnnAssign | type(node))
                ):
                    yield Place(_name(file), each.lineno, _paragraph(each.value.value))


def python() -> list[Path]:
    """The product's and the papers' modules."""
    return sorted(file for folder in PYTHON for file in (ROOT / folder).rglob("*.py"))


def openings() -> Iterator[Place]:
    """First lines of comments and of their paragraphs, where one that is no comment or empty goes
    before; of docstrings the first paragraph."""
    for file in (*sorted(ROOT.glob("crates/*/src/**/*.rs")), *python()):
        comment = re.compile(r"# ?" if file.suffix == ".py" else r"//[/!]? ?")
        open_ = True
        for number, line in enumerate(file.read_text().split("\n"), 1):
            mark = comment.match(line.strip())
            text = line.strip()[mark.end() :] if mark else ""
            if text and open_:
                yield Place(_name(file), number, text)
            # A heading such as `# Errors` stands for no paragraph.
            open_ = not text or text.startswith("# ")
    yield from (it for it in documented() if it.file.endswith(".py"))


def pronouns() -> list[Place]:
    """Openings with a pronoun or a riddle."""
    return [it for it in openings() if PRONOUNS.match(it.text)]


def short() -> list[Place]:
    """Comments of four words or fewer."""
    return [it for it in documented() if len(it.text.split()) <= 4]


def why() -> float:
    """Plain comments a line of code; doc comments and docstrings are neither."""
    plain = code = 0
    for file in (*ROOT.glob("crates/*/src/**/*.rs"), *python()):
        mark = "#" if file.suffix == ".py" else "//"
        text = file.read_text()
        code -= sum(each.count("\n") + 1 for each in _docstrings(text)) if mark == "#" else 0
        for line in map(str.strip, text.split("\n")):
            if line.startswith(mark):
                plain += not line.startswith(("///", "//!"))
            else:
                code += bool(line)
    return plain / code


def _docstrings(text: str) -> Iterator[str]:
    """Each docstring of a module with its quotes, without empty lines."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield "\n".join(filter(str.strip, lines[node.lineno - 1 : node.end_lineno]))


def pages() -> list[Path]:
    """Pages that are written by hand; CHANGELOG tells of the past in its own form."""
    named = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    return [*named, *sorted((ROOT / "docs").rglob("*.md"))]


def sentences() -> Iterator[Place]:
    """Sentences of pages, without blocks and tables; a link counts by its text, code as a word."""
    for file in pages():
        text = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), file.read_text())
        line = 1
        for paragraph in re.split(r"(\n\s*\n|\n(?=[-*] |\d+\. |#|\|))", text):
            if not paragraph.lstrip().startswith("|"):
                plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
                plain = " ".join(CODE.sub("`code`", plain).split())
                for each in re.split(r"(?<=[.!?:;])\s+(?=[A-Z`])", plain):
                    yield Place(_name(file), line, each)
            line += paragraph.count("\n")


def cells() -> Iterator[Place]:
    """Cells of pages' tables."""
    for file in pages():
        for number, line in enumerate(file.read_text().split("\n"), 1):
            if line.startswith("|"):
                for cell in line.strip("|").split("|"):
                    yield Place(_name(file), number, CODE.sub("`code`", cell).strip())


def long() -> list[Place]:
    """Sentences and cells of over 30 words."""
    return [it for of in (sentences(), cells()) for it in of if len(it.text.split()) > LONGEST]


def house() -> list[Place]:
    """Sentences with words that are not the field's."""
    return [it for it in sentences() if HOUSE.search(it.text)]


def dead() -> list[Place]:
    """Links of Markdown files that lead to no file, or no heading, of the repository; but for those
    with a template's variable."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    known = {*listed, *(str(up) for name in listed for up in Path(name).parents)}
    found = []
    for name in listed:
        if not name.endswith(".md") or not (ROOT / name).exists():
            continue
        text = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), (ROOT / name).read_text())
        for link in LINK.finditer(text):
            path, _, heading = link[1].partition("#")
            file = os.path.normpath(Path(name).parent / path) if path else name
            lost = file not in known or (heading and heading not in anchors(ROOT / file))
            if lost and "$" not in path:
                found.append(Place(name, text.count("\n", 0, link.start()) + 1, link[1]))
    return found


def anchors(page: Path) -> set[str]:
    """Ends of links to the headings of a page, as GitHub and the site have them."""
    text = page.read_text()
    heads = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).lower() for head in heads)
    slugs = {re.sub(r"[^\w -]", "", head).replace(" ", "-") for head in plain}
    return slugs | set(re.findall(r'<a id="([\w-]+)">', text))


def subjects() -> list[Place]:
    """Subjects since the rule that break it: `part: Verb object`, at most 65 characters; none where
    the history does not reach so far back."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h %s", f"{BASE}..HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (line.partition(" ") for line in log.stdout.splitlines())
    bad = ((name, text) for name, _, text in lines if len(text) > 65 or not SUBJECT.fullmatch(text))
    return [Place(name, 0, text) for name, text in bad]


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def _paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n", 1)[0].split()) or "-"


def main() -> None:
    """Prints the table."""
    counts = sum(1 for _ in openings()), sum(1 for _ in documented())
    listed = {"long sentences and cells": long(), "house words": house(), "subjects": subjects()}
    listed["dead links"] = dead()
    shares = {"pronoun openings": pronouns(), "four words or fewer": short()}
    if "--list" in sys.argv[1:]:
        for what, places in (shares | listed).items():
            for it in places:
                print(f"{it.file}:{it.line}: {what}: {it.text[:120]}")
    for count, (what, places) in zip(counts, shares.items(), strict=True):
        print(f"{what}: {len(places)} of {count}, {len(places) / count:.1%}")
    print(f"plain comments a line of code: {why():.4f}")
    for what, places in listed.items():
        print(f"{what}: {len(places)}")
    for page in pages():
        print(f"{len(page.read_text().split()):6} words: {_name(page)}")


if __name__ == "__main__":
    main()
