"""The findings of the committed rows, and the pages of them: the reproductions, and what was tried
where a claim does not hold."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from switchbed import _native
from switchbed_papers.reproduce import evidence, figures, flips, variations, why
from switchbed_papers.reproduce.claims import Claim, Experiment, Paper, papers
from switchbed_papers.reproduce.findings import Finding, findings
from switchbed_papers.reproduce.rows import Rows

HEAD = """\
# The papers, reproduced

<!-- Written by reproduce/page.py of papers/switchbed_papers from rows/ and claims.toml. -->

Every claim of the five papers, measured again. `switchbed reproduce PAPER/FIGURE --full` repeats
one, `switchbed reproduce all` runs everything small. A verdict follows from the numbers by one
rule, the same for all (`papers/switchbed_papers/reproduce/verdict.py`): **holds** if the whole 95 %
confidence interval over the seeds lies within the paper's value, give or take the tolerance;
**direction** if the interval excludes "no effect" on the paper's side, at another size; **fails**
if it lies outside; **undecided** otherwise. "Up to" is read with simultaneous intervals over all
points. Where each of several points must be within, the number and its interval are those of the
worst; "all points" is what their intervals, again simultaneous, span together, by which the verdict
is. What a paper leaves open is listed with each experiment. Below its table stands why a claim does
not hold: the setting of the judged hosts or of the set-up with which it does, other hosts on which
it does, the reason why the paper cannot be right as printed, or what was tried in vain. It is from
`causes.toml` in the paper's folder of `papers/switchbed_papers/`, whose README says more; [the
tables](reproductions-causes.md) are of its `variations.json`. `switchbed reproduce list --json` has
it as `cause`. `switchbed reproduce page` prints this page from the committed rows.

**Hosts.** Each paper's hosts were declared (`hosts.toml` in its folder) before anything ran on
them: a [profile](hosts.md), by evidence that has nothing to do with the claims, and what the
paper itself says. A claim's verdict is that profile's, which stands first; beside it are those of
two others, the same for the whole paper, and whether the verdict is **robust** (the same under
all) or **host-dependent**. What neither settles is varied over a declared range, another value
for each seed. No set-up says anything of hosts but what its figure varies.

**Evidence.** The rows of all runs are committed (`rows/*.parquet` in a paper's folder), and all
below follows from them alone. Beside each **holds** stands what would have failed it, and the
verdict on that from the same rows: the same scheme on both sides, say, each seed's run beside
another seed's, or a value displaced by twice the tolerance. It never holds (`null_model` and
`null_is` of `switchbed reproduce list --json`). Where a verdict is another on other
hosts, `switchbed reproduce PAPER/FIGURE --flips` puts their settings one at a time on the judged
hosts, and says which of them flips it.
"""

CAUSES = """\
# What was tried where a claim does not hold

<!-- Written by reproduce/page.py of papers/switchbed_papers from variations.toml and
variations.json. -->

The tables that [the reproductions](reproductions.md) name as causes. Rows are settings of the hosts
that judge a paper, or readings of its committed rows.
`python -m switchbed_papers.reproduce.variations PAPER NAME` runs one again.
"""


def draw(paper: Paper, experiment: Experiment, rows: Rows, folder: Path) -> Path | None:
    """Draws an experiment's figure into a folder."""
    if experiment.draw is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{paper.name}-{experiment.id}.png"
    built_in = figures.BUILT_IN.get(experiment.draw)
    (built_in or paper.function(experiment.draw, "draw"))(rows, experiment.title, file)
    return file


def pictures(paper: Paper, experiment: Experiment) -> list[str]:
    """The names of the files that `draw` leaves."""
    if experiment.draw is None:
        return []
    name = f"{paper.name}-{experiment.id}"
    return [f"{name}.png", *(f"{name}--{each}.png" for each in experiment.draws_also)]


def committed(paper: Paper) -> dict[str, Finding]:
    """The findings by claim, as the committed rows have them."""
    found = {}
    causes = why.causes(paper.folder)
    for experiment in paper.experiments.values():
        flipped = flips.read(paper, experiment)
        for finding in findings(paper, experiment, evidence.read(paper, experiment)):
            own = [asdict(flip) for flip in flipped if flip.claim == finding.id]
            cause = causes[finding.id].as_json() if finding.id in causes else None
            found[finding.id] = replace(finding, flips=own, cause=cause)
    return found


def render(*, shown: bool = False) -> str:
    """The page; with its pictures if they are shown."""
    lines = (line for paper in papers().values() for line in _paper(paper, shown=shown))
    return "\n".join([HEAD, *lines])


