"""The page of the reproductions, from what is committed: the classes of all claims, then paper by
paper the set-up, the joint search and the figures."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from switchbed import _native
from switchbed_papers.reproduce import bands, evidence, figures, lint, measures, search, why
from switchbed_papers.reproduce.claims import Claim, Experiment, Paper, papers
from switchbed_papers.reproduce.findings import Finding, findings
from switchbed_papers.reproduce.rows import Rows
from switchbed_papers.reproduce.search import head
from switchbed_papers.reproduce.search import line as _line
from switchbed_papers.reproduce.setup import JOINT, PLACELESS, Setting, Setup

CLAIMS = "claims"
"""The name of a figure's picture of claims beside the paper's values."""
MET = {
    "met": ", of those that met a giant one",
    "path": ", of those that met a giant one on their path,",
    "output": ", of those that met a giant one at an output alone,",
}
"""Words for CQRD's groups of flows."""
SHARES = {"0.1667": "one cluster of six", "0.5": "half of the ToRs", "1": "all ToRs"}
"""Parts of CQRD's tree in which a scheme is deployed."""
PLAIN = (
    (
        re.compile(r"\b(?:(\w+)\.)?(\w+)\.p(\d+)_us is transport\.(\w+)"),
        lambda m: (
            f"the {m[3]}th percentile of {m[2]} flows' FCT{MET.get(m[1], '')} is the timer "
            f"`transport.{m[4]}`"
        ),
    ),
    (
        re.compile(r"\b(?:(met)\.)?(giant|large)\.goodput_mbps\b"),
        lambda m: f"{m[2]} flows' goodput{MET.get(m[1], '')}",
    ),
    (re.compile(r"\bbelow_2ms_kb\b"), lambda _: "in 2 ms"),
    (re.compile(r"\btraffic\.\d\.from 0-(\d+)"), lambda found: f"{int(found[1]) + 1} flows"),
    (re.compile(r"\btraffic\.\d\.rate (\S+)"), lambda found: f"{found[1]} offered"),
    (re.compile(r"\bscheme\.params\.t_([ai])\b"), lambda found: f"T_{found[1]}"),
    (re.compile(r"\bscheme\.params\.threshold\b"), lambda _: "a threshold of"),
    (
        re.compile(r"\bdeploy\.\d\.fraction (\S+?)(?=[,;:]|$)"),
        lambda found: f"in {SHARES.get(found[1], found[1])}",
    ),
    (re.compile(r"\bdeploy\.\d\.scheme\b"), lambda _: "deployed"),
    (re.compile(r"\bswitch\.discipline (\w+)"), lambda found: found[1].upper()),
    (re.compile(r"\bhost\.lso (True|False)"), lambda m: f"LSO {'on' if m[1] == 'True' else 'off'}"),
    (re.compile(r"\btransport\.kind (\S+?)(?=[,;:]|$)"), lambda found: figures.named(found[1])),
    (re.compile(r"\bscenario (\S+?)(?=[,;:]|$)"), lambda found: found[1]),
    (re.compile(r"\bhost\.coalesce_time (\S+)"), lambda found: f"interrupts {found[1]} apart"),
    (re.compile(r"\btransport\.g (\S+?)(?=[,;:]|$)"), lambda found: f"g = {found[1]}"),
    (re.compile(r"\bscheme (?=\S)"), lambda _: ""),
    (re.compile(r"\bper-queue-dq\b"), lambda _: "marking at dequeue"),
    (re.compile(r"\bper-queue\b"), lambda _: "step marking"),
)
"""Settings of runs, and what a page calls them."""
COUNTS = {5: "five"}
LOAD = re.compile(r"\bload ([0-9.]+)")
HEAD = """\
# The papers, reproduced

<!-- Written by reproduce/page.py of papers/switchbed_papers from what is committed there. -->

This page says, claim by claim, how much of {what} this test bed reproduces.
`switchbed reproduce PAPER/FIGURE --full` repeats a figure, `switchbed reproduce show CLAIM` prints
one claim with all its evidence.
"""

