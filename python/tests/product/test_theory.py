"""The theory against numbers worked out by hand, and against brute force where the derivation
was corrected."""

import csv
import io
import json
import math
import time
from pathlib import Path

import pytest
from conftest import Program
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from switchbed import Mistake
from switchbed.theory import cedm, cqrd, eecn, mqecn, standard

CD = 10e9 * 100e-6 / 8 / 1500
"""10 Gbps, 100 us: 83.33 packets."""
FLOWS = st.integers(2, 40)
BETAS = st.floats(0.02, 0.8)
PIPES = st.floats(5, 2000)


def test_the_standard_threshold() -> None:
    assert standard.bdp(10e9, 100e-6) == pytest.approx(125_000)
    assert standard.threshold(10e9, 100e-6, 0.17) == pytest.approx(21_250)
    assert standard.threshold(1e9, 250e-6, 1) == pytest.approx(31_250)


def test_mq_ecn_gives_a_queue_its_share_of_the_backlogged_quanta() -> None:
    quanta = [1500.0, 1500.0, 3000.0]
    # Queues 0 and 2: a round is 4500 bytes, 3.6 us at 10 Gbps.
    assert mqecn.round_time(10e9, quanta, [0, 2]) == pytest.approx(3.6e-6)
    found = mqecn.thresholds(10e9, 90_000, quanta, [0, 2])
    assert found == pytest.approx([30_000, 30_000, 60_000])
    # Alone, a queue's quantum is the round; one with more than the round is capped at C.
    assert mqecn.thresholds(10e9, 90_000, quanta, [0]) == pytest.approx([90_000] * 3)
    assert mqecn.thresholds(10e9, 90_000, quanta, []) == [90_000] * 3
    assert mqecn.minimum(90_000, quanta) == pytest.approx([22_500, 22_500, 45_000])
    # All backlogged, MQ-ECN is the minimum.
    assert mqecn.thresholds(10e9, 90_000, quanta, [0, 1, 2]) == pytest.approx(
        mqecn.minimum(90_000, quanta)
    )


def test_time_is_linear_in_the_number_of_queues() -> None:
    quanta = [1500.0] * 100_000
    begun = time.process_time()
    assert mqecn.minimum(1e6, quanta)[0] == pytest.approx(10.0)
    assert mqecn.thresholds(10e9, 1e6, quanta, range(100_000))[-1] == pytest.approx(10.0)
    # A second of the processor at most; a sum for each queue takes minutes.
    assert time.process_time() - begun < 5.0


def test_lemmas_of_flows_that_differ() -> None:
    # Σw = 30, ΣB = 8, Σ B·w / Σw = (20 + 120) / 30.
    assert cedm.queue_min([10, 20], [2, 6], 5) == 17
    assert cedm.queue_max([10, 20], [2, 6], 5) == pytest.approx(25 - 140 / 30)


@given(FLOWS, BETAS, PIPES, st.floats(1, 500))
def test_the_windows_bounds_are_where_the_queue_extremes_cross_k(
    n: int, beta: float, cd: float, k: float
) -> None:
    found = cedm.window(n, beta, cd, k)
    for w, extreme in ((found.low, cedm.queue_max), (found.high, cedm.queue_min)):
        assert extreme([w] * n, [beta * w] * n, cd) == pytest.approx(k, abs=1e-6 * (cd + k))


def test_ecnstar_of_the_papers_two_flows() -> None:
    # (4/3·2 - 2/3) / (2·5/3) = 0.6 and / (2·2·2/3) = 0.75 of Cd + K.
    found = cedm.amplitude_ecnstar(2, 1 / 3, CD, CD)
    assert [found.low, found.high] == pytest.approx([1.2 * CD, 1.5 * CD])
    assert cedm.threshold_ecnstar(2, 1 / 3, CD) == pytest.approx(1.5 * CD)
    assert cedm.threshold_ecnstar(2, 1 / 3, CD) == pytest.approx(125)


