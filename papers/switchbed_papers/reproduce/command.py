"""The command line of reproductions."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from switchbed import files, options, terminal
from switchbed._native import Mistake
from switchbed.progress_bar import progress_bar
from switchbed.store import Store
from switchbed.terminal import say
from switchbed_papers import tree
from switchbed_papers.reproduce import evidence, page, price, report, search, why
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.claims import Experiment, Paper, papers
from switchbed_papers.reproduce.findings import Finding, findings
from switchbed_papers.reproduce.setup import JOINT
from switchbed_papers.reproduce.verdict import WORDS


def reproduce(
    which: str,
    quick: bool,
    json_to: str | None,
    out: Path | None,
    first_seed: int,
    seeds: int | None,
    profile: str | None,
    commit: bool,
    store: Path,
    any_memory: bool,
    of: str | None = None,
    budget_min: float = 60.0,
) -> int:
    """The command; gives its exit code."""
    if which == "search":
        return _search(of, budget_min, Store(store))
    if which == "show":
        return _show(of)
    if which == "report":
        return _report(of, out)
    if of is not None:
        raise Mistake(f"{which} {of}: only search, show and report take a second argument")
    if which == "list":
        return _list(json_to)
    if which == "page":
        return _page(out)
    if commit and quick:
        raise Mistake("--commit: only --full results are committed")
    if commit:
        tree.check("--commit")
    chosen = list(_chosen(which))
    kept = Store(store)
    needed = {
        (paper.name, experiment.id): _needed(
            paper, experiment, first_seed, seeds, profile, quick=quick, commit=commit
        )
        for paper, experiment in chosen
    }
    if not quick:
        prices = (
            price.missing(paper, experiment, jobs, kept)
            for paper, experiment in chosen
            for jobs in needed[paper.name, experiment.id].values()
        )
        say(f"full scale: {sum(prices, price.Price()).hours()}", err=True)
    found: list[Finding] = []
    for paper, experiment in chosen:
        rows = {}
        begin = time.monotonic()
        for name, jobs in needed[paper.name, experiment.id].items():
            with progress_bar() as shown:
                experiments.run(paper, experiment, jobs, kept, shown, any_memory=any_memory)
            rows[name] = experiments.rows(jobs, kept)
        judged = findings(paper, experiment, rows)
        found += judged
        runs = sum(len(of.rows) for of in rows.values())
        if json_to != "-":
            _print(paper, experiment, judged, runs, time.monotonic() - begin)
            note = (experiment.quick if quick else experiment.full).note
            if note:
                say(f"  {'quick' if quick else 'smaller'}: {note}")
        if out is not None:
            page.draw(paper, experiment, next(iter(rows.values())), out)
        if commit:
            evidence.write(paper, experiment, [row for of in rows.values() for row in of])
    if json_to is not None:
        options.write_json([as_json(finding) for finding in found], json_to)
    elif len(found) > 1:
        say(_count(finding.verdict for finding in found))
    return 0


def _needed(
    paper: Paper,
    experiment: Experiment,
    first_seed: int,
    seeds: int | None,
    profile: str | None,
    *,
    quick: bool,
    commit: bool,
) -> dict[str, list[experiments.Job]]:
    """The runs of an experiment by reading."""
    found = {}
    for name in _profiles(experiment, profile, commit=commit):
        judges = name == JOINT
        scale = experiment.quick if quick else experiment.full if judges else experiment.other
        scale = scale if seeds is None else type(scale)(scale.sets, seeds, scale.note)
        found[name] = experiments.jobs(paper, experiment, scale, first_seed, name)
    return found


def _show(which: str | None) -> int:
    """One claim with all its evidence."""
    for paper in papers().values():
        if which in paper.claims:
            claim = paper.claims[which]
            finding = page.committed(paper)[claim.id]
            terminal.page(page.show(paper, claim, finding) + "\n")
            return 0
    raise Mistake(f"show {which or ''}: no such claim; `switchbed reproduce list` has them all")


def _search(which: str | None, budget_min: float, store: Store) -> int:
    """The joint search of a paper, or of all."""
    known = papers()
    if which is not None and which not in known:
        raise Mistake(f"search {which}: no such paper; there is {', '.join(known)}")
    left_s = 60 * budget_min
    for paper in [known[which]] if which else known.values():
        # Where nothing is open there is nothing to choose.
        chosen = {name: of for name, of in paper.experiments.items() if of.setup.open}
        prices = {
            name: price.missing(
                paper, of, [job for _, at in search.jobs(paper, of) for job in at], store
            )
            for name, of in chosen.items()
        }
        for name in sorted(prices, key=lambda each: prices[each].core_s):
            points = len(search.grid(chosen[name]))
            say(f"{paper.name}/{name}: {points} points, {prices[name].minutes()}", err=True)
        total = sum(prices.values(), price.Price())
        say(f"{paper.name}: {total.hours()} in all, {left_s / 3600:.2f} to spend", err=True)
        found = before = search.read(paper)
        for name in sorted(prices, key=lambda each: prices[each].core_s):
            if prices[name].core_s > left_s:
                continue
            with progress_bar() as shown:
                one = search.run(paper, chosen[name], store, shown)
            left_s -= prices[name].core_s
            found = search.Search(paper, {**found.searched, name: one})
        # Kept once all is done: a search that is stopped leaves the committed results alone.
        if found is not before:
            search.keep(found)
        if found.searched:
            terminal.page(search.summary(found) + "\n")
    return 0


def _profiles(experiment: Experiment, asked: str | None, *, commit: bool) -> tuple[str, ...]:
    """Readings to run under: what is committed has all of them."""
    declared = experiment.setup.readings
    if asked == "all" or (asked is None and commit):
        return declared
    if asked is not None and asked not in declared:
        raise Mistake(f"--profile {asked}: declared for it are {', '.join(declared)}, or all")
    return (asked or JOINT,)


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
    if finding.least is not None and finding.most is not None:
        bounds += f", all points {finding.least:.4g} to {finding.most:.4g}"
    note = f", {finding.note}" if finding.note else ""
    others = ", ".join(f"{name} {word}" for name, word in finding.profiles.items())
    hosts = f" · {others}" if len(finding.profiles) > 1 else ""
    verdict = why.in_words(finding) if finding.class_ else finding.verdict
    return (
        f"{finding.id}: {verdict.upper()} · "
        f"paper {finding.paper} · measured {measured} "
        f"({bounds}, {finding.seeds} seeds{note}){hosts}"
    )


def _list(json_to: str | None) -> int:
    found = [
        (finding, paper.claims[finding.id])
        for paper in papers().values()
        for finding in page.committed(paper).values()
    ]
    if json_to is not None:
        options.write_json([as_json(finding) for finding, _ in found], json_to)
        return 0
    for finding, claim in found:
        say(line(finding, claim.unit))
    counts = Counter(why.in_words(finding) for finding, _ in found)
    say(f"{len(found)} claims: {', '.join(f'{counts[each]} {each}' for each in why.COLUMNS)}")
    return 0


def as_json(finding: Finding) -> dict[str, Any]:
    """A finding as `--json` has it."""
    return {key.removesuffix("_"): value for key, value in asdict(finding).items()}


def _page(out: Path | None) -> int:
    """Prints the page of the committed rows, or writes it."""
    text = page.render()
    if out is None:
        terminal.page(text)
        return 0
    with files.whole(out, "--out") as file:
        file.write_text(text, encoding="utf-8")
    return 0


def _report(which: str | None, out: Path | None) -> int:
    """The page as HTML, of one paper or of all."""
    known = papers()
    if which is not None and which not in known:
        raise Mistake(f"report {which}: no such paper; there is {', '.join(known)}")
    to = out or Path(f"{which or 'papers'}.html")
    report.write(to, known[which] if which else None)
    say(f"written: {to}")
    return 0


def _count(verdicts: Iterator[str]) -> str:
    given = list(verdicts)
    counts = (f"{given.count(word)} {word}" for word in WORDS)
    return f"{len(given)} claims: {', '.join(counts)}"
