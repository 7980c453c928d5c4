"""Why a claim does not hold: what the scripts `papers/*/causes.py` share.

Each function of such a script varies what a paper leaves open, may draw `causes/NAME.png` and gives
the measured effects as a table, which becomes `causes/NAME.md`; the paper's README says what
follows. `python -m switchbed_papers.PAPER.causes [NAME …]` repeats all of them, or some.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed.meter import meter
from switchbed.plots import style
from switchbed.result import Result
from switchbed.scenario import Scenario
from switchbed.store import Store
from switchbed.terminal import page
from switchbed_papers.reproduce import evidence
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.claims import Claim, Scale, papers
from switchbed_papers.reproduce.measures import measure
from switchbed_papers.reproduce.verdict import Measured, judge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = style.IN_TURN


def runs(file: str | Path, sets: Mapping[str, Any]) -> list[Result]:
    """A scenario's runs with some of its keys set."""
    return Scenario.from_file(file).with_(sets).run_all()


def windows_of(packets: int) -> tuple[str, ...]:
    """Settings of receivers that take so many packets from the first round trip on."""
    return (
        f"transport.receive_window={packets}",
        f"transport.initial_receive_window={packets}pkt",
        f"transport.initial_ssthresh={packets}",
    )


def claims_by(
    paper: str,
    figure: str,
    settings: Mapping[str, Sequence[str]],
    seeds: int | None = None,
    *,
    full: bool = False,
    only: Sequence[str] = (),
) -> str:
    """A table of an experiment's claims (or those named), measured at the quick scale (or the full
    one) on the hosts that judge them with some settings changed: what brings a claim to the paper,
    and what does not. What has run stays in `switchbed-store`, as that of `switchbed reproduce`,
    and is not run again."""
    found = papers()[paper]
    experiment = found.experiments[figure]
    claims = [claim for claim in found.claims.values() if claim.experiment == figure]
    claims = [claim for claim in claims if not only or claim.id in only]
    rows: list[list[object]] = []
    sets_of_scale = experiment.full.sets if full else experiment.quick.sets
    store = Store(Path("switchbed-store"))
    with meter() as shown:
        for name, sets in settings.items():
            scale = Scale((*sets_of_scale, *sets), seeds or experiment.full.seeds, "")
            needed = experiments.jobs(found, experiment, scale, 1)
            experiments.run(found, experiment, needed, store, shown)
            ran = experiments.rows(needed, store)
            measured = [measure(found, claim, ran) for claim in claims]
            cells = zip(claims, measured, strict=True)
            rows.append([name, *(_measured(claim, it) for claim, it in cells)])
    return _beside("hosts that judge, and", claims, rows)


def claims_read(
    paper: str,
    names: Sequence[str],
    readings: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]],
    profiles: Sequence[str] = (),
) -> str:
    """A table of claims measured otherwise than they are judged, from the committed rows: each
    reading makes another measure of a claim's. Other profiles' rows are read likewise, where they
    have what the reading asks for. It runs nothing."""
    found = papers()[paper]
    claims = [found.claims[name] for name in names]
    committed = [evidence.read(found, found.experiments[claim.experiment]) for claim in claims]
    rows: list[list[object]] = []
    for profile in ("", *profiles):
        for name, reading in readings.items():
            row: list[object] = [f"{name} on {profile}" if profile else name]
            for claim, by_profile in zip(claims, committed, strict=True):
                read = replace(claim, measure={**reading(claim.measure), "also": ()})
                of = by_profile[profile] if profile else next(iter(by_profile.values()))
                row.append(_measured(claim, measure(found, read, of)))
            rows.append(row)
    return _beside("hosts that judge, read", claims, rows)


def _beside(corner: str, claims: Sequence[Claim], rows: Sequence[Sequence[object]]) -> str:
    """What was measured, under what the paper says."""
    paper_says = ["**the paper**", *(claim.paper for claim in claims)]
    return table([corner, *(f"`{claim.id}`" for claim in claims)], [paper_says, *rows])


def _measured(claim: Claim, found: Measured) -> str:
    """The number, its interval and the verdict."""
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f" ({found.low:.4g} to {found.high:.4g})"
    number = f"{found.estimate:.4g}{interval} {claim.unit}".strip()
    return f"{number}, {judge(claim.target, found)}"


def panels(title: str, count: int, height: float = 3.2) -> "tuple[Figure, Sequence[Axes]]":
    """A figure with so many panels in a row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1 + 4 * count, height), layout="constrained", dpi=100)
    figure.suptitle(title, fontsize="medium")
    return figure, list(figure.subplots(1, count, squeeze=False).flat)


def queue(axes: "Axes", run: Result, unit_bytes: float, **look: Any) -> None:
    """A run's only queue over time, in ms and units of so many bytes."""
    series = run.series
    axes.plot(1e3 * series["time_s"], series["bytes"] / unit_bytes, linewidth=0.8, **look)
    axes.set_xlabel("time (ms)")
    axes.set_ylim(bottom=0)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; numbers with three digits that count."""
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def main(script: str, findings: Sequence[Callable[[Path], str]]) -> None:
    """Draws the findings named on the command line, or all."""
    folder = Path(script).parent / "causes"
    known = {finding.__name__: finding for finding in findings}
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"{name}: no such cause; there is {', '.join(known)}")
        text = known[name](folder / f"{name}.png")
        (folder / f"{name}.md").write_text(text)
        page(f"{name}\n\n{text}\n")
