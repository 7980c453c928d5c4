"""Tables of a search, pictures of claims beside the paper's values, and the page as HTML."""

import base64
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from switchbed._native import Mistake
from switchbed_papers.reproduce import bands, claims, command, page, report, search
from switchbed_papers.reproduce.findings import missing
from switchbed_papers.reproduce.search import Search, Searched, Tried

EECN = claims.papers()["eecn"]
FIG6 = EECN.experiments["fig6"]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


def searched() -> Search:
    """Figure 6: 98.6 % come out for an ACK a packet and 2 or 5 flows; 80 % always."""
    tried = tuple(
        Tried(
            at,
            {
                "eecn.fig6": 98.6 if at["acks"] == "1" and at["flows_seen"] in "25" else 50.0,
                "eecn.fig6.without": 80.0,
            },
        )
        for at in search.grid(FIG6)
    )
    return Search(EECN, {"fig6": Searched("fig6", 2, 1.0, "b", tried)})


def test_settings_by_claims_change_one_setting_of_the_joint_set_up_at_a_time() -> None:
    found = searched()
    assert found.choice.point["acks"] == "1"
    along = found.along("eecn.fig6")
    assert along["acks", "1"] == 98.6
    assert along["acks", "2, as ns-3"] == 50.0
    assert [along["flows_seen", flows] for flows in ("2", "5", "10", "20")] == [98.6, 98.6, 50, 50]
    text = "\n".join(search.tables(found))
    # An outcome that is the same everywhere depends on nothing.
    assert "`fig6`" in text
    heads = [line for line in text.splitlines() if line.startswith("| setting")]
    assert heads
    assert not any("`fig6.without`" in line for line in heads)
    assert "Come out everywhere, and stand in neither table: `fig6.without`." in text
    assert "| flows seen | **2** | ✓ |" in text
    assert "| flows seen | 20 | · |" in text
    assert "| acks | 2, as ns-3 | · |" in text
    assert "| timeout |" not in text, "of no experiment that was searched"


def test_a_claims_own_lines_have_its_value_at_each_setting() -> None:
    lines = search.of_claim(searched(), "eecn.fig6")
    assert lines[0].startswith("search: comes out at 2 of 8 points")
    assert "  · acks 2, as ns-3: 50" in lines
    assert "  ✓ flows seen 2 (joint): 98.6" in lines
    assert search.of_claim(searched(), "eecn.fig8") == []


@pytest.mark.parametrize("name", ["eecn.fig6", "eecn.fig2.max", "eecn.fig7.avg", "eecn.table3"])
def test_a_row_has_room_for_the_paper_the_measure_and_no_effect(name: str) -> None:
    claim = EECN.claims[name]
    finding = replace(missing(claim, FIG6), measured=-3.0, low=-4.0, high=500.0)
    low, high = bands.limits(claim, finding)
    target = claim.target
    for value in (-4.0, 500.0, target.low, target.high, target.null):
        if value is not None and math.isfinite(value):
            assert low < value < high
    assert (
        bands.limits(claim, missing(claim, FIG6))[0] < bands.limits(claim, missing(claim, FIG6))[1]
    )


def test_settings_of_runs_are_in_words() -> None:
    note = "worst at scheme e-ecn, traffic.0.from 0-49, of 10 points of the figure"
    assert page.plain(note) == "worst at e-ecn, 50 flows, of 10 points of the figure"
    assert page.plain("at scheme.params.t_a 500us, scheme.params.t_i 10us") == (
        "at T_a 500us, T_i 10us"
    )
    assert page.plain("per-queue-dq on both sides") == "marking at dequeue on both sides"
    assert page.plain("transport.kind ecn-star: 3 (2 to 4)") == "ECN*: 3 (2 to 4)"
    assert page.plain("met.giant.goodput_mbps: 8.9") == (
        "giant flows' goodput, of those that met a giant one: 8.9"
    )
    assert page.plain("path.all.p95_us is transport.rto_min, 5 ms, at hcf") == (
        "the 95th percentile of all flows' FCT, of those that met a giant one on their path, is "
        "the timer `transport.rto_min`, 5 ms, at hcf"
    )
    assert page.plain("deploy.1.fraction 0.5, scenario fig13") == "in half of the ToRs, fig13"


