"""The page fabrics-linux.md: the AQMs too, and policies of shared memory, on hosts as Linux 6.x has
them, at three loads; from the committed tables, the scenario files and `linux_page.md`."""

import math
from collections.abc import Sequence
from pathlib import Path
from string import Template

from switchbed import stats
from switchbed_papers.fabrics import page, picture
from switchbed_papers.fabrics.cells import FOLDER, LINUX, LINUX_FABRICS, LOADS, MEMORY, Cell
from switchbed_papers.fabrics.front import LARGE, SMALL, Standing
from switchbed_papers.fabrics.page import Found, table

NEAR = 0.05
"""Distance from the best scheme up to which a scheme counts as close."""


def draw(found: Found, folder: Path) -> None:
    """Draws a picture a load into a folder."""
    for load in LOADS:
        if of_it := at_load(found, load):
            picture.draw(of_it, f"Load {load}", folder / f"linux-{load}.png")


def at_load(found: Found, load: str) -> dict[Cell, Standing]:
    """The cells of a load."""
    return {cell: standing for cell, standing in found.items() if cell.load == load}


def render(results: Found | None = None) -> str:
    """The page, of schemes and of policies; of the committed results if no others are given."""
    kept = page.committed((*LINUX, *MEMORY)) if results is None else results
    found = {cell: standing for cell, standing in kept.items() if cell in LINUX}
    memory = {cell: standing for cell, standing in kept.items() if cell in MEMORY}
    text = Template((FOLDER / "linux_page.md").read_text(encoding="utf-8"))
    return text.substitute(
        schemes=", ".join(f"`{name}`" for name in page.schemes(found)),
        scale=page.scale(found),
        near=f"{100 * NEAR:.0f} %",
        base=f"`{_labels(found)[0]}`",
        winners="\n\n".join(
            _winners(of_it, load) for load in LOADS if (of_it := at_load(found, load))
        ),
        overall=_overall(found),
        small=_times(found, SMALL),
        large=_times(found, LARGE),
        memory=_memory(memory) if memory else "",
        settings=page.settings(LINUX_FABRICS),
    )


def _memory(found: Found) -> str:
    small, large = (_times(found, column, "policy") for column in (SMALL, LARGE))
    parts = ("Small flows' 99th percentile, in ms:", small, "Large flows' average:", large)
    return "\n\n".join([f"{page.scale(found)}.", _overall(found, "policy"), *parts])


def _winners(found: Found, load: str) -> str:
    heads = ["", "small flows' p99: best", "near it", "large flows' average: best", "near it"]
    rows = (
        [cell.where, *_best(standing, SMALL), *_best(standing, LARGE)]
        for cell, standing in found.items()
    )
    title = f"Load {load}"
    return f"### {title}\n\n![{title}](fabrics/linux-{load}.png)\n\n{table(heads, rows)}"


def _best(standing: Standing, column: str) -> tuple[str, str]:
    first, *rest = sorted(standing.labels, key=lambda label: standing.middle(label, column))
    near = [label for label in rest if behind(standing, label, column) <= NEAR]
    return f"**{first}**, {standing.middle(first, column) / 1000:.3g} ms", ", ".join(near) or "none"


def behind(standing: Standing, label: str, column: str) -> float:
    """By what share its time is over the best one's."""
    least = min(standing.middle(other, column) for other in standing.labels)
    return standing.middle(label, column) / least - 1


def _overall(found: Found, kind: str = "scheme") -> str:
    """Each over all cells, from the best for small flows on."""
    labels = _labels(found)
    base = labels[0]

    def against(label: str, column: str) -> stats.Change:
        """Return the change from `base`, over the cells."""
        one, other = (_middles(found, each, column) for each in (label, base))
        return stats.paired(one, other)

    heads = [kind, f"small p99 against {base}, %", "cells near the best"]
    heads += [f"large average against {base}, %", "cells near the best", "drops", "timeouts"]
    rows = []
    for label in sorted(labels, key=lambda label: against(label, SMALL).ratio.estimate):
        cells = [label]
        for column in (SMALL, LARGE):
            near = sum(behind(it, label, column) <= NEAR for it in found.values())
            cells += ["" if label == base else page.change(against(label, column)), f"{near}"]
        for column in ("drops", "timeouts"):
            runs = [standing.mean(label, column) for standing in found.values()]
            cells.append(f"{stats.mean(runs).estimate:,.0f}")
        rows.append(cells)
    return table(heads, rows)


def _middles(found: Found, label: str, column: str) -> list[float]:
    return [standing.middle(label, column) for standing in found.values()]


def _times(found: Found, column: str, kind: str = "scheme") -> str:
    """Each one's in each cell, in ms."""
    labels = _labels(found)

    def cell(standing: Standing, label: str) -> str:
        text = f"{standing.middle(label, column) / 1000:.3g}"
        return f"**{text}**" if behind(standing, label, column) <= NEAR else text

    def logs(label: str) -> float:
        return math.fsum(math.log(middle) for middle in _middles(found, label, column))

    rows = (
        [label, *(cell(standing, label) for standing in found.values())]
        for label in sorted(labels, key=logs)
    )
    return table([kind, *map(_short, found)], rows)


def _short(cell: Cell) -> str:
    rates = cell.fabric.removeprefix("linux-").replace("-", "/")
    return f"{rates} {cell.workload} {cell.load}"


def _labels(found: Found) -> Sequence[str]:
    return next(iter(found.values())).labels
