"""What a lab's hosts are told, and what is refused before a lab makes anything."""

from pathlib import Path
from typing import Any

import pytest

from switchbed._native import Mistake
from switchbed.live import lab, orders, system

ROW = {"row": 7, "src": 1, "dst": 0, "class": 3, "size_bytes": 2e4, "start_s": 0.25}
ASKED = {"kind": "request-response", "request": "100B"}


def told(row: dict[str, Any], *traffic: dict[str, Any]) -> tuple[int, str, dict[str, Any]]:
    return orders.flow(row | {"handshake": False}, traffic, 10.0, 20.0)


def test_a_request_is_the_clients_and_names_its_server() -> None:
    host, name, order = told(ROW, {"kind": "long-lived"}, ASKED)
    assert (host, name) == (0, "ask")
    assert order["from"] == "10.77.0.2"
    assert (order["request"], order["size"], order["dscp"], order["at"]) == (100, 20_000, 3, 10.25)


def test_a_flow_is_its_senders() -> None:
    host, name, order = told(ROW, {"kind": "poisson"})
    assert (host, name, order["to"], order["size"]) == (1, "send", "10.77.0.1", 20_000)


def test_bulk_beside_requests_is_sent() -> None:
    host, name, order = told(ROW | {"size_bytes": None}, {"kind": "long-lived"}, ASKED)
    assert (host, name, order["size"], order["until"]) == (1, "send", None, 20.0)


def test_probes_go_out_in_each_class_and_end_when_they_should() -> None:
    probe = {"from": "1-2", "to": 0, "classes": [0, 3], "size": "84B", "every": "1ms"}
    told = list(orders.pings(probe | {"stop": "2s"}, 3, 10.0, 20.0))
    assert [(host, order["dscp"]) for host, _, order in told] == [(1, 0), (1, 3), (2, 0), (2, 3)]
    assert {order["until"] for _, _, order in told} == {12.0}


@pytest.mark.parametrize(
    ("traffic", "complaint"),
    [
        ([ASKED, {"kind": "poisson"}], "request-response or poisson, not both"),
        ([{"kind": "long-lived", "stop": "1s"}], "long-lived flows send to the end"),
        ([ASKED, ASKED | {"request": "1KB"}], "requests have one size, not 100B, 1KB"),
    ],
)
def test_what_a_flow_cannot_be_told_from_is_refused(
    traffic: list[dict[str, Any]], complaint: str
) -> None:
    with pytest.raises(Mistake, match=complaint):
        orders.check(Path("a.toml"), traffic)


STAR = """
[topology]
kind = "star"
hosts = 2
rate = "1Gbps"
delay = "1us"
[switch]
buffer = "100pkt"
[scheme]
name = "none"
[[traffic]]
kind = "long-lived"
from = 0
to = 1
[run]
until = "1s"
"""


@pytest.mark.parametrize(
    "event",
    [
        'at = "1ms"\nport = "host0"\nlose = [3]',
        'at = "0s"\nport = "switch:1"\nlose = [3]',
        'at = "0s"\nport = "host0"\nlose = [3]\nflow = 0',
        'at = "0s"\nport = "host0"\nrate = "1Gbps"',
    ],
)
def test_what_changes_in_no_lab_is_refused(tmp_path: Path, event: str) -> None:
    file = tmp_path / "f.toml"
    file.write_text(f"{STAR}[[event]]\n{event}\n")
    with pytest.raises(Mistake, match="event: of changes a lab has lose and mark alone"):
        lab.run(lab.Request(file))


SHIPPED = Path(__file__).parents[3] / "scenarios"
# A file, what is set in it, and what is said.
REFUSED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "dcqcn": ("roce-incast", (), "transport.kind is 'dcqcn'"),
    "pfc": ("pfc-incast", (), "switch.pfc: "),
    "pauses by a setting": (
        "star-dctcp",
        ("switch.pool=300KB", "switch.pfc.priorities=[0]"),
        "switch.pfc: ",
    ),
    "timely": ("star-dctcp", ("transport.kind=timely",), "transport.kind is 'timely'"),
    "udp": ("afd-unequal", (), "transport.kind is 'udp'"),
    "a rate": ("star-dctcp", ("topology.rate=100Gbps",), "topology.rate is 100Gbps"),
    "packets": (
        "star-dctcp",
        ("host.mtu=9500B", "transport.mss=9460B", "scheme.params.threshold=20pkt"),
        'host.mtu is "9.5KB"',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_lab_can_do_is_refused_before_it_writes_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    stem, sets, what = REFUSED[name]
    monkeypatch.setattr(system, "runtime_folder", lambda: tmp_path / "run")
    monkeypatch.setattr(lab, "_setup", lambda *_: pytest.fail("it was simulated"))
    file = SHIPPED / f"{stem}.toml"
    with pytest.raises(Mistake) as refused:
        lab.run(lab.Request(file, sets=sets, out=tmp_path / "out"))
    assert str(refused.value).startswith(f"{file}: {what}")
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_what_the_labs_switch_complains_of_is_of_the_users_file() -> None:
    made = "/run/switchbed/labs/a/switch.toml"
    user = Path("a.toml")
    said = lab._of_user(f"{made}:12: live.rate is wrong; live.bucket too", made, user)
    assert said == "a.toml: topology.rate is wrong; live.bucket too"
