"""Hosts that differ: what is shown of them, and their column and metrics."""

import json
from pathlib import Path

import polars as pl
import pytest
from conftest import Program

import switchbed as sb
from switchbed.result import Result

MIXED = """
topology = { kind = "star", hosts = 9, rate = "10Gbps", delay = "5us" }
switch = { queues = 1, buffer = "1MB" }
scheme = { name = "per-queue", params = { threshold = "100KB" } }
run.until = "20ms"

[[host]]
profile = "linux-6.x"
delay = { kind = "uniform", min = "1us", max = "10us" }
[[host]]
share = 0.5
label = "old"
profile = "linux-3.18"
transport = { kind = "cubic", ecn = false }

[[traffic]]
kind = "poisson"
load = 0.4
flows = 200
sizes = "20KB"
"""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    return path


def test_a_scenario_shows_which_hosts_have_what(switchbed: Program, mixed: Path) -> None:
    found = json.loads(switchbed("host", "show", mixed, "--json").stdout)
    assert [each["label"] for each in found] == ["linux-6.x", "old"]
    # Half of nine, rounded: five.
    assert [each["count"] for each in found] == [4, 5]
    assert [each["profile"] for each in found] == ["linux-6.x", "linux-3.18"]
    assert [each["ecn"] for each in found] == [True, False]
    said = switchbed("host", "show", mixed).stdout
    assert "old: 5 hosts" in said
    assert "no ECN" in said
    other = switchbed("host", "show", mixed, "--set", "host.share=0.2", "--json").stdout
    assert [each["count"] for each in json.loads(other)] == [7, 2]
    assert (
        "2 hosts" in switchbed("host", "show", "@mixed-stacks", "--set", "host.1.share=0.25").stdout
    )


def test_a_profile_takes_no_set(switchbed: Program) -> None:
    refused = switchbed("host", "show", "ideal", "--set", "host.delay=1us", code=2)
    assert "is a host profile" in refused.stderr


def test_flows_tell_their_senders_hosts(switchbed: Program, mixed: Path, tmp_path: Path) -> None:
    switchbed("run", mixed, "--out", "out")
    flows = pl.read_parquet(tmp_path / "out/flows.parquet")
    hosts = json.loads(switchbed("host", "show", mixed, "--json").stdout)
    old = set()
    for part in hosts[1]["hosts"].split(", "):
        first, _, last = part.partition("-")
        old |= set(range(int(first), int(last or first) + 1))
    assert flows.select(pl.col("hosts").eq("old").eq(pl.col("src").is_in(old)).all()).item()
    assert set(flows["transport"]) == {"dctcp", "cubic"}
    assert flows.filter(pl.col("hosts") == "old")["ecn_cuts"].sum() == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert [each["transport"] for each in summary["by_transport"]] == ["dctcp", "cubic"]
    table = switchbed("table", "out", "--metric", "fct[hosts=old].p50_us").stdout
    assert "old" in table


def test_hosts_that_are_alike_have_no_metric_of_their_own(switchbed: Program, single: Path) -> None:
    switchbed("run", single, "--out", "out")
    refused = switchbed("table", "out", "--metric", "fct[hosts=old].p50_us", code=2)
    assert "all hosts of" in refused.stderr


def test_shares_of_deployment_are_compared(switchbed: Program, mixed: Path, tmp_path: Path) -> None:
    switchbed("run", mixed, "--set", "compare.host.1.share=[0, 0.5, 1]", "--out", "out")
    runs = pl.read_parquet(tmp_path / "out/runs.parquet")
    assert len(runs) == 3


def test_commands_take_hosts_that_differ(switchbed: Program, mixed: Path, tmp_path: Path) -> None:
    """Readers of a scenario's hosts: exports, the API, the report, files of others."""
    switchbed("export", "tc", mixed, "--out", "mixed.sh")
    assert "limit 1000000" in (tmp_path / "mixed.sh").read_text()
    switchbed("run", mixed, "--out", "out")
    run = Result.load(tmp_path / "out")
    assert run.size_bytes("host", "mtu") == 1500
    own = MIXED.replace('label = "old"', 'label = "old"\nlso_max = "8KB"')
    mixed.write_text(own)
    switchbed("run", mixed, "--out", "own")
    with pytest.raises(ValueError, match=r"host\.lso_max: \[\[host\]\] has several"):
        Result.load(tmp_path / "own").size_bytes("host", "lso_max")
    switchbed("report", "out", "--out", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<dd>dctcp, cubic</dd>" in page
    switchbed("fct", "out", "--form", "mq-ecn", "--to", "flow.tr")
    switchbed("table", "out", "--over", "alone")


def test_packets_of_several_sizes_have_no_form_in_packets(switchbed: Program, mixed: Path) -> None:
    small = MIXED.replace("ecn = false", 'ecn = false, mss = "500B"')
    mixed.write_text(small)
    switchbed("run", mixed, "--out", "out")
    refused = switchbed("fct", "out", "--form", "mq-ecn", code=2)
    assert "several mss here: 500 and 1448" in refused.stderr
    switchbed("fct", "out", "--form", "hpcc", "--to", "fct.txt")


LOSING = """
topology = { kind = "star", hosts = 9, rate = "10Gbps", delay = "10us" }
switch = { queues = 1, buffer = "200KB" }
scheme = { name = "per-queue", params = { threshold = "65pkt" } }
transport.kind = "dctcp"
[[traffic]]
kind = "request-response"
from = "0-7"
to = 8
load = 0.9
flows = 1000
sizes = "web-search"
"""


@pytest.mark.parametrize("seed", [4, 5])
def test_without_reordering_no_repair_is_taken_back(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "losing.toml"
    file.write_text(LOSING)
    runs = [
        sb.Scenario.from_file(file).with_({"run.seed": seed, "transport.undo": undo}).run()
        for undo in (True, False)
    ]
    assert runs[0].summary()["drops"] > 100
    assert runs[0].flows.equals(runs[1].flows)