def _builds(paper: Paper, experiment: Experiment) -> str:
    """Builds of the module that made an experiment's rows, and whether this is one of them."""
    rows = (row for of in evidence.read(paper, experiment).values() for row in of)
    builds = sorted({row.build for row in rows})
    named = ", ".join(f"`{build or 'unknown'}`" for build in builds) or "none"
    other = "" if builds == [_native.__build__] else "; this build may give other numbers"
    return f"Rows of builds {named}{other}.\n"


def render_causes() -> str:
    """The page of what was tried."""
    parts = (f"## {paper.title}\n\n{variations.text(paper)}" for paper in papers().values())
    return "\n".join([CAUSES, *parts])


def _paper(paper: Paper, *, shown: bool) -> Iterator[str]:
    found = committed(paper)
    causes = why.causes(paper.folder)
    yield f"## {paper.name}: {paper.title}\n"
    kinds = {experiment.hosts.name: experiment.hosts for experiment in paper.experiments.values()}
    for hosts in kinds.values():
        yield f"- Hosts of its {hosts.name}: `{hosts.judged}`: {hosts.why}."
        if hosts.said:
            said = ", ".join(f"`{key} = {value}`" for key, value in hosts.said.items())
            yield f"  Said by the paper or its set-up, under every profile: {said}."
        if hosts.factor:
            keys = ", ".join(f"`{key}`" for key in hosts.factor.keys)
            low, high = hosts.factor.low, hosts.factor.high
            yield (
                f"  Its base round-trip time is not given: {keys} {'are' if ',' in keys else 'is'} "
                f"varied from {low:g} to {high:g} times the set-up's."
            )
    ranges = {each.key: each for hosts in kinds.values() for each in hosts.ranges}
    for key, each in ranges.items():
        yield f"- Varied: `{key}` from {each.low_ps / 1e3:g} to {each.high_ps / 1e3:g} ns."
    changes = dict.fromkeys(change for hosts in kinds.values() for change in hosts.changes)
    yield from (f"- Changed: {change}" for change in changes)
    yield ""
    for experiment in paper.experiments.values():
        claims = [claim for claim in paper.claims.values() if claim.experiment == experiment.id]
        yield f"### {experiment.title}\n"
        yield _builds(paper, experiment)
        has_run = any(found[claim.id].profiles for claim in claims)
        if has_run:
            for picture in pictures(paper, experiment) if shown else ():
                yield f"![{experiment.title}](reproductions/{picture})\n"
        if experiment.assumes:
            yield "Assumed, for the paper leaves it open:\n"
            yield "\n".join(f"- {text}" for text in experiment.assumes) + "\n"
        if experiment.full.note:
            yield f"Smaller than the paper's: {experiment.full.note}.\n"
        if has_run:
            names = list(found[claims[0].id].profiles)
            others = "".join(f" {name} |" for name in names[1:])
            yield f"| claim | what it says | paper | measured | {names[0]} |{others} |"
            yield "| --- " * (6 + len(names[1:])) + "|"
            for claim in claims:
                yield _row(claim, found[claim.id], names)
            explained = [causes[claim.id] for claim in claims if claim.id in causes]
            if explained:
                yield "\nWhy what does not hold does not:\n"
                yield "\n".join(f"- {cause.in_words()}" for cause in explained)
            flipped = flips.read(paper, experiment)
            if flipped:
                yield "\nWhat in the hosts flips a verdict:\n"
                yield "\n".join(f"- {flips.in_words(flip)}" for flip in flipped)
        else:
            yield "Not run yet on its hosts:\n"
            for claim in claims:
                yield f"- `{claim.id}`: {claim.meaning}: {claim.paper}"
        yield ""


def _row(claim: Claim, finding: Finding, names: Sequence[str]) -> str:
    measured = "nothing"
    if finding.measured is not None:
        measured = f"{finding.measured:.4g} {claim.unit}"
    if finding.low is not None:
        measured += f" ({finding.low:.4g} to {finding.high:.4g}"
        flows = f", at least {finding.flows:,} flows" if finding.flows else ""
        measured += f"; {finding.seeds} seeds{flows})"
    if finding.least is not None:
        measured += f"; all points {finding.least:.4g} to {finding.most:.4g}"
    if finding.note:
        measured += f", {finding.note}"
    verdicts = [finding.profiles.get(name, "") for name in names]
    others = "".join(f" {word} |" for word in verdicts[1:])
    verdict = f"**{finding.verdict}**"
    if finding.verdict == "holds":
        verdict += f"; {finding.null_model} with {finding.null_is}"
    robust = {True: "robust", False: "host-dependent", None: ""}[finding.robust]
    return (
        f"| `{claim.id}` | {claim.meaning} | {claim.paper} | {measured} "
        f"| {verdict} |{others} {robust} |"
    )
