"""Slowdowns over the ideal FCT and over the flow alone, and where a page says which."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SINGLE, Program

import switchbed as sb
from switchbed import alone

LONE = """
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "20us"
[switch]
queues = 2
discipline = "dwrr"
buffer = "300KB"
[scheme]
name = "per-queue"
params = {{ threshold = "65pkt" }}
[transport]
kind = "{kind}"
[[traffic]]
kind = "incast"
from = [0]
to = 1
sizes = "{size}"
classes = [1]
connections = "{connections}"
"""


def lone(size: str, kind: str = "dctcp", connections: str = "fresh") -> sb.Result:
    text = LONE.format(size=size, kind=kind, connections=connections)
    import tomllib

    return sb.Scenario(tomllib.loads(text)).run()


@pytest.mark.parametrize("connections", ["fresh", "fresh-no-handshake", "persistent"])
@pytest.mark.parametrize("kind", ["dctcp", "cubic"])
@pytest.mark.parametrize("size", ["1KB", "100KB", "3MB"])
def test_a_lone_flow_has_slowdown_one_over_itself(size: str, kind: str, connections: str) -> None:
    run = lone(size, kind, connections)
    over_ideal = run.summary()["slowdown"]["all"]["mean"]
    assert over_ideal >= 1.0
    found = alone.over(run, "alone")
    assert found.summary()["slowdown"]["all"]["mean"] == pytest.approx(1.0, abs=1e-12)
    assert found.summary()["slowdown_over"] == "alone"
    assert found.flows["slowdown"].to_list() == pytest.approx([1.0], abs=1e-12)
    # The run itself stays as it was.
    assert run.summary()["slowdown"]["all"]["mean"] == over_ideal


@pytest.mark.parametrize(
    "transport",
    ["cubic", {"kind": "cubic", "initial_window": "1pkt"}, {"kind": "reno", "ecn": False}],
)
def test_a_lone_flow_keeps_the_transport_of_its_entry(transport: str | dict[str, Any]) -> None:
    import tomllib

    given = tomllib.loads(LONE.format(size="100KB", kind="dctcp", connections="fresh"))
    other = {"kind": "incast", "from": [2], "to": 3, "sizes": "100KB", "start": "1s"}
    given["traffic"] = [given["traffic"][0] | {"transport": transport}, other]
    found = alone.over(sb.Scenario(given).run(), "alone")
    assert found.flows["slowdown"].to_list() == pytest.approx([1.0, 1.0], abs=1e-12)
    summary = found.summary()
    for each in (*summary["by_traffic"], *summary["by_transport"]):
        assert each["slowdown"]["mean"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("size", "ideal"), [("1KB", 2.0), ("100KB", 2.64)])
def test_over_the_ideal_a_lone_flow_pays_for_handshake_and_window(size: str, ideal: float) -> None:
    assert lone(size).summary()["slowdown"]["all"]["mean"] == pytest.approx(ideal, rel=0.05)


def test_a_request_and_its_answer_alone() -> None:
    import tomllib

    values = tomllib.loads(LONE.format(size="20KB", kind="dctcp", connections="fresh"))
    values["traffic"] = [
        {"kind": "request-response", "from": [0], "to": [1], "sizes": "20KB", "load": 0.001}
        | {"flows": 1, "request": "3KB", "service": "random", "shares": [0, 1]}
    ]
    found = alone.over(sb.Scenario(values).run(), "alone")
    assert found.flows["class"].to_list() == [1]
    assert found.flows["slowdown"].to_list() == pytest.approx([1.0], abs=1e-9)


def test_the_summary_is_of_the_table(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(SINGLE.replace("flows = 300", "flows = 40"))
    run = sb.Scenario.from_file(file).run()
    found = alone.over(run, "alone")
    counted = found.summary()["slowdown"]["all"]
    assert counted["n"] == run.summary()["slowdown"]["all"]["n"] == 40
    assert counted["mean"] == pytest.approx(found.flows["slowdown"].mean())
    assert found.summary()["by_traffic"][0]["slowdown"] == counted
    # All pairs of a star are alike, and all sizes: one time divides them all.
    base = found.flows["fct_s"] / found.flows["slowdown"]
    assert base.max() == pytest.approx(base.min())


@pytest.mark.long
def test_pages_say_what_a_slowdown_is_over(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(
        SINGLE.replace("flows = 300", "flows = 40") + "[compare]\nload = [0.2, 0.3]\n"
    )
    switchbed("run", "one.toml", "--out", "ran")
    asked = ["table", "ran", "--metric", "slowdown.all.mean"]
    for over, words in (("ideal", "line rate, no handshake"), ("alone", "own transport")):
        printed = switchbed(*asked, "--over", over).stdout
        assert f" {over} " in printed
        assert words in printed
        rows = json.loads(switchbed(*asked, "--over", over, "--json", "-").stdout)
        assert [row["over"] for row in rows] == [over] * 2
        switchbed("report", "ran", "--out", f"{over}.html", "--over", over)
        assert words in (tmp_path / f"{over}.html").read_text()
    label = {"ideal": "slowdown (FCT over ideal)", "alone": "slowdown (FCT over the flow alone)"}
    for kind in (["fct", "--value", "slowdown"], ["cdf", "--value", "slowdown"], ["sizes"]):
        for over, words in label.items():
            name = f"{kind[0]}-{over}.svg"
            style = tmp_path / "text.mplstyle"
            style.write_text("svg.fonttype: none\n")
            switchbed("plot", *kind, "ran", "--out", name, "--over", over, "--style", str(style))
            assert words in (tmp_path / name).read_text()
    assert "over" not in json.loads(switchbed("table", "ran", "--json", "-").stdout)[0]