def test_dctcp_of_the_papers_two_flows() -> None:
    # Cd/4 + (5/3)²/(8/3) = 20.833 + 1.0417; the paper has twice the second term.
    assert cedm.threshold_dctcp(2, 1 / 3, CD) == pytest.approx(21.875)
    assert cedm.threshold_dctcp(2, 1 / 3, CD, "paper") == pytest.approx(22.9167, abs=1e-4)
    # Upper bounds at Cd + K = 97.5: 97.5/4 + √(2·(2/3)·97.5/2), and 97.5/4 + 2·√((2/3)·97.5/2).
    found = cedm.amplitude_dctcp(2, 1 / 3, CD, 97.5 - CD)
    assert [found.low, found.high] == pytest.approx([19.5, 24.375 + math.sqrt(65)])
    printed = cedm.amplitude_dctcp(2, 1 / 3, CD, 97.5 - CD, "paper")
    assert printed.high == pytest.approx(24.375 + 2 * math.sqrt(32.5))


def test_the_second_case_of_equation_23() -> None:
    # N = 2, β = 0.05: the first case would need Cd + K ≥ 2·1.95²·0.95/(8·0.0025) = 361.
    # a = 1.9: (1.9 + √(3.61 + 15.2·83.33)) / 4.
    k = cedm.threshold_dctcp(2, 0.05, CD)
    assert k == pytest.approx((1.9 + math.sqrt(3.61 + 15.2 * CD)) / 4)
    # As printed a = 3.8.
    k = cedm.threshold_dctcp(2, 0.05, CD, "paper")
    assert k == pytest.approx((3.8 + math.sqrt(14.44 + 30.4 * CD)) / 4)


def lowest_queue(n: int, beta: float, cd: float, k: float) -> float:
    """Equation 24 at its worst over equation 11's windows, by trying them."""
    found = cedm.window(n, beta, cd, k)
    steps = 1000
    ws = [found.low + (found.high - found.low) * (i / steps) ** 2 for i in range(steps + 1)]
    lows = []
    for w in ws:
        over = max(0.0, (n - beta) * w - cd - k)
        cut = math.sqrt(2 * over / ((n - 1) * beta)) / w
        lows.append(n * (1 - beta) * (1 - cut / 2) * w - cd)
    return min(lows)


@settings(max_examples=40)
@given(st.integers(2, 12), st.floats(0.05, 0.7), st.floats(10, 500))
def test_at_the_corrected_threshold_the_worst_queue_just_touches_0(
    n: int, beta: float, cd: float
) -> None:
    k = cedm.threshold_dctcp(n, beta, cd)
    assert lowest_queue(n, beta, cd, k) == pytest.approx(0, abs=1e-3 * (cd + k))
    assert lowest_queue(n, beta, cd, k * 0.9) < 0


@given(FLOWS, PIPES, st.floats(1, 500))
def test_without_batching_the_corrected_amplitude_is_dctcps(n: int, cd: float, k: float) -> None:
    found = cedm.amplitude_dctcp(n, 1e-9, cd, k).high
    assert found == pytest.approx(math.sqrt(2 * n * (cd + k)) / 2, rel=1e-3)
    # As printed it is not, which shows the slip.
    printed = cedm.amplitude_dctcp(n, 1e-9, cd, k, "paper").high
    assert printed == pytest.approx(found * math.sqrt(n), rel=1e-3)


@given(FLOWS, BETAS, PIPES, st.floats(1, 500))
def test_corollary_3_is_equation_18_at_the_bounds(n: int, beta: float, cd: float, k: float) -> None:
    # As the paper prints its equation 17, with and without the N that α has too much.
    steady = beta * (n - 1) / (n * (1 - beta)) * (cd + k)
    root = math.sqrt((1 - beta) * (cd + k) / 2)
    assert cedm.amplitude_dctcp(n, beta, cd, k, "paper").high == pytest.approx(steady + n * root)
    corrected = cedm.amplitude_dctcp(n, beta, cd, k).high
    assert corrected == pytest.approx(steady + math.sqrt(n) * root)


def test_cedms_own_settings() -> None:
    assert cedm.k2(10, 2, 1 / 3, CD) == pytest.approx(12.5 + CD / 4)
    # 1 - 2^(-1/5).
    assert cedm.slope_weight(2, 5) == pytest.approx(0.12945, abs=1e-5)


