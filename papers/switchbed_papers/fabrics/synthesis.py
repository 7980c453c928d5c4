"""The page synthesis.md: which published advantages survive on the same fabrics and hosts; from the
committed tables of Linux's hosts, `synthesis.toml` and `synthesis.md`."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from switchbed import stats
from switchbed.plots import style
from switchbed_papers.fabrics import page
from switchbed_papers.fabrics.cells import FOLDER, LINUX, LOADS
from switchbed_papers.fabrics.front import LARGE, SMALL
from switchbed_papers.fabrics.page import Found, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = "advantages"
MEASURES = {
    "small_mean_us": "small flows' average",
    SMALL: "small flows' p99",
    LARGE: "large flows' average",
    "all_mean_us": "all flows' average",
}
ALIKE = 0.1
"""Times are alike if the interval of their ratio is within a tenth of 1."""
BASE = "per-queue"
BESIDE = ("per-queue 0.17", "per-queue-min", "mq-ecn", "cedm", "e-ecn", "af-qcn", "cqrd")
"""The schemes that are compared by all measures: the papers', and two ways to mark at less."""
LEAST, MOST = 0.02, 5.0
"""Ratios at the ends of the picture."""
LOOKS = dict(zip(LOADS, (style.SKY, style.ORANGE, style.VERMILION), strict=True))
Band = tuple[float, float]


@dataclass(frozen=True)
class Ask:
    """One measure of a published advantage."""

    of: str
    base: str
    measure: str
    band: Band | None
    """The range of ratios that the paper has; none where it has a direction alone."""
    lower: bool
    """Whether the paper has lower times; else they are alike."""
    paper: str
    place: str

    def ratios(self, found: Found) -> list[float]:
        """Return the ratio in each cell."""
        each = (
            (standing.middle(self.of, self.measure), standing.middle(self.base, self.measure))
            for standing in found.values()
        )
        return [of / base for of, base in each]

    def over_cells(self, found: Found) -> stats.Change:
        """The geometric mean over the cells, with its interval."""
        # Ratios against 1: the paired interval is then that of their geometric mean.
        return stats.paired(self.ratios(found), [1.0] * len(found))

    def verdict(self, ratio: stats.Interval) -> str:
        """Whether the advantage survives, by the interval over the cells."""
        low, high = ratio.low, ratio.high
        if low is None or high is None:
            return "not shown"
        if self.lower:
            # Half of the paper's least gain, as a ratio, parts "survives" from "survives, smaller".
            least = 1 if self.band is None else (1 + self.band[1]) / 2
            if high < 1:
                return "survives" if ratio.estimate <= least else "survives, smaller"
            return "reversed" if low > 1 else "not shown"
        # For times that the paper has alike, lower ones are no failure of the claim.
        if high < 1 or (high <= self.most and (self.band is not None or low >= 1 - ALIKE)):
            return "survives"
        return "does not" if low > (1 if self.band is None else self.most) else "not shown"

    @property
    def most(self) -> float:
        """The largest ratio that the paper has."""
        return 1 + ALIKE if self.band is None else self.band[1]


@dataclass(frozen=True)
class Question:
    """A scheme against what its paper compares it with."""

    title: str
    asks: tuple[Ask, ...]


@cache
def questions() -> tuple[Question, ...]:
    """All, in the order of the file."""
    values = tomllib.loads((FOLDER / "synthesis.toml").read_text(encoding="utf-8"))
    return tuple(
        Question(
            title=each["title"],
            asks=tuple(_ask(each["of"], each["base"], **ask) for ask in each["asks"]),
        )
        for each in values["question"]
    )


def _ask(
    of: str, base: str, measure: str, change: str | Sequence[float], paper: str, place: str
) -> Ask:
    if isinstance(change, str):
        return Ask(of, base, measure, None, change == "lower", paper, place)
    # The file has changes in percent: -61 to -28 is a ratio of 0.39 to 0.72.
    low, high = (1 + percent / 100 for percent in change)
    return Ask(of, base, measure, (low, high), low < 1, paper, place)


