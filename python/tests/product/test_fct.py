"""FCT files in the forms of others."""

from pathlib import Path

import pytest
from conftest import SINGLE, Program

from switchbed import fct
from switchbed._native import Mistake

FLOWS = [
    fct.Flow(1460, 1e-4, 2e-3, 5e-5, 3, 700, 1, 0),
    fct.Flow(14_601, 0.25, 1.0, 0.125, 0, 1, 0, 2),
]


def test_lines_are_those_of_the_others() -> None:
    assert fct.text_of(FLOWS, "hpcc", 1460) == (
        "0b000301 0b02bc01 10000 100 1460 2000000 100000 50000\n"
        "0b000001 0b000101 10001 100 14601 1000000000 250000000 125000000\n"
    )
    assert fct.text_of(FLOWS, "ns3-datacenter", 1460) == (
        "time flowsize fct basefct slowdown basertt flowstart priority incast\n"
        "2100000 1460 100000 50000 2 50 2000 1 0\n"
        "1250000000 14601 250000000 125000000 2 50 1000000 0 0\n"
    )
    assert fct.text_of(FLOWS, "mq-ecn", 1460) == (
        "1 0.000100000 0 3 700 1\n11 0.250000000 2 0 1 0\n"
    )


@pytest.mark.parametrize("form", fct.FORMS)
def test_what_is_written_reads_as_it_was(form: fct.Form, tmp_path: Path) -> None:
    path = tmp_path / "fct.txt"
    path.write_text(fct.text_of(FLOWS, form, 1460))
    read = fct.read(path, form)
    assert [flow.fct_s for flow in read] == pytest.approx([1e-4, 0.25])
    if form == "mq-ecn":
        assert [flow.size_bytes for flow in read] == [1460, 11 * 1460]
        assert [flow.timeouts for flow in read] == [0, 2]
    else:
        assert [flow.size_bytes for flow in read] == [1460, 14_601]
        assert [flow.start_s for flow in read] == pytest.approx([2e-3, 1.0])
        assert [flow.standalone_s for flow in read] == pytest.approx([5e-5, 0.125])
    if form != "ns3-datacenter":
        assert [(flow.src, flow.dst) for flow in read] == [(3, 700), (0, 1)]
    assert fct.text_of(read, form, 1460).split()[:3] == path.read_text().split()[:3]


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "flow.tr"
    path.write_text("1 0.1 0 3 7 1\n\n1 zero 0 3 7 1\n")
    with pytest.raises(Mistake, match=r"flow\.tr:3: is no line of mq-ecn, which has packets fct"):
        fct.read(path, "mq-ecn")
    path.write_text("1 0.1\n")
    with pytest.raises(Mistake, match=r"flow\.tr:1"):
        fct.read(path, "mq-ecn")


def test_a_result_directory_becomes_such_a_file(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(SINGLE)
    switchbed("run", "f.toml", "--out", "out", "--tables", "csv")
    printed = switchbed("fct", "out", "--form", "mq-ecn").stdout
    switchbed("fct", "out", "--form", "mq-ecn", "--to", "flow.tr")
    assert (tmp_path / "flow.tr").read_text() == printed
    flows = fct.read(tmp_path / "flow.tr", "mq-ecn")
    assert len(flows) == 300
    # 30,000 bytes are 21 packets of 1460.
    assert {flow.size_bytes for flow in flows} == {21 * 1460}
    switchbed("fct", "out", "--form", "hpcc", "--to", "fct.txt")
    ends = [(flow.start_s or 0.0) + flow.fct_s for flow in fct.read(tmp_path / "fct.txt", "hpcc")]
    assert ends == sorted(ends)
    slow = [
        flow.fct_s / (flow.standalone_s or 1) for flow in fct.read(tmp_path / "fct.txt", "hpcc")
    ]
    assert min(slow) >= 0.999
    said = switchbed("fct", "nowhere", "--form", "hpcc", code=2)
    assert "nowhere" in said.stderr


def test_a_comparison_is_told_to_have_several_runs(switchbed: Program, sweep: Path) -> None:
    switchbed("run", sweep, "--set", "flows=20", "--out", "all")
    done = switchbed("fct", "all", "--form", "hpcc", code=2)
    told = "switchbed: all: holds several runs: give one of its folders, as all/0000-"
    assert done.stderr.startswith(told)