def test_bursts_that_do_not_fit_are_refused() -> None:
    assert cedm.batches_fit(2, 1 / 3, CD, 14, 64_000 / 1500)
    assert not cedm.batches_fit(2, 1 / 3, CD, 125, 64_000 / 1500)
    with pytest.raises(Mistake, match="corollaries 1 to 4 do not apply"):
        cedm.batches_fit(2, 1 / 3, 10 * CD, 125, 64_000 / 1500)


@given(st.floats(7, 500))
def test_e_ecns_exact_alpha_solves_equations_7_and_8(lam: float) -> None:
    part = eecn.alpha(lam)
    top = lam / (1 - part / 4)  # W_max = W_m + 1
    lowest, marking = top * (1 - part / 2), top - 1
    assert (lowest + top) / 2 == pytest.approx(lam)
    sent = (marking - lowest + 1) * (lowest + marking) / 2
    assert part == pytest.approx(marking / sent)
    assert eecn.a(lam) == pytest.approx(1 / (marking - lam), rel=1e-6)


@given(st.floats(5.9, 500))
def test_e_ecns_printed_a_is_equation_13(lam: float) -> None:
    root = 2 * math.sqrt(2 * lam)
    printed = (root - 1) / (lam + 1 - root)
    assert eecn.a(lam, "paper") == pytest.approx(printed, rel=1e-6)


@pytest.mark.parametrize(("lam", "short"), [(8, 0.23), (10, 0.11)])
def test_the_approximation_makes_a_too_small_near_the_pole(lam: float, short: float) -> None:
    assert 1 - eecn.a(lam, "paper") / eecn.a(lam) == pytest.approx(short, abs=0.015)


def test_the_approximation_is_good_from_20_on() -> None:
    assert 0 < 1 - eecn.a(20, "paper") / eecn.a(20) < 0.03


@pytest.mark.parametrize("form", eecn.FORMS)
def test_a_has_its_pole_where_it_says(form: eecn.Form) -> None:
    pole = eecn.POLE[form]
    assert eecn.a(pole * 1.0001, form) > 1e3
    assert eecn.a(pole * 0.9999, form) < -1e3
    assert eecn.t_a_max(1, pole * 0.999, 20, form) is None
    assert eecn.t_a_max(1, pole * 1.001, 20, form) is not None


def test_e_ecn_by_hand() -> None:
    # λ = 32: printed A = (16 - 1) / (33 - 16); 50/2·A - 1/(2A).
    assert eecn.t_a_max(2, 64, 50, "paper") == pytest.approx(25 * 15 / 17 - 17 / 30)
    # Queue over K as marking should begin.
    assert eecn.t_a_max(1, 2000, 1) == 0
    assert eecn.flows_max(64, "paper") == 10
    assert eecn.window_min(1e9, 1500) == pytest.approx(12e-6)


@given(st.floats(30, 2000), st.integers(1, 50), st.floats(5, 200))
def test_marking_t_a_ahead_predicts_k(bdp: float, n: int, k: float) -> None:
    """Equation 11: the queue as marking begins, carried forward by its growth, is K."""
    found = eecn.t_a_max(n, bdp, k)
    assume(found)
    assert found is not None
    above = 1 / eecn.a(bdp / n)
    queue, growth = n / 2 * above**2, n * above
    assert queue + growth * found == pytest.approx(k)