def render(results: Found | None = None) -> str:
    """The page, of the committed results if no others are given."""
    found = page.committed(LINUX) if results is None else results
    text = Template((FOLDER / "synthesis.md").read_text(encoding="utf-8"))
    return text.substitute(
        scale=page.scale(found),
        cells=len(found),
        alike=f"{100 * ALIKE:.0f} %",
        picture=PICTURE,
        answers=_answers(found),
        beside=_beside(found),
        base=f"`{BASE}`",
    )


def _answers(found: Found) -> str:
    heads = ["", "measure", "paper", "here, %", "cells with less", "survives?"]
    rows = []
    for question in questions():
        title = question.title
        for ask in question.asks:
            change = ask.over_cells(found)
            less = sum(ratio < 1 for ratio in ask.ratios(found))
            says = f"{ask.paper} ({ask.place.partition(' ')[2]})"
            here = page.change(change)
            verdict = ask.verdict(change.ratio)
            cells = f"{less} of {len(found)}"
            rows.append([title, MEASURES[ask.measure], says, here, cells, verdict])
            # The question stands in its first row alone.
            title = ""
    return table(heads, rows)


def _beside(found: Found) -> str:
    """Every scheme by every measure, against step marking."""
    drops = {
        label: sum(standing.mean(label, "drops") for standing in found.values())
        for label in (BASE, *BESIDE)
    }
    rows = [
        [
            label,
            *(
                page.change(Ask(label, BASE, measure, None, True, "", "").over_cells(found))
                for measure in MEASURES
            ),
            f"{drops[label] / drops[BASE]:.2f} ×",
        ]
        for label in BESIDE
    ]
    return table(["scheme", *MEASURES.values(), "packets lost"], rows)


def draw(found: Found, folder: Path) -> None:
    """Draws a panel a question, a row a measure: the cells, their mean, and the paper's range."""
    asked = questions()
    lines = [len(question.asks) for question in asked]
    made = style.figure(8.5, 1.3 + 0.42 * sum(lines) + 0.34 * len(lines), "")
    panels = made.subplots(len(asked), 1, sharex=True, squeeze=False, height_ratios=lines)[:, 0]
    for axes, question in zip(panels, asked, strict=True):
        axes.set_title(question.title, fontsize="medium", loc="left")
        _panel(axes, question, found)
    panels[-1].set_xlabel("time against the other scheme's (left: lower)")
    style.legend_below(made, columns=3)
    made.savefig(folder / f"{PICTURE}.png", metadata={"Software": None})


def _panel(axes: "Axes", question: Question, found: Found) -> None:
    axes.set_xscale("log")
    axes.axvline(1, color=style.BLACK, linewidth=0.8)
    for row, ask in enumerate(question.asks):
        # A direction without numbers is drawn to the picture's end.
        low, high = ask.band or ((LEAST, 1.0) if ask.lower else (1 - ALIKE, 1 + ALIKE))
        axes.barh(row, high - low, left=low, height=0.7, color="#dddddd", label="the paper's range")
        ratios = ask.ratios(found)
        for load, colour in LOOKS.items():
            of_it = [r for cell, r in zip(found, ratios, strict=True) if cell.load == load]
            axes.plot(
                of_it,
                [row] * len(of_it),
                color=colour,
                marker="|",
                markersize=9,
                markeredgewidth=1.4,
                linestyle="none",
                label=f"a cell, load {load}",
            )
        mean = ask.over_cells(found).ratio
        reach = None
        if mean.low is not None and mean.high is not None:
            reach = [[mean.estimate - mean.low], [mean.high - mean.estimate]]
        axes.errorbar(
            [mean.estimate],
            [row],
            xerr=reach,
            color=style.BLACK,
            marker="D",
            markersize=5,
            capsize=3,
            linestyle="none",
            label="mean of the cells, 95 %",
        )
    axes.set_yticks(range(len(question.asks)), [MEASURES[ask.measure] for ask in question.asks])
    # From top to bottom, as the table has them.
    axes.set_ylim(len(question.asks) - 0.5, -0.5)
    axes.set_xlim(LEAST, MOST)
    ticks = {
        0.05: "÷ 20",
        0.1: "÷ 10",
        0.2: "÷ 5",
        0.5: "÷ 2",
        1.0: "alike",
        2.0: "× 2",
        4.0: "× 4",
    }
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
