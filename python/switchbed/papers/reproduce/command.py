"""The command line of reproductions."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from switchbed import options
from switchbed._native import Mistake
from switchbed.meter import meter
from switchbed.papers import tree
from switchbed.papers.reproduce import experiment as experiments
from switchbed.papers.reproduce import measures, page
from switchbed.papers.reproduce.claims import Claim, Experiment, Paper, papers
from switchbed.papers.reproduce.rows import Rows
from switchbed.papers.reproduce.verdict import WORDS, Measured, judge
from switchbed.terminal import say


@dataclass(frozen=True)
class Finding:
    """A claim's verdict, as `--json` has it."""

    id: str
    paper: str
    measured: float | None
    low: float | None
    high: float | None
    verdict: str
    seeds: int
    flows: int | None
    note: str


def reproduce(
    which: str,
    quick: bool,
    json_to: str | None,
    out: Path | None,
    first_seed: int,
    seeds: int | None,
    commit: bool,
    store: Path,
    any_memory: bool,
) -> int:
    """The command; gives its exit code."""
    if which == "list":
        return _list(json_to)
    if commit and quick:
        raise Mistake("--commit: only --full results are committed")
    if commit:
        tree.check("--commit")
    chosen = list(_chosen(which))
    if not quick:
        minutes = sum(experiment.core_minutes for _, experiment in chosen)
        say(f"full scale: about {minutes / 60:.1f} core-hours", err=True)
    findings: list[Finding] = []
    for paper, experiment in chosen:
        scale = experiment.quick if quick else experiment.full
        scale = scale if seeds is None else type(scale)(scale.sets, seeds, scale.note)
        needed = experiments.jobs(paper, experiment, scale, first_seed, store)
        begin = time.monotonic()
        with meter() as shown:
            experiments.run(paper, experiment, needed, shown, any_memory=any_memory)
        found = experiments.rows(needed)
        judged = [
            _judge(paper, c, found) for c in paper.claims.values() if c.experiment == experiment.id
        ]
        findings += judged
        if json_to != "-":
            _print(paper, experiment, judged, len(needed), time.monotonic() - begin)
            if scale.note:
                say(f"  {'quick' if quick else 'smaller'}: {scale.note}")
        if out is not None:
            page.draw(paper, experiment, found, out)
        if commit:
            page.commit(paper, experiment, found, judged)
    if json_to is not None:
        options.write_json([asdict(finding) for finding in findings], json_to)
    elif len(findings) > 1:
        say(_count(finding.verdict for finding in findings))
    return 0


def _chosen(which: str) -> Iterator[tuple[Paper, Experiment]]:
    known = papers()
    name, _, figure = which.partition("/")
    if name != "all" and name not in known:
        raise Mistake(f"{which}: no such paper; there is {', '.join(known)}, or all")
    for paper in known.values() if name == "all" else [known[name]]:
        if figure and figure not in paper.experiments:
            raise Mistake(
                f"{which}: {paper.name} has no such experiment; it has "
                f"{', '.join(paper.experiments)}"
            )
        for experiment in paper.experiments.values():
            if not figure or experiment.id == figure:
                yield paper, experiment


def _judge(paper: Paper, claim: Claim, rows: Rows) -> Finding:
    measured: Measured = measures.measure(paper, claim, rows)
    return Finding(
        id=claim.id,
        paper=claim.paper,
        measured=_finite(measured.estimate),
        low=_finite(measured.low),
        high=_finite(measured.high),
        verdict=judge(claim.target, measured),
        seeds=measured.seeds,
        flows=measured.flows,
        note=measured.note,
    )


def _finite(value: float | None) -> float | None:
    """JSON has no other numbers."""
    return value if value is not None and math.isfinite(value) else None


def _print(
    paper: Paper, experiment: Experiment, judged: Sequence[Finding], runs: int, took_s: float
) -> None:
    title = f"{paper.name} {experiment.id}: {experiment.title}"
    say(f"{title} ({runs} runs, {took_s:.0f} s)")
    for finding in judged:
        say(f"  {line(finding, paper.claims[finding.id].unit)}")


def line(finding: Finding, unit: str) -> str:
    """A finding in a line."""
    measured = "nothing" if finding.measured is None else f"{finding.measured:.4g} {unit}"
    bounds = "no interval"
    if finding.low is not None and finding.high is not None:
        bounds = f"{finding.low:.4g} to {finding.high:.4g}"
    note = f", {finding.note}" if finding.note else ""
    return (
        f"{finding.id}: {finding.verdict.upper()} · paper {finding.paper} · measured {measured} "
        f"({bounds}, {finding.seeds} seeds{note})"
    )


def _list(json_to: str | None) -> int:
    found: list[dict[str, Any]] = []
    for paper in papers().values():
        committed = page.committed(paper)
        for claim in paper.claims.values():
            missing = Finding(
                claim.id,
                claim.paper,
                None,
                None,
                None,
                "undecided",
                0,
                None,
                "not run at full scale",
            )
            finding = committed.get(claim.id, asdict(missing))
            found.append(finding)
            if json_to is None:
                say(line(Finding(**finding), claim.unit))
    if json_to is not None:
        options.write_json(found, json_to)
    else:
        say(_count(finding["verdict"] for finding in found))
    return 0


def _count(verdicts: Iterator[str]) -> str:
    given = list(verdicts)
    counts = (f"{given.count(word)} {word}" for word in WORDS)
    return f"{len(given)} claims: {', '.join(counts)}"
