"""What a run prints of flows that never end, and of probes."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from conftest import Program

from switchbed import printing
from switchbed.runner import Outcome

SCENARIO = """
topology = { kind = "star", hosts = 4, rate = "1Gbps", delay = "25us" }
switch = { queues = 2, discipline = "dwrr", buffer = "300KB" }
scheme = { name = "per-queue", params = { threshold = "20pkt" } }
measure = { goodput_every = "5ms" }
run = { until = "50ms" }
[[traffic]]
kind = "long-lived"
from = [0, 1]
to = 3
classes = [0, 1]
[[traffic]]
kind = "probe"
from = 2
to = 3
every = "1ms"
classes = [1]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "probed.toml"
    path.write_text(SCENARIO)
    return path


def test_one_run_says_each_classs_goodput_and_the_probes_round_trips(
    switchbed: Program, scenario: Path
) -> None:
    said = switchbed("run", scenario).stdout
    assert re.search(r"goodput: \d+\.?\d* Mbps of class 0, \d+\.?\d* Mbps of class 1", said)
    assert re.search(r"round trips of \d+ probes from 2 to 3 in class 1: mean \d+", said)


def test_a_comparison_has_columns_for_what_was_measured_alone(
    switchbed: Program, scenario: Path, single: Path
) -> None:
    text = scenario.read_text()
    scenario.write_text(text + '[compare]\nscheme.params.threshold = ["20pkt", "40pkt"]\n')
    said = switchbed("run", scenario).stdout
    assert "goodput by class" in said
    assert re.search(r"[\d.]+ \+ [\d.]+ Mbps", said)
    assert re.search(r"busiest queue .*\n.*\n +20pkt .* \d+\.\d KB ", said)
    assert "scheme " not in said
    assert "RTT mean" in said
    assert "RTT p99" in said
    assert "all mean" not in said
    said = switchbed("run", single, "--set", "compare.load=[0.2, 0.3]").stdout
    assert "all mean" in said
    assert "goodput by class" not in said
    assert "busiest queue" not in said
    assert "RTT" not in said


def test_rates_are_readable_from_megabits_to_terabits() -> None:
    assert printing.rates([9733e6, 1e6]) == "9733 + 1 Mbps"
    assert printing.rates([24.27e9, 0.5e9]) == "24.27 + 0.5 Gbps"
    assert printing.rates([3.2e12]) == "3200 Gbps"


def test_warnings_of_one_kind_take_one_line() -> None:
    def outcomes(*runs: list[str]) -> list[Outcome]:
        return [Outcome(i, {}, "x", {"warnings": each}, 0.0) for i, each in enumerate(runs)]

    small, large = (
        f"percentiles are mostly waits for a timer: of {of} flows" for of in ("small", "large")
    )
    found = printing.warnings(
        outcomes([small, large, "3 packets were lost"], [small, "4 packets were lost"], ["a: b"])
    )
    assert found == [
        f"{small} (2 of 3 runs; 1 like it, 2 runs in all: their summaries have them)",
        "3 packets were lost (1 of 3 runs; 1 like it, 2 runs in all: their summaries have them)",
        "a: b (1 of 3 runs)",
    ]
    assert printing.warnings(outcomes([small, large])) == [small, large]
    timer = "figures are mostly waits for a timer: of small flows (mean), for rto_min, 200ms"
    later = timer.replace("(mean)", "(slowdown: 95th, 99th percentile)")
    runs = [
        Outcome(0, {"scheme": "b", "load": load, "seed": seed}, "x", {"warnings": each}, 0.0)
        for load, seed, each in (
            (0.3, 1, [timer]),
            (0.3, 2, [later]),
            (0.6, 1, [timer]),
            (0.6, 2, []),
        )
    ]
    assert printing.warnings(runs) == [
        "figures are mostly waits for rto_min, 200ms: b, load 0.3 (small flows: mean, 95th, 99th "
        "percentile; 2 of 2 runs); b, load 0.6 (small flows: mean; 1 of 2 runs)"
    ]
    rest = "for the retransmission timer, transport.rto_min, 200ms"
    many = [
        f"figures are mostly waits for a timer: {of}, {rest}"
        for of in (
            "of all flows (99.9th percentile), of medium flows "
            "(99th, 99.9th percentile; slowdown: 99th percentile)",
            "of traffic 0 (poisson) (median)",
            "of small flows (mean and all percentiles)",
        )
    ]
    heads = [
        "all flows: 99.9th percentile; medium flows: 99th, 99.9th percentile",
        "traffic 0 (poisson): median",
        "small flows: mean and all percentiles",
    ]
    for warning, head in zip(many, heads, strict=True):
        (line,) = printing.warnings([replace(runs[0], summary={"warnings": [warning]}), runs[3]])
        assert line == f"figures are mostly waits {rest}: b, load 0.3 ({head}; 1 of 1 runs)"
    # A short head, such as a key's name, does not make two warnings alike.
    assert len(printing.warnings(outcomes(["host.mtu: odd"], ["host.mtu: even"]))) == 2


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_goodputs_and_round_trips_are_tables(
    switchbed: Program, scenario: Path, tmp_path: Path, form: str
) -> None:
    switchbed("run", scenario, "--out", "out", "--tables", form)

    def read(name: str) -> pl.DataFrame:
        path = tmp_path / f"out/{name}.{form}"
        match form:
            case "parquet":
                return pl.read_parquet(path)
            case "csv":
                return pl.read_csv(path)
            case _:
                return pl.read_json(path)

    goodput = read("goodput")
    assert {"time_s", "class", "goodput_bps"} <= set(goodput.columns)
    assert len(goodput) == 2 * 10
    probes = read("probes")
    assert probes.columns == ["time_s", "src", "dst", "class", "rtt_s"]
    assert len(probes) == 50
    rtts = probes["rtt_s"].drop_nulls()
    assert len(rtts) >= 49
    assert (rtts > 100e-6).all()


def test_a_table_is_printed_as_rich_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    headings = ("FCT", "n", "mean")
    rows = [("all", "1,000", "–"), ("class 1", "10", "455.3 us")]
    printing.print_table(headings, rows)
    ours = capsys.readouterr().out
    console, table = printing.ruled(*headings)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    assert capsys.readouterr().out == ours
    # Where a character may be wider than one column, or the table than the output, it is rich's.
    printing.print_table(headings, [("\u4e2d" * 100, "1", "2")])
    assert len(capsys.readouterr().out.splitlines()) > 4