RULES = """\
**Verdicts.** One rule judges every claim by its 95 % confidence interval over the seeds; the first
of these that fits:

- **reproduced**: the whole interval lies within the paper's value, give or take the tolerance.
- **in direction**: the interval excludes "no effect" on the paper's side, and the effect is at
  least half of the paper's and at most twice it. A cause is named where another setting would do.
- **not reproduced**: the interval lies outside the tolerance, and the claim is not in direction.
  The cause follows:
  *contradicts itself* (no set-up can satisfy the quoted places of the paper),
  *open* (with another value of an open setting the claim comes out, at the joint set-up it does
  not), or *unknown* (no open setting that was tried gives it).
- **undecided**: none of these, as the interval reaches into the tolerance and out of it; more seeds
  would tell.
  `reproduce list --json` has it in the class `unknown`.
- **not testable**: the paper gives nothing to compare with, or any scheme passes.

**Set-ups.** A setting is *printed* by the paper, *implied* by its text, a *default* of the
simulator or kernel that it names, *assumed* (our choice, without a grid), or *open*. An open
setting has a grid of values. A *point* of the grid has a value for each open setting.

- A claim *comes out* at a point if its estimate there is within the tolerance. No interval is
  asked for. A claim that is in direction has not come out.
- The search runs the paper at every point, at *reduced scale*: fewer seeds, shorter runs.
- The **joint set-up** is the point at which most claims came out together when it was chosen. Of
  points that tied, the one with the fewest settings that are not literal was taken, then the first
  in the grid's order.
- The **literal** reading takes a default for what is open. It and two other kinds of hosts
  stand beside the joint set-up where they have run.

**Evidence.** A *row* is one run; a *build* is the compiled simulator that made it. Where a claim
must hold at several points of a figure (loads, flows), the table shows the worst one, and the
verdict follows from the intervals of all. These hold together with 95 % confidence (Bonferroni), so
that each is wider than the same point's alone. A percentage is a part of the larger of two values
where the paper's own numbers are; the other reading stands beside it. *Suspect* is a warning about
a measure by the program.
A **null model** is a run, or a value, that should not be reproduced: another scheme's run, the
same scheme on both sides, or, where no run should fail, the value moved by twice the tolerance.
The last shows only that the tolerance excludes something.

In the pictures of claims a blue band or line is a value that the paper prints. A green one is a
bound of ours for what the paper says in words. The black bar is the 95 % interval; where several
points must be within, it is the worst one's, and the grey line spans the intervals of all.
"""


