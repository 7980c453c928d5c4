"""`switchbed live papers`: runs the figures as labs, again and again, and writes the report."""

import json
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from switchbed.console import Console
from switchbed.live import lab
from switchbed_papers.live import figures, page, picture, results
from switchbed_papers.live.figures import Figure
from switchbed_papers.live.page import Part
from switchbed_papers.live.results import Found, Result, lines

DONE = "runs.json"
"""Written last: a folder with it is complete."""


@dataclass(frozen=True)
class Request:
    """Options of the command line."""

    out: Path
    runs: int
    only: tuple[str, ...] = ()
    commit: Path | None = None
    """The file to which the results are committed."""
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
    if request.commit is not None:
        results.write({part.figure.name: part.result for part in parts}, request.commit)


def _part(figure: Figure, out: Path) -> Part | None:
    """Return the results of a figure; `None` if it has not run."""
    folders = sorted(path.parent for path in (out / figure.name).glob(f"*/{DONE}"))
    if not folders:
        return None
    done = [json.loads((folder / DONE).read_text()) for folder in folders]
    runs: list[list[Found]] = [each["found"] for each in done]
    schemes, drawn = picture.measured(figure, folders, runs)
    file = out / f"{figure.name}.png"
    picture.draw(figure, schemes, drawn, file)
    notes = sorted({note for run in runs for each in run for note in each["notes"]})
    result = Result(
        runs=len(runs),
        **{key: runs[0][0][key] for key in ("rate", "hosts", "congestion_control")},
        machines=[each["machine"] for each in done],
        notes=notes,
        metrics=results.metrics(lines(figure, runs)),
        schemes=schemes,
        drawn=drawn,
    )
    return Part(figure, result, file)
