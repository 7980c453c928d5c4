"""The page of the reproductions, from what is committed: the classes of all claims, then paper by
paper the set-up, the joint search and the figures."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from switchbed import _native
from switchbed_papers.reproduce import bands, evidence, figures, lint, matrix, measures, search, why
from switchbed_papers.reproduce.claims import Claim, Experiment, Paper, papers
from switchbed_papers.reproduce.findings import Finding, findings
from switchbed_papers.reproduce.matrix import head
from switchbed_papers.reproduce.matrix import line as _line
from switchbed_papers.reproduce.rows import Rows
from switchbed_papers.reproduce.setup import JOINT, Setting, Setup

CLAIMS = "claims"
"""The name of a figure's picture of claims beside the paper's values."""
LOAD = re.compile(r"\bload ([0-9.]+)")
HEAD = """\
# The papers, reproduced

<!-- Written by reproduce/page.py of papers/switchbed_papers from what is committed there. -->

This page says, claim by claim, how much of five papers this test bed reproduces.
`switchbed reproduce PAPER/FIGURE --full` repeats a figure, `switchbed reproduce show CLAIM` prints
one claim with all its evidence.
"""

RULES = """\
- **reproduced**: the whole 95 % confidence interval over the seeds lies within the paper's value,
  give or take the tolerance.
- **in direction**: the interval excludes "no effect" on the paper's side, and the effect is at
  least half of the paper's and at most twice it.
- **contradicts itself**: no set-up can satisfy the places of the paper that are quoted.
- **open**: the paper leaves settings open, and the claim does not come out at the joint set-up.
- **unknown**: none of these explains why it is not reproduced, or more seeds are needed.
- **not testable**: the paper gives nothing to compare with, or any scheme passes.

Every paper has one **joint set-up** (`setup.toml` in its folder of `papers/switchbed_papers/`).
Each setting has its evidence: printed, implied by the text, default of the simulator or kernel that
the paper names, or open. Open settings have a grid. The whole paper is run over it at reduced
scale, and the point at which most claims come out together is the joint set-up
(`switchbed reproduce search PAPER`). Beside it stand the **literal** reading, which takes defaults
for what is open, and two other kinds of hosts.