def draw(paper: Paper, experiment: Experiment, rows: Rows, folder: Path) -> Path | None:
    """Draws an experiment's figure into a folder, and its claims beside the paper's values."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {one.id: one for one in findings(paper, experiment, {JOINT: rows})}
    shown = bands.of(paper.claims, found, experiment.id)
    if shown:
        bands.draw(
            "Claims: the paper, and what was measured",
            shown,
            folder / f"{paper.name}-{experiment.id}--{CLAIMS}.png",
        )
    if experiment.draw is None:
        return None
    file = folder / f"{paper.name}-{experiment.id}.png"
    built_in = figures.BUILT_IN.get(experiment.draw)
    claims = [claim for claim in paper.claims.values() if claim.experiment == experiment.id]
    token = figures.CLAIMS.set(claims)
    try:
        (built_in or paper.function(experiment.draw, "draw"))(rows, experiment.title, file)
    finally:
        figures.CLAIMS.reset(token)
    return file


def pictures(paper: Paper, experiment: Experiment) -> list[str]:
    """The names of the files that `draw` leaves; none before its first committed run."""
    if not evidence.kept(paper, experiment):
        return []
    name = f"{paper.name}-{experiment.id}"
    own = [f"{name}.png"] if experiment.draw else []
    return [*own, *(f"{name}--{each}.png" for each in (*experiment.draws_also, CLAIMS))]


def draw_all(folder: Path, only: Paper | None = None) -> None:
    """Draws the pictures of all committed rows into a folder, or those of one paper."""
    for paper in papers().values() if only is None else [only]:
        for experiment in paper.experiments.values():
            rows = evidence.read(paper, experiment)
            if rows:
                draw(paper, experiment, next(iter(rows.values())), folder)


def committed(paper: Paper) -> dict[str, Finding]:
    """The findings by claim, as the committed rows have them."""
    found = {}
    contradictions = why.contradictions(paper.folder)
    searched = search.read(paper)
    for experiment in paper.experiments.values():
        for finding in findings(paper, experiment, evidence.read(paper, experiment)):
            claim = paper.claims[finding.id]
            held = finding.verdict == "reproduced" or claim.untestable
            cause = None if held else why.cause(claim, finding.verdict, contradictions, searched)
            found[finding.id] = replace(
                finding,
                cause=cause.as_json() if cause else None,
                class_=why.classify(claim, finding.verdict, cause),
            )
    return found


def render(*, shown: bool = False, only: Paper | None = None) -> str:
    """The page, or what is of one paper; with its pictures if they are shown."""
    known = papers() if only is None else {only.name: only}
    found = {name: committed(paper) for name, paper in known.items()}
    lines = (
        line for name, paper in known.items() for line in _paper(paper, found[name], shown=shown)
    )
    what = f"{COUNTS.get(len(known), str(len(known)))} papers" if only is None else "one paper"
    return "\n".join([HEAD.format(what=what), _overview(known, found), RULES, *lines])


def _overview(known: Mapping[str, Paper], found: Mapping[str, Mapping[str, Finding]]) -> str:
    """The first table, and a paragraph a paper."""
    lines = [_line(["paper", *why.COLUMNS, "claims"]), _line(["---"] * (len(why.COLUMNS) + 2))]
    for name in known:
        counts = Counter(why.in_words(finding) for finding in found[name].values())
        cells = [str(counts[each]) for each in why.COLUMNS]
        lines.append(_line([f"[{name}](#{name})", *cells, str(len(found[name]))]))
    believe = [f"**{name}.** {paper.believe}\n" for name, paper in known.items() if paper.believe]
    return "\n".join([*lines, "", *believe])


def _paper(paper: Paper, found: Mapping[str, Finding], *, shown: bool) -> Iterator[str]:
    yield f"## {paper.name}\n\n{paper.title}\n"
    yield from _setups(paper)
    yield from search.tables(search.read(paper))
    for experiment in paper.experiments.values():
        yield from _experiment(paper, experiment, found, shown=shown)


def _setups(paper: Paper) -> Iterator[str]:
    """The joint set-up with its evidence, folded."""
    kinds: dict[str, list[Experiment]] = {}
    for experiment in paper.experiments.values():
        kinds.setdefault(experiment.setup.name, []).append(experiment)
    yield "<details><summary>The joint set-up, with the evidence for each setting</summary>\n"
    yield _line(["experiments", "setting", "evidence"])
    yield _line(["---"] * 3)
    for of in kinds.values():
        setup = of[0].setup
        every = ", ".join(each.id for each in of)
        yield _line([every, f"hosts: `{Path(setup.profile).name}`", _evidence(setup.by)])
        each_has = ((*each.setup.settings, *each.setup.states) for each in of)
        seen = {id(one.values): one for found in each_has for one in found}
        for one in seen.values():
            # A figure's own values stand in its scenario file.
            among = [
                figure.id
                for figure in of
                if (not one.experiments or figure.id in one.experiments)
                and not one.values.keys() <= {*figure.varies}
            ]
            values = ", ".join(f"`{key} = {value}`" for key, value in one.values.items())
            if among:
                yield _line([", ".join(among), values, _evidence(one)])
        for varying in of:
            if varying.varies:
                keys = ", ".join(f"`{key}`" for key in varying.varies)
                yield _line([varying.id, keys, "the figure's own, by its scenario file"])
    opened = {each.name: each for e in paper.experiments.values() for each in e.setup.open}
    for each in opened.values():
        tried = "; ".join(f"**{v}**" if v == each.joint else v for v in each.grid)
        name = f"{each.says} (`{each.name}`): {tried}"
        yield _line([", ".join(each.experiments) or "all", name, f"open; literal: {each.literal}"])
    for spread in next(iter(kinds.values()))[0].setup.ranges:
        free = [
            figure.id
            for figure in paper.experiments.values()
            if spread.key not in figure.setup.values(JOINT)
        ]
        ends = f"{spread.low_ps / 1e3:g} to {spread.high_ps / 1e3:g} ns"
        if free:
            named = "all" if len(free) == len(paper.experiments) else ", ".join(free)
            yield _line([named, f"`{spread.key}`: {ends}, another for each seed", "spread"])
    yield "\n</details>\n"


def _evidence(setting: Setting) -> str:
    if setting.by in PLACELESS:
        return f"{setting.by}: {setting.note}"
    excludes = f"; excludes {setting.note}" if setting.note else ""
    return f"{setting.by}: {setting.place}{excludes}"


def _experiment(
    paper: Paper, experiment: Experiment, found: Mapping[str, Finding], *, shown: bool
) -> Iterator[str]:
    claims = [claim for claim in paper.claims.values() if claim.experiment == experiment.id]
    yield f"### {experiment.title}\n"
    for picture in pictures(paper, experiment) if shown else ():
        yield f"![{experiment.title}](reproductions/{picture})\n"
    if not found[claims[0].id].profiles:
        yield "Not run at full scale yet.\n"
    yield head(["claim", "the paper", "measured (95 % interval)", "verdict"])
    for claim in claims:
        yield _row(claim, found[claim.id])
    rows = evidence.read(paper, experiment)
    if rows:
        yield from _over_loads(paper, claims, next(iter(rows.values())))
    yield "\n<details><summary>Evidence: intervals, readings, null models, causes, rows</summary>\n"
    yield _builds(paper, experiment)
    if experiment.assumes:
        yield "Assumed, for the paper does not say:\n"
        yield "\n".join(f"- {text}" for text in experiment.assumes) + "\n"
    if experiment.full.note:
        yield f"Scale: {experiment.full.note}.\n"
    for warning in lint.of_rows(paper, experiment, next(iter(rows.values()))) if rows else ():
        yield f"Suspect: {plain(warning)}.\n"
    for claim in claims:
        yield f"- {details(claim, found[claim.id])}"
    yield "\n</details>\n"


def _over_loads(paper: Paper, claims: Sequence[Claim], rows: Rows) -> Iterator[str]:
    """The measurements at each load, loads as columns."""
    measured: dict[tuple[str, str], dict[str, str]] = {}
    units = {claim.id: claim.unit for claim in claims}
    for claim in claims:
        for name, value in measures.by_point(paper, claim, rows).items():
            found = LOAD.search(name)
            if found:
                kept = [part for part in LOAD.sub("", name).split(", ") if part.strip()]
                rest = plain(", ".join(kept))
                ends = "" if value.low is None else f" ({value.low:.3g} to {value.high:.3g})"
                measured.setdefault((claim.id, rest), {})[found[1]] = f"{value.estimate:.3g}{ends}"
    loads = sorted({load for of in measured.values() for load in of}, key=float)
    if len(loads) < 2:
        yield from _by_point(paper, claims, rows)
        return
    yield "\n<details><summary>By load</summary>\n"
    yield head(["claim", *(f"load {load}" for load in loads)])
    for (claim_id, rest), of in measured.items():
        name = f"`{claim_id}` [{units[claim_id]}]" + (f", {rest}" if rest else "")
        yield _line([name, *(of.get(load, "") for load in loads)])
    yield "\n</details>\n"


def _by_point(paper: Paper, claims: Sequence[Claim], rows: Rows) -> Iterator[str]:
    """The measurements of claims that must hold at several points of a figure."""
    found = [(claim, measures.by_point(paper, claim, rows)) for claim in claims]
    several = [(claim, points) for claim, points in found if len(points) > 1]
    if not several:
        return
    yield "\n<details><summary>By point of the figure</summary>\n"
    yield head(["claim", "point", "measured (95 % interval)"])
    for claim, points in several:
        for name, value in points.items():
            ends = "" if value.low is None else f" ({value.low:.3g} to {value.high:.3g})"
            measured = f"{value.estimate:.3g}{ends} {claim.unit}"
            yield _line([f"`{claim.id}`", plain(name), measured])
    yield "\n</details>\n"


def _row(claim: Claim, finding: Finding) -> str:
    says = f"{claim.meaning} (`{claim.id}`)"
    measured = "nothing"
    if finding.measured is not None:
        low, high, of = finding.low, finding.high, ""
        if finding.least is not None and finding.most is not None:
            # The verdict follows from all intervals, not from the worst point's.
            low, high, of = finding.least, finding.most, ", all points: "
        ends = "" if low is None else f"{of or ' ('}{low:.4g} to {high:.4g}{'' if of else ')'}"
        measured = f"{finding.measured:.4g}{ends} {claim.unit}"
    return _line([says, claim.paper, measured, f"**{why.in_words(finding)}**"])


def plain(text: str) -> str:
    """A text with settings of runs in words."""
    for pattern, words in PLAIN:
        text = pattern.sub(words, text)
    return text


def details(claim: Claim, finding: Finding) -> str:
    """All the evidence on a claim, in a paragraph."""
    parts = [f"`{claim.id}`: {why.in_words(finding)}"]
    unit = f" {claim.unit}".rstrip()
    if finding.low is not None:
        seeds = "computed" if claim.measure.get("exact") else f"{finding.seeds} seeds"
        parts[0] += f", {finding.low:.4g} to {finding.high:.4g}{unit} ({seeds}"
        parts[0] += f", at least {finding.flows:,} flows)" if finding.flows else ")"
    if finding.least is not None:
        parts.append(f"Intervals of all points: {finding.least:.4g} to {finding.most:.4g}{unit}")
    if finding.note:
        note = plain(finding.note)
        parts.append(note[0].upper() + note[1:])
    parts += [f"Suspect: {warning}" for warning in finding.warnings]
    if claim.untestable:
        parts.append(claim.untestable.rstrip("."))
    others = [
        f"{Path(name).name} {word}"
        for name, word in finding.profiles.items()
        if name != finding.profile
    ]
    if others:
        parts.append(f"Other readings: {'; '.join(others)}")
    if finding.null_model is not None:
        parts.append(f"Null model ({plain(finding.null_is)}): {finding.null_model}")
    if finding.cause:
        parts.append(why.Cause(**finding.cause).in_words().rstrip("."))
    parts.append(f"{_bounds(claim, unit)}: {claim.why}")
    return ". ".join(parts) + "."


def _bounds(claim: Claim, unit: str) -> str:
    """The tolerance, and the bounds that the paper's words were given."""
    low, high, tolerance = claim.target.low, claim.target.high, claim.target.tolerance
    room = f"tolerance {tolerance:g}{unit}" if tolerance else "no tolerance"
    if claim.prints:
        return room[0].upper() + room[1:]
    ends = f"at least {low:g}" if math.isinf(high) else f"at most {high:g}"
    if math.isfinite(low) and math.isfinite(high):
        ends = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return f"Our bound for the paper's words: {ends}{unit}, {room}"