def test_cqrds_loss_and_memory() -> None:
    assert cqrd.loss_ratio_limit(100, 4) == 25
    assert cqrd.loss(0.1, 100, 4) == pytest.approx(0.004)
    # 48·48 crosspoints of 25 KB, the paper's 58 MB; 324 mm²·0.7/0.06 µm² bits.
    assert cqrd.memory_bytes(48, 25_000) == 57_600_000
    assert cqrd.chip_bytes() == pytest.approx(472.5e6)
    assert cqrd.ports_max(cqrd.chip_bytes(), 25_000) == 137
    # The paper says 48 × 48 fit with 250 KB each: 576 MB do not.
    assert cqrd.ports_max(cqrd.chip_bytes(), 250_000) == 43
    assert cqrd.crosspoint_bytes(25_000, 4) == 6250


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cedm.threshold_dctcp(1, 1 / 3, 80), "n is 1: there must be at least 2 flows"),
        (lambda: cedm.threshold_ecnstar(2, 1.5, 80), "beta is 1.5: it must be between 0 and 1"),
        (lambda: cedm.alpha(2, 1 / 3, 80, 20, 50), "w is 50: the queue reaches K from 60 packets"),
        (lambda: cedm.queue_min([1, 2], [1], 3), "2 windows and 1 batches"),
        (lambda: standard.bdp(0, 1), "rate_bps is 0: it must be more than 0"),
        (lambda: standard.bdp(math.nan, 1), "rate_bps is nan"),
        (lambda: mqecn.round_time(1e9, [1500], [1]), "names queue 1: there are 1, numbered from 0"),
        (lambda: mqecn.minimum(1e5, []), "quanta is empty"),
        (lambda: eecn.t_a_max(0, 80, 20), "n is 0"),
        (lambda: cqrd.loss_ratio_limit(10, 11), "of_flow is 11: it is a part of the queue's 10"),
        (lambda: cqrd.loss(1.5, 10, 1), "from 0 to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, says: str) -> None:
    assert callable(call)
    with pytest.raises(Mistake, match=says):
        call()


LINK = ("--rate", "10Gbps", "--rtt", "100us")


@pytest.mark.parametrize(
    "arguments",
    [
        ("standard", *LINK),
        ("mq-ecn", *LINK, "--quanta", "1500B,3KB", "--backlogged", "0,1"),
        ("cedm", *LINK),
        ("e-ecn", *LINK, "--k", "97500B"),
        ("cqrd-loss", "--queue", "100", "--of-flow", "3"),
        ("cqrd-memory", *LINK, "--ports", "48"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_table_is_json_and_csv_too(
    switchbed: Program, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    rows = json.loads(switchbed("theory", *arguments, "--json").stdout)
    text = switchbed("theory", *arguments, "--csv").stdout
    both = switchbed("theory", *arguments, "--json", "t.json", "--csv", "t.csv")
    assert both.stdout == ""
    assert json.loads((tmp_path / "t.json").read_text()) == rows
    assert (tmp_path / "t.csv").read_text() == text
    read = list(csv.DictReader(io.StringIO(text)))
    assert [list(row) for row in read] == [list(row) for row in rows]
    shown = [["" if v is None else str(v) for v in row.values()] for row in rows]
    assert [list(row.values()) for row in read] == shown
    assert all(row["source"] for row in rows)
    assert rows[0]["source"][:12] in switchbed("theory", *arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("standard", "--rate", "10Gbs", "--rtt", "100us"), "no unit"),
        (("standard", *LINK, "--lambda", "x"), "--lambda"),
        (("cedm", *LINK, "--flows", "1"), "1 is not in the range x>=2"),
        (("cedm", *LINK, "--beta", "1/0"), "--beta"),
        (("cedm", "--rate", "100Gbps", "--rtt", "100us"), "do not fit"),
        (("mq-ecn", *LINK, "--quanta", "1500B,x"), "--quanta"),
        (("plot", "e-ecn", "--out", "figure.xyz"), ".pdf, .png or .svg"),
        (("plot", "cedm", "--out", "figure.pdf", "--packet", "0B"), "a packet has at least 1 byte"),
        (("plot", "e-ecn", "--out", "figure.pdf", "--packet", "10GB"), "packets, too few for"),
        (("plot", "e-ecn", "--out", "figure.pdf", "--rtt", "1000s"), "limits of too many flows"),
        (("plot", "e-ecn", "--out", "no/such/figure.pdf"), "no/such"),
    ],
)
def test_bad_input_is_one_line(switchbed: Program, arguments: tuple[str, ...], says: str) -> None:
    done = switchbed("theory", *arguments, code=2)
    assert len(done.stderr.splitlines()) == 1
    assert says in done.stderr


@pytest.mark.parametrize("kind", ["e-ecn", "cedm"])
def test_plots_are_written(switchbed: Program, tmp_path: Path, kind: str) -> None:
    for suffix in ("pdf", "png"):
        switchbed("theory", "plot", kind, "--out", f"figure.{suffix}")
        assert (tmp_path / f"figure.{suffix}").stat().st_size > 5_000
