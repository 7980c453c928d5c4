"""A claim's verdict under each profile that has run, and whether it could have failed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from switchbed_papers.reproduce import measures
from switchbed_papers.reproduce.claims import Claim, Experiment, Paper
from switchbed_papers.reproduce.rows import Rows
from switchbed_papers.reproduce.verdict import judge


@dataclass(frozen=True)
class Finding:
    """A claim's verdict, as `--json` has it: that of the first profile, which judges."""

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
    robust: bool | None = None
    """The same verdict under all profiles; none where one alone has run."""
    profiles: dict[str, str] = field(default_factory=dict)
    """A verdict each."""
    null_model: str | None = None
    """The verdict on what would have failed the claim: never holds."""
    null_is: str = ""
    """What that is, in words."""
    least: float | None = None
    """Where all of several points must be within: the least bound of any of their intervals, by
    which the verdict is; `low` and `high` are of the worst, which is `measured`."""
    most: float | None = None
    """And the greatest."""
    flips: list[dict[str, Any]] = field(default_factory=list)
    """What in the hosts flips the verdict, where that was looked for: see flips.py."""
    cause: dict[str, Any] | None = None
    """Why it does not hold: see why.py; none where it does, or has not run."""


def missing(claim: Claim) -> Finding:
    """Of a claim that has not run on its hosts."""
    note = "not run at full scale"
    return Finding(claim.id, claim.paper, None, None, None, "undecided", 0, None, note)


def findings(paper: Paper, experiment: Experiment, rows: Mapping[str, Rows]) -> list[Finding]:
    """Those of an experiment's claims, from its rows by profile, the judging one's first."""
    claims = [claim for claim in paper.claims.values() if claim.experiment == experiment.id]
    return [_finding(paper, claim, rows) if rows else missing(claim) for claim in claims]


def _finding(paper: Paper, claim: Claim, rows: Mapping[str, Rows]) -> Finding:
    judging, *_ = rows
    measured = {name: measures.measure(paper, claim, found) for name, found in rows.items()}
    verdicts = {name: judge(claim.target, found) for name, found in measured.items()}
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
        robust=len(set(verdicts.values())) == 1 if len(verdicts) > 1 else None,
        profiles=dict(verdicts),
        least=_finite(first.least),
        most=_finite(first.most),
        null_model=null_model,
        null_is=null_is,
    )


def _finite(value: float | None) -> float | None:
    """JSON has no other numbers."""
    return value if value is not None and math.isfinite(value) else None
