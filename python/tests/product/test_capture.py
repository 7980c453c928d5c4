"""Packet traces as tshark reads them, against the run's own counters."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import Program

SCENARIO = """
[topology]
kind = "star"
hosts = 5
rate = "10Gbps"
delay = "1us"
[switch]
buffer = "40pkt"
[scheme]
name = "per-queue"
params = { threshold = "20pkt" }
[host]
profile = "switchbed-0.1"
[transport]
kind = "dctcp"
ecn_syn = false
ecn_retransmits = false
rto_min = "5ms"
rto_initial = "5ms"
[[traffic]]
kind = "list"
file = "flows.csv"
[measure]
capture = ["switch:4", "host0"]
[run]
until = "1s"
"""


@pytest.fixture
def out(tmp_path: Path, switchbed: Program) -> Path:
    rows = [f"0.0000{n:02},{n % 4},4,150000" for n in range(12)]
    (tmp_path / "flows.csv").write_text("start_s,src,dst,size_bytes\n" + "\n".join(rows) + "\n")
    (tmp_path / "f.toml").write_text(SCENARIO)
    switchbed("run", "f.toml", "--out", "out", "--tables", "json")
    return tmp_path / "out"


def table(path: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(path.read_text())
    return rows


def tshark(path: Path, shown: str, *fields: str) -> list[list[str]]:
    wanted = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(
        [
            "tshark",
            "-n",
            "-o",
            "ip.check_checksum:TRUE",
            "-r",
            str(path),
            "-Y",
            shown,
            "-T",
            "fields",
            *wanted,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_a_capture_is_kept_in_the_result_directory(out: Path) -> None:
    names = sorted(path.name for path in (out / "captures").iterdir())
    assert names == ["host0.pcapng", "switch-4.pcapng"]


@pytest.mark.needs("tshark")
def test_tshark_agrees_on_marks(out: Path) -> None:
    (port,) = (row for row in table(out / "ports.json") if row["port"] == "switch:4")
    trace = out / "captures" / "switch-4.pcapng"
    marked = tshark(trace, "ip.dsfield.ecn == 3", "frame.number")
    assert port["marked_packets"] == len(marked) > 0
    assert port["sent_packets"] == len(tshark(trace, "tcp", "frame.number"))


@pytest.mark.needs("tshark")
def test_tshark_agrees_on_repeated_sequence_ranges(out: Path) -> None:
    flows = [row for row in table(out / "flows.json") if row["src"] == 0]
    data = "tcp.len > 0 && ip.src == 10.0.0.1"
    trace = out / "captures" / "host0.pcapng"
    sent = tshark(trace, data, "tcp.stream", "tcp.seq_raw", "tcp.len")
    repeated = len(sent) - len({tuple(segment) for segment in sent})
    assert repeated == sum(int(str(row["retransmissions"])) for row in flows) > 0
    # Wireshark's own judgement: each is a retransmission of some kind to it.
    again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission"
    assert len(tshark(trace, f"({data}) && ({again})", "frame.number")) == repeated


@pytest.mark.needs("tshark")
def test_tshark_finds_nothing_wrong(out: Path) -> None:
    for trace in (out / "captures").iterdir():
        assert tshark(trace, "_ws.malformed || ip.checksum.status == 0", "frame.number") == []


def test_without_a_directory_the_traces_are_not_kept(out: Path, switchbed: Program) -> None:
    assert out.exists()
    done = switchbed("run", "f.toml")
    assert "kept only with --out DIR" in done.stdout
