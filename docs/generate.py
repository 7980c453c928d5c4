"""Makes the source of the documentation site: `python docs/generate.py OUT [--no-pictures]` copies
the handwritten pages of this folder to OUT and adds what is generated, pages, parts of pages and
pictures. `make site` builds the site from there.

With `--no-pictures` every picture that is not committed is a single pixel.
"""

import argparse
import base64
import filecmp
import importlib
import importlib.util
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
# The modules below are of the tree, not of an installation.
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

PAGES = (
    "product:write",
    "evidence.peers.page:write",
    "evidence.peers.offered:write_page",
    "evidence.hosts.page:write",
    "evidence.robustness.page:write",
    "evidence.bench.page:write",
    "switchbed_papers.site:write",
)
PICTURES = (
    "product:draw",
    "evidence.hosts.page:draw",
    "evidence.bench.page:draw",
    "switchbed_papers.site:draw",
)
"""Functions that are called in turn with the folder of the pages."""
PAPERS = "switchbed_papers"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
COPIED = shutil.ignore_patterns("__pycache__", "generate.py", "product.py")
DRAWN = re.compile(r'\[([^\]]*)\]\((?:\.\./)*index\.md#pictures "([^"]+)"\)')
MADE = re.compile(r'\]\(((?:\.\./)*)index\.md#([\w-]+)(?: "([^"]+)")?\)')
"""Links to the section of pages that are generated: of a picture, its text and file; of a page, the
way to the section, its name, and the heading there."""
SECTION = "\n## Pages that `make site` writes\n"
TEMPLATES = "../../../docs/"
"""Way from the papers' templates to these pages."""
IMAGE = re.compile(r"!\[[^\]]*\]\(([\w./-]+\.png)\)")


def generate(site: Path, *, pictures: bool) -> None:
    """Writes the pages into a folder that does not exist yet."""
    shutil.copytree(DOCS, site, ignore=COPIED)
    resolve(site)
    steps = [each.split(":") for each in (*PAGES, *(PICTURES if pictures else ()))]
    found = importlib.util.find_spec
    if not (found(PAPERS) and found(f"{PAPERS}.site")):
        print(
            "docs/generate.py: switchbed-papers is not installed: its pages are left out; "
            "`make setup` installs it",
            file=sys.stderr,
        )
        steps = [step for step in steps if not step[0].startswith(PAPERS)]
    for module, function in steps:
        getattr(importlib.import_module(module), function)(site)
    resolve(site)
    if not pictures:
        for image in shown(site):
            if not image.exists():
                image.parent.mkdir(parents=True, exist_ok=True)
                image.write_bytes(PIXEL)


def resolve(site: Path) -> None:
    """Leads links to the section of pages that are generated to these pages."""
    for page in site.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        here = text.partition(SECTION)[0].replace(f"]({TEMPLATES}", "](")
        here = MADE.sub(_led, DRAWN.sub(r"![\1](\2)", here))
        if here != text:
            page.write_text(here, encoding="utf-8")


def _led(link: re.Match[str]) -> str:
    up, page, heading = link.groups()
    return f"]({up}{page}.md{f'#{heading}' if heading else ''})"


def shown(site: Path) -> Iterator[Path]:
    """The pictures that pages show."""
    for page in sorted(site.rglob("*.md")):
        for image in IMAGE.findall(page.read_text(encoding="utf-8")):
            yield (page.parent / image).resolve()


def update(out: Path, fresh: Path) -> None:
    """Makes `out` equal to `fresh`. Files that are equal keep their times: sphinx reads the others
    alone."""
    files = {file.relative_to(fresh) for file in fresh.rglob("*") if file.is_file()}
    for old in [file for file in out.rglob("*") if file.is_file()]:
        if old.relative_to(out) not in files:
            old.unlink()
    for file in sorted(files):
        source, target = fresh / file, out / file
        if not (target.is_file() and filecmp.cmp(source, target, shallow=False)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description="Makes the source of the documentation site.")
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder for the pages")
    parser.add_argument("--no-pictures", action="store_true", help="a pixel for each picture")
    asked = parser.parse_args()
    out: Path = asked.out
    if out.exists() and not (
        out.is_dir() and (not any(out.iterdir()) or (out / "conf.py").exists())
    ):
        print(
            f"docs/generate.py: {out}: holds something else; name a new or an empty folder",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "site"
        generate(fresh, pictures=not asked.no_pictures)
        update(out, fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
