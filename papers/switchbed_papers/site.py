"""The papers' part of the documentation site: docs/generate.py calls `write` with the folder of its
pages, and then `draw`."""

import functools
import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import switchbed
from switchbed import _native, library
from switchbed_papers import pictures
from switchbed_papers.fabrics import linux_page, synthesis
from switchbed_papers.fabrics import page as fabrics_page
from switchbed_papers.fabrics.cells import CELLS, CONDITIONS, FOLDER, LINUX, LOADS
from switchbed_papers.fabrics.experiment import RESULTS
from switchbed_papers.live import figures as live_figures
from switchbed_papers.live import page as live_page
from switchbed_papers.live import picture as live_picture
from switchbed_papers.live import results as live_results
from switchbed_papers.reproduce import evidence, page
from switchbed_papers.reproduce.claims import Experiment, Paper, papers
from switchbed_papers.tree import PAPERS

KEPT = PAPERS.parent / "target" / "site-pictures"
"""Pages and pictures by what they were made from; `make clean` removes them."""
DATA = (".toml", ".parquet", ".csv", ".json", ".md")
"""Suffixes of the files that pages are made from."""
IMAGE = re.compile(r"!\[([^\]]*)\]\(([\w./-]+\.png)\)")


def write(site: Path) -> None:
    """Write the pages of the site."""
    pages: dict[str, Callable[[], str]] = {
        "reproductions": functools.partial(page.render, shown=True),
        "fabrics": fabrics_page.render,
        "fabrics-linux": linux_page.render,
        "synthesis": synthesis.render,
        "live-papers": live_page.render,
    }
    folder = PAPERS / "switchbed_papers"
    data = sorted(file for file in folder.rglob("*.*") if file.suffix in DATA)
    for name, render in pages.items():
        _one(site / f"{name}.md", functools.partial(_written, render), *data)
    (site / "gallery.md").write_text(gallery(site), encoding="utf-8")


def _written(render: Callable[[], str], file: Path) -> None:
    file.write_text(render(), encoding="utf-8")


def gallery(site: Path) -> str:
    """The page with the first picture of each page that has one of its own."""
    parts = ["# Gallery\n\nA picture of each page; a click leads to the page.\n"]
    shown = set()
    for file in sorted(site.rglob("*.md")):
        text = file.read_text(encoding="utf-8")
        found = IMAGE.search(text)
        if found is None or file.name == "index.md":
            continue
        picture = (file.parent / found[2]).resolve().relative_to(site.resolve()).as_posix()
        if picture not in shown:
            shown.add(picture)
            title = text.splitlines()[0].removeprefix("# ")
            link = file.relative_to(site).as_posix()
            parts.append(f"## {title}\n\n[![{found[1]}]({picture})]({link})\n")
    return "\n".join(parts)


def draw(site: Path) -> None:
    """Draw the pictures of the site."""
    for paper in papers().values():
        for experiment in paper.experiments.values():
            _reproduction(site / "reproductions", paper, experiment)
    cells = fabrics_page.committed(CELLS)
    plain = [f"{name}.png" for name in CONDITIONS]
    _kept(site / "fabrics", plain, functools.partial(fabrics_page.draw, cells), RESULTS)
    loads = [f"linux-{load}.png" for load in LOADS]
    of_linux = functools.partial(linux_page.draw, fabrics_page.committed(LINUX))
    _kept(site / "fabrics", loads, of_linux, RESULTS)
    advantages = functools.partial(synthesis.draw, fabrics_page.committed(LINUX))
    questions = FOLDER / "synthesis.toml"
    _one(
        site / "fabrics" / f"{synthesis.PICTURE}.png",
        lambda file: advantages(file.parent),
        questions,
        RESULTS,
    )
    for figure in live_figures.load():
        result = live_results.read()[figure.name]
        if result.drawn:
            of_live = functools.partial(live_picture.draw, figure, result.schemes, result.drawn)
            _one(site / "live-papers" / f"{figure.name}.png", of_live, live_results.FILE)
    for name, (scenario, *sets) in pictures.PICTURES.items():
        file = library.shipped(scenario)
        queues = functools.partial(pictures.draw, name)
        _one(site / f"{name}.png", queues, file, *sets, _native.__build__)
    for name, scenario in pictures.RATES.items():
        file = library.shipped(scenario)
        rates = functools.partial(pictures.over_time, file)
        _one(site / f"{name}.png", rates, file, _native.__build__)


def _reproduction(folder: Path, paper: Paper, experiment: Experiment) -> None:
    names = page.pictures(paper, experiment)
    rows = evidence.kept(paper, experiment)
    if names and rows:

        def drawn(to: Path) -> None:
            found = evidence.read(paper, experiment)
            page.draw(paper, experiment, next(iter(found.values())), to)

        _kept(folder, names, drawn, repr(rows), paper.folder / "claims.toml")


def _one(file: Path, draw: Callable[[Path], None], *inputs: Path | str) -> None:
    """Draw one file if its inputs have changed."""
    _kept(file.parent, [file.name], lambda folder: draw(folder / file.name), *inputs)


def _kept(
    folder: Path, names: Sequence[str], draw: Callable[[Path], None], *inputs: Path | str
) -> None:
    """Puts files into a folder; makes them unless the same code has done so before from the same
    inputs."""
    digest = hashlib.sha256(_sources())
    for each in inputs:
        digest.update(b"\0" + (each.encode() if isinstance(each, str) else each.read_bytes()))
    kept = KEPT / f"{Path(names[0]).stem}-{digest.hexdigest()[:16]}"
    if not kept.is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT, prefix=".") as place:
            part = Path(place, kept.name)
            part.mkdir()
            draw(part)
            try:
                part.replace(kept)
            except OSError:
                if not kept.is_dir():  # another process was faster
                    raise
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy2(kept / name, folder / name)


@functools.cache
def _sources() -> bytes:
    """All code, the papers' and the product's."""
    digest = hashlib.sha256()
    for place in (PAPERS / "switchbed_papers", *map(Path, switchbed.__path__)):
        for file in sorted(place.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.digest()
