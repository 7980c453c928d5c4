"""A claim's verdict under each reading that has run, and whether it could have failed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from switchbed_papers.reproduce import lint, measures
from switchbed_papers.reproduce.claims import Claim, Experiment, Paper
from switchbed_papers.reproduce.rows import NotRun, Rows
from switchbed_papers.reproduce.setup import JOINT, LITERAL
from switchbed_papers.reproduce.verdict import judge

NOT_HERE = "not run at this scale"
"""Of a claim about points that were left out."""


@dataclass(frozen=True)
class Finding:
    """A claim's verdict, as `--json` has it: that of the first reading, which judges."""

    id: str
    paper: str
    measured: float | None
    low: float | None
    high: float | None
    verdict: str
    seeds: int
    flows: int | None
    note: str
    profile: str = ""
    """The reading of the rows that judge."""
    profiles: dict[str, str] = field(default_factory=dict)
    """Verdict under each host profile."""
    literal: str | None = None
    """The verdict under the literal reading; none where it has not run."""
    joint: dict[str, str] = field(default_factory=dict)
    """The open settings of the experiment, as the joint set-up has them."""
    null_model: str | None = None
    """The verdict on what should fail the claim: never `reproduced`."""
    null_is: str = ""
    """Description of the null model in words."""
    least: float | None = None
    """Where all of several points must be within: the least bound of any of their intervals, by
    which the verdict is; `low` and `high` are of the worst, which is `measured`."""
    most: float | None = None
    """Greatest bound of any of their intervals."""
    cause: dict[str, Any] | None = None
    """Why it is not reproduced: see why.py; none where it is."""
    warnings: list[str] = field(default_factory=list)
    """Reasons to doubt the measure: see lint.py."""
    class_: str = ""
    """One of why.py's classes; `class` in JSON."""


def missing(claim: Claim, experiment: Experiment) -> Finding:
    """Of a claim that has not run."""
    note = "not run at full scale"
    joint = experiment.setup.joint
    return Finding(claim.id, claim.paper, None, None, None, "undecided", 0, None, note, joint=joint)


def findings(paper: Paper, experiment: Experiment, rows: Mapping[str, Rows]) -> list[Finding]:
    """Findings on an experiment's claims, from its rows by reading, the judging one's first."""
    claims = [claim for claim in paper.claims.values() if claim.experiment == experiment.id]
    if not rows:
        return [missing(claim, experiment) for claim in claims]
    return [_finding(paper, experiment, claim, rows) for claim in claims]


def _finding(
    paper: Paper, experiment: Experiment, claim: Claim, rows: Mapping[str, Rows]
) -> Finding:
    try:
        return _judged(paper, experiment, claim, rows)
    except NotRun as why:
        return replace(missing(claim, experiment), note=f"{NOT_HERE}: {why}")


def _judged(
    paper: Paper, experiment: Experiment, claim: Claim, rows: Mapping[str, Rows]
) -> Finding:
    judging, *_ = rows
    measured = {name: measures.measure(paper, claim, found) for name, found in rows.items()}
    verdicts = {name: judge(claim.target, found) for name, found in measured.items()}
    literal = verdicts.get(LITERAL)
    if literal is None and experiment.setup.is_literal:
        literal = verdicts.get(JOINT)
    first = measured[judging]
    null_is, null_model = measures.null_model(paper, claim, rows[judging])
    return Finding(
        id=claim.id,
        paper=claim.paper,
        measured=_finite(first.estimate),
        low=_finite(first.low),
        high=_finite(first.high),
        verdict=verdicts[judging],
        seeds=first.seeds,
        flows=first.flows,
        note=first.note,
        profile=judging,
        profiles=dict(verdicts),
        literal=literal,
        joint=experiment.setup.joint,
        least=_finite(first.least),
        most=_finite(first.most),
        null_model=null_model,
        null_is=null_is,
        warnings=lint.of_claim(paper, claim, rows[judging]),
    )


def _finite(value: float | None) -> float | None:
    """JSON has no other numbers."""
    return value if value is not None and math.isfinite(value) else None