Each reproduced claim is tested with a null model that should fail: the same scheme on both sides,
say, or a value displaced by twice the tolerance. It never holds.
"""

FIRST = """\
Rows of the **first edition**: they are of the hosts `{hosts}` and of a base round-trip time varied
about a guess, not of the joint set-up above. `switchbed reproduce {of} --full --commit` replaces
them.
"""


def draw(paper: Paper, experiment: Experiment, rows: Rows, folder: Path) -> Path | None:
    """Draws an experiment's figure into a folder, and its claims beside the paper's values."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {one.id: one for one in findings(paper, experiment, {JOINT: rows})}
    shown = bands.of(paper.claims, found, experiment.id)
    if shown:
        bands.draw(
            "The paper's values, and what was measured",
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
    if not evidence.file(paper, experiment).exists():
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
            held = finding.verdict == "holds" or claim.untestable
            cause = None if held else why.cause(claim, contradictions, searched)
            found[finding.id] = replace(
                finding,
                cause=cause.as_json() if cause else None,
                class_=why.classify(claim, finding, cause),
            )
    return found


def render(*, shown: bool = False, only: Paper | None = None) -> str:
    """The page, or what is of one paper; with its pictures if they are shown."""
    known = papers() if only is None else {only.name: only}
    found = {name: committed(paper) for name, paper in known.items()}
    lines = (
        line for name, paper in known.items() for line in _paper(paper, found[name], shown=shown)
    )
    return "\n".join([HEAD, _overview(known, found), RULES, *lines])


def _overview(known: Mapping[str, Paper], found: Mapping[str, Mapping[str, Finding]]) -> str:
    """The first table, and a paragraph a paper."""
    lines = [_line(["paper", *why.CLASSES, "claims"]), _line(["---"] * (len(why.CLASSES) + 2))]
    for name in known:
        counts = Counter(finding.class_ for finding in found[name].values())
        cells = [str(counts[each]) for each in why.CLASSES]
        lines.append(_line([f"[{name}](#{name})", *cells, str(len(found[name]))]))
    first = sum(one.first_edition for of in found.values() for one in of.values())
    if first:
        lines += ["", f"{first} verdicts still follow from rows of the first edition, marked (1)."]
    believe = [f"**{name}.** {paper.believe}\n" for name, paper in known.items() if paper.believe]
    return "\n".join([*lines, "", *believe])


def _paper(paper: Paper, found: Mapping[str, Finding], *, shown: bool) -> Iterator[str]:
    yield f"## {paper.name}\n\n{paper.title}\n"
    yield from _setups(paper)
    yield from matrix.tables(search.read(paper))
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
        seen = {id(one.values): one for each in of for one in each.setup.settings}
        for one in seen.values():
            values = ", ".join(f"`{key} = {value}`" for key, value in one.values.items())
            yield _line([", ".join(one.experiments) or every, values, _evidence(one)])
    opened = {each.name: each for e in paper.experiments.values() for each in e.setup.open}
    for each in opened.values():
        tried = ", ".join(f"**{v}**" if v == each.joint else v for v in each.grid)
        yield _line([", ".join(each.experiments) or "all", f"{each.says}: {tried}", "open"])
    for spread in next(iter(kinds.values()))[0].setup.ranges:
        ends = f"{spread.low_ps / 1e3:g} to {spread.high_ps / 1e3:g} ns"
        yield _line(["all", f"`{spread.key}`: {ends}, another for each seed", "spread"])
    yield "\n</details>\n"


def _evidence(setting: Setting) -> str:
    if setting.by == "default":
        return f"default: {setting.note}"
    excludes = f"; excludes {setting.note}" if setting.note else ""
    return f"{setting.by}: {setting.place}{excludes}"


def _experiment(
    paper: Paper, experiment: Experiment, found: Mapping[str, Finding], *, shown: bool
) -> Iterator[str]:
    claims = [claim for claim in paper.claims.values() if claim.experiment == experiment.id]
    yield f"### {experiment.title}\n"
    first = found[claims[0].id]
    for picture in pictures(paper, experiment) if shown else ():
        yield f"![{experiment.title}](reproductions/{picture})\n"
    if not first.profiles:
        yield "Not run at full scale yet.\n"
    yield head(["claim", "the paper", "measured (95 % interval)", "class"])
    for claim in claims:
        yield _row(claim, found[claim.id])
    rows = evidence.read(paper, experiment)
    if rows:
        yield from _over_loads(paper, claims, next(iter(rows.values())))
    yield "\n<details><summary>Evidence: intervals, readings, null models, causes, rows</summary>\n"
    if first.first_edition:
        hosts = Path(experiment.setup.first).name
        yield FIRST.format(hosts=hosts, of=f"{paper.name}/{experiment.id}")
    yield _builds(paper, experiment)
    if experiment.assumes:
        yield "Assumed, for the paper leaves it open:\n"
        yield "\n".join(f"- {text}" for text in experiment.assumes) + "\n"
    if experiment.full.note:
        yield f"Smaller than the paper's: {experiment.full.note}.\n"
    for warning in lint.of_rows(paper, experiment, next(iter(rows.values()))) if rows else ():
        yield f"Suspect: {warning}.\n"
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
                rest = LOAD.sub("", name).strip(", ")
                ends = "" if value.low is None else f" ({value.low:.3g} to {value.high:.3g})"
                measured.setdefault((claim.id, rest), {})[found[1]] = f"{value.estimate:.3g}{ends}"
    loads = sorted({load for of in measured.values() for load in of}, key=float)
    if len(loads) < 2:
        return
    yield "\n<details><summary>By load</summary>\n"
    yield head(["claim", *(f"load {load}" for load in loads)])
    for (claim_id, rest), of in measured.items():
        name = f"`{claim_id}` [{units[claim_id]}]" + (f", {rest}" if rest else "")
        yield _line([name, *(of.get(load, "") for load in loads)])
    yield "\n</details>\n"


def _row(claim: Claim, finding: Finding) -> str:
    mark = " (1)" if finding.first_edition else ""
    says = f"{claim.meaning} (`{claim.id}`)"
    measured = "nothing"
    if finding.measured is not None:
        ends = "" if finding.low is None else f" ({finding.low:.4g} to {finding.high:.4g})"
        measured = f"{finding.measured:.4g}{ends} {claim.unit}"
    return _line([says, claim.paper, measured, f"**{finding.class_}**{mark}"])


def details(claim: Claim, finding: Finding) -> str:
    """All the evidence on a claim, in a paragraph."""
    parts = [f"`{claim.id}`: {finding.verdict}"]
    if finding.low is not None:
        parts[0] += f", {finding.low:.4g} to {finding.high:.4g} {claim.unit} ({finding.seeds} seeds"
        parts[0] += f", at least {finding.flows:,} flows)" if finding.flows else ")"
    if finding.least is not None:
        parts.append(f"All points: {finding.least:.4g} to {finding.most:.4g}")
    if finding.note:
        parts.append(finding.note[0].upper() + finding.note[1:])
    readings = list(finding.profiles.items())
    parts += [f"Suspect: {warning}" for warning in finding.warnings]
    if claim.untestable:
        parts.append(claim.untestable.rstrip("."))
    if len(readings) > 1:
        parts.append("; ".join(f"{Path(name).name} {word}" for name, word in readings))
    if finding.null_model is not None:
        parts.append(f"Null model ({finding.null_is}): {finding.null_model}")
    if finding.cause:
        parts.append(why.Cause(**finding.cause).in_words().rstrip("."))
    parts.append(f"Tolerance {claim.target.tolerance:g}: {claim.why}")
    return ". ".join(parts) + "."


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
    edition = "the first edition, " if finding.first_edition else ""
    lines = [
        f"{claim.id} ({experiment.title})",
        f"says: {claim.meaning}: {claim.paper}",
        f"class: {finding.class_}",
        details(claim, finding),
        f"rows: {edition}{finding.profile or 'none'}",
        f"hosts: {Path(setup.profile).name}; {_evidence(setup.by)}",
    ]
    for one in setup.settings:
        values = ", ".join(f"{key} = {value}" for key, value in one.values.items())
        lines.append(f"  {values}; {_evidence(one)}")
    for each in setup.open:
        lines.append(f"  {each.says}: {each.joint}; open, of {len(each.grid)} values")
    lines += matrix.of_claim(search.read(paper), claim.id)
    return "\n".join(lines)