def test_evidence_of_a_setting_is_of_the_figures_that_have_it() -> None:
    mqecn = "\n".join(page._setups(claims.papers()["mqecn"]))
    dctcp = [line for line in mqecn.splitlines() if "`transport.kind = dctcp`" in line]
    # Figure 12 is of ECN*, and the text's runs are of both.
    assert any(line.startswith("| fig9, fig11, fig13 |") for line in dctcp)
    assert not any("fig12" in line.split("|")[1] for line in dctcp)
    assert "| fig12 | `transport.kind` | the figure's own, by its scenario file |" in mqecn
    # A theorem about windows has no jitter, and figures with a grid of it have that.
    (spread,) = [line for line in mqecn.splitlines() if "another for each seed" in line]
    assert "text" not in spread
    assert "fig9" in spread
    cedm = "\n".join(page._setups(claims.papers()["cedm"]))
    (spread,) = [line for line in cedm.splitlines() if "another for each seed" in line]
    assert "fig4" not in spread


@pytest.mark.parametrize(
    ("name", "prints"),
    [
        ("eecn.fig6", True),
        ("eecn.fig7.max", True),
        ("eecn.table2.dctcp", True),
        # The paper prints words.
        ("eecn.fig6.range", False),
        ("eecn.fig2", False),
        ("eecn.fig9.unconverged", False),
    ],
)
def test_a_bound_is_printed_if_it_stands_in_the_papers_words(name: str, prints: bool) -> None:
    assert EECN.claims[name].prints is prints


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("eecn.fig6", "Tolerance 1 %"),
        ("eecn.fig6.range", "Our bound for the paper's words: at least 90 %, no tolerance"),
        ("eecn.fig9.unconverged", "at most 0 % of runs, tolerance 5 % of runs"),
        ("eecn.fig2", "Our bound for the paper's words: 1 ×, tolerance 0.25 ×"),
    ],
)
def test_bounds_that_are_ours_are_shown(name: str, words: str) -> None:
    claim = EECN.claims[name]
    found = page.details(claim, missing(claim, FIG6))
    assert f"{words}: {claim.why}" in found


def test_claims_are_drawn(tmp_path: Path) -> None:
    found = page.committed(EECN)
    shown = bands.of(EECN.claims, found, "fig12")
    assert [claim.id for claim, _ in shown][:2] == ["eecn.fig12.short", "eecn.fig12.long"]
    bands.draw("A title", shown, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_a_page_is_one_file_of_html_with_its_pictures(tmp_path: Path) -> None:
    (tmp_path / "one.png").write_bytes(PNG)
    text = "# A page\n\n| a | b |\n| --- | --- |\n| `c` | **d** |\n\n![e](reproductions/one.png)\n"
    found = report.render(text + "\n## mq-ecn\n\n[there](#mq-ecn)\n", tmp_path)
    assert "<title>A page</title>" in found
    assert "<td><code>c</code></td>" in found
    assert base64.b64encode(PNG).decode() in found
    assert 'href="#mq-ecn"' in found
    assert '<h2 id="mq-ecn">' in found
    assert not re.search(r'src="(?!data:)', found)


def test_a_papers_report_is_of_that_paper_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_pixel(folder: Path, only: claims.Paper | None) -> None:
        assert only is not None
        for experiment in only.experiments.values():
            for name in page.pictures(only, experiment):
                (folder / name).write_bytes(PNG)

    monkeypatch.setattr(page, "draw_all", one_pixel)
    out = tmp_path / "cedm.html"
    assert command._report("cedm", out) == 0
    text = out.read_text()
    assert "cedm.fig10.dctcp" in text
    assert "mqecn.fig9" not in text
    with pytest.raises(Mistake, match="report nobody: no such paper; there is afqcn, "):
        command._report("nobody", out)
