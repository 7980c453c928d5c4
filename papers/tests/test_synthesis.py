"""Published advantages on the same fabrics: verdicts, places, the page and its picture."""

from pathlib import Path

import polars as pl
import pytest

from switchbed import stats
from switchbed.stats import Interval
from switchbed_papers.fabrics import page, synthesis
from switchbed_papers.fabrics.cells import LINUX, Cell
from switchbed_papers.fabrics.front import Standing
from switchbed_papers.fabrics.synthesis import BASE, BESIDE, MEASURES, Ask
from switchbed_papers.reproduce import claims, places

LOWER = Ask("a", "b", "all_mean_us", (0.6, 0.8), lower=True, paper="", place="")
SIGN = Ask("a", "b", "all_mean_us", None, lower=True, paper="", place="")
SAME = Ask("a", "b", "all_mean_us", None, lower=False, paper="", place="")
PRICE = Ask("a", "b", "all_mean_us", (1.0, 1.2), lower=False, paper="", place="")


@pytest.mark.parametrize(
    ("ask", "low", "estimate", "high", "verdict"),
    [
        (LOWER, 0.7, 0.8, 0.9, "survives"),
        (LOWER, 0.94, 0.95, 0.96, "survives, smaller"),
        (LOWER, 0.8, 0.9, 1.01, "not shown"),
        (LOWER, 1.01, 1.1, 1.2, "reversed"),
        (SIGN, 0.97, 0.98, 0.99, "survives"),
        (SAME, 0.95, 1.0, 1.05, "survives"),
        (SAME, 0.5, 0.6, 0.7, "survives"),
        (SAME, 0.5, 1.0, 1.05, "not shown"),
        (SAME, 0.95, 1.05, 1.2, "not shown"),
        (SAME, 1.05, 1.1, 1.2, "does not"),
        (PRICE, 0.5, 1.0, 1.2, "survives"),
        (PRICE, 1.1, 1.2, 1.3, "not shown"),
        (PRICE, 1.3, 1.4, 1.5, "does not"),
    ],
)
def test_verdict_follows_from_the_interval(
    ask: Ask, low: float, estimate: float, high: float, verdict: str
) -> None:
    assert ask.verdict(Interval(estimate, low, high, 9, 0.95)) == verdict


def test_an_interval_of_the_page_that_says_nothing_is_words() -> None:
    far = stats.paired([1.0, 300.0], [2.0, 1.0])
    assert page.change(far) == "not enough seeds"
    assert page.change(stats.paired([1.0, 1.1], [2.0, 2.1])).startswith("**−49 (")
    assert page._spread([1000.0, 9000.0]) == "5 (not enough seeds)"
    assert page._spread([1000.0, 1010.0, 990.0]) == "1 ±2 %"
    assert page._spread([1000.0]) == "1"


def test_single_cell_shows_nothing() -> None:
    assert SIGN.verdict(Interval(0.5, None, None, 1, 0.95)) == "not shown"


def test_quoted_places_exist() -> None:
    papers = claims.papers()
    asked = [ask for question in synthesis.questions() for ask in question.asks]
    for ask in asked:
        paper, _, place = ask.place.partition(" ")
        found = places.parse(place)
        assert found is not None, ask.place
        assert places.exists(found, places.read(papers[paper].folder)), ask.place
    assert {ask.place.partition(" ")[0] for ask in asked} == set(papers)


def cells(ratios: dict[str, tuple[float, float]]) -> dict[Cell, Standing]:
    """Two cells in which schemes take so many times as long as step marking."""
    found = {}
    for index, cell in enumerate(LINUX[:2]):
        labels = sorted({BASE, "per-queue-dq", "qcn", "oq", "cq", *BESIDE})
        rows = [
            {"label": label, "scheme": label, "seed": 1, "drops": 10}
            | {measure: 100.0 * ratios.get(label, (1.0, 1.0))[index] for measure in MEASURES}
            for label in labels
        ]
        found[cell] = Standing(pl.DataFrame(rows))
    return found


def test_page_has_the_cells_ratios() -> None:
    text = synthesis.render(cells({"af-qcn": (0.5, 0.51), "e-ecn": (2.0, 2.1)}))
    (line,) = [line for line in text.splitlines() if line.startswith("| AF-QCN against QCN")]
    assert "| 2 of 2 | survives |" in line
    (beside,) = [line for line in text.splitlines() if line.startswith("| e-ecn |")]
    assert "+105" in beside
    assert "1.00 ×" in beside


def test_picture_is_drawn(tmp_path: Path) -> None:
    synthesis.draw(page.committed(LINUX), tmp_path)
    assert (tmp_path / f"{synthesis.PICTURE}.png").stat().st_size > 10_000
