"""The committed results of full runs, and docs/reproductions.md made of them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native
from switchbed.papers.reproduce import figures
from switchbed.papers.reproduce.claims import Claim, Experiment, Paper, papers
from switchbed.papers.reproduce.rows import Rows
from switchbed.papers.tree import DOCS

if TYPE_CHECKING:
    from switchbed.papers.reproduce.command import Finding

PAGE = DOCS / "reproductions.md"
PICTURES = DOCS / "reproductions"

HEAD = """\
# The papers, reproduced

<!-- Written by `switchbed reproduce … --full --commit` from results/*.json and claims.toml
of python/switchbed/papers; edit those, or reproduce/page.py there. -->

Every claim of the five papers, measured again. `switchbed reproduce PAPER/FIGURE --full` repeats
one, `switchbed reproduce all` runs everything small. A verdict follows from the numbers by one
rule, the same for all (`python/switchbed/papers/reproduce/verdict.py`): **holds** if the whole 95 %
confidence interval over the seeds lies within the paper's value, give or take the tolerance;
**direction** if the interval excludes "no effect" on the paper's side, at another size; **fails**
if it lies outside; **undecided** otherwise. "Up to" is read with simultaneous intervals over all
points. What a paper leaves open is listed with each experiment; why a claim does not hold is in
its paper's README in `python/switchbed/papers/`.

The numbers below were measured with the engine as it was until 21 November 2026: ties at one
instant were broken the same way for a whole run, and ports shared one random stream. Since then
the order of ties is drawn at each instant, ports and rate limiters have streams of their own, a
late copy that comes to a closed connection is not answered, and runs differ from these.
"""


def draw(paper: Paper, experiment: Experiment, rows: Rows, folder: Path) -> Path | None:
    """Draws an experiment's figure into a folder."""
    if experiment.draw is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{paper.name}-{experiment.id}.png"
    built_in = figures.BUILT_IN.get(experiment.draw)
    (built_in or paper.function(experiment.draw))(rows, experiment.title, file)
    return file


def commit(paper: Paper, experiment: Experiment, rows: Rows, findings: Sequence["Finding"]) -> None:
    """Makes these results the committed ones, and writes the page anew."""
    folder = paper.folder / "results"
    folder.mkdir(exist_ok=True)
    found = {
        "experiment": experiment.id,
        "version": _native.__version__,
        "seeds": sorted({row.seed for row in rows}),
        "findings": [asdict(finding) for finding in findings],
    }
    (folder / f"{experiment.id}.json").write_text(json.dumps(found, indent=2) + "\n")
    draw(paper, experiment, rows, PICTURES)
    PAGE.write_text(render())


def committed(paper: Paper) -> dict[str, dict[str, Any]]:
    """The committed findings by claim."""
    files = sorted((paper.folder / "results").glob("*.json"))
    read = (json.loads(file.read_bytes()) for file in files)
    return {finding["id"]: finding for found in read for finding in found["findings"]}


def render() -> str:
    """The page."""
    return "\n".join([HEAD, *(line for paper in papers().values() for line in _paper(paper))])


def _paper(paper: Paper) -> Iterator[str]:
    found = committed(paper)
    yield f"## {paper.name}: {paper.title}\n"
    for experiment in paper.experiments.values():
        claims = [claim for claim in paper.claims.values() if claim.experiment == experiment.id]
        yield f"### {experiment.title}\n"
        picture = PICTURES / f"{paper.name}-{experiment.id}.png"
        if picture.exists():
            yield f"![{experiment.title}](reproductions/{picture.name})\n"
        if experiment.assumes:
            yield "Assumed, for the paper leaves it open:\n"
            yield "\n".join(f"- {text}" for text in experiment.assumes) + "\n"
        if experiment.full.note:
            yield f"Smaller than the paper's: {experiment.full.note}.\n"
        yield "| claim | what it says | paper | measured | verdict |"
        yield "| --- | --- | --- | --- | --- |"
        for claim in claims:
            yield _row(claim, found.get(claim.id))
        yield ""


def _row(claim: Claim, finding: dict[str, Any] | None) -> str:
    if finding is None:
        return f"| `{claim.id}` | {claim.meaning} | {claim.paper} | | not run at full scale |"
    measured = "nothing"
    if finding["measured"] is not None:
        measured = f"{finding['measured']:.4g} {claim.unit}"
    if finding["low"] is not None:
        measured += f" ({finding['low']:.4g} to {finding['high']:.4g}"
        flows = f", at least {finding['flows']:,} flows" if finding["flows"] else ""
        measured += f"; {finding['seeds']} seeds{flows})"
    if finding["note"]:
        measured += f", {finding['note']}"
    verdict = f"**{finding['verdict']}**"
    return f"| `{claim.id}` | {claim.meaning} | {claim.paper} | {measured} | {verdict} |"
