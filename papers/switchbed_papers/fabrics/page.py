"""The page fabrics.md, from the committed tables, the scenario files and `page.md`; and what both
pages have alike."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from switchbed import stats
from switchbed_papers.fabrics import experiment, picture
from switchbed_papers.fabrics.cells import CELLS, CONDITIONS, FABRICS, FOLDER, WORKLOADS, Cell
from switchbed_papers.fabrics.front import LARGE, MARGIN, SMALL, Standing

Found = Mapping[Cell, Standing]


def draw(found: Found, folder: Path) -> None:
    """Draws a picture a condition into a folder."""
    for condition, words in CONDITIONS.items():
        if of_it := having(found, condition):
            picture.draw(of_it, words, folder / f"{condition}.png")


def committed(cells: Iterable[Cell]) -> dict[Cell, Standing]:
    """Return the committed results of the cells."""
    tables = {cell: experiment.committed(cell) for cell in cells}
    return {cell: Standing(table) for cell, table in tables.items() if table is not None}


def having(found: Found, condition: str) -> dict[Cell, Standing]:
    """The cells of a condition."""
    return {cell: standing for cell, standing in found.items() if cell.condition == condition}


def render(results: Found | None = None) -> str:
    """The page, of the committed results if no others are given."""
    found = committed(CELLS) if results is None else results
    some = next(iter(found.values()))
    text = Template((FOLDER / "page.md").read_text(encoding="utf-8"))
    return text.substitute(
        schemes=", ".join(f"`{name}`" for name in schemes(found)),
        scale=scale(found),
        margin=f"{100 * MARGIN:.0f} %",
        base=f"`{some.labels[0]}`",
        conditions="\n\n".join(
            _condition(having(found, condition), condition)
            for condition in CONDITIONS
            if having(found, condition)
        ),
        front=_front(found),
        lso=_lso(found),
        incast=_incast(having(found, "incast")),
        settings=settings(FABRICS),
        tables="\n\n".join(_figures(cell, standing) for cell, standing in found.items()),
    )


def schemes(found: Found) -> list[str]:
    """The names of those that it has, in the order of the files."""
    return list(dict.fromkeys(name for standing in found.values() for _, name in standing.schemes))


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Format a table in Markdown."""
    first = list(heads)
    lines = [first, ["---"] * len(first), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def scale(found: Found) -> str:
    """State the numbers of flows, seeds and runs."""
    flows = " and ".join(f"{count:,} {name}" for name, (count, _) in WORKLOADS.items())
    seeds = " or ".join(stats.seeds(n) for n in sorted({s.seeds for s in found.values()}))
    runs = sum(standing.table.height for standing in found.values())
    return f"{flows} flows a run, {seeds}, {runs:,} runs"


def _condition(found: Found, condition: str) -> str:
    heads = ["", "small flows' p99: best", "not shown worse"]
    heads += ["large flows' average: best", "not shown worse"]
    rows = (
        [cell.where, *_best(standing, SMALL), *_best(standing, LARGE)]
        for cell, standing in found.items()
    )
    words = CONDITIONS[condition]
    return f"### {words}\n\n![{words}](fabrics/{condition}.png)\n\n{table(heads, rows)}"


def _best(standing: Standing, column: str) -> tuple[str, str]:
    first, ties = standing.best(column)
    time_ms = standing.middle(first, column) / 1000
    return f"**{first}**, {time_ms:.3g} ms", ", ".join(ties) or "none"


def _front(found: Found) -> str:
    """List the schemes on the front of each cell, the most frequent first."""
    marks = {
        label: [_mark(s, label) or str(s.beaten_by(label)) for s in found.values()]
        for label in _labels(found)
    }
    ordered = sorted(marks, key=lambda label: (-marks[label].count("●"), -marks[label].count("○")))
    rows = (
        [label, f"{marks[label].count('●')}", f"{marks[label].count('○')}", *marks[label]]
        for label in ordered
    )
    return table(["scheme", "●", "○", *map(_short, found)], rows)


def _mark(standing: Standing, label: str) -> str:
    """Nothing for who is beaten."""
    return "●" if label in standing.front else "○" if label in standing.open else ""


def _lso(found: Found) -> str:
    """State the effect of LSO, over the seeds that were run with and without."""
    pairs = {
        _short(cell): (found[plain].also_in(standing), standing.also_in(found[plain]))
        for cell, standing in having(found, "lso").items()
        if (plain := Cell(cell.fabric, cell.workload, "plain")) in found
    }
    measures = {"small p99": SMALL, "large average": LARGE}
    rows = (
        [label]
        + [
            change(stats.paired(batching.values(label, column), plain.values(label, column)))
            for plain, batching in pairs.values()
            for column in measures.values()
        ]
        for label in _labels(found)
    )
    return table(["scheme", *(f"{cell}: {m}" for cell in pairs for m in measures)], rows)


def _incast(found: Found) -> str:
    rows = (
        [label, *(_range(s, label, "incast_p99_us") for s in found.values())]
        for label in _labels(found)
    )
    return table(["scheme", *map(_short, found)], rows)


def settings(fabrics: Mapping[str, str]) -> str:
    """List the settings of each scheme, by fabric."""
    files = [tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")) for name in fabrics]
    rows = (
        [label_of(entries[0]), *map(_params, entries)]
        for entries in zip(*(file["compare"]["scheme"] for file in files), strict=True)
    )
    return table(["scheme", *fabrics.values()], rows)


def label_of(entry: str | Mapping[str, Any]) -> str:
    """Return the label of a scheme in `[compare]`."""
    return entry if isinstance(entry, str) else str(entry.get("label", entry["name"]))


def _params(entry: str | Mapping[str, Any]) -> str:
    params = {} if isinstance(entry, str) else entry.get("params", {})
    return ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in params.items()) or "–"


def _figures(cell: Cell, standing: Standing) -> str:
    base = standing.labels[0]
    heads = ["scheme", "front", "small p99", f"against {base}", "large average", f"against {base}"]
    heads += ["small average", "all", "marks", "drops", "timeouts"]
    rows = (_row(standing, label, base) for label in standing.labels)
    return f"### {cell.where}: {CONDITIONS[cell.condition].lower()}\n\n{table(heads, rows)}"


def _row(standing: Standing, label: str, base: str) -> list[str]:
    cells = [label, _mark(standing, label)]
    for column in (SMALL, LARGE):
        cells.append(_spread(standing.values(label, column)))
        cells.append("" if label == base else change(standing.against(label, base, column)))
    cells += [f"{standing.mean(label, c) / 1000:.3g}" for c in ("small_mean_us", "all_mean_us")]
    return cells + [f"{standing.mean(label, c):,.0f}" for c in ("marks", "drops", "timeouts")]


def _spread(values_us: Sequence[float]) -> str:
    """`1.23 ±5 %`, in ms."""
    found = stats.mean(values_us, within=stats.POSITIVE)
    if found.n > 1 and not found.tells:
        around = f" ({stats.FEW})"
    else:
        around = "" if found.low is None else f" ±{100 * found.relative:.0f} %"
    return f"{found.estimate / 1000:.3g}{around}"


def _range(standing: Standing, label: str, column: str) -> str:
    """`1.23 (1.1 to 1.4)`, in ms."""
    values = standing.values(label, column)
    ms = (standing.middle(label, column) / 1000, min(values) / 1000, max(values) / 1000)
    return "{:.3g} ({:.3g} to {:.3g})".format(*ms)


def change(found: stats.Change) -> str:
    """`−12 (−15 to −9)`, bold where the interval excludes 0."""
    ratio = found.ratio
    if found.untold:
        return stats.FEW
    if ratio.low is None or ratio.high is None:
        return _percent(ratio.estimate)
    text = f"{_percent(ratio.estimate)} ({_percent(ratio.low)} to {_percent(ratio.high)})"
    return f"**{text}**" if ratio.low > 1 or ratio.high < 1 else text


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f}".replace("-", "−")


def _labels(found: Found) -> list[str]:
    return next(iter(found.values())).labels if found else []


def _short(cell: Cell) -> str:
    where = f"{cell.fabric.replace('-', '/')} {cell.workload}"
    return where if cell.condition == "plain" else f"{where}, {cell.condition}"
