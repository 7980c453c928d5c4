"""`switchbed live papers`: runs the figures as labs, again and again, and writes the pages."""

import json
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from switchbed.console import Console
from switchbed.live import lab
from switchbed_papers.live import figures, page, picture
from switchbed_papers.live.figures import Figure
from switchbed_papers.live.page import Part
from switchbed_papers.live.table import Found, lines

DONE = "runs.json"
"""Written last: a folder with it is complete."""


@dataclass(frozen=True)
class Request:
    """The command line."""

    out: Path
    runs: int
    only: tuple[str, ...] = ()
    docs: Path | None = None
    """Where to write the page with its pictures, too."""
    file: Path = figures.FILE


def run(request: Request) -> None:
    """Runs what has not run and writes the report, anew after each figure: what is there when
    it is cut off is kept."""
    chosen = figures.chosen(figures.load(request.file), request.only)
    request.out.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    for number in range(1, request.runs + 1):
        for figure in chosen:
            if _measure(figure, number, request.out):
                console.print(f"{figure.name}: run {number} of {request.runs}")
                _write(request, chosen)
    _write(request, chosen)
    console.print(f"{request.out / page.REPORT}")


def _measure(figure: Figure, number: int, out: Path) -> bool:
    """One run of a figure; False if it was there."""
    folder = out / figure.name / str(number)
    if (folder / DONE).exists():
        return False
    shutil.rmtree(folder, ignore_errors=True)
    wanted = lab.Request(
        figure.scenario, figure.sets, figure.scale, figure.name, folder, number, figure.iperf3
    )
    before = os.getloadavg()[0]
    found = lab.run(wanted)
    load = (before + os.getloadavg()[0]) / 2
    machine = {"load": load, "kernel": platform.release(), "cores": os.cpu_count()}
    (folder / DONE).write_text(json.dumps({"machine": machine, "found": found}, indent=2) + "\n")
    return True


def _write(request: Request, chosen: Sequence[Figure]) -> None:
    """The report of what has run."""
    parts = [part for figure in chosen if (part := _part(figure, request.out))]
    page.write_report(parts, request.out)
    if request.docs is not None:
        page.write_docs(parts, request.docs)


def _part(figure: Figure, out: Path) -> Part | None:
    """What a figure came to; None if it has not run."""
    folders = sorted(path.parent for path in (out / figure.name).glob(f"*/{DONE}"))
    if not folders:
        return None
    done = [json.loads((folder / DONE).read_text()) for folder in folders]
    runs: list[list[Found]] = [each["found"] for each in done]
    drawn = out / f"{figure.name}.png"
    picture.draw(figure, folders, runs, drawn)
    notes = sorted({note for run in runs for each in run for note in each["notes"]})
    return Part(
        figure,
        lines(figure, runs),
        len(runs),
        drawn,
        runs[0][0],
        notes,
        [e["machine"] for e in done],
    )