def _builds(paper: Paper, experiment: Experiment) -> str:
    """Builds of the module that made an experiment's rows, and whether this is one of them."""
    rows = (row for of in evidence.read(paper, experiment).values() for row in of)
    builds = sorted({row.build for row in rows})
    named = ", ".join(f"`{build or 'unknown'}`" for build in builds) or "none"
    other = "" if builds == [_native.__build__] else "; this build may give other numbers"
    return f"Rows of builds {named}{other}.\n"


def show(paper: Paper, claim: Claim, finding: Finding) -> str:
    """One claim with all its evidence, for the terminal."""
    experiment = paper.experiments[claim.experiment]
    setup: Setup = experiment.setup
    lines = [
        f"{claim.id} ({experiment.title})",
        f"says: {claim.meaning}: {claim.paper}",
        f"verdict: {why.in_words(finding)}",
        details(claim, finding),
        f"rows: {finding.profile or 'none'}",
        f"hosts: {Path(setup.profile).name}; {_evidence(setup.by)}",
    ]
    for one in (*setup.settings, *setup.states):
        values = ", ".join(f"{key} = {value}" for key, value in one.values.items())
        lines.append(f"  {values}; {_evidence(one)}")
    for each in setup.open:
        lines.append(f"  {each.says}: {each.joint}; open, of {len(each.grid)} values")
    lines += search.of_claim(search.read(paper), claim.id)
    return "\n".join(lines)
