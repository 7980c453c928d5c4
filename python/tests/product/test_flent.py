"""`switchbed export flent`: the data file's form, and its numbers."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Program

from switchbed import flent
from switchbed._native import Mistake
from switchbed.live import measured

FIELDS = {"version", "metadata", "x_values", "results", "raw_values"}
"""Of a data file (flent's resultset, version 4 of the format)."""


def checked(found: dict[str, Any]) -> dict[str, Any]:
    """Keys without which flent refuses a data file."""
    assert set(found) == FIELDS
    assert found["version"] == 4
    assert {"NAME", "TITLE", "TIME", "T0", "STEP_SIZE", "LENGTH"} <= set(found["metadata"])
    assert found["metadata"]["TIME"].endswith("Z")
    for name, values in found["results"].items():
        assert len(values) == len(found["x_values"]), name
    assert set(found["metadata"]["SERIES_META"]) == set(found["results"])
    assert set(found["raw_values"]) <= set(found["results"])
    return found


def lab(folder: Path, ends: list[tuple[int, int, int]]) -> Path:
    """A lab's folder with endless flows of these ends and classes, of which flow n has n + 1 Mbps
    from 0.2 s on, and probes of 20 and 40 ms."""
    flows = [(row, src, dst, of, None) for row, (src, dst, of) in enumerate(ends)]
    names = ["row", "src", "dst", "class", "size_bytes"]
    goodput = [(at, row, 0, (row + 1) * 1e6) for row in range(len(ends)) for at in (0.2, 0.3)]
    goodput.insert(0, (0.1, 0, 0, 5e5))
    pings = [(0.15, 0, 0.02), (0.18, 0, 0.04), (0.25, 0, None)]
    for side in ("live", "simulated"):
        (folder / side).mkdir(parents=True)
        pl.DataFrame(flows, schema=names, orient="row").write_parquet(
            folder / side / "flows.parquet"
        )
        for name, rows, schema in (
            ("goodput", goodput, measured.GOODPUT),
            ("pings", pings, measured.PINGS),
        ):
            frame = pl.DataFrame(rows, schema=schema, orient="row")
            frame.write_parquet(folder / side / f"{name}.parquet")
    probe = {"kind": "probe", "from": 0, "to": 3}
    scenario = {
        "title": "t",
        "scheme": {"label": "none"},
        "traffic": [{"kind": "long-lived"}, probe],
    }
    (folder / "scenario.json").write_text(json.dumps(scenario))
    (folder / "summary.json").write_text("{}")
    return folder


def test_a_labs_series_are_its_flows_sums_and_pings(tmp_path: Path) -> None:
    folder = lab(tmp_path / "lab", [(1, 0, 0), (2, 0, 0)])
    found = checked(flent.data(flent.read(folder, None)))
    assert found["metadata"]["NAME"] == "tcp_ndown"
    assert found["metadata"]["TITLE"] == "none, live"
    assert found["x_values"] == [0.1, 0.2, 0.3]
    assert found["results"] == {
        "TCP download::1": [0.5, 1.0, 1.0],
        "TCP download::2": [None, 2.0, 2.0],
        "TCP download sum": [0.5, 3.0, 3.0],
        "TCP download avg": [0.25, 1.5, 1.5],
        "Ping (ms) ICMP": [None, 30.0, None],
    }
    first, second = found["raw_values"]["Ping (ms) ICMP"]
    assert [first["val"], second["val"]] == [20.0, 40.0]
    assert second["t"] - first["t"] == pytest.approx(0.03, abs=1e-6)
    assert len(found["raw_values"]["TCP download::2"]) == 2


@pytest.mark.parametrize(
    ("ends", "test", "names"),
    [
        ([(0, 1, 0), (0, 2, 0)], "tcp_nup", {"TCP upload::1", "TCP upload::2"}),
        ([(0, 1, 0)], "tcp_nup", {"TCP upload::1"}),
        ([(0, 1, 0), (1, 0, 0)], "rrul_be_nflows", {"TCP upload BE::1", "TCP download BE::1"}),
        (
            [(0, 1, of) for of in flent.RRUL] + [(2, 0, of) for of in flent.RRUL],
            "rrul",
            {f"TCP {way} {of}" for way in ("upload", "download") for of in flent.RRUL.values()},
        ),
        ([(1, 2, 0), (3, 4, 0)], "tcp_ndown", {"TCP download::1", "TCP download::2"}),
    ],
)
def test_series_have_the_names_of_flents_test(
    tmp_path: Path, ends: list[tuple[int, int, int]], test: str, names: set[str]
) -> None:
    found = checked(flent.data(flent.read(lab(tmp_path / "lab", ends), "simulated")))
    assert found["metadata"]["NAME"] == test
    assert {
        name
        for name in found["results"]
        if name.startswith("TCP") and name[-3:] not in ("sum", "avg")
    } == names


def test_a_run_is_written_with_all_that_was_acknowledged(
    switchbed: Program, tmp_path: Path
) -> None:
    sets = ["run.until=600ms", "measure.warmup=0s", "measure.flow_series.every=100ms"]
    sets += ["measure.queues=[]", 'compare.scheme=["fq-codel", "none"]', "traffic.0.start=0s"]
    words = [word for each in sets for word in ("--set", each)]
    switchbed("run", "@tcp-ndown-with-ping", *words, "--out", tmp_path / "run")
    out = tmp_path / "run.flent.gz"
    switchbed("export", "flent", tmp_path / "run/0000-scheme=fq-codel", "--out", out)
    found = checked(json.loads(gzip.decompress(out.read_bytes())))
    total = sum(found["results"]["TCP download sum"]) * 1e6 / 8 * 0.1
    flows = pl.read_parquet(tmp_path / "run/0000-scheme=fq-codel/flows.parquet")
    # The sender knows of it a round trip later.
    received = int(flows["received_bytes"].sum())
    assert received - 48e6 / 8 * 0.03 < total <= received
    assert 20 < found["raw_values"]["Ping (ms) ICMP"][0]["val"] < 21


def test_a_run_without_probes_has_goodput_alone(switchbed: Program, tmp_path: Path) -> None:
    sets = ["run.until=200ms", "measure.warmup=0s", "measure.flow_series.every=50ms"]
    # Of eight flows four are sampled: the others are no part of the mean.
    sets.append("measure.flow_series.traffic=[1]")
    words = [word for each in sets for word in ("--set", each)]
    switchbed("run", "@l4s-beside-cubic", *words, "--out", tmp_path / "run")
    found = checked(flent.data(flent.read(tmp_path / "run", None)))
    results = found["results"]
    assert len([name for name in results if "::" in name]) == 4
    assert results["TCP download avg"] == [total / 4 for total in results["TCP download sum"]]
    assert results["TCP download sum"][-1] > 0
    assert flent.PING not in results
    assert found["metadata"]["TITLE"] == "dualpi2, seed 1"


def test_what_has_no_series_is_refused_in_one_line(switchbed: Program, tmp_path: Path) -> None:
    switchbed("run", "@two-flows", "--out", tmp_path / "run")
    with pytest.raises(Mistake, match="has no goodput over time: it needs flows without an end"):
        flent.data(flent.read(tmp_path / "run", None))
    with pytest.raises(Mistake, match=r"--of live: .* is no lab's: leave it out"):
        flent.read(tmp_path / "run", "live")


def test_changes_of_flows_are_no_even_times(switchbed: Program, tmp_path: Path) -> None:
    sets = ["run.until=20ms", "measure.warmup=0s", "measure.flow_series.rows=[0]"]
    words = [word for each in sets for word in ("--set", each)]
    switchbed("run", "@l4s-beside-cubic", *words, "--out", tmp_path / "run")
    with pytest.raises(Mistake, match=r"run it with measure\.flow_series\.every"):
        flent.read(tmp_path / "run", None)
